// Pipelines, shader objects and set layouts. The driver counts the graphics pipelines and shader
// objects that it creates and the set layouts that exist (answers.h), and creates no shader objects
// of set layouts that do not exist. With TALLY_TEST_REFUSE_INSTRUMENTED in the environment, it
// creates no shader objects, graphics and ray-tracing pipelines of instrumented code.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <span>
#include <string_view>

#include "stand_in/performance/answers.h"
#include "stand_in/performance/driver.h"

namespace tally::test::performance {
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

// --- shader objects and set layouts

bool refuses_shader(Device& device, const VkShaderCreateInfoEXT& info) {
  const std::span layouts(info.pSetLayouts, info.setLayoutCount);
  const bool all_exist = std::ranges::all_of(layouts, [&](VkDescriptorSetLayout layout) {
    return layout == VK_NULL_HANDLE || device.set_layouts.find(layout);
  });
  return !all_exist || (std::getenv("TALLY_TEST_REFUSE_INSTRUMENTED") != nullptr &&
                        is_instrumented(info.pCode, info.codeSize));
}

VKAPI_ATTR VkResult VKAPI_CALL create_shaders(VkDevice handle, uint32_t count,
                                              const VkShaderCreateInfoEXT* infos,
                                              const VkAllocationCallbacks* allocator,
                                              VkShaderEXT* shaders) {
  Device& device = device_of(handle);
  if (std::any_of(infos, infos + count,
                  [&](const auto& info) { return refuses_shader(device, info); })) {
    std::fill_n(shaders, count, VkShaderEXT{VK_NULL_HANDLE});
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  }
  device.created_shaders += count;
  return device.next.CreateShadersEXT(handle, count, infos, allocator, shaders);
}

VKAPI_ATTR uint32_t VKAPI_CALL created_shaders(VkDevice handle) {
  return device_of(handle).created_shaders;
}

VKAPI_ATTR VkResult VKAPI_CALL create_layout(VkDevice handle,
                                             const VkDescriptorSetLayoutCreateInfo* info,
                                             const VkAllocationCallbacks* allocator,
                                             VkDescriptorSetLayout* layout) {
  Device& device = device_of(handle);
  const VkResult result = device.next.CreateDescriptorSetLayout(handle, info, allocator, layout);
  if (result == VK_SUCCESS) device.set_layouts.insert(*layout, true);
  return result;
}

VKAPI_ATTR void VKAPI_CALL destroy_layout(VkDevice handle, VkDescriptorSetLayout layout,
                                          const VkAllocationCallbacks* allocator) {
  Device& device = device_of(handle);
  device.set_layouts.take(layout);
  device.next.DestroyDescriptorSetLayout(handle, layout, allocator);
}

VKAPI_ATTR uint32_t VKAPI_CALL set_layouts(VkDevice handle) {
  return static_cast<uint32_t>(device_of(handle).set_layouts.values().size());
}

}  // namespace

void add_creation_hooks(Hooks& hooks) {
  hooks.push_back(vk::hook("vkCreateShaderModule", create_module));
  hooks.push_back(vk::hook("vkCreateGraphicsPipelines", create_graphics));
  hooks.push_back(vk::hook(kCreatedGraphics, created_graphics));
  hooks.push_back(vk::hook("vkCreateRayTracingPipelinesKHR", create_rays));
  hooks.push_back(
      vk::hook("vkGetRayTracingCaptureReplayShaderGroupHandlesKHR", get_replay_handles));
  hooks.push_back(vk::hook("vkCreateShadersEXT", create_shaders));
  hooks.push_back(vk::hook(kCreatedShaders, created_shaders));
  hooks.push_back(vk::hook("vkCreateDescriptorSetLayout", create_layout));
  hooks.push_back(vk::hook("vkDestroyDescriptorSetLayout", destroy_layout));
  hooks.push_back(vk::hook(kSetLayouts, set_layouts));
}

}  // namespace tally::test::performance
