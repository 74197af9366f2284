// Tests of the causes of a change, on profiles that the tests write.
#include "analysis/diff/causes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "analysis/diff/difference.h"

namespace tally::analysis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Lines = std::vector<std::string>;

constexpr uint64_t kDraws = 2, kPixels = 100;

TEST(SplitChange, gives_each_factor_what_it_adds_after_those_before_it) {
  // 2 draws of 10 invocations, each with 3 executions of 5: 300. Then 4 x 15 x 6 x 7.
  EXPECT_EQ(split_change({2, 20, 60, 300}, {4, 60, 360, 2520}, false),
            (ChangeParts{.code = 720, .executions = 900, .invocations = 300, .commands = 300}));
}

TEST(SplitChange, of_the_same_code_has_no_part_of_the_code) {
  // The blocks of a loop's line did not run in proportion.
  EXPECT_EQ(split_change({1, 10, 50, 130}, {1, 10, 60, 151}, true),
            (ChangeParts{.code = 0, .executions = 21}));
}

TEST(SplitChange, gives_all_that_is_left_to_a_factor_that_was_0) {
  EXPECT_EQ(split_change({0, 0, 0, 0}, {1, 4, 8, 40}, false), (ChangeParts{.commands = 40}));
  EXPECT_EQ(split_change({1, 4, 0, 0}, {2, 8, 8, 40}, false), (ChangeParts{.executions = 40}));
  EXPECT_EQ(split_change({1, 4, 8, 40}, {0, 0, 0, 0}, false), (ChangeParts{.commands = -40}));
}

TEST(SplitChange, adds_up_to_the_change_whatever_the_numbers_are) {
  std::mt19937_64 random(11);
  const auto number = [&] { return random() % 4 == 0 ? 0 : random() >> (random() % 60 + 3); };
  for (int i = 0; i < 10'000; ++i) {
    const ChangeFactors before{number(), number(), number(), number() >> 2};
    const ChangeFactors after{number(), number(), number(), number() >> 2};
    // Numbers that no program has may lead outside of 64 bits on the way.
    using Wide = unsigned __int128;
    const auto fits = [&](uint64_t old, uint64_t now) {
      return old == 0 || Wide{before.value} * now / old < Wide{1} << 62;
    };
    if (!fits(before.commands, after.commands) || !fits(before.invocations, after.invocations) ||
        !fits(before.executions, after.executions))
      continue;
    EXPECT_EQ(split_change(before, after, random() % 2 == 0).sum(),
              signed_difference(after.value, before.value));
  }
}

// A profile of one fragment shader, whose values are cost and executions.
class Causing : public testing::Test {
 protected:
  struct Line {
    uint32_t number;
    uint64_t executions, cost_per_execution;
    std::vector<uint32_t> loops = {};
  };

  static ShaderItem shader(const std::string& hash, const Lines& text,
                           const std::vector<Line>& lines, uint64_t draws = kDraws,
                           uint64_t invocations = kPixels) {
    ShaderItem item;
    item.name = "a.frag";
    item.place = item.stage = "fragment";
    item.identity = {.names = "a.frag fragment", .hash = hash, .likeness = {}};
    item.files = {{"shaders/a.frag", text}};
    item.values = {0, 0, invocations};
    item.commands_of_passes[0] = draws;
    for (const Line& line : lines) {
      const uint64_t cost = line.executions * line.cost_per_execution;
      item.values[0] += cost;
      item.lines.push_back({.line = line.number,
                            .values = {cost, line.executions, 0},
                            .code = line.cost_per_execution,
                            .loops = line.loops});
    }
    return item;
  }

  static Profile profile(std::vector<ShaderItem> shaders) {
    Profile profile;
    profile.metrics = {{.id = "cost", .title = "cost", .attribution = Attribution::ByClass},
                       {.id = "executions", .title = "exec"},
                       {.id = "invocations_fragment", .title = "fragment inv"}};
    profile.passes = {{.name = "main 4x4", .identity = {.names = "main"}, .values = {0, 0, 0}}};
    profile.shaders = std::move(shaders);
    return profile;
  }

  static Causes causes(const ShaderItem& before, const ShaderItem& after) {
    return compare(profile({before}), profile({after})).causes;
  }

  static std::vector<std::string> texts(const Causes& causes) {
    std::vector<std::string> texts;
    int64_t sum = 0;
    for (const Cause& cause : causes.list) {
      texts.push_back(cause_text(causes, cause));
      sum += cause.amount();
    }
    EXPECT_EQ(sum, signed_difference(causes.after, causes.before));
    return texts;
  }
};

const Lines kLoop = {"const int kSteps = 4;", "void main() {", "for (int i = 0; i < kSteps; ++i) {",
                     "sum += step(0.6, i);", "}"};

TEST_F(Causing, an_edit_comes_with_the_loop_that_it_made_longer) {
  ShaderItem before = shader("1", kLoop, {{3, 500, 2, {0}}, {4, 400, 5, {0}}});
  before.loops = {{0, 3, 100, 400}};
  Lines text = kLoop;
  text[3] = "sum += step(0.4, i);";
  ShaderItem after = shader("2", text, {{3, 600, 2, {0}}, {4, 500, 5, {0}}});
  after.loops = {{0, 3, 100, 500}};
  const Causes found = causes(before, after);
  EXPECT_THAT(texts(found),
              ElementsAre("a.frag:4 was edited (step(0.6, i) -> step(0.4, i)); the loop at :3 ran "
                          "5.0 instead of 4.0 times per entry; cost +23.3 %"));
  ASSERT_EQ(found.list[0].loops.size(), 1u);
  EXPECT_EQ(found.list[0].loops[0].part, 200 + 500);
}

