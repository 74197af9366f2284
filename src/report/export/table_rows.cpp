#include "report/export/table_rows.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "store/utf8.h"

namespace tally::report {
namespace {

using analysis::Cell;

std::string csv_text(const std::string& text) {
  if (!text.empty() && text.find_first_of(",\"\r\n") == std::string::npos)
    return store::clean_utf8(text);
  std::string quoted = "\"";
  for (const char c : store::clean_utf8(text)) quoted.append(c == '"' ? 2 : 1, c);
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

std::string json_text(const std::string& text) {
  return nlohmann::json(store::clean_utf8(text)).dump();
}

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

}  // namespace tally::report
