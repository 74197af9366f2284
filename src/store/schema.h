// The capture file's identity and its schema. docs/reference/capture-format.md describes every
// table; a change of the schema raises kCaptureVersion, adds a golden file to the tests and a line
// to the document.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tally::store {

inline constexpr int32_t kCaptureApplicationId =
    0x54414C59;                                // "TALY", in SQLite's header at offset 68
inline constexpr int32_t kCaptureVersion = 4;  // PRAGMA user_version
// The oldest that is still read.
inline constexpr int32_t kOldestCaptureVersion = 4;

// The statements that make an empty database a capture of kCaptureVersion (without the two
// pragmas).
const std::string& schema_sql();

// The statements that make the views anew for one connection. A reader uses these: it never runs
// what a file of somebody else calls a view, and SQLite lets only temporary views use JSON
// functions where the file's schema is not trusted.
const std::string& temporary_views_sql();

// The tables that a capture must have.
std::span<const char* const> schema_tables();

}  // namespace tally::store
