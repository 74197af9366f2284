#include "counters/shader/internal_pipelines.h"

#include "vk/own_call.h"

#include <algorithm>
#include <spirv/unified1/spirv.hpp11>
#include <vector>

#include <tally/vulkan_newer.h>
#include <tally/vulkan_newest.h>

namespace tally::counters {
namespace {

constexpr uint32_t kOffsetInSource = 96;
constexpr size_t kHeaderWords = 5;

// The code with the push constant at this device's offset, which cannot be a specialization
// constant.
std::vector<uint32_t> with_offset(std::span<const uint32_t> code, uint32_t offset) {
  std::vector<uint32_t> words(code.begin(), code.end());
  for (size_t i = kHeaderWords; i < words.size(); i += std::max(1u, words[i] >> 16)) {
    const bool decorates_member =
        (words[i] & 0xffff) == static_cast<uint32_t>(spv::Op::OpMemberDecorate);
    if (decorates_member && words[i + 3] == static_cast<uint32_t>(spv::Decoration::Offset) &&
        words[i + 4] == kOffsetInSource) {
      words[i + 4] = offset;
    }
  }
  return words;
}

}  // namespace

InternalPipelines::~InternalPipelines() {
  if (layout_ != VK_NULL_HANDLE) next_.DestroyPipelineLayout(device_, layout_, nullptr);
}

void InternalPipelines::destroy(const InternalPipeline& pipeline) const {
  for (const VkPipeline one : {pipeline.sets, pipeline.heaps}) {
    if (one != VK_NULL_HANDLE) next_.DestroyPipeline(device_, one, nullptr);
  }
}

VkResult InternalPipelines::make_layout() {
  if (layout_ != VK_NULL_HANDLE) return VK_SUCCESS;
  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, offsets_.constants,
                                  sizeof(uint64_t)};
  const VkPipelineLayoutCreateInfo info{.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                        .pushConstantRangeCount = 1,
                                        .pPushConstantRanges = &range};
  return vk::own("vkCreatePipelineLayout",
                 next_.CreatePipelineLayout(device_, &info, nullptr, &layout_), layout_);
}

VkResult InternalPipelines::make(std::span<const uint32_t> code,
                                 std::span<const uint32_t> constants, InternalPipeline& pipeline) {
  VkResult result = make_one(code, constants, false, pipeline.sets);
  if (result == VK_SUCCESS && offsets_.heaps) {
    result = make_one(code, constants, true, pipeline.heaps);
  }
  return result;
}

VkResult InternalPipelines::make_one(std::span<const uint32_t> code,
                                     std::span<const uint32_t> constants, bool heaps,
                                     VkPipeline& pipeline) {
  if (pipeline != VK_NULL_HANDLE) return VK_SUCCESS;
  VkResult result = heaps ? VK_SUCCESS : make_layout();
  if (result != VK_SUCCESS) return result;
  const std::vector<uint32_t> words = with_offset(code, heaps ? offsets_.data : offsets_.constants);
  const VkShaderModuleCreateInfo module_info{.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                             .codeSize = words.size() * sizeof(uint32_t),
                                             .pCode = words.data()};
  VkShaderModule module = VK_NULL_HANDLE;
  result = vk::own("vkCreateShaderModule",
                   next_.CreateShaderModule(device_, &module_info, nullptr, &module), module);
  if (result != VK_SUCCESS) return result;
  std::vector<VkSpecializationMapEntry> entries;
  for (uint32_t i = 0; i < constants.size(); ++i) entries.push_back({i, i * 4, 4});
  const VkSpecializationInfo specialization{static_cast<uint32_t>(entries.size()), entries.data(),
                                            constants.size_bytes(), constants.data()};
  const VkPipelineCreateFlags2CreateInfoKHR flags{
      .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR,
      .flags = VK_PIPELINE_CREATE_2_DESCRIPTOR_HEAP_BIT_EXT};
  const VkComputePipelineCreateInfo info{
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .pNext = heaps ? &flags : nullptr,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module,
                .pName = "main",
                .pSpecializationInfo = &specialization},
      .layout = heaps ? VK_NULL_HANDLE : layout_};
  result =
      vk::own("vkCreateComputePipelines",
              next_.CreateComputePipelines(device_, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline),
              pipeline);
  next_.DestroyShaderModule(device_, module, nullptr);
  return result;
}

void InternalPipelines::use(const InternalCommands& commands, const InternalPipeline& pipeline,
                            uint64_t address) const {
  const bool heaps = commands.uses_heaps && offsets_.heaps;
  next_.CmdBindPipeline(commands.handle, VK_PIPELINE_BIND_POINT_COMPUTE,
                        heaps ? pipeline.heaps : pipeline.sets);
  if (!heaps) {
    next_.CmdPushConstants(commands.handle, layout_, VK_SHADER_STAGE_COMPUTE_BIT,
                           offsets_.constants, sizeof address, &address);
    return;
  }
  const VkPushDataInfoEXT data{
      VK_STRUCTURE_TYPE_PUSH_DATA_INFO_EXT, nullptr, offsets_.data, {&address, sizeof address}};
  next_.CmdPushDataEXT(commands.handle, &data);
}

}  // namespace tally::counters
