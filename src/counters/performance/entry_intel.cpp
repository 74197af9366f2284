// VK_INTEL_performance_query. Query pools are in queries/entry.cpp, their results in
// performance/intel_report.h.
#include <fmt/format.h>

#include "counters/layer/entry_points.h"
#include "vk/boundary.h"

namespace tally::counters {
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

void add_intel_performance_query_entry_points(std::vector<vk::Hook>& hooks) {
  const auto add = [&](std::string_view name, auto* function) {
    hooks.push_back(vk::hook(name, function, kIntelQueries));
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

}  // namespace tally::counters
