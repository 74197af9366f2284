// Which frames are captured, and what is recorded for them, above a strict double of a driver that
// has VK_ARM_shader_instrumentation. See testing/frame_scenarios.h for what the client does.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
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

// "0:1,100 1:2,100": each frame that holds commands, with their executions.
std::string frames_of(const Session& session) {
  std::string text;
  int64_t frame = -1;
  for (const SeenCommand& command : session.commands()) {
    text +=
        command.frame == frame ? "," : fmt::format("{}{}:", text.empty() ? "" : " ", command.frame);
    frame = command.frame;
    text += std::to_string(command.executions);
  }
  return text;
}

// How many frames ended in which way, without those of the client's first device.
std::string ends_of(const Session& session) {
  return session.text(
      "SELECT group_concat(ended_by || ' ' || frames, ', ') FROM (SELECT ended_by, count(*) AS "
      "frames FROM frame GROUP BY ended_by ORDER BY ended_by)");
}

// The first with a driver that lacks VK_EXT_frame_boundary, the second with one that has it.
class CaptureMarkedFrames : public ::testing::TestWithParam<bool> {
 protected:
  Session run(const std::string& scenario, Environment environment = {}) const {
    if (GetParam()) environment["TALLY_TEST_NATIVE_FRAME_BOUNDARY"] = "1";
    return testing::run(scenario, environment);
  }
  size_t below(size_t ends) const { return GetParam() ? ends : 0; }
};

TEST_P(CaptureMarkedFrames, end_where_the_application_says_so) {
  const Session session = run("marked");
  EXPECT_EQ(frames_of(session), "0:1,100 1:2,100 2:3,100 3:4,100");
  EXPECT_EQ(ends_of(session), "boundary 4");
  EXPECT_EQ(session.frame_ends(), below(4));
}

TEST_P(CaptureMarkedFrames, are_selected_by_their_numbers) {
  const Session session = run("marked", {{"TALLY_FRAMES", "1-2"}});
  EXPECT_EQ(frames_of(session), "1:2,100 2:3,100");
  EXPECT_EQ(session.frame_ends(), below(4));
}

TEST_P(CaptureMarkedFrames, may_be_parts_of_a_submission) {
  const Session session = run("marked_batches");
  EXPECT_EQ(frames_of(session), "0:1,2 1:3 2:4 3:5");
  EXPECT_EQ(ends_of(session), "boundary 4");
  EXPECT_EQ(session.frame_ends(), below(4));
}

TEST_P(CaptureMarkedFrames, that_share_a_submission_are_captured_alone) {
  const Session session = run("marked_batches", {{"TALLY_FRAMES", "1"}});
  EXPECT_EQ(frames_of(session), "1:3");
  EXPECT_EQ(missing(session), 0);
  // Which frame they would be in was not known when they were recorded.
  const Session once = run("marked_batches_once", {{"TALLY_FRAMES", "2"}});
  EXPECT_EQ(frames_of(once), "");
  EXPECT_EQ(once.number("SELECT commands_missing FROM frame WHERE number = 2"), 1);
  EXPECT_EQ(missing(once), 1);
}

TEST_P(CaptureMarkedFrames, share_the_counts_of_a_command_buffer_that_a_submission_executes_twice) {
  const Session session = run("marked_twice");
  EXPECT_EQ(frames_of(session), "0:10");
  EXPECT_EQ(session.commands().at(0).runs, 2);
  EXPECT_EQ(ends_of(session), "boundary 2");
}

TEST_P(CaptureMarkedFrames, are_not_ended_again_by_their_presents) {
  for (const char* scenario : {"marked_and_presented", "marked_at_presents"}) {
    const Session session = run(scenario);
    EXPECT_EQ(frames_of(session), "0:100,1 1:100,2 2:100,3 3:100,4") << scenario;
    EXPECT_EQ(ends_of(session), "boundary 4") << scenario;
    EXPECT_EQ(session.frame_ends(), below(4));
  }
}

TEST_P(CaptureMarkedFrames, end_at_submissions_if_the_feature_is_not_enabled) {
  const Session session = run("enabled_and_unmarked");
  EXPECT_EQ(frames_of(session), "0:1 1:2 2:3 3:4");
  EXPECT_EQ(ends_of(session), "submit 4");
}

TEST_P(CaptureMarkedFrames, end_at_submissions_if_the_user_says_so) {
  const Session session = run("marked", {{"TALLY_FRAME_PER", "submit"}});
  EXPECT_EQ(frames_of(session), "0:1 1:100 2:2 3:100 4:3 5:100 6:4 7:100");
  EXPECT_EQ(ends_of(session), "submit 8");
}

INSTANTIATE_TEST_SUITE_P(Driver, CaptureMarkedFrames, ::testing::Bool());

TEST(CaptureFrames, end_at_presents) {
  const Session session = run("presented", {});
  EXPECT_EQ(frames_of(session), "0:100,1 1:100,2 2:100,3 3:100,4");
  EXPECT_EQ(ends_of(session), "present 4");
}

TEST(CaptureFrames, end_at_submissions_if_the_user_says_so) {
  const Session session = run("presented", {{"TALLY_FRAME_PER", "submit"}});
  EXPECT_EQ(frames_of(session), "0:100 1:1 2:100 3:2 4:100 5:3 6:100 7:4");
  EXPECT_EQ(ends_of(session), "submit 8");
}

TEST(CaptureFrames, end_at_waits_for_fences_after_which_something_was_submitted) {
  const Session session = run("rounds", {{"TALLY_FRAME_PER", "fence"}});
  EXPECT_EQ(frames_of(session), "0:1,100 1:2,100 2:3,100 3:4,100");
  EXPECT_EQ(ends_of(session), "fence 4");
}

