// The rows of a table: either held, or made cell by cell when they are asked for, so that a table
// of a million draws takes little more memory than what it is made from.
//
// Invariant: every row has exactly as many cells as the others.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace tally::analysis {

// Nothing | text | an exact count | a ratio.
using Cell = std::variant<std::monostate, std::string, uint64_t, double>;
using Row = std::vector<Cell>;
using MakeCell = std::function<Cell(size_t number)>;

class Rows {
 public:
  Rows() = default;
  Rows(std::initializer_list<Row> rows);
  // Rows of these numbers, by column what makes the cell of a number. `source` lives as long as the
  // rows do.
  Rows(std::vector<uint32_t> numbers, std::vector<MakeCell> columns,
       std::shared_ptr<const void> source);

  // This, too, lives as long as the rows do.
  void keep(std::shared_ptr<const void> source);

  // Only of rows that are held.
  void push_back(Row row);

  size_t size() const { return numbers_.size(); }
  bool empty() const { return numbers_.empty(); }
  Cell cell(size_t row, size_t column) const;

  // The rows at these places take the places from 0 on; the others go.
  void reorder(const std::vector<uint32_t>& indices);
  void truncate(size_t count);
  // The columns at these places take the places from 0 on; the others go.
  void select_columns(const std::vector<size_t>& indices);
  // A column that is made from the cells of another.
  void append_column(size_t from, std::function<Cell(const Cell&)> make);

 private:
  void make_columns(size_t count);

  std::vector<uint32_t> numbers_;
  std::vector<Row> held_;          // by number, until the columns change
  std::vector<MakeCell> columns_;  // empty: the rows are held
  std::vector<std::shared_ptr<const void>> sources_;
};

}  // namespace tally::analysis
