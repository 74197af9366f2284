#include "harness/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace tally::bench {

std::string Table::text() const {
  std::vector<size_t> widths(rows_[0].size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (size_t r = 0; r < rows_.size(); ++r) {
    for (size_t i = 0; i < rows_[r].size(); ++i) {
      text += i == 0 ? fmt::format("{:<{}}", rows_[r][i], widths[i])
                     : fmt::format("  {:>{}}", rows_[r][i], widths[i]);
    }
    text += '\n';
    if (r > 0) continue;
    for (size_t i = 0; i < widths.size(); ++i) {
      text += (i ? "  " : "") + std::string(widths[i], '-');
    }
    text += '\n';
  }
  return text;
}

std::string number(double value, int decimals) { return fmt::format("{:.{}f}", value, decimals); }

std::string with_quartiles(const Spread& spread, int decimals) {
  return fmt::format("{:.{}f} ({:.{}f}-{:.{}f})", spread.median, decimals, spread.low, decimals,
                     spread.high, decimals);
}

std::string duration(double nanoseconds) {
  if (nanoseconds < 1e3) return fmt::format("{:.1f} ns", nanoseconds);
  if (nanoseconds < 1e6) return fmt::format("{:.1f} us", nanoseconds / 1e3);
  return fmt::format("{:.2f} ms", nanoseconds / 1e6);
}

std::vector<std::string> in_columns(const Measured& row) {
  std::vector<std::string> columns{row.name};
  for (size_t i = 0; i < row.values.size(); ++i) {
    columns.push_back(duration(row.values[i].median));
    columns.push_back(with_quartiles(row.ratios[i]));
  }
  return columns;
}

}  // namespace tally::bench
