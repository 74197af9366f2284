// Finds a free Location in a shader's interface, for a variable of the pass.
#pragma once

#include <cstdint>
#include <optional>

#include "spirv/ir/module.h"

namespace tally::spirv {

// The first Location after all those used by the entry point's variables of `storage` (Input or
// Output). Variables with an element for each vertex count with all elements, except PerVertexKHR,
// so the result may be larger than necessary. Empty if it is not known, for example because an
// array length is a specialization constant.
std::optional<uint32_t> first_free_location(const Module& module, const EntryPoint& entry,
                                            spv::StorageClass storage);

}  // namespace tally::spirv
