// The functions behind the layer's exported symbol (base/live_counters.h).

#include <cstdint>

#include "base/live_counters.h"
#include "capture/entry/entry.h"
#include "capture/layer/device.h"
#include "capture/submit/live_totals.h"
#include "vk/layer.h"
#include "vk/own_call.h"

namespace tally::capture {

// Returns null for an unknown version.
const TallyLiveCounters* live_counters(uint32_t version);

const TallyLiveCounters* live_counters(uint32_t version) {
  static constexpr TallyLiveCounters kFunctions = {
      [] { return LiveTotals::instance().count(); },
      [](uint32_t counter, TallyLiveCounter* description) {
        bool known = false;
        vk::guarded_void([&] { known = LiveTotals::instance().describe(counter, *description); });
        return known ? 1 : 0;
      },
      [](int enable) { LiveTotals::instance().request(enable != 0); },
      [](uint32_t milliseconds) {
        vk::guarded_void(
            [&] { Device::report_all_completed(std::chrono::milliseconds(milliseconds)); });
      },
      [](uint64_t* values, uint32_t count) {
        LiveTotals::instance().read({values, count});
      },
      [] { return LiveTotals::instance().presents() ? 1 : 0; },
  };
  return version == kLiveCountersVersion ? &kFunctions : nullptr;
}

// The exported functions: the entry points for the loader, the interface negotiation, and the
// symbol that the EGL library of the same process looks up.

namespace {

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL GetPhysicalDeviceProcAddr(VkInstance handle,
                                                                   const char* name) {
  const std::shared_ptr<Instance> instance = Instance::find(handle);
  const auto next = instance ? instance->next().get_physical_device_proc_addr : nullptr;
  return next ? next(handle, name) : nullptr;
}

}  // namespace
}  // namespace tally::capture

extern "C" TALLY_LAYER_ENTRY VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* version) {
  return tally::vk::negotiate(version, tally::capture::GetInstanceProcAddr,
                              tally::capture::GetDeviceProcAddr,
                              tally::capture::GetPhysicalDeviceProcAddr);
}

extern "C" TALLY_LAYER_ENTRY const TallyLiveCounters* tally_capture_live_counters(
    uint32_t version) {
  return tally::capture::live_counters(version);
}
