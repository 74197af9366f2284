// `tally list`: lists the devices and what can be counted on each, natively and with Tally, and the
// counters of EGL.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/doctor/device_support.h"
#include "cli/doctor/probe.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/run/egl_injection.h"
#include "cli/run/environment.h"
#include "platform/program.h"
#include "report/table/display_text.h"

namespace tally::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ListOptions {
  std::string format = "text";
  bool metrics = false;
  bool queries = false;
};

analysis::Column text_column(const char* id, const char* title, analysis::ColumnRole role) {
  return {.id = id, .title = title, .role = role};
}

std::string with_tally_text(const DeviceSupport& support, const CountingInterface& interface) {
  if (interface.native) return "native";
  if (!interface.with_tally) return "no";
  const bool metrics =
      interface.name == "VK_ARM_shader_instrumentation" && support.with_tally != nullptr;
  return metrics ? fmt::format("added, {} metrics", support.with_tally->metrics.size()) : "added";
}

analysis::Table interface_table(const DeviceSupport& support, size_t number) {
  const ProbedDevice& device = *support.native;
  analysis::Table table;
  table.title = fmt::format("{}  {} ({}; {}; Vulkan {})", number, device.name, device.type,
                            device.driver, device.api_version);
  table.columns = {text_column("interface", "interface", analysis::ColumnRole::Key),
                   text_column("driver", "driver", analysis::ColumnRole::Key),
                   text_column("with_tally", "with Tally", analysis::ColumnRole::Key),
                   text_column("purpose", "provides", analysis::ColumnRole::Text)};
  for (const CountingInterface& interface : support.interfaces) {
    table.rows.push_back({interface.name, interface.native ? std::string("yes") : std::string("no"),
                          with_tally_text(support, interface), interface.purpose});
  }
  table.total_rows = table.rows.size();
  for (const std::string& missing : support.missing) {
    if (!support.can_capture())
      table.notes.push_back("Tally cannot count on this device, because it lacks " + missing);
  }
  if (support.can_capture()) {
    for (const std::string& note : support.limitations) table.notes.push_back(note);
  }
  return table;
}

analysis::Table metric_table(const ProbedDevice& device) {
  analysis::Table table;
  table.title = fmt::format("Metrics of {}", device.name);
  table.columns = {text_column("metric", "metric", analysis::ColumnRole::Key),
                   text_column("description", "description", analysis::ColumnRole::Text)};
  for (const auto& [name, description] : device.metrics) table.rows.push_back({name, description});
  table.total_rows = table.rows.size();
  return table;
}

analysis::Table query_table(const DeviceSupport& support) {
  analysis::Table table;
  table.title = fmt::format("Queries of {}", support.native->name);
  table.columns = {text_column("query", "query type", analysis::ColumnRole::Key),
                   text_column("support", "with Tally", analysis::ColumnRole::Key),
                   text_column("detail", "how, or why not", analysis::ColumnRole::Text)};
  for (const QuerySupport& query : query_support(support))
    table.rows.push_back({query.type, std::string(name_of(query.how)), query.detail});
  table.total_rows = table.rows.size();
  return table;
}

analysis::Table egl_table(const EglProbe& probe) {
  analysis::Table table;
  table.title = fmt::format("EGL  {} {}: EGL_BRCM_performance_counters with Tally", probe.vendor,
                            probe.version);
  table.columns = {text_column("group", "group", analysis::ColumnRole::Key),
                   {.id = "counters", .title = "counters", .unit = analysis::Unit::Count}};
  for (const ProbedGroup& group : probe.groups) {
    table.rows.push_back({group.name, uint64_t{group.counters.size()}});
  }
  table.total_rows = table.rows.size();
  return table;
}

analysis::Table egl_counter_table(const EglProbe& probe) {
  analysis::Table table;
  table.title = "EGL counters";
  table.columns = {text_column("group", "group", analysis::ColumnRole::Key),
                   text_column("counter", "counter", analysis::ColumnRole::Key),
                   text_column("unit", "unit", analysis::ColumnRole::Key)};
  for (const ProbedGroup& group : probe.groups) {
    for (const ProbedCounter& counter : group.counters)
      table.rows.push_back({group.name, counter.name, counter.unit});
  }
  table.total_rows = table.rows.size();
  return table;
}

std::string egl_text(const EglProbe& probe, bool metrics) {
  if (const std::string nothing = probe.why_unavailable(); !nothing.empty()) return nothing + "\n";
  std::string out = report::text_table(egl_table(probe), {});
  if (metrics) out += "\n" + report::text_table(egl_counter_table(probe), {});
  return out;
}

