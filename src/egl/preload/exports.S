/* The symbols by which a preloaded program finds us: each jumps to its stub or thunk. In assembly, because a symbol for a
 * function of any signature has no other common form. The tables are in the order of the .def files. */

#if defined(__x86_64__)
#define JUMP(table) jmp *(table + 8 * tally_index)(%rip)
#elif defined(__aarch64__)
#define JUMP(table)                 \
  adrp x16, table + 8 * tally_index; \
  ldr x16, [x16, :lo12:table + 8 * tally_index]; \
  br x16
#else
#error "preload/exports.S does not know this architecture"
#endif

#define EXPORT(name, table)  \
  .globl name;               \
  .type name, @function;     \
  name: JUMP(table);         \
  .size name, . - name;      \
  .set tally_index, tally_index + 1;

  .text
  .hidden tally_egl_gl_stubs
  .hidden tally_egl_thunks

  .set tally_index, 0
#define GL(function, handler) EXPORT(function, tally_egl_gl_stubs)
#include "egl/gl/functions.def"
#undef GL

  .set tally_index, 0
#define EGL(function, handler) EXPORT(function, tally_egl_thunks)
#include "egl/front/functions.def"
#undef EGL

  .section .note.GNU-stack, "", %progbits
