// What Vulkan and EGL offer in an environment: the loader, the layers, the devices with the
// properties that Tally uses, and what EGL_BRCM_performance_counters offers. Separate processes
// (`tally probe-vulkan` and `tally probe-egl`, internal) query it, so that a driver or layer that
// crashes ends only that process.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cli/run/environment.h"

namespace tally::cli {

// Queries a driver in a separate process, so that a driver that crashes ends only that process.
// Returns the last line that `tally COMMAND` writes in this environment. The error describes how
// the process failed; it follows the words "the X probe".
Result<std::string> run_probe_process(const std::string& command, const Environment& environment);

struct ProbedLayer {
  std::string name;
  std::string version;  // of the specification that it was written for
  uint32_t implementation = 0;
};

struct ProbedDevice {
  std::string name;
  std::string type;  // "cpu", "discrete", "integrated", "virtual", "other"
  std::string uuid;
  std::string api_version;
  std::string driver;
  std::set<std::string> extensions;
  std::map<std::string, bool> features;    // by Vulkan name
  std::map<std::string, uint64_t> limits;  // by Vulkan name
  std::vector<std::pair<std::string, std::string>>
      metrics;  // of VK_ARM_shader_instrumentation: name, description
};

// Return false and 0 for a name that was not queried.
bool feature(const ProbedDevice& device, const std::string& name);
uint64_t limit(const ProbedDevice& device, const std::string& name);

struct VulkanProbe {
  std::string loader_error;    // why there is no loader; "" if there is one
  std::string loader_version;  // the Vulkan version that the loader supports
  std::string loader_path;     // the file that was loaded
  std::vector<ProbedLayer> layers;
  std::string instance_error;  // why no instance could be created; "" if one was
  std::vector<ProbedDevice> devices;
  std::string died;  // how the probe process failed; "" if it answered

  const ProbedLayer* layer(const std::string& name) const;
};

// Queries Vulkan in a separate process with this environment.
VulkanProbe probe_vulkan(const Environment& environment);

// Queries Vulkan in this process.
VulkanProbe probe_vulkan_here();

std::string to_json(const VulkanProbe& probe);
Result<VulkanProbe> probe_from_json(const std::string& text);

struct ProbedCounter {
  std::string name;
  std::string unit;
  uint64_t denominator = 1;
};

struct ProbedGroup {
  std::string name;
  int max_active = 0;
  std::vector<ProbedCounter> counters;
};

struct EglProbe {
  std::string library_error;  // why EGL is missing; "" if it is available
  std::string display_error;  // why there is no display; "" if there is one
  std::string version;        // EGL_VERSION and EGL_VENDOR of the display
  std::string vendor;
  bool has_extension = false;
  std::vector<ProbedGroup> groups;
  std::string died;  // how the probe process failed; "" if it answered

  size_t counter_count() const;
  // Why there is nothing to count; "" if there is.
  std::string why_unavailable() const;
};

EglProbe probe_egl(const Environment& environment);

// Queries EGL in this process.
EglProbe probe_egl_here();

}  // namespace tally::cli
