// What a graphics pipeline says of how vertices become primitives.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>

namespace tally::counters {

struct DrawFacts {
  VkPrimitiveTopology topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
  uint32_t patch_control_points = 1;
  bool rasterizer_discard = false;
  bool restarts = false;  // an index may restart the primitive
  VkShaderStageFlags stages = 0;
  // These come from the command buffer.
  bool dynamic_topology = false;
  bool dynamic_patch = false;
  bool dynamic_discard = false;
  bool dynamic_restart = false;
};

// The dynamic ones, as last set in a command buffer.
struct DynamicDrawFacts {
  VkPrimitiveTopology topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
  uint32_t patch_control_points = 1;
  bool rasterizer_discard = false;
  bool restarts = false;

  DrawFacts applied_to(DrawFacts facts) const;
};

// How many vertices the first primitive takes, and each further one.
struct PrimitiveStep {
  uint32_t first = 1;
  uint32_t step = 1;
};
PrimitiveStep primitive_step(const DrawFacts& facts);

// Complete primitives of one instance's vertices, where no index restarts the primitive.
uint64_t primitives_of(const DrawFacts& facts, uint64_t vertices);

// How many vertices a primitive has, those of its neighbours left out.
uint32_t primitive_vertices(const DrawFacts& facts);

// Whether the primitives assembled are those that leave the last stage before rasterization.
inline bool keeps_primitives(const DrawFacts& facts) {
  constexpr VkShaderStageFlags kMakers = VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT |
                                         VK_SHADER_STAGE_GEOMETRY_BIT |
                                         VK_SHADER_STAGE_MESH_BIT_EXT;
  return (facts.stages & kMakers) == 0;
}

}  // namespace tally::counters
