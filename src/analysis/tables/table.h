// A table, the interface between analysis and report: named columns with units, rows of plain
// values. It knows neither the origin of the values nor their presentation.
//
// Invariants: every row has exactly one cell per column. A column's id is unique in its table and
// stable between versions: it is the key in JSON and the name that --columns and --sort accept.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "analysis/model/metrics.h"

namespace tally::analysis {

// The rows of a table, either stored or computed cell by cell on demand. A table of a million draws
// thus takes little more memory than its source.
//
// Invariant: all rows have the same number of cells.

// Empty, text, an exact count, or a ratio.
using Cell = std::variant<std::monostate, std::string, uint64_t, double>;
using Row = std::vector<Cell>;
using MakeCell = std::function<Cell(size_t number)>;

class Rows {
 public:
  Rows() = default;
  Rows(std::initializer_list<Row> rows);
  // Rows that are computed on demand: one function per column makes the cell of a row number.
  // `source` stays alive as long as the rows.
  Rows(std::vector<uint32_t> numbers, std::vector<MakeCell> columns,
       std::shared_ptr<const void> source);

  // Keeps another object alive as long as the rows.
  void keep(std::shared_ptr<const void> source);

  // For stored rows only.
  void push_back(Row row);

  size_t size() const { return numbers_.size(); }
  bool empty() const { return numbers_.empty(); }
  Cell cell(size_t row, size_t column) const;

  // Keeps the rows at these indices, in this order, and removes the others.
  void reorder(const std::vector<uint32_t>& indices);
  void truncate(size_t count);
  // Keeps the columns at these indices, in this order, and removes the others.
  void select_columns(const std::vector<size_t>& indices);
  // Appends a column whose cells are computed from the cells of column `from`.
  void append_column(size_t from, std::function<Cell(const Cell&)> make);
  // ... of two columns.
  void append_column(size_t first, size_t second,
                     std::function<Cell(const Cell&, const Cell&)> make);
  // ... of two sums of columns, which are empty if one of their cells is.
  void append_ratio(std::vector<size_t> over, std::vector<size_t> under);

 private:
  void make_columns(size_t count);

  std::vector<uint32_t> numbers_;
  std::vector<Row> held_;          // stored rows, by number, until the columns change
  std::vector<MakeCell> columns_;  // empty: the rows are stored
  std::vector<std::shared_ptr<const void>> sources_;
};

// The role of a column in the layout. Numbers are right-aligned by their unit.
enum class ColumnRole {
  Key,    // identifies the row
  Value,  // a measurement
  Text,   // free text that may be shortened to fit, e.g. a source line
};

// Text shown for the executions of code that never ran. Lines without code show nothing.
inline constexpr const char* kNeverExecuted = "#####";

struct Column {
  std::string id;
  std::string title;
  Unit unit = Unit::None;
  ColumnRole role = ColumnRole::Value;
  std::string description;
  bool shown = true;          // in text output without --columns; JSON contains every column
  std::string zero;           // shown in text instead of 0; empty: "0"
  bool adds_up = true;        // the rows' values have a sum: there may be a share of it
  bool low_is_worst = false;  // sorted with the lowest value first
  std::string ranked_by;      // the column by which the rows are ranked in place of this one
  // How many of the rows lack a part of their value; nullopt: those that are empty. Then the rows
  // do not cover the whole, and there is no share. `lacking_because` follows a colon.
  std::optional<size_t> lacking;
  std::string lacking_because;
  std::string no_share_because;  // if not empty, there is no share although all rows have a value

  bool is_number() const { return unit != Unit::None; }
};

struct Table {
  std::string id;     // "shader", "line" ...: what a row represents
  std::string title;  // the heading
  std::vector<Column> columns;
  Rows rows;
  size_t total_rows = 0;  // before --top removed rows
  std::string sorted_by;  // a column's id; empty: capture order
  std::vector<std::string> notes;

  std::optional<size_t> column_index(const std::string& column_id) const;
};

// A cell's value for sorting; text and empty cells count as 0.
double number_of(const Cell& cell);

// Sorts the rows by a column: measurements with the worst first and empty ones last, keys and text
// in ascending order. The sort is stable.
void sort_rows(Table& table, size_t column);

// Keeps the first `count` rows; 0 keeps all. total_rows keeps the original number.
void keep_top(Table& table, size_t count);

}  // namespace tally::analysis
