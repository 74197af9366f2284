// The capture layer above VK_LAYER_TALLY_counters on lavapipe: the two know each other only through
// the extension.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "capture/testing/session.h"

namespace tally::capture::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr const char* kLayers = "VK_LAYER_TALLY_capture:VK_LAYER_TALLY_counters";
constexpr int64_t kGroup = 32;  // invocations of the client's compute shader

Session run(SessionOptions options, int exit_status = 0) {
  options.layers = kLayers;
  options.environment.emplace("TALLY_VALIDATE_SPIRV", "1");
  Session session(options);
  EXPECT_EQ(session.exit_status(), exit_status) << session.errors();
  EXPECT_EQ(session.number("SELECT count(*) FROM message WHERE severity = 'error'"), 0)
      << session.text("SELECT text FROM message");
  return session;
}

std::vector<int64_t> executions(const Session& session) {
  std::vector<int64_t> values;
  for (const SeenCommand& command : session.commands()) values.push_back(command.executions);
  return values;
}

TEST(CaptureWithCounters, invocations_are_exact_in_every_submission) {
  EXPECT_THAT(executions(run({.scenario = "resubmit"})),
              ElementsAre(kGroup, 2 * kGroup, 3 * kGroup, kGroup, 2 * kGroup, 3 * kGroup));
}

TEST(CaptureWithCounters, overlapping_submissions_add_up_exactly) {
  const Session session = run({.scenario = "simultaneous"});
  EXPECT_EQ(session.number("SELECT sum(executions) FROM block_count WHERE block = 0"),
            40 * 5 * kGroup);
}

TEST(CaptureWithCounters, every_stage_of_a_draw_is_measured) {
  const Session session = run({.scenario = "render_pass"});
  ASSERT_THAT(session.commands(), SizeIs(2));
  EXPECT_THAT(executions(session), ElementsAre(3 * 2, 3 * 3)) << "vertices";
  EXPECT_EQ(
      session.number("SELECT sum(executions) FROM block_count WHERE stage = 16 AND block = 0"),
      64 * 64 * (2 + 3))
      << "fragments";
}

TEST(CaptureWithCounters, secondaries_and_suspended_passes_are_exact) {
  EXPECT_THAT(executions(run({.scenario = "secondaries"})),
              ElementsAre(kGroup, 4 * kGroup, 3 * 2, 2 * 3 * 5, 9 * kGroup));
  EXPECT_THAT(executions(run({.scenario = "suspended"})), ElementsAre(kGroup, 3, 6, 9, 2 * kGroup));
}

TEST(CaptureWithCounters, threads_and_devices_are_exact) {
  EXPECT_EQ(run({.scenario = "threads"})
                .number("SELECT sum(executions) FROM block_count WHERE block = 0"),
            25 * (1 + 2 + 3 + 4) * kGroup);
  EXPECT_EQ(run({.scenario = "two_devices"})
                .number("SELECT sum(executions) FROM block_count WHERE block = 0"),
            (1 + 2) * kGroup);
}

TEST(CaptureWithCounters, long_command_buffers_are_exact) {
  const auto values = executions(run({.scenario = "many"}));
  ASSERT_THAT(values, SizeIs(2500));
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], static_cast<int64_t>(i % 7 + 1) * kGroup) << i;
  }
}

TEST(CaptureWithCounters, what_was_completed_before_a_violent_end_is_exact) {
  EXPECT_THAT(executions(run({.scenario = "ending", .how = "_exit"}, 3)), ElementsAre(7 * kGroup));
  EXPECT_THAT(executions(run({.scenario = "ending", .how = "kill"}, 128 + SIGKILL)),
              ElementsAre(7 * kGroup));
  EXPECT_THAT(executions(run({.scenario = "ending", .how = "exit"}, 4)), ElementsAre(7 * kGroup));
}

TEST(CaptureWithCounters, the_stored_module_numbers_its_blocks_as_the_counts_do) {
  const Session session = run({.scenario = "resubmit"});
  EXPECT_EQ(session.number("SELECT count(*) FROM module"), 1);
  EXPECT_EQ(session.number("SELECT count(*) FROM metric WHERE lower(name) = 'executions'"), 1);
  EXPECT_EQ(session.number("SELECT count(*) FROM block_cost JOIN metric ON metric.id = metric "
                           "WHERE lower(name) = 'executions' AND per_execution <> 1"),
            0);
}

}  // namespace
}  // namespace tally::capture::testing
