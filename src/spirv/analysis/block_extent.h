// The size of a block with an explicit layout (Offset, ArrayStride, MatrixStride).
#pragma once

#include <cstdint>

#include "spirv/ir/module.h"

namespace tally::spirv {

// Bytes from the start of a value of type `struct_id` to the end of its last member, without
// trailing padding. An array whose length is a specialization constant counts as one element.
// Saturates, so that the extent of a hostile module is too large rather than too small.
uint64_t block_extent(const Module& module, uint32_t struct_id);

}  // namespace tally::spirv
