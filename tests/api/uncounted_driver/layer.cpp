#include "vk/layer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "api/uncounted_driver/uncounted_driver.h"
#include "vk/chain.h"
#include "vk/hiding.h"

namespace tally::test::uncounted {

vk::HandleMap<void*, Device*>& devices() {
  static auto* all = new vk::HandleMap<void*, Device*>;
  return *all;
}

void fail(const char* what) {
  std::fprintf(stderr, "test driver: %s\n", what);
  std::abort();
}

namespace {

vk::HandleMap<void*, Instance*>& instances() {
  static auto* all = new vk::HandleMap<void*, Instance*>;
  return *all;
}
Instance& instance_of(const void* handle) { return *instances().find(vk::dispatch_key(handle)); }

// A feature struct: its members follow pNext.
struct Features {
  VkStructureType sType;
  void* pNext;
  VkBool32 members[1];
};

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info,
                                               const VkAllocationCallbacks* allocator,
                                               VkInstance* handle) {
  const vk::NextInstance next = vk::take_next_instance(*info);
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(
      next.get_instance_proc_addr(VK_NULL_HANDLE, "vkCreateInstance"));
  const VkResult result = create(info, allocator, handle);
  if (result != VK_SUCCESS) return result;
  auto* instance = new Instance{*handle, next, {}};
  instance->next.load([&](const char* name) { return next.get_instance_proc_addr(*handle, name); });
  instances().insert(vk::dispatch_key(*handle), instance);
  return result;
}

VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance handle,
                                            const VkAllocationCallbacks* allocator) {
  const std::unique_ptr<Instance> instance(instances().take(vk::dispatch_key(handle)));
  instance->next.DestroyInstance(handle, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL list_extensions(VkPhysicalDevice gpu, const char* layer,
                                               uint32_t* count, VkExtensionProperties* properties) {
  const auto list = instance_of(gpu).next.EnumerateDeviceExtensionProperties;
  if (layer) return list(gpu, layer, count, properties);
  uint32_t below = 0;
  list(gpu, nullptr, &below, nullptr);
  std::vector<VkExtensionProperties> all(below);
  list(gpu, nullptr, &below, all.data());
  for (const catalogue::HiddenExtension& extension : catalogue::hidden_extensions()) {
    VkExtensionProperties& added = all.emplace_back();
    extension.name.copy(added.extensionName, sizeof added.extensionName - 1);
    added.specVersion = 1;
  }
  return vk::write_array<VkExtensionProperties>(all, count, properties);
}

VKAPI_ATTR void VKAPI_CALL get_features(VkPhysicalDevice gpu, VkPhysicalDeviceFeatures2* features) {
  instance_of(gpu).next.GetPhysicalDeviceFeatures2(gpu, features);
  for (const catalogue::HiddenExtension& extension : catalogue::hidden_extensions()) {
    for (const catalogue::HiddenFeatures& known : extension.features) {
      auto* found = vk::find_in_out_chain<Features>(
          features->pNext, static_cast<VkStructureType>(known.structure_type));
      if (known.count != 0 && found) std::fill_n(found->members, known.count, VK_TRUE);
    }
  }
}

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice gpu, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* allocator,
                                             VkDevice* handle) {
  auto device = std::make_unique<Device>();
  device->next_device = vk::take_next_device(*info);
  device->enabled = vk::enabled_hidden_extensions(*info);
  VkDeviceCreateInfo below = *info;
  vk::ChainCopy chain(info->pNext);
  for (const catalogue::HiddenExtension& extension : catalogue::hidden_extensions()) {
    for (const catalogue::HiddenFeatures& known : extension.features) {
      if (known.count != 0) chain.remove(static_cast<VkStructureType>(known.structure_type));
    }
  }
  below.pNext = chain.head();
  std::vector<const char*> extensions(info->ppEnabledExtensionNames,
                                      info->ppEnabledExtensionNames + info->enabledExtensionCount);
  std::erase_if(extensions,
                [](const char* name) { return catalogue::find_hidden_extension(name) != nullptr; });
  below.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  below.ppEnabledExtensionNames = extensions.data();
  const auto create = reinterpret_cast<PFN_vkCreateDevice>(
      device->next_device.get_instance_proc_addr(instance_of(gpu).handle, "vkCreateDevice"));
  const VkResult result = create(gpu, &below, allocator, handle);
  if (result != VK_SUCCESS) return result;
  device->next.load(
      [&](const char* name) { return device->next_device.get_device_proc_addr(*handle, name); });
  devices().insert(vk::dispatch_key(*handle), device.release());
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice handle, const VkAllocationCallbacks* allocator) {
  const std::unique_ptr<Device> device(devices().take(vk::dispatch_key(handle)));
  device->next.DestroyDevice(handle, allocator);
}

// For the commands that do nothing. The callers of those without a result ignore it.
VKAPI_ATTR VkResult VKAPI_CALL nothing() { return VK_SUCCESS; }

PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice device, const char* name);
PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance instance, const char* name);

const vk::HookTable& hooks() {
  static const auto* all = [] {
    Hooks rows{
        vk::hook("vkCreateDevice", create_device),
        vk::hook("vkCreateInstance", create_instance),
        vk::hook("vkDestroyDevice", destroy_device),
        vk::hook("vkDestroyInstance", destroy_instance),
        vk::hook("vkEnumerateDeviceExtensionProperties", list_extensions),
        vk::hook("vkGetDeviceProcAddr", get_device_proc_addr),
        vk::hook("vkGetInstanceProcAddr", get_instance_proc_addr),
        vk::hook("vkGetPhysicalDeviceFeatures2", get_features),
        vk::hook("vkGetPhysicalDeviceFeatures2KHR", get_features),
    };
    add_command_hooks(rows);
    add_pipeline_hooks(rows);
    return new vk::HookTable(std::move(rows));
  }();
  return *all;
}

PFN_vkVoidFunction find(const char* name) {
  if (const vk::Hook* hook = hooks().find(name)) return hook->function;
  return catalogue::is_hidden_command(name) ? reinterpret_cast<PFN_vkVoidFunction>(nothing)
                                            : nullptr;
}

PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice handle, const char* name) {
  const Device& device = device_of(handle);
  if (catalogue::is_hidden_command(name) && !catalogue::has_command(device.enabled, name)) {
    return nullptr;
  }
  const PFN_vkVoidFunction found = find(name);
  return found ? found : device.next_device.get_device_proc_addr(handle, name);
}

PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance handle, const char* name) {
  if (const PFN_vkVoidFunction found = find(name)) return found;
  return handle ? instance_of(handle).next_instance.get_instance_proc_addr(handle, name) : nullptr;
}

}  // namespace
}  // namespace tally::test::uncounted

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* interface) {
  using namespace tally::test::uncounted;
  return tally::vk::negotiate(interface, get_instance_proc_addr, get_device_proc_addr, nullptr);
}
