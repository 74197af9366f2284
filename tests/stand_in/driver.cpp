#include "stand_in/driver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "vk/handles.h"

namespace tally::test {

namespace native {
const Driver& driver();
}
namespace newest {
const Driver& driver();
}
namespace performance {
const Driver& driver();
}
namespace uncached {
const Driver& driver();
}
namespace uncounted {
const Driver& driver();
}
namespace watched {
const Driver& driver();
}

namespace {

// Each map is by dispatch key.
vk::HandleMap<void*, Instance*>& instances() {
  static auto* all = new vk::HandleMap<void*, Instance*>;
  return *all;
}
vk::HandleMap<void*, Device*>& devices() {
  static auto* all = new vk::HandleMap<void*, Device*>;
  return *all;
}

bool has_extension(const Driver& driver, const char* name) {
  return std::ranges::any_of(driver.extensions, [&](const VkExtensionProperties& extension) {
    return std::strcmp(extension.extensionName, name) == 0;
  });
}

// --- the physical device

VKAPI_ATTR VkResult VKAPI_CALL list_extensions(VkPhysicalDevice gpu, const char* layer,
                                               uint32_t* count, VkExtensionProperties* properties) {
  const Instance& instance = instance_of(gpu);
  const auto list = instance.next.EnumerateDeviceExtensionProperties;
  if (layer) return list(gpu, layer, count, properties);
  uint32_t below = 0;
  list(gpu, nullptr, &below, nullptr);
  std::vector<VkExtensionProperties> all(below);
  list(gpu, nullptr, &below, all.data());
  const auto& own = instance.driver->extensions;
  all.insert(all.end(), own.begin(), own.end());
  return vk::write_array<VkExtensionProperties>(all, count, properties);
}

VKAPI_ATTR void VKAPI_CALL get_features(VkPhysicalDevice gpu, VkPhysicalDeviceFeatures2* features) {
  const Instance& instance = instance_of(gpu);
  {
    const vk::UnlinkedStructs unlinked(features, instance.driver->structs);
    instance.next.GetPhysicalDeviceFeatures2(gpu, features);
  }
  instance.driver->add_features(*features);
}

VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice gpu,
                                          VkPhysicalDeviceProperties2* properties) {
  const Instance& instance = instance_of(gpu);
  {
    const vk::UnlinkedStructs unlinked(properties, instance.driver->structs);
    instance.next.GetPhysicalDeviceProperties2(gpu, properties);
  }
  if (instance.driver->add_properties) instance.driver->add_properties(gpu, *properties);
}

// --- instances and devices

VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance handle,
                                            const VkAllocationCallbacks* allocator) {
  const std::unique_ptr<Instance> instance(instances().take(vk::dispatch_key(handle)));
  instance->next.DestroyInstance(handle, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice gpu, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* allocator,
                                             VkDevice* handle) {
  const Instance& instance = instance_of(gpu);
  const vk::NextDevice next = vk::take_next_device(*info);
  std::unique_ptr<Device> device = instance.driver->make_device();
  device->instance = &instance;
  device->gpu = gpu;
  device->next_device = next;
  DeviceInfoBelow parts(*info);
  for (const VkStructureType type : instance.driver->structs) parts.chain.remove(type);
  std::erase_if(parts.extensions,
                [&](const char* name) { return has_extension(*instance.driver, name); });
  device->adapt(*info, parts);
  VkDeviceCreateInfo below = *info;
  below.pNext = parts.chain.head();
  below.queueCreateInfoCount = static_cast<uint32_t>(parts.queues.size());
  below.pQueueCreateInfos = parts.queues.data();
  below.enabledExtensionCount = static_cast<uint32_t>(parts.extensions.size());
  below.ppEnabledExtensionNames = parts.extensions.data();
  if (info->pEnabledFeatures) below.pEnabledFeatures = &parts.features;
  const auto create = reinterpret_cast<PFN_vkCreateDevice>(
      next.get_instance_proc_addr(instance.handle, "vkCreateDevice"));
  const VkResult result = create(gpu, &below, allocator, handle);
  if (result != VK_SUCCESS) return result;
  device->handle = *handle;
  device->next.load([&](const char* name) { return next.get_device_proc_addr(*handle, name); });
  device->begin(*info);
  devices().insert(vk::dispatch_key(*handle), device.release());
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice handle, const VkAllocationCallbacks* allocator) {
  const std::unique_ptr<Device> device(devices().take(vk::dispatch_key(handle)));
  device->end();
  device->next.DestroyDevice(handle, allocator);
}

// --- the loader's questions

PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice handle, const char* name);

