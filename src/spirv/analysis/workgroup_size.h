// The size of a compute shader's workgroup, as far as the module tells.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "spirv/ir/module.h"

namespace tally::spirv {

// Width, height and depth of the workgroup. Empty where a specialization constant says so, or
// nothing.
using WorkgroupSize = std::array<uint32_t, 3>;
std::optional<WorkgroupSize> workgroup_size(const Module& module, const EntryPoint& entry);

}  // namespace tally::spirv
