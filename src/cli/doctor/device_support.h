// The capabilities of a device natively and with Tally's layer, derived from two probes: one
// without the layer, one with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/doctor/probe.h"

namespace tally::cli {

// An interface that offers counters.
struct CountingInterface {
  std::string name;     // the extension, or the feature
  std::string purpose;  // a few words
  bool native = false;
  bool with_tally = false;
};

struct DeviceSupport {
  const ProbedDevice* native = nullptr;
  // Null if the layer was not found or the device disappeared.
  const ProbedDevice* with_tally = nullptr;
  std::vector<CountingInterface> interfaces;
  // The features that instrumentation needs and the device lacks, by their Vulkan names.
  std::vector<std::string> missing;
  std::vector<std::string> limitations;  // missing optional features, and their effect
  // The extensions of the driver that Tally hides while it counts.
  std::vector<std::string> hidden;
  bool can_capture() const;  // shader counts are available, native or emulated
};

// One element for each device of `native`, matched by UUID and name.
std::vector<DeviceSupport> compare_devices(const VulkanProbe& native,
                                           const VulkanProbe& with_tally);

// The environment without Tally's layers, and the same with its counters layer.
Environment without_tally_layers(Environment environment);
Environment with_counters_layer(const Environment& environment,
                                const std::vector<std::filesystem::path>& folders);

// The query types of Vulkan's chapter on queries and their support on a device, derived from what
// the device reports without and with Tally's layer.

struct QuerySupport {
  enum class How { Native, Emulated, No };
  std::string id;    // for scripts
  std::string type;  // for display
  How how = How::No;
  std::string detail;  // how it is emulated, or why it is not available
};

// In the order of the chapter.
std::vector<QuerySupport> query_support(const DeviceSupport& device);

std::string_view name_of(QuerySupport::How how);

}  // namespace tally::cli
