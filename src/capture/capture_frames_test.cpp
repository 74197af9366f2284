// Which frames are captured, and what is recorded for them, above a strict double of a driver that
// has VK_ARM_shader_instrumentation. See testing/frame_scenarios.h for what the client does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "capture/testing/session.h"

namespace tally::capture::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Environment = std::map<std::string, std::string>;

Session run(const std::string& scenario, const Environment& environment) {
  Session session({.scenario = scenario, .environment = environment});
  EXPECT_EQ(session.exit_status(), 0) << session.errors();
  EXPECT_THAT(session.broken_rules(), IsEmpty());
  return session;
}

std::vector<int64_t> executions(const Session& session) {
  std::vector<int64_t> values;
  for (const SeenCommand& command : session.commands()) values.push_back(command.executions);
  return values;
}

int64_t missing(const Session& session) {
  return session.number(
      "SELECT (SELECT sum(commands_missing) FROM frame) + "
      "(SELECT sum(commands_missing) FROM process)");
}

TEST(CaptureFrames, of_every_fourth_nothing_between_is_recorded) {
  const Session session = run("recorded_again", {{"TALLY_EVERY", "4"}});
  EXPECT_THAT(executions(session), ElementsAre(1, 5, 9));
  EXPECT_EQ(session.text("SELECT group_concat(number) FROM frame"), "0,4,8");
  EXPECT_EQ(missing(session), 0);
  EXPECT_EQ(session.begins(), 3u);
}

TEST(CaptureFrames, of_several_ranges_are_captured) {
  const Session session = run("recorded_again", {{"TALLY_FRAMES", "9-,1-2,5"}});
  EXPECT_THAT(executions(session), ElementsAre(2, 3, 6, 10, 11, 12));
  EXPECT_EQ(missing(session), 0);
}

TEST(CaptureFrames, every_fourth_is_counted_from_the_begin_of_its_range) {
  const Session session = run("recorded_again", {{"TALLY_FRAMES", "3-"}, {"TALLY_EVERY", "4"}});
  EXPECT_THAT(executions(session), ElementsAre(4, 8, 12));
}

TEST(CaptureFrames, a_command_buffer_that_is_recorded_once_is_counted_in_captured_frames_alone) {
  const Session session = run("recorded_once", {{"TALLY_EVERY", "4"}});
  EXPECT_THAT(executions(session), ElementsAre(100, 100, 100));
  EXPECT_EQ(missing(session), 0);
  EXPECT_EQ(session.begins(), 1u);
}

TEST(CaptureFrames, what_could_not_be_expected_is_missing_once_and_said) {
  const Session session = run("kept_later", {{"TALLY_EVERY", "5"}});
  EXPECT_THAT(executions(session), ElementsAre(1, 9)) << "of frames 0 and 10";
  EXPECT_EQ(session.number("SELECT commands_missing FROM frame WHERE number = 5"), 1);
  EXPECT_EQ(missing(session), 1);
  EXPECT_THAT(session.text("SELECT text FROM message"), HasSubstr("are not counted"));
}

TEST(CaptureFrames, a_secondary_that_is_kept_is_counted_in_each) {
  const Session session = run("kept_secondary", {{"TALLY_EVERY", "4"}});
  EXPECT_THAT(executions(session), ElementsAre(1, 100, 5, 100, 9, 100));
  EXPECT_EQ(missing(session), 0);
  EXPECT_EQ(session.begins(), 4u);
}

TEST(CaptureFrames, recorded_ahead_are_recorded_with_instrumentation) {
  const Session session = run("recorded_ahead", {{"TALLY_EVERY", "4"}});
  EXPECT_THAT(executions(session), ElementsAre(1, 5, 9));
  EXPECT_EQ(missing(session), 0);
  EXPECT_EQ(session.begins(), 7u) << "of frames 0, 1, 4, 5, 8, 9 and 12";
}

TEST(CaptureFrames, in_flight_with_others_have_their_own_values) {
  const Session session = run("kept_in_flight", {{"TALLY_EVERY", "4"}});
  EXPECT_THAT(executions(session), ElementsAre(100, 100, 100));
  EXPECT_EQ(missing(session), 0);
}

template <typename Done>
void wait_until(Done done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!done() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(done());
}

TEST(CaptureFrames, that_are_requested_are_captured_and_no_others) {
  const Session session({.scenario = "endless",
                         .environment = {{"TALLY_TRIGGER", "1"}},
                         .meanwhile = [](store::Collector& collector, pid_t client) {
                           EXPECT_EQ(collector.request_frames(1), 0u) << "nobody is there yet";
                           wait_until([&] { return collector.progress().connected == 1; });
                           for (const uint64_t frames : {3u, 5u}) {
                             EXPECT_EQ(collector.request_frames(frames == 3 ? 3 : 2), 1u);
                             wait_until([&] { return collector.progress().frames == frames; });
                           }
                           ::kill(client, SIGKILL);
                         }});
  const std::vector<SeenCommand> commands = session.commands();
  ASSERT_THAT(commands, SizeIs(5));
  const int64_t first = commands[0].frame, second = commands[3].frame;
  EXPECT_GT(second, first + 2);
  for (int64_t i = 0; i < 5; ++i) {
    const SeenCommand& command = commands[static_cast<size_t>(i)];
    EXPECT_EQ(command.frame, i < 3 ? first + i : second + i - 3);
    EXPECT_EQ(command.executions, command.frame % 1000 + 1);
  }
  EXPECT_EQ(missing(session), 0);
  EXPECT_LE(session.begins(), 6u) << "those, and the first one, of which nothing was known";
}

// The capture keeps what was captured before; the application goes on.
TEST(CaptureFrames, beyond_the_size_of_the_capture_are_counted_as_dropped) {
  constexpr uint64_t kLimit = 1 << 20;
  const Session session({.scenario = "endless",
                         .limits = {.file_bytes = kLimit},
                         .meanwhile = [](store::Collector& collector, pid_t client) {
                           wait_until([&] { return collector.progress().frames_dropped > 100; });
                           ::kill(client, SIGKILL);
                         }});
  const int64_t pages = session.number("SELECT * FROM pragma_page_count");
  const int64_t page_bytes = session.number("SELECT * FROM pragma_page_size");
  EXPECT_LE(pages * page_bytes, static_cast<int64_t>(kLimit));
  EXPECT_GE(pages * page_bytes, static_cast<int64_t>(kLimit / 2));
  EXPECT_EQ(session.text("SELECT ending FROM process"), "cut off");
  EXPECT_THAT(session.text("SELECT text FROM message"), HasSubstr("its limit of 1.0 MiB"));
  for (const SeenCommand& command : session.commands()) {
    EXPECT_EQ(command.executions, command.frame % 1000 + 1);
  }
}

}  // namespace
}  // namespace tally::capture::testing
