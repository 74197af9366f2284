// How a row struct defines its table. Each row struct lists its columns once, in its function
// table(); the schema, the writer, the reader, the stream codec and the tables of
// docs/reference/capture-format.md follow from it.
//
// The SQL type of a column follows from the type of its member (schema.h). A column called "id"
// is the primary key, which SQLite assigns.
#pragma once

#include <functional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tally::store {

enum class Encoding {
  Value,      // numbers above 2^63 - 1 are stored as 2^63 - 1
  Bits,       // all 64 bits of an unsigned number, as a signed one
  Positions,  // a Column of ascending numbers; where they are consecutive, the first one alone
  List,       // a Column that does not depend on a batch; always an array
};

// `Pointer` points to a member of the row, or to a const member function: such a column is computed
// when the row is written, and never read. `kIsSent`: the stream message that carries the row has
// this column.
template <typename Pointer, bool kIsSent = true>
struct ColumnDefinition {
  static constexpr bool kSent = kIsSent;
  static constexpr bool kComputed = std::is_member_function_pointer_v<Pointer>;

  const char* name;
  Pointer pointer;
  const char* meaning;               // for the document, "" where the name says it
  const char* target = nullptr;      // the table that the column refers to
  const char* constraint = nullptr;  // as SQL
  Encoding encoding = Encoding::Value;
  int first_version = 0;             // of the format that has the column
  const char* older_value = "NULL";  // as SQL: what captures of versions before have

  constexpr bool is_id() const { return name == std::string_view("id"); }
  template <typename Row>
  constexpr decltype(auto) of(Row& row) const {
    return std::invoke(pointer, row);
  }

  constexpr ColumnDefinition references(const char* table) const {
    ColumnDefinition copy = *this;
    copy.target = table;
    return copy;
  }
  constexpr ColumnDefinition constrained(const char* sql) const {
    ColumnDefinition copy = *this;
    copy.constraint = sql;
    return copy;
  }
  constexpr ColumnDefinition encoded(Encoding how) const {
    ColumnDefinition copy = *this;
    copy.encoding = how;
    return copy;
  }
  constexpr ColumnDefinition since(int version, const char* value_before) const {
    ColumnDefinition copy = *this;
    copy.first_version = version;
    copy.older_value = value_before;
    return copy;
  }
  // The receiver knows or learns the value; the message does not have it.
  constexpr auto not_sent() const {
    return ColumnDefinition<Pointer, false>{name,       pointer,  meaning,       target,
                                            constraint, encoding, first_version, older_value};
  }
};

template <typename Pointer>
constexpr auto column(const char* name, Pointer pointer, const char* meaning = "") {
  return ColumnDefinition<Pointer>{name, pointer, meaning};
}

// The section of the document that describes the table.
enum class Section { Definitions, Events, Values, Regions };

// The policy for a row whose key is already in the table.
enum class Conflict { Fail, Ignore, Replace };

template <typename Columns>
struct TableDefinition {
  Section section;
  const char* name;
  const char* meaning;               // of a row, for the document
  Columns columns;                   // a tuple, in the order of the file
  const char* constraint = nullptr;  // of the table, as SQL
  bool has_rowid = true;
  const char* index = nullptr;  // a whole statement
  Conflict conflict = Conflict::Fail;
  int first_version = 0;  // of the format that has the table; empty in captures before

  constexpr TableDefinition constrained(const char* sql) const {
    TableDefinition copy = *this;
    copy.constraint = sql;
    return copy;
  }
  constexpr TableDefinition without_rowid() const {
    TableDefinition copy = *this;
    copy.has_rowid = false;
    return copy;
  }
  constexpr TableDefinition indexed(const char* sql) const {
    TableDefinition copy = *this;
    copy.index = sql;
    return copy;
  }
  constexpr TableDefinition on_conflict(Conflict what) const {
    TableDefinition copy = *this;
    copy.conflict = what;
    return copy;
  }
  constexpr TableDefinition since(int version) const {
    TableDefinition copy = *this;
    copy.first_version = version;
    return copy;
  }
};

template <typename... Columns>
constexpr auto table(Section section, const char* name, const char* meaning, Columns... columns) {
  return TableDefinition<std::tuple<Columns...>>{section, name, meaning, {columns...}};
}

template <typename Row>
inline constexpr auto kTable = Row::table();

// Calls `visit` with each column of the row's table, in order.
template <typename Row, typename Visit>
constexpr void for_each_column(Visit visit) {
  std::apply([&](const auto&... columns) { (visit(columns), ...); }, kTable<Row>.columns);
}

// The value of a column in a row.
template <typename Row, typename Definition>
using ValueOf =
    std::remove_cvref_t<decltype(std::declval<const Definition&>().of(std::declval<const Row&>()))>;

// True if the first column is an id.
template <typename Row>
inline constexpr bool kHasId = std::get<0>(kTable<Row>.columns).is_id();

template <typename... Rows>
struct RowList {
  // Calls `visit` with a std::type_identity of each row struct.
  template <typename Visit>
  static void for_each(Visit visit) {
    (visit(std::type_identity<Rows>{}), ...);
  }
};

}  // namespace tally::store
