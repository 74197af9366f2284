// The capture layer on lavapipe, above a strict double of a driver that has
// VK_ARM_shader_instrumentation.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <vulkan/vulkan_core.h>

#include <cstdlib>
#include <map>
#include <string>

#include "capture/testing/session.h"

namespace tally::capture::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The client ended as it should, and nobody broke a rule: the client fails where the validation
// layer, which CTest has stand below in one run, says anything.
Session run(const SessionOptions& options, int exit_status = 0) {
  Session session(options);
  EXPECT_EQ(session.exit_status(), exit_status) << session.errors();
  EXPECT_THAT(session.broken_rules(), IsEmpty());
  return session;
}

TEST(CaptureLayer, every_submission_of_a_recording_has_its_own_values) {
  const Session session = run({.scenario = "resubmit"});
  EXPECT_THAT(executions(session), ElementsAre(1, 2, 3, 1, 2, 3));
  for (const SeenCommand& command : session.commands()) {
    EXPECT_EQ(command.call, "vkCmdDispatch");
    EXPECT_EQ(command.runs, 1);
    EXPECT_TRUE(command.has_blocks);
    EXPECT_EQ(command.frame, command.submission) << "nothing is presented: a frame a submission";
  }
  EXPECT_EQ(session.commands().at(2).parameters,
            R"({"groupCountX":3,"groupCountY":1,"groupCountZ":1})");
  EXPECT_EQ(session.number("SELECT count(DISTINCT recording) FROM execution"), 1);
}

TEST(CaptureLayer, totals_and_blocks_agree_with_the_driver) {
  const Session session = run({.scenario = "resubmit"});
  const SeenCommand command = session.commands().at(2);  // 3 groups: blocks 3, 6, 0
  EXPECT_EQ(command.fma, 3 * (3 + 6));
  EXPECT_EQ(command.subgroups, 1 + 1);
  // Two submissions of 1, 2 and 3 groups, whose blocks run n, 2n and 0 times.
  const auto sum_over_blocks = [&](const char* metric) {
    return session.number(fmt::format(
        "SELECT sum(value) FROM block_metric JOIN metric ON metric.id = metric WHERE name = '{}'",
        metric));
  };
  EXPECT_EQ(sum_over_blocks("executions"), 2 * (3 + 6 + 9));
  EXPECT_EQ(sum_over_blocks("fma"), 2 * 3 * (3 + 6 + 9));
  EXPECT_EQ(sum_over_blocks("subgroups"), 2 * 3 * 2)
      << "no multiple of the executions, and there all the same";
}

TEST(CaptureLayer, hides_an_extension_that_cannot_be_counted) {
  const Session session = run({.scenario = "uncountable"});
  EXPECT_THAT(session.errors(),
              HasSubstr(fmt::format("listed=0 feature=0 created={} function=0",
                                    static_cast<int>(VK_ERROR_EXTENSION_NOT_PRESENT))));
}

TEST(CaptureLayer, hides_nothing_if_the_setting_says_so_and_names_what_it_cannot_count) {
  const Session session =
      run({.scenario = "uncountable", .environment = {{"TALLY_HIDE_EXTENSIONS", "0"}}});
  EXPECT_THAT(session.errors(), HasSubstr("listed=1 feature=1 created=0 function=0"))
      << "the function belongs to devices with the extension";
  EXPECT_EQ(session.number("SELECT count(*) FROM message WHERE text LIKE '%: what these extensions "
                           "run is not counted: VK_HUAWEI_subpass_shading (%'"),
            1);
}

TEST(CaptureLayer, hides_nothing_without_a_receiver) {
  const Session session =
      run({.scenario = "uncountable", .environment = {{"TALLY_CAPTURE_SOCKET", ""}}});
  EXPECT_THAT(session.errors(), HasSubstr("listed=1 feature=1 created=0 function=1"));
}

TEST(CaptureLayer, overlapping_submissions_add_up_exactly) {
  const Session session = run({.scenario = "simultaneous"});
  int64_t executed = 0;
  int64_t runs = 0;
  for (const SeenCommand& command : session.commands()) {
    executed += command.executions > 0 ? command.executions : 0;
    runs += command.runs;
  }
  EXPECT_EQ(runs, 40);
  EXPECT_EQ(executed, 40 * 5);
}

