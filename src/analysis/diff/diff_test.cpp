// Tests of the alignment of lines, and of differences between captures that the tests write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "analysis/check/snapshot.h"
#include "analysis/diff/alignment.h"
#include "analysis/diff/difference.h"
#include "analysis/diff/make_profile.h"
#include "analysis/model/model.h"
#include "analysis/testing/test_scene.h"

namespace tally::analysis {
namespace {

using store::RowId;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Lines = std::vector<std::string>;

// "0=0 1~2 2-": same, edited or moved line, or none.
std::string alignment(const Lines& before, const Lines& after) {
  std::string text;
  const auto aligned = align_lines(before, after);
  for (size_t i = 0; i < aligned.size(); ++i) {
    text += (i == 0 ? "" : " ") + std::to_string(i);
    const char kind = "-=~>"[static_cast<size_t>(aligned[i].match)];
    text += kind;
    if (kind != '-') text += std::to_string(aligned[i].after);
  }
  return text;
}

TEST(LineAlignment, finds_the_same_lines_around_an_insertion) {
  EXPECT_EQ(alignment({"a", "b", "c"}, {"a", "x", "y", "b", "c"}), "0=0 1=3 2=4");
}

TEST(LineAlignment, ignores_indentation) {
  EXPECT_EQ(alignment({"  if (a)", "b\t"}, {"if (a)", "  b"}), "0=0 1=1");
}

TEST(LineAlignment, pairs_an_edited_line_with_the_similar_one_between_the_same_neighbours) {
  EXPECT_EQ(
      alignment({"begin", "sum += noise(4);", "end"}, {"begin", "x", "sum += noise(5);", "end"}),
      "0=0 1~2 2=3");
  EXPECT_EQ(alignment({"begin", "return a;", "end"}, {"begin", "color = texture(b);", "end"}),
            "0=0 1- 2=2");
}

TEST(LineAlignment, finds_a_line_in_another_order_if_it_occurs_once) {
  EXPECT_EQ(alignment({"float light = 1.0;", "one", "two", "three"},
                      {"one", "two", "three", "float light = 1.0;"}),
            "0>3 1=0 2=1 3=2");
  EXPECT_EQ(alignment({"}", "one", "two", "three"}, {"one", "two", "three", "}"}),
            "0- 1=0 2=1 3=2");
}

// The library compares long sequences in parts.
TEST(LineAlignment, of_long_texts_is_in_order_and_only_of_equal_lines) {
  std::mt19937 random(7);
  Lines before, after;
  for (int i = 0; i < 6000; ++i) {
    before.push_back(std::to_string(random() % 500));
    after.push_back(std::to_string(random() % 500));
  }
  const auto aligned = align_lines(before, after);
  size_t next = 0, same = 0;
  for (size_t i = 0; i < aligned.size(); ++i) {
    if (aligned[i].match != LineMatch::Same) continue;
    ASSERT_GE(aligned[i].after, next);
    ASSERT_EQ(before[i], after[aligned[i].after]);
    next = aligned[i].after + 1;
    ++same;
  }
  EXPECT_GT(same, 0u);
}

TEST(UnifiedPatch, holds_the_changed_lines_with_their_neighbours) {
  EXPECT_EQ(unified_patch("f", Lines{"a", "b", "c", "d", "e", "f", "g"},
                          Lines{"a", "b", "c", "d", "E", "f", "g"}),
            "--- a/f\n+++ b/f\n@@ -2,6 +2,6 @@\n b\n c\n d\n-e\n+E\n f\n g\n");
  EXPECT_EQ(unified_patch("f", Lines{}, Lines{"a"}), "--- a/f\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n");
  EXPECT_EQ(unified_patch("f", Lines{"a"}, Lines{"a"}), "");
}

class Diff : public testing::Test {
 protected:
  static Profile profile(const std::string& file,
                         const ProfileOptions& options = {.commands = CommandDetail::Items,
                                                          .chosen_commands = {},
                                                          .reconstructed = {}}) {
    auto reader = store::Reader::open(file);
    EXPECT_TRUE(reader.ok());
    const auto model = load_model(std::move(*reader), {});
    EXPECT_TRUE(model.ok());
    auto made = make_profile(*model, options, nullptr);
    EXPECT_TRUE(made.ok());
    return std::move(*made);
  }

