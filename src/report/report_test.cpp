#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/table/display_text.h"
#include "report/table/header.h"
#include "report/table/json.h"

namespace tally::report {
namespace {

using analysis::Cell;
using analysis::ColumnRole;
using analysis::Unit;
using testing::HasSubstr;

constexpr const char* kReplacement = "\xEF\xBF\xBD";

TEST(Printable, control_characters_and_malformed_bytes_are_replaced) {
  EXPECT_EQ(printable("a\x1b[31mb\r\n"),
            std::string("a") + kReplacement + "[31mb" + kReplacement + kReplacement);
  EXPECT_EQ(printable("\xC3"), kReplacement);
  EXPECT_EQ(printable("\xC0\xAF"), std::string(kReplacement) + kReplacement);  // overlong
  EXPECT_EQ(printable("\xED\xA0\x80"),
            std::string(kReplacement) + kReplacement + kReplacement);  // surrogate
  EXPECT_EQ(printable("\xE2\x80\xAE"
                      "abc"),
            std::string(kReplacement) + "abc");  // right-to-left override
  EXPECT_EQ(printable("\xC3\xA4\xE6\xBC\xA2"), "\xC3\xA4\xE6\xBC\xA2");
}

TEST(Printable, tabs_go_to_the_next_multiple_of_4) { EXPECT_EQ(printable("\ta\tb"), "    a   b"); }

TEST(DisplayWidth, is_in_terminal_cells) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("\xC3\xA4"), 1u);                  // a with diaeresis
  EXPECT_EQ(display_width("a\xCC\x88"), 1u);                 // a, combining diaeresis
  EXPECT_EQ(display_width("\xE6\xBC\xA2\xE5\xAD\x97"), 4u);  // two Han characters
  EXPECT_EQ(display_width("\xF0\x9F\x98\x80"), 2u);          // a smiling face
}

TEST(Shortened, never_exceeds_the_width_or_splits_a_character) {
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("abcdef", 4), "abc\xE2\x80\xA6");
  EXPECT_EQ(shortened("\xE6\xBC\xA2\xE5\xAD\x97\xE6\xBC\xA2", 4), "\xE6\xBC\xA2\xE2\x80\xA6");
  EXPECT_EQ(shortened("abc", 0), "");
}

TEST(Wrapped, breaks_at_spaces_within_the_width) {
  EXPECT_EQ(wrapped("one two three", 10), "  one two\n  three\n");
  EXPECT_EQ(wrapped("incomprehensibilities", 10), "  incomprehensibilities\n");
}

TEST(Values, counts_have_separators_and_lose_no_digit) {
  EXPECT_EQ(with_separators(0), "0");
  EXPECT_EQ(with_separators(999), "999");
  EXPECT_EQ(with_separators(1000), "1,000");
  EXPECT_EQ(with_separators(std::numeric_limits<uint64_t>::max()), "18,446,744,073,709,551,615");
}

