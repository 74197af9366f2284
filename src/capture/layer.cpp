// What the loader calls: the negotiation, the only exported function.
#include "vk/layer.h"

#include "capture/entry.h"

namespace tally::capture {

namespace {

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL GetPhysicalDeviceProcAddr(VkInstance handle,
                                                                   const char* name) {
  const std::shared_ptr<Instance> instance = Instance::find(handle);
  const auto next = instance ? instance->next().get_physical_device_proc_addr : nullptr;
  return next ? next(handle, name) : nullptr;
}

}  // namespace
}  // namespace tally::capture

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* version) {
  return tally::vk::negotiate(version, tally::capture::GetInstanceProcAddr,
                              tally::capture::GetDeviceProcAddr,
                              tally::capture::GetPhysicalDeviceProcAddr);
}
