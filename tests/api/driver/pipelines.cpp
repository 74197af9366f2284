// With TALLY_TEST_REFUSE_INSTRUMENTED in the environment, the driver creates no graphics and
// ray-tracing pipelines of modules with instrumented code, which has names that begin with
// "tally.". It counts the graphics pipelines that it creates (counters.h).
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <span>
#include <string_view>

#include "api/driver/counters.h"
#include "api/driver/driver.h"

namespace tally::test::driver {
namespace {

VKAPI_ATTR VkResult VKAPI_CALL create_module(VkDevice handle, const VkShaderModuleCreateInfo* info,
                                             const VkAllocationCallbacks* allocator,
                                             VkShaderModule* module) {
  Device& device = device_of(handle);
  const VkResult result = device.next.CreateShaderModule(handle, info, allocator, module);
  if (result != VK_SUCCESS) return result;
  device.instrumented.insert(*module, is_instrumented(info->pCode, info->codeSize));
  ReplayHandle sum = 1;
  for (size_t i = 0; i < info->codeSize / sizeof(uint32_t); ++i) sum = sum * 31 + info->pCode[i];
  device.sums.insert(*module, sum);
  return result;
}

// True if the environment asks to refuse the pipelines.
template <typename Info>
bool refuses(Device& device, std::span<const Info> infos) {
  if (std::getenv("TALLY_TEST_REFUSE_INSTRUMENTED") == nullptr) return false;
  return std::ranges::any_of(infos, [&](const Info& info) {
    const std::span stages(info.pStages, info.stageCount);
    return std::ranges::any_of(stages, [&](const VkPipelineShaderStageCreateInfo& stage) {
      return device.instrumented.find(stage.module);
    });
  });
}

VKAPI_ATTR VkResult VKAPI_CALL create_graphics(VkDevice handle, VkPipelineCache cache,
                                               uint32_t count,
                                               const VkGraphicsPipelineCreateInfo* infos,
                                               const VkAllocationCallbacks* allocator,
                                               VkPipeline* pipelines) {
  Device& device = device_of(handle);
  if (refuses(device, std::span(infos, count))) {
    std::fill_n(pipelines, count, VkPipeline{VK_NULL_HANDLE});
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  }
  device.created_graphics += count;
  return device.next.CreateGraphicsPipelines(handle, cache, count, infos, allocator, pipelines);
}

VKAPI_ATTR uint32_t VKAPI_CALL created_graphics(VkDevice handle) {
  return device_of(handle).created_graphics;
}

ReplayHandle replay_handle(Device& device, const VkRayTracingPipelineCreateInfoKHR& info,
                           const VkRayTracingShaderGroupCreateInfoKHR& group) {
  ReplayHandle sum = 0;
  for (const uint32_t stage : {group.generalShader, group.closestHitShader, group.anyHitShader,
                               group.intersectionShader}) {
    if (stage < info.stageCount) sum = sum * 31 + device.sums.find(info.pStages[stage].module);
  }
  return sum;
}

// True if the application replays the handles of these groups.
bool replays(Device& device, const VkRayTracingPipelineCreateInfoKHR& info) {
  return std::all_of(info.pGroups, info.pGroups + info.groupCount, [&](const auto& group) {
    if (!group.pShaderGroupCaptureReplayHandle) return true;
    const ReplayHandle handle = replay_handle(device, info, group);
    return std::memcmp(group.pShaderGroupCaptureReplayHandle, &handle, sizeof handle) == 0;
  });
}

// Pipelines without what the driver below does not have.
class RaysBelow {
 public:
  explicit RaysBelow(std::span<const VkRayTracingPipelineCreateInfoKHR> infos)
      : infos_(infos.begin(), infos.end()) {
    for (VkRayTracingPipelineCreateInfoKHR& info : infos_) {
      auto& groups = groups_.emplace_back(info.pGroups, info.pGroups + info.groupCount);
      for (auto& group : groups) group.pShaderGroupCaptureReplayHandle = nullptr;
      info.pGroups = groups.data();
      info.flags &= ~VkPipelineCreateFlags{
          VK_PIPELINE_CREATE_RAY_TRACING_SHADER_GROUP_HANDLE_CAPTURE_REPLAY_BIT_KHR};
    }
  }
  const VkRayTracingPipelineCreateInfoKHR* data() const { return infos_.data(); }

 private:
  std::vector<VkRayTracingPipelineCreateInfoKHR> infos_;
  std::deque<std::vector<VkRayTracingShaderGroupCreateInfoKHR>> groups_;
};

VKAPI_ATTR VkResult VKAPI_CALL get_replay_handles(VkDevice handle, VkPipeline pipeline,
                                                  uint32_t first, uint32_t count, size_t size,
                                                  void* target) {
  const std::vector<ReplayHandle> all = device_of(handle).replayed.find(pipeline);
  if (first + count > all.size() || size < count * sizeof(ReplayHandle)) return VK_ERROR_UNKNOWN;
  std::memcpy(target, all.data() + first, count * sizeof(ReplayHandle));
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL create_rays(VkDevice handle, VkDeferredOperationKHR operation,
                                           VkPipelineCache cache, uint32_t count,
                                           const VkRayTracingPipelineCreateInfoKHR* infos,
                                           const VkAllocationCallbacks* allocator,
                                           VkPipeline* pipelines) {
  Device& device = device_of(handle);
  if (refuses(device, std::span(infos, count))) {
    std::fill_n(pipelines, count, VkPipeline{VK_NULL_HANDLE});
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  }
  if (!std::all_of(infos, infos + count, [&](const auto& one) { return replays(device, one); })) {
    std::fill_n(pipelines, count, VkPipeline{VK_NULL_HANDLE});
    return VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS;
  }
  const RaysBelow below(std::span(infos, count));
  const VkResult result = device.next.CreateRayTracingPipelinesKHR(
      handle, operation, cache, count, below.data(), allocator, pipelines);
  for (uint32_t i = 0; i < count && result == VK_SUCCESS; ++i) {
    std::vector<ReplayHandle> handles;
    for (const auto& group : std::span(infos[i].pGroups, infos[i].groupCount)) {
      handles.push_back(replay_handle(device, infos[i], group));
    }
    device.replayed.insert(pipelines[i], std::move(handles));
  }
  return result;
}

}  // namespace

bool is_instrumented(const void* code, size_t size) {
  const std::string_view text(static_cast<const char*>(code), size);
  return text.find("tally.") != text.npos;
}

void add_pipeline_hooks(Hooks& hooks) {
  hooks.push_back(vk::hook("vkCreateShaderModule", create_module));
  hooks.push_back(vk::hook("vkCreateGraphicsPipelines", create_graphics));
  hooks.push_back(vk::hook(kCreatedGraphics, created_graphics));
  hooks.push_back(vk::hook("vkCreateRayTracingPipelinesKHR", create_rays));
  hooks.push_back(
      vk::hook("vkGetRayTracingCaptureReplayShaderGroupHandlesKHR", get_replay_handles));
}

}  // namespace tally::test::driver