TEST(Values, durations_and_bytes_have_four_digits_and_a_unit) {
  EXPECT_EQ(duration_text(999), "999 ns");
  EXPECT_EQ(duration_text(1'234'567), "1.235 ms");
  EXPECT_EQ(duration_text(123'456'789'000), "123.5 s");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.500 KiB");
}

TEST(Values, plurals_are_english) {
  EXPECT_EQ(counted(1, "pass"), "1 pass");
  EXPECT_EQ(counted(2, "pass"), "2 passes");
  EXPECT_EQ(counted(0, "dispatch"), "0 dispatches");
  EXPECT_EQ(counted(1000, "draw"), "1,000 draws");
}

analysis::Table wide_table() {
  analysis::Table table;
  table.id = "test";
  table.title = "Test";
  table.columns = {{.id = "key", .title = "key", .role = ColumnRole::Key}};
  for (int i = 0; i < 20; ++i) {
    table.columns.push_back({.id = "v" + std::to_string(i),
                             .title = "value " + std::to_string(i),
                             .unit = Unit::Count});
  }
  table.columns.push_back({.id = "text", .title = "text", .role = ColumnRole::Text});
  analysis::Row row = {std::string(50, 'k')};
  for (uint64_t i = 0; i < 20; ++i) row.emplace_back(i * 1'000'000);
  row.emplace_back(std::string(300, 't'));
  table.rows = {row, row};
  table.total_rows = 2;
  return table;
}

class TextTable : public testing::TestWithParam<size_t> {};

TEST_P(TextTable, fits_the_width) {
  std::istringstream lines(text_table(wide_table(), {.width = GetParam()}));
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(display_width(line), GetParam()) << line;
}

INSTANTIATE_TEST_SUITE_P(Widths, TextTable, testing::Values(60, 80, 100, 120, 200));

TEST(TextTables, columns_are_aligned_for_all_characters) {
  analysis::Table table;
  table.title = "T";
  table.columns = {{.id = "a", .title = "a", .role = ColumnRole::Key},
                   {.id = "b", .title = "b", .unit = Unit::Count}};
  table.rows = {{std::string("\xE6\xBC\xA2"), uint64_t{5}}, {std::string("abc"), uint64_t{1000}}};
  table.total_rows = 2;
  EXPECT_EQ(text_table(table, {}),
            "T\n\n"
            "  a        b\n"
            "  ---  -----\n"
            "  \xE6\xBC\xA2       5\n"
            "  abc  1,000\n");
}

TEST(TextTables, heading_shows_the_number_of_rows) {
  analysis::Table table = wide_table();
  table.total_rows = 1234;
  EXPECT_THAT(text_table(table, {}), HasSubstr("Test (first 2 of 1,234)\n"));
}

TEST(TextTables, no_control_character_of_a_title_reaches_the_terminal) {
  analysis::Table table;
  table.title = "T\x1b[2J";
  table.columns = {{.id = "a", .title = "evil \x1b]0;title\a", .unit = Unit::Count}};
  table.rows = {{uint64_t{1}}};
  table.notes = {"note \x1b[31m"};
  EXPECT_EQ(text_table(table, {}).find_first_of("\x1b\a"), std::string::npos);
}

std::string column_of(Unit unit, std::vector<Cell> cells) {
  analysis::Table table;
  table.title = "T";
  table.columns = {{.id = "a", .title = "a", .unit = unit}};
  for (Cell& cell : cells) table.rows.push_back({std::move(cell)});
  return text_table(table, {});
}

TEST(TextTables, numbers_of_a_column_share_unit_and_decimals) {
  EXPECT_THAT(column_of(Unit::Nanoseconds, {uint64_t{999}, uint64_t{12'345'678}, Cell()}),
              testing::EndsWith("   0.001 ms\n  12.346 ms\n\n"));
  EXPECT_THAT(column_of(Unit::Bytes, {uint64_t{1536}, uint64_t{100}}),
              testing::EndsWith("  1.500 KiB\n  0.098 KiB\n"));
  EXPECT_THAT(column_of(Unit::Count, {uint64_t{12'345}, 0.5}),
              testing::EndsWith("  12,345.00\n       0.50\n"));
  EXPECT_THAT(column_of(Unit::Count, {uint64_t{12'345}, uint64_t{5}}),
              testing::EndsWith("  12,345\n       5\n"));
}

TEST(TextTables, zero_is_shown_as_the_column_specifies) {
  analysis::Table table;
  table.columns = {{.id = "a", .title = "a", .unit = Unit::Count, .zero = "#####"}};
  table.rows = {{uint64_t{0}}, {Cell()}, {uint64_t{3}}};
  EXPECT_THAT(text_table(table, {}), testing::EndsWith("  #####\n\n      3\n"));
}

TEST(TextTables, without_rows_says_so) {
  analysis::Table table;
  table.title = "Empty";
  EXPECT_EQ(text_table(table, {}), "Empty\n\n  (no rows)\n");
}

std::string json_of(const analysis::Summary& summary, const std::vector<analysis::Table>& tables) {
  std::string text;
  write_json(summary, tables, [&](std::string_view piece) { text += piece; });
  return text;
}

TEST(Header, names_the_frames_that_are_warm) {
  analysis::Summary summary;
  summary.draws = 1;
  EXPECT_THAT(capture_header(summary, 100), HasSubstr("warm         none: "));
  summary.warm_frames = {{1, 1}, {3, 40}};
  EXPECT_THAT(capture_header(summary, 100),
              HasSubstr("warm         frames 1, 3-40: no pipeline is used for the first time"));
  const auto json = nlohmann::json::parse(json_of(summary, {}));
  EXPECT_EQ(json["capture"]["warm_frames"], nlohmann::json::parse("[[1, 1], [3, 40]]"));
}

TEST(Header, one_frame_is_not_several) {
  analysis::Summary summary;
  summary.draws = 1;
  summary.warm_frames = {{3, 3}};
  EXPECT_THAT(capture_header(summary, 100),
              HasSubstr("warm         frame 3: no pipeline is used for the first time in it"));
  const auto only = [&](const char* range) {
    summary.frame_range = range;
    return capture_header(summary, 100);
  };
  EXPECT_THAT(only("3-9"), HasSubstr("only         frames 3-9\n"));
  EXPECT_THAT(only("3-9, the last 2"), HasSubstr("only         frames 3-9, the last 2\n"));
  EXPECT_THAT(only("the last 2"), HasSubstr("only         the last 2 frames\n"));
  EXPECT_THAT(only("the last 1"), HasSubstr("only         the last 1 frame\n"));
}

TEST(Header, names_devices_that_are_alike_once) {
  analysis::Summary summary;
  summary.draws = 1;
  const analysis::DeviceSummary gpu{"GPU", "driver 1", "Vulkan", "1.3.0", ""};
  summary.devices.assign(40, gpu);
  summary.devices.push_back({"other", "driver 1", "Vulkan", "1.3.0", ""});
  const std::string text = capture_header(summary, 100);
  EXPECT_THAT(text, HasSubstr("GPU; driver 1; Vulkan 1.3.0 (40 devices)\n"));
  EXPECT_THAT(text, HasSubstr("other; driver 1; Vulkan 1.3.0\n"));
  EXPECT_EQ(text.find("GPU"), text.rfind("GPU"));
}

TEST(Json, of_a_million_rows_holds_only_one_at_a_time) {
  size_t made = 0, largest = 0, rows = 0;
  analysis::Table table;
  table.columns = {{.id = "n", .title = "n", .unit = Unit::Count}};
  std::vector<uint32_t> numbers(1'000'000);
  table.rows = analysis::Rows(numbers, {[&](size_t) -> Cell { return uint64_t{made++}; }}, nullptr);
  write_json({}, {table}, [&](std::string_view piece) {
    largest = std::max(largest, piece.size());
    rows += piece.find("{\"n\": ") != std::string_view::npos ? 1 : 0;
    EXPECT_EQ(rows, made);
  });
  EXPECT_EQ(rows, numbers.size());
  EXPECT_LT(largest, 10'000u);
}

TEST(Json, is_well_formed_without_tables_and_without_rows) {
  EXPECT_TRUE(nlohmann::json::accept(json_of({}, {})));
  EXPECT_TRUE(nlohmann::json::accept(json_of({}, {analysis::Table{}, analysis::Table{}})));
}

TEST(Json, keeps_64_bit_counts_exactly_and_survives_malformed_names) {
  analysis::Table table;
  table.columns = {{.id = "n", .title = "n", .unit = Unit::Count}, {.id = "t", .title = "t"}};
  table.rows = {{std::numeric_limits<uint64_t>::max(), std::string("bad \xFF")}};
  const auto json = nlohmann::json::parse(json_of({}, {table}));
  EXPECT_EQ(json["tables"][0]["rows"][0]["n"].get<uint64_t>(),
            std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(json["version"], kJsonVersion);
}

}  // namespace
}  // namespace tally::report
