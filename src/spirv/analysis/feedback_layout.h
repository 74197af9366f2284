// What an entry point of the last stage before rasterization captures by transform feedback: the
// buffers that its outputs name, with their strides and streams, and the form of its primitives.
#pragma once

#include <array>
#include <cstdint>

#include "spirv/ir/module.h"

namespace tally::spirv {

struct FeedbackLayout {
  static constexpr uint32_t kBuffers = 4;

  struct Buffer {
    uint32_t stride = 0;  // bytes of a vertex; 0: nothing is captured into it
    uint32_t stream = 0;
  };
  std::array<Buffer, kBuffers> buffers;
  // Vertices of a primitive that the stage puts out; 0 where it keeps those that were assembled.
  uint32_t primitive_vertices = 0;
};

FeedbackLayout feedback_layout(const Module& module, const EntryPoint& entry);

}  // namespace tally::spirv