const vk::Hook* find_hook(const Driver& driver, const char* name) {
  static const auto* of_all = new vk::HookTable({
      vk::hook("vkCreateDevice", create_device),
      vk::hook("vkDestroyDevice", destroy_device),
      vk::hook("vkDestroyInstance", destroy_instance),
      vk::hook("vkEnumerateDeviceExtensionProperties", list_extensions),
      vk::hook("vkGetDeviceProcAddr", get_device_proc_addr),
      vk::hook("vkGetPhysicalDeviceFeatures2", get_features),
      vk::hook("vkGetPhysicalDeviceFeatures2KHR", get_features),
      vk::hook("vkGetPhysicalDeviceProperties2", get_properties),
      vk::hook("vkGetPhysicalDeviceProperties2KHR", get_properties),
  });
  const vk::Hook* own = driver.hooks.find(name);
  return own ? own : of_all->find(name);
}

PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice handle, const char* name) {
  const Device& device = find_device(handle);
  if (!device.has_command(name)) return nullptr;
  if (const vk::Hook* hook = find_hook(*device.instance->driver, name)) return hook->function;
  return device.next_device.get_device_proc_addr(handle, name);
}

PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance handle, const char* name) {
  const Instance& instance = instance_of(handle);
  if (const vk::Hook* hook = find_hook(*instance.driver, name)) return hook->function;
  return instance.next_instance.get_instance_proc_addr(handle, name);
}

PFN_vkVoidFunction VKAPI_CALL get_physical_device_proc_addr(VkInstance handle, const char* name) {
  const Instance& instance = instance_of(handle);
  if (const vk::Hook* hook = find_hook(*instance.driver, name)) return hook->function;
  const auto next = instance.next_instance.get_physical_device_proc_addr;
  return next ? next(handle, name) : nullptr;
}

// A layer answers for its driver before there is an instance.
template <const Driver& (&kDriver)()>
struct Layer {
  static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info,
                                                        const VkAllocationCallbacks* allocator,
                                                        VkInstance* handle) {
    const vk::NextInstance next = vk::take_next_instance(*info);
    const auto create = reinterpret_cast<PFN_vkCreateInstance>(
        next.get_instance_proc_addr(VK_NULL_HANDLE, "vkCreateInstance"));
    const VkResult result = create(info, allocator, handle);
    if (result != VK_SUCCESS) return result;
    auto* instance = new Instance{&kDriver(), *handle, next, {}};
    instance->next.load(
        [&](const char* name) { return next.get_instance_proc_addr(*handle, name); });
    instances().insert(vk::dispatch_key(*handle), instance);
    return VK_SUCCESS;
  }

  static PFN_vkVoidFunction VKAPI_CALL get_proc_addr(VkInstance handle, const char* name) {
    if (std::string_view(name) == "vkCreateInstance") {
      return reinterpret_cast<PFN_vkVoidFunction>(create_instance);
    }
    if (std::string_view(name) == "vkGetInstanceProcAddr") {
      return reinterpret_cast<PFN_vkVoidFunction>(get_proc_addr);
    }
    if (handle) return get_instance_proc_addr(handle, name);
    const vk::Hook* hook = find_hook(kDriver(), name);
    return hook ? hook->function : nullptr;
  }
};

}  // namespace

DeviceInfoBelow::DeviceInfoBelow(const VkDeviceCreateInfo& wanted)
    : chain(wanted.pNext),
      extensions(wanted.ppEnabledExtensionNames,
                 wanted.ppEnabledExtensionNames + wanted.enabledExtensionCount),
      queues(wanted.pQueueCreateInfos, wanted.pQueueCreateInfos + wanted.queueCreateInfoCount) {
  if (wanted.pEnabledFeatures) features = *wanted.pEnabledFeatures;
}

Instance& instance_of(const void* handle) { return *instances().find(vk::dispatch_key(handle)); }
Device& find_device(const void* handle) { return *devices().find(vk::dispatch_key(handle)); }

void fail(const char* what) {
  std::fprintf(stderr, "test driver: %s\n", what);
  std::abort();
}

bool is_instrumented(const void* code, size_t size) {
  const std::string_view text(static_cast<const char*>(code), size);
  return text.find("tally.") != text.npos;
}

}  // namespace tally::test

// An entry point for each driver. Only drivers with commands of physical devices that the loader
// may not know answer for them.
#define TALLY_STAND_IN_LAYER(name, physical_device_commands)                     \
  extern "C" __attribute__((visibility("default")))                              \
  VKAPI_ATTR VkResult VKAPI_CALL tally_test_negotiate_##name(                    \
      VkNegotiateLayerInterface* interface) {                                    \
    using namespace tally::test;                                                 \
    return tally::vk::negotiate(interface, Layer<name::driver>::get_proc_addr,   \
                                get_device_proc_addr, physical_device_commands); \
  }
TALLY_STAND_IN_LAYER(native, nullptr)
TALLY_STAND_IN_LAYER(newest, nullptr)
TALLY_STAND_IN_LAYER(performance, get_physical_device_proc_addr)
TALLY_STAND_IN_LAYER(uncached, nullptr)
TALLY_STAND_IN_LAYER(uncounted, nullptr)
TALLY_STAND_IN_LAYER(watched, nullptr)
