#include "analysis/fleet/fleet_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tally::analysis {
namespace {

using testing::SizeIs;

Coverage coverage_of(const std::string& name, const std::string& text,
                     const std::map<uint32_t, uint64_t>& lines) {
  Coverage coverage;
  FileCoverage file;
  file.name = file.recorded_name = name;
  file.text = text;
  file.lines = lines;
  coverage.files.push_back(file);
  return coverage;
}

std::map<std::string, uint64_t> counts_by_key(const std::vector<FleetLine>& lines) {
  std::map<std::string, uint64_t> counts;
  for (const FleetLine& line : lines) counts[line.key] = line.executions;
  return counts;
}

TEST(FleetLines, keep_their_keys_where_lines_are_inserted_and_indented) {
  const auto before =
      make_fleet_rows({}, coverage_of("a.frag", "x = 1;\ny = 2;", {{1, 5}, {2, 7}}), {});
  const auto after = make_fleet_rows(
      {}, coverage_of("a.frag", "// new\n  x = 1;\n\n\ty = 2; ", {{2, 5}, {4, 7}}), {});
  EXPECT_THAT(before.lines, SizeIs(2));
  EXPECT_EQ(counts_by_key(before.lines), counts_by_key(after.lines));
}

TEST(FleetLines, of_equal_text_are_told_apart_by_their_order) {
  const auto rows =
      make_fleet_rows({}, coverage_of("a.frag", "f();\nf();\nf();", {{1, 5}, {3, 7}}), {});
  const auto third = make_fleet_rows({}, coverage_of("a.frag", "f();\nf();\nf();", {{3, 7}}), {});
  ASSERT_THAT(rows.lines, SizeIs(2));
  EXPECT_EQ(counts_by_key(rows.lines)[third.lines[0].key], 7);
}

TEST(FleetLines, without_a_text_have_the_keys_of_their_numbers) {
  const auto rows = make_fleet_rows({}, coverage_of("a.frag", "", {{1, 5}, {3, 7}}), {});
  const auto moved = make_fleet_rows({}, coverage_of("a.frag", "", {{2, 5}, {3, 7}}), {});
  EXPECT_EQ(counts_by_key(moved.lines).size(), 2u);
  EXPECT_EQ(
      counts_by_key(moved.lines)[rows.lines[0].key] + counts_by_key(moved.lines)[rows.lines[1].key],
      7u);
}

TEST(FleetLines, of_several_texts_of_a_file_are_summed) {
  Coverage coverage = coverage_of("a.frag", "x = 1;", {{1, 5}});
  coverage.files.push_back(coverage_of("a.frag", "#define B\nx = 1;", {{2, 6}}).files[0]);
  const auto rows = make_fleet_rows({}, coverage, {});
  ASSERT_THAT(rows.lines, SizeIs(1));
  EXPECT_EQ(rows.lines[0].executions, 11u);
  EXPECT_EQ(rows.lines[0].number, 1u);
}

TEST(FleetLines, name_files_relative_to_the_folder) {
  const auto name = [](const std::string& file, const std::string& folder) {
    return make_fleet_rows({}, coverage_of(file, "", {{1, 1}}), folder).lines[0].file;
  };
  EXPECT_EQ(name("/ci/1/game/shaders/a.frag", "/ci/1/game"), "shaders/a.frag");
  EXPECT_EQ(name("/ci/1/game/../a.frag", "/ci/1/game"), "/ci/1/a.frag");
  EXPECT_EQ(name("./shaders/a.frag", "/ci"), "shaders/a.frag");
}

ShaderItem shader(const std::string& names, const std::string& hash, uint64_t value) {
  ShaderItem item;
  item.name = "a.frag", item.place = "fragment";
  item.identity = {.names = names, .hash = hash + "\nfragment\nmain\n", .likeness = {}};
  item.values = {value, 0};
  return item;
}

TEST(FleetShaders, of_one_name_are_summed_and_keep_their_key_when_their_code_changes) {
  Profile profile;
  profile.metrics = {{.id = "executions"}, {.id = "fma"}};
  profile.shaders = {shader("a", "01", 5), shader("a", "02", 6)};
  const auto two = make_fleet_rows(profile, {}, {}).shaders;
  profile.shaders = {shader("a", "01", 7)};
  const auto one = make_fleet_rows(profile, {}, {}).shaders;
  ASSERT_THAT(two, SizeIs(1));
  ASSERT_THAT(one, SizeIs(1));
  EXPECT_EQ(two[0].value, 11u);
  EXPECT_EQ(two[0].key, one[0].key);
  EXPECT_EQ(one[0].code, "01");
  EXPECT_NE(two[0].code, one[0].code);
}

TEST(FleetShaders, without_a_name_are_told_apart_by_their_code) {
  Profile profile;
  profile.metrics = {{.id = "executions"}, {.id = "fma"}};
  profile.shaders = {shader("", "01", 5), shader("", "02", 6)};
  EXPECT_THAT(make_fleet_rows(profile, {}, {}).shaders, SizeIs(2));
}

}  // namespace
}  // namespace tally::analysis
