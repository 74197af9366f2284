// VK_EXT_shader_object: shaders, and the state that draws with them need.
#pragma once

#include <tally/vulkan_arm.h>
#include <tally/vulkan_newer.h>

#include <memory>
#include <span>
#include <vector>

#include "support/pipeline.h"

namespace tally::test {

struct ShaderObjectInfo {
  Stage shader;
  VkShaderStageFlags next_stage = 0;
  VkShaderCreateFlagsEXT flags = VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM;
  std::vector<VkDescriptorSetLayout> sets;
  uint32_t push_bytes = 0;            // one range for all stages
  std::span<const std::byte> binary;  // in place of the shader's code
};

// The shaders of one vkCreateShadersEXT.
class ShaderObjects {
 public:
  ShaderObjects(const Context& context, const std::vector<ShaderObjectInfo>& infos);
  ~ShaderObjects();
  ShaderObjects(const ShaderObjects&) = delete;
  ShaderObjects& operator=(const ShaderObjects&) = delete;

  VkShaderEXT operator[](size_t i) const { return handles_.at(i); }
  void bind(VkCommandBuffer commands) const;
  std::vector<std::byte> binary(size_t i) const;

 private:
  const Context& context_;
  std::vector<VkShaderStageFlagBits> stages_;
  std::vector<VkShaderEXT> handles_;
};

void bind_shader(const Context& context, VkCommandBuffer commands, VkShaderStageFlagBits stage,
                 VkShaderEXT shader);
// No shader of any graphics stage.
void unbind_graphics_shaders(const Context& context, VkCommandBuffer commands);

struct DrawState {
  VkExtent2D extent = {64, 64};
  VkPrimitiveTopology topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
  uint32_t patch_control_points = 3;
  bool rasterizer_discard = false;
};
// All state that a draw with shader objects reads, as make_graphics_pipeline chooses it.
void set_draw_state(const Context& context, VkCommandBuffer commands, const DrawState& state = {});

// A device with the extension and its feature, and mesh shaders where the driver has them. Null if
// the driver has no shader objects.
std::unique_ptr<Context> make_shader_object_context(bool instrumented);

}  // namespace tally::test
