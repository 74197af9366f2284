#include "counters/pipelines/kept_create_info.h"

#include <tally/vulkan_newest.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "counters/pipelines/pipeline_contents.h"
#include "vk/chain.h"

namespace tally::counters {
namespace {

// A struct whose copy stays valid. Pointers in these are replaced by hand.
bool is_kept(VkStructureType type) {
  switch (static_cast<uint32_t>(type)) {
    case VK_STRUCTURE_TYPE_CUSTOM_RESOLVE_CREATE_INFO_EXT:
    case VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR:
    case VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO:
    case VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_DIVISOR_STATE_CREATE_INFO_EXT:
    case VK_STRUCTURE_TYPE_SHADER_DESCRIPTOR_SET_AND_BINDING_MAPPING_INFO_EXT:
      return true;
    case 1000428001:  // VkComputePipelineIndirectBufferInfoNV: the address of memory
      return false;
    default:
      return vk::is_flat(type);
  }
}

// A variant does without these. A module in a chain is known by its SPIR-V.
bool is_left_out(VkStructureType type) {
  return type == VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO ||
         type == VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT ||
         type == VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
}

bool keep_chain(vk::CopyMemory& memory, const void*& chain) {
  const auto* node = static_cast<const VkBaseInStructure*>(chain);
  const void** link = &chain;
  *link = nullptr;
  for (; node; node = node->pNext) {
    if (is_left_out(node->sType)) continue;
    if (!is_kept(node->sType)) return false;
    VkBaseOutStructure* copy = memory.copy_struct(node);
    copy->pNext = nullptr;
    *link = copy;
    link = const_cast<const void**>(reinterpret_cast<void**>(&copy->pNext));
  }
  return true;
}

// Replaces a pointer to one struct of a pipeline's state, or leaves it out. Returns the copy.
template <typename T>
T* keep_state(vk::CopyMemory& memory, const T*& state, bool used, bool& known) {
  if (!used || !state) {
    state = nullptr;
    return nullptr;
  }
  T* copy = memory.copy(state, 1);
  known = keep_chain(memory, copy->pNext) && known;
  state = copy;
  return copy;
}

void keep_specialization(vk::CopyMemory& memory, const VkSpecializationInfo*& values) {
  if (!values) return;
  VkSpecializationInfo* copy = memory.copy(values, 1);
  copy->pMapEntries = memory.copy(values->pMapEntries, values->mapEntryCount);
  copy->pData =
      values->dataSize == 0 ? nullptr : memory.copy_bytes(values->pData, values->dataSize);
  values = copy;
}

// The mapping source's embedded sampler; null for sources without one.
const VkSamplerCreateInfo** embedded_sampler(VkDescriptorSetAndBindingMappingEXT& mapping) {
  VkDescriptorMappingSourceDataEXT& data = mapping.sourceData;
  switch (mapping.source) {
    case VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_CONSTANT_OFFSET_EXT:
      return &data.constantOffset.pEmbeddedSampler;
    case VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_PUSH_INDEX_EXT:
      return &data.pushIndex.pEmbeddedSampler;
    case VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_INDIRECT_INDEX_EXT:
      return &data.indirectIndex.pEmbeddedSampler;
    case VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_INDIRECT_INDEX_ARRAY_EXT:
      return &data.indirectIndexArray.pEmbeddedSampler;
    case VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_SHADER_RECORD_INDEX_EXT:
      return &data.shaderRecordIndex.pEmbeddedSampler;
    default:
      return nullptr;
  }
}

bool keep_sampler(vk::CopyMemory& memory, const VkSamplerCreateInfo*& sampler) {
  if (!sampler) return true;
  VkSamplerCreateInfo* copy = memory.copy(sampler, 1);
  sampler = copy;
  return keep_chain(memory, copy->pNext);
}

// Not kept: chains of mappings.
bool keep_mappings(vk::CopyMemory& memory, const void* chain) {
  using Mappings = VkShaderDescriptorSetAndBindingMappingInfoEXT;
  auto* mappings = const_cast<Mappings*>(vk::find_in_chain<Mappings>(
      chain, VK_STRUCTURE_TYPE_SHADER_DESCRIPTOR_SET_AND_BINDING_MAPPING_INFO_EXT));
  if (!mappings) return true;
  const std::span copies(memory.copy(mappings->pMappings, mappings->mappingCount),
                         mappings->mappingCount);
  mappings->pMappings = copies.data();
  bool known = true;
  for (VkDescriptorSetAndBindingMappingEXT& mapping : copies) {
    const VkSamplerCreateInfo** sampler = embedded_sampler(mapping);
    known = !std::exchange(mapping.pNext, nullptr) && known;
    known = (!sampler || keep_sampler(memory, *sampler)) && known;
  }
  return known;
}

bool keep_stage(vk::CopyMemory& memory, VkPipelineShaderStageCreateInfo& stage) {
  stage.module = VK_NULL_HANDLE;
  stage.pName = memory.copy(stage.pName, std::strlen(stage.pName) + 1);
  keep_specialization(memory, stage.pSpecializationInfo);
  return keep_shader_chain(memory, stage.pNext);
}

template <typename T>
T* find_kept(const void* chain, VkStructureType type) {
  return const_cast<T*>(vk::find_in_chain<T>(chain, type));
}

void keep_resolve_formats(vk::CopyMemory& memory, const void* chain) {
  auto* resolve = find_kept<VkCustomResolveCreateInfoEXT>(
      chain, VK_STRUCTURE_TYPE_CUSTOM_RESOLVE_CREATE_INFO_EXT);
  if (!resolve) return;
  if (!resolve->pColorAttachmentFormats) resolve->colorAttachmentCount = 0;
  resolve->pColorAttachmentFormats =
      memory.copy(resolve->pColorAttachmentFormats, resolve->colorAttachmentCount);
}

// Replaces the parts of a graphics pipeline's create info one by one.
class GraphicsCopy {
 public:
  GraphicsCopy(vk::CopyMemory& memory, VkGraphicsPipelineCreateInfo& info,
               const KeptRenderPass* render_pass)
      : memory_(memory), info_(info), subsets_(subsets_of(info)) {
    for (const VkPipelineShaderStageCreateInfo& stage : stages_of(info)) stages_ |= stage.stage;
    use_ = attachments_of(info, render_pass);
    discards_ = never_rasterizes(info);
  }

