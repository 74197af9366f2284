#include "counters/objects/shader_layouts.h"

#include <algorithm>
#include <span>

#include <tally/vulkan_newest.h>

#include "counters/objects/object_state.h"
#include "counters/objects/pipeline_contents.h"
#include "counters/objects/pipeline_flags.h"
#include "counters/objects/stage_code.h"
#include "spirv/analysis/block_extent.h"
#include "spirv/ir/layout.h"
#include "spirv/ir/module.h"
#include "spirv/ir/newer_enums.h"
#include "vk/chain.h"

namespace tally::counters {
namespace {

using Mapping = VkDescriptorSetAndBindingMappingEXT;

constexpr uint32_t kIndex = 4;
constexpr uint32_t kAddress = 8;

// The block that a variable holds; 0 if it has no type.
uint32_t block_of(const spirv::Module& module, const spirv::Instruction& variable) {
  if (variable.opcode() == spirv::newer::OpUntypedVariableKHR) {
    return variable.operand_count() > 1 ? variable.operand(1) : 0;
  }
  const auto pointer = module.definition(variable.type_id());
  return pointer ? pointer->operand(1) : 0;
}

// Calls visit(id, extent) for the variables of a storage class.
template <typename Visit>
void for_each_block(const spirv::Module& module, spv::StorageClass storage, Visit&& visit) {
  const uint32_t end = spirv::section_ends(module)[static_cast<size_t>(spirv::Section::Global)];
  for (uint32_t i = 0; i < end; ++i) {
    const spirv::Instruction instruction = module.instruction(i);
    const bool variable = instruction.opcode() == spv::Op::OpVariable ||
                          instruction.opcode() == spirv::newer::OpUntypedVariableKHR;
    if (!variable || instruction.operand(0) != static_cast<uint32_t>(storage)) continue;
    const uint32_t block = block_of(module, instruction);
    const auto type = module.definition(block);
    const bool is_struct = type && type->opcode() == spv::Op::OpTypeStruct;
    visit(instruction.result_id(), is_struct ? spirv::block_extent(module, block) : 0);
  }
}

uint32_t decoration_of(const spirv::Module& module, uint32_t id, spv::Decoration decoration) {
  return module.decoration(id, decoration).value_or(0);
}

// Of the blocks that the mapping fills from push data.
uint64_t mapped_extent(const spirv::Module& module, const Mapping& mapping) {
  uint64_t largest = 0;
  for_each_block(module, spv::StorageClass::Uniform, [&](uint32_t id, uint64_t extent) {
    const uint32_t binding = decoration_of(module, id, spv::Decoration::Binding);
    const bool mapped =
        decoration_of(module, id, spv::Decoration::DescriptorSet) == mapping.descriptorSet &&
        binding >= mapping.firstBinding && binding - mapping.firstBinding < mapping.bindingCount;
    if (mapped) largest = std::max(largest, extent);
  });
  return largest;
}

// Samplers of their own are found through push data too.
template <typename Source>
uint64_t end_of(const Source& source, uint32_t bytes) {
  const bool sampler = !source.pEmbeddedSampler && source.useCombinedImageSamplerIndex != VK_TRUE;
  const uint64_t end = uint64_t{source.pushOffset} + bytes;
  return sampler ? std::max(end, uint64_t{source.samplerPushOffset} + bytes) : end;
}

uint64_t end_of(const spirv::Module& module, const Mapping& mapping) {
  const VkDescriptorMappingSourceDataEXT& data = mapping.sourceData;
  switch (mapping.source) {
    case VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_PUSH_INDEX_EXT:
      return end_of(data.pushIndex, kIndex);
    case VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_INDIRECT_INDEX_EXT:
      return end_of(data.indirectIndex, kAddress);
    case VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_INDIRECT_INDEX_ARRAY_EXT:
      return end_of(data.indirectIndexArray, kAddress);
    case VK_DESCRIPTOR_MAPPING_SOURCE_RESOURCE_HEAP_DATA_EXT:
      return uint64_t{data.heapData.pushOffset} + kIndex;
    case VK_DESCRIPTOR_MAPPING_SOURCE_PUSH_DATA_EXT:
      return data.pushDataOffset + mapped_extent(module, mapping);
    case VK_DESCRIPTOR_MAPPING_SOURCE_PUSH_ADDRESS_EXT:
      return uint64_t{data.pushAddressOffset} + kAddress;
    case VK_DESCRIPTOR_MAPPING_SOURCE_INDIRECT_ADDRESS_EXT:
      return uint64_t{data.indirectAddress.pushOffset} + kAddress;
    default:
      return 0;
  }
}

template <typename Info>
const VkPipelineLibraryCreateInfoKHR* linked_libraries(const Info& info) {
  return vk::find_in_chain<VkPipelineLibraryCreateInfoKHR>(
      info.pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
}
const VkPipelineLibraryCreateInfoKHR* linked_libraries(
    const VkRayTracingPipelineCreateInfoKHR& info) {
  return info.pLibraryInfo;
}

}  // namespace

// A module that cannot be parsed is not instrumented either.
uint32_t push_data_end(const ShaderCode& code, const void* chain) {
  const auto module = spirv::Module::parse(code.words);
  if (!module) return 0;
  uint64_t end = 0;
  for_each_block(*module, spv::StorageClass::PushConstant,
                 [&](uint32_t, uint64_t extent) { end = std::max(end, extent); });
  const auto* mappings = vk::find_in_chain<VkShaderDescriptorSetAndBindingMappingInfoEXT>(
      chain, VK_STRUCTURE_TYPE_SHADER_DESCRIPTOR_SET_AND_BINDING_MAPPING_INFO_EXT);
  for (uint32_t i = 0; mappings && i < mappings->mappingCount; ++i) {
    end = std::max(end, end_of(*module, mappings->pMappings[i]));
  }
  return static_cast<uint32_t>(std::min<uint64_t>(end, UINT32_MAX));
}

template <typename Info>
std::shared_ptr<PipelineLayout> layout_of(ObjectState& state, const Info& info) {
  if ((pipeline_flags(info) & VK_PIPELINE_CREATE_2_DESCRIPTOR_HEAP_BIT_EXT) == 0) {
    return state.layouts.find(info.layout);
  }
  uint32_t end = 0;
  for (const VkPipelineShaderStageCreateInfo& stage : stages_of(info)) {
    const auto code = find_code(state, stage);
    if (code) end = std::max(end, push_data_end(*code, stage.pNext));
  }
  const VkPipelineLibraryCreateInfoKHR* libraries = linked_libraries(info);
  for (uint32_t i = 0; libraries && i < libraries->libraryCount; ++i) {
    const auto library = state.pipelines.find(libraries->pLibraries[i]);
    if (library && library->layout) end = std::max(end, library->layout->application_end());
  }
  return state.heap_layouts.find(end);
}

template std::shared_ptr<PipelineLayout> layout_of(ObjectState&,
                                                   const VkGraphicsPipelineCreateInfo&);
template std::shared_ptr<PipelineLayout> layout_of(ObjectState&,
                                                   const VkComputePipelineCreateInfo&);
template std::shared_ptr<PipelineLayout> layout_of(ObjectState&,
                                                   const VkRayTracingPipelineCreateInfoKHR&);

}  // namespace tally::counters
