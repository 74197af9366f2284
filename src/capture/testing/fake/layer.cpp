// Instances, devices, and where their commands are found.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "capture/testing/fake/fake.h"
#include "vk/chain.h"

namespace tally::fake {

State& state() {
  static State state;
  return state;
}

InstanceTable& instance_table(const void* handle) {
  return state().instance_tables.at(vk::dispatch_key(handle));
}
DeviceTable& device_table(const void* handle) {
  return state().devices.at(vk::dispatch_key(handle));
}

void broken(const char* rule) {
  const char* path = std::getenv("FAKE_INSTRUMENTATION_REPORT");
  FILE* file = path ? std::fopen(path, "a") : nullptr;
  std::fprintf(file ? file : stderr, "%s\n", rule);
  if (file) std::fclose(file);
}

namespace {

VKAPI_ATTR VkResult VKAPI_CALL CreateDevice(VkPhysicalDevice d, const VkDeviceCreateInfo* info,
                                            const VkAllocationCallbacks* a, VkDevice* device) {
  const vk::NextDevice next = vk::take_next_device(*info);
  vk::ChainCopy chain(info->pNext);
  const bool enabled =
      chain.remove(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM);
  std::vector<const char*> extensions;
  bool named = false;
  for (uint32_t i = 0; i < info->enabledExtensionCount; ++i) {
    const char* name = info->ppEnabledExtensionNames[i];
    const bool ours = std::strcmp(name, VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME) == 0;
    named |= ours;
    if (std::strcmp(name, VK_EXT_FRAME_BOUNDARY_EXTENSION_NAME) == 0) {
      if (!has_boundaries()) broken("an extension is enabled that it lacks");
      continue;
    }
    if (std::strcmp(name, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME) == 0) {
      if (!has_statistics()) broken("statistics are enabled that it lacks");
      continue;
    }
    if (!ours && std::strcmp(name, kUncountable) != 0) extensions.push_back(name);
  }
  chain.remove(kUncountableFeatures);
  chain.remove(kStatisticsFeatures);
  if (chain.remove(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAME_BOUNDARY_FEATURES_EXT) &&
      !has_boundaries()) {
    broken("a feature is enabled that it lacks");
  }
  if (enabled != named) broken("the feature without the extension, or the other way round");
  VkDeviceCreateInfo copy = *info;
  copy.pNext = chain.head();
  copy.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  copy.ppEnabledExtensionNames = extensions.data();
  const auto instance = state().instances.at(vk::dispatch_key(d)).first;
  const auto create =
      reinterpret_cast<PFN_vkCreateDevice>(next.get_instance_proc_addr(instance, "vkCreateDevice"));
  const VkResult result = create(d, &copy, a, device);
  if (result != VK_SUCCESS) return result;
  const std::lock_guard lock(state().mutex);
  state().device_next[vk::dispatch_key(*device)] = next.get_device_proc_addr;
  state().devices[vk::dispatch_key(*device)].load(
      [&](const char* name) { return next.get_device_proc_addr(*device, name); });
  return result;
}

VKAPI_ATTR void VKAPI_CALL CmdSubpassShading(VkCommandBuffer) {}

VKAPI_ATTR void VKAPI_CALL DestroyDevice(VkDevice d, const VkAllocationCallbacks* a) {
  if (!state().objects.empty()) broken("objects outlive the device");
  device_table(d).DestroyDevice(d, a);
}

VKAPI_ATTR VkResult VKAPI_CALL CreateInstance(const VkInstanceCreateInfo* info,
                                              const VkAllocationCallbacks* a,
                                              VkInstance* instance) {
  const vk::NextInstance next = vk::take_next_instance(*info);
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(
      next.get_instance_proc_addr(nullptr, "vkCreateInstance"));
  const VkResult result = create(info, a, instance);
  if (result != VK_SUCCESS) return result;
  const std::lock_guard lock(state().mutex);
  void* const key = vk::dispatch_key(*instance);
  state().instances[key] = {*instance, next};
  state().instance_tables[key].load(
      [&](const char* name) { return next.get_instance_proc_addr(*instance, name); });
  return result;
}

PFN_vkVoidFunction VKAPI_CALL GetDeviceProcAddr(VkDevice d, const char* name) {
  static const vk::HookTable hooks = [] {
    Hooks all = {vk::hook("vkGetDeviceProcAddr", GetDeviceProcAddr),
                 vk::hook("vkCmdSubpassShadingHUAWEI", CmdSubpassShading),
                 vk::hook("vkDestroyDevice", DestroyDevice)};
    add_instrumentation(all);
    add_commands(all);
    add_pipelines(all);
    add_statistics(all);
    add_queue(all);
    return vk::HookTable(std::move(all));
  }();
  if (const vk::Hook* ours = hooks.find(name)) return ours->function;
  return state().device_next.at(vk::dispatch_key(d))(d, name);
}

PFN_vkVoidFunction VKAPI_CALL GetInstanceProcAddr(VkInstance instance, const char* name) {
  static const vk::HookTable hooks = [] {
    Hooks all = {vk::hook("vkGetInstanceProcAddr", GetInstanceProcAddr),
                 vk::hook("vkGetDeviceProcAddr", GetDeviceProcAddr),
                 vk::hook("vkCreateInstance", CreateInstance),
                 vk::hook("vkCreateDevice", CreateDevice)};
    add_physical_device(all);
    return vk::HookTable(std::move(all));
  }();
  if (const vk::Hook* ours = hooks.find(name)) return ours->function;
  if (!instance) return nullptr;
  return state()
      .instances.at(vk::dispatch_key(instance))
      .second.get_instance_proc_addr(instance, name);
}

}  // namespace
}  // namespace tally::fake

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* version) {
  using namespace tally::fake;
  return tally::vk::negotiate(version, GetInstanceProcAddr, GetDeviceProcAddr, nullptr);
}
