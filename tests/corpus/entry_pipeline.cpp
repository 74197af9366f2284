#include "corpus/entry_pipeline.h"

#include <algorithm>

#include "patch.tesc.h"
#include "patch.tese.h"
#include "spirv/testing/block_count.h"

namespace tally::test {
namespace {

using spirv::EntryPoint;
using spirv::Module;
using spv::ExecutionModel;

std::optional<VkShaderStageFlagBits> stage_of(ExecutionModel model) {
  switch (model) {
    case ExecutionModel::Vertex:
      return VK_SHADER_STAGE_VERTEX_BIT;
    case ExecutionModel::TessellationControl:
      return VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT;
    case ExecutionModel::TessellationEvaluation:
      return VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT;
    case ExecutionModel::Geometry:
      return VK_SHADER_STAGE_GEOMETRY_BIT;
    case ExecutionModel::Fragment:
      return VK_SHADER_STAGE_FRAGMENT_BIT;
    case ExecutionModel::GLCompute:
      return VK_SHADER_STAGE_COMPUTE_BIT;
    default:
      return std::nullopt;
  }
}

VkFormat attribute_format(const Varying& varying) {
  switch (varying.number) {
    case Varying::Number::Float:
      return VK_FORMAT_R32G32B32A32_SFLOAT;
    case Varying::Number::Int:
      return VK_FORMAT_R32G32B32A32_SINT;
    case Varying::Number::Uint:
      return VK_FORMAT_R32G32B32A32_UINT;
  }
  return VK_FORMAT_UNDEFINED;
}

// The input topology of a geometry shader.
VkPrimitiveTopology input_topology(const Module& module, const EntryPoint& entry) {
  for (const uint32_t mode : module.execution_modes(entry)) {
    switch (static_cast<spv::ExecutionMode>(module.instruction(mode).operand(1))) {
      case spv::ExecutionMode::InputPoints:
        return VK_PRIMITIVE_TOPOLOGY_POINT_LIST;
      case spv::ExecutionMode::InputLines:
        return VK_PRIMITIVE_TOPOLOGY_LINE_LIST;
      case spv::ExecutionMode::InputLinesAdjacency:
        return VK_PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY;
      case spv::ExecutionMode::InputTrianglesAdjacency:
        return VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST_WITH_ADJACENCY;
      default:
        break;
    }
  }
  return VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
}

// Drivers assume that a stage's descriptors stay within their limits.
bool exceeds_limits(const VkPhysicalDeviceLimits& limits, const ShaderInterface& interface) {
  std::map<VkDescriptorType, uint64_t> counts;
  for (const auto& [set, bindings] : interface.sets) {
    for (const auto& [number, binding] : bindings) {
      counts[binding.descriptorType] += binding.descriptorCount;
    }
  }
  const uint64_t sampled = counts[VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER];
  return sampled + counts[VK_DESCRIPTOR_TYPE_SAMPLER] > limits.maxPerStageDescriptorSamplers ||
         sampled + counts[VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE] +
                 counts[VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER] >
             limits.maxPerStageDescriptorSampledImages ||
         counts[VK_DESCRIPTOR_TYPE_STORAGE_IMAGE] +
                 counts[VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER] >
             limits.maxPerStageDescriptorStorageImages ||
         counts[VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER] + 1 >
             limits.maxPerStageDescriptorUniformBuffers ||
         counts[VK_DESCRIPTOR_TYPE_STORAGE_BUFFER] > limits.maxPerStageDescriptorStorageBuffers ||
         interface.sets.size() + 1 > limits.maxBoundDescriptorSets;
}

}  // namespace

std::optional<std::string> EntryPipeline::obstacle(const Context& context, const Module& module,
                                                   const EntryPoint& entry) {
  const ShaderInterface interface = interface_of(module, entry);
  if (!stage_of(entry.model)) return "a stage that is not made up here";
  if (interface.needs_render_pass) return "it reads input attachments";
  if (exceeds_limits(context.properties().limits, interface)) {
    return "more descriptors than the device allows";
  }
  return std::nullopt;
}

EntryPipeline::EntryPipeline(const Context& context, const Module& module, const EntryPoint& entry)
    : context_(context), model_(entry.model), name_(entry.name) {
  const ShaderInterface interface = interface_of(module, entry);
  make_layout(interface);
  make_partners(interface);
  if (model_ == ExecutionModel::Geometry) topology_ = input_topology(module, entry);
  if (model_ == ExecutionModel::TessellationControl ||
      model_ == ExecutionModel::TessellationEvaluation) {
    topology_ = VK_PRIMITIVE_TOPOLOGY_PATCH_LIST;
  }
}

VkShaderStageFlagBits EntryPipeline::stage() const { return *stage_of(model_); }

void EntryPipeline::make_layout(const ShaderInterface& interface) {
  const uint32_t sets = interface.sets.empty() ? 0 : interface.sets.rbegin()->first + 1;
  std::vector<VkDescriptorSetLayout> handles;
  for (uint32_t set = 0; set <= sets; ++set) {
    std::vector<VkDescriptorSetLayoutBinding> bindings;
    const auto found = interface.sets.find(set);
    if (found != interface.sets.end()) {
      for (const auto& [number, binding] : found->second) bindings.push_back(binding);
    }
    if (set == sets) {
      bindings.push_back(
          {0, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, 1, VK_SHADER_STAGE_ALL, nullptr});
    }
    set_layouts_.push_back(make_set_layout(context_, bindings));
    handles.push_back(set_layouts_.back());
  }
  layout_ =
      make_pipeline_layout(context_, handles, context_.properties().limits.maxPushConstantsSize);
}

void EntryPipeline::make_partners(const ShaderInterface& interface) {
  const auto add = [&](VkShaderStageFlagBits stage, Words words) {
    partners_.emplace_back(stage, std::move(words));
  };
  if (model_ == ExecutionModel::GLCompute) return;
  if (model_ == ExecutionModel::Vertex) {
    for (const Varying& input : interface.inputs) {
      for (uint32_t i = 0; i < input.locations; ++i) {
        attributes_.push_back({input.location + i, 0, attribute_format(input), 0});
      }
    }
  } else {
    add(VK_SHADER_STAGE_VERTEX_BIT, vertex_shader_for(interface.inputs));
    attributes_.push_back({0, 0, VK_FORMAT_R32G32B32A32_SFLOAT, 0});
  }
  if (model_ == ExecutionModel::TessellationControl) {
    add(VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT,
        Words(std::begin(patch_tese), std::end(patch_tese)));
  } else if (model_ == ExecutionModel::TessellationEvaluation) {
    add(VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT,
        Words(std::begin(patch_tesc), std::end(patch_tesc)));
  }
  colour_formats_ = {VK_FORMAT_R8G8B8A8_UNORM};
  if (model_ != ExecutionModel::Fragment) {
    add(VK_SHADER_STAGE_FRAGMENT_BIT, fragment_shader_for(interface.outputs));
    return;
  }
  colour_formats_.clear();
  for (const Varying& output : interface.outputs) {
    const size_t needed = output.location + output.locations;
    if (needed > 8) continue;
    colour_formats_.resize(std::max(colour_formats_.size(), needed), VK_FORMAT_R32G32B32A32_SFLOAT);
    for (size_t i = output.location; i < needed; ++i) colour_formats_[i] = attribute_format(output);
  }
}

VkResult EntryPipeline::create(std::span<const uint32_t> words, VkPipelineCreateFlags flags,
                               Pipeline& pipeline) const {
  std::vector<ShaderModule> modules;
  std::vector<VkPipelineShaderStageCreateInfo> stages;
  const auto add = [&](VkShaderStageFlagBits stage, std::span<const uint32_t> code,
                       const char* name) {
    modules.push_back(make_shader_module(context_, code));
    VkPipelineShaderStageCreateInfo info = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
    info.stage = stage;
    info.module = modules.back();
    info.pName = name;
    stages.push_back(info);
  };
  add(*stage_of(model_), words, name_.c_str());
  for (const auto& [stage, code] : partners_) add(stage, code, "main");
  return model_ == ExecutionModel::GLCompute ? create_compute(stages[0], flags, pipeline)
                                             : create_graphics(stages, flags, pipeline);
}

VkResult EntryPipeline::create_compute(const VkPipelineShaderStageCreateInfo& stage,
                                       VkPipelineCreateFlags flags, Pipeline& pipeline) const {
  VkComputePipelineCreateInfo info = {VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.flags = flags;
  info.stage = stage;
  info.layout = layout_;
  VkPipeline handle = VK_NULL_HANDLE;
  const VkResult result =
      vkCreateComputePipelines(context_.device(), VK_NULL_HANDLE, 1, &info, nullptr, &handle);
  pipeline = Pipeline(context_.device(), handle);
  return result;
}

VkResult EntryPipeline::create_graphics(std::span<const VkPipelineShaderStageCreateInfo> stages,
                                        VkPipelineCreateFlags flags, Pipeline& pipeline) const {
  const VkVertexInputBindingDescription binding = {0, 16, VK_VERTEX_INPUT_RATE_VERTEX};
  VkPipelineVertexInputStateCreateInfo vertex_input = {
      VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
  vertex_input.vertexBindingDescriptionCount = 1;
  vertex_input.pVertexBindingDescriptions = &binding;
  vertex_input.vertexAttributeDescriptionCount = static_cast<uint32_t>(attributes_.size());
  vertex_input.pVertexAttributeDescriptions = attributes_.data();
  VkPipelineInputAssemblyStateCreateInfo assembly = {
      VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO};
  assembly.topology = topology_;
  VkPipelineTessellationStateCreateInfo tessellation = {
      VK_STRUCTURE_TYPE_PIPELINE_TESSELLATION_STATE_CREATE_INFO};
  tessellation.patchControlPoints = 3;
  const VkViewport area = {0, 0, 64, 64, 0, 1};
  const VkRect2D scissor = {{0, 0}, {64, 64}};
  VkPipelineViewportStateCreateInfo viewport = {
      VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO};
  viewport.viewportCount = viewport.scissorCount = 1;
  viewport.pViewports = &area;
  viewport.pScissors = &scissor;
  VkPipelineRasterizationStateCreateInfo raster = {
      VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO};
  raster.lineWidth = 1;
  VkPipelineMultisampleStateCreateInfo multisample = {
      VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO};
  multisample.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT;
  VkPipelineDepthStencilStateCreateInfo depth = {
      VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO};
  depth.depthTestEnable = depth.depthWriteEnable = VK_TRUE;
  depth.depthCompareOp = VK_COMPARE_OP_LESS;
  VkPipelineColorBlendAttachmentState attachment = {};
  attachment.colorWriteMask = 0xf;
  const std::vector attachments(colour_formats_.size(), attachment);
  VkPipelineColorBlendStateCreateInfo blend = {
      VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO};
  blend.attachmentCount = static_cast<uint32_t>(attachments.size());
  blend.pAttachments = attachments.data();
  VkPipelineRenderingCreateInfo rendering = {VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO};
  rendering.colorAttachmentCount = static_cast<uint32_t>(colour_formats_.size());
  rendering.pColorAttachmentFormats = colour_formats_.data();
  rendering.depthAttachmentFormat = VK_FORMAT_D32_SFLOAT;

  VkGraphicsPipelineCreateInfo info = {VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO, &rendering};
  info.flags = flags;
  info.stageCount = static_cast<uint32_t>(stages.size());
  info.pStages = stages.data();
  info.pVertexInputState = &vertex_input;
  info.pInputAssemblyState = &assembly;
  info.pTessellationState = &tessellation;
  info.pViewportState = &viewport;
  info.pRasterizationState = &raster;
  info.pMultisampleState = &multisample;
  info.pDepthStencilState = &depth;
  info.pColorBlendState = &blend;
  info.layout = layout_;
  VkPipeline handle = VK_NULL_HANDLE;
  const VkResult result =
      vkCreateGraphicsPipelines(context_.device(), VK_NULL_HANDLE, 1, &info, nullptr, &handle);
  pipeline = Pipeline(context_.device(), handle);
  return result;
}

Result<spirv::BlockCountResult> instrument_for(const Context& context, const EntryPipeline& target,
                                               const Module& module, const EntryPoint& entry) {
  constexpr VkSubgroupFeatureFlags kOperations =
      VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_VOTE_BIT |
      VK_SUBGROUP_FEATURE_BALLOT_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT;
  VkPhysicalDeviceSubgroupProperties subgroup = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
  VkPhysicalDeviceProperties2 properties = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                            &subgroup};
  vkGetPhysicalDeviceProperties2(context.gpu(), &properties);
  VkPhysicalDeviceShaderAtomicInt64Features atomics = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_INT64_FEATURES};
  VkPhysicalDeviceFeatures2 features = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &atomics};
  vkGetPhysicalDeviceFeatures2(context.gpu(), &features);

  spirv::BlockCountOptions options;
  options.stage = entry.model;
  options.entry_point = entry.name;
  options.int64 = features.features.shaderInt64;
  options.int64_atomics = options.int64 && atomics.shaderBufferInt64Atomics;
  options.subgroup_operations = (subgroup.supportedStages & *stage_of(entry.model)) &&
                                (subgroup.supportedOperations & kOperations) == kOperations;
  options.max_shards_log2 = 6;
  options.address.push_constant_offset = properties.properties.limits.maxPushConstantsSize - 8;
  auto result = add_block_counts(module.words(), options);
  if (result) return result;
  options.address = {spirv::AddressSource::Kind::UniformBuffer, 0, target.address_set(), 0};
  return add_block_counts(module.words(), options);
}

}  // namespace tally::test
