// The SQL statements of a row's table, and rows bound to them and read from them.
#pragma once

#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "store/sql_value.h"
#include "store/sqlite.h"
#include "store/table.h"

namespace tally::store {

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

}  // namespace tally::store
