// What some drivers do with the invocations that they run. By default: nothing of it.
#pragma once

#include <cstdint>

namespace tally::spirv {

struct DriverWorkarounds {
  // What was not yet run of the fragments behind an opaque triangle is dropped, although they write
  // to memory, unless the shader may discard (llvmpipe). So it may, in a branch that is never
  // taken.
  bool drops_overdraw = false;
  // It hangs where invocations are discarded in a loop of a shader that adds up what it counted
  // when it ends (NVIDIA's 580). Such a shader counts by lane, without subgroup operations, and not
  // by region.
  bool hangs_on_discards = false;
  // No subgroup has lanes of different draws (llvmpipe runs each triangle's fragments on their
  // own).
  bool keeps_draws_apart = false;
  // It computes wrong or crashes where more conditionals stand one in the other (llvmpipe: 80);
  // 0: it has no such limit. It may make straight code of many early returns, but not of those that
  // count: a shader that would come near the limit runs as it is.
  uint32_t most_nested_conditionals = 0;

  bool operator==(const DriverWorkarounds&) const = default;
};

}  // namespace tally::spirv
