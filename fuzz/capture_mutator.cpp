// Mutates captures row by row: random changes of bytes usually produce a file that SQLite rejects,
// and never reach the code that reads the rows.
#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using Random = std::minstd_rand;

struct Column {
  std::string table, name;
};

std::vector<Column> columns_of(sqlite3* database) {
  std::vector<Column> columns;
  sqlite3_stmt* statement = nullptr;
  const char* sql =
      "SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c"
      " WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'";
  if (sqlite3_prepare_v2(database, sql, -1, &statement, nullptr) != SQLITE_OK) return {};
  while (sqlite3_step(statement) == SQLITE_ROW) {
    columns.push_back({reinterpret_cast<const char*>(sqlite3_column_text(statement, 0)),
                       reinterpret_cast<const char*>(sqlite3_column_text(statement, 1))});
  }
  sqlite3_finalize(statement);
  return columns;
}

std::string blob_literal(const uint8_t* data, size_t size) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text = "x'";
  for (size_t i = 0; i < size; ++i) {
    text += kDigits[data[i] >> 4];
    text += kDigits[data[i] & 15];
  }
  return text + "'";
}

// The cell's content with mutated bytes.
std::string mutated_cell(sqlite3* database, const Column& column, const std::string& where) {
  sqlite3_stmt* statement = nullptr;
  const std::string sql =
      "SELECT \"" + column.name + "\" FROM \"" + column.table + "\" WHERE " + where;
  std::string literal = "NULL";
  if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
    return literal;
  if (sqlite3_step(statement) == SQLITE_ROW) {
    const bool is_blob = sqlite3_column_type(statement, 0) == SQLITE_BLOB;
    const auto* bytes = static_cast<const uint8_t*>(sqlite3_column_blob(statement, 0));
    const auto size = static_cast<size_t>(sqlite3_column_bytes(statement, 0));
    std::vector<uint8_t> cell(size + 64);
    if (size != 0) std::memcpy(cell.data(), bytes, size);
    literal = blob_literal(cell.data(), LLVMFuzzerMutate(cell.data(), size, cell.size()));
    if (!is_blob) literal = "CAST(" + literal + " AS TEXT)";
  }
  sqlite3_finalize(statement);
  return literal;
}

std::string new_value(sqlite3* database, const Column& column, const std::string& where,
                      Random& random) {
  constexpr const char* kValues[] = {"NULL",
                                     "0",
                                     "1",
                                     "-1",
                                     "2147483648",
                                     "4294967295",
                                     "9223372036854775807",
                                     "-9223372036854775807 - 1",
                                     "1e300",
                                     "''",
                                     "'\"\\' || char(27) || '[31m' || char(10)",
                                     "CAST(x'ff80c0' AS TEXT)",
                                     "zeroblob(1000)"};
  const size_t choice = random() % (std::size(kValues) + 8);
  if (choice < std::size(kValues)) return kValues[choice];
  // Most columns are ids or counts, so small numbers refer to other rows.
  if (choice < std::size(kValues) + 5) return std::to_string(random() % 20);
  return mutated_cell(database, column, where);
}

void change_a_cell(sqlite3* database, Random& random) {
  const std::vector<Column> columns = columns_of(database);
  if (columns.empty()) return;
  const Column& column = columns[random() % columns.size()];
  // Some tables have no rowid: a row is selected by its position in a different order.
  const std::string place = std::to_string(random() % 1000);
  const std::string table = "\"" + column.table + "\"", name = "\"" + column.name + "\"";
  const std::string where = name + " IS (SELECT " + name + " FROM " + table + " LIMIT 1 OFFSET " +
                            place + " % max(1, (SELECT count(*) FROM " + table + ")))";
  const bool removes = random() % 16 == 0;
  const std::string sql = removes
                              ? "DELETE FROM " + table + " WHERE " + where
                              : "UPDATE OR IGNORE " + table + " SET " + name + " = " +
                                    new_value(database, column, where, random) + " WHERE " + where;
  (void)sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr);
}

// Returns the size of the mutated capture, or 0 if SQLite cannot change it.
size_t change_rows(uint8_t* data, size_t size, size_t max_size, Random& random) {
  sqlite3* database = nullptr;
  if (sqlite3_open(":memory:", &database) != SQLITE_OK) return sqlite3_close(database), 0;
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(size));
  std::memcpy(copy, data, size);
  const auto bytes = static_cast<sqlite3_int64>(size);
  size_t changed = 0;
  if (sqlite3_deserialize(database, "main", copy, bytes, bytes,
                          SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) ==
      SQLITE_OK) {
    for (size_t changes = 1 + random() % 3; changes > 0; --changes) change_a_cell(database, random);
    sqlite3_int64 length = 0;
    unsigned char* image = sqlite3_serialize(database, "main", &length, 0);
    if (image != nullptr && static_cast<size_t>(length) <= max_size) {
      changed = static_cast<size_t>(length);
      std::memcpy(data, image, changed);
    }
    sqlite3_free(image);
  }
  sqlite3_close(database);
  return changed;
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  Random random(seed);
  if (random() % 8 != 0) {
    if (const size_t changed = change_rows(data, size, max_size, random)) return changed;
  }
  return LLVMFuzzerMutate(data, size, max_size);
}