// Sanitizers catch signals otherwise.
std::map<std::string, std::string> signals_left_to_the_system() {
  std::map<std::string, std::string> environment;
  for (const char* name : {"ASAN_OPTIONS", "TSAN_OPTIONS"}) {
    const char* others = ::getenv(name);
    environment[name] = (others ? std::string(others) + ":" : "") + "handle_segv=0";
  }
  return environment;
}

class Endings : public ::testing::TestWithParam<std::pair<const char*, int>> {};

TEST_P(Endings, what_was_completed_is_in_the_capture) {
  const auto [how, status] = GetParam();
  const Session session =
      run({.scenario = "ending", .how = how, .environment = signals_left_to_the_system()}, status);
  EXPECT_THAT(executions(session), ElementsAre(7));
  const bool orderly = (status == 0 || status == 4 || status == 5) && how != std::string("exec");
  EXPECT_EQ(session.text("SELECT ending FROM process"), orderly ? "closed" : "cut off");
  EXPECT_EQ(session.number("SELECT commands_missing FROM process"), 0);
}

INSTANTIATE_TEST_SUITE_P(CaptureLayer, Endings,
                         ::testing::Values(std::pair("return", 0), std::pair("_exit", 3),
                                           std::pair("exit", 4), std::pair("quick_exit", 5),
                                           std::pair("kill", 128 + SIGKILL), std::pair("exec", 0),
                                           std::pair("fork", 0), std::pair("abort", 128 + SIGABRT),
                                           std::pair("segv", 128 + SIGSEGV)),
                         [](const auto& named) { return std::string(named.param.first); });

TEST(CaptureLayer, exit_takes_along_what_completes_meanwhile) {
  const Session session = run({.scenario = "exit_unwaited"});
  EXPECT_THAT(executions(session), ElementsAre(7));
}

TEST(CaptureLayer, passes_labels_and_names_are_told) {
  const Session session = run({.scenario = "render_pass"});
  const auto commands = session.commands();
  ASSERT_THAT(commands, SizeIs(2));
  EXPECT_EQ(commands[0].call, "vkCmdDraw");
  EXPECT_EQ(commands[0].executions, 3 * 2);
  EXPECT_EQ(commands[1].executions, 3 * 3);
  EXPECT_EQ(commands[0].label, "Frame / Orange");
  EXPECT_EQ(commands[0].pass_name, "main pass");
  EXPECT_EQ(commands[0].pass, commands[1].pass);
  EXPECT_EQ(session.number("SELECT count(*) FROM pass"), 1);
  EXPECT_EQ(session.number("SELECT width FROM pass"), 64);
  EXPECT_GT(session.number("SELECT gpu_time_ns FROM pass"), 0);
  EXPECT_EQ(session.text("SELECT path FROM label_path JOIN pass ON pass.label = label_path.id"),
            "Frame");
  EXPECT_EQ(session.number("SELECT json_array_length(attachments) FROM pass"), 1);
  EXPECT_EQ(session.number("SELECT count(DISTINCT stage) FROM command_metric"), 2);
}

TEST(CaptureLayer, dispatches_have_a_gpu_time_unless_it_is_switched_off) {
  EXPECT_TRUE(run({.scenario = "late_names"}).commands().at(0).has_gpu_time);
  const Session without = run({.scenario = "late_names", .environment = {{"TALLY_TIMES", "off"}}});
  EXPECT_FALSE(without.commands().at(0).has_gpu_time);
}

constexpr const char* kUntimed = "SELECT count(*) FROM command WHERE gpu_time_ns IS NULL";

class TimedDraws : public ::testing::TestWithParam<const char*> {};

TEST_P(TimedDraws, each_has_a_time_within_that_of_its_pass) {
  const Session session = run({.scenario = GetParam(), .environment = {{"TALLY_TIMES", "draws"}}});
  EXPECT_GT(session.number("SELECT count(*) FROM command WHERE pass IS NOT NULL"), 0);
  EXPECT_EQ(session.number(kUntimed), 0);
  EXPECT_EQ(session.number("SELECT count(*) FROM command JOIN pass ON pass.id = command.pass "
                           "WHERE command.gpu_begin_ns < pass.gpu_begin_ns OR "
                           "command.gpu_begin_ns + command.gpu_time_ns > "
                           "pass.gpu_begin_ns + pass.gpu_time_ns"),
            0);
  EXPECT_EQ(session.number("SELECT count(*) FROM pass WHERE gpu_time_ns < (SELECT "
                           "sum(gpu_time_ns) FROM command WHERE command.pass = pass.id)"),
            0);
}

