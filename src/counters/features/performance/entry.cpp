// VK_KHR_performance_query: its counters, passes and profiling lock. Query pools are in
// queries/entry.cpp.

#include <fmt/format.h>

#include "counters/features/performance/counters.h"
#include "counters/layer/entry_points.h"
#include "counters/layer/offered_extensions.h"
#include "counters/recording/command_buffer.h"
#include "vk/own_call.h"

namespace tally::counters {
namespace {

std::vector<PerformanceCounter> counters_of(Instance& instance, VkPhysicalDevice handle,
                                            uint32_t family) {
  const PhysicalDevice& gpu = instance.inspect(handle);
  if (!is_offered(Extension::PerformanceQuery, gpu)) return {};
  return performance_counters(gpu, family, instance.options());
}

VkResult write_counters(const std::vector<PerformanceCounter>& all, uint32_t* count,
                        VkPerformanceCounterKHR* counters,
                        VkPerformanceCounterDescriptionKHR* descriptions) {
  const auto available = static_cast<uint32_t>(all.size());
  const bool wanted = counters || descriptions;
  const uint32_t written = wanted ? std::min(*count, available) : 0;
  for (uint32_t i = 0; i < written; ++i) {
    if (counters) describe(all[i], counters[i]);
    if (descriptions) describe(all[i], descriptions[i]);
  }
  *count = wanted ? written : available;
  return wanted && written < available ? VK_INCOMPLETE : VK_SUCCESS;
}

// The driver's counters, then the layer's.
VkResult enumerate(VkPhysicalDevice handle, uint32_t family, uint32_t* count,
                   VkPerformanceCounterKHR* counters,
                   VkPerformanceCounterDescriptionKHR* descriptions) {
  Instance& instance = *find_instance(handle);
  const uint32_t of_driver = instance.inspect(handle).driver_counters_of(family);
  const bool wanted = counters || descriptions;
  uint32_t first = wanted ? std::min(*count, of_driver) : of_driver;
  if (wanted && first != 0) {
    const VkResult result =
        instance.next().EnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR(
            handle, family, &first, counters, descriptions);
    if (result < 0 || first < of_driver) {
      *count = first;
      return result < 0 ? result : VK_INCOMPLETE;
    }
  }
  uint32_t rest = wanted ? *count - first : 0;
  const VkResult result = write_counters(counters_of(instance, handle, family), &rest,
                                         counters ? counters + first : nullptr,
                                         descriptions ? descriptions + first : nullptr);
  *count = first + rest;
  return result;
}

void get_passes(VkPhysicalDevice handle, const VkQueryPoolPerformanceCreateInfoKHR& info,
                uint32_t* passes) {
  Instance& instance = *find_instance(handle);
  const PhysicalDevice& gpu = instance.inspect(handle);
  const CounterSplit split(gpu, info);
  const uint32_t of_driver = driver_passes(instance.next(), gpu, split);
  *passes = of_driver;
  if (split.ours.empty() && of_driver != 0) return;
  const auto query =
      plan_performance_query(counters_of(instance, handle, info.queueFamilyIndex), split.ours);
  *passes = query ? query->passes_with(of_driver) : 0;
  if (query) return;
  instance.messages().misuse(
      "VUID-VkQueryPoolPerformanceCreateInfoKHR-pCounterIndices-03321",
      VK_OBJECT_TYPE_PHYSICAL_DEVICE, vk::handle_bits(handle),
      fmt::format("vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR(): an index is not "
                  "the index of a counter of queue family {}",
                  info.queueFamilyIndex));
}

VKAPI_ATTR VkResult VKAPI_CALL hook_acquire_lock(VkDevice handle,
                                                 const VkAcquireProfilingLockInfoKHR* info) {
  const Device& device = *find_device(handle);
  ProfilingLock* lock = device.profiling_lock();
  if (!lock) return device.next().AcquireProfilingLockKHR(handle, info);
  return vk::guarded([&] { return lock->acquire(info->timeout); });
}

VKAPI_ATTR void VKAPI_CALL hook_release_lock(VkDevice handle) {
  const Device& device = *find_device(handle);
  ProfilingLock* lock = device.profiling_lock();
  if (!lock) return device.next().ReleaseProfilingLockKHR(handle);
  vk::guarded_void([&] {
    if (lock->release()) return;
    device.messages().misuse("VUID-vkReleaseProfilingLockKHR-device-03235", VK_OBJECT_TYPE_DEVICE,
                             device.handle_bits(),
                             "vkReleaseProfilingLockKHR(): the device does not hold the lock");
  });
}

}  // namespace

VKAPI_ATTR VkResult VKAPI_CALL hook_enumerate_performance_counters(
    VkPhysicalDevice gpu, uint32_t family, uint32_t* count, VkPerformanceCounterKHR* counters,
    VkPerformanceCounterDescriptionKHR* descriptions) {
  return vk::guarded([&] { return enumerate(gpu, family, count, counters, descriptions); });
}

VKAPI_ATTR void VKAPI_CALL hook_get_performance_passes(
    VkPhysicalDevice gpu, const VkQueryPoolPerformanceCreateInfoKHR* info, uint32_t* passes) {
  vk::guarded_void([&] { get_passes(gpu, *info, passes); });
}

void add_performance_query_entry_points(Hooks& hooks) {
  hooks.push_back(
      make_hook("vkAcquireProfilingLockKHR", hook_acquire_lock, HookCondition::ProfilingLock));
  hooks.push_back(
      make_hook("vkReleaseProfilingLockKHR", hook_release_lock, HookCondition::ProfilingLock));
}

// VK_INTEL_performance_query. Query pools are in queries/entry.cpp, their results in
// performance/intel_report.h.

namespace {

// Null where the driver has the extension itself.
IntelConfigurations* configurations_of(const Device& device) {
  QueryState* queries = device.queries();
  return queries && queries->emulated.performance_intel ? &queries->intel_configurations : nullptr;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_initialize(VkDevice handle,
                                               const VkInitializePerformanceApiInfoINTEL* info) {
  const Device& device = *find_device(handle);
  return configurations_of(device) ? VK_SUCCESS
                                   : device.next().InitializePerformanceApiINTEL(handle, info);
}

VKAPI_ATTR void VKAPI_CALL hook_uninitialize(VkDevice handle) {
  const Device& device = *find_device(handle);
  if (!configurations_of(device)) device.next().UninitializePerformanceApiINTEL(handle);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_get_parameter(VkDevice handle,
                                                  VkPerformanceParameterTypeINTEL parameter,
                                                  VkPerformanceValueINTEL* value) {
  const Device& device = *find_device(handle);
  if (!configurations_of(device)) {
    return device.next().GetPerformanceParameterINTEL(handle, parameter, value);
  }
  return intel_parameter(parameter, *value) ? VK_SUCCESS : VK_ERROR_UNKNOWN;
}

VKAPI_ATTR VkResult VKAPI_CALL
hook_acquire_configuration(VkDevice handle, const VkPerformanceConfigurationAcquireInfoINTEL* info,
                           VkPerformanceConfigurationINTEL* configuration) {
  const Device& device = *find_device(handle);
  IntelConfigurations* configurations = configurations_of(device);
  if (!configurations) {
    return device.next().AcquirePerformanceConfigurationINTEL(handle, info, configuration);
  }
  return vk::guarded([&] {
    *configuration = configurations->acquire();
    return VK_SUCCESS;
  });
}

VkResult unknown_configuration(const Device& device, const char* vuid, const char* function,
                               VkPerformanceConfigurationINTEL configuration) {
  const uint64_t bits = vk::handle_bits(configuration);
  device.messages().misuse(
      vuid, VK_OBJECT_TYPE_PERFORMANCE_CONFIGURATION_INTEL, bits,
      fmt::format("{}(): {:#x} is not a VkPerformanceConfigurationINTEL of this device", function,
                  bits));
  return VK_ERROR_UNKNOWN;
}

VKAPI_ATTR VkResult VKAPI_CALL
hook_release_configuration(VkDevice handle, VkPerformanceConfigurationINTEL configuration) {
  const Device& device = *find_device(handle);
  IntelConfigurations* configurations = configurations_of(device);
  if (!configurations) {
    return device.next().ReleasePerformanceConfigurationINTEL(handle, configuration);
  }
  return vk::guarded([&] {
    if (configuration == VK_NULL_HANDLE || configurations->release(configuration)) {
      return VK_SUCCESS;
    }
    return unknown_configuration(
        device, "VUID-vkReleasePerformanceConfigurationINTEL-configuration-parameter",
        "vkReleasePerformanceConfigurationINTEL", configuration);
  });
}

VKAPI_ATTR VkResult VKAPI_CALL hook_set(VkQueue queue,
                                        VkPerformanceConfigurationINTEL configuration) {
  const Device& device = *find_device(queue);
  const IntelConfigurations* configurations = configurations_of(device);
  if (!configurations) {
    return device.next().QueueSetPerformanceConfigurationINTEL(queue, configuration);
  }
  return vk::guarded([&] {
    if (configurations->has(configuration)) return VK_SUCCESS;
    return unknown_configuration(
        device, "VUID-vkQueueSetPerformanceConfigurationINTEL-configuration-parameter",
        "vkQueueSetPerformanceConfigurationINTEL", configuration);
  });
}

// The state of a command buffer, if the layer implements the extension on its device; else null.
CommandBuffer* recording(VkCommandBuffer commands) {
  return configurations_of(*find_device(commands)) ? find_command_buffer(commands) : nullptr;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_marker(VkCommandBuffer commands,
                                           const VkPerformanceMarkerInfoINTEL* info) {
  CommandBuffer* state = recording(commands);
  if (!state) return find_device(commands)->next().CmdSetPerformanceMarkerINTEL(commands, info);
  state->queries()->set_marker(info->marker);
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_stream_marker(VkCommandBuffer commands,
                                                  const VkPerformanceStreamMarkerInfoINTEL* info) {
  CommandBuffer* state = recording(commands);
  if (!state) {
    return find_device(commands)->next().CmdSetPerformanceStreamMarkerINTEL(commands, info);
  }
  state->queries()->set_stream_marker(info->marker);
  return VK_SUCCESS;
}

void override_hardware(CommandBuffer& state, const VkPerformanceOverrideInfoINTEL& info) {
  const bool enable = info.enable == VK_TRUE;
  switch (info.type) {
    case VK_PERFORMANCE_OVERRIDE_TYPE_NULL_HARDWARE_INTEL:
      state.query_commands().drop_actions(enable);
      break;
    case VK_PERFORMANCE_OVERRIDE_TYPE_FLUSH_GPU_CACHES_INTEL:
      if (enable) state.query_commands().flush_caches();
      break;
    default:
      break;
  }
}

VKAPI_ATTR VkResult VKAPI_CALL hook_override(VkCommandBuffer commands,
                                             const VkPerformanceOverrideInfoINTEL* info) {
  CommandBuffer* state = recording(commands);
  if (!state) return find_device(commands)->next().CmdSetPerformanceOverrideINTEL(commands, info);
  return vk::guarded([&] {
    override_hardware(*state, *info);
    return VK_SUCCESS;
  });
}

}  // namespace

void add_intel_performance_query_entry_points(Hooks& hooks) {
  const auto add = [&](std::string_view name, auto* function) {
    hooks.push_back(make_hook(name, function, HookCondition::IntelQueries));
  };
  add("vkAcquirePerformanceConfigurationINTEL", hook_acquire_configuration);
  add("vkCmdSetPerformanceMarkerINTEL", hook_marker);
  add("vkCmdSetPerformanceOverrideINTEL", hook_override);
  add("vkCmdSetPerformanceStreamMarkerINTEL", hook_stream_marker);
  add("vkGetPerformanceParameterINTEL", hook_get_parameter);
  add("vkInitializePerformanceApiINTEL", hook_initialize);
  add("vkQueueSetPerformanceConfigurationINTEL", hook_set);
  add("vkReleasePerformanceConfigurationINTEL", hook_release_configuration);
  add("vkUninitializePerformanceApiINTEL", hook_uninitialize);
}

// Commands that performance queries count and that have no other hook. Those that bind descriptors
// also invalidate descriptor heaps.

namespace {

// The hook of the command whose function pointer is `kNext`.
template <auto kNext, CommandMetric kMetric, typename Function>
struct Counted;
template <auto kNext, CommandMetric kMetric, typename... Arguments>
struct Counted<kNext, kMetric, void(VKAPI_PTR*)(VkCommandBuffer, Arguments...)> {
  static constexpr bool kBindsDescriptors = kMetric == CommandMetric::DescriptorBinds;
  static VKAPI_ATTR void VKAPI_CALL call(VkCommandBuffer commands, Arguments... arguments) {
    CommandBuffer* state = find_command_buffer(commands);
    if (state) state->count_command(kMetric);
    if (state && kBindsDescriptors) state->bound().set_descriptors(DescriptorKind::Sets);
    const DeviceTable& next = state ? state->next() : find_device(commands)->next();
    (next.*kNext)(commands, arguments...);
  }
};

template <auto kNext, CommandMetric kMetric, typename... Names>
void add(Hooks& hooks, Names... names) {
  using Function = std::remove_cvref_t<decltype(std::declval<DeviceTable>().*kNext)>;
  const auto hook = Counted<kNext, kMetric, Function>::call;
  constexpr HookCondition kCondition = kMetric == CommandMetric::DescriptorBinds
                                           ? HookCondition::Descriptors
                                           : HookCondition::PerformanceQueries;
  (hooks.push_back(make_hook(names, hook, kCondition)), ...);
}

using Table = DeviceTable;
using Metric = CommandMetric;

void add_binds(Hooks& hooks) {
  constexpr Metric kDescriptors = Metric::DescriptorBinds;
  add<&Table::CmdBindDescriptorSets, kDescriptors>(hooks, "vkCmdBindDescriptorSets");
  add<&Table::CmdBindDescriptorSets2, kDescriptors>(hooks, "vkCmdBindDescriptorSets2",
                                                    "vkCmdBindDescriptorSets2KHR");
  add<&Table::CmdPushDescriptorSet, kDescriptors>(hooks, "vkCmdPushDescriptorSet",
                                                  "vkCmdPushDescriptorSetKHR");
  add<&Table::CmdPushDescriptorSet2, kDescriptors>(hooks, "vkCmdPushDescriptorSet2",
                                                   "vkCmdPushDescriptorSet2KHR");
  add<&Table::CmdPushDescriptorSetWithTemplate, kDescriptors>(
      hooks, "vkCmdPushDescriptorSetWithTemplate", "vkCmdPushDescriptorSetWithTemplateKHR");
  add<&Table::CmdPushDescriptorSetWithTemplate2, kDescriptors>(
      hooks, "vkCmdPushDescriptorSetWithTemplate2", "vkCmdPushDescriptorSetWithTemplate2KHR");
  add<&Table::CmdSetDescriptorBufferOffsetsEXT, kDescriptors>(hooks,
                                                              "vkCmdSetDescriptorBufferOffsetsEXT");
  add<&Table::CmdSetDescriptorBufferOffsets2EXT, kDescriptors>(
      hooks, "vkCmdSetDescriptorBufferOffsets2EXT");
  add<&Table::CmdBindDescriptorBufferEmbeddedSamplersEXT, kDescriptors>(
      hooks, "vkCmdBindDescriptorBufferEmbeddedSamplersEXT");
  add<&Table::CmdBindDescriptorBufferEmbeddedSamplers2EXT, kDescriptors>(
      hooks, "vkCmdBindDescriptorBufferEmbeddedSamplers2EXT");
  add<&Table::CmdBindVertexBuffers, Metric::VertexBufferBinds>(hooks, "vkCmdBindVertexBuffers");
  add<&Table::CmdBindVertexBuffers2, Metric::VertexBufferBinds>(hooks, "vkCmdBindVertexBuffers2",
                                                                "vkCmdBindVertexBuffers2EXT");
  add<&Table::CmdBindVertexBuffers3KHR, Metric::VertexBufferBinds>(hooks,
                                                                   "vkCmdBindVertexBuffers3KHR");
}

void add_barriers(Hooks& hooks) {
  add<&Table::CmdPipelineBarrier, Metric::Barriers>(hooks, "vkCmdPipelineBarrier");
  add<&Table::CmdPipelineBarrier2, Metric::Barriers>(hooks, "vkCmdPipelineBarrier2",
                                                     "vkCmdPipelineBarrier2KHR");
  add<&Table::CmdWaitEvents, Metric::Barriers>(hooks, "vkCmdWaitEvents");
  add<&Table::CmdWaitEvents2, Metric::Barriers>(hooks, "vkCmdWaitEvents2", "vkCmdWaitEvents2KHR");
}

void add_transfers(Hooks& hooks) {
  constexpr Metric kTransfer = Metric::Transfers;
  add<&Table::CmdBlitImage, kTransfer>(hooks, "vkCmdBlitImage");
  add<&Table::CmdBlitImage2, kTransfer>(hooks, "vkCmdBlitImage2", "vkCmdBlitImage2KHR");
  add<&Table::CmdClearColorImage, kTransfer>(hooks, "vkCmdClearColorImage");
  add<&Table::CmdClearDepthStencilImage, kTransfer>(hooks, "vkCmdClearDepthStencilImage");
  add<&Table::CmdCopyBuffer, kTransfer>(hooks, "vkCmdCopyBuffer");
  add<&Table::CmdCopyBuffer2, kTransfer>(hooks, "vkCmdCopyBuffer2", "vkCmdCopyBuffer2KHR");
  add<&Table::CmdCopyBufferToImage, kTransfer>(hooks, "vkCmdCopyBufferToImage");
  add<&Table::CmdCopyBufferToImage2, kTransfer>(hooks, "vkCmdCopyBufferToImage2",
                                                "vkCmdCopyBufferToImage2KHR");
  add<&Table::CmdCopyImage, kTransfer>(hooks, "vkCmdCopyImage");
  add<&Table::CmdCopyImage2, kTransfer>(hooks, "vkCmdCopyImage2", "vkCmdCopyImage2KHR");
  add<&Table::CmdCopyImageToBuffer, kTransfer>(hooks, "vkCmdCopyImageToBuffer");
  add<&Table::CmdCopyImageToBuffer2, kTransfer>(hooks, "vkCmdCopyImageToBuffer2",
                                                "vkCmdCopyImageToBuffer2KHR");
  add<&Table::CmdFillBuffer, kTransfer>(hooks, "vkCmdFillBuffer");
  add<&Table::CmdResolveImage, kTransfer>(hooks, "vkCmdResolveImage");
  add<&Table::CmdResolveImage2, kTransfer>(hooks, "vkCmdResolveImage2", "vkCmdResolveImage2KHR");
  add<&Table::CmdUpdateBuffer, kTransfer>(hooks, "vkCmdUpdateBuffer");
  add<&Table::CmdClearAttachments, Metric::Clears>(hooks, "vkCmdClearAttachments");
}

// Between memory that addresses or other objects name.
void add_memory_transfers(Hooks& hooks) {
  constexpr Metric kTransfer = Metric::Transfers;
  add<&Table::CmdConvertCooperativeVectorMatrixNV, kTransfer>(
      hooks, "vkCmdConvertCooperativeVectorMatrixNV");
  add<&Table::CmdCopyImageToMemoryKHR, kTransfer>(hooks, "vkCmdCopyImageToMemoryKHR");
  add<&Table::CmdCopyMemoryIndirectKHR, kTransfer>(hooks, "vkCmdCopyMemoryIndirectKHR");
  add<&Table::CmdCopyMemoryIndirectNV, kTransfer>(hooks, "vkCmdCopyMemoryIndirectNV");
  add<&Table::CmdCopyMemoryKHR, kTransfer>(hooks, "vkCmdCopyMemoryKHR");
  add<&Table::CmdCopyMemoryToImageIndirectKHR, kTransfer>(hooks,
                                                          "vkCmdCopyMemoryToImageIndirectKHR");
  add<&Table::CmdCopyMemoryToImageIndirectNV, kTransfer>(hooks, "vkCmdCopyMemoryToImageIndirectNV");
  add<&Table::CmdCopyMemoryToImageKHR, kTransfer>(hooks, "vkCmdCopyMemoryToImageKHR");
  add<&Table::CmdCopyTensorARM, kTransfer>(hooks, "vkCmdCopyTensorARM");
  add<&Table::CmdDecompressMemoryEXT, kTransfer>(hooks, "vkCmdDecompressMemoryEXT");
  add<&Table::CmdDecompressMemoryIndirectCountEXT, kTransfer>(
      hooks, "vkCmdDecompressMemoryIndirectCountEXT");
  add<&Table::CmdDecompressMemoryIndirectCountNV, kTransfer>(
      hooks, "vkCmdDecompressMemoryIndirectCountNV");
  add<&Table::CmdDecompressMemoryNV, kTransfer>(hooks, "vkCmdDecompressMemoryNV");
  add<&Table::CmdFillMemoryKHR, kTransfer>(hooks, "vkCmdFillMemoryKHR");
  add<&Table::CmdUpdateMemoryKHR, kTransfer>(hooks, "vkCmdUpdateMemoryKHR");
}

}  // namespace

void add_counted_command_entry_points(Hooks& hooks) {
  add_binds(hooks);
  add_barriers(hooks);
  add_transfers(hooks);
  add_memory_transfers(hooks);
}

}  // namespace tally::counters