  CaptureDiff diff() const { return compare(profile(before_), profile(after_)); }

  static const Difference& only(const CaptureDiff& diff, DiffBy by) {
    static const Difference kNone;
    EXPECT_EQ(diff.of(by).size(), 1u);
    return diff.of(by).empty() ? kNone : diff.of(by).front();
  }

  store::TestDirectory directory_;
  const std::string before_ = directory_.file("before.tally");
  const std::string after_ = directory_.file("after.tally");
};

// Two pipelines of one module: the second one specializes it.
void write_specialized(const std::string& file, uint64_t executions, bool turned) {
  TestScene scene(file);
  const Specialization constants = {{0, 4, 0}};
  RowId plain = 0, special = 0;
  if (turned) special = scene.add_shader("aa", "a.comp", branching_shader(), constants);
  plain = scene.add_shader("aa", "a.comp");
  if (!turned) special = scene.add_shader("aa", "a.comp", branching_shader(), constants);
  const RowId first = scene.add_pipeline("p1", "", plain),
              second = scene.add_pipeline("p2", "", special);
  scene.begin_frame(0);
  scene.dispatch(first, {}, {}, {4, 4, 0, 4});
  scene.dispatch(second, {}, {}, {executions, 0, executions, executions});
  scene.finish();
}

TEST_F(Diff, finds_shaders_of_one_module_by_their_constants) {
  write_specialized(before_, 5, false);
  write_specialized(after_, 6, true);
  const CaptureDiff found = diff();
  const Difference& shader = only(found, DiffBy::Shader);
  EXPECT_EQ(shader.name, "a.comp [0=false]");
  EXPECT_EQ(shader.change, Change::Changed);
}

TEST_F(Diff, a_shader_whose_constants_change_is_the_same_shader) {
  for (const auto& [file, value] : {std::pair(before_, 0u), std::pair(after_, 1u)}) {
    TestScene scene(file);
    const RowId shader = scene.add_shader("aa", "a.comp", branching_shader(), {{0, 4, value}});
    scene.begin_frame(0);
    scene.dispatch(scene.add_pipeline("p1", "", shader), {}, {}, {4 + value, 4, 0, 4});
    scene.finish();
  }
  const CaptureDiff found = diff();
  const Difference& shader = only(found, DiffBy::Shader);
  EXPECT_EQ(shader.name, "a.comp");
  EXPECT_EQ(shader.old_name, "a.comp [0=false]");
}

TEST_F(Diff, snapshots_name_the_constants_whatever_else_runs) {
  write_specialized(before_, 5, false);
  {
    TestScene scene(after_);
    const RowId shader = scene.add_shader("aa", "a.comp", branching_shader(), {{0, 4, 0}});
    scene.begin_frame(0);
    scene.dispatch(scene.add_pipeline("p2", "", shader), {}, {}, {5, 0, 5, 5});
    scene.finish();
  }
  const CountKey key{"shader", "a.comp [0=false] compute", "executions"};
  EXPECT_EQ(make_snapshot(profile(before_), "").counts.at(key), 15u);
  EXPECT_EQ(make_snapshot(profile(after_), "").counts.at(key), 15u);
}

TEST_F(Diff, is_empty_if_only_order_and_time_differ) {
  for (const auto& [file, turned] : {std::pair(before_, false), std::pair(after_, true)}) {
    TestScene scene(file);
    const RowId shader = scene.add_shader("aa", "a.comp");
    RowId blur = 0, sum = 0;
    if (turned) sum = scene.add_pipeline("p2", "sum", shader);
    blur = scene.add_pipeline("p1", "blur", shader);
    if (!turned) sum = scene.add_pipeline("p2", "sum", shader);
    scene.begin_frame(0);
    scene.dispatch(turned ? sum : blur, {}, turned ? 5 : 700, {4, 4, 0, 4});
    scene.dispatch(turned ? blur : sum, {}, turned ? 900 : 6, {4, 4, 0, 4});
    scene.finish();
  }
  const CaptureDiff none = diff();
  EXPECT_TRUE(none.empty());
  EXPECT_THAT(none.notes, IsEmpty());
}

TEST_F(Diff, tells_renamed_from_added_and_removed) {
  for (const bool after : {false, true}) {
    TestScene scene(after ? after_ : before_);
    const RowId shader = scene.add_shader("aa", "a.comp");
    scene.begin_frame(0);
    const auto run = [&](const char* hash, const char* name) {
      scene.dispatch(scene.add_pipeline(hash, name, shader), {}, {}, {4, 4, 0, 4});
    };
    run("p1", after ? "soften" : "blur");
    after ? run("p3", "grain") : run("p2", "sum");
    scene.finish();
  }
  const CaptureDiff changes = diff();
  std::vector<std::string> seen;
  for (const Difference& d : changes.of(DiffBy::Pipeline))
    seen.push_back(std::to_string(static_cast<int>(d.change)) + d.old_name + ">" + d.name);
  // The left-over pipelines have the same shaders, and so are versions of one another.
  EXPECT_THAT(seen, ElementsAre(std::to_string(static_cast<int>(Change::Renamed)) + "blur>soften",
                                std::to_string(static_cast<int>(Change::Renamed)) + "sum>grain"));
}

TEST_F(Diff, matches_an_edited_shader_by_its_name) {
  for (const bool after : {false, true}) {
    TestScene scene(after ? after_ : before_);
    const RowId shader = scene.add_shader(after ? "bb" : "aa", "a.comp");
    const RowId pipeline = scene.add_pipeline(after ? "p2" : "p1", "", shader);
    scene.begin_frame(0);
    scene.dispatch(pipeline, {}, {}, {4, 3, after ? 2u : 1u, 4});
    scene.finish();
  }
  const CaptureDiff changes = diff();
  EXPECT_EQ(only(changes, DiffBy::Shader).change, Change::Changed);
  EXPECT_EQ(only(changes, DiffBy::Pipeline).change, Change::Changed);
  const Difference& line = only(changes, DiffBy::Line);
  EXPECT_EQ(line.name, "branch.comp:4");
  EXPECT_EQ(line.text, "else a = 1 + 2;");
  EXPECT_FALSE(line.only_invocations);
  EXPECT_FALSE(changes.same_code);
}

TEST_F(Diff, says_which_frames_of_a_command_differ_and_that_the_code_is_not_the_cause) {
  for (const bool after : {false, true}) {
    TestScene scene(after ? after_ : before_);
    const RowId shader = scene.add_shader("aa", "a.comp");
    const RowId pipeline = scene.add_pipeline("p1", "blur", shader);
    for (int64_t frame = 0; frame < 4; ++frame) {
      scene.begin_frame(frame);
      const uint64_t times = after && frame != 1 ? 16 : 8;
      scene.dispatch(pipeline, {}, {}, {times, times, 0, times});
    }
    scene.finish();
  }
  const CaptureDiff changes = diff();
  EXPECT_TRUE(changes.same_code);
  EXPECT_EQ(only(changes, DiffBy::Command).frames, "0, 2-3");
  EXPECT_TRUE(only(changes, DiffBy::Shader).only_invocations);
  for (const Difference& line : changes.of(DiffBy::Line)) EXPECT_TRUE(line.only_invocations);
}

TEST_F(Diff, commands_have_the_times_of_the_frames_in_which_all_like_them_were_timed) {
  for (const bool after : {false, true}) {
    TestScene scene(after ? after_ : before_);
    const RowId shader = scene.add_shader("aa", "a.comp");
    const RowId pipeline = scene.add_pipeline("p1", "blur", shader);
    for (int64_t frame = 0; frame < 4; ++frame) {  // the first one begins with a first use
      scene.begin_frame(frame);
      const int64_t time = after ? 10 + frame : 10;
      const uint64_t times = after ? 16 : 8;
      scene.dispatch(pipeline, {}, time, {times, times, 0, times});
      scene.dispatch(pipeline, {}, frame == 2 ? std::nullopt : std::optional(time),
                     {times, times, 0, times});
    }
    scene.finish();
  }
  const CaptureDiff changes = diff();
  const Difference& command = only(changes, DiffBy::Command);
  ASSERT_TRUE(command.time_before && command.time_after);
  EXPECT_EQ(command.time_before->frames, 2u);
  EXPECT_EQ(command.time_before->median_ns, 20u);
  EXPECT_EQ(command.time_after->min_ns, 22u);
  EXPECT_EQ(command.time_after->max_ns, 26u);
}

TEST_F(Diff, commands_have_no_times_of_frames_with_estimated_ones) {
  for (const bool after : {false, true}) {
    TestScene scene(after ? after_ : before_);
    const RowId pipeline = scene.add_pipeline("p1", "blur", scene.add_shader("aa", "a.comp"));
    scene.begin_frame(0);
    scene.dispatch(pipeline, {}, 99, {after ? 2u : 1u});  // the first use
    int64_t frame = 1;
    for (const std::optional<int64_t> time : {std::optional<int64_t>(10), {}, {12}}) {
      scene.begin_frame(frame++);
      scene.dispatch_sampled(pipeline, 1, {time});
    }
    scene.finish();
  }
  const CaptureDiff changes = diff();
  const Difference& command = only(changes, DiffBy::Command);
  ASSERT_TRUE(command.time_before);
  EXPECT_EQ(command.time_before->frames, 2u);
  EXPECT_EQ(command.time_before->min_ns, 10u);
  EXPECT_EQ(command.time_before->max_ns, 12u);
}

TEST_F(Diff, passes_have_no_times_of_frames_with_estimated_ones) {
  for (const bool after : {false, true}) {
    TestScene scene(after ? after_ : before_);
    const RowId pipeline = scene.add_pipeline("p1", "blur", scene.add_shader("aa", "a.comp"));
    int64_t frame = 0;
    for (const std::optional<int64_t> time : {std::optional<int64_t>(99), {10}, {}, {12}}) {
      scene.begin_frame(frame++);
      for (const std::optional<int64_t> of_pass : {std::optional<int64_t>(5), time}) {
        scene.begin_pass(of_pass, 1);
        scene.dispatch(pipeline, {}, {}, {after ? 2u : 1u});
      }
    }
    scene.finish();
  }
  const CaptureDiff changes = diff();
  const Difference& pass = only(changes, DiffBy::Pass);
  ASSERT_TRUE(pass.time_before);
  EXPECT_EQ(pass.time_before->frames, 3u);
  EXPECT_EQ(pass.time_before->min_ns, 15u);
  EXPECT_EQ(pass.time_before->max_ns, 99u) << "the first use was 5";
}

// One of two pipelines does more in the second of two frames.
TEST_F(Diff, digests_choose_the_commands_that_differ) {
  for (const bool after : {false, true}) {
    TestScene scene(after ? after_ : before_);
    const RowId shader = scene.add_shader("aa", "a.comp");
    const RowId same = scene.add_pipeline("p1", "same", shader);
    const RowId changed = scene.add_pipeline("p2", "changed", shader);
    for (const uint64_t frame : {0, 1}) {
      scene.begin_frame(static_cast<int64_t>(frame));
      const uint64_t times = after ? 8 + frame : 8;
      scene.dispatch(same, {}, {}, {8, 8, 0, 8});
      scene.dispatch(changed, {}, {}, {times, times, 0, times});
    }
    scene.finish();
  }
  const ProfileOptions digests{
      .commands = CommandDetail::Digests, .chosen_commands = {}, .reconstructed = {}};
  const Profile before = profile(before_, digests), after = profile(after_, digests);
  EXPECT_EQ(before.command_digests.size(), 2u);
  EXPECT_TRUE(before.commands.empty());
  EXPECT_TRUE(differing_commands(before, before).empty());
  const auto chosen =
      std::make_shared<const std::vector<Hash128>>(differing_commands(before, after));
  ASSERT_EQ(chosen->size(), 1u);
  const ProfileOptions items{
      .commands = CommandDetail::Items, .chosen_commands = chosen, .reconstructed = {}};
  const CaptureDiff some = compare(profile(before_, items), profile(after_, items));
  EXPECT_EQ(only(some, DiffBy::Command).name, only(diff(), DiffBy::Command).name);
  EXPECT_EQ(only(some, DiffBy::Command).frames, "1");
  EXPECT_EQ(some.of(DiffBy::Shader).size(), diff().of(DiffBy::Shader).size());
}

// Without debug information. Blocks: 0 entry, 1 then, 2 else, 3 merge.
std::vector<uint32_t> shader_without_lines(const std::string& stored_by_else) {
  const std::string text = R"(
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %data DescriptorSet 0
OpDecorate %data Binding 0
%void = OpTypeVoid
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%function = OpTypeFunction %void
%block = OpTypeStruct %uint
%to_block = OpTypePointer StorageBuffer %block
%to_uint = OpTypePointer StorageBuffer %uint
%data = OpVariable %to_block StorageBuffer
%zero = OpConstant %uint 0
%seven = OpConstant %uint 7
%nine = OpConstant %uint 9
%ten = OpConstant %uint 10
%main = OpFunction %void None %function
%entry = OpLabel
%value = OpAccessChain %to_uint %data %zero
%old = OpLoad %uint %value
%big = OpUGreaterThan %bool %old %seven
OpSelectionMerge %end None
OpBranchConditional %big %then %else
%then = OpLabel
OpStore %value %seven
OpBranch %end
%else = OpLabel
OpStore %value )" + stored_by_else +
                           R"(
OpBranch %end
%end = OpLabel
OpReturn
OpFunctionEnd
)";
  return assembled(text);
}

