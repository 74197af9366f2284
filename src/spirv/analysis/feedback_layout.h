// The transform feedback layout of an entry point: its buffers with strides and streams, and the
// number of vertices of its output primitives.
#pragma once

#include <array>
#include <cstdint>

#include "spirv/ir/module.h"

namespace tally::spirv {

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

}  // namespace tally::spirv
