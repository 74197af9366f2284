#include "counters/pipelines/shader_layouts.h"

#include <tally/vulkan_newest.h>

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "catalogue/catalogue.h"
#include "counters/pipelines/object_state.h"
#include "counters/pipelines/pipeline_contents.h"
#include "spirv/analysis/interface.h"
#include "spirv/instrument/push_constant.h"
#include "spirv/ir/module.h"
#include "spirv/ir/opcode.h"
#include "vk/chain.h"

namespace tally::counters {

void notice_late_tests(Messages& messages, VkObjectType type, uint64_t object) {
  messages.notice(
      "TALLY-late-tests", type, object,
      "an execution set may hold pipelines with dynamic alpha to coverage: their fragment shaders "
      "may also run, and count, for fragments that depth and stencil tests reject");
}

std::shared_ptr<const ShaderCode> find_code(ObjectState& state,
                                            const VkPipelineShaderStageCreateInfo& stage) {
  if (stage.module != VK_NULL_HANDLE) return state.shader_modules.find(stage.module);
  const auto* chained = vk::find_in_chain<VkShaderModuleCreateInfo>(
      stage.pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  if (!chained) return nullptr;
  return state.codes.add({chained->pCode, chained->codeSize / sizeof(uint32_t)});
}

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

bool is_mapped(const spirv::Module& module, uint32_t id, const Mapping& mapping) {
  const uint32_t binding = decoration_of(module, id, spv::Decoration::Binding);
  return decoration_of(module, id, spv::Decoration::DescriptorSet) == mapping.descriptorSet &&
         binding >= mapping.firstBinding && binding - mapping.firstBinding < mapping.bindingCount;
}

// The extent of the largest block that the mapping fills from push data.
uint64_t mapped_extent(const spirv::Module& module, const Mapping& mapping) {
  uint64_t largest = 0;
  for_each_block(module, spv::StorageClass::Uniform, [&](uint32_t id, uint64_t extent) {
    if (is_mapped(module, id, mapping)) largest = std::max(largest, extent);
  });
  return largest;
}

// True if the module has a binding that is mapped. Applications give shaders the mappings of all.
bool is_used(const spirv::Module& module, const Mapping& mapping) {
  if (module.decorates_in_groups()) return true;
  return std::ranges::any_of(module.decorations(), [&](uint32_t index) {
    const spirv::Instruction decoration = module.instruction(index);
    return decoration.opcode() == spv::Op::OpDecorate &&
           decoration.operand(1) == static_cast<uint32_t>(spv::Decoration::Binding) &&
           is_mapped(module, decoration.operand(0), mapping);
  });
}

// Samplers of their own are found through push data too.
template <typename Source>
void add(PushReads& reads, const Source& source, uint32_t bytes) {
  reads.add_fixed(source.pushOffset, uint64_t{source.pushOffset} + bytes);
  if (source.pEmbeddedSampler || source.useCombinedImageSamplerIndex == VK_TRUE) return;
  reads.add_fixed(source.samplerPushOffset, uint64_t{source.samplerPushOffset} + bytes);
}

void add(PushReads& reads, const spirv::Module& module, const Mapping& mapping) {
  const VkDescriptorMappingSourceDataEXT& data = mapping.sourceData;
  const auto add_bytes = [&](uint64_t offset, uint64_t bytes) {
    reads.add_fixed(offset, offset + std::min<uint64_t>(bytes, UINT32_MAX));
  };
  switch (mapping.source) {
    case VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_PUSH_INDEX_EXT:
      return add(reads, data.pushIndex, kIndex);
    case VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_INDIRECT_INDEX_EXT:
      return add(reads, data.indirectIndex, kAddress);
    case VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_INDIRECT_INDEX_ARRAY_EXT:
      return add(reads, data.indirectIndexArray, kAddress);
    case VK_DESCRIPTOR_MAPPING_SOURCE_RESOURCE_HEAP_DATA_EXT:
      return add_bytes(data.heapData.pushOffset, kIndex);
    case VK_DESCRIPTOR_MAPPING_SOURCE_PUSH_DATA_EXT:
      return add_bytes(data.pushDataOffset, mapped_extent(module, mapping));
    case VK_DESCRIPTOR_MAPPING_SOURCE_PUSH_ADDRESS_EXT:
      return add_bytes(data.pushAddressOffset, kAddress);
    case VK_DESCRIPTOR_MAPPING_SOURCE_INDIRECT_ADDRESS_EXT:
      return add_bytes(data.indirectAddress.pushOffset, kAddress);
    default:
      return;
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

PushReads push_reads(const ShaderCode* code, VkShaderStageFlagBits stage, const char* entry_point,
                     const void* chain) {
  if (!code) return PushReads::everything();
  const auto module = spirv::Module::parse(code->words);
  const catalogue::Stage* known = catalogue::find_stage(stage);
  const spirv::EntryPoint* entry =
      module && known ? module->find_entry_point(
                            static_cast<spv::ExecutionModel>(known->execution_model), entry_point)
                      : nullptr;
  if (!entry) return PushReads::everything();
  PushReads reads;
  uint64_t end = 0;
  for_each_block(*module, spv::StorageClass::PushConstant, [&](uint32_t id, uint64_t extent) {
    const auto variable = module->definition(id);
    end = std::max(end, block_of(*module, *variable) == 0 ? PushReads::kBytes : extent);
  });
  if (spirv::can_move_push_constants(*module, *entry)) {
    reads.block_end = static_cast<uint32_t>(std::min<uint64_t>(end, UINT32_MAX));
  } else {
    reads.add_fixed(0, end);
  }
  const auto* mappings = vk::find_in_chain<VkShaderDescriptorSetAndBindingMappingInfoEXT>(
      chain, VK_STRUCTURE_TYPE_SHADER_DESCRIPTOR_SET_AND_BINDING_MAPPING_INFO_EXT);
  for (uint32_t i = 0; mappings && i < mappings->mappingCount; ++i) {
    const Mapping& mapping = mappings->pMappings[i];
    if (is_used(*module, mapping)) add(reads, *module, mapping);
  }
  return reads;
}

template <typename Info>
std::shared_ptr<PipelineLayout> layout_of(ObjectState& state, const Info& info) {
  if ((pipeline_flags(info) & VK_PIPELINE_CREATE_2_DESCRIPTOR_HEAP_BIT_EXT) == 0) {
    return state.layouts.find(info.layout);
  }
  PushReads reads;
  for (const VkPipelineShaderStageCreateInfo& stage : stages_of(info)) {
    reads |= push_reads(find_code(state, stage).get(), stage.stage, stage.pName, stage.pNext);
  }
  std::vector<std::shared_ptr<PipelineLayout>> of_libraries;
  const VkPipelineLibraryCreateInfoKHR* libraries = linked_libraries(info);
  for (uint32_t i = 0; libraries && i < libraries->libraryCount; ++i) {
    const auto library = state.pipelines.find(libraries->pLibraries[i]);
    const bool known = library && library->layout && library->layout->has_heaps();
    reads |= known ? library->layout->reads() : PushReads::everything();
    if (known) of_libraries.push_back(library->layout);
  }
  const std::shared_ptr<PipelineLayout> layout = state.heap_layouts.find(reads, false);
  // The shaders of a library are compiled before it is known what the others read.
  const bool apart = std::ranges::any_of(of_libraries, [&](const auto& library) {
    return library->slot_offset() != layout->slot_offset();
  });
  return apart ? state.heap_layouts.find(PushReads::everything(), false) : layout;
}

template std::shared_ptr<PipelineLayout> layout_of(ObjectState&,
                                                   const VkGraphicsPipelineCreateInfo&);
template std::shared_ptr<PipelineLayout> layout_of(ObjectState&,
                                                   const VkComputePipelineCreateInfo&);
template std::shared_ptr<PipelineLayout> layout_of(ObjectState&,
                                                   const VkRayTracingPipelineCreateInfoKHR&);

template <typename Info>
const char* reason_against_counting(const ObjectState& state, const Info& info,
                                    const PipelineLayout* layout) {
  const bool libraries = has_libraries(info.pNext);
  if (stages_of(info).empty() && !libraries) return "";
  const bool library =
      libraries || (pipeline_flags(info) & VK_PIPELINE_CREATE_LIBRARY_BIT_KHR) != 0;
  if (!layout || layout->path() == AddressPath::None) {
    return layout && layout->has_heaps()
               ? "its bindings that are mapped to push data leave no room for the record pointer, "
                 "or are not known"
               : "its pipeline layout leaves no room for the record pointer";
  }
  if (library && layout->path() != AddressPath::PushConstant) {
    return "pipeline libraries need space for record pointers in the push constants";
  }
  if (library && state.layout_rules.address_slots != kPipelineSlots) {
    return "graphicsPipelineLibrary is not enabled on the device";
  }
  return nullptr;
}

template <typename Info>
bool can_count(ObjectState& state, const Info& info, const Pipeline& pipeline) {
  const char* reason = reason_against_counting(state, info, pipeline.layout.get());
  if (!reason) return true;
  if (*reason == '\0') return false;
  const bool failed = pipeline.layout && pipeline.layout->failure().result != VK_SUCCESS;
  state.device.messages.notice(
      kUninstrumentedNotice, VK_OBJECT_TYPE_PIPELINE, vk::handle_bits(pipeline.handle),
      fmt::format("a pipeline runs uninstrumented: {}",
                  failed ? "its layout could not be extended: " + pipeline.layout->failure().text()
                         : reason));
  return false;
}

template const char* reason_against_counting(const ObjectState&,
                                             const VkGraphicsPipelineCreateInfo&,
                                             const PipelineLayout*);
template const char* reason_against_counting(const ObjectState&, const VkComputePipelineCreateInfo&,
                                             const PipelineLayout*);
template bool can_count(ObjectState&, const VkGraphicsPipelineCreateInfo&, const Pipeline&);
template bool can_count(ObjectState&, const VkComputePipelineCreateInfo&, const Pipeline&);

}  // namespace tally::counters
