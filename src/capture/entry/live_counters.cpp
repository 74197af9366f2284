#include "capture/entry/live_counters.h"

#include "capture/device.h"
#include "capture/emit/live_totals.h"
#include "vk/boundary.h"

namespace tally::capture {

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

}  // namespace tally::capture
