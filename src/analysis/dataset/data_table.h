// Tables of numbers, and texts that they refer to by number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace tally::analysis {

// A column of numbers that takes the narrowest type that holds all of its values exactly.

class DataColumn {
 public:
  enum class Kind : uint8_t {
    Number,
    Index,  // may be missing: the type's maximum
    Real,   // 64-bit floating point; NaN: missing
  };
  static constexpr uint64_t kMissing = ~uint64_t{0};

  explicit DataColumn(Kind kind);

  void push(uint64_t value);
  // An index of another table; kNone: missing.
  void push_index(uint32_t index) { index == ~0u ? push_missing() : push(index); }
  void push_missing();
  void push_real(double value);

  size_t size() const;
  // An element of an Index, kMissing where it is missing. An element of a Real is rounded down.
  uint64_t at(size_t row) const;

  // "u8", "u16", "u32", "u64" or "f64".
  std::string_view type() const;
  // As the type says, little endian.
  std::string_view bytes() const;

 private:
  // Makes the column wide enough for the value, or for the value and the mark of a missing one.
  void widen_for(uint64_t value);

  Kind kind_;
  std::variant<std::vector<uint8_t>, std::vector<uint16_t>, std::vector<uint32_t>,
               std::vector<uint64_t>, std::vector<double>>
      values_;
};

// Texts, each stored once.
class DataStrings {
 public:
  uint32_t add(std::string_view text);
  bool contains(const std::string& text) const { return numbers_.contains(text); }
  size_t size() const { return texts_.size(); }
  const std::string& operator[](size_t number) const { return *texts_[number]; }

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<const std::string*> texts_;
};

// Invariant: all columns have the same number of rows.
class DataTable {
 public:
  explicit DataTable(std::string name) : name_(std::move(name)) {}

  // The reference stays valid as long as the table.
  DataColumn& add(std::string column, DataColumn::Kind kind);

  const std::string& name() const { return name_; }
  size_t rows() const { return columns_.empty() ? 0 : columns_.front().second.size(); }
  const std::deque<std::pair<std::string, DataColumn>>& columns() const { return columns_; }
  // Null if there is none.
  const DataColumn* find(std::string_view column) const;

 private:
  std::string name_;
  std::deque<std::pair<std::string, DataColumn>> columns_;
};

}  // namespace tally::analysis