class GlslDiff : public Diff {
 protected:
  struct Run {
    const char* hash;
    const char* stored_by_else;
    std::vector<uint64_t> executions;
  };

  static void write(const std::string& file, const Run& run) {
    TestScene scene(file);
    const RowId shader =
        scene.add_shader(run.hash, "a.comp", shader_without_lines(run.stored_by_else));
    scene.begin_frame(0);
    scene.dispatch(scene.add_pipeline("p", "p", shader), {}, {}, run.executions);
    scene.finish();
  }

  std::set<std::string> candidates(SourceChoice choice) const {
    return glsl_candidates(profile(before_), profile(after_), choice);
  }

  CaptureDiff diff(SourceChoice choice) const {
    const ProfileOptions options{.source = choice, .reconstructed = candidates(choice)};
    return compare(profile(before_, options), profile(after_, options));
  }

  static const Difference* line_with(const CaptureDiff& diff, const std::string& text) {
    for (const Difference& line : diff.of(DiffBy::Line))
      if (line.text.find(text) != std::string::npos) return &line;
    return nullptr;
  }
};

// The totals of the shader are the same: only lines tell.
TEST_F(GlslDiff, names_the_reconstructed_line_whose_counts_changed) {
  write(before_, {"aa", "%nine", {4, 3, 1, 4}});
  write(after_, {"aa", "%nine", {4, 1, 3, 4}});
  const CaptureDiff changes = diff(SourceChoice::Auto);
  const Difference* line = line_with(changes, "= 9u;");
  ASSERT_NE(line, nullptr);
  EXPECT_THAT(line->name, testing::StartsWith("a.comp:glsl:"));
  EXPECT_EQ(line->origin, "reconstructed");
  EXPECT_EQ(values_of(*line, 0).before, 1u);
  EXPECT_EQ(values_of(*line, 0).after, 3u);
  ASSERT_NE(line_with(changes, "= 7u;"), nullptr);
  EXPECT_THAT(changes.notes, ElementsAre(HasSubstr("not the application's text")));
}

