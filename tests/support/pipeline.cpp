#include "support/pipeline.h"

#include <tally/vulkan_newer.h>

namespace tally::test {
namespace {

std::vector<VkDescriptorSetLayoutBinding> each_of(VkDescriptorType type, size_t count) {
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (uint32_t i = 0; i < count; ++i)
    bindings.push_back({i, type, 1, VK_SHADER_STAGE_ALL, nullptr});
  return bindings;
}

// The shader modules of a pipeline's stages and the create infos that point to them.
struct StageInfos {
  StageInfos(const Context& context, std::span<const Stage> stages) {
    for (const Stage& stage : stages) {
      modules.push_back(make_shader_module(context, stage.code));
      VkPipelineShaderStageCreateInfo info = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
      info.stage = stage.stage;
      info.module = modules.back();
      info.pName = stage.entry;
      info.pSpecializationInfo = stage.specialization;
      info.pNext = stage.next;
      infos.push_back(info);
    }
  }
  std::vector<ShaderModule> modules;
  std::vector<VkPipelineShaderStageCreateInfo> infos;
};

// The fixed-function state that GraphicsPipelineInfo asks for.
struct FixedState {
  explicit FixedState(const GraphicsPipelineInfo& info) {
    if (info.vertex_input) vertex_input = *info.vertex_input;
    assembly.topology = info.topology;
    assembly.primitiveRestartEnable = info.primitive_restart;
    tessellation.patchControlPoints = info.patch_control_points;
    viewport.viewportCount = viewport.scissorCount = 1;
    raster.rasterizerDiscardEnable = info.rasterizer_discard;
    raster.lineWidth = 1;
    multisample.rasterizationSamples = info.samples;
    multisample.sampleShadingEnable = info.min_sample_shading > 0;
    multisample.minSampleShading = info.min_sample_shading;
    multisample.pSampleMask = &info.sample_mask;
    depth.depthTestEnable = info.depth_test;
    depth.depthWriteEnable = info.depth_write;
    depth.depthCompareOp = info.depth_compare;
    depth.stencilTestEnable = info.stencil_test;
    depth.front = {.compareOp = VK_COMPARE_OP_EQUAL,
                   .compareMask = 0xff,
                   .writeMask = 0xff,
                   .reference = info.stencil_reference};
    depth.back = depth.front;
    multisample.alphaToCoverageEnable = info.alpha_to_coverage;
    blend_attachment.colorWriteMask = info.color_write;
    blend_attachment.blendEnable = info.additive_blend;
    blend_attachment.srcColorBlendFactor = blend_attachment.dstColorBlendFactor =
        VK_BLEND_FACTOR_ONE;
    blend_attachment.srcAlphaBlendFactor = blend_attachment.dstAlphaBlendFactor =
        VK_BLEND_FACTOR_ONE;
    if (info.color_format != VK_FORMAT_UNDEFINED) {
      blend.attachmentCount = 1;
      blend.pAttachments = &blend_attachment;
      rendering.colorAttachmentCount = 1;
      rendering.pColorAttachmentFormats = &info.color_format;
    }
    dynamic_states.insert(dynamic_states.end(), info.dynamic.begin(), info.dynamic.end());
    dynamic.dynamicStateCount = static_cast<uint32_t>(dynamic_states.size());
    dynamic.pDynamicStates = dynamic_states.data();
    rendering.pNext = info.next;
    rendering.viewMask = info.view_mask;
    rendering.depthAttachmentFormat = info.depth_format;
    if (has_stencil(info.depth_format)) rendering.stencilAttachmentFormat = info.depth_format;
  }

