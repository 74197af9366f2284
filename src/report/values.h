// Formats single values for display. JSON contains the raw values.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/tables/table.h"

namespace tally::report {

// 1234567 -> "1,234,567".
std::string with_separators(uint64_t value);

// 1234567 ns -> "1.235 ms"; four significant digits above one nanosecond.
std::string duration_text(double nanoseconds);

// 1536 -> "1.500 KiB"; exact below 1 KiB.
std::string bytes_text(double bytes);

// The format of the numbers in one column: all have the same unit and number of decimals, so that
// they are easy to compare.
class ColumnFormat {
 public:
  ColumnFormat(const analysis::Table& table, size_t column);
  // Empty cells give an empty text.
  std::string text(const analysis::Cell& cell) const;

 private:
  analysis::Unit unit_;
  std::string zero_;         // shown instead of 0
  bool fractional_ = false;  // some numbers are not integers
  double divisor_ = 1;
  std::string suffix_;
  int decimals_ = 0;
};

// "count", "ns", "bytes", "percent" or "", as JSON and the documentation name units.
std::string unit_name(analysis::Unit unit);

// "1 draw", "2 draws", "1,000 draws".
std::string counted(uint64_t count, const std::string& singular);

}  // namespace tally::report
