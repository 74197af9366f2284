// The capture file's identity and its schema. docs/reference/capture-format.md describes every
// table; a change of the schema raises kCaptureVersion, adds a golden file to the tests and a line
// to the document.
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
#include "store/format/rows.h"
#include "store/format/sqlite.h"
#include "store/format/table.h"

namespace tally::store {

// The members of row structs as values of SQL columns: the type of the column, how a value is bound
// to a statement, and how it is read. A file is untrusted: a number is cut to its member's width,
// and an unknown name of an enumerator is the first one. Only a Column and the parameters of a
// batch can be malformed, and their size is bounded by the batch's.

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

// The SQL statements of a row's table, and rows bound to them and read from them.

// The definition of a table without the types of its members.
struct ColumnText {
  const char* name;
  const char* meaning;
  const char* type;
  bool nullable;
  bool is_id;
  const char* target;                        // may be null
  const char* constraint;                    // may be null
  std::span<const char* const> enumerators;  // empty: not an enumeration
  int first_version;
  const char* older_value;
};
struct TableText {
  Section section;
  const char* name;
  const char* meaning;
  std::vector<ColumnText> columns;
  const char* constraint;  // may be null
  bool has_rowid;
  const char* index;  // may be null
  Conflict conflict;
  int first_version;
};

template <typename Row>
TableText table_text() {
  const auto& table = kTable<Row>;
  TableText text{table.section,      table.name,      table.meaning, {},
                 table.constraint,   table.has_rowid, table.index,   table.conflict,
                 table.first_version};
  for_each_column<Row>([&](const auto& column) {
    using Value = ValueOf<Row, std::remove_cvref_t<decltype(column)>>;
    std::span<const char* const> enumerators;
    if constexpr (std::is_enum_v<Value>) enumerators = EnumNames<Value>::kNames;
    text.columns.push_back({column.name, column.meaning, sql_type<Value>(), kIsOptional<Value>,
                            column.is_id(), column.target, column.constraint, enumerators,
                            column.first_version, column.older_value});
  });
  return text;
}

// The statements that create the table and its index.
std::string create_sql(const TableText& table);
// The statement that makes a capture of an older version have the table, or its newer columns, as
// a temporary view; empty: it has them.
std::string older_table_sql(const TableText& table, int64_t version);
// Its parameters are the columns but for the id, of each of `rows` rows.
std::string insert_sql(const TableText& table, size_t rows = 1);

// Says if the reader asks for a column: a computed one follows from the others.
enum class Blobs { Read, LeaveOut };
template <typename Row, typename Definition>
constexpr bool is_selected(Blobs blobs) {
  return !Definition::kComputed && (blobs == Blobs::Read || !kIsBlob<ValueOf<Row, Definition>>);
}

// "device.id, device.name": the columns that read_row() reads, in its order.
template <typename Row, Blobs kBlobs = Blobs::Read>
std::string select_list() {
  std::string list;
  for_each_column<Row>([&](const auto& column) {
    if constexpr (is_selected<Row, std::remove_cvref_t<decltype(column)>>(kBlobs)) {
      if (!list.empty()) list += ", ";
      list.append(kTable<Row>.name).append(".").append(column.name);
    }
  });
  return list;
}

// Where read_row() finds a member.
template <typename Row, typename Pointer>
constexpr int index_of(Pointer member) {
  int index = -1;
  int at = 0;
  for_each_column<Row>([&](const auto& column) {
    using Definition = std::remove_cvref_t<decltype(column)>;
    if constexpr (std::is_same_v<decltype(Definition::pointer), Pointer>) {
      if (column.pointer == member) index = at;
    }
    if constexpr (is_selected<Row, Definition>(Blobs::Read)) ++at;
  });
  return index;
}

template <typename Row>
constexpr int selected_count() {
  int count = 0;
  for_each_column<Row>([&](const auto& column) {
    count += is_selected<Row, std::remove_cvref_t<decltype(column)>>(Blobs::Read) ? 1 : 0;
  });
  return count;
}

template <typename Row>
void bind_row(Statement& statement, const Row& row) {
  for_each_column<Row>([&](const auto& column) {
    if (!column.is_id()) bind_value(statement, column.of(row), column.encoding);
  });
}

// False: the row is malformed. `commands` is the size of the batch of a row that has Columns.
template <typename Row, Blobs kBlobs = Blobs::Read>
bool read_row(const Statement& statement, Row& row, size_t commands = 0) {
  int at = 0;
  bool sound = true;
  for_each_column<Row>([&](const auto& column) {
    if constexpr (is_selected<Row, std::remove_cvref_t<decltype(column)>>(kBlobs)) {
      sound = sound && read_value(statement, at++, commands, column.encoding, column.of(row));
    }
  });
  return sound;
}

inline constexpr int32_t kCaptureApplicationId =
    0x54414C59;                                 // "TALY", in SQLite's header at offset 68
inline constexpr int32_t kCaptureVersion = 16;  // PRAGMA user_version
// The oldest version that the reader accepts.
inline constexpr int32_t kOldestCaptureVersion = 6;
// How often what has arrived becomes part of the file: if the writer is killed, the capture lacks
// what arrived later. Reports say so.
inline constexpr double kCommitSeconds = 0.3;

// The tables that a capture must have, in the order in which they are created.
const std::vector<TableText>& schema_tables();

// The statements that make an empty database a capture of kCaptureVersion, without the pragmas of
// its identity.
std::string schema_sql();

// The statements after which one connection reads a capture of an older version as if it were of
// kCaptureVersion: the names of the tables that have changed are those of temporary views.
std::string older_tables_sql(int64_t version);

// The statements that create the views for one connection. A reader uses these: it never runs the
// views of an untrusted file, and SQLite lets only temporary views use JSON functions where the
// file's schema is not trusted.
std::string temporary_views_sql();

// The views, each created by `create`.
std::string views_sql(const char* create);

// The tables of docs/reference/capture-format.md, made from the definitions of the columns.

// `page` with the table of each section regenerated. They stand between the lines
// "<!-- tables: definitions -->" (or events, values, regions) and "<!-- end of tables -->".
std::string document_tables(std::string_view page);

}  // namespace tally::store
