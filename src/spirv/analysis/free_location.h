// Which Location of a shader's interface is free: where a pass can put a variable of its own.
#pragma once

#include <cstdint>
#include <optional>

#include "spirv/ir/module.h"

namespace tally::spirv {

// The first Location behind all that the entry point's variables of `storage` (Input or Output)
// use. Variables that have an element for each vertex of a primitive count with all elements, but
// for PerVertexKHR: the result is then greater than need be. Nothing where it cannot be told, e.g.
// because a length is a specialization constant.
std::optional<uint32_t> first_free_location(const Module& module, const EntryPoint& entry,
                                            spv::StorageClass storage);

}  // namespace tally::spirv