  std::vector<VkDynamicState> dynamic_states = {VK_DYNAMIC_STATE_VIEWPORT,
                                                VK_DYNAMIC_STATE_SCISSOR};
  VkPipelineVertexInputStateCreateInfo vertex_input = {
      VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
  VkPipelineInputAssemblyStateCreateInfo assembly = {
      VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO};
  VkPipelineTessellationStateCreateInfo tessellation = {
      VK_STRUCTURE_TYPE_PIPELINE_TESSELLATION_STATE_CREATE_INFO};
  VkPipelineViewportStateCreateInfo viewport = {
      VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO};
  VkPipelineRasterizationStateCreateInfo raster = {
      VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO};
  VkPipelineMultisampleStateCreateInfo multisample = {
      VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO};
  VkPipelineDepthStencilStateCreateInfo depth = {
      VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO};
  VkPipelineColorBlendAttachmentState blend_attachment = {};
  VkPipelineColorBlendStateCreateInfo blend = {
      VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO};
  VkPipelineDynamicStateCreateInfo dynamic = {VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO};
  VkPipelineRenderingCreateInfo rendering = {VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO};
};

}  // namespace

ShaderModule make_shader_module(const Context& context, std::span<const uint32_t> code) {
  VkShaderModuleCreateInfo info = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  info.codeSize = code.size_bytes();
  info.pCode = code.data();
  VkShaderModule handle = VK_NULL_HANDLE;
  check(vkCreateShaderModule(context.device(), &info, nullptr, &handle));
  return {context.device(), handle};
}

SetLayout make_set_layout(const Context& context,
                          std::span<const VkDescriptorSetLayoutBinding> bindings,
                          VkDescriptorSetLayoutCreateFlags flags) {
  const VkDescriptorSetLayoutCreateInfo info = {
      VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, nullptr, flags,
      static_cast<uint32_t>(bindings.size()), bindings.data()};
  VkDescriptorSetLayout handle = VK_NULL_HANDLE;
  check(vkCreateDescriptorSetLayout(context.device(), &info, nullptr, &handle));
  return {context.device(), handle};
}

PipelineLayout make_pipeline_layout(const Context& context,
                                    std::span<const VkDescriptorSetLayout> sets,
                                    uint32_t push_bytes, VkShaderStageFlags push_stages) {
  const VkPushConstantRange range = {push_stages, 0, push_bytes};
  VkPipelineLayoutCreateInfo info = {VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  info.setLayoutCount = static_cast<uint32_t>(sets.size());
  info.pSetLayouts = sets.data();
  info.pushConstantRangeCount = push_bytes ? 1 : 0;
  info.pPushConstantRanges = &range;
  VkPipelineLayout handle = VK_NULL_HANDLE;
  check(vkCreatePipelineLayout(context.device(), &info, nullptr, &handle));
  return {context.device(), handle};
}

DescriptorSet::DescriptorSet(const Context& context,
                             std::span<const VkDescriptorSetLayoutBinding> bindings)
    : device_(context.device()),
      bindings_(bindings.begin(), bindings.end()),
      layout_(make_set_layout(context, bindings)) {
  std::vector<VkDescriptorPoolSize> sizes;
  for (const auto& binding : bindings)
    sizes.push_back({binding.descriptorType, binding.descriptorCount});
  VkDescriptorPoolCreateInfo pool = {VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  pool.maxSets = 1;
  pool.poolSizeCount = static_cast<uint32_t>(sizes.size());
  pool.pPoolSizes = sizes.data();
  VkDescriptorPool pool_handle = VK_NULL_HANDLE;
  check(vkCreateDescriptorPool(device_, &pool, nullptr, &pool_handle));
  pool_ = {device_, pool_handle};

  VkDescriptorSetAllocateInfo allocate = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  allocate.descriptorPool = pool_handle;
  allocate.descriptorSetCount = 1;
  allocate.pSetLayouts = layout_.address();
  check(vkAllocateDescriptorSets(device_, &allocate, &set_));
}

void DescriptorSet::write(uint32_t binding, const VkDescriptorBufferInfo* buffers) const {
  VkWriteDescriptorSet all = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
  all.pBufferInfo = buffers;
  write(binding, all);
}

void DescriptorSet::write(uint32_t binding, const VkDescriptorImageInfo* images) const {
  VkWriteDescriptorSet all = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
  all.pImageInfo = images;
  write(binding, all);
}

void DescriptorSet::write(uint32_t binding, VkWriteDescriptorSet write) const {
  write.dstSet = set_;
  write.dstBinding = binding;
  write.descriptorCount = bindings_[binding].descriptorCount;
  write.descriptorType = bindings_[binding].descriptorType;
  vkUpdateDescriptorSets(device_, 1, &write, 0, nullptr);
}

void DescriptorSet::bind(VkCommandBuffer commands, VkPipelineLayout layout,
                         VkPipelineBindPoint point) const {
  vkCmdBindDescriptorSets(commands, point, layout, 0, 1, &set_, 0, nullptr);
}

StorageSet::StorageSet(const Context& context, std::span<const VkBuffer> buffers)
    : DescriptorSet(context, each_of(VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffers.size())) {
  for (uint32_t i = 0; i < buffers.size(); ++i) {
    const VkDescriptorBufferInfo whole = {buffers[i], 0, VK_WHOLE_SIZE};
    write(i, &whole);
  }
}

ImageSet::ImageSet(const Context& context, std::span<const VkImageView> views)
    : DescriptorSet(context, each_of(VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, views.size())) {
  for (uint32_t i = 0; i < views.size(); ++i) {
    const VkDescriptorImageInfo image = {VK_NULL_HANDLE, views[i], VK_IMAGE_LAYOUT_GENERAL};
    write(i, &image);
  }
}

Pipeline make_compute_pipeline(const Context& context, const ComputePipelineInfo& info) {
  const StageInfos stages(context, {&info.shader, 1});
  VkComputePipelineCreateInfo create = {VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, info.next};
  create.flags = info.flags;
  create.stage = stages.infos[0];
  create.layout = info.layout;
  VkPipeline handle = VK_NULL_HANDLE;
  check(vkCreateComputePipelines(context.device(), info.cache, 1, &create, nullptr, &handle));
  return {context.device(), handle};
}

Pipeline make_graphics_pipeline(const Context& context, const GraphicsPipelineInfo& info) {
  const StageInfos stages(context, info.stages);
  const FixedState state(info);
  VkGraphicsPipelineCreateInfo create = {VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO};
  create.pNext = info.render_pass ? info.next : &state.rendering;
  create.flags = info.flags;
  create.stageCount = static_cast<uint32_t>(stages.infos.size());
  create.pStages = stages.infos.data();
  create.pVertexInputState = &state.vertex_input;
  create.pInputAssemblyState = &state.assembly;
  create.pTessellationState = info.patch_control_points ? &state.tessellation : nullptr;
  create.pViewportState = &state.viewport;
  create.pRasterizationState = &state.raster;
  create.pMultisampleState = &state.multisample;
  create.pDepthStencilState = &state.depth;
  create.pColorBlendState = &state.blend;
  create.pDynamicState = &state.dynamic;
  create.layout = info.layout;
  create.renderPass = info.render_pass;
  create.subpass = info.subpass;
  VkPipeline handle = VK_NULL_HANDLE;
  check(vkCreateGraphicsPipelines(context.device(), info.cache, 1, &create, nullptr, &handle));
  return {context.device(), handle};
}

Pipeline make_pipeline_library(const Context& context, VkGraphicsPipelineLibraryFlagsEXT parts,
                               GraphicsPipelineInfo info) {
  const VkGraphicsPipelineLibraryCreateInfoEXT library{
      VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT, const_cast<void*>(info.next),
      parts};
  info.flags |= VK_PIPELINE_CREATE_LIBRARY_BIT_KHR |
                VK_PIPELINE_CREATE_RETAIN_LINK_TIME_OPTIMIZATION_INFO_BIT_EXT;
  info.next = &library;
  return make_graphics_pipeline(context, info);
}

Pipeline link_graphics_pipeline(const Context& context, VkPipelineLayout layout,
                                std::span<const VkPipeline> libraries, uint64_t flags) {
  const VkPipelineCreateFlags2CreateInfoKHR flags2 = {
      VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR, nullptr, flags};
  const VkPipelineLibraryCreateInfoKHR library = {
      VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR, &flags2,
      static_cast<uint32_t>(libraries.size()), libraries.data()};
  VkGraphicsPipelineCreateInfo create = {VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO, &library};
  create.layout = layout;
  create.basePipelineIndex = -1;
  VkPipeline handle = VK_NULL_HANDLE;
  check(vkCreateGraphicsPipelines(context.device(), VK_NULL_HANDLE, 1, &create, nullptr, &handle));
  return {context.device(), handle};
}

}  // namespace tally::test
