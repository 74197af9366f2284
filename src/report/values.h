// How single values are written for people. JSON carries them raw.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/tables/table.h"

namespace tally::report {

// 1234567 -> "1,234,567".
std::string with_separators(uint64_t value);

// 1234567 ns -> "1.235 ms"; four significant digits above the nanosecond.
std::string duration_text(double nanoseconds);

// 1536 -> "1.500 KiB"; bytes below 1 KiB exactly.
std::string bytes_text(double bytes);

// How the numbers of one column are written: all in the same unit and with as many decimals, so
// that they can be compared by eye.
class ColumnFormat {
 public:
  // Of a column of the table's rows.
  ColumnFormat(const analysis::Table& table, size_t column);
  // Nothing is blank.
  std::string text(const analysis::Cell& cell) const;

 private:
  analysis::Unit unit_;
  std::string zero_;         // instead of 0
  bool fractional_ = false;  // not all numbers are whole
  double divisor_ = 1;
  std::string suffix_;
  int decimals_ = 0;
};

// "count", "ns", "bytes", "percent" or "" as JSON and the documents name units.
std::string unit_name(analysis::Unit unit);

// "1 draw", "2 draws", "1,000 draws".
std::string counted(uint64_t count, const std::string& singular);

}  // namespace tally::report
