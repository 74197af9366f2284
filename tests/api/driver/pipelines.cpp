// With TALLY_TEST_REFUSE_INSTRUMENTED in the environment, the driver creates no ray-tracing
// pipelines of modules with instrumented code, which has names that begin with "tally.".
#include <algorithm>
#include <cstdlib>
#include <span>
#include <string_view>

#include "api/driver/driver.h"

namespace tally::test::driver {
namespace {

bool is_instrumented(const VkShaderModuleCreateInfo& info) {
  const std::string_view code(reinterpret_cast<const char*>(info.pCode), info.codeSize);
  return code.find("tally.") != code.npos;
}

VKAPI_ATTR VkResult VKAPI_CALL create_module(VkDevice handle, const VkShaderModuleCreateInfo* info,
                                             const VkAllocationCallbacks* allocator,
                                             VkShaderModule* module) {
  Device& device = device_of(handle);
  const VkResult result = device.next.CreateShaderModule(handle, info, allocator, module);
  if (result == VK_SUCCESS) device.instrumented.insert(*module, is_instrumented(*info));
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL create_rays(VkDevice handle, VkDeferredOperationKHR operation,
                                           VkPipelineCache cache, uint32_t count,
                                           const VkRayTracingPipelineCreateInfoKHR* infos,
                                           const VkAllocationCallbacks* allocator,
                                           VkPipeline* pipelines) {
  Device& device = device_of(handle);
  const auto has_instrumented = [&](const VkRayTracingPipelineCreateInfoKHR& info) {
    const std::span stages(info.pStages, info.stageCount);
    return std::ranges::any_of(stages, [&](const VkPipelineShaderStageCreateInfo& stage) {
      return device.instrumented.find(stage.module);
    });
  };
  if (std::getenv("TALLY_TEST_REFUSE_INSTRUMENTED") != nullptr &&
      std::ranges::any_of(std::span(infos, count), has_instrumented)) {
    std::fill_n(pipelines, count, VkPipeline{VK_NULL_HANDLE});
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  }
  return device.next.CreateRayTracingPipelinesKHR(handle, operation, cache, count, infos, allocator,
                                                  pipelines);
}

}  // namespace

void add_pipeline_hooks(Hooks& hooks) {
  hooks.push_back(vk::hook("vkCreateShaderModule", create_module));
  hooks.push_back(vk::hook("vkCreateRayTracingPipelinesKHR", create_rays));
}

}  // namespace tally::test::driver
