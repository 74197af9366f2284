#include "counters/layer/entry_points.h"

#include <utility>

#include "vk/dispatch.h"

namespace tally::counters {

constinit vk::CommandBufferIndex<CommandBuffer> g_command_buffers;

CommandBuffer* find_far_command_buffer(VkCommandBuffer handle) {
  if (CommandBuffer* const far = g_command_buffers.find_far(handle)) return far;
  Device* device = find_device(handle);
  if (!device || !device->state()) return nullptr;
  return device->state()->command_buffers.find(handle).get();
}

const vk::HookTable& device_hooks() {
  // Leaked on purpose: applications call Vulkan from static destructors.
  static const auto* const table = [] {
    std::vector<vk::Hook> hooks;
    add_device_entry_points(hooks);
    add_command_buffer_entry_points(hooks);
    add_action_entry_points(hooks);
    add_generated_command_entry_points(hooks);
    add_pipeline_entry_points(hooks);
    add_pipeline_cache_entry_points(hooks);
    add_shader_object_entry_points(hooks);
    add_queue_entry_points(hooks);
    add_object_name_entry_points(hooks);
    add_shader_instrumentation_entry_points(hooks);
    add_counters_by_region_entry_points(hooks);
    add_query_entry_points(hooks);
    add_draw_state_entry_points(hooks);
    add_counted_command_entry_points(hooks);
    add_descriptor_heap_entry_points(hooks);
    add_performance_query_entry_points(hooks);
    add_intel_performance_query_entry_points(hooks);
    return new vk::HookTable(std::move(hooks));
  }();
  return *table;
}

namespace {

// Functions that exist without support of the layers below.
bool is_own(const vk::Hook& hook) {
  return hook.condition == kExtensionEnabled || hook.condition == kProfilingLock ||
         hook.condition == kIntelQueries;
}

// True if the function exists below, unless it is the layer's own.
bool available(const Device& device, const vk::Hook& hook, const char* name) {
  return is_own(hook) ||
         device.next_device().get_device_proc_addr(device.handle(), name) != nullptr;
}

bool uses_heaps(const Device& device) {
  return device.state() && device.state()->objects.heap_layouts.enabled();
}

bool applies(const Device& device, uint32_t condition) {
  switch (condition) {
    case kAlways:
      return true;
    case kExtensionEnabled:
      return device.extension_enabled();
    case kInstrumentation:
      return device.state() != nullptr;
    case kRegions:
      return device.regions() != nullptr;
    case kQueries:
      return device.queries() != nullptr;
    case kPasses:
      return device.regions() != nullptr || device.queries() != nullptr;
    case kRendering:
      return applies(device, kPasses) || (device.state() && device.state()->instrumentation.gather);
    case kProfilingLock:
      return device.profiling_lock() != nullptr;
    case kHeaps:
      return uses_heaps(device);
    case kDescriptors:
      return uses_heaps(device) || applies(device, kPerformanceQueries);
    case kPerformanceQueries:
      return device.queries() && device.queries()->emulated.counts_commands();
    case kIntelQueries:
      return device.queries() && device.queries()->emulated.performance_intel;
    case kQueueShared:
      return device.state() && device.state()->memory.shares_queue();
    default:
      return false;
  }
}

}  // namespace

PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice handle, const char* name) {
  const Device* device = find_device(handle);
  if (!device || vk::is_newer_than(name, device->instance().application_version())) return nullptr;
  const vk::Hook* hook = device_hooks().find(name);
  if (hook && applies(*device, hook->condition) && available(*device, *hook, name))
    return hook->function;
  return device->next_device().get_device_proc_addr(handle, name);
}

PFN_vkVoidFunction VKAPI_CALL get_physical_device_proc_addr(VkInstance handle, const char* name) {
  if (const vk::Hook* hook = physical_device_hooks().find(name)) return hook->function;
  const Instance* instance = find_instance(handle);
  if (!instance || !instance->next_instance().get_physical_device_proc_addr) return nullptr;
  return instance->next_instance().get_physical_device_proc_addr(handle, name);
}

// Device functions may be queried too. Their hooks work on every device, but are returned only if
// the function exists below. Some layers query without an instance, vkCreateDevice for example:
// they get every hook that does not depend on an instance.
PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance handle, const char* name) {
  const vk::Hook* hook = instance_hooks().find(name);
  if (hook && hook->condition == kAlways) return hook->function;
  if (!hook) hook = physical_device_hooks().find(name);
  if (!hook) hook = device_hooks().find(name);
  if (handle == VK_NULL_HANDLE)
    return hook && hook->condition == kAlways ? hook->function : nullptr;
  const Instance* instance = find_instance(handle);
  if (!instance) return nullptr;
  if (hook && is_own(*hook)) return hook->function;
  const PFN_vkVoidFunction below = instance->next_instance().get_instance_proc_addr(handle, name);
  return hook && below ? hook->function : below;
}

}  // namespace tally::counters
