// The members of row structs as values of SQL columns: the type of the column, how a value is bound
// to a statement, and how it is read. A file is untrusted: a number is cut to its member's width,
// and an unknown name of an enumerator is the first one. Only a Column and the parameters of a
// batch can be malformed, and their size is bounded by the batch's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/specialization.h"
#include "store/rows.h"
#include "store/sqlite.h"

namespace tally::store {

using Parameters = std::vector<CommandBatchRow::Parameter>;

template <typename Value>
inline constexpr bool kIsOptional = false;
template <typename Value>
inline constexpr bool kIsOptional<std::optional<Value>> = true;

template <typename Value>
inline constexpr bool kIsBlob = false;
template <>
inline constexpr bool kIsBlob<std::vector<uint32_t>> = true;
template <>
inline constexpr bool kIsBlob<std::vector<std::byte>> = true;

template <typename Value>
constexpr const char* sql_type() {
  if constexpr (kIsBlob<Value>) return "BLOB";
  if constexpr (std::is_same_v<Value, double>) return "REAL";
  if constexpr (std::is_integral_v<Value> || kIsOptional<Value>) return "INTEGER";
  return "TEXT";
}

std::string strings_to_json(const std::vector<std::string>& texts);
std::vector<std::string> strings_from_json(std::string_view json);
// {"0":"0x00000008"}: two digits for each byte.
std::string specialization_to_json(const Specialization& constants);
// Without what is malformed.
Specialization specialization_from_json(std::string_view json);
// A single number where the positions are consecutive.
std::string positions_to_json(const Column& positions);
std::string parameters_to_json(const Parameters& parameters);
// An array of any length.
std::string list_to_json(const Column& list);
// These return false where the text is malformed or has not a value for each command.
bool read_column(std::string_view json, size_t commands, Column& column);
bool read_positions(std::string_view json, size_t commands, Column& positions);
bool read_parameters(std::string_view json, size_t commands, Parameters& parameters);
bool read_list(std::string_view json, Column& list);

template <typename Value>
void bind_value(Statement& statement, const Value& value, Encoding encoding) {
  if constexpr (kIsBlob<Value>) {
    statement.bind(std::as_bytes(std::span(value)));
  } else if constexpr (std::is_enum_v<Value>) {
    statement.bind(enum_name(value));
  } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
    statement.bind(strings_to_json(value));
  } else if constexpr (std::is_same_v<Value, Specialization>) {
    statement.bind(specialization_to_json(value));
  } else if constexpr (std::is_same_v<Value, Parameters>) {
    statement.bind(parameters_to_json(value));
  } else if constexpr (std::is_same_v<Value, Column>) {
    statement.bind(encoding == Encoding::Positions ? positions_to_json(value)
                   : encoding == Encoding::List    ? list_to_json(value)
                                                   : to_json(value));
  } else if constexpr (std::is_same_v<Value, uint64_t>) {
    statement.bind(encoding == Encoding::Bits ? static_cast<int64_t>(value) : stored(value));
  } else if constexpr (std::is_integral_v<Value>) {
    statement.bind(int64_t{value});
  } else {
    statement.bind(value);
  }
}

// False: the value is malformed. `commands` is the size of the batch, for Columns.
template <typename Value>
bool read_value(const Statement& row, int at, size_t commands, Encoding encoding, Value& value) {
  if constexpr (std::is_same_v<Value, Column>) {
    return encoding == Encoding::Positions ? read_positions(row.view(at), commands, value)
           : encoding == Encoding::List    ? read_list(row.view(at), value)
                                           : read_column(row.view(at), commands, value);
  } else if constexpr (std::is_same_v<Value, Parameters>) {
    return read_parameters(row.view(at), commands, value);
  } else if constexpr (kIsBlob<Value>) {
    const std::span<const std::byte> bytes = row.blob(at);
    value.resize(bytes.size() / sizeof value[0]);
    if (!value.empty()) std::memcpy(value.data(), bytes.data(), value.size() * sizeof value[0]);
  } else if constexpr (std::is_enum_v<Value>) {
    value = enum_from_name<Value>(row.view(at)).value_or(Value{});
  } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
    value = strings_from_json(row.view(at));
  } else if constexpr (std::is_same_v<Value, Specialization>) {
    value = specialization_from_json(row.view(at));
  } else if constexpr (std::is_same_v<Value, std::string>) {
    value = row.text(at);
  } else if constexpr (std::is_same_v<Value, double>) {
    value = row.real(at);
  } else if constexpr (kIsOptional<Value>) {
    value = row.optional_integer(at);
  } else if constexpr (std::is_same_v<Value, bool>) {
    value = row.integer(at) != 0;
  } else {
    value = static_cast<Value>(row.integer(at));
  }
  return true;
}

}  // namespace tally::store
