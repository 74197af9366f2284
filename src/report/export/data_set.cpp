#include "report/export/data_set.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <span>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "store/format/rows.h"

namespace tally::report {
namespace {

using analysis::Cell;

std::string csv_text(const std::string& text) {
  if (!text.empty() && text.find_first_of(",\"\r\n") == std::string::npos) return clean_utf8(text);
  std::string quoted = "\"";
  for (const char c : clean_utf8(text)) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

bool is_formula(const std::string& text) { return text.find_first_of("=+-@\t\r\n") == 0; }

std::string csv_cell(const Cell& cell, CsvTexts texts) {
  if (const auto* count = std::get_if<uint64_t>(&cell)) return fmt::format_int(*count).str();
  if (const auto* text = std::get_if<std::string>(&cell))
    return csv_text(texts == CsvTexts::Escaped && is_formula(*text) ? "'" + *text : *text);
  if (const auto* ratio = std::get_if<double>(&cell)) return fmt::format("{}", *ratio);
  return {};
}

std::string json_text(const std::string& text) { return nlohmann::json(clean_utf8(text)).dump(); }

std::string json_cell(const Cell& cell) {
  if (const auto* count = std::get_if<uint64_t>(&cell)) return fmt::format_int(*count).str();
  if (const auto* text = std::get_if<std::string>(&cell)) return json_text(*text);
  if (const auto* ratio = std::get_if<double>(&cell)) return nlohmann::json(*ratio).dump();
  return "null";
}

}  // namespace

void write_csv(const analysis::Table& table, CsvTexts texts, const Output& out) {
  std::string line;
  for (const analysis::Column& column : table.columns)
    line += (line.empty() ? "" : ",") + csv_text(column.id);
  out(line + "\r\n");
  for (size_t r = 0; r < table.rows.size(); ++r) {
    line.clear();
    for (size_t c = 0; c < table.columns.size(); ++c)
      line += (c == 0 ? "" : ",") + csv_cell(table.rows.cell(r, c), texts);
    out(line + "\r\n");
  }
}

void write_json_lines(const analysis::Table& table, const Output& out) {
  std::vector<std::string> keys;  // with what precedes them
  for (const analysis::Column& column : table.columns)
    keys.push_back((keys.empty() ? "{" : ",") + json_text(column.id) + ":");
  std::string line;
  for (size_t r = 0; r < table.rows.size(); ++r) {
    line.clear();
    for (size_t c = 0; c < keys.size(); ++c) {
      line += keys[c];
      line += json_cell(table.rows.cell(r, c));
    }
    line += "}\n";
    out(line);
  }
}

namespace {

using Json = nlohmann::ordered_json;
using store::stored;

struct TableColumn {
  const char* name;
  const char* type;
};
constexpr const char* kText = "VARCHAR";
constexpr const char* kNumber = "BIGINT";
constexpr TableColumn kCommonColumns[] = {{"capture", kText},
                                          {"commit", kText},
                                          {"commit_time", kNumber},
                                          {"device", kText},
                                          {"scene", kText}};
const std::array<std::vector<TableColumn>, kDataSetTables.size()> kOwnColumns = {
    {{{"driver", kText},
      {"tool_version", kText},
      {"start_time", kNumber},
      {"frames", kNumber},
      {"passes", kNumber},
      {"draws", kNumber},
      {"dispatches", kNumber}},
     {{"pass_key", kText},
      {"name", kText},
      {"label", kText},
      {"metric", kText},
      {"value", kNumber}},
     {{"shader_key", kText},
      {"name", kText},
      {"stage", kText},
      {"code", kText},
      {"metric", kText},
      {"value", kNumber}},
     {{"line_key", kText},
      {"file", kText},
      {"number", kNumber},
      {"text", kText},
      {"executions", kNumber}}}};

Json capture_row(const analysis::Summary& summary) {
  std::string driver;
  for (const analysis::DeviceSummary& device : summary.devices) {
    if (device.not_captured.empty() && driver.find(device.driver) == std::string::npos)
      driver += (driver.empty() ? "" : ", ") + device.driver;
  }
  return {{"driver", clean_utf8(driver)},
          {"tool_version", clean_utf8(summary.tool_version)},
          {"start_time", summary.start_unix_ns / 1'000'000'000},
          {"frames", stored(summary.frames)},
          {"passes", stored(summary.passes)},
          {"draws", stored(summary.draws)},
          {"dispatches", stored(summary.dispatches)}};
}

std::vector<Json> pass_rows(const std::vector<analysis::FleetCount>& passes) {
  std::vector<Json> rows;
  for (const analysis::FleetCount& pass : passes) {
    rows.push_back({{"pass_key", pass.key},
                    {"name", clean_utf8(pass.name)},
                    {"label", clean_utf8(pass.place)},
                    {"metric", clean_utf8(pass.metric)},
                    {"value", stored(pass.value)}});
  }
  return rows;
}

std::vector<Json> shader_rows(const std::vector<analysis::FleetCount>& shaders) {
  std::vector<Json> rows;
  for (const analysis::FleetCount& shader : shaders) {
    rows.push_back({{"shader_key", shader.key},
                    {"name", clean_utf8(shader.name)},
                    {"stage", clean_utf8(shader.place)},
                    {"code", clean_utf8(shader.code)},
                    {"metric", clean_utf8(shader.metric)},
                    {"value", stored(shader.value)}});
  }
  return rows;
}

std::vector<Json> line_rows(const std::vector<analysis::FleetLine>& lines) {
  std::vector<Json> rows;
  for (const analysis::FleetLine& line : lines) {
    rows.push_back({{"line_key", line.key},
                    {"file", clean_utf8(line.file)},
                    {"number", line.number},
                    {"text", clean_utf8(line.text)},
                    {"executions", stored(line.executions)}});
  }
  return rows;
}

// The row without its opening brace, after what all rows begin with.
std::string row_text(const std::string& head, const Json& row) {
  return head + "," + row.dump().substr(1) + "\n";
}

}  // namespace

std::string data_set_columns(size_t table) {
  std::string text;
  const auto add = [&](const TableColumn& column) {
    text += fmt::format("{}{}: '{}'", text.empty() ? "" : ", ", column.name, column.type);
  };
  for (const TableColumn& column : kCommonColumns) add(column);
  for (const TableColumn& column : kOwnColumns[table]) add(column);
  return "{" + text + "}";
}

DataSetCapture data_set_capture(const DataSetPlace& place, const analysis::Summary& summary,
                                const analysis::FleetRows& rows) {
  const std::array<std::vector<Json>, kDataSetTables.size()> tables = {{{capture_row(summary)},
                                                                        pass_rows(rows.passes),
                                                                        shader_rows(rows.shaders),
                                                                        line_rows(rows.lines)}};
  const std::string head = Json{{"commit", clean_utf8(place.commit)},
                                {"commit_time", place.commit_time},
                                {"device", clean_utf8(place.device)},
                                {"scene", clean_utf8(place.scene)}}
                               .dump();
  const std::string common = head.substr(0, head.size() - 1);
  DataSetCapture capture;
  // The rows are hashed without the key, and with the exact start: equal runs are two captures.
  std::string all = std::to_string(summary.start_unix_ns) + "\n";
  for (const auto& table : tables) {
    for (const Json& row : table) all += row_text(common, row);
  }
  capture.key = to_string(hash_bytes(std::as_bytes(std::span(all))));
  const std::string with_key = "{\"capture\":\"" + capture.key + "\"," + common.substr(1);
  for (size_t t = 0; t < tables.size(); ++t) {
    for (const Json& row : tables[t]) capture.text[t] += row_text(with_key, row);
  }
  return capture;
}

}  // namespace tally::report
