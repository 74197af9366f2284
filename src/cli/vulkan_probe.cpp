#include "cli/vulkan_probe.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/probe_process.h"

namespace tally::cli {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProbedLayer, name, version, implementation)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProbedDevice, name, type, uuid, api_version, driver, extensions,
                                   features, limits, metrics)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(VulkanProbe, loader_error, loader_version, loader_path, layers,
                                   instance_error, devices, died)

bool feature(const ProbedDevice& device, const std::string& name) {
  const auto found = device.features.find(name);
  return found != device.features.end() && found->second;
}

uint64_t limit(const ProbedDevice& device, const std::string& name) {
  const auto found = device.limits.find(name);
  return found == device.limits.end() ? 0 : found->second;
}

const ProbedLayer* VulkanProbe::layer(const std::string& name) const {
  for (const ProbedLayer& candidate : layers) {
    if (candidate.name == name) return &candidate;
  }
  return nullptr;
}

std::string to_json(const VulkanProbe& probe) {
  return nlohmann::json(probe).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<VulkanProbe> probe_from_json(const std::string& text) {
  // The JSON library reports an unexpected structure by an exception, which ends here.
  try {
    return nlohmann::json::parse(text).get<VulkanProbe>();
  } catch (const nlohmann::json::exception& error) {
    return Error{fmt::format("its answer cannot be read: {}", error.what())};
  }
}

VulkanProbe probe_vulkan(const Environment& environment) {
  VulkanProbe failed;
  const auto answer = run_probe_process("probe-vulkan", environment);
  if (answer) {
    auto probe = probe_from_json(*answer);
    if (probe) return std::move(*probe);
    failed.died = probe.error().message;
  } else {
    failed.died = answer.error().message;
  }
  return failed;
}

void add_vulkan_probe(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("probe-vulkan", "Internal: the Vulkan probe of list and doctor");
  command->group("");  // not shown in --help
  command->callback(
      [&chosen] { chosen = [] { return print("\n" + to_json(probe_vulkan_here()) + "\n"); }; });
}

}  // namespace tally::cli
