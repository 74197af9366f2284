// `tally doctor`: checks that everything that a capture needs is present, and suggests remedies.

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>

#include "base/file.h"
#include "cli/command.h"
#include "cli/doctor/device_support.h"
#include "cli/doctor/findings.h"
#include "cli/files.h"
#include "cli/options.h"
#include "platform/files.h"
#include "platform/program.h"
#include "report/html/page.h"
#include "report/table/display_text.h"

namespace tally::cli {
namespace {

namespace fs = std::filesystem;

PathFact inspect_path(const std::string& path) {
  return {path, access(path.c_str(), F_OK) == 0, access(path.c_str(), R_OK | W_OK) == 0};
}

std::vector<PathFact> device_nodes() {
  std::vector<PathFact> nodes;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/dev/dri", error)) {
    if (entry.path().filename().string().starts_with("renderD"))
      nodes.push_back(inspect_path(entry.path().string()));
  }
  for (const auto& entry : fs::directory_iterator("/dev", error)) {
    const std::string name = entry.path().filename().string();
    const bool card = name.starts_with("nvidia") && name.size() > 6 &&
                      name.find_first_not_of("0123456789", 6) == name.npos;
    if (card || name == "nvidiactl") nodes.push_back(inspect_path(entry.path().string()));
  }
  return nodes;
}

std::vector<std::string> load_errors(const LayerSet& layers) {
  std::vector<std::string> errors;
  for (const LayerFiles& layer : layers.layers) {
    const auto library = platform::Library::open(layer.library.string());
    if (!library) errors.push_back(library.error().message);
  }
  return errors;
}

std::vector<std::string> override_layers(const Environment& environment) {
  std::vector<std::string> found;
  for (const fs::path& folder : loader_folders(environment, "implicit_layer.d")) {
    const fs::path file = folder / "VkLayer_override.json";
    std::error_code error;
    if (fs::exists(file, error)) found.push_back(file.string());
  }
  return found;
}

bool has_tally_keys(const fs::path& file) {
  const auto text = read_small_file(file.string());
  if (!text) return false;
  std::istringstream in(*text);
  for (std::string line; std::getline(in, line);) {
    const size_t start = line.find_first_not_of(" \t");
    if (start != std::string::npos && line.compare(start, 6, "tally_") == 0) return true;
  }
  return false;
}

// The paths at which the layers look for settings (see base/settings.h).
std::vector<std::string> settings_files(const Environment& environment) {
  constexpr const char* kName = "vk_layer_settings.txt";
  std::vector<fs::path> candidates;
  if (const std::string path = value_of(environment, "VK_LAYER_SETTINGS_PATH"); !path.empty()) {
    candidates = {path, fs::path(path) / kName};
  }
  if (const std::string data = value_of(environment, "XDG_DATA_HOME"); !data.empty()) {
    candidates.push_back(fs::path(data) / "vulkan/settings.d" / kName);
  }
  if (const std::string home = value_of(environment, "HOME"); !home.empty()) {
    candidates.push_back(fs::path(home) / ".local/share/vulkan/settings.d" / kName);
  }
  candidates.emplace_back(kName);
  std::vector<std::string> found;
  for (const fs::path& file : candidates) {
    std::error_code error;
    if (fs::is_regular_file(file, error) && has_tally_keys(file)) found.push_back(file.string());
  }
  return found;
}

DoctorFacts gather_facts() {
  DoctorFacts facts;
  facts.environment = current_environment();
  facts.is_linux = platform::loader_reads_folders();
  facts.tally = own_executable();
  facts.has_steam = facts.is_linux &&
                    !platform::find_program("steam", value_of(facts.environment, "PATH")).empty();
  if (auto layers = find_layers(own_executable()); layers.ok()) {
    facts.layer_load_errors = load_errors(*layers);
    facts.layers = std::move(*layers);
  } else {
    facts.layers_error = layers.error().message;
  }
  facts.drivers = driver_manifests(facts.environment);
  facts.native = probe_vulkan(without_tally_layers(facts.environment));
  if (facts.layers) {
    const platform::LayerFolders named_folders(facts.layers->all_folders());
    if (!named_folders.problem().empty())
      facts.layer_load_errors.push_back(named_folders.problem());
    facts.layers_in_registry = named_folders.are_in_registry();
    facts.left_layer_folders = platform::left_layer_folders();
    facts.with_tally = probe_vulkan(with_counters_layer(facts.environment, facts.layers->folders));
  }
  const auto folder = TemporaryFolder::make();
  facts.egl_files = find_egl_files(own_executable(), folder ? folder->path() : fs::path());
  facts.egl_library = detect_egl_library();
  facts.egl = probe_egl(with_tally_egl(facts.environment, facts.egl_files));
  facts.temporary_folder = inspect_path(platform::temporary_folder());
  if (const std::string runtime = value_of(facts.environment, "XDG_RUNTIME_DIR");
      !runtime.empty()) {
    facts.runtime_folder = inspect_path(runtime);
  }
  if (const std::string socket = value_of(facts.environment, "TALLY_CAPTURE_SOCKET");
      facts.is_linux && !socket.empty()) {
    facts.capture_socket = inspect_path(socket);
    for (const char* name : {"VK_ADD_LAYER_PATH", "VK_LAYER_PATH"}) {
      for (const std::string& listed : split_list(value_of(facts.environment, name)))
        facts.layer_folders.push_back(inspect_path(listed));
    }
  }
  facts.device_nodes = device_nodes();
  facts.override_layers = override_layers(facts.environment);
  facts.settings_files = settings_files(facts.environment);
  facts.no_html = report::why_no_html();
  return facts;
}

const char* level_name(Level level) {
  switch (level) {
    case Level::Good:
      return "good";
    case Level::Note:
      return "note";
    case Level::Problem:
      return "problem";
  }
  return "";
}

std::string as_text(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& finding : findings) {
    const char* mark = finding.level == Level::Good   ? "ok     "
                       : finding.level == Level::Note ? "note   "
                                                      : "PROBLEM";
    out += fmt::format("{}  {}: {}\n", mark, report::printable(finding.subject),
                       report::printable(finding.text));
    if (!finding.remedy.empty())
      out += fmt::format("         -> {}\n", report::printable(finding.remedy));
  }
  const auto problems = static_cast<uint64_t>(
      std::count_if(findings.begin(), findings.end(),
                    [](const Finding& finding) { return finding.level == Level::Problem; }));
  out += problems == 0 ? "\nReady: tally run -- APPLICATION\n"
                       : "\n" + report::counted(problems, "problem") + "\n";
  return out;
}

std::string as_json(const std::vector<Finding>& findings) {
  nlohmann::ordered_json json = {
      {"format", "tally-doctor"}, {"version", 1}, {"ready", !has_problem(findings)}};
  json["findings"] = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    json["findings"].push_back({{"level", level_name(finding.level)},
                                {"subject", finding.subject},
                                {"text", finding.text},
                                {"remedy", finding.remedy}});
  }
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

void add_doctor(CLI::App& app, Action& chosen) {
  auto format = std::make_shared<std::string>("text");
  CLI::App* command =
      app.add_subcommand("doctor", "Check the machine: what is missing, and what to install");
  command->add_option("--format", *format, "text or json")
      ->check(one_of({"text", "json"}))
      ->type_name("FORMAT");
  command->footer("");
  command->callback([format, &chosen] {
    chosen = [format] {
      const std::vector<Finding> findings = examine(gather_facts());
      const int printed = print(*format == "json" ? as_json(findings) : as_text(findings));
      return printed != kDone ? printed : has_problem(findings) ? kNo : kDone;
    };
  });
}

}  // namespace tally::cli