TEST(CaptureLayer, large_passes_have_times_that_follow_each_other) {
  const Session session = run({.scenario = "large_passes"});
  EXPECT_EQ(session.number("SELECT count(*) FROM pass WHERE gpu_time_ns > 0"), 3);
  EXPECT_EQ(session.number("SELECT count(*) FROM pass AS a JOIN pass AS b ON a.id < b.id AND "
                           "a.gpu_begin_ns + a.gpu_time_ns > b.gpu_begin_ns"),
            0);
}

// The first 64 of 300 are all timed, and in the sample the first 4 and one of each 16. A slow
// machine may time more.
TEST(CaptureLayer, a_part_of_short_passes_is_timed_where_timestamps_cost_as_much) {
  const char* const timed = "SELECT count(gpu_time_ns) FROM pass";
  const char* const sampled = "SELECT count(time_sample) FROM pass";
  const Session session = run({.scenario = "short_passes"});
  EXPECT_EQ(session.number("SELECT count(*) FROM pass"), 400);
  const int64_t in_sample = session.number(sampled);
  if (session.number("SELECT count(*) FROM device WHERE name LIKE 'llvmpipe%'") != 0) {
    EXPECT_GT(in_sample, 0);
    EXPECT_LE(in_sample, 300 - 64);
  } else {
    EXPECT_EQ(in_sample, 0);
  }
  const int64_t left_out =
      in_sample - session.number("SELECT count(gpu_time_ns) FROM pass WHERE time_sample");
  EXPECT_EQ(session.number(timed), 400 - left_out);
  EXPECT_GE(left_out, in_sample * 15 / 16 - 4 - 15);
  EXPECT_EQ(session.number("SELECT count(*) FROM pass WHERE time_sample AND id > 300"), 0)
      << "these executions are of one recording";
  for (const char* each : {"draws", "plain"}) {
    const Session all = run({.scenario = "short_passes", .environment = {{"TALLY_TIMES", each}}});
    EXPECT_EQ(all.number(timed), 400) << each;
    EXPECT_EQ(all.number(sampled), 0) << each;
  }
}

// Several views, subpasses, and passes that are suspended.
INSTANTIATE_TEST_SUITE_P(CaptureLayer, TimedDraws,
                         ::testing::Values("render_pass", "timed", "views", "subpasses",
                                           "suspended", "large_passes"),
                         [](const auto& named) { return std::string(named.param); });

TEST(CaptureLayer, draws_in_passes_have_no_time_unless_it_is_asked_for) {
  EXPECT_EQ(run({.scenario = "render_pass"}).number(kUntimed), 2);
}

TEST(CaptureLayer, a_secondary_that_may_be_pending_twice_has_no_times_of_draws_and_says_so) {
  const Session session =
      run({.scenario = "secondaries", .environment = {{"TALLY_TIMES", "draws"}}});
  EXPECT_EQ(session.number(kUntimed), 1);
  EXPECT_EQ(session.number("SELECT count(*) FROM message WHERE text LIKE '%SIMULTANEOUS_USE%'"), 1);
}

// Where vkGetQueryPoolResults waits for the whole device, the layer must not call it.
TEST(CaptureLayer, reading_times_does_not_wait_for_later_work_which_waits_for_the_application) {
  const Session session = run({.scenario = "held_up"});
  EXPECT_EQ(session.number("SELECT count(*) FROM command"), 2);
  EXPECT_EQ(session.number(kUntimed), 0);
}

struct Span {
  int64_t begin = 0;
  int64_t end = 0;
};

// The times of the dispatches and the pass of a submission of the scenario "timed", in order.
std::vector<Span> spans(const Session& session, int64_t submission) {
  store::Statement rows = *session.reader().query(fmt::format(R"sql(
    WITH executed AS (SELECT execution.id FROM execution JOIN submission
                      ON submission.id = submission WHERE submission.number = {})
    SELECT gpu_begin_ns, gpu_time_ns FROM command WHERE execution IN executed AND pass IS NULL
    UNION ALL SELECT gpu_begin_ns, gpu_time_ns FROM pass WHERE execution IN executed
    ORDER BY 1)sql",
                                                              submission));
  std::vector<Span> found;
  while (rows.step()) {
    found.push_back({rows.integer(0), rows.integer(0) + rows.integer(1)});
  }
  return found;
}

