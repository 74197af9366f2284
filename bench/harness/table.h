// A text table: the first column is left-aligned, all others are right-aligned.
#pragma once

#include <string>
#include <vector>

#include "harness/rounds.h"

namespace tally::bench {

class Table {
 public:
  explicit Table(std::vector<std::string> titles) : rows_{std::move(titles)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "1.23", or "1.23 (1.20-1.31)" with the quartiles.
std::string number(double value, int decimals = 2);
std::string with_quartiles(const Spread& spread, int decimals = 2);
// With a suitable unit: "830 ns", "12.4 us", "3.10 ms".
std::string duration(double nanoseconds);
// The name, then each value, as a duration, and its ratio to the first candidate's.
std::vector<std::string> in_columns(const Measured& row);

}  // namespace tally::bench
