// Counts primitives of indices with primitive restart. Each lane processes a part of the indices. Runs of
// vertices that cross parts are joined at the end.

struct Part {
  uint before;    // vertices before the first restart, or all
  uint behind;    // vertices after the last restart
  uint restarts;
  uint complete;  // primitives between restarts of the part
};
shared Part parts[kLanes];

// True if the index, of 8, 16 or 32 bits, restarts the primitive.
bool restarts_at(uint index) {
  const uint bytes = COMMAND.index_bytes;
  const uint mask = bytes == 4 ? ~0u : (1u << (8 * bytes)) - 1;
  const uint at = index * bytes;
  const uint word = Words(COMMAND.indices).at[at / 4];
  return ((word >> (8 * (at % 4))) & mask) == COMMAND.restart;
}

// The indices from `begin` to `end` of a draw that begins at `first_index`.
Part look_at(uint begin, uint end, uint first_index) {
  const uint there = COMMAND.index_count - min(first_index, COMMAND.index_count);
  const uint known = clamp(there, begin, end);
  Part part = Part(0, 0, 0, 0);
  uint run = 0;
  for (uint i = begin; i < known; ++i) {
    if (!restarts_at(first_index + i)) {
      ++run;
      continue;
    }
    if (part.restarts == 0) {
      part.before = run;
    } else {
      part.complete += primitives_of(run, COMMAND.first, COMMAND.step);
    }
    ++part.restarts;
    run = 0;
  }
  run += end - known;
  if (part.restarts == 0) part.before = run;
  part.behind = run;
  return part;
}

void add_parts(uint number, uint instances, uint flags) {
  uint run = 0;
  uint restarts = 0;
  uint complete = 0;
  for (uint lane = 0; lane < kLanes; ++lane) {
    const Part part = parts[lane];
    run += part.before;
    if (part.restarts == 0) continue;
    complete += primitives_of(run, COMMAND.first, COMMAND.step) + part.complete;
    restarts += part.restarts;
    run = part.behind;
  }
  complete += primitives_of(run, COMMAND.first, COMMAND.step);
  count_assembled(number - restarts, complete, instances, flags);
}

// All lanes must call this.
void count_indices(uint number, uint instances, uint first_index, uint flags) {
  const uint size = number / kLanes + 1;
  const uint begin = min(number, gl_LocalInvocationIndex * size);
  barrier();
  parts[gl_LocalInvocationIndex] = look_at(begin, begin + min(size, number - begin), first_index);
  barrier();
  if (gl_LocalInvocationIndex == 0) add_parts(number, instances, flags);
}
