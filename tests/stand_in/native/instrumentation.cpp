// The extension's own commands.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "stand_in/native/driver.h"

namespace tally::test::native {
namespace {

void check_place(const Recorded& recorded, const char* what) {
  if (recorded.between_suspended)
    broken((std::string(what) + " between suspended render passes").c_str());
  if (recorded.secondary_contents)
    broken((std::string(what) + " in a subpass of secondaries").c_str());
}

VKAPI_ATTR VkResult VKAPI_CALL
CreateShaderInstrumentation(VkDevice d, const VkShaderInstrumentationCreateInfoARM* info,
                            const VkAllocationCallbacks*, VkShaderInstrumentationARM* handle) {
  if (info->sType != VK_STRUCTURE_TYPE_SHADER_INSTRUMENTATION_CREATE_INFO_ARM)
    broken("wrong sType");
  Device& device = device_of(d);
  const std::lock_guard lock(device.mutex);
  auto* object = new Object;
  device.objects.insert(object);
  *handle = (VkShaderInstrumentationARM)object;
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL DestroyShaderInstrumentation(VkDevice d,
                                                        VkShaderInstrumentationARM handle,
                                                        const VkAllocationCallbacks*) {
  Device& device = device_of(d);
  const std::lock_guard lock(device.mutex);
  auto* object = (Object*)handle;
  if (device.objects.erase(object) == 0) broken("destroyed what does not exist");
  delete object;
}

VKAPI_ATTR void VKAPI_CALL CmdBeginShaderInstrumentation(VkCommandBuffer b,
                                                         VkShaderInstrumentationARM handle) {
  Device& device = device_of(b);
  const std::lock_guard lock(device.mutex);
  Recorded& recorded = device.recorded[b];
  if (recorded.active) broken("begin while active");
  check_place(recorded, "begin");
  recorded.active = (Object*)handle;
  recorded.began_unused = recorded.began_unused || !recorded.used;
  note("TALLY_TEST_NATIVE_BEGINS");
}

VKAPI_ATTR void VKAPI_CALL CmdEndShaderInstrumentation(VkCommandBuffer b) {
  Device& device = device_of(b);
  const std::lock_guard lock(device.mutex);
  Recorded& recorded = device.recorded[b];
  if (!recorded.active) broken("end while inactive");
  check_place(recorded, "end");
  recorded.active = nullptr;
}

void write_block(uint64_t* words, const std::tuple<uint32_t, uint32_t, uint32_t>& key,
                 uint64_t executions) {
  const VkShaderInstrumentationMetricDataHeaderARM header{std::get<0>(key), 0, std::get<1>(key),
                                                          std::get<2>(key)};
  std::memcpy(words, &header, sizeof header);
  words[2] = executions;
  words[3] = executions * 3;
  words[4] = (executions + 7) / 8;
}

VKAPI_ATTR VkResult VKAPI_CALL GetShaderInstrumentationValues(VkDevice d,
                                                              VkShaderInstrumentationARM handle,
                                                              uint32_t* count, void* values,
                                                              VkFlags) {
  const char* slow = std::getenv("TALLY_TEST_NATIVE_SLOW_MS");
  if (slow && values) std::this_thread::sleep_for(std::chrono::milliseconds(std::stoul(slow)));
  const std::lock_guard lock(device_of(d).mutex);
  const auto& executions = ((Object*)handle)->executions;
  if (!values) {
    *count = static_cast<uint32_t>(executions.size());
    return VK_SUCCESS;
  }
  uint32_t written = 0;
  for (auto at = executions.begin(); at != executions.end() && written < *count; ++at, ++written) {
    write_block(static_cast<uint64_t*>(values) + written * (2 + kMetricCount), at->first,
                at->second);
  }
  *count = written;
  return written < executions.size() ? VK_INCOMPLETE : VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL ClearShaderInstrumentationMetrics(VkDevice d,
                                                             VkShaderInstrumentationARM handle) {
  const std::lock_guard lock(device_of(d).mutex);
  for (auto& [key, executions] : ((Object*)handle)->executions) executions = 0;
}

VKAPI_ATTR VkResult VKAPI_CALL EnumerateMetrics(
    VkPhysicalDevice, uint32_t* count, VkShaderInstrumentationMetricDescriptionARM* metrics) {
  if (!metrics) {
    *count = kMetricCount;
    return VK_SUCCESS;
  }
  const uint32_t written = *count < kMetricCount ? *count : kMetricCount;
  for (uint32_t i = 0; i < written; ++i) {
    std::snprintf(metrics[i].name, sizeof metrics[i].name, "%s", kMetrics[i]);
    std::snprintf(metrics[i].description, sizeof metrics[i].description, "native %s", kMetrics[i]);
  }
  *count = written;
  return written < kMetricCount ? VK_INCOMPLETE : VK_SUCCESS;
}

}  // namespace

void add_instrumentation(Hooks& hooks) {
  hooks.push_back(
      vk::hook("vkEnumeratePhysicalDeviceShaderInstrumentationMetricsARM", EnumerateMetrics));
  hooks.push_back(vk::hook("vkCreateShaderInstrumentationARM", CreateShaderInstrumentation));
  hooks.push_back(vk::hook("vkDestroyShaderInstrumentationARM", DestroyShaderInstrumentation));
  hooks.push_back(vk::hook("vkCmdBeginShaderInstrumentationARM", CmdBeginShaderInstrumentation));
  hooks.push_back(vk::hook("vkCmdEndShaderInstrumentationARM", CmdEndShaderInstrumentation));
  hooks.push_back(vk::hook("vkGetShaderInstrumentationValuesARM", GetShaderInstrumentationValues));
  hooks.push_back(
      vk::hook("vkClearShaderInstrumentationMetricsARM", ClearShaderInstrumentationMetrics));
}

}  // namespace tally::test::native
