#include "report/values.h"

#include <fmt/format.h>

#include <array>

namespace tally::report {
namespace {

using analysis::Cell;
using analysis::Unit;

// Scales a value to the largest step that keeps it at 1 or more, with four significant digits.
template <size_t N>
std::string scaled(double value, double step, const std::array<const char*, N>& names) {
  size_t i = 0;
  while (value >= step && i + 1 < N) {
    value /= step;
    ++i;
  }
  if (i == 0) return fmt::format("{:.0f} {}", value, names[0]);
  const int decimals = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
  return fmt::format("{:.{}f} {}", value, decimals, names[i]);
}

std::string ratio_text(double value, Unit unit) {
  switch (unit) {
    case Unit::Percent:
      return fmt::format("{:.1f}%", value);
    case Unit::Nanoseconds:
      return duration_text(value);
    case Unit::Bytes:
      return bytes_text(value);
    default:
      return fmt::format("{:.2f}", value);
  }
}

std::string count_text(uint64_t value, Unit unit) {
  if (unit == Unit::Count || unit == Unit::None) return with_separators(value);
  return ratio_text(static_cast<double>(value), unit);
}

}  // namespace

std::string with_separators(uint64_t value) {
  std::string digits = std::to_string(value);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string duration_text(double nanoseconds) {
  return scaled(nanoseconds, 1000, std::array{"ns", "\xC2\xB5s", "ms", "s"});
}

std::string bytes_text(double bytes) {
  return scaled(bytes, 1024, std::array{"B", "KiB", "MiB", "GiB", "TiB"});
}

std::string cell_text(const Cell& cell, Unit unit) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* count = std::get_if<uint64_t>(&cell)) return count_text(*count, unit);
  if (const auto* ratio = std::get_if<double>(&cell)) return ratio_text(*ratio, unit);
  return {};
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
  const bool hisses =
      singular.ends_with("s") || singular.ends_with("ch") || singular.ends_with("sh");
  return with_separators(count) + " " + singular + (count == 1 ? "" : hisses ? "es" : "s");
}

}  // namespace tally::report
