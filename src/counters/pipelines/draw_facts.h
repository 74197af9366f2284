// The state of a graphics pipeline by which samples may be dropped after a fragment shader has
// begun, and who can therefore count the samples of a draw.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>

namespace tally::counters {

enum class CountedSamples : uint8_t;

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
SampleCounter sample_counter(const SampleFacts& facts, CountedSamples counted);

// The state of a graphics pipeline that primitive assembly depends on, and the values of dynamic
// state.

struct DrawFacts {
  VkPrimitiveTopology topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
  uint32_t patch_control_points = 1;
  bool rasterizer_discard = false;
  bool restarts = false;  // primitive restart is enabled
  VkShaderStageFlags stages = 0;
  // Which of these are dynamic state.
  bool dynamic_topology = false;
  bool dynamic_patch = false;
  bool dynamic_discard = false;
  bool dynamic_restart = false;
};

// The values of dynamic state in a command buffer. The application sets what a pipeline has as
// dynamic state before it draws.
struct DynamicDrawFacts {
  VkPrimitiveTopology topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
  uint32_t patch_control_points = 1;
  bool rasterizer_discard = false;
  bool restarts = false;
  SampleFacts samples{.covers_by_alpha = false};

  DrawFacts applied_to(DrawFacts facts) const;
  SampleFacts applied_to(SampleFacts facts) const;
};

// The number of vertices of the first primitive, and of each further one.
struct PrimitiveStep {
  uint32_t first = 1;
  uint32_t step = 1;
};
PrimitiveStep primitive_step(const DrawFacts& facts);

// The number of complete primitives of one instance, without primitive restart.
inline uint64_t primitives_of(const DrawFacts& facts, uint64_t vertices) {
  // Divisions by constants are fast.
  if (facts.topology == VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST) return vertices / 3;
  const PrimitiveStep step = primitive_step(facts);
  return vertices < step.first ? 0 : (vertices - step.first) / step.step + 1;
}

// The number of vertices of a primitive, without adjacent vertices.
uint32_t primitive_vertices(const DrawFacts& facts);

// True if no shader stage replaces the assembled primitives.
inline bool keeps_primitives(const DrawFacts& facts) {
  constexpr VkShaderStageFlags kMakers = VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT |
                                         VK_SHADER_STAGE_GEOMETRY_BIT |
                                         VK_SHADER_STAGE_MESH_BIT_EXT;
  return (facts.stages & kMakers) == 0;
}

}  // namespace tally::counters
