/* For assembly: EXPORT(name, table) is a function of that name which jumps to the address in the table's entry number
 * tally_index, and counts tally_index up. It stands in for functions of any signature. */
#pragma once

#if defined(__x86_64__)
#define JUMP(table) jmp *(table + 8 * tally_index)(%rip)
#elif defined(__aarch64__)
#define JUMP(table)                 \
  adrp x16, table + 8 * tally_index; \
  ldr x16, [x16, :lo12:table + 8 * tally_index]; \
  br x16
#else
#error "EXPORT does not know this architecture"
#endif

#define EXPORT(name, table)  \
  .globl name;               \
  .type name, @function;     \
  name: JUMP(table);         \
  .size name, . - name;      \
  .set tally_index, tally_index + 1;
