// The exported functions: the entry points for the loader, the interface negotiation, and the
// symbol that the EGL library of the same process looks up.
#include "vk/layer.h"

#include "capture/entry/entry.h"
#include "capture/entry/live_counters.h"

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

extern "C" __attribute__((visibility("default"))) const TallyLiveCounters*
tally_capture_live_counters(uint32_t version) {
  return tally::capture::live_counters(version);
}
