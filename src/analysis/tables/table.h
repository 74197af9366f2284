// A table as analysis makes it and report shows it: named columns with units, rows of plain values.
// It knows neither where the values came from nor how they will look.
//
// Invariants: every row has exactly one cell a column; a column's id is unique in its table and
// stable between versions (it is the key in JSON and the name that --columns and --sort take).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/model/metrics.h"
#include "analysis/tables/rows.h"

namespace tally::analysis {

// How a column stands on paper. Numbers are right-aligned by their unit.
enum class ColumnRole {
  Key,    // says what the row is about
  Value,  // a measurement
  Text,   // free text that may be shortened to fit, e.g. a source line
};

// Text of the executions of code that was never executed; code that is not there has none.
inline constexpr const char* kNeverExecuted = "#####";

struct Column {
  std::string id;
  std::string title;
  Unit unit = Unit::None;
  ColumnRole role = ColumnRole::Value;
  std::string description;
  bool shown = true;  // in text when --columns does not say otherwise; JSON carries every column
  std::string zero;   // in text instead of 0, empty: "0"

  bool is_number() const { return unit != Unit::None; }
};

struct Table {
  std::string id;     // "shader", "line" ...: what a row is
  std::string title;  // a heading for people
  std::vector<Column> columns;
  Rows rows;
  size_t total_rows = 0;  // before --top cut the rest away
  std::string sorted_by;  // a column's id, or empty: in the order of the capture
  std::vector<std::string> notes;

  std::optional<size_t> column_index(const std::string& column_id) const;
};

// A cell's value for sorting: text and nothing count as 0.
double number_of(const Cell& cell);

// Orders the rows by a column: measurements from the largest down, keys and text upwards; equal
// rows keep their order.
void sort_rows(Table& table, size_t column);

// Keeps the first `count` rows; 0 keeps all. total_rows remembers how many there were.
void keep_top(Table& table, size_t count);

}  // namespace tally::analysis
