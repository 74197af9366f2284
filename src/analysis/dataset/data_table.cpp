#include "analysis/dataset/data_table.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace tally::analysis {
namespace {

static_assert(std::endian::native == std::endian::little);

template <typename To, typename From>
std::vector<To> widened(const std::vector<From>& values, bool marks_missing) {
  std::vector<To> result;
  result.reserve(values.size() + values.size() / 2);
  for (const From value : values) {
    const bool missing = marks_missing && value == std::numeric_limits<From>::max();
    result.push_back(missing ? std::numeric_limits<To>::max() : static_cast<To>(value));
  }
  return result;
}

}  // namespace

DataColumn::DataColumn(Kind kind) : kind_(kind) {
  if (kind == Kind::Real) values_.emplace<std::vector<double>>();
}

void DataColumn::widen_for(uint64_t value) {
  const bool marks_missing = kind_ == Kind::Index;
  const auto fits = [&](uint64_t max) { return marks_missing ? value < max : value <= max; };
  const size_t wanted = fits(0xff) ? 0 : fits(0xffff) ? 1 : fits(0xffffffff) ? 2 : 3;
  if (values_.index() >= wanted) return;
  values_ = std::visit(
      [&](const auto& values) -> decltype(values_) {
        if (wanted == 1) return widened<uint16_t>(values, marks_missing);
        if (wanted == 2) return widened<uint32_t>(values, marks_missing);
        return widened<uint64_t>(values, marks_missing);
      },
      values_);
}

void DataColumn::push(uint64_t value) {
  if (kind_ == Kind::Real) return push_real(static_cast<double>(value));
  widen_for(value);
  std::visit(
      [value](auto& values) {
        values.push_back(static_cast<typename std::decay_t<decltype(values)>::value_type>(value));
      },
      values_);
}

void DataColumn::push_missing() {
  if (kind_ == Kind::Real) return push_real(std::numeric_limits<double>::quiet_NaN());
  std::visit(
      [](auto& values) {
        using Value = typename std::decay_t<decltype(values)>::value_type;
        values.push_back(std::numeric_limits<Value>::max());
      },
      values_);
}

void DataColumn::push_real(double value) {
  std::get<std::vector<double>>(values_).push_back(value);
}

size_t DataColumn::size() const {
  return std::visit([](const auto& values) { return values.size(); }, values_);
}

uint64_t DataColumn::at(size_t row) const {
  return std::visit(
      [&](const auto& values) -> uint64_t {
        const auto value = values[row];
        using Value = std::remove_const_t<decltype(value)>;
        const bool missing = kind_ == Kind::Index && value == std::numeric_limits<Value>::max();
        return missing ? kMissing : static_cast<uint64_t>(value);
      },
      values_);
}

std::string_view DataColumn::type() const {
  constexpr std::string_view kNames[] = {"u8", "u16", "u32", "u64", "f64"};
  return kNames[values_.index()];
}

std::string_view DataColumn::bytes() const {
  return std::visit(
      [](const auto& values) {
        return std::string_view(reinterpret_cast<const char*>(values.data()),
                                values.size() * sizeof(values[0]));
      },
      values_);
}

uint32_t DataStrings::add(std::string_view text) {
  const auto [found, added] =
      numbers_.try_emplace(std::string(text), static_cast<uint32_t>(texts_.size()));
  if (added) texts_.push_back(&found->first);
  return found->second;
}

DataColumn& DataTable::add(std::string column, DataColumn::Kind kind) {
  return columns_.emplace_back(std::move(column), DataColumn(kind)).second;
}

const DataColumn* DataTable::find(std::string_view column) const {
  const auto found =
      std::ranges::find_if(columns_, [&](const auto& c) { return c.first == column; });
  return found == columns_.end() ? nullptr : &found->second;
}

}  // namespace tally::analysis
