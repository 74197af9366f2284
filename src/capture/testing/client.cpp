// A Vulkan program for the tests of the capture layer: `capture_client SCENARIO [HOW]`. It knows
// nothing of Tally.
#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/live_counters.h"
#include "capture/testing/ending_scenarios.h"
#include "capture/testing/extension_scenarios.h"
#include "capture/testing/frame_end_scenarios.h"
#include "capture/testing/frame_scenarios.h"
#include "capture/testing/kept_scenarios.h"
#include "capture/testing/recording_scenarios.h"
#include "capture/testing/region_scenarios.h"
#include "support/environment.h"

namespace {

using namespace tally::test;

const TallyLiveCounters* find_live_counters() {
  const auto look = [](dl_phdr_info* info, size_t, void* found) {
    if (!std::string_view(info->dlpi_name).ends_with(tally::kLiveCountersLibrary)) return 0;
    *static_cast<void**>(found) = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    return 1;
  };
  void* library = nullptr;
  dl_iterate_phdr(look, &library);
  const auto get =
      reinterpret_cast<TallyGetLiveCounters*>(dlsym(library, tally::kLiveCountersSymbol));
  return get(tally::kLiveCountersVersion);
}

// Once nothing is left of Vulkan.
void print_live_counters() {
  const TallyLiveCounters& live = *find_live_counters();
  std::vector<uint64_t> values(live.count());
  live.read(values.data(), live.count());
  for (uint32_t i = 0; i < values.size(); ++i) {
    TallyLiveCounter counter;
    live.describe(i, &counter);
    std::fprintf(stderr, "%s=%llu\n", counter.name, static_cast<unsigned long long>(values[i]));
  }
}

}  // namespace

// TEST_LIVE_COUNTERS prints the layer's live counters at the end; "wanted": wants them.
int main(int argc, char** argv) {
  const std::string scenario = argc > 1 ? argv[1] : "";
  const std::string how = argc > 2 ? argv[2] : "";
  set_default_environment();
  if (scenario == "forked") return forked();
  Scenarios scenarios = recording_scenarios();
  for (const Scenarios& more : {extension_scenarios(), ending_scenarios(how), frame_end_scenarios(),
                                frame_scenarios(), kept_scenarios(), region_scenarios()})
    scenarios.insert(more.begin(), more.end());
  const auto found = scenarios.find(scenario);
  if (found == scenarios.end()) return 2;
  const char* const live = std::getenv("TEST_LIVE_COUNTERS");
  bool failed = false;
  static bool said = false;
  set_error_report([](const Message& message) {
    said = true;
    std::fprintf(stderr, "%s: %s\n", message.id.c_str(), message.text.c_str());
  });
  {
    Context context;
    if (live && std::string_view(live) == "wanted") find_live_counters()->request(1);
    found->second(context);
    for (const Message& message : context.take_errors()) {
      std::fprintf(stderr, "%s: %s\n", message.id.c_str(), message.text.c_str());
      failed = true;
    }
  }
  if (live) print_live_counters();
  return failed || said ? 9 : 0;
}
