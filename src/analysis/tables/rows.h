// The rows of a table, either stored or computed cell by cell on demand. A table of a million draws
// thus takes little more memory than its source.
//
// Invariant: all rows have the same number of cells.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace tally::analysis {

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

 private:
  void make_columns(size_t count);

  std::vector<uint32_t> numbers_;
  std::vector<Row> held_;          // stored rows, by number, until the columns change
  std::vector<MakeCell> columns_;  // empty: the rows are stored
  std::vector<std::shared_ptr<const void>> sources_;
};

}  // namespace tally::analysis
