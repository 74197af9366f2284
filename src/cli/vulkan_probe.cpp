#include "cli/vulkan_probe.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/captured_run.h"
#include "cli/command.h"
#include "cli/layers.h"

namespace tally::cli {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProbedLayer, name, version, implementation)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProbedDevice, name, type, uuid, api_version, driver, extensions,
                                   features, limits, metrics)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(VulkanProbe, loader_error, loader_version, loader_path, layers,
                                   instance_error, devices, died)

namespace {

constexpr std::chrono::seconds kLimit{60};

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  const size_t line = text.find_last_of('\n');
  return line == std::string::npos ? text : text.substr(line + 1);
}

std::string how_it_died(const CapturedRun& run) {
  if (run.timed_out) return fmt::format("gave no answer within {} s", kLimit.count());
  const std::string end = run.end.by_signal ? "ended by " + signal_name(run.end.number)
                                            : fmt::format("ended with status {}", run.end.number);
  const std::string words = last_line(run.standard_error);
  return words.empty() ? end : end + ", saying: " + words;
}

}  // namespace

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
  // The library reports a wrong shape by an exception, which ends here.
  try {
    return nlohmann::json::parse(text).get<VulkanProbe>();
  } catch (const nlohmann::json::exception& error) {
    return Error{fmt::format("its answer cannot be read: {}", error.what())};
  }
}

VulkanProbe probe_vulkan(const Environment& environment) {
  VulkanProbe failed;
  const auto run = run_captured({own_executable().string(), "probe-vulkan"},
                                environment_strings(environment), kLimit);
  if (!run) {
    failed.died = run.error().message;
    return failed;
  }
  // A driver may write to standard output: the answer is the last line.
  auto probe = probe_from_json(last_line(run->standard_output));
  if (probe && !run->timed_out && !run->end.by_signal) return std::move(*probe);
  failed.died = how_it_died(*run);
  return failed;
}

void add_vulkan_probe(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("probe-vulkan", "Internal: what list and doctor ask Vulkan");
  command->group("");  // not shown in --help
  command->callback(
      [&chosen] { chosen = [] { return print("\n" + to_json(probe_vulkan_here()) + "\n"); }; });
}

}  // namespace tally::cli
