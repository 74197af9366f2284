// Command buffers that are submitted in several frames, where not all frames are captured: they are
// recorded twice. The client checks what they compute (testing/kept_scenarios.h). Above a strict
// double of a driver that has VK_ARM_shader_instrumentation, and above VK_LAYER_TALLY_counters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "capture/testing/session.h"

namespace tally::capture::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Environment = std::map<std::string, std::string>;

constexpr const char* kCounters = "VK_LAYER_TALLY_run";
constexpr const char* kDouble = "VK_LAYER_TALLY_capture:VK_LAYER_TALLY_test_native_driver";
constexpr const char* kAllWithCopies = "0-1000000";  // a choice of frames that leaves none out

Session run(const std::string& scenario, Environment environment, const char* layers) {
  environment.insert({{"TALLY_VALIDATE_SPIRV", "1"}, {"TALLY_STATIC_COSTS", "0"}});
  Session session({.scenario = scenario, .environment = environment, .layers = layers});
  EXPECT_EQ(session.exit_status(), 0) << scenario << ": " << session.errors();
  EXPECT_THAT(session.broken_rules(), IsEmpty()) << scenario;
  return session;
}

int64_t missing(const Session& session) {
  return session.number(
      "SELECT (SELECT sum(commands_missing) FROM frame) + "
      "(SELECT sum(commands_missing) FROM process)");
}

// The commands of the chosen frames with their counts, one per line.
std::string seen(
    const Session& session,
    const std::function<bool(int64_t frame)>& chosen = [](int64_t) { return true; }) {
  std::string text;
  for (const SeenCommand& command : session.commands()) {
    if (!chosen(command.frame)) continue;
    for (const int64_t value : {command.frame, command.position, command.runs, command.executions,
                                command.fma, command.subgroups, int64_t{command.has_gpu_time}}) {
      text += std::to_string(value) + " ";
    }
    text += command.call + command.parameters + command.pass_name + " " + command.label + "\n";
  }
  return text;
}

class CaptureKept : public ::testing::TestWithParam<const char*> {};

TEST_P(CaptureKept, frames_count_what_they_count_in_a_capture_of_all) {
  for (const char* scenario : {"kept_numbers", "kept_in_new", "kept_and_reset", "kept_picture",
                               "recorded_again", "recorded_once", "kept_secondary"}) {
    SCOPED_TRACE(scenario);
    const Session all = run(scenario, {}, GetParam());
    const Session some = run(scenario, {{"TALLY_EVERY", "3"}}, GetParam());
    EXPECT_EQ(seen(some), seen(all, [](int64_t frame) { return frame % 3 == 0; }));
    EXPECT_EQ(missing(some), 0);
    EXPECT_FALSE(seen(some).empty());
    const Session ranges = run(scenario, {{"TALLY_FRAMES", "1,4-5,7-"}}, GetParam());
    EXPECT_EQ(seen(ranges), seen(all, [](int64_t frame) {
                return frame == 1 || frame == 4 || frame == 5 || frame >= 7;
              }));
    EXPECT_EQ(missing(ranges), 0);
  }
}

TEST_P(CaptureKept, copies_count_what_the_command_buffers_themselves_would) {
  for (const char* scenario :
       {"resubmit", "render_pass", "secondaries", "suspended", "late_names", "ten", "many",
        "two_devices", "resets", "kept_numbers", "kept_and_reset", "kept_picture"}) {
    SCOPED_TRACE(scenario);
    const Session all = run(scenario, {}, GetParam());
    const Session copies = run(scenario, {{"TALLY_FRAMES", kAllWithCopies}}, GetParam());
    EXPECT_FALSE(seen(all).empty());
    EXPECT_EQ(seen(copies), seen(all));
    EXPECT_EQ(missing(copies), 0);
  }
}

TEST_P(CaptureKept, in_flight_in_many_frames_have_their_own_values) {
  const Session session = run("kept_simultaneous", {{"TALLY_EVERY", "4"}}, GetParam());
  const int64_t once = session.number(
      "SELECT min(total) FROM (SELECT sum(executions) AS total FROM block_count JOIN command_list "
      "USING (command) WHERE block = 0 GROUP BY frame)");
  EXPECT_GT(once, 0);
  EXPECT_EQ(session.number("SELECT count(DISTINCT frame) FROM command_list"), 3);
  EXPECT_EQ(session.number("SELECT sum(executions) FROM block_count WHERE block = 0"), 3 * once);
  EXPECT_EQ(missing(session), 0);
}

TEST_P(CaptureKept, of_several_threads_are_exact) {
  const Session session = run("kept_by_threads", {{"TALLY_EVERY", "4"}}, GetParam());
  const int64_t group = GetParam() == kDouble ? 1 : 32;
  const std::vector<SeenCommand> commands = session.commands();
  EXPECT_THAT(commands, SizeIs(4 * 8 * 3 / 4));
  for (const SeenCommand& command : commands) {
    EXPECT_EQ(command.parameters, R"({"groupCountX":)" +
                                      std::to_string(command.executions / group) +
                                      R"(,"groupCountY":1,"groupCountZ":1})");
  }
  EXPECT_EQ(missing(session), 0);
}

