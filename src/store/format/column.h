// The values of one field for all commands of a batch. A value that all commands share is stored
// once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tally::store {

// The most commands of a batch.
inline constexpr size_t kMaxBatchCommands = 1024;

struct Column {
  // Stands for "no value"; SQL's NULL.
  static constexpr int64_t kNull = std::numeric_limits<int64_t>::min();

  // None: no command has a value. One: all commands have this one.
  std::vector<int64_t> values;

  int64_t at(size_t command) const {
    if (values.empty()) return kNull;
    return values.size() == 1 ? values[0] : values[command];
  }
  bool fits(size_t commands) const { return values.size() <= 1 || values.size() == commands; }

  // Appends the value of the command with the index `command`: those before it have theirs.
  void append(size_t command, int64_t value) {
    if (values.size() > 1) {
      values.push_back(value);
    } else if (command == 0 || values.empty() || values[0] != value) {
      append_another(command, value);
    }
  }

  // Appends the value of each of `count` commands: the same, or value_of(index among these).
  void append_same(size_t command, size_t count, int64_t value);
  template <typename ValueOf>
  void append_each(size_t command, size_t count, ValueOf value_of) {
    size_t i = 0;
    for (; i < count && values.size() <= 1; ++i) append(command + i, value_of(i));
    const size_t before = values.size();
    if (i == count) return;
    values.resize(before + count - i);
    for (int64_t* at = values.data() + before; i < count; ++i) *at++ = value_of(i);
  }

  bool operator==(const Column&) const = default;

 private:
  void append_another(size_t command, int64_t value);
};

// A count as columns and files hold it: saturated at 2^63 - 1.
inline int64_t stored(uint64_t value) {
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(value < kMax ? value : kMax);
}

// The text in the file: a JSON number, null, or an array of both.
std::string to_json(const Column& column);
// None: the text is not a column of `commands` commands.
std::optional<Column> column_from_json(std::string_view json, size_t commands);

}  // namespace tally::store
