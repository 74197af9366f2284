#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "stand_in/native/driver.h"
#include "vk/chain.h"

namespace tally::test::native {
namespace {

uint32_t stages_of(const VkComputePipelineCreateInfo& info) { return info.stage.stage; }
uint32_t stages_of(const VkGraphicsPipelineCreateInfo& info) {
  uint32_t stages = 0;
  for (uint32_t i = 0; i < info.stageCount; ++i) stages |= info.pStages[i].stage;
  return stages;
}

// A driver of this age does not know the flags struct: it is taken out.
template <typename Info, typename Create>
VkResult create_pipelines(Device& device, uint32_t count, const Info* infos, VkPipeline* handles,
                          Create create) {
  constexpr VkStructureType kFlags = VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR;
  std::vector<Info> copies(infos, infos + count);
  std::vector<std::unique_ptr<vk::ChainCopy>> chains;
  std::vector<bool> instrumented, with_statistics;
  for (Info& info : copies) {
    auto& chain = chains.emplace_back(std::make_unique<vk::ChainCopy>(info.pNext));
    const auto* flags = chain->template find<VkPipelineCreateFlags2CreateInfoKHR>(kFlags);
    instrumented.push_back(flags &&
                           (flags->flags & VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM));
    if (flags) info.flags = static_cast<VkPipelineCreateFlags>(flags->flags);
    with_statistics.push_back(info.flags & VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR);
    info.flags &= ~VkPipelineCreateFlags{VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR};
    chain->remove(kFlags);
    info.pNext = chain->head();
    if (instrumented.back() && std::getenv("TALLY_TEST_NATIVE_REFUSE"))
      return VK_ERROR_FEATURE_NOT_PRESENT;
  }
  const VkResult result = create(copies.data());
  const std::lock_guard lock(device.mutex);
  for (uint32_t i = 0; i < count && result == VK_SUCCESS; ++i) {
    if (instrumented[i]) device.pipelines[handles[i]] = stages_of(infos[i]);
    if (with_statistics[i]) device.with_statistics[handles[i]] = stages_of(infos[i]);
  }
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL CreateComputePipelines(VkDevice d, VkPipelineCache cache,
                                                      uint32_t count,
                                                      const VkComputePipelineCreateInfo* infos,
                                                      const VkAllocationCallbacks* a,
                                                      VkPipeline* handles) {
  Device& device = device_of(d);
  return create_pipelines(
      device, count, infos, handles, [&](const VkComputePipelineCreateInfo* copies) {
        return device.next.CreateComputePipelines(d, cache, count, copies, a, handles);
      });
}

VKAPI_ATTR VkResult VKAPI_CALL CreateGraphicsPipelines(VkDevice d, VkPipelineCache cache,
                                                       uint32_t count,
                                                       const VkGraphicsPipelineCreateInfo* infos,
                                                       const VkAllocationCallbacks* a,
                                                       VkPipeline* handles) {
  Device& device = device_of(d);
  return create_pipelines(
      device, count, infos, handles, [&](const VkGraphicsPipelineCreateInfo* copies) {
        return device.next.CreateGraphicsPipelines(d, cache, count, copies, a, handles);
      });
}

VKAPI_ATTR void VKAPI_CALL DestroyPipeline(VkDevice d, VkPipeline pipeline,
                                           const VkAllocationCallbacks* a) {
  Device& device = device_of(d);
  {
    const std::lock_guard lock(device.mutex);
    device.pipelines.erase(pipeline);
    device.with_statistics.erase(pipeline);
  }
  device.next.DestroyPipeline(d, pipeline, a);
}

// The stages of a pipeline that was created with the flag, in order.
std::vector<uint32_t> executables_of(Device& device, VkPipeline pipeline) {
  const std::lock_guard lock(device.mutex);
  const auto found = device.with_statistics.find(pipeline);
  if (found == device.with_statistics.end()) {
    broken("statistics are asked of a pipeline without the flag");
    return {};
  }
  std::vector<uint32_t> stages;
  for (uint32_t bit = 1; bit <= found->second; bit <<= 1) {
    if ((found->second & bit) != 0) stages.push_back(bit);
  }
  return stages;
}

VKAPI_ATTR VkResult VKAPI_CALL
GetPipelineExecutableProperties(VkDevice d, const VkPipelineInfoKHR* info, uint32_t* count,
                                VkPipelineExecutablePropertiesKHR* properties) {
  std::vector<VkPipelineExecutablePropertiesKHR> all;
  for (const uint32_t stage : executables_of(device_of(d), info->pipeline)) {
    VkPipelineExecutablePropertiesKHR& one = all.emplace_back(VkPipelineExecutablePropertiesKHR{
        .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR});
    one.stages = stage;
    one.subgroupSize = 32;
    std::snprintf(one.name, sizeof one.name, "stage %u", stage);
    std::strcpy(one.description, "code");
  }
  return vk::write_array<VkPipelineExecutablePropertiesKHR>(all, count, properties);
}

// Their values are those of the executable's number and its stages.
VKAPI_ATTR VkResult VKAPI_CALL
GetPipelineExecutableStatistics(VkDevice d, const VkPipelineExecutableInfoKHR* info,
                                uint32_t* count, VkPipelineExecutableStatisticKHR* statistics) {
  const auto stages = executables_of(device_of(d), info->pipeline);
  if (info->executableIndex >= stages.size()) broken("there is no such executable");
  std::vector<VkPipelineExecutableStatisticKHR> all;
  const auto add = [&](const char* name, VkPipelineExecutableStatisticFormatKHR format) {
    auto& one = all.emplace_back(VkPipelineExecutableStatisticKHR{
        .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR});
    std::strcpy(one.name, name);
    std::strcpy(one.description, "of the code");
    one.format = format;
    return &one.value;
  };
  add("Registers", VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR)->u64 =
      stages.at(info->executableIndex);
  add("Spills", VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR)->i64 =
      -int64_t{info->executableIndex};
  add("Occupancy", VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR)->f64 = 0.5;
  add("Scratch", VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR)->b32 = VK_TRUE;
  return vk::write_array<VkPipelineExecutableStatisticKHR>(all, count, statistics);
}

}  // namespace

void add_pipelines(Hooks& hooks) {
  hooks.push_back(vk::hook("vkCreateComputePipelines", CreateComputePipelines));
  hooks.push_back(vk::hook("vkCreateGraphicsPipelines", CreateGraphicsPipelines));
  hooks.push_back(vk::hook("vkDestroyPipeline", DestroyPipeline));
  if (!has_statistics()) return;
  hooks.push_back(
      vk::hook("vkGetPipelineExecutablePropertiesKHR", GetPipelineExecutableProperties));
  hooks.push_back(
      vk::hook("vkGetPipelineExecutableStatisticsKHR", GetPipelineExecutableStatistics));
}

}  // namespace tally::test::native
