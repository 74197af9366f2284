#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/html/page.h"

namespace tally::report {
namespace {

using analysis::DataCapture;
using analysis::DataColumn;
using analysis::Dataset;
using analysis::DataTable;
using testing::HasSubstr;
using testing::Not;

using Kind = DataColumn::Kind;

DataColumn column_of(Kind kind, const std::vector<uint64_t>& values) {
  DataColumn column(kind);
  for (const uint64_t value : values) column.push(value);
  return column;
}

TEST(DataColumn, takes_the_narrowest_type_that_holds_all_values) {
  EXPECT_EQ(column_of(Kind::Number, {0, 255}).type(), "u8");
  EXPECT_EQ(column_of(Kind::Number, {256, 1}).type(), "u16");
  EXPECT_EQ(column_of(Kind::Number, {65'536}).type(), "u32");
  EXPECT_EQ(column_of(Kind::Number, {1, ~uint64_t{0}}).type(), "u64");
  EXPECT_EQ(DataColumn(Kind::Real).type(), "f64");
}

TEST(DataColumn, keeps_its_values_when_it_gets_wider) {
  const std::vector<uint64_t> values = {0, 255, 3, 65'535, 1'000'000, ~uint64_t{0}, 7};
  const DataColumn column = column_of(Kind::Number, values);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(column.at(i), values[i]);
}

TEST(DataColumn, a_missing_index_is_the_largest_number_of_any_type) {
  DataColumn column(Kind::Index);
  column.push_missing();
  column.push(254);
  EXPECT_EQ(column.type(), "u8");
  column.push(255);  // would be taken for a missing one
  EXPECT_EQ(column.type(), "u16");
  column.push(65'535);
  EXPECT_EQ(column.type(), "u32");
  EXPECT_EQ(column.at(0), DataColumn::kMissing);
  EXPECT_EQ(column.at(1), 254u);
  EXPECT_EQ(column.at(2), 255u);
  EXPECT_EQ(column.at(3), 65'535u);
  EXPECT_EQ(column.bytes().substr(0, 4), "\xff\xff\xff\xff");
}

TEST(Base64, is_that_of_the_rfc_however_the_bytes_come) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
  std::string text;
  Base64 encoder([&](std::string_view piece) { text += piece; });
  for (const char* piece : {"f", "", "oob", "a", "r"}) encoder.write(piece);
  encoder.finish();
  EXPECT_EQ(text, "Zm9vYmFy");
}

constexpr const char* kHostile[] = {
    "</script><script>alert(1)</script>", "<!--<script>",         "]]>",
    "<img src=x onerror=alert(1)>",       "\x01\x1b[31m\x7f\r\n", "\xff\xfe broken \xc3",
    "\xe2\x80\xae\xe2\x80\xa8",           "\" onload=\"x"};

Dataset hostile_dataset() {
  Dataset dataset;
  DataCapture& capture = dataset.captures.emplace_back();
  capture.summary.path = kHostile[0];
  capture.summary.command_line = {kHostile[1], kHostile[5]};
  capture.summary.devices.push_back({.name = kHostile[3], .driver = kHostile[7]});
  capture.summary.uncounted.push_back({.what = kHostile[0], .reason = kHostile[4]});
  capture.metrics.push_back({.id = "metric", .title = kHostile[0], .description = kHostile[3]});
  DataTable& labels = capture.tables.emplace_back("labels");
  DataColumn& name = labels.add("name", Kind::Index);
  for (const char* text : kHostile) name.push(dataset.strings.add(text));
  name.push(dataset.strings.add(std::string(3'000'000, '<')));
  return dataset;
}

std::string html_of(const Dataset& dataset) {
  std::string text;
  const Status written =
      write_html(dataset, "0.1.0", [&](std::string_view piece) { text += piece; });
  EXPECT_TRUE(written.ok());
  return text;
}

std::string container_of(const Dataset& dataset) {
  std::string bytes;
  write_container(dataset, "0.1.0", [&](std::string_view piece) { bytes += piece; });
  return bytes;
}

uint32_t number_at(const std::string& bytes, size_t offset) {
  uint32_t number;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

nlohmann::json head_of(const std::string& bytes) {
  return nlohmann::json::parse(bytes.substr(16, number_at(bytes, 12)));
}

TEST(Html, what_the_application_wrote_never_changes_the_markup) {
  const std::string hostile = html_of(hostile_dataset());
  Dataset plain;
  plain.captures.emplace_back();
  const std::string expected = html_of(plain);
  const std::string mark = "id=\"data\">";
  const auto before = [&](const std::string& html) { return html.substr(0, html.find(mark)); };
  const auto after = [&](const std::string& html) {
    return html.substr(html.find("</script>", html.find(mark)));
  };
  EXPECT_EQ(before(hostile), before(expected));
  EXPECT_EQ(after(hostile), after(expected));
  const size_t begin = hostile.find(mark) + mark.size();
  const std::string data = hostile.substr(begin, hostile.find('<', begin) - begin);
  EXPECT_EQ(data.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                   "0123456789+/="),
            std::string::npos);
}

TEST(Html, the_script_and_the_style_cannot_end_their_elements) {
  for (const BundleFile& file : {bundle_script(), bundle_style()}) {
    const std::string text(file.text);
    EXPECT_THAT(text, Not(HasSubstr("</script")));
    EXPECT_THAT(text, Not(HasSubstr("</style")));
    EXPECT_THAT(text, Not(HasSubstr("<!--")));
  }
}

TEST(Html, a_report_has_the_licence_of_the_library_in_it) {
  EXPECT_THAT(std::string(bundle_licences().text), Not(HasSubstr("--")));
  EXPECT_THAT(html_of(hostile_dataset()), HasSubstr("Permission is hereby granted"));
}

TEST(Html, the_script_and_the_style_take_less_than_224_kibibytes) {
  EXPECT_LT(bundle_script().text.size() + bundle_style().text.size(), 224u << 10);
}

TEST(Html, a_policy_forbids_every_other_source) {
  const std::string html = html_of(hostile_dataset());
  EXPECT_THAT(html, HasSubstr("content=\"default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(html, HasSubstr("base-uri 'none'; form-action 'none'\">"));
  EXPECT_THAT(html, Not(HasSubstr("unsafe")));
}

TEST(Container, texts_that_are_no_utf8_are_replaced) {
  const nlohmann::json head = head_of(container_of(hostile_dataset()));
  EXPECT_EQ(head["strings"][0], kHostile[0]);
  EXPECT_EQ(head["strings"][5], "\xEF\xBF\xBD\xEF\xBF\xBD broken \xEF\xBF\xBD");
}

TEST(Container, each_column_is_where_the_head_says_aligned_to_8_bytes) {
  Dataset dataset;
  DataCapture& capture = dataset.captures.emplace_back();
  DataTable& table = capture.tables.emplace_back("table");
  table.add("small", Kind::Number) = column_of(Kind::Number, {1, 2, 3});
  table.add("large", Kind::Number) = column_of(Kind::Number, {70'000, 0, 1});
  DataColumn& real = table.add("real", Kind::Real);
  for (const double value : {0.5, 1.0, 2.0}) real.push_real(value);
  capture.images.push_back({std::byte{7}, std::byte{8}});
  const std::string bytes = container_of(dataset);
  EXPECT_EQ(bytes.substr(0, 8), "TALLYHTM");
  EXPECT_EQ(number_at(bytes, 8), 1u);
  const size_t start = 16 + number_at(bytes, 12);
  EXPECT_EQ(start % 8, 0u);
  const nlohmann::json head = head_of(bytes);
  const nlohmann::json columns = head["captures"][0]["tables"]["table"]["columns"];
  EXPECT_EQ(columns["small"], (nlohmann::json{{"type", "u8"}, {"offset", 0}, {"bytes", 3}}));
  EXPECT_EQ(columns["large"], (nlohmann::json{{"type", "u32"}, {"offset", 8}, {"bytes", 12}}));
  EXPECT_EQ(bytes.substr(start, 3), std::string("\1\2\3"));
  EXPECT_EQ(number_at(bytes, start + 8), 70'000u);
  EXPECT_EQ(columns["real"]["offset"], 24);
  const nlohmann::json image = head["captures"][0]["images"][0];
  EXPECT_EQ(bytes.substr(start + image["offset"].get<size_t>(), image["bytes"].get<size_t>()),
            std::string("\7\10"));
}

}  // namespace
}  // namespace tally::report
