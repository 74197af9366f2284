#include "vk/layer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "api/newest_driver/newest_driver.h"
#include "vk/chain.h"

namespace tally::test::newest {

vk::HandleMap<void*, Instance*>& instances() {
  static auto* all = new vk::HandleMap<void*, Instance*>;
  return *all;
}
vk::HandleMap<void*, Device*>& devices() {
  static auto* all = new vk::HandleMap<void*, Device*>;
  return *all;
}

Place Device::find(VkDeviceAddress address) {
  if (address == 0) return {};
  const std::lock_guard lock(mutex);
  const auto after = addresses.upper_bound(address);
  if (after != addresses.begin()) {
    const auto& [first, buffer] = *std::prev(after);
    if (address - first < sizes[buffer]) return {buffer, address - first};
  }
  std::fprintf(stderr, "test driver: an address of no buffer\n");
  std::abort();
}

namespace {

constexpr VkStructureType kAddressFeatures =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DEVICE_ADDRESS_COMMANDS_FEATURES_KHR;
constexpr VkStructureType kRestartFeatures =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIMITIVE_RESTART_INDEX_FEATURES_EXT;

constexpr VkStructureType kHeapFeatures =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_HEAP_FEATURES_EXT;
constexpr VkStructureType kHeapProperties =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_HEAP_PROPERTIES_EXT;

// For structs with one feature each.
constexpr VkStructureType kOneFeature[] = {
    kAddressFeatures,
    kRestartFeatures,
    kHeapFeatures,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CUSTOM_RESOLVE_FEATURES_EXT,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_64_BIT_INDEXING_FEATURES_EXT,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_INTERNALLY_SYNCHRONIZED_QUEUES_FEATURES_KHR,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ELAPSED_TIMER_QUERY_FEATURES_QCOM};

const VkExtensionProperties kExtensions[] = {
    {VK_EXT_DESCRIPTOR_HEAP_EXTENSION_NAME, VK_EXT_DESCRIPTOR_HEAP_SPEC_VERSION},
    {VK_KHR_DEVICE_ADDRESS_COMMANDS_EXTENSION_NAME, VK_KHR_DEVICE_ADDRESS_COMMANDS_SPEC_VERSION},
    {VK_EXT_PRIMITIVE_RESTART_INDEX_EXTENSION_NAME, VK_EXT_PRIMITIVE_RESTART_INDEX_SPEC_VERSION},
    {VK_EXT_CUSTOM_RESOLVE_EXTENSION_NAME, 1},
    {VK_EXT_SHADER_64BIT_INDEXING_EXTENSION_NAME, 1},
    {VK_KHR_INTERNALLY_SYNCHRONIZED_QUEUES_EXTENSION_NAME, 1},
    {"VK_KHR_maintenance10", 1},
    {"VK_EXT_opacity_micromap", 1},
    {"VK_KHR_video_encode_queue", 1},
    {"VK_QCOM_elapsed_timer_query", 1}};

bool is_ours(const char* extension) {
  return std::ranges::any_of(kExtensions, [&](const VkExtensionProperties& ours) {
    return std::strcmp(ours.extensionName, extension) == 0;
  });
}

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
  all.insert(all.end(), std::begin(kExtensions), std::end(kExtensions));
  return vk::write_array<VkExtensionProperties>(all, count, properties);
}

VKAPI_ATTR void VKAPI_CALL get_features(VkPhysicalDevice gpu, VkPhysicalDeviceFeatures2* features) {
  instance_of(gpu).next.GetPhysicalDeviceFeatures2(gpu, features);
  for (const VkStructureType type : kOneFeature) {
    auto* found =
        vk::find_in_out_chain<VkPhysicalDeviceDescriptorHeapFeaturesEXT>(features->pNext, type);
    if (found) found->descriptorHeap = VK_TRUE;
  }
}

uint32_t push_bytes(VkPhysicalDevice gpu) {
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  instance_of(gpu).next.GetPhysicalDeviceProperties2(gpu, &properties);
  return properties.properties.limits.maxPushConstantsSize;
}

VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice gpu,
                                          VkPhysicalDeviceProperties2* properties) {
  {
    const vk::UnlinkedStructs unlinked(properties, {kHeapProperties});
    instance_of(gpu).next.GetPhysicalDeviceProperties2(gpu, properties);
  }
  auto* heaps = vk::find_in_out_chain<VkPhysicalDeviceDescriptorHeapPropertiesEXT>(
      static_cast<VkBaseOutStructure*>(properties->pNext), kHeapProperties);
  if (!heaps) return;
  constexpr VkDeviceSize kSize = 64;
  *heaps = {.sType = kHeapProperties,
            .pNext = heaps->pNext,
            .samplerHeapAlignment = kSize,
            .resourceHeapAlignment = kSize,
            .maxSamplerHeapSize = 1 << 20,
            .maxResourceHeapSize = 1 << 20,
            .samplerDescriptorSize = kSize,
            .imageDescriptorSize = kSize,
            .bufferDescriptorSize = kSize,
            .samplerDescriptorAlignment = kSize,
            .imageDescriptorAlignment = kSize,
            .bufferDescriptorAlignment = kSize,
            .maxPushDataSize = push_bytes(gpu)};
}

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice gpu, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* allocator,
                                             VkDevice* handle) {
  auto device = std::make_unique<Device>();
  device->next_device = vk::take_next_device(*info);
  VkDeviceCreateInfo below = *info;
  vk::ChainCopy chain(info->pNext);
  const bool heaps = chain.find<VkBaseOutStructure>(kHeapFeatures) != nullptr;
  for (const VkStructureType type : kOneFeature) chain.remove(type);
  below.pNext = chain.head();
  std::vector<VkDeviceQueueCreateInfo> queues(info->pQueueCreateInfos,
                                              info->pQueueCreateInfos + info->queueCreateInfoCount);
  for (VkDeviceQueueCreateInfo& queue : queues) {
    queue.flags &=
        ~VkDeviceQueueCreateFlags{VK_DEVICE_QUEUE_CREATE_INTERNALLY_SYNCHRONIZED_BIT_KHR};
  }
  below.pQueueCreateInfos = queues.data();
  std::vector<const char*> extensions(info->ppEnabledExtensionNames,
                                      info->ppEnabledExtensionNames + info->enabledExtensionCount);
  std::erase_if(extensions, is_ours);
  below.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  below.ppEnabledExtensionNames = extensions.data();
  const auto create = reinterpret_cast<PFN_vkCreateDevice>(
      device->next_device.get_instance_proc_addr(instance_of(gpu).handle, "vkCreateDevice"));
  const VkResult result = create(gpu, &below, allocator, handle);
  if (result != VK_SUCCESS) return result;
  device->next.load(
      [&](const char* name) { return device->next_device.get_device_proc_addr(*handle, name); });
  if (heaps) prepare_heaps(*handle, *device, *info, push_bytes(gpu));
  devices().insert(vk::dispatch_key(*handle), device.release());
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice handle, const VkAllocationCallbacks* allocator) {
  const std::unique_ptr<Device> device(devices().take(vk::dispatch_key(handle)));
  if (device->heap_layout != VK_NULL_HANDLE) {
    device->next.DestroyPipelineLayout(handle, device->heap_layout, nullptr);
  }
  device->next.DestroyDevice(handle, allocator);
}

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
        vk::hook("vkGetPhysicalDeviceProperties2", get_properties),
        vk::hook("vkGetPhysicalDeviceProperties2KHR", get_properties),
    };
    add_command_hooks(rows);
    add_query_hooks(rows);
    add_heap_hooks(rows);
    add_queue_hooks(rows);
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

}  // namespace
}  // namespace tally::test::newest

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* interface) {
  using namespace tally::test::newest;
  return tally::vk::negotiate(interface, get_instance_proc_addr, get_device_proc_addr, nullptr);
}
