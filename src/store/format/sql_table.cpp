#include "store/format/sql_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace tally::store {
namespace {

constexpr int64_t kMaxPosition = int64_t{1} << 48;

bool are_consecutive(const std::vector<int64_t>& values) {
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i] != values[0] + static_cast<int64_t>(i)) return false;
  }
  return true;
}

}  // namespace

std::string strings_to_json(const std::vector<std::string>& texts) {
  return nlohmann::json(texts).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<std::string> strings_from_json(std::string_view json) {
  std::vector<std::string> texts;
  const nlohmann::json parsed = nlohmann::json::parse(json, nullptr, false);
  if (!parsed.is_array()) return texts;
  for (const auto& item : parsed) {
    if (item.is_string()) texts.push_back(item.get<std::string>());
  }
  return texts;
}

std::string specialization_to_json(const Specialization& constants) {
  std::string json = "{";
  for (const SpecializationConstant& constant : constants) {
    json += fmt::format("{}\"{}\":\"0x{:0{}x}\"", json.size() > 1 ? "," : "", constant.id,
                        constant.bits, 2 * constant.size);
  }
  return json + "}";
}

Specialization specialization_from_json(std::string_view json) {
  Specialization constants;
  const nlohmann::json parsed = nlohmann::json::parse(json, nullptr, false);
  if (!parsed.is_object()) return constants;
  const auto read = [](std::string_view digits, int base, auto& number) {
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
    return result.ec == std::errc{} && result.ptr == digits.data() + digits.size();
  };
  for (const auto& [id, value] : parsed.items()) {
    if (!value.is_string()) continue;
    const std::string_view text = value.get_ref<const std::string&>();
    SpecializationConstant constant;
    if (!text.starts_with("0x") || text.size() % 2 != 0 ||
        !read(text.substr(2), 16, constant.bits) || !read(id, 10, constant.id)) {
      continue;
    }
    constant.size = static_cast<uint32_t>(text.size() - 2) / 2;
    constants.push_back(constant);
  }
  make_valid(constants);
  return constants;
}

std::string positions_to_json(const Column& positions) {
  return to_json(are_consecutive(positions.values) ? Column{{positions.at(0)}} : positions);
}

std::string list_to_json(const Column& list) {
  return list.values.size() == 1 ? fmt::format("[{}]", to_json(list)) : to_json(list);
}

std::string parameters_to_json(const Parameters& parameters) {
  std::string json = "{";
  for (const CommandBatchRow::Parameter& parameter : parameters) {
    json += fmt::format("{}\"{}\":{}", json.size() > 1 ? "," : "", parameter.name,
                        to_json(parameter.values));
  }
  return json + "}";
}

bool read_column(std::string_view json, size_t commands, Column& column) {
  std::optional<Column> read = column_from_json(json, commands);
  if (read) column = std::move(*read);
  return read.has_value();
}

bool read_positions(std::string_view json, size_t commands, Column& positions) {
  if (!read_column(json, commands, positions) || positions.values.empty()) return false;
  if (positions.values.size() == commands) return true;
  const int64_t first = positions.values.front();
  if (first < 0 || first > kMaxPosition) return false;
  for (size_t i = 1; i < commands; ++i) {
    positions.values.push_back(first + static_cast<int64_t>(i));
  }
  return true;
}

bool read_list(std::string_view json, Column& list) {
  if (!json.starts_with('[')) return false;
  return read_column(json, 1 + static_cast<size_t>(std::ranges::count(json, ',')), list);
}

// {"name":column,...}, exactly as parameters_to_json() writes it.
bool read_parameters(std::string_view json, size_t commands, Parameters& parameters) {
  parameters.clear();
  if (json == "{}") return true;
  for (char before = '{'; json.starts_with(before); before = ',') {
    const size_t colon = json.find("\":");
    if (!json.substr(1).starts_with('"') || colon == json.npos) return false;
    CommandBatchRow::Parameter& parameter = parameters.emplace_back();
    parameter.name = json.substr(2, colon - 2);
    json.remove_prefix(colon + 2);
    const size_t end = json.find_first_of(json.starts_with('[') ? "]" : ",}");
    if (end == json.npos) return false;
    const size_t size = end + (json.starts_with('[') ? 1 : 0);
    if (!read_column(json.substr(0, size), commands, parameter.values)) return false;
    json.remove_prefix(size);
  }
  return json == "}";
}

namespace {

std::string column_sql(const ColumnText& column) {
  std::string sql = fmt::format("{} {}", column.name, column.type);
  if (column.is_id) {
    sql += " PRIMARY KEY";
  } else if (!column.nullable) {
    sql += " NOT NULL";
  }
  if (column.target) sql += fmt::format(" REFERENCES {}", column.target);
  if (column.constraint) sql += fmt::format(" {}", column.constraint);
  if (!column.enumerators.empty()) {
    sql += fmt::format(" CHECK ({} IN ('{}'))", column.name, fmt::join(column.enumerators, "', '"));
  }
  return sql;
}

const char* insert_verb(Conflict conflict) {
  switch (conflict) {
    case Conflict::Fail:
      return "INSERT";
    case Conflict::Ignore:
      return "INSERT OR IGNORE";
    case Conflict::Replace:
      return "INSERT OR REPLACE";
  }
  return "INSERT";
}

}  // namespace

std::string create_sql(const TableText& table) {
  std::vector<std::string> lines;
  for (const ColumnText& column : table.columns) lines.push_back(column_sql(column));
  if (table.constraint) lines.emplace_back(table.constraint);
  std::string sql =
      fmt::format("CREATE TABLE {} (\n  {}\n) STRICT{};\n", table.name, fmt::join(lines, ",\n  "),
                  table.has_rowid ? "" : ", WITHOUT ROWID");
  if (table.index) sql += fmt::format("{};\n", table.index);
  return sql;
}

std::string older_table_sql(const TableText& table, int64_t version) {
  const bool has_table = table.first_version <= version;
  std::vector<std::string> columns;
  bool has_columns = true;
  for (const ColumnText& column : table.columns) {
    const bool has_column = has_table && column.first_version <= version;
    has_columns &= has_column;
    columns.push_back(has_column ? std::string(column.name)
                                 : fmt::format("{} AS {}", column.older_value, column.name));
  }
  if (has_columns) return {};
  return fmt::format("CREATE TEMP VIEW {} AS SELECT {}{};\n", table.name, fmt::join(columns, ", "),
                     has_table ? fmt::format(" FROM main.{}", table.name) : " WHERE 0");
}

std::string insert_sql(const TableText& table, size_t rows) {
  std::vector<const char*> values;
  for (const ColumnText& column : table.columns) values.push_back(column.is_id ? "NULL" : "?");
  const std::vector<std::string> all(rows, fmt::format("({})", fmt::join(values, ", ")));
  return fmt::format("{} INTO {} VALUES {}", insert_verb(table.conflict), table.name,
                     fmt::join(all, ", "));
}

}  // namespace tally::store
