// A column of a table together with the function that makes its cells.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/tables/table.h"

namespace tally::analysis {

struct Field {
  Column column;
  std::function<Cell(size_t row)> cell;

  Field hidden() && {
    column.shown = false;
    return std::move(*this);
  }
};

inline Field key_field(std::string id, std::string title, std::string description,
                       std::function<Cell(size_t)> cell, Unit unit = Unit::None) {
  return {{.id = std::move(id),
           .title = std::move(title),
           .unit = unit,
           .role = ColumnRole::Key,
           .description = std::move(description)},
          std::move(cell)};
}

inline Field value_field(std::string id, std::string title, std::string description,
                         std::function<Cell(size_t)> cell, Unit unit = Unit::Count) {
  return {{.id = std::move(id),
           .title = std::move(title),
           .unit = unit,
           .role = ColumnRole::Value,
           .description = std::move(description)},
          std::move(cell)};
}

inline void add_columns(Table& table, const std::vector<Field>& fields) {
  for (const Field& field : fields) table.columns.push_back(field.column);
}

inline Row make_row(const std::vector<Field>& fields, size_t index) {
  Row row;
  row.reserve(fields.size());
  for (const Field& field : fields) row.push_back(field.cell(index));
  return row;
}

}  // namespace tally::analysis
