// Short forms of pipeline creation. The defaults suit most tests.
#pragma once

#include <span>
#include <vector>

#include "support/memory.h"

namespace tally::test {

struct Stage {
  VkShaderStageFlagBits stage = VK_SHADER_STAGE_COMPUTE_BIT;
  std::span<const uint32_t> code;
  const char* entry = "main";
  const VkSpecializationInfo* specialization = nullptr;
  const void* next = nullptr;  // pNext of the stage
};

ShaderModule make_shader_module(const Context& context, std::span<const uint32_t> code);

SetLayout make_set_layout(const Context& context,
                          std::span<const VkDescriptorSetLayoutBinding> bindings = {},
                          VkDescriptorSetLayoutCreateFlags flags = 0);

// A layout of the given sets with one push-constant range of `push_bytes` for `push_stages` (no
// range for 0 bytes).
PipelineLayout make_pipeline_layout(const Context& context,
                                    std::span<const VkDescriptorSetLayout> sets = {},
                                    uint32_t push_bytes = 0,
                                    VkShaderStageFlags push_stages = VK_SHADER_STAGE_ALL);

// One descriptor set, with its layout and a pool of its own.
class DescriptorSet {
 public:
  DescriptorSet() = default;
  // Binding i is the i-th one.
  DescriptorSet(const Context& context, std::span<const VkDescriptorSetLayoutBinding> bindings);
  VkDescriptorSetLayout layout() const { return layout_; }
  VkDescriptorSet set() const { return set_; }
  // Writes all descriptors of a binding: one element for each.
  void write(uint32_t binding, const VkDescriptorBufferInfo* buffers) const;
  void write(uint32_t binding, const VkDescriptorImageInfo* images) const;
  void bind(VkCommandBuffer commands, VkPipelineLayout layout,
            VkPipelineBindPoint point = VK_PIPELINE_BIND_POINT_COMPUTE) const;

 protected:
  // `write` says what is written.
  void write(uint32_t binding, VkWriteDescriptorSet write) const;

 private:
  VkDevice device_ = VK_NULL_HANDLE;
  std::vector<VkDescriptorSetLayoutBinding> bindings_;
  SetLayout layout_;
  DescriptorPool pool_;
  VkDescriptorSet set_ = VK_NULL_HANDLE;
};

// Binding i is the i-th storage buffer, visible to all stages.
class StorageSet : public DescriptorSet {
 public:
  StorageSet(const Context& context, std::span<const VkBuffer> buffers);
  StorageSet(const Context& context, std::initializer_list<VkBuffer> buffers)
      : StorageSet(context, std::span(buffers.begin(), buffers.size())) {}
};

// Binding i is the i-th storage image, visible to all stages.
class ImageSet : public DescriptorSet {
 public:
  ImageSet(const Context& context, std::span<const VkImageView> views);
};

struct ComputePipelineInfo {
  Stage shader;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkPipelineCache cache = VK_NULL_HANDLE;
  VkPipelineCreateFlags flags = 0;
  const void* next = nullptr;  // pNext of the create info
};
Pipeline make_compute_pipeline(const Context& context, const ComputePipelineInfo& info);

// Viewport and scissor are dynamic (begin_rendering and begin_render_pass set them). Unless
// changed, there is no vertex input and no culling. Without a render pass, the pipeline is for
// dynamic rendering.
struct GraphicsPipelineInfo {
  std::vector<Stage> stages;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkFormat color_format = VK_FORMAT_R8G8B8A8_UNORM;  // UNDEFINED: no colour attachment
  VkFormat depth_format = VK_FORMAT_UNDEFINED;
  VkSampleCountFlagBits samples = VK_SAMPLE_COUNT_1_BIT;
  float min_sample_shading = 0;  // above 0: enables sample shading
  VkPrimitiveTopology topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
  bool primitive_restart = false;
  std::vector<VkDynamicState> dynamic;  // in addition to viewport and scissor
  const VkPipelineVertexInputStateCreateInfo* vertex_input = nullptr;
  uint32_t patch_control_points = 0;
  bool depth_test = false;
  bool depth_write = false;
  VkCompareOp depth_compare = VK_COMPARE_OP_LESS;
  bool stencil_test = false;  // passes where the stencil value is `stencil_reference`
  uint32_t stencil_reference = 0;
  bool alpha_to_coverage = false;
  VkSampleMask sample_mask = ~0u;
  bool additive_blend = false;
  VkColorComponentFlags color_write = 0xf;
  bool rasterizer_discard = false;
  uint32_t view_mask = 0;
  VkRenderPass render_pass = VK_NULL_HANDLE;
  uint32_t subpass = 0;
  VkPipelineCache cache = VK_NULL_HANDLE;
  VkPipelineCreateFlags flags = 0;
  const void* next = nullptr;  // pNext of the create info
};
Pipeline make_graphics_pipeline(const Context& context, const GraphicsPipelineInfo& info);

// A library with these parts of a graphics pipeline and the stages of `info`.
Pipeline make_pipeline_library(const Context& context, VkGraphicsPipelineLibraryFlagsEXT parts,
                               GraphicsPipelineInfo info);

// A pipeline that is linked from libraries alone. `flags`: VkPipelineCreateFlagBits2.
Pipeline link_graphics_pipeline(const Context& context, VkPipelineLayout layout,
                                std::span<const VkPipeline> libraries, uint64_t flags);

}  // namespace tally::test
