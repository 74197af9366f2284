// What Vulkan offers in an environment: loader, layers, devices with what matters to Tally. It is
// asked by a process of its own (`tally probe-vulkan`, internal), so that a broken driver or layer
// takes only that one with it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cli/environment.h"

namespace tally::cli {

struct ProbedLayer {
  std::string name;
  std::string version;  // of the specification it was written for
  uint32_t implementation = 0;
};

struct ProbedDevice {
  std::string name;
  std::string type;  // "cpu", "discrete", "integrated", "virtual", "other"
  std::string uuid;
  std::string api_version;
  std::string driver;
  std::set<std::string> extensions;
  std::map<std::string, bool> features;    // by the name that Vulkan gives them
  std::map<std::string, uint64_t> limits;  // likewise
  std::vector<std::pair<std::string, std::string>>
      metrics;  // of VK_ARM_shader_instrumentation: name, description
};

// False and 0 for a name that was not asked for.
bool feature(const ProbedDevice& device, const std::string& name);
uint64_t limit(const ProbedDevice& device, const std::string& name);

struct VulkanProbe {
  std::string loader_error;    // why there is no loader, "" = there is one
  std::string loader_version;  // the Vulkan version that it knows
  std::string loader_path;     // the file that was loaded
  std::vector<ProbedLayer> layers;
  std::string instance_error;  // why no instance could be made, "" = one was made
  std::vector<ProbedDevice> devices;
  std::string died;  // how the asking process ended before it could answer, "" = it answered

  const ProbedLayer* layer(const std::string& name) const;
};

// Asks in a process with this environment.
VulkanProbe probe_vulkan(const Environment& environment);

// Asks in this process.
VulkanProbe probe_vulkan_here();

std::string to_json(const VulkanProbe& probe);
Result<VulkanProbe> probe_from_json(const std::string& text);

}  // namespace tally::cli