TEST_F(GlslDiff, names_the_reconstructed_line_that_was_edited) {
  write(before_, {"aa", "%nine", {4, 3, 1, 4}});
  write(after_, {"bb", "%ten", {4, 2, 2, 4}});
  const CaptureDiff changes = diff(SourceChoice::Auto);
  const Difference* line = line_with(changes, "= 10u;");
  ASSERT_NE(line, nullptr);
  EXPECT_THAT(line->old_text, HasSubstr("= 9u;"));
  EXPECT_EQ(line->change, Change::Changed);
}

TEST_F(GlslDiff, has_no_such_lines_if_they_are_not_wanted) {
  write(before_, {"aa", "%nine", {4, 3, 1, 4}});
  write(after_, {"bb", "%ten", {4, 2, 2, 4}});
  for (const SourceChoice choice : {SourceChoice::Debug, SourceChoice::Spirv}) {
    const CaptureDiff changes = diff(choice);
    for (const Difference& line : changes.of(DiffBy::Line)) EXPECT_EQ(line.line, 0u);
    EXPECT_THAT(changes.notes, IsEmpty());
  }
}

TEST_F(GlslDiff, reconstructs_only_shaders_that_differ) {
  write(before_, {"aa", "%nine", {4, 3, 1, 4}});
  write(after_, {"aa", "%nine", {4, 3, 1, 4}});
  EXPECT_THAT(candidates(SourceChoice::Auto), IsEmpty());
  EXPECT_THAT(candidates(SourceChoice::Glsl), IsEmpty());
  write(after_, {"bb", "%ten", {4, 3, 1, 4}});
  EXPECT_EQ(candidates(SourceChoice::Auto).size(), 2u);
  EXPECT_THAT(candidates(SourceChoice::Debug), IsEmpty());
}

