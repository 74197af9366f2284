// The state of a graphics pipeline that primitive assembly depends on, and the values of dynamic
// state.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>

#include "counters/objects/sample_facts.h"

namespace tally::counters {

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
