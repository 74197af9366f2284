#include "report/json.h"

#include <nlohmann/json.hpp>

#include "report/values.h"

namespace tally::report {
namespace {

using Json = nlohmann::ordered_json;
using analysis::Cell;
using analysis::Summary;
using analysis::Table;

Json cell_json(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* count = std::get_if<uint64_t>(&cell)) return *count;
  if (const auto* ratio = std::get_if<double>(&cell)) return *ratio;
  return nullptr;
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

Json rows_json(const Table& table) {
  Json rows = Json::array();
  for (const analysis::Row& row : table.rows) {
    Json object = Json::object();
    for (size_t i = 0; i < row.size(); ++i) object[table.columns[i].id] = cell_json(row[i]);
    rows.push_back(std::move(object));
  }
  return rows;
}

Json table_json(const Table& table) {
  return {{"by", table.id},
          {"title", table.title},
          {"sorted_by", table.sorted_by},
          {"total_rows", table.total_rows},
          {"columns", columns_json(table)},
          {"rows", rows_json(table)},
          {"notes", table.notes}};
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
          {"processes", s.processes},
          {"devices", devices_json(s)},
          {"frames", s.frames},
          {"passes", s.passes},
          {"draws", s.draws},
          {"dispatches", s.dispatches},
          {"pipelines", s.pipelines},
          {"shaders_counted", s.shaders_counted},
          {"not_counted", uncounted_json(s)},
          {"commands_missing", s.commands_missing},
          {"processes_cut_off", s.processes_cut_off},
          {"messages", messages_json(s)}};
}

}  // namespace

std::string report_json(const Summary& summary, const std::vector<Table>& tables) {
  Json report = {
      {"format", "tally-report"}, {"version", kJsonVersion}, {"capture", capture_json(summary)}};
  report["tables"] = Json::array();
  for (const Table& table : tables) report["tables"].push_back(table_json(table));
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tally::report
