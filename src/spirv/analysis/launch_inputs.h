// The inputs of a dispatch on which the blocks depend that a compute shader executes. Where these
// are its workgroups, push constants, and the sizes of images and buffers, equal dispatches execute
// each block equally often, whatever is in memory.
//
// The analysis follows the conditions of all branches back to where their values come from: through
// calls, and through the variables of functions and invocations, whatever the order of their stores
// is. A value from any other memory, or from an instruction that is not known, ends it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "spirv/ir/module.h"

namespace tally::spirv {

struct LaunchInputs {
  static constexpr uint32_t kToEnd = UINT32_MAX;
  // Bytes [begin, end) of the push constants; kToEnd if the end is not known.
  struct Range {
    uint32_t begin = 0, end = 0;
    bool operator==(const Range&) const = default;
  };

  // A binding whose descriptors are asked for sizes, levels or samples: any of its elements.
  struct Resource {
    uint32_t set = 0, binding = 0;
    auto operator<=>(const Resource&) const = default;  // NOLINT(modernize-use-nullptr)
  };

  std::vector<Range> push_constants;  // ascending, apart
  std::vector<Resource> sizes;        // ascending, each once
  // The blocks also depend on how the device divides workgroups into subgroups.
  bool subgroups = false;
};

// Empty if the blocks depend on anything else, or if the entry point is not a compute shader. Takes
// any values of specialization constants.
std::optional<LaunchInputs> launch_inputs(const Module& module, const EntryPoint& entry);

}  // namespace tally::spirv
