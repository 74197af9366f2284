// The state of a graphics pipeline by which samples may be dropped after a fragment shader has
// begun, and who can therefore count the samples of a draw.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>

#include "counters/shader/program.h"

namespace tally::counters {

// Where nothing is known, samples may be dropped.
struct SampleFacts {
  uint32_t samples = 0;  // of a pixel; 0: not known
  bool covers_by_alpha = true;
  bool depth_test = true;
  VkCompareOp depth_compare = VK_COMPARE_OP_NEVER;
  bool depth_bounds_test = true;
  bool stencil_test = true;
  // Which of these are dynamic state.
  bool dynamic_samples = false;
  bool dynamic_alpha = false;
  bool dynamic_depth_test = false;
  bool dynamic_compare = false;
  bool dynamic_bounds = false;
  bool dynamic_stencil = false;

  bool may_fail_tests() const {
    return (depth_test && depth_compare != VK_COMPARE_OP_ALWAYS) || depth_bounds_test ||
           stencil_test;
  }
};

// Who counts the samples of a draw for occlusion queries.
enum class SampleCounter : uint8_t {
  None,    // there are none
  Shader,  // the instrumented fragment shader
  Driver   // samples may be dropped after the shader has counted them, or it counts none
};
SampleCounter sample_counter(const SampleFacts& facts, Program::Samples counted);

}  // namespace tally::counters
