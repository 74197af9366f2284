#include "report/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace tally::report {
namespace {

using analysis::Cell;
using analysis::Unit;

constexpr std::array kTimes = {"ns", "\xC2\xB5s", "ms", "s"};
constexpr std::array kSizes = {"B", "KiB", "MiB", "GiB", "TiB"};
constexpr double kTimeStep = 1000, kSizeStep = 1024;

// The index of the largest unit in which the value is at least 1.
template <size_t N>
size_t step_of(double value, double step, const std::array<const char*, N>&) {
  size_t i = 0;
  for (; value >= step && i + 1 < N; ++i) value /= step;
  return i;
}

// Four significant digits.
template <size_t N>
std::string scaled(double value, double step, const std::array<const char*, N>& names) {
  const size_t i = step_of(value, step, names);
  value /= std::pow(step, static_cast<double>(i));
  if (i == 0) return fmt::format("{:.0f} {}", value, names[0]);
  const int decimals = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
  return fmt::format("{:.{}f} {}", value, decimals, names[i]);
}

// "1234567.25" -> "1,234,567.25"
std::string separated(std::string number) {
  const size_t first = number.starts_with('-') ? 1 : 0;
  for (size_t at = std::min(number.find('.'), number.size()); at > first + 3;) {
    at -= 3;
    number.insert(at, 1, ',');
  }
  return number;
}

}  // namespace

std::string with_separators(uint64_t value) { return separated(std::to_string(value)); }

std::string duration_text(double nanoseconds) { return scaled(nanoseconds, kTimeStep, kTimes); }

std::string bytes_text(double bytes) { return scaled(bytes, kSizeStep, kSizes); }

ColumnFormat::ColumnFormat(const analysis::Table& table, size_t column)
    : unit_(table.columns[column].unit), zero_(table.columns[column].zero) {
  if (unit_ == Unit::None) return;
  double max_value = 0;
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const Cell cell = table.rows.cell(r, column);
    fractional_ |= std::holds_alternative<double>(cell);
    max_value = std::max(max_value, analysis::number_of(cell));
  }
  const auto scale = [&](double step, const auto& names) {
    const size_t i = step_of(max_value, step, names);
    divisor_ = std::pow(step, static_cast<double>(i));
    suffix_ = std::string(" ") + names[i];
    decimals_ = i != 0 ? 3 : fractional_ && max_value < 10 ? 2 : 0;
  };
  if (unit_ == Unit::Nanoseconds) scale(kTimeStep, kTimes);
  if (unit_ == Unit::Bytes) scale(kSizeStep, kSizes);
  if (unit_ == Unit::Percent) decimals_ = 1, suffix_ = "%";
  if (unit_ == Unit::Count && fractional_) decimals_ = 2;
}

std::string ColumnFormat::text(const Cell& cell) const {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (std::holds_alternative<std::monostate>(cell)) return {};
  const double number = analysis::number_of(cell);
  if (number == 0 && !zero_.empty()) return zero_;
  const auto* count = std::get_if<uint64_t>(&cell);
  const bool exact = count != nullptr && (unit_ == Unit::Count || unit_ == Unit::None);
  if (exact && !fractional_) return with_separators(*count);
  return separated(fmt::format("{:.{}f}", number / divisor_, decimals_)) + suffix_;
}

std::string unit_name(Unit unit) {
  switch (unit) {
    case Unit::Count:
      return "count";
    case Unit::Nanoseconds:
      return "ns";
    case Unit::Bytes:
      return "bytes";
    case Unit::Percent:
      return "percent";
    case Unit::None:
      return "";
  }
  return "";
}

std::string counted(uint64_t count, const std::string& singular) {
  const bool ends_with_sibilant =
      singular.ends_with("s") || singular.ends_with("ch") || singular.ends_with("sh");
  return with_separators(count) + " " + singular +
         (count == 1           ? ""
          : ends_with_sibilant ? "es"
                               : "s");
}

}  // namespace tally::report
