// Tests of the differences between two versions of a shader, on items that the tests write.
#include "analysis/diff/difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tally::analysis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using Lines = std::vector<std::string>;

const std::vector<Metric> kMetrics = {
    {.id = "instructions", .title = "instructions", .description = {}}};

ShaderItem shader(const std::string& hash, const Lines& text) {
  ShaderItem item;
  item.name = "a.frag";
  item.place = item.stage = "fragment";
  item.identity.hash = hash;
  item.files = {{"shaders/a.frag", text}};
  item.functions = {{"main", "shaders/a.frag", 1, {100}}};
  return item;
}

LineItem line(uint32_t number, uint64_t value, uint32_t function = 0) {
  return {.file = 0, .line = number, .function = function, .values = {value}};
}

ShaderDifference difference(const ShaderItem& before, const ShaderItem& after,
                            Invocations invocations = {1, 1}) {
  return compare_code(before, after, ValueMap(kMetrics, kMetrics), invocations);
}

// "changed a.frag:3 (a.frag:2) 5>6"
std::vector<std::string> texts(const std::vector<Difference>& differences) {
  constexpr const char* kNames[] = {"changed", "added", "removed", "renamed", "moved"};
  std::vector<std::string> result;
  for (const Difference& d : differences) {
    const ValuePair values = values_of(d, 0);
    result.push_back(std::string(kNames[static_cast<size_t>(d.change)]) + " " + d.name +
                     (d.old_name.empty() ? "" : " (" + d.old_name + ")") + " " +
                     std::to_string(values.before) + ">" + std::to_string(values.after));
  }
  return result;
}

TEST(ShaderDifference, of_an_edit_that_moves_lines_has_only_the_lines_whose_counts_changed) {
  ShaderItem before = shader("1", {"float a = one();", "float b = two();", "color = a + b;"});
  before.lines = {line(1, 10), line(2, 20), line(3, 30)};
  ShaderItem after =
      shader("2", {"// a comment", "float a = one();", "float b = two();", "color = a + b;"});
  after.lines = {line(2, 10), line(3, 25), line(4, 30)};
  const auto found = difference(before, after);
  EXPECT_THAT(texts(found.lines), ElementsAre("changed a.frag:3 (a.frag:2) 20>25"));
  EXPECT_THAT(found.functions, IsEmpty());
}

TEST(ShaderDifference, shows_both_texts_of_an_edited_line) {
  ShaderItem before = shader("1", {"begin();", "sum(octaves, 4);", "end();"});
  before.lines = {line(2, 4)};
  ShaderItem after = shader("2", {"begin();", "sum(octaves, 5);", "end();"});
  after.lines = {line(2, 5)};
  const auto found = difference(before, after);
  ASSERT_EQ(found.lines.size(), 1u);
  EXPECT_EQ(found.lines[0].old_text, "sum(octaves, 4);");
  EXPECT_EQ(found.lines[0].text, "sum(octaves, 5);");
}

TEST(ShaderDifference, tells_moved_added_and_removed_lines_apart) {
  ShaderItem before = shader("1", {"float light = 1.0;", "one();", "two();", "three();"});
  before.lines = {line(1, 1), line(2, 2), line(3, 3), line(4, 4)};
  ShaderItem after =
      shader("2", {"one();", "three();", "float light = 1.0;", "vec4 sky = texture(s, p);"});
  after.lines = {line(1, 2), line(2, 4), line(3, 7), line(4, 9)};
  EXPECT_THAT(texts(difference(before, after).lines),
              UnorderedElementsAre("moved a.frag:3 (a.frag:1) 1>7", "removed a.frag:3 3>0",
                                   "added a.frag:4 0>9"));
  after.lines[2].values = {1};
  EXPECT_THAT(texts(difference(before, after).lines),
              UnorderedElementsAre("removed a.frag:3 3>0", "added a.frag:4 0>9"))
      << "a line that moved with the same counts is no difference";
}

TEST(ShaderDifference, finds_a_renamed_function_by_its_lines) {
  ShaderItem before = shader("1", {"float soft(float x) {", "return x * x;", "}"});
  before.functions = {{"soft", "shaders/a.frag", 1, {50}}, {"gone", "shaders/a.frag", 9, {5}}};
  before.lines = {line(2, 50)};
  ShaderItem after = shader("2", {"float smooth(float x) {", "return x * x;", "}"});
  after.functions = {{"smooth", "shaders/a.frag", 1, {60}}, {"new", "shaders/a.frag", 9, {6}}};
  after.lines = {line(2, 60)};
  EXPECT_THAT(
      texts(difference(before, after).functions),
      UnorderedElementsAre("renamed smooth (soft) 50>60", "removed gone 5>0", "added new 0>6"));
}

TEST(ShaderDifference, says_that_a_function_is_in_another_file) {
  ShaderItem before = shader("1", {"a"});
  ShaderItem after = shader("2", {"a"});
  after.functions[0].file = "shaders/common.glsl";
  EXPECT_THAT(texts(difference(before, after).functions), ElementsAre("moved main 100>100"));
}

// A line's number alone says nothing about another version.
TEST(ShaderDifference, without_texts_matches_no_lines_of_different_code) {
  ShaderItem before = shader("1", {}), after = shader("2", {});
  before.lines = {line(2, 4)};
  after.lines = {line(2, 5)};
  EXPECT_THAT(texts(difference(before, after).lines),
              UnorderedElementsAre("removed a.frag:2 4>0", "added a.frag:2 0>5"));
  after.identity.hash = "1";
  EXPECT_THAT(texts(difference(before, after).lines), ElementsAre("changed a.frag:2 4>5"));
}

TEST(ShaderDifference, tells_more_invocations_from_more_work) {
  ShaderItem before = shader("1", {"a();", "b();"}), after = shader("1", {"a();", "b();"});
  before.lines = {line(1, 10), line(2, 10)};
  after.lines = {line(1, 30), line(2, 31)};
  const auto found = difference(before, after, {10, 30});
  ASSERT_EQ(found.lines.size(), 2u);
  EXPECT_TRUE(found.lines[0].only_invocations);
  EXPECT_FALSE(found.lines[1].only_invocations);
}

}  // namespace
}  // namespace tally::analysis