TEST_F(Causing, an_edited_constant_is_named_although_its_line_has_no_code) {
  ShaderItem before = shader("1", kLoop, {{3, 500, 2, {0}}, {4, 400, 5, {0}}});
  before.loops = {{0, 3, 100, 400}};
  Lines text = kLoop;
  text[0] = "const int kSteps = 3;";
  ShaderItem after = shader("2", text, {{3, 400, 2, {0}}, {4, 300, 5, {0}}});
  after.loops = {{0, 3, 100, 300}};
  EXPECT_THAT(texts(causes(before, after)),
              ElementsAre("a.frag:1 was edited (const int kSteps = 4 -> const int kSteps = 3); the "
                          "loop at :3 ran 3.0 instead of 4.0 times per entry; cost -23.3 %"));
}

TEST_F(Causing, a_line_with_other_instructions_has_the_part_of_the_code) {
  const ShaderItem before = shader("1", kLoop, {{4, 100, 5}});
  Lines text = kLoop;
  text[3] = "sum += step(0.6, i) * 2.0;";
  const Causes found = causes(before, shader("2", text, {{4, 100, 6}}));
  EXPECT_THAT(texts(found), ElementsAre("a.frag:4 was edited (sum += step(0.6, i) -> sum += "
                                        "step(0.6, i) * 2.0); cost +20.0 %"));
  EXPECT_EQ(found.list[0].parts, (ChangeParts{.code = 100}));
  EXPECT_EQ(found.list[0].lines[0].code, 100);
}

TEST_F(Causing, moved_lines_and_comments_are_no_edits) {
  const ShaderItem before = shader(
      "1", {"float first = one(x);", "float other = two(x);", "float third = first + other;"},
      {{1, 100, 5}, {2, 100, 7}, {3, 100, 1}});
  const ShaderItem after = shader("2",
                                  {"// a comment", "float other = two(x);", "float first = one(x);",
                                   "float third = first + other;  // the sum"},
                                  {{2, 100, 7}, {3, 100, 6}, {4, 100, 1}});
  EXPECT_THAT(texts(causes(before, after)),
              ElementsAre("a.frag fragment has other code, though no line of its source differs; "
                          "cost +7.7 %"));
}

TEST_F(Causing, a_renamed_shader_with_the_same_lines_has_no_cause) {
  const ShaderItem before = shader("1", kLoop, {{4, 100, 5}});
  ShaderItem after = shader("1", kLoop, {{4, 100, 5}});
  after.name = "b.frag";
  after.identity.names = "b.frag fragment";
  after.files[0].name = "shaders/b.frag";
  EXPECT_THAT(texts(causes(before, after)), IsEmpty());
}

TEST_F(Causing, draws_and_invocations_are_causes_of_their_own) {
  const ShaderItem before = shader("1", kLoop, {{4, 100, 5}}, 2, 100);
  const ShaderItem after = shader("1", kLoop, {{4, 240, 5}}, 3, 240);
  Profile old = profile({before}), now = profile({after});
  for (Profile* p : {&old, &now}) p->metrics.push_back({.id = "draws", .title = "draws"});
  old.passes[0].values = {0, 0, 0, 2};
  now.passes[0].values = {0, 0, 0, 3};
  EXPECT_THAT(
      texts(compare(old, now).causes),
      ElementsAre("a.frag fragment had 80.0 instead of 50.0 invocations per draw; cost +90.0 %",
                  "main 4x4 had 3 draws instead of 2; cost +50.0 %"));
}

TEST_F(Causing, the_same_code_with_other_data_is_not_called_edited) {
  ShaderItem before = shader("1", kLoop, {{4, 400, 5, {0}}});
  before.loops = {{0, 3, 100, 400}};
  ShaderItem after = shader("1", kLoop, {{4, 800, 5, {0}}});
  after.loops = {{0, 3, 100, 800}};
  EXPECT_THAT(
      texts(causes(before, after)),
      ElementsAre(
          "a.frag fragment has the same code and took other paths; the loop at a.frag:3 ran "
          "8.0 instead of 4.0 times per entry; cost +100.0 %"));
}

TEST_F(Causing, shaders_that_include_the_same_edited_line_have_one_cause) {
  Lines text = kLoop;
  text[3] = "sum += step(0.6, i) + 1.0;";
  std::vector<ShaderItem> before, after;
  for (const char* name : {"a.frag", "b.frag"}) {
    ShaderItem old = shader("1", kLoop, {{4, 100, 5}}), now = shader("2", text, {{4, 100, 6}});
    for (ShaderItem* item : {&old, &now}) {
      item->name = name;
      item->identity.names = name;
      item->identity.hash += name;
    }
    before.push_back(old), after.push_back(now);
  }
  const Causes found = compare(profile(before), profile(after)).causes;
  EXPECT_THAT(texts(found), ElementsAre("a.frag:4 was edited (sum += step(0.6, i) -> sum += "
                                        "step(0.6, i) + 1.0) in 2 shaders; cost +20.0 %"));
  EXPECT_EQ(found.list[0].lines[0].code, 200);
}

TEST_F(Causing, new_and_lost_shaders_are_named) {
  const ShaderItem before = shader("1", {"alpha();"}, {{1, 100, 5}});
  ShaderItem after = shader("2", {"omega();"}, {{1, 100, 7}});
  after.name = "b.frag";
  after.identity.names = "b.frag";
  EXPECT_THAT(texts(causes(before, after)),
              ElementsAre("b.frag fragment did not run before; cost +700",
                          "a.frag fragment does not run any more; cost -100.0 %"));
}

}  // namespace
}  // namespace tally::analysis
