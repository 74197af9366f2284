// A column of numbers that takes the narrowest type that holds all of its values exactly.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

namespace tally::analysis {

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
  double real_at(size_t row) const;

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

}  // namespace tally::analysis