TEST(CaptureFrames, end_at_waits_for_idle_queues) {
  const Session session = run("rounds", {{"TALLY_FRAME_PER", "queue-idle"}});
  EXPECT_EQ(frames_of(session), "0:1,100,2,100 1:3,100,4,100");
  EXPECT_EQ(ends_of(session), "queue idle 2");
}

TEST(CaptureFrames, end_with_the_labels_of_a_queue) {
  const Session session = run("rounds", {{"TALLY_FRAME_PER", "label"}});
  EXPECT_EQ(frames_of(session), "0:1,100 1:2,100 2:3,100 3:4,100");
  EXPECT_EQ(ends_of(session), "label 4");
}

TEST(CaptureFrames, end_with_the_labels_that_match) {
  const Session session = run("rounds", {{"TALLY_FRAME_LABEL", "^odd"}, {"TALLY_FRAMES", "1"}});
  EXPECT_EQ(frames_of(session), "1:3,100,4,100");
  EXPECT_EQ(ends_of(session), "label 1");
}

TEST(CaptureFrames, end_with_the_outermost_labels_of_a_command_buffer) {
  const Session session = run("labels", {{"TALLY_FRAME_PER", "label"}});
  EXPECT_EQ(frames_of(session), "0:1,2,3 1:4,5 2:6,1,2,3 3:4,5 4:6");
  EXPECT_EQ(ends_of(session), "label 4, open 1");
  EXPECT_EQ(missing(session), 0);
}

TEST(CaptureFrames, end_with_the_labels_of_a_command_buffer_that_match) {
  EXPECT_EQ(frames_of(run("labels", {{"TALLY_FRAME_LABEL", "n (2|3)$"}})),
            "0:1,2,3,4,5 1:6,1,2,3,4,5 2:6");
  EXPECT_EQ(frames_of(run("labels", {{"TALLY_FRAME_LABEL", "inner"}})),
            "0:1,2,3 1:4,5,6,1,2,3 2:4,5,6");
  EXPECT_EQ(frames_of(run("labels", {{"TALLY_FRAME_LABEL", "token|inner"}})),
            "0:1,2,3 1:4,5 2:6,1,2,3 3:4,5 4:6")
      << "the inner label is inside of one that ends a frame";
}

TEST(CaptureFrames, within_a_command_buffer_are_captured_alone) {
  for (const char* frames : {"1", "3", "1,3"}) {
    const Session session = run("labels", {{"TALLY_FRAME_PER", "label"}, {"TALLY_FRAMES", frames}});
    EXPECT_EQ(frames_of(session),
              frames == std::string("1,3") ? "1:4,5 3:4,5" : fmt::format("{}:4,5", frames));
    EXPECT_EQ(missing(session), 0);
  }
}

TEST(CaptureFrames, do_not_end_with_labels_inside_of_labels_of_the_queue) {
  const Session session = run("labels_in_a_label", {{"TALLY_FRAME_PER", "label"}});
  EXPECT_EQ(frames_of(session), "0:1,2,3,4,5,6");
  EXPECT_EQ(ends_of(session), "label 1");
  const Session tokens = run("labels_in_a_label", {{"TALLY_FRAME_LABEL", "token"}});
  EXPECT_EQ(frames_of(tokens), "0:1,2,3 1:4,5 2:6") << "no label around them matches";
}

TEST(CaptureFrames, end_with_a_label_that_another_command_buffer_began) {
  const Session session = run("label_of_two_command_buffers", {{"TALLY_FRAME_PER", "label"}});
  EXPECT_EQ(frames_of(session), "0:1,2 1:3");
}

TEST(CaptureFrames, end_with_a_label_of_a_secondary) {
  const Session session = run("label_of_a_secondary", {{"TALLY_FRAME_PER", "label"}});
  EXPECT_EQ(frames_of(session), "0:1,2 1:4,3") << "a frame's commands are in no order";
}

TEST(CaptureFrames, end_after_the_pass_in_which_a_label_ends) {
  for (const char* scenario : {"label_in_a_render_pass", "label_in_a_rendering"}) {
    const Session session = run(scenario, {{"TALLY_FRAME_PER", "label"}});
    EXPECT_EQ(frames_of(session), "0:3,6,9 1:12") << scenario;
    EXPECT_EQ(ends_of(session), "label 1, open 1") << scenario;
    EXPECT_EQ(session.number("SELECT count(*) FROM pass"), 2) << scenario;
  }
}

// Waits as long as the client runs, however slow the machine is.
template <typename Done>
void wait_until(pid_t client, Done done) {
  const auto has_ended = [&] {
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(client), &info, WEXITED | WNOHANG | WNOWAIT);
    return info.si_pid == client;
  };
  while (!done()) {
    ASSERT_FALSE(has_ended()) << "the client has ended";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(CaptureFrames, that_are_requested_are_captured_and_no_others) {
  const Session session({.scenario = "endless",
                         .environment = {{"TALLY_TRIGGER", "1"}},
                         .meanwhile = [](store::Collector& collector, pid_t client) {
                           EXPECT_EQ(collector.request_frames(1), 0u) << "nobody is there yet";
                           wait_until(client, [&] { return collector.progress().connected == 1; });
                           for (const uint64_t frames : {3u, 5u}) {
                             EXPECT_EQ(collector.request_frames(frames == 3 ? 3 : 2), 1u);
                             wait_until(client,
                                        [&] { return collector.progress().frames == frames; });
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
                           wait_until(client,
                                      [&] { return collector.progress().frames_dropped > 100; });
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