  bool keep() {
    keep_stages();
    keep_vertex_input();
    keep_rasterization();
    keep_output();
    keep_chained();
    keep_dynamic_states();
    return known_;
  }

 private:
  bool has(VkGraphicsPipelineLibraryFlagsEXT subset) const { return (subsets_ & subset) != 0; }
  bool dynamic(VkDynamicState state) const { return is_dynamic(info_, state); }

  void keep_stages() {
    const std::span<const VkPipelineShaderStageCreateInfo> stages = stages_of(info_);
    info_.stageCount = static_cast<uint32_t>(stages.size());
    VkPipelineShaderStageCreateInfo* copies = memory_.copy(stages.data(), stages.size());
    info_.pStages = copies;
    for (uint32_t i = 0; i < info_.stageCount; ++i)
      known_ = keep_stage(memory_, copies[i]) && known_;
    constexpr VkShaderStageFlags kTessellation =
        VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT | VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT;
    keep_state(memory_, info_.pTessellationState, (stages_ & kTessellation) == kTessellation,
               known_);
  }

  void keep_vertex_input() {
    const bool used = has(VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT) &&
                      (stages_ & VK_SHADER_STAGE_MESH_BIT_EXT) == 0;
    keep_state(memory_, info_.pInputAssemblyState, used, known_);
    auto* input = keep_state(memory_, info_.pVertexInputState,
                             used && !dynamic(VK_DYNAMIC_STATE_VERTEX_INPUT_EXT), known_);
    if (!input) return;
    input->pVertexBindingDescriptions =
        memory_.copy(input->pVertexBindingDescriptions, input->vertexBindingDescriptionCount);
    input->pVertexAttributeDescriptions =
        memory_.copy(input->pVertexAttributeDescriptions, input->vertexAttributeDescriptionCount);
    auto* divisors = find_kept<VkPipelineVertexInputDivisorStateCreateInfoEXT>(
        input->pNext, VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_DIVISOR_STATE_CREATE_INFO_EXT);
    if (!divisors) return;
    divisors->pVertexBindingDivisors =
        memory_.copy(divisors->pVertexBindingDivisors, divisors->vertexBindingDivisorCount);
  }

  void keep_rasterization() {
    const bool used = has(VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT);
    keep_state(memory_, info_.pRasterizationState, used, known_);
    auto* viewports = keep_state(memory_, info_.pViewportState, used && !discards_, known_);
    if (!viewports) return;
    const bool any_viewports = dynamic(VK_DYNAMIC_STATE_VIEWPORT) ||
                               dynamic(VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT) ||
                               !viewports->pViewports;
    const bool any_scissors = dynamic(VK_DYNAMIC_STATE_SCISSOR) ||
                              dynamic(VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT) || !viewports->pScissors;
    viewports->pViewports =
        memory_.copy(viewports->pViewports, any_viewports ? 0 : viewports->viewportCount);
    viewports->pScissors =
        memory_.copy(viewports->pScissors, any_scissors ? 0 : viewports->scissorCount);
  }