TEST(CaptureLayer, a_time_begins_where_the_one_before_has_ended_unless_there_was_other_work) {
  const Session session = run({.scenario = "timed"});
  for (const int64_t submission : {0, 1}) {
    const std::vector<Span> found = spans(session, submission);
    ASSERT_THAT(found, SizeIs(5));
    for (const Span& span : found) EXPECT_LT(span.begin, span.end);
    EXPECT_EQ(found[1].begin, found[0].end);
    EXPECT_EQ(found[2].begin, found[1].end);
    EXPECT_GT(found[3].begin, found[2].end) << "a buffer was filled";
    EXPECT_EQ(found[4].begin, found[3].end) << "a pass after a dispatch";
  }
}

TEST(CaptureLayer, statistics_of_the_drivers_compiler_stand_beside_each_pipeline) {
  const Session session =
      run({.scenario = "render_pass",
           .environment = {{"TALLY_STATISTICS", "1"}, {"TALLY_TEST_NATIVE_STATISTICS", "1"}}});
  const auto statistics = *session.reader().pipeline_statistics();
  ASSERT_THAT(statistics, SizeIs(2 * 4)) << "two stages";
  const store::PipelineStatisticRow& spills = statistics[5];
  EXPECT_EQ(spills.executable, 1u);
  EXPECT_EQ(spills.position, 1u);
  EXPECT_EQ(spills.executable_name, "stage 16");
  EXPECT_EQ(spills.executable_description, "code");
  EXPECT_EQ(spills.stages, uint32_t{VK_SHADER_STAGE_FRAGMENT_BIT});
  EXPECT_EQ(spills.subgroup_size, 32u);
  EXPECT_EQ(spills.name, "Spills");
  EXPECT_EQ(spills.description, "of the code");
  EXPECT_EQ(spills.format, store::StatisticFormat::Int);
  EXPECT_EQ(spills.value, -1);
  EXPECT_EQ(statistics[4].value, VK_SHADER_STAGE_FRAGMENT_BIT);
  EXPECT_EQ(statistics[6].value, 0.5);
  EXPECT_EQ(statistics[7].value, 1);
  EXPECT_EQ(session.commands().at(0).executions, 3 * 2) << "it is counted all the same";
}

TEST(CaptureLayer, statistics_are_not_asked_for_unless_they_are_wanted) {
  const Session session =
      run({.scenario = "render_pass", .environment = {{"TALLY_TEST_NATIVE_STATISTICS", "1"}}});
  EXPECT_THAT(*session.reader().pipeline_statistics(), IsEmpty());
}

TEST(CaptureLayer, statistics_that_the_application_asks_for_are_kept) {
  const Session session =
      run({.scenario = "own_statistics", .environment = {{"TALLY_TEST_NATIVE_STATISTICS", "1"}}});
  EXPECT_THAT(*session.reader().pipeline_statistics(), SizeIs(4));
  EXPECT_EQ(session.number("SELECT count(*) FROM pipeline"), 2);
}

TEST(CaptureLayer, a_driver_without_statistics_is_named) {
  const Session session =
      run({.scenario = "render_pass", .environment = {{"TALLY_STATISTICS", "1"}}});
  EXPECT_EQ(session.number(
                "SELECT count(*) FROM message WHERE text LIKE '%pipelines have no statistics%'"),
            1);
  EXPECT_EQ(session.commands().at(0).executions, 3 * 2);
}

TEST(CaptureLayer, pipelines_have_no_statistics_if_the_driver_refuses_the_flags) {
  const Session session = run({.scenario = "render_pass",
                               .environment = {{"TALLY_STATISTICS", "1"},
                                               {"TALLY_TEST_NATIVE_STATISTICS", "1"},
                                               {"TALLY_TEST_NATIVE_REFUSE", "1"}}});
  EXPECT_THAT(*session.reader().pipeline_statistics(), IsEmpty());
  EXPECT_THAT(session.commands(), SizeIs(2));
}

TEST(CaptureLayer, secondaries_belong_to_the_pass_that_they_continue) {
  const Session session = run({.scenario = "secondaries"});
  const auto commands = session.commands();
  ASSERT_THAT(commands, SizeIs(5));
  // The primary's own first, then what it executed.
  EXPECT_EQ(commands[0].executions, 1);
  EXPECT_EQ(commands[1].executions, 4);
  EXPECT_EQ(commands[2].executions, 3 * 2);
  EXPECT_NE(commands[2].pass, 0);
  EXPECT_EQ(commands[2].label, "Outer / Inner");
  EXPECT_EQ(commands[3].executions, 2 * 3 * 5);
  EXPECT_EQ(commands[3].runs, 2);
  EXPECT_EQ(commands[3].pass, commands[2].pass);
  EXPECT_EQ(commands[4].executions, 9);
  EXPECT_EQ(commands[4].pass, 0);
  EXPECT_EQ(session.number("SELECT count(*) FROM execution WHERE parent IS NOT NULL"), 3);
  EXPECT_EQ(session.number("SELECT max(parent_command) FROM execution"), 1);
}

