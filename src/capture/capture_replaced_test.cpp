// The capture layer with a list of shaders to replace, above VK_LAYER_TALLY_counters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <span>
#include <string>

#include "capture/testing/session.h"
#include "double.comp.h"
#include "looped.frag.h"
#include "looped_double.comp.h"
#include "store/testing/test_capture.h"

namespace tally::capture::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kLayers = "VK_LAYER_TALLY_run";

class CaptureReplaced : public ::testing::Test {
 protected:
  // The list of one shader, as `tally run` writes it.
  std::string list(const std::string& pattern, std::span<const uint32_t> words) {
    const std::string spirv = folder_.file("code.spv");
    std::string file = folder_.file("list");
    std::ofstream(spirv, std::ios::binary)
        .write(reinterpret_cast<const char*>(words.data()),
               static_cast<std::streamsize>(words.size_bytes()));
    std::ofstream(file) << pattern << '\t' << pattern << "\tcode.spv\t" << spirv << '\n';
    return file;
  }

  store::TestDirectory folder_;
};

int64_t most_executions(const Session& session, const std::string& stage) {
  return session.number(
      "SELECT max(n) FROM (SELECT sum(executions) AS n FROM block_count WHERE stage = " + stage +
      " GROUP BY block)");
}

// 6 draws of 64x64 fragments; the test of the loop runs 6 times in each.
TEST_F(CaptureReplaced, shader_objects_run_with_the_replacement) {
  constexpr int64_t kFragments = 64 * 64 * (1 + 2 + 3);
  const Session before({.scenario = "shader_objects", .layers = kLayers});
  if (before.exit_status() == 77) GTEST_SKIP() << "no shader objects";
  ASSERT_EQ(before.exit_status(), 0) << before.errors();
  EXPECT_EQ(most_executions(before, "16"), kFragments);
  const Session after({.scenario = "shader_objects",
                       .environment = {{"TALLY_REPLACE", list("main", looped_frag)}},
                       .layers = kLayers});
  ASSERT_EQ(after.exit_status(), 0) << after.errors();
  EXPECT_EQ(most_executions(after, "16"), 6 * kFragments);
  EXPECT_EQ(most_executions(after, "1"), most_executions(before, "1")) << "of another stage";
  EXPECT_EQ(after.number("SELECT count(*) FROM replacement WHERE new_hash <> ''"), 1);
}

TEST_F(CaptureReplaced, compute_pipelines_run_with_the_replacement) {
  const Session before({.scenario = "resubmit", .layers = kLayers});
  ASSERT_EQ(before.exit_status(), 0) << before.errors();
  const Session after({.scenario = "resubmit",
                       .environment = {{"TALLY_REPLACE", list("main", looped_double_comp)}},
                       .layers = kLayers});
  ASSERT_EQ(after.exit_status(), 0) << after.errors();
  EXPECT_EQ(most_executions(after, "32"), 6 * most_executions(before, "32"));
  EXPECT_EQ(after.text("SELECT file FROM replacement"), "code.spv");
  EXPECT_EQ(after.text("SELECT refusal FROM replacement"), "");
  EXPECT_EQ(after.text("SELECT name FROM module"), after.text("SELECT shader FROM replacement"))
      << "it is shown under the original's name";
}

// The module is in the stage's pNext, and so no replacement may leave it there.
TEST_F(CaptureReplaced, code_in_the_stage_itself_is_replaced) {
  const Session before({.scenario = "inline_module", .layers = kLayers});
  if (before.exit_status() == 77) GTEST_SKIP() << "no graphicsPipelineLibrary";
  ASSERT_EQ(before.exit_status(), 0) << before.errors();
  EXPECT_EQ(most_executions(before, "32"), 2 * 32);
  const Session after({.scenario = "inline_module",
                       .environment = {{"TALLY_REPLACE", list("main", looped_double_comp)}},
                       .layers = kLayers});
  ASSERT_EQ(after.exit_status(), 0) << after.errors();
  EXPECT_EQ(most_executions(after, "32"), 6 * 2 * 32);
  EXPECT_EQ(after.text("SELECT refusal FROM replacement"), "");
}

TEST_F(CaptureReplaced, a_pipeline_that_is_linked_from_libraries_runs_with_the_replacement) {
  const Session before({.scenario = "libraries", .layers = kLayers});
  if (before.exit_status() == 77) GTEST_SKIP() << "no graphicsPipelineLibrary";
  ASSERT_EQ(before.exit_status(), 0) << before.errors();
  EXPECT_EQ(most_executions(before, "16"), 64 * 64);
  const Session after({.scenario = "libraries",
                       .environment = {{"TALLY_REPLACE", list("main", looped_frag)}},
                       .layers = kLayers});
  ASSERT_EQ(after.exit_status(), 0) << after.errors();
  EXPECT_EQ(most_executions(after, "16"), 6 * 64 * 64);
  EXPECT_EQ(most_executions(after, "1"), most_executions(before, "1")) << "of another library";
  EXPECT_EQ(after.number("SELECT count(*) FROM replacement WHERE new_hash <> ''"), 1);
}

TEST_F(CaptureReplaced, a_shader_that_is_replaced_by_itself_is_the_same_module) {
  const Session before({.scenario = "resubmit", .layers = kLayers});
  const Session after({.scenario = "resubmit",
                       .environment = {{"TALLY_REPLACE", list("main", double_comp)}},
                       .layers = kLayers});
  ASSERT_EQ(after.exit_status(), 0) << after.errors();
  EXPECT_EQ(after.text("SELECT hash FROM module"), before.text("SELECT hash FROM module"));
  EXPECT_EQ(after.text("SELECT new_hash FROM replacement"),
            after.text("SELECT hash FROM replacement"));
  EXPECT_EQ(most_executions(after, "32"), most_executions(before, "32"));
}

TEST_F(CaptureReplaced, code_that_is_damaged_or_missing_leaves_the_original) {
  const uint32_t nothing[] = {0x07230203, 0x00010000, 0, 1, 0};
  const Session damaged({.scenario = "resubmit",
                         .environment = {{"TALLY_REPLACE", list("main", nothing)}},
                         .layers = kLayers});
  ASSERT_EQ(damaged.exit_status(), 0) << damaged.errors();
  EXPECT_EQ(damaged.number("SELECT count(*) FROM replacement"), 0);
  const Session missing({.scenario = "resubmit",
                         .environment = {{"TALLY_REPLACE", folder_.file("none")}},
                         .layers = kLayers});
  ASSERT_EQ(missing.exit_status(), 0) << missing.errors();
  EXPECT_THAT(missing.text("SELECT text FROM message"), HasSubstr("shaders are not replaced"));
  EXPECT_EQ(most_executions(missing, "32"), most_executions(damaged, "32"));
}

}  // namespace
}  // namespace tally::capture::testing
