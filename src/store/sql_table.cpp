#include "store/sql_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tally::store {
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
