// Driver behaviour that the pass has to work around. All workarounds are off by default.
#pragma once

#include <cstdint>

namespace tally::spirv {

// Lanes of a subgroup, where DriverWorkarounds::prefers_small_code.
inline constexpr uint32_t kMaxLanesOfSmallCode = 8;

struct DriverWorkarounds {
  // The driver drops pending fragments that an opaque triangle covers, although they write to
  // memory, unless their shader contains a discard (llvmpipe). The pass adds a discard in a branch
  // that is never taken.
  bool drops_overdraw = false;
  // The driver hangs in some draws whose shader has private counters and discards invocations in a
  // loop (NVIDIA 580; docs/reference/drivers.md).
  // Such a shader uses Counting::Lane without subgroup operations, and is not counted by region.
  bool hangs_on_discards = false;
  // All lanes of a subgroup belong to one draw (llvmpipe runs the fragments of each triangle
  // separately).
  bool keeps_draws_apart = false;
  // The driver executes both sides of every branch, and lanes that count nothing are masked out
  // (llvmpipe before 25.0). Counting by region avoids branches (masked_region_flush.h), and short
  // code elects a lane.
  bool masks_branches = false;
  // The driver's compiler takes long for each instruction. The code that adds counts to memory is
  // as short as possible (small_flush.h), and stands where invocations end, if that is one place.
  // The module loses the application's names. The driver executes the stages before rasterization
  // on one thread, so these need no shards; subgroups have at most 8 lanes, of which the first are
  // invocations where the workgroup does not fill them; lanes that end at one place outside of
  // loops end together; and helper invocations take part in no subgroup operation (llvmpipe).
  bool prefers_small_code = false;
  // Subgroups have 8 lanes, the driver supports shuffles, and an inactive lane delivers to a
  // shuffle what it computed (llvmpipe 25.0, where a shuffle is one vector instruction). Short code
  // sums up with shuffles where only helper invocations can be inactive.
  bool shuffles_inactive_lanes = false;
  // The driver miscompiles or crashes on deeper nesting of conditionals (llvmpipe: 80); 0 means no
  // limit. Early returns count as nesting once they write counters. A shader near the limit is not
  // instrumented.
  uint32_t max_nested_conditionals = 0;

  bool operator==(const DriverWorkarounds&) const = default;
};

}  // namespace tally::spirv