TEST_F(GlslDiff, replaces_debug_lines_only_if_asked_to) {
  for (const bool after : {false, true}) {
    TestScene scene(after ? after_ : before_);
    const RowId pipeline = scene.add_pipeline("p", "p", scene.add_shader("aa", "a.comp"));
    scene.begin_frame(0);
    scene.dispatch(pipeline, {}, {}, {4, after ? 2u : 3u, after ? 2u : 1u, 4});
    scene.finish();
  }
  EXPECT_THAT(candidates(SourceChoice::Auto), IsEmpty());
  EXPECT_EQ(candidates(SourceChoice::Glsl).size(), 1u);
  EXPECT_TRUE(diff(SourceChoice::Spirv).of(DiffBy::Line).empty());
  ASSERT_FALSE(diff(SourceChoice::Auto).of(DiffBy::Line).empty());
  EXPECT_EQ(diff(SourceChoice::Auto).of(DiffBy::Line)[0].origin, "debug");
}

TEST_F(Diff, notes_another_number_of_frames) {
  for (const bool after : {false, true}) {
    TestScene scene(after ? after_ : before_);
    const RowId pipeline = scene.add_pipeline("p1", "blur", scene.add_shader("aa", "a.comp"));
    for (int64_t frame = 0; frame < (after ? 2 : 1); ++frame) {
      scene.begin_frame(frame);
      scene.dispatch(pipeline, {}, {}, {4, 4, 0, 4});
    }
    scene.finish();
  }
  EXPECT_THAT(diff().notes, ElementsAre(HasSubstr("frames: OLD has 1, NEW has 2")));
}

}  // namespace
}  // namespace tally::analysis