Json egl_json(const EglProbe& probe) {
  Json groups = Json::array();
  for (const ProbedGroup& group : probe.groups) {
    Json counters = Json::array();
    for (const ProbedCounter& counter : group.counters) {
      counters.push_back(
          {{"name", counter.name}, {"unit", counter.unit}, {"denominator", counter.denominator}});
    }
    groups.push_back(
        {{"name", group.name}, {"max_active", group.max_active}, {"counters", counters}});
  }
  return {{"vendor", probe.vendor},
          {"version", probe.version},
          {"missing", probe.why_unavailable()},
          {"groups", groups}};
}

Json device_json(const DeviceSupport& support) {
  const ProbedDevice& device = *support.native;
  Json interfaces = Json::array();
  for (const CountingInterface& interface : support.interfaces) {
    interfaces.push_back({{"name", interface.name},
                          {"purpose", interface.purpose},
                          {"native", interface.native},
                          {"with_tally", interface.with_tally}});
  }
  Json metrics = Json::array();
  if (support.with_tally != nullptr) {
    for (const auto& [name, description] : support.with_tally->metrics) {
      metrics.push_back({{"name", name}, {"description", description}});
    }
  }
  Json queries = Json::array();
  for (const QuerySupport& query : query_support(support)) {
    queries.push_back({{"id", query.id},
                       {"type", query.type},
                       {"support", name_of(query.how)},
                       {"detail", query.detail}});
  }
  return {{"name", device.name},
          {"type", device.type},
          {"uuid", device.uuid},
          {"api_version", device.api_version},
          {"driver", device.driver},
          {"interfaces", interfaces},
          {"can_capture", support.can_capture()},
          {"missing", support.missing},
          {"notes", support.limitations},
          {"metrics", metrics},
          {"queries", queries}};
}

// Why there is nothing to list; empty if there is.
std::string why_unavailable(const VulkanProbe& probe) {
  if (!probe.died.empty()) return "the Vulkan probe " + probe.died;
  if (!probe.loader_error.empty()) return "there is no Vulkan loader: " + probe.loader_error;
  if (!probe.instance_error.empty())
    return "cannot create a Vulkan instance: " + probe.instance_error;
  return probe.devices.empty() ? "Vulkan has no device" : "";
}

std::string as_text(const std::vector<DeviceSupport>& devices, const ListOptions& options) {
  std::string out;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (!out.empty()) out += "\n";
    out += report::text_table(interface_table(devices[i], i), {});
    if (options.queries) out += "\n" + report::text_table(query_table(devices[i]), {.width = 200});
    if (options.metrics && devices[i].with_tally != nullptr) {
      out += "\n" + report::text_table(metric_table(*devices[i].with_tally), {.width = 200});
    }
  }
  if (!out.empty()) out += "\n";
  return out;
}

std::string as_json(const std::vector<DeviceSupport>& devices, const VulkanProbe& probe,
                    const EglProbe& egl) {
  Json json = {{"format", "tally-list"}, {"version", 1}, {"loader_version", probe.loader_version}};
  json["devices"] = Json::array();
  for (const DeviceSupport& support : devices) json["devices"].push_back(device_json(support));
  json["egl"] = egl_json(egl);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int run(const ListOptions& options) {
  const Environment environment = current_environment();
  const VulkanProbe native = probe_vulkan(without_tally_layers(environment));
  VulkanProbe with_tally;
  const auto layers = find_layers(own_executable());
  if (layers.ok()) {
    const platform::LayerFolders named_folders(layers->all_folders());
    if (!named_folders.problem().empty()) say(named_folders.problem());
    with_tally = probe_vulkan(with_counters_layer(environment, layers->folders));
  } else {
    say(layers.error().message);
  }
  if (!with_tally.died.empty()) say("with Tally's layer, the Vulkan probe " + with_tally.died);
  const auto devices = compare_devices(native, with_tally);
  const std::string nothing = why_unavailable(native);
  if (!nothing.empty()) say(nothing + "; tally doctor says more");
  const auto folder = TemporaryFolder::make();
  const EglFiles egl_files =
      find_egl_files(own_executable(), folder ? folder->path() : std::filesystem::path());
  const EglProbe egl = probe_egl(with_tally_egl(environment, egl_files));
  const std::string text = options.format == "json"
                               ? as_json(devices, native, egl)
                               : as_text(devices, options) + egl_text(egl, options.metrics);
  const int printed = print(text);
  return printed != kDone ? printed : nothing.empty() ? kDone : kNo;
}

}  // namespace

void add_list(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* command = app.add_subcommand("list", "List devices and what can be counted on each");
  command->add_flag("--metrics", options->metrics,
                    "Also list the metrics of shader instrumentation and the counters of EGL");
  command->add_flag("--queries", options->queries,
                    "List the query types of Vulkan: native, emulated, or not possible");
  command->add_option("--format", options->format, "text or json")
      ->check(one_of({"text", "json"}))
      ->type_name("FORMAT");
  command->footer("");
  command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace tally::cli