// A message names missing commands, and the client's numbers are right in any case.
TEST_P(CaptureKept, now_and_then_counts_what_it_lists) {
  const Session session = run("kept_now_and_then", {{"TALLY_EVERY", "3"}}, GetParam());
  const int64_t group = GetParam() == kDouble ? 1 : 32;
  for (const SeenCommand& command : session.commands()) {
    const int64_t recorded = command.frame < 4 ? command.frame : command.frame / 4 * 4;
    EXPECT_EQ(command.executions, (recorded + 1) * group) << command.frame;
  }
  EXPECT_EQ(session.number("SELECT count(*) FROM command_list") + missing(session), 6)
      << "of frames 0, 3, 6, 9, 12 and 15";
  EXPECT_LE(missing(session), 1) << "once, after it was used once per recording";
}

INSTANTIATE_TEST_SUITE_P(Above, CaptureKept, ::testing::Values(kDouble, kCounters),
                         [](const auto& layers) {
                           return layers.param == kDouble ? "a_double" : "counters";
                         });

// In a primary, and in a secondary that inherits them. A layer stands for a driver with heaps.
TEST(CaptureKeptWithHeaps, frames_count_what_they_count_in_a_capture_of_all) {
  const char* const layers =
      "VK_LAYER_TALLY_capture:VK_LAYER_TALLY_counters:VK_LAYER_TALLY_test_newest_driver";
  const Session all = run("kept_heaps", {}, layers);
  std::vector<int64_t> executions;
  for (const SeenCommand& command : all.commands()) {
    if (command.frame == 0 && command.executions >= 0) executions.push_back(command.executions);
  }
  EXPECT_THAT(executions, ElementsAre(32, 64, 32, 32, 64, 32, 64)) << "32 a workgroup";
  EXPECT_EQ(all.number("SELECT count(DISTINCT frame) FROM command_list"), 12);
  const Session some = run("kept_heaps", {{"TALLY_EVERY", "3"}}, layers);
  EXPECT_EQ(seen(some), seen(all, [](int64_t frame) { return frame % 3 == 0; }));
  EXPECT_EQ(missing(some), 0);
  const Session copies = run("kept_heaps", {{"TALLY_FRAMES", kAllWithCopies}}, layers);
  EXPECT_EQ(seen(copies), seen(all));
  EXPECT_EQ(missing(copies), 0);
}

TEST(CaptureKeptByRegion, passes_have_the_values_and_pictures_of_a_capture_of_all) {
  const char* const values =
      "SELECT group_concat(value, char(10)) FROM (SELECT name || total || hex(by_region) AS value "
      "FROM region_values JOIN region_counter ON region_counter.id = counter "
      "JOIN pass_regions ON pass_regions.id = regions "
      "WHERE name <> 'Fragment shader clock' ORDER BY pass, 1)";
  for (const char* scenario : {"kept_picture", "render_pass", "subpasses", "passes_again"}) {
    SCOPED_TRACE(scenario);
    const Session all = run(scenario, {{"TALLY_REGIONS", "1"}}, kCounters);
    const Session copies =
        run(scenario, {{"TALLY_REGIONS", "1"}, {"TALLY_FRAMES", kAllWithCopies}}, kCounters);
    EXPECT_EQ(copies.text(values), all.text(values));
    EXPECT_FALSE(all.text(values).empty());
    EXPECT_EQ(copies.number("SELECT count(*) FROM pass_picture"),
              all.number("SELECT count(*) FROM pass_picture"));
  }
}

TEST(CaptureKeptOutside, nothing_with_instrumentation_is_executed) {
  for (const char* scenario : {"kept_numbers", "kept_in_new", "kept_simultaneous", "kept_and_reset",
                               "kept_picture", "kept_by_threads", "recorded_once"}) {
    SCOPED_TRACE(scenario);
    EXPECT_EQ(run(scenario, {{"TALLY_TRIGGER", "1"}}, kDouble).counted_executions(), 0u);
  }
  EXPECT_EQ(run("kept_numbers", {{"TALLY_EVERY", "4"}}, kDouble).counted_executions(), 3u * 2)
      << "a primary and a secondary of frames 0, 4 and 8";
}

// The copies might lack it. So the command buffers themselves count.
TEST(CaptureKeptOutside, a_command_that_is_not_known_ends_the_copies) {
  const Session session = run("kept_beside_unknown", {{"TALLY_EVERY", "4"}}, kDouble);
  EXPECT_EQ(session.counted_executions(), 10u * 2) << "a primary and a secondary of each frame";
  EXPECT_THAT(session.errors(), HasSubstr("the capture does not know vkCmdUnknownTALLY"));
  EXPECT_EQ(seen(session), seen(run("kept_numbers", {{"TALLY_EVERY", "4"}}, kDouble)));
}

}  // namespace
}  // namespace tally::capture::testing
