// With TALLY_TEST_REFUSE_INSTRUMENTED in the environment, the driver creates no graphics and
// ray-tracing pipelines of modules with instrumented code, which has names that begin with
// "tally.". It counts the graphics pipelines that it creates (counters.h).
#include <algorithm>
#include <cstdlib>
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
  if (result == VK_SUCCESS)
    device.instrumented.insert(*module, is_instrumented(info->pCode, info->codeSize));
  return result;
}

// Whether the environment asks to refuse the pipelines.
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
  return device.next.CreateRayTracingPipelinesKHR(handle, operation, cache, count, infos, allocator,
                                                  pipelines);
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
}

}  // namespace tally::test::driver
