// What a device offers by itself and with Tally's layer, told from two probes: one without the
// layer, one with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/vulkan_probe.h"

namespace tally::cli {

// One way to count.
struct CountingInterface {
  std::string name;     // the extension, or the feature
  std::string purpose;  // a few words
  bool native = false;
  bool with_tally = false;
};

struct DeviceSupport {
  const ProbedDevice* native = nullptr;
  const ProbedDevice* with_tally =
      nullptr;  // null: the layer was not there, or the device vanished
  std::vector<CountingInterface> interfaces;
  std::vector<std::string>
      missing;  // what instrumentation needs and the device lacks, in Vulkan's words
  std::vector<std::string> limitations;  // what it can do without, and what that costs
  bool can_capture() const;              // shader counts can be had, from whomever
};

// One for each device of `native`, matched by UUID and name.
std::vector<DeviceSupport> compare_devices(const VulkanProbe& native,
                                           const VulkanProbe& with_tally);

// The environment without and with Tally's counters layer.
Environment without_tally_layers(Environment environment);
Environment with_counters_layer(const Environment& environment,
                                const std::vector<std::filesystem::path>& folders);

}  // namespace tally::cli
