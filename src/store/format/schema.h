// The capture file's identity and its schema. docs/reference/capture-format.md describes every
// table; a change of the schema raises kCaptureVersion, adds a golden file to the tests and a line
// to the document.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/format/sql_table.h"

namespace tally::store {

inline constexpr int32_t kCaptureApplicationId =
    0x54414C59;                                 // "TALY", in SQLite's header at offset 68
inline constexpr int32_t kCaptureVersion = 10;  // PRAGMA user_version
// The oldest version that the reader accepts.
inline constexpr int32_t kOldestCaptureVersion = 6;

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
