#include "report/table/json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/table/display_text.h"
#include "report/table/header.h"

namespace tally::report {
namespace {

using Json = nlohmann::ordered_json;
using analysis::Cell;
using analysis::Summary;
using analysis::Table;

std::string json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string cell_text(const Cell& cell) {
  if (const auto* count = std::get_if<uint64_t>(&cell)) return fmt::format_int(*count).str();
  if (const auto* text = std::get_if<std::string>(&cell)) return json_text(*text);
  if (const auto* ratio = std::get_if<double>(&cell)) return json_text(*ratio);
  return "null";
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json columns_json(const Table& table) {
  Json columns = Json::array();
  for (const analysis::Column& column : table.columns) {
    columns.push_back({{"id", column.id},
                       {"title", column.title},
                       {"type", column.is_number() ? "number" : "text"},
                       {"unit", unit_name(column.unit)},
                       {"description", column.description}});
  }
  return columns;
}

// Formats `json` as a member or element at this nesting depth, without its name.
std::string nested(const Json& json, size_t depth) {
  std::string text = json_text(json, 2);
  const std::string indent = "\n" + std::string(2 * depth, ' ');
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += indent.size())
    text.replace(at, 1, indent);
  return text;
}

void write_rows(const Table& table, const Output& out) {
  std::vector<std::string> names;
  for (const analysis::Column& column : table.columns)
    names.push_back((names.empty() ? "{" : ", ") + json_text(column.id) + ": ");
  std::string row;
  for (size_t r = 0; r < table.rows.size(); ++r) {
    row = r == 0 ? "\n        " : ",\n        ";
    for (size_t c = 0; c < names.size(); ++c) row += names[c] + cell_text(table.rows.cell(r, c));
    out(row + "}");
  }
  if (!table.rows.empty()) out("\n      ");
}

// Writes a table in pieces, because it may have a million rows. `members` excludes the rows.
void write_table(const Table& table, const Output& out) {
  const Json members = {{"by", table.id},
                        {"title", table.title},
                        {"sorted_by", table.sorted_by},
                        {"total_rows", table.total_rows},
                        {"columns", columns_json(table)},
                        {"notes", table.notes}};
  out("    {\n");
  for (const auto& [name, value] : members.items())
    out("      " + json_text(name) + ": " + nested(value, 3) + ",\n");
  out("      \"rows\": [");
  write_rows(table, out);
  out("]\n    }");
}

const char* severity_name(store::Severity severity) {
  switch (severity) {
    case store::Severity::Info:
      return "info";
    case store::Severity::Warning:
      return "warning";
    case store::Severity::Error:
      return "error";
  }
  return "";
}

Json devices_json(const Summary& summary) {
  Json devices = Json::array();
  for (const analysis::DeviceSummary& device : summary.devices) {
    devices.push_back({{"name", device.name},
                       {"driver", device.driver},
                       {"api", device.api},
                       {"api_version", device.api_version},
                       {"not_captured", device.not_captured}});
  }
  return devices;
}

Json uncounted_json(const Summary& summary) {
  Json uncounted = Json::array();
  for (const analysis::Uncounted& entry : summary.uncounted) {
    uncounted.push_back(
        {{"shader", entry.what}, {"reason", entry.reason}, {"commands", entry.commands}});
  }
  return uncounted;
}

Json replaced_json(const Summary& summary) {
  Json replaced = Json::array();
  for (const analysis::Replaced& one : summary.replaced)
    replaced.push_back({{"shader", one.shader}, {"file", one.file}, {"refusal", one.refusal}});
  return replaced;
}

Json warm_frames_json(const Summary& summary) {
  Json ranges = Json::array();
  for (const FrameRange& range : summary.warm_frames) ranges.push_back({range.first, range.last});
  return ranges;
}

Json messages_json(const Summary& summary) {
  Json messages = Json::array();
  for (const store::MessageRow& message : summary.messages) {
    messages.push_back({{"severity", severity_name(message.severity)},
                        {"text", message.text},
                        {"count", message.count}});
  }
  return messages;
}

Json capture_json(const Summary& s) {
  return {{"file", s.path},
          {"tool_version", s.tool_version},
          {"command_line", s.command_line},
          {"start_unix_ns", s.start_unix_ns},
          {"duration_ns", or_null(s.duration_ns)},
          {"exit_status", or_null(s.exit_status)},
          {"complete", s.complete()},
          {"frame_range", s.frame_range},
          {"shader_pattern", s.shader_pattern},
          {"replaced", replaced_json(s)},
          {"processes", s.processes},
          {"devices", devices_json(s)},
          {"frames", s.frames},
          {"frames_end_at", s.frames_end_at},
          {"warm_frames", warm_frames_json(s)},
          {"passes", s.passes},
          {"draws", s.draws},
          {"dispatches", s.dispatches},
          {"dispatches_repeated", s.dispatches_repeated},
          {"dispatches_with_estimated_times", s.dispatch_times.estimated},
          {"passes_with_estimated_times", s.pass_times.estimated},
          {"pipelines", s.pipelines},
          {"shaders_counted", s.shaders_counted},
          {"not_counted", uncounted_json(s)},
          {"commands_missing", s.commands_missing},
          {"processes_cut_off", s.processes_cut_off},
          {"missing", missing_lines(s)},
          {"messages", messages_json(s)}};
}

void write_capture(const Summary& summary, const Output& out) {
  out("{\n  \"format\": \"tally-report\",\n");
  out(fmt::format("  \"version\": {},\n", kJsonVersion));
  out("  \"capture\": " + nested(capture_json(summary), 1) + ",\n");
}

Json heatmap_json(const analysis::RegionMap& map, const std::string& file) {
  return {{"file", file},
          {"counter", map.counter.id},
          {"total", map.total},
          {"frame", map.frame},
          {"pass_number", map.pass_number},
          {"pass", map.pass},
          {"subpass", map.regions.subpass},
          {"layer", map.regions.layer},
          {"region_width", map.regions.region_width},
          {"region_height", map.regions.region_height},
          {"columns", map.regions.columns()},
          {"rows", map.regions.rows()}};
}

}  // namespace

std::string capture_json_text(const Summary& summary) { return json_text(capture_json(summary)); }

std::string table_json_text(const Table& table) {
  std::string text;
  write_table(table, [&](std::string_view piece) { text += piece; });
  return text;
}

void write_json(const Summary& summary, const std::vector<Table>& tables, const Output& out) {
  write_capture(summary, out);
  out("  \"tables\": [");
  for (size_t t = 0; t < tables.size(); ++t) {
    out(t == 0 ? "\n" : ",\n");
    write_table(tables[t], out);
  }
  out(tables.empty() ? "]\n}\n" : "\n  ]\n}\n");
}

void write_json(const Summary& summary, const analysis::RegionMap& map, const std::string& file,
                const Output& out) {
  write_capture(summary, out);
  out("  \"heatmap\": " + nested(heatmap_json(map, file), 1) + "\n}\n");
}

}  // namespace tally::report
