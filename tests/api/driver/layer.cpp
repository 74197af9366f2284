// A layer that simulates a driver with VK_KHR_performance_query: the lowest of a test's layers. It
// reports that the device supports the extension, and offers counters with known values
// (counters.h). It also reports inheritedQueries, for drivers that execute secondary command
// buffers as if the primary contained their commands.
#include "vk/layer.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "api/driver/driver.h"
#include "vk/chain.h"

namespace tally::test::driver {

vk::HandleMap<void*, Instance*>& instances() {
  static auto* all = new vk::HandleMap<void*, Instance*>;
  return *all;
}
vk::HandleMap<void*, Device*>& devices() {
  static auto* all = new vk::HandleMap<void*, Device*>;
  return *all;
}

namespace {

constexpr VkStructureType kFeatures =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR;

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info,
                                               const VkAllocationCallbacks* allocator,
                                               VkInstance* handle) {
  const vk::NextInstance next = vk::take_next_instance(*info);
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(
      next.get_instance_proc_addr(VK_NULL_HANDLE, "vkCreateInstance"));
  const VkResult result = create(info, allocator, handle);
  if (result == VK_SUCCESS) {
    auto* instance = new Instance{*handle, next, {}};
    instance->next.load(
        [&](const char* name) { return next.get_instance_proc_addr(*handle, name); });
    instances().insert(vk::dispatch_key(*handle), instance);
  }
  return result;
}

VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance handle,
                                            const VkAllocationCallbacks* allocator) {
  const std::unique_ptr<Instance> instance(instances().take(vk::dispatch_key(handle)));
  instance->next.DestroyInstance(handle, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice gpu, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* allocator,
                                             VkDevice* handle) {
  const Instance& instance = instance_of(gpu);
  auto device = std::make_unique<Device>();
  device->next_device = vk::take_next_device(*info);
  VkDeviceCreateInfo below = *info;
  vk::ChainCopy chain(info->pNext);
  chain.remove(kFeatures);
  VkPhysicalDeviceFeatures features{};
  if (info->pEnabledFeatures) {
    features = *info->pEnabledFeatures;
    features.inheritedQueries = VK_FALSE;
    below.pEnabledFeatures = &features;
  }
  auto* chained =
      chain.find<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  if (chained) chained->features.inheritedQueries = VK_FALSE;
  auto* rays = chain.find<VkPhysicalDeviceRayTracingPipelineFeaturesKHR>(kRayFeatures);
  if (rays) rays->rayTracingPipelineShaderGroupHandleCaptureReplay = VK_FALSE;
  below.pNext = chain.head();
  std::vector<const char*> extensions(info->ppEnabledExtensionNames,
                                      info->ppEnabledExtensionNames + info->enabledExtensionCount);
  std::erase_if(extensions, [](const char* name) {
    return std::strcmp(name, VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME) == 0;
  });
  below.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  below.ppEnabledExtensionNames = extensions.data();
  const auto create = reinterpret_cast<PFN_vkCreateDevice>(
      device->next_device.get_instance_proc_addr(instance.handle, "vkCreateDevice"));
  const VkResult result = create(gpu, &below, allocator, handle);
  if (result != VK_SUCCESS) return result;
  device->handle = *handle;
  device->next.load(
      [&](const char* name) { return device->next_device.get_device_proc_addr(*handle, name); });
  instance.next.GetPhysicalDeviceMemoryProperties(gpu, &device->memory);
  devices().insert(vk::dispatch_key(*handle), device.release());
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice handle, const VkAllocationCallbacks* allocator) {
  release_lock(handle);
  const std::unique_ptr<Device> device(devices().take(vk::dispatch_key(handle)));
  device->pools.clear();
  device->next.DestroyDevice(handle, allocator);
}

// --- the loader's entry point

PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice device, const char* name);
PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance instance, const char* name);

const vk::HookTable& hooks() {
  static const auto* all = [] {
    Hooks rows{
        vk::hook("vkCreateDevice", create_device),
        vk::hook("vkCreateInstance", create_instance),
        vk::hook("vkDestroyDevice", destroy_device),
        vk::hook("vkDestroyInstance", destroy_instance),
        vk::hook("vkGetDeviceProcAddr", get_device_proc_addr),
        vk::hook("vkGetInstanceProcAddr", get_instance_proc_addr),
    };
    add_physical_device_hooks(rows);
    add_pool_hooks(rows);
    add_command_hooks(rows);
    add_pipeline_hooks(rows);
    add_shader_object_hooks(rows);
    return new vk::HookTable(std::move(rows));
  }();
  return *all;
}

PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice handle, const char* name) {
  if (const vk::Hook* hook = hooks().find(name)) return hook->function;
  return device_of(handle).next_device.get_device_proc_addr(handle, name);
}

PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance handle, const char* name) {
  if (const vk::Hook* hook = hooks().find(name)) return hook->function;
  return handle ? instance_of(handle).next_instance.get_instance_proc_addr(handle, name) : nullptr;
}

PFN_vkVoidFunction VKAPI_CALL get_physical_device_proc_addr(VkInstance handle, const char* name) {
  if (const vk::Hook* hook = hooks().find(name)) return hook->function;
  const auto next = instance_of(handle).next_instance.get_physical_device_proc_addr;
  return next ? next(handle, name) : nullptr;
}

}  // namespace
}  // namespace tally::test::driver

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* interface) {
  using namespace tally::test::driver;
  return tally::vk::negotiate(interface, get_instance_proc_addr, get_device_proc_addr,
                              get_physical_device_proc_addr);
}
