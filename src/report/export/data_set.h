// The tables of one capture in a data set of many captures, as JSON lines. docs/user/fleets.md
// describes the columns.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "analysis/fleet/fleet_rows.h"
#include "analysis/tables/table.h"
#include "report/table/output.h"

namespace tally::report {

// The rows of a table as comma-separated values (RFC 4180) and as JSON lines. Both hold what
// `tally report --format json` holds of the table, value by value.

enum class CsvTexts {
  Escaped,  // an apostrophe precedes a text that a spreadsheet would take for a formula
  Verbatim,
};

// The first line holds the columns' ids. A value that is not known is empty; an empty text is "".
void write_csv(const analysis::Table& table, CsvTexts texts, const Output& out);

// One JSON object for each row, by the columns' ids.
void write_json_lines(const analysis::Table& table, const Output& out);

inline constexpr int kDataSetFormat = 1;
inline constexpr std::array<const char*, 4> kDataSetTables = {"capture", "pass", "shader", "line"};

// The columns that all rows of a capture share.
struct DataSetPlace {
  std::string commit;
  int64_t commit_time = 0;  // in seconds since 1970
  std::string device;
  std::string scene;
};

// The columns of a table, as DuckDB declares them: {capture: 'VARCHAR', ...}.
std::string data_set_columns(size_t table);

struct DataSetCapture {
  std::string key;                                      // the hash of all rows
  std::array<std::string, kDataSetTables.size()> text;  // by table
};

DataSetCapture data_set_capture(const DataSetPlace& place, const analysis::Summary& summary,
                                const analysis::FleetRows& rows);

}  // namespace tally::report
