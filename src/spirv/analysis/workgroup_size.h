// The size of a compute shader's workgroup, as far as the module tells.
#pragma once

#include <cstdint>
#include <optional>

#include "spirv/ir/module.h"

namespace tally::spirv {

// The number of invocations in a row of the workgroup. Empty where a specialization constant says
// so, or nothing.
std::optional<uint32_t> workgroup_width(const Module& module, const EntryPoint& entry);

}  // namespace tally::spirv
