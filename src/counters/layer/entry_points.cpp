#include "counters/layer/entry_points.h"

#include <algorithm>
#include <utility>

#include "counters/layer/offered_extensions.h"
#include "counters/recording/command_buffer.h"
#include "vk/layer.h"

namespace tally::counters {

vk::CommandBufferIndex<CommandBuffer> g_command_buffers;

CommandBuffer* find_far_command_buffer(VkCommandBuffer handle) {
  if (CommandBuffer* const far = g_command_buffers.find_far(handle)) return far;
  Device* device = find_device(handle);
  if (!device || !device->state()) return nullptr;
  return device->state()->command_buffers.find(handle).get();
}

const HookTable& device_hooks() {
  // Leaked on purpose: applications call Vulkan from static destructors.
  static const auto* const table = [] {
    Hooks hooks;
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
    return new HookTable(std::move(hooks));
  }();
  return *table;
}

namespace {

// Functions that exist without support of the layers below.
bool is_own(const Hook& hook) {
  return hook.condition == HookCondition::Own ||
         (hook.condition != HookCondition::Always &&
          std::ranges::any_of(offered_extensions(), [&](const OfferedExtension& row) {
            return row.commands == hook.condition;
          }));
}

// True if the function exists below, unless it is the layer's own.
bool available(const Device& device, const Hook& hook, const char* name) {
  return is_own(hook) ||
         device.next_device().get_device_proc_addr(device.handle(), name) != nullptr;
}

bool uses_heaps(const Device& device) {
  return device.state() && device.state()->objects.heap_layouts.enabled();
}

bool applies(const Device& device, HookCondition condition) {
  switch (condition) {
    case HookCondition::Always:
      return true;
    case HookCondition::InstrumentationExtension:
      return device.extension_enabled();
    case HookCondition::Instrumentation:
      return device.state() != nullptr;
    case HookCondition::Regions:
      return device.regions() != nullptr;
    case HookCondition::Queries:
      return device.queries() != nullptr;
    case HookCondition::Passes:
      return device.regions() != nullptr || device.queries() != nullptr;
    case HookCondition::Rendering:
      return applies(device, HookCondition::Passes) ||
             (device.state() && device.state()->instrumentation.gather);
    case HookCondition::ProfilingLock:
      return device.profiling_lock() != nullptr;
    case HookCondition::Heaps:
      return uses_heaps(device);
    case HookCondition::Descriptors:
      return uses_heaps(device) || applies(device, HookCondition::PerformanceQueries);
    case HookCondition::PerformanceQueries:
      return device.queries() && device.queries()->emulated.counts_commands();
    case HookCondition::IntelQueries:
      return device.queries() && device.queries()->emulated.performance_intel;
    case HookCondition::QueueShared:
      return device.state() && device.state()->memory.shares_queue();
    case HookCondition::Own:
    case HookCondition::WhereBelow:
      return false;
  }
  return false;
}

}  // namespace

PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice handle, const char* name) {
  const Device* device = find_device(handle);
  if (!device || vk::is_newer_than(name, device->instance().application_version())) return nullptr;
  const Hook* hook = device_hooks().find(name);
  if (hook && applies(*device, hook->condition) && available(*device, *hook, name))
    return hook->function;
  return device->next_device().get_device_proc_addr(handle, name);
}

PFN_vkVoidFunction VKAPI_CALL get_physical_device_proc_addr(VkInstance handle, const char* name) {
  if (const Hook* hook = physical_device_hooks().find(name)) return hook->function;
  const Instance* instance = find_instance(handle);
  if (!instance || !instance->next_instance().get_physical_device_proc_addr) return nullptr;
  return instance->next_instance().get_physical_device_proc_addr(handle, name);
}

// Device functions may be queried too. Their hooks work on every device, but are returned only if
// the function exists below. Some layers query without an instance, vkCreateDevice for example:
// they get every hook that does not depend on an instance.
PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance handle, const char* name) {
  const Hook* hook = instance_hooks().find(name);
  if (hook && hook->condition == HookCondition::Always) return hook->function;
  if (!hook) hook = physical_device_hooks().find(name);
  if (!hook) hook = device_hooks().find(name);
  if (handle == VK_NULL_HANDLE)
    return hook && hook->condition == HookCondition::Always ? hook->function : nullptr;
  const Instance* instance = find_instance(handle);
  if (!instance) return nullptr;
  if (hook && is_own(*hook)) return hook->function;
  const PFN_vkVoidFunction below = instance->next_instance().get_instance_proc_addr(handle, name);
  return hook && below ? hook->function : below;
}

}  // namespace tally::counters