TEST(CaptureLayer, suspended_passes_are_left_alone_between_their_parts) {
  const Session session = run({.scenario = "suspended"});
  EXPECT_THAT(executions(session), ElementsAre(1, 3, 6, 9, 2));
  EXPECT_EQ(session.number("SELECT count(*) FROM pass"), 2) << "one a command buffer";
}

TEST(CaptureLayer, names_may_come_after_the_first_use) {
  const Session session = run({.scenario = "late_names"});
  EXPECT_EQ(session.commands().at(0).pipeline_name, "the doubler");
  EXPECT_EQ(session.text("SELECT name FROM queue"), "the queue");
}

TEST(CaptureLayer, only_the_frames_that_were_asked_for_are_captured) {
  const Session session = run({.scenario = "ten", .environment = {{"TALLY_FRAMES", "3-5"}}});
  EXPECT_THAT(executions(session), ElementsAre(4, 5, 6));
  EXPECT_EQ(session.number("SELECT min(number) FROM frame"), 3);
  EXPECT_EQ(session.number("SELECT max(number) FROM frame"), 5);
  EXPECT_EQ(session.number("SELECT count(*) FROM frame WHERE ended_by = 'submit'"), 3);
}

TEST(CaptureLayer, only_the_shaders_that_were_asked_for_are_measured) {
  const Session none = run({.scenario = "ten", .environment = {{"TALLY_SHADER", "nothing*"}}});
  EXPECT_THAT(none.commands(), SizeIs(10));
  EXPECT_EQ(none.number("SELECT count(*) FROM command_metric"), 0);
  EXPECT_THAT(none.text("SELECT not_instrumented FROM pipeline"), HasSubstr("pattern"));
  const Session all = run({.scenario = "ten", .environment = {{"TALLY_SHADER", "MAI*"}}});
  EXPECT_GT(all.number("SELECT count(*) FROM command_metric"), 0) << "entry point, case folded";
}

TEST(CaptureLayer, a_pipeline_that_is_named_after_its_creation_is_measured_from_then_on) {
  for (const char* pattern : {"the doubler", "THE D*"}) {
    const Session session =
        run({.scenario = "late_names", .environment = {{"TALLY_SHADER", pattern}}});
    EXPECT_THAT(session.commands(), SizeIs(2));
    EXPECT_EQ(session.number("SELECT count(DISTINCT command) FROM command_metric"), 1) << pattern;
  }
}

TEST(CaptureLayer, pipelines_are_selected_by_their_hash_as_reports_show_it) {
  const Session all = run({.scenario = "ten"});
  const std::string hash = all.text("SELECT substr(hash, 1, 8) FROM pipeline");
  const Session one = run({.scenario = "ten", .environment = {{"TALLY_SHADER", hash}}});
  EXPECT_GT(one.number("SELECT count(*) FROM command_metric"), 0);
  const Session none =
      run({.scenario = "ten", .environment = {{"TALLY_SHADER", hash.substr(0, 3)}}});
  EXPECT_EQ(none.number("SELECT count(*) FROM command_metric"), 0);
}

TEST(CaptureLayer, a_command_buffer_may_hold_more_commands_than_an_object) {
  const Session session = run({.scenario = "many"});
  const auto values = executions(session);
  ASSERT_THAT(values, SizeIs(2500));
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], static_cast<int64_t>(i % 7 + 1)) << i;
  }
}

TEST(CaptureLayer, threads_record_side_by_side) {
  const Session session = run({.scenario = "threads"});
  EXPECT_THAT(session.commands(), SizeIs(100));
  EXPECT_EQ(session.number("SELECT sum(executions) FROM block_count WHERE block = 0"),
            25 * (1 + 2 + 3 + 4));
}

TEST(CaptureLayer, devices_are_kept_apart) {
  const Session session = run({.scenario = "two_devices"});
  EXPECT_EQ(session.number("SELECT count(*) FROM device"), 2);
  EXPECT_EQ(session.number("SELECT count(*) FROM module"), 1) << "the SPIR-V once";
  EXPECT_EQ(session.number("SELECT count(DISTINCT device) FROM command_list"), 2);
}