  void keep_output() {
    const bool fragments = has(VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT);
    const bool output = has(VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT);
    keep_state(memory_, info_.pDepthStencilState, fragments && !discards_ && use_.depth_stencil,
               known_);
    auto* samples =
        keep_state(memory_, info_.pMultisampleState, (fragments || output) && !discards_, known_);
    if (samples && samples->pSampleMask) {
      const bool any = dynamic(VK_DYNAMIC_STATE_SAMPLE_MASK_EXT);
      const auto count = static_cast<uint32_t>(samples->rasterizationSamples);
      samples->pSampleMask = memory_.copy(samples->pSampleMask, any ? 0 : (count + 31) / 32);
    }
    auto* blend =
        keep_state(memory_, info_.pColorBlendState, output && !discards_ && use_.colour, known_);
    if (!blend) return;
    const bool any = dynamic(VK_DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT) &&
                     dynamic(VK_DYNAMIC_STATE_COLOR_WRITE_MASK_EXT) &&
                     (dynamic(VK_DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT) ||
                      dynamic(VK_DYNAMIC_STATE_COLOR_BLEND_ADVANCED_EXT));
    blend->pAttachments =
        memory_.copy(blend->pAttachments, any || !blend->pAttachments ? 0 : blend->attachmentCount);
  }

  void keep_chained() {
    const bool formats = info_.renderPass == VK_NULL_HANDLE &&
                         has(VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT);
    known_ = keep_chain(memory_, info_.pNext) && known_;
    keep_resolve_formats(memory_, info_.pNext);
    if (auto* rendering = find_kept<VkPipelineRenderingCreateInfo>(
            info_.pNext, VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO)) {
      if (!formats || !rendering->pColorAttachmentFormats) rendering->colorAttachmentCount = 0;
      rendering->pColorAttachmentFormats =
          memory_.copy(rendering->pColorAttachmentFormats, rendering->colorAttachmentCount);
    }
    if (auto* libraries = find_kept<VkPipelineLibraryCreateInfoKHR>(
            info_.pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR)) {
      libraries->pLibraries = memory_.copy(libraries->pLibraries, libraries->libraryCount);
    }
    info_.basePipelineHandle = VK_NULL_HANDLE;
    info_.basePipelineIndex = -1;
  }

  void keep_dynamic_states() {
    auto* states = keep_state(memory_, info_.pDynamicState, true, known_);
    if (states)
      states->pDynamicStates = memory_.copy(states->pDynamicStates, states->dynamicStateCount);
  }

  vk::CopyMemory& memory_;
  VkGraphicsPipelineCreateInfo& info_;
  VkGraphicsPipelineLibraryFlagsEXT subsets_;
  VkShaderStageFlags stages_ = 0;
  KeptRenderPass::Use use_;
  bool discards_ = false;
  bool known_ = true;
};

}  // namespace

bool keep(vk::CopyMemory& memory, VkComputePipelineCreateInfo& info) {
  info.basePipelineHandle = VK_NULL_HANDLE;
  info.basePipelineIndex = -1;
  const bool stage = keep_stage(memory, info.stage);
  return keep_chain(memory, info.pNext) && stage;
}

bool keep_shader_chain(vk::CopyMemory& memory, const void*& chain) {
  const bool known = keep_chain(memory, chain);
  return keep_mappings(memory, chain) && known;
}

bool keep(vk::CopyMemory& memory, VkShaderCreateInfoEXT& info) {
  info.codeSize = 0;
  info.pCode = nullptr;
  info.pName = nullptr;
  info.pSpecializationInfo = nullptr;
  info.pSetLayouts = memory.copy(info.pSetLayouts, info.setLayoutCount);
  info.pPushConstantRanges = memory.copy(info.pPushConstantRanges, info.pushConstantRangeCount);
  const bool known = keep_shader_chain(memory, info.pNext);
  keep_resolve_formats(memory, info.pNext);
  return known;
}

bool keep(vk::CopyMemory& memory, VkGraphicsPipelineCreateInfo& info,
          const KeptRenderPass* render_pass) {
  return GraphicsCopy(memory, info, render_pass).keep();
}

}  // namespace tally::counters
