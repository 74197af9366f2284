// The capture file's identity and its schema. docs/capture-format.md describes every table; a
// change of the schema raises kCaptureVersion, adds a golden file to the tests and a line to the
// document.
#pragma once

#include <cstdint>
#include <span>

namespace tally::store {

inline constexpr int32_t kCaptureApplicationId =
    0x54414C59;                                // "TALY", in SQLite's header at offset 68
inline constexpr int32_t kCaptureVersion = 3;  // PRAGMA user_version
// The oldest that is still read: each version only added tables to the one before.
inline constexpr int32_t kOldestCaptureVersion = 1;

// The statements that make an empty database a capture of kCaptureVersion (without the two
// pragmas).
const char* schema_sql();

// The tables that a capture of this version must have.
std::span<const char* const> schema_tables(int64_t version);

}  // namespace tally::store
