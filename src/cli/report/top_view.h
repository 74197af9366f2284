// The view of `tally top`: a table of one frame, sorted, filtered and scrolled, as lines of text.
// It knows no terminal. Everything that it gives is printable.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/tables/analyzer.h"

namespace tally::cli {

// Keys that are not characters.
enum class TopKey : int { Up = 0x200000, Down, PageUp, PageDown, Home, End, Left, Right };

struct TopLine {
  std::string text;
  bool marked = false;  // shown inverted
};

class TopView {
 public:
  TopView(analysis::By by, std::string sort, std::string filter)
      : by_(by), sort_(std::move(sort)), filter_(std::move(filter)) {}

  analysis::By by() const { return by_; }
  bool paused() const { return paused_; }
  void set_table(analysis::Table table) { table_ = std::move(table); }
  // One line below the table: what is shown, or why nothing is.
  void set_status(std::string status) { status_ = std::move(status); }

  // A character or a TopKey. False: the user quits.
  bool press(int key);
  // The rows that match the filter, in their order, `count` of them from `first` on.
  analysis::Table chosen(size_t first, size_t count) const;
  // As many lines as the height. Takes back scrolling beyond the end.
  std::vector<TopLine> lines(size_t width, size_t height);

 private:
  void choose(analysis::By by);
  void move_sort(int step);
  bool type(int key);
  size_t sort_column() const;
  size_t matching() const;
  bool matches(size_t row) const;

  analysis::By by_;
  std::string sort_;  // a column's id or heading; empty: as the table is sorted
  bool reversed_ = false;
  std::string filter_;
  bool typing_ = false;  // the filter
  bool paused_ = false;
  size_t scroll_ = 0;
  size_t page_ = 1;
  analysis::Table table_;
  std::string status_;
};

}  // namespace tally::cli
