// Whole way: an application under `tally run`, then `tally report` of the capture. The application
// dispatches 4 x 64 invocations in each submission; each submission is a frame, since it never
// presents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <tuple>

#include "program.h"
#include "store/testing/test_capture.h"

namespace tally::test {
namespace {

using testing::HasSubstr;

class Capture : public testing::Test {
 protected:
  platform::CapturedRun run(const std::string& options, const std::string& arguments) {
    return run_script(folder_.path(),
                      "exec \"$TALLY\" run " + options + " -- \"$APP\" " + arguments);
  }

  nlohmann::json report(const std::string& options,
                        const std::string& file = "launched_app.tally") {
    const auto result =
        run_script(folder_.path(), "exec \"$TALLY\" report --format json " + options + " " + file);
    EXPECT_EQ(result.end.shell_status(), 0) << result.standard_error;
    return nlohmann::json::parse(result.standard_output);
  }

  store::TestDirectory folder_;
};

TEST_F(Capture, lines_of_reconstructed_glsl_have_exact_counts) {
  const auto result = run("", "3 0");
  ASSERT_EQ(result.end.shell_status(), 0) << result.standard_error;
  const auto table = report("--annotate compute")["tables"][0];
  EXPECT_EQ(table["by"], "glsl");
  const auto executions_of = [&](const std::string& text) {
    for (const auto& row : table["rows"]) {
      if (row["text"].get<std::string>().find(text) != std::string::npos)
        return row["executions"].get<int64_t>();
    }
    return int64_t{-1};
  };
  constexpr int64_t kInvocations = 3 * 4 * 64;
  EXPECT_EQ(executions_of("sum = 0u;"), kInvocations);
  EXPECT_EQ(executions_of("for ("), kInvocations * 11);
  EXPECT_EQ(executions_of("sum += "), kInvocations * 10);
  EXPECT_EQ(executions_of("if ("), kInvocations);
  EXPECT_EQ(executions_of("= sum;"), 3 * 4 * 16);
}

TEST_F(Capture, counts_of_a_compute_shader_are_exact) {
  const auto result = run("", "3 0");
  ASSERT_EQ(result.end.shell_status(), 0) << result.standard_error;
  EXPECT_EQ(result.standard_output, "done\n");
  EXPECT_THAT(result.standard_error, HasSubstr("3 dispatches"));
  // The command is printed as it works.
  const auto not_in_path =
      run_script(folder_.path(), "PATH=/usr/bin:/bin; \"$TALLY\" run -o c.tally -- \"$APP\" 1 0");
  EXPECT_THAT(not_in_path.standard_error,
              HasSubstr("tally: next: " TALLY_PROGRAM " report c.tally\n"));
  const auto in_path = run_script(
      folder_.path(), "PATH=\"$(dirname \"$TALLY\"):$PATH\"; tally run -o b.tally -- \"$APP\" 1 0");
  EXPECT_THAT(in_path.standard_error, HasSubstr("tally: next: tally report b.tally\n"));

  const auto shader = report("--by shader");
  ASSERT_EQ(shader["tables"][0]["rows"].size(), 1u);
  EXPECT_EQ(shader["tables"][0]["rows"][0]["stage"], "compute");
  EXPECT_EQ(shader["tables"][0]["rows"][0]["invocations"], 3 * 4 * 64);
  EXPECT_EQ(shader["tables"][0]["rows"][0]["commands"], 3);

  // A store to shared memory by 16 of the 64 invocations of each group.
  EXPECT_EQ(shader["tables"][0]["rows"][0]["shared_stores"], 3 * 4 * 16);
}

TEST_F(Capture, strict_changes_nothing_where_everything_is_captured) {
  EXPECT_EQ(run("--strict", "3 0").end.shell_status(), 0);
  const auto overview = report("");
  EXPECT_EQ(overview["capture"]["complete"], true);
  EXPECT_EQ(overview["capture"]["commands_missing"], 0);
}

TEST_F(Capture, a_program_that_closes_all_sockets_is_captured_and_its_own_stay_empty) {
  const auto result = run("--strict", "40 0 daemon");
  EXPECT_EQ(result.end.shell_status(), 0) << result.standard_error;
  EXPECT_EQ(result.standard_output, "done\n");
  const auto overview = report("");
  EXPECT_EQ(overview["capture"]["complete"], true);
  EXPECT_EQ(overview["capture"]["commands_missing"], 0);
  EXPECT_EQ(report("--by shader")["tables"][0]["rows"][0]["commands"], 40)
      << "two pipelines of the same shader";
}

TEST_F(Capture, a_capture_that_cannot_be_written_is_incomplete_and_the_application_runs_on) {
  const auto result = run_script(folder_.path(), R"(
    ulimit -S -f 512
    exec "$TALLY" run --strict --output full.tally -- \
      sh -c 'ulimit -S -f unlimited; exec "$0" 3000 0' "$APP")");
  EXPECT_EQ(result.end.shell_status(), 4);
  EXPECT_EQ(result.standard_output, "done\n");
  EXPECT_THAT(result.standard_error, HasSubstr("the capture is incomplete: "));
  EXPECT_EQ(report("", "full.tally")["capture"]["complete"], false);
}

TEST_F(Capture, sums_are_the_same_by_draw_block_and_line) {
  ASSERT_EQ(run("", "2 0").end.shell_status(), 0);
  const auto sum = [this](const std::string& by) {
    uint64_t total = 0;
    const auto json = report("--by " + by);
    for (const auto& row : json["tables"][0]["rows"]) total += row["instructions"].get<uint64_t>();
    return total;
  };
  const uint64_t expected = sum("shader");
  EXPECT_GT(expected, 0u);
  for (const char* by : {"draw", "pass", "block", "line", "pipeline", "frame", "label"})
    EXPECT_EQ(sum(by), expected) << by;
}

TEST_F(Capture, loop_body_runs_ten_times_as_often_as_its_shader) {
  ASSERT_EQ(run("", "1 0").end.shell_status(), 0);
  std::set<uint64_t> executions;
  const auto json = report("--by block");
  for (const auto& row : json["tables"][0]["rows"])
    executions.insert(row["executions"].get<uint64_t>());
  EXPECT_EQ(executions, (std::set<uint64_t>{4 * 16, 4 * 64, 4 * 64 * 10, 4 * 64 * 11}));
}

// The executions of the rows of branches, by their label.
std::multiset<std::pair<std::string, uint64_t>> branches_of(const nlohmann::json& table) {
  std::multiset<std::pair<std::string, uint64_t>> branches;
  for (const auto& row : table["rows"]) {
    if (row["branch"] != "") branches.emplace(row["branch"], row["executions"]);
  }
  return branches;
}

TEST_F(Capture, every_target_of_a_branch_is_counted_with_branches) {
  const auto run_it = run("--branches", "3 0");
  ASSERT_EQ(run_it.end.shell_status(), 0) << run_it.standard_error;
  constexpr uint64_t kGroups = 3 * 4;
  EXPECT_EQ(branches_of(report("--annotate compute")["tables"][0]),
            (std::multiset<std::pair<std::string, uint64_t>>{{"true", kGroups * 64 * 10},
                                                             {"false", kGroups * 64},
                                                             {"true", kGroups * 16},
                                                             {"false", kGroups * 48}}));
}

// Workgroups of 64 invocations, of which the first 16 store; every subgroup size divides 16.
TEST_F(Capture, whole_subgroups_are_fully_efficient_with_divergence) {
  const auto run_it = run("--divergence", "3 0");
  ASSERT_EQ(run_it.end.shell_status(), 0) << run_it.standard_error;
  const auto shader = report("--by shader")["tables"][0]["rows"][0];
  EXPECT_EQ(shader["simd_efficiency"], 100.0);
  EXPECT_EQ(shader["subgroup_lanes"], shader["executions"]);
  EXPECT_GT(shader["subgroups"], 0);
  for (const char* by : {"draw", "pipeline", "frame"}) {
    for (const auto& row : report(std::string("--by ") + by)["tables"][0]["rows"]) {
      EXPECT_EQ(row["simd_efficiency"], 100.0) << by;
    }
  }
  for (const auto& row : report("--by block")["tables"][0]["rows"]) {
    EXPECT_EQ(row["subgroup_lanes"], row["executions"]);
  }
}

TEST_F(Capture, counts_of_instructions_are_the_same_with_branches_and_subgroups) {
  std::set<uint64_t> instructions;
  for (const char* option : {"", "--branches --force", "--divergence --force"}) {
    ASSERT_EQ(run(option, "3 0").end.shell_status(), 0) << option;
    instructions.insert(
        report("--by shader")["tables"][0]["rows"][0].value("instructions", uint64_t{0}));
  }
  EXPECT_EQ(instructions.size(), 1u);
  EXPECT_GT(*instructions.begin(), 0u);
}

TEST_F(Capture, subgroups_and_branches_are_counted_on_request_alone) {
  ASSERT_EQ(run("", "1 0").end.shell_status(), 0);
  const auto table = report("--by shader")["tables"][0];
  for (const auto& column : table["columns"]) {
    EXPECT_NE(column["id"], "subgroups");
    EXPECT_NE(column["id"], "simd_efficiency");
  }
  EXPECT_FALSE(report("--annotate compute")["tables"][0]["rows"][0].contains("branch"));
}

TEST_F(Capture, frames_that_never_come_are_said_to_be_why_nothing_is_captured) {
  const auto result = run("--frames 100-", "5 0");
  ASSERT_EQ(result.end.shell_status(), 0);
  EXPECT_THAT(
      result.standard_error,
      HasSubstr("tally: nothing was captured: the application did not reach the frames 100- "
                "of tally run --frames"));
}

TEST_F(Capture, frames_limit_what_is_captured) {
  ASSERT_EQ(run("--frames 1-2", "5 0").end.shell_status(), 0);
  EXPECT_EQ(report("--by frame")["tables"][0]["rows"].size(), 2u);
}

// The frames of each unit, of a program that never presents: 4 rounds of 2 submissions within a
// label of the queue, a wait for a fence in each round, and one for the queue in each second one.
TEST_F(Capture, frames_end_where_the_user_says_so) {
  const std::tuple<const char*, size_t, const char*, const char*> units[] = {
      {"", 8, "submit", "submissions"},
      {"--frame-per present", 8, "submit", "submissions"},
      {"--frame-per submit", 8, "submit", "submissions"},
      {"--frame-per fence", 4, "fence", "waits for fences"},
      {"--frame-per queue-idle", 2, "queue idle", "waits for idle queues"},
      {"--frame-per label", 4, "label", "outermost labels"},
      {"--frame-label '^even'", 3, "label", "labels that match '^even'"},
      {"--frame-per label --frame-label round", 4, "label", "labels that match 'round'"}};
  for (const auto& [options, frames, ended_by, end_at] : units) {
    const auto result =
        run_script(folder_.path(), std::string("exec \"$TALLY\" run --force -o a.tally ") +
                                       options + " -- " TALLY_ROUNDS_APP " rounds");
    ASSERT_EQ(result.end.shell_status(), 0) << result.standard_error;
    EXPECT_THAT(result.standard_error, HasSubstr(std::string("frames end at ") + end_at));
    const auto json = report("--by frame", "a.tally");
    EXPECT_EQ(json["capture"]["frames"], frames) << options;
    EXPECT_EQ(json["capture"]["frames_end_at"], end_at);
    const auto& rows = json["tables"][0]["rows"];
    ASSERT_EQ(rows.size(), frames) << options;
    std::map<int64_t, std::pair<std::string, int64_t>> of_frames;  // end and dispatches
    for (const auto& row : rows) of_frames[row["frame"]] = {row["ended_by"], row["dispatches"]};
    std::map<int64_t, std::pair<std::string, int64_t>> expected;
    for (size_t frame = 0; frame < frames; ++frame)
      expected[static_cast<int64_t>(frame)] = {ended_by, static_cast<int64_t>(8 / frames)};
    if (frames == 3) expected = {{0, {"label", 2}}, {1, {"label", 4}}, {2, {"open", 2}}};
    EXPECT_EQ(of_frames, expected) << options;
  }
}

TEST_F(Capture, frames_that_the_user_divides_are_selected_by_their_numbers) {
  const auto result = run_script(
      folder_.path(),
      "exec \"$TALLY\" run -o a.tally --frame-per fence --frames 1-2 --keep 1 -- " TALLY_ROUNDS_APP
      " rounds");
  ASSERT_EQ(result.end.shell_status(), 0) << result.standard_error;
  const auto rows = report("--by frame", "a.tally")["tables"][0]["rows"];
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["frame"], 2);
  EXPECT_EQ(rows[0]["dispatches"], 2);
}

TEST_F(Capture, without_passes_the_overview_opens_by_label_or_pipeline) {
  ASSERT_EQ(run("-o plain.tally", "3 0").end.shell_status(), 0);
  EXPECT_EQ(report("", "plain.tally")["tables"][0]["by"], "pipeline");
  const auto result = run_script(
      folder_.path(), "exec \"$TALLY\" run -o labels.tally -- " TALLY_ROUNDS_APP " rounds");
  ASSERT_EQ(result.end.shell_status(), 0) << result.standard_error;
  const auto table = report("", "labels.tally")["tables"][0];
  EXPECT_EQ(table["by"], "label");
  std::set<std::string> labels;
  for (const auto& row : table["rows"]) labels.insert(row["label"]);
  EXPECT_EQ(labels, (std::set<std::string>{"even round", "odd round"}));
}

TEST_F(Capture, what_was_done_before_an_abort_is_in_the_capture) {
  const auto result = run("", "3 abort");
  EXPECT_EQ(result.end.shell_status(), 128 + 6);
  EXPECT_THAT(result.standard_error, HasSubstr("terminated by SIGABRT"));
  EXPECT_EQ(report("--by draw --each")["tables"][0]["rows"].size(), 3u);
  EXPECT_EQ(report("")["capture"]["exit_status"], 128 + 6);
}

TEST_F(Capture, what_was_done_before_a_kill_is_in_the_capture) {
  const auto result = run_script(folder_.path(), R"(
    mkfifo output
    "$TALLY" run -- "$APP" 2 wait > output &
    read line < output
    pkill -KILL -P $! ; wait $!)");
  EXPECT_EQ(result.end.shell_status(), 128 + 9);
  EXPECT_EQ(report("--by draw --each")["tables"][0]["rows"].size(), 2u);
}

TEST_F(Capture, second_run_gets_a_number) {
  ASSERT_EQ(run("-q", "1 0").end.shell_status(), 0);
  ASSERT_EQ(run("-q", "1 0").end.shell_status(), 0);
  EXPECT_TRUE(std::filesystem::exists(folder_.file("launched_app.tally")));
  EXPECT_TRUE(std::filesystem::exists(folder_.file("launched_app-2.tally")));
}

TEST_F(Capture, several_processes_share_a_capture) {
  const auto result = run_script(
      folder_.path(), "exec \"$TALLY\" run -o two.tally -- sh -c '\"$APP\" 1 0; \"$APP\" 2 0'");
  ASSERT_EQ(result.end.shell_status(), 0);
  const auto json = report("", "two.tally");
  EXPECT_EQ(json["capture"]["processes"], 2);
  EXPECT_EQ(json["capture"]["dispatches"], 3);
}

TEST_F(Capture, processes_that_outlive_the_first_are_waited_for) {
  const auto result = run_script(folder_.path(), R"(
    mkfifo output
    "$TALLY" run -o later.tally -- sh -c '
      "$APP" 2 wait > output &
      app=$!
      read line < output
      { sleep 2; kill -TERM $app; } > /dev/null 2>&1 &')");
  EXPECT_EQ(result.end.shell_status(), 0);
  EXPECT_THAT(result.standard_error,
              testing::ContainsRegex("still capturing [^ ]+ \\(process [0-9]+\\), press Ctrl-C"));
  const auto json = report("", "later.tally");
  EXPECT_EQ(json["capture"]["dispatches"], 2);
  EXPECT_TRUE(json["capture"]["complete"].get<bool>());
}

TEST_F(Capture, shader_objects_are_counted) {
  const auto result = run("-o a.tally", "3 0 objects");
  if (result.end.shell_status() == 77) GTEST_SKIP() << "the device has no shader objects";
  ASSERT_EQ(result.end.shell_status(), 0) << result.standard_error;
  EXPECT_THAT(result.standard_error, testing::Not(HasSubstr("not counted")));
  const auto counted = report("", "a.tally");
  EXPECT_EQ(counted.at("capture").at("dispatches"), 3);
  EXPECT_TRUE(counted.at("capture").at("not_counted").empty());
  const auto row = report("--by shader", "a.tally")["tables"][0]["rows"][0];
  EXPECT_EQ(row["stage"], "compute");
  EXPECT_EQ(row["invocations"], 3 * 4 * 64);
  EXPECT_EQ(row["shared_stores"], 3 * 4 * 16);
}

// The layers of a chain that the loader made, the one nearest to the application first.
std::vector<std::string> chain_of(const std::string& loader_log) {
  std::vector<std::string> chain;
  std::istringstream in(loader_log);
  for (std::string line; std::getline(in, line);) {
    if (line.find("<Application>") != line.npos) chain.clear();
    const size_t name = line.find(" VK_LAYER_");
    if (line.starts_with("LAYER:") && name != line.npos && line.find(':', name) == line.npos)
      chain.push_back(line.substr(name + 1));
  }
  return chain;
}

TEST_F(Capture, layers_of_the_user_are_nearer_to_the_application) {
  const auto result =
      run_script(folder_.path(), "exec \"$TALLY\" run -o a.tally -- \"$APP\" 1 0",
                 {"VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation", "VK_LOADER_DEBUG=layer"});
  std::vector<std::string> chain = chain_of(result.standard_error);
  std::erase_if(chain, [](const std::string& name) { return name.starts_with("VK_LAYER_MESA"); });
  EXPECT_THAT(chain, testing::ElementsAre("VK_LAYER_KHRONOS_validation", "VK_LAYER_TALLY_capture",
                                          "VK_LAYER_TALLY_counters"))
      << result.standard_error;
}

// A loader may read the manifests of a folder in any order.
TEST_F(Capture, capture_is_above_counters_in_whatever_order_their_manifests_are_read) {
  const auto result = run_script(folder_.path(), R"(
    set -e
    from=$(dirname "$TALLY")/../lib
    mkdir -p p/bin p/lib/run
    cp "$TALLY" p/bin
    cp "$from"/run/*.json p/lib/run
    ln -s "$from"/*.so p/lib
    for i in $(seq 100); do
      rm -f p/lib/*.json
      cp "$from"/VkLayer_tally_capture.json p/lib/$i-capture.json
      cp "$from"/VkLayer_tally_counters.json p/lib/$i-counters.json
      ls -U p/lib | grep -m1 json | grep -q counters && break
    done
    ls -U p/lib | grep -m1 json
    p/bin/tally run -q -o a.tally -- "$APP" 1 0)");
  ASSERT_EQ(result.end.shell_status(), 0) << result.standard_error;
  ASSERT_THAT(result.standard_output, HasSubstr("counters.json"));
  EXPECT_EQ(report("--by shader", "a.tally")["tables"][0]["rows"][0]["invocations"], 4 * 64);
}

}  // namespace
}  // namespace tally::test
