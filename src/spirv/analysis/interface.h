// Finds a free Location in a shader's interface, for a variable of the pass.
#pragma once

#include <array>
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

// The transform feedback layout of an entry point: its buffers with strides and streams, and the
// number of vertices of its output primitives.

struct FeedbackLayout {
  static constexpr uint32_t kBuffers = 4;

  struct Buffer {
    uint32_t stride = 0;  // bytes of a vertex; 0 if nothing is captured
    uint32_t stream = 0;
  };
  std::array<Buffer, kBuffers> buffers;
  // Vertices of an output primitive; 0 if the stage does not change the topology.
  uint32_t primitive_vertices = 0;
};

FeedbackLayout feedback_layout(const Module& module, const EntryPoint& entry);

// The size of a block with an explicit layout (Offset, ArrayStride, MatrixStride).

// Bytes from the start of a value of type `struct_id` to the end of its last member, without
// trailing padding. An array whose length is a specialization constant counts as one element.
// Saturates, so that the extent of a hostile module is too large rather than too small.
uint64_t block_extent(const Module& module, uint32_t struct_id);

// The size of a compute shader's workgroup, as far as the module tells.

// Width, height and depth of the workgroup. Empty where a specialization constant says so, or
// nothing.
using WorkgroupSize = std::array<uint32_t, 3>;
std::optional<WorkgroupSize> workgroup_size(const Module& module, const EntryPoint& entry);
// The same for a module whose specialization constants have a pipeline's values as defaults.
std::optional<WorkgroupSize> specialized_workgroup_size(const Module& module,
                                                        const EntryPoint& entry);

}  // namespace tally::spirv