TEST(CaptureLayer, only_what_is_submitted_counts) {
  EXPECT_THAT(executions(run({.scenario = "resets"})), ElementsAre(12, 13));
}

TEST(CaptureLayer, pipelines_that_were_bound_without_a_command_differ_from_those_never_bound) {
  const Session session = run({.scenario = "unused_pipelines"});
  EXPECT_EQ(session.number("SELECT count(*) FROM pipeline"), 3);
  EXPECT_EQ(session.number("SELECT count(*) FROM pipeline WHERE bound"), 2);
  EXPECT_EQ(session.number("SELECT bound FROM pipeline WHERE id IN (SELECT pipeline FROM command)"),
            1);
}

TEST(CaptureLayer, instrumentation_begins_before_pipelines_are_bound_in_passes) {
  run({.scenario = "render_pass", .environment = {{"TALLY_TEST_NATIVE_BINDS_COUNT", "1"}}});
}

TEST(CaptureLayer, every_process_is_captured) {
  const Session session = run({.scenario = "forked"});
  EXPECT_EQ(session.number("SELECT count(*) FROM process"), 2);
  EXPECT_EQ(session.number("SELECT sum(executions) FROM block_count WHERE block = 0"), 5);
}

TEST(CaptureLayer, queues_without_graphics_are_measured) {
  const Session session =
      run({.scenario = "resubmit", .environment = {{"TALLY_TEST_NATIVE_COMPUTE_ONLY", "1"}}});
  EXPECT_EQ(session.number("SELECT count(*) FROM queue WHERE flags & 1"), 0);
  EXPECT_THAT(executions(session), ElementsAre(1, 2, 3, 1, 2, 3));
}

TEST(CaptureLayer, a_device_without_the_extension_runs_untouched) {
  const Session session = run({.scenario = "ten", .layers = "VK_LAYER_TALLY_capture"});
  EXPECT_THAT(session.commands(), IsEmpty());
  EXPECT_THAT(session.text("SELECT not_captured FROM device"),
              HasSubstr("VK_ARM_shader_instrumentation"));
  EXPECT_THAT(session.errors(), HasSubstr("not captured"));
}

TEST(CaptureLayer, a_driver_that_refuses_instrumented_pipelines_gets_plain_ones) {
  const Session session =
      run({.scenario = "ten", .environment = {{"TALLY_TEST_NATIVE_REFUSE", "1"}}});
  EXPECT_THAT(session.commands(), SizeIs(10));
  EXPECT_THAT(session.text("SELECT not_instrumented FROM pipeline"), HasSubstr("rejected"));
}

TEST(CaptureLayer, without_a_receiver_the_application_runs_untouched) {
  const Session session =
      run({.scenario = "ten", .environment = {{"TALLY_CAPTURE_SOCKET", "/nowhere/at/all"}}});
  EXPECT_THAT(session.errors(), HasSubstr("nothing is captured"));
  EXPECT_EQ(session.number("SELECT count(*) FROM process"), 0);
}

// A receiver that accepts a connection and never reads.
class DeafReceiver {
 public:
  DeafReceiver() : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
  }
  ~DeafReceiver() { ::close(listener_); }
  DeafReceiver(const DeafReceiver&) = delete;
  DeafReceiver& operator=(const DeafReceiver&) = delete;
  const std::string& path() const { return path_; }

 private:
  const store::TestDirectory directory_;
  const std::string path_ = directory_.file("deaf");
  const int listener_;
};

TEST(CaptureLayer, a_receiver_that_never_reads_does_not_hold_the_application) {
  const DeafReceiver receiver;
  const auto begin = std::chrono::steady_clock::now();
  run({.scenario = "many",
       .environment = {{"TALLY_CAPTURE_SOCKET", receiver.path()}, {"TALLY_PATIENCE_MS", "10"}}});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

// Our thread holds the lock that the handlers take, and the child does not have the thread.
TEST(CaptureLayer, exit_handlers_do_nothing_in_a_child_of_fork) {
  const DeafReceiver receiver;
  run({.scenario = "fork_while_sending",
       .environment = {{"TALLY_CAPTURE_SOCKET", receiver.path()},
                       {"TALLY_QUEUE_MIB", "1"},
                       {"TALLY_PATIENCE_MS", "3000"}}});
}

}  // namespace
}  // namespace tally::capture::testing
