#include "counters/layer/entry_points.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "counters/layer/offered_extensions.h"
#include "counters/recording/command_buffer.h"
#include "vk/layer.h"
#include "vk/own_call.h"

namespace tally::counters {

vk::HandleIndex<VkCommandBuffer, CommandBuffer> g_command_buffers;

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
    case HookCondition::QueryPools:
      return device.queries() != nullptr ||
             (device.state() && device.state()->instrumentation.invocations);
    case HookCondition::Passes:
      return device.regions() != nullptr || applies(device, HookCondition::QueryPools);
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

namespace {

constexpr uint32_t kMinApiVersion = VK_API_VERSION_1_2;

const VkLayerProperties kLayerProperties = {"VK_LAYER_TALLY_counters", VK_HEADER_VERSION_COMPLETE,
                                            1, "Exact GPU performance counters on every driver"};

const VkExtensionProperties kInstanceExtensions[] = {
    {VK_EXT_LAYER_SETTINGS_EXTENSION_NAME, VK_EXT_LAYER_SETTINGS_SPEC_VERSION}};

bool is_ours(const char* layer_name) {
  return layer_name && std::strcmp(layer_name, kLayerName) == 0;
}

// Instrumentation needs buffer device addresses, which some drivers only have in Vulkan 1.2. An
// application that requests a lower version does not see the difference (vk/layer.h).
VkApplicationInfo raise_version(const VkApplicationInfo* original) {
  VkApplicationInfo info{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO};
  if (original) info = *original;
  info.apiVersion = std::max(info.apiVersion, kMinApiVersion);
  return info;
}

VkResult create_instance(const VkInstanceCreateInfo& original,
                         const VkAllocationCallbacks* allocator, VkInstance* handle) {
  const vk::NextInstance next = vk::take_next_instance(original);
  if (!next.get_instance_proc_addr) return VK_ERROR_INITIALIZATION_FAILED;
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(
      next.get_instance_proc_addr(VK_NULL_HANDLE, "vkCreateInstance"));
  if (!create) return VK_ERROR_INITIALIZATION_FAILED;
  const Settings settings =
      Settings::load("tally_counters", vk::api_settings(original, kLayerName));
  configure_log(settings);
  Options options = parse_options(settings);
  // Allocation callbacks expect the thread that calls Vulkan.
  if (allocator) options.compile_ahead = CompileAhead::Never;

  const VkApplicationInfo application = raise_version(original.pApplicationInfo);
  VkInstanceCreateInfo info = original;
  info.pApplicationInfo = &application;
  TALLY_TRY(create(&info, allocator, handle));
  const Instance::Versions versions{
      original.pApplicationInfo ? original.pApplicationInfo->apiVersion : 0,
      application.apiVersion};
  add_instance(std::make_unique<Instance>(*handle, next, versions, options));
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_create_instance(const VkInstanceCreateInfo* info,
                                                    const VkAllocationCallbacks* allocator,
                                                    VkInstance* instance) {
  return vk::guarded([&] { return create_instance(*info, allocator, instance); });
}

VKAPI_ATTR void VKAPI_CALL hook_destroy_instance(VkInstance handle,
                                                 const VkAllocationCallbacks* allocator) {
  if (handle == VK_NULL_HANDLE) return;
  const std::unique_ptr<Instance> instance = take_instance(handle);
  if (instance) instance->next().DestroyInstance(handle, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_enumerate_instance_layers(uint32_t* count,
                                                              VkLayerProperties* properties) {
  return vk::write_array<VkLayerProperties>({&kLayerProperties, 1}, count, properties);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_enumerate_instance_extensions(
    const char* layer, uint32_t* count, VkExtensionProperties* properties) {
  if (!is_ours(layer)) return VK_ERROR_LAYER_NOT_PRESENT;
  return vk::write_array<VkExtensionProperties>(kInstanceExtensions, count, properties);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_create_messenger(VkInstance handle,
                                                     const VkDebugUtilsMessengerCreateInfoEXT* info,
                                                     const VkAllocationCallbacks* allocator,
                                                     VkDebugUtilsMessengerEXT* messenger) {
  Instance& instance = *find_instance(handle);
  const VkResult result =
      instance.next().CreateDebugUtilsMessengerEXT(handle, info, allocator, messenger);
  if (result == VK_SUCCESS) {
    vk::guarded_void([&] { instance.messages().add_messenger(*messenger, *info); });
  }
  return result;
}

VKAPI_ATTR void VKAPI_CALL hook_destroy_messenger(VkInstance handle,
                                                  VkDebugUtilsMessengerEXT messenger,
                                                  const VkAllocationCallbacks* allocator) {
  Instance& instance = *find_instance(handle);
  instance.messages().remove_messenger(messenger);
  instance.next().DestroyDebugUtilsMessengerEXT(handle, messenger, allocator);
}

}  // namespace

const HookTable& instance_hooks() {
  // Leaked on purpose: applications call Vulkan from static destructors.
  static const auto* const table = new HookTable({
      make_hook("vkCreateDebugUtilsMessengerEXT", hook_create_messenger, HookCondition::WhereBelow),
      make_hook("vkCreateInstance", hook_create_instance),
      make_hook("vkDestroyDebugUtilsMessengerEXT", hook_destroy_messenger,
                HookCondition::WhereBelow),
      make_hook("vkDestroyInstance", hook_destroy_instance),
      make_hook("vkEnumerateInstanceExtensionProperties", hook_enumerate_instance_extensions),
      make_hook("vkEnumerateInstanceLayerProperties", hook_enumerate_instance_layers),
      make_hook("vkGetDeviceProcAddr", get_device_proc_addr),
      make_hook("vkGetInstanceProcAddr", get_instance_proc_addr),
  });
  return *table;
}

namespace {

VKAPI_ATTR void VKAPI_CALL hook_destroy_device(VkDevice handle,
                                               const VkAllocationCallbacks* allocator) {
  if (handle == VK_NULL_HANDLE) return;
  const std::unique_ptr<Device> device = take_device(handle);
  if (!device) return;
  // Command buffers of pools that the application has not destroyed.
  vk::guarded_void([&] {
    if (!device->state()) return;
    for (const auto& left : device->state()->command_buffers.values())
      g_command_buffers.erase(left->handle());
  });
  device->release_objects();
  device->next().DestroyDevice(handle, allocator);
}

}  // namespace

void add_device_entry_points(Hooks& hooks) {
  hooks.push_back(make_hook("vkDestroyDevice", hook_destroy_device));
  hooks.push_back(make_hook("vkGetDeviceProcAddr", get_device_proc_addr));
}

// Names, tags and private data of the layer's objects. The driver must not receive their handles.

namespace {

bool is_ours(VkObjectType type) { return type == VK_OBJECT_TYPE_SHADER_INSTRUMENTATION_ARM; }

std::shared_ptr<Instrumentation> find_object(const Device& device, uint64_t bits) {
  if (!device.state()) return nullptr;
  return device.state()->instrumentation.objects.find(
      (VkShaderInstrumentationARM)bits);  // NOLINT: a handle is a number
}

// VK_EXT_debug_marker has no type for the layer's objects: applications use the unknown type.
bool is_ours(const Device& device, VkDebugReportObjectTypeEXT type, uint64_t bits) {
  return type == VK_DEBUG_REPORT_OBJECT_TYPE_UNKNOWN_EXT && find_object(device, bits) != nullptr;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_set_name(VkDevice handle,
                                             const VkDebugUtilsObjectNameInfoEXT* info) {
  const Device& device = *find_device(handle);
  if (!is_ours(info->objectType)) return device.next().SetDebugUtilsObjectNameEXT(handle, info);
  return vk::guarded([&] {
    const auto object = find_object(device, info->objectHandle);
    if (object) object->set_name(info->pObjectName ? info->pObjectName : "");
    return VK_SUCCESS;
  });
}

VKAPI_ATTR VkResult VKAPI_CALL hook_set_tag(VkDevice handle,
                                            const VkDebugUtilsObjectTagInfoEXT* info) {
  if (is_ours(info->objectType)) return VK_SUCCESS;
  return find_device(handle)->next().SetDebugUtilsObjectTagEXT(handle, info);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_marker_name(VkDevice handle,
                                                const VkDebugMarkerObjectNameInfoEXT* info) {
  const Device& device = *find_device(handle);
  if (is_ours(device, info->objectType, info->object)) return VK_SUCCESS;
  return device.next().DebugMarkerSetObjectNameEXT(handle, info);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_marker_tag(VkDevice handle,
                                               const VkDebugMarkerObjectTagInfoEXT* info) {
  const Device& device = *find_device(handle);
  if (is_ours(device, info->objectType, info->object)) return VK_SUCCESS;
  return device.next().DebugMarkerSetObjectTagEXT(handle, info);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_set_private_data(VkDevice handle, VkObjectType type,
                                                     uint64_t object, VkPrivateDataSlot slot,
                                                     uint64_t data) {
  const Device& device = *find_device(handle);
  if (!is_ours(type) || !device.state()) {
    return device.next().SetPrivateData(handle, type, object, slot, data);
  }
  return vk::guarded([&] {
    device.state()->instrumentation.names.set_private_data(object, slot, data);
    return VK_SUCCESS;
  });
}

VKAPI_ATTR void VKAPI_CALL hook_get_private_data(VkDevice handle, VkObjectType type,
                                                 uint64_t object, VkPrivateDataSlot slot,
                                                 uint64_t* data) {
  const Device& device = *find_device(handle);
  if (!is_ours(type) || !device.state()) {
    device.next().GetPrivateData(handle, type, object, slot, data);
  } else {
    *data = device.state()->instrumentation.names.private_data(object, slot);
  }
}

}  // namespace

void add_object_name_entry_points(Hooks& hooks) {
  const auto add = [&](std::string_view name, auto* function) {
    hooks.push_back(make_hook(name, function, HookCondition::Instrumentation));
  };
  add("vkDebugMarkerSetObjectNameEXT", hook_marker_name);
  add("vkDebugMarkerSetObjectTagEXT", hook_marker_tag);
  add("vkGetPrivateData", hook_get_private_data);
  add("vkGetPrivateDataEXT", hook_get_private_data);
  add("vkSetDebugUtilsObjectNameEXT", hook_set_name);
  add("vkSetDebugUtilsObjectTagEXT", hook_set_tag);
  add("vkSetPrivateData", hook_set_private_data);
  add("vkSetPrivateDataEXT", hook_set_private_data);
}

}  // namespace tally::counters
