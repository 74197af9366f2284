// Rows read from a capture's database.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "store/sql_table.h"
#include "store/sqlite.h"

namespace tally::store {

inline Error damaged(std::string_view table) {
  return {fmt::format("capture is damaged: a column of its table '{}' cannot be read", table)};
}

// A statement that selects the columns of Row. `tail` goes after the table's name.
template <typename Row, Blobs kBlobs = Blobs::Read>
Result<Statement> select(const Database& database, std::string_view tail) {
  return database.prepare(
      fmt::format("SELECT {} FROM {} {}", select_list<Row, kBlobs>(), kTable<Row>.name, tail));
}

// Hands each row of the statement to `visit` until that returns false.
template <typename Row, Blobs kBlobs = Blobs::Read, typename Visit>
Status each_row(Result<Statement> statement, Visit visit) {
  if (!statement) return statement.error();
  while (statement->step()) {
    Row row;
    if (!read_row<Row, kBlobs>(*statement, row)) return damaged(kTable<Row>.name);
    if (!visit(row)) return {};
  }
  return statement->status();
}

template <typename Row, Blobs kBlobs = Blobs::Read>
Result<std::vector<Row>> all_rows(Result<Statement> statement) {
  std::vector<Row> rows;
  const Status status = each_row<Row, kBlobs>(std::move(statement), [&](Row& row) {
    rows.push_back(std::move(row));
    return true;
  });
  if (!status) return status.error();
  return rows;
}

template <typename Row>
Result<std::vector<Row>> all_rows(const Database& database, std::string_view tail) {
  return all_rows<Row>(select<Row>(database, tail));
}

}  // namespace tally::store
