// The capture layer above VK_LAYER_TALLY_counters on lavapipe: the two know each other only through
// the extension.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <vulkan/vulkan_core.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "capture/testing/counted_session.h"

namespace tally::capture::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(CaptureWithCounters, invocations_are_exact_in_every_submission) {
  EXPECT_THAT(executions(run({.scenario = "resubmit"})),
              ElementsAre(kGroup, 2 * kGroup, 3 * kGroup, kGroup, 2 * kGroup, 3 * kGroup));
}

// On AMD's compiler, without hardware: there the driver reports that it can make no semaphore.
TEST(CaptureStatistics, of_the_drivers_compiler_are_in_the_capture) {
  const char* driver = std::getenv("TALLY_TEST_DRIVER");
  const bool is_radv = driver && std::string(driver).starts_with("radv");
  const Session session = run(
      {.scenario = "compiled_alone", .environment = {{"TALLY_STATISTICS", "1"}}}, is_radv ? 9 : 0);
  const auto statistics = *session.reader().pipeline_statistics();
  if (!is_radv && statistics.empty()) {
    EXPECT_EQ(session.number(
                  "SELECT count(*) FROM message WHERE text LIKE '%pipelines have no statistics%'"),
              1);
    return;
  }
  if (is_radv) {  // other compilers have other statistics
    EXPECT_GT(session.number("SELECT value FROM pipeline_statistic WHERE name = 'VGPRs'"), 0);
    EXPECT_GT(session.number("SELECT value FROM pipeline_statistic WHERE name = 'Code size'"), 0);
  }
  EXPECT_EQ(session.number("SELECT DISTINCT stages FROM pipeline_statistic"),
            VK_SHADER_STAGE_COMPUTE_BIT);
  EXPECT_EQ(session.number("SELECT count(DISTINCT pipeline) FROM pipeline_statistic"), 1);
}

TEST(CaptureWithCounters, dispatches_of_a_pipeline_with_equal_values_share_them) {
  const Session session = run({.scenario = "resubmit"});
  EXPECT_EQ(session.number("SELECT count(value_set) FROM command_batch"), 6);
  EXPECT_EQ(session.number("SELECT count(DISTINCT value_set) FROM command_batch"), 3);
  EXPECT_EQ(session.number("SELECT count(DISTINCT batch) FROM batch_count"), 3);
  const Session overlapping = run({.scenario = "simultaneous"});
  EXPECT_EQ(overlapping.number("SELECT sum(executions) FROM block_count WHERE block = 0"),
            20 * 2 * 5 * kGroup);
}

TEST(CaptureWithCounters, draws_of_a_frame_share_the_values_of_the_frame_before) {
  const Session session =
      run({.scenario = "draws", .environment = {{"TEST_DRAWS", "4"}, {"TEST_FRAMES", "5"}}});
  EXPECT_EQ(session.number("SELECT count(*) FROM command_batch WHERE size = 4"), 5);
  EXPECT_EQ(session.number("SELECT count(DISTINCT value_set) FROM command_batch"), 1);
  EXPECT_EQ(session.number("SELECT count(DISTINCT batch) FROM batch_count"), 1);
  // Of 1, 2, 3 and 1 instances.
  EXPECT_EQ(session.text("SELECT executions FROM batch_count WHERE stage = 1 AND block = 0"),
            "[3,6,9,3]");
  EXPECT_EQ(session.number("SELECT sum(executions) FROM block_count WHERE stage = 1 AND block = 0"),
            5 * (3 + 6 + 9 + 3));
}

// VK_EXT_frame_boundary, which the driver below may lack.
// For each command, in order, "R" if it repeats an earlier one, and the executions of its loop's
// condition, divided by 32.
std::string loops_of_commands(const Session& session) {
  return session.text(
      "SELECT group_concat(iif(repeats, 'R', '') || (executions / 32), ' ') FROM (SELECT repeats, "
      "max(executions) AS executions FROM command_list JOIN command_batch ON "
      "command_batch.id = command_list.command / 1024 LEFT JOIN block_count USING (command) "
      "GROUP BY command_list.command ORDER BY submission_number, command_list.execution, "
      "command_list.position)");
}

// `tally run` sets the first two where nobody asks for more than executions.
const std::map<std::string, std::string> kExecutionsOnly = {
    {"TALLY_COUNT_SUBGROUPS", "0"}, {"TALLY_STATIC_COSTS", "0"}, {"TALLY_REPEAT_AT_ONCE", "1"}};

TEST(CaptureWithCounters, a_dispatch_repeats_another_if_its_counts_can_be_no_others) {
  EXPECT_EQ(loops_of_commands(run({.scenario = "launches", .environment = kExecutionsOnly})),
            "4 R4 5 8 4 6 8 R5 R4 7 R8 R4 7 R8 R8 14 R16");
}

TEST(CaptureWithCounters, a_dispatch_repeats_another_with_descriptors_of_the_same_sizes) {
  const Session session({.scenario = "sizes", .environment = kExecutionsOnly, .layers = kLayers});
  if (session.exit_status() == 77) GTEST_SKIP() << "no pushed descriptors";
  EXPECT_EQ(session.exit_status(), 0) << session.errors();
  EXPECT_EQ(loops_of_commands(session), "36 36 R36 38 37 R37 36 R36 38 37 R37");
}

TEST(CaptureWithCounters, a_dispatch_repeats_none_if_others_pushed_over_its_constants) {
  const Session session = run({.scenario = "pushed_for_others", .environment = kExecutionsOnly});
  auto environment = kExecutionsOnly;
  environment["TALLY_COUNT_BRANCHES"] = "1";
  EXPECT_EQ(loops_of_commands(session),
            loops_of_commands(run({.scenario = "pushed_for_others", .environment = environment})));
}

// With these, counts depend on more than the inputs of a dispatch.
TEST(CaptureWithCounters, no_dispatch_repeats_another_where_more_is_counted_than_executions) {
  for (const char* setting :
       {"TALLY_COUNT_SUBGROUPS", "TALLY_COUNT_MEMORY", "TALLY_COUNT_VALUES", "TALLY_COUNT_LOOPS",
        "TALLY_COUNT_BRANCHES", "TALLY_CLOCKS", "TALLY_STATIC_COSTS"}) {
    auto environment = kExecutionsOnly;
    environment[setting] = "1";
    const Session session = run({.scenario = "often", .environment = environment});
    EXPECT_EQ(session.number("SELECT count(*) FROM command_batch WHERE repeats"), 0) << setting;
  }
}

TEST(CaptureWithCounters, a_dispatch_that_repeats_often_is_counted_from_time_to_time) {
  const Session session = run({.scenario = "often", .environment = kExecutionsOnly});
  EXPECT_EQ(session.number("SELECT sum(size) FROM command_batch"), 200);
  EXPECT_EQ(session.number("SELECT sum(size) FROM command_batch WHERE repeats"), 195);
  EXPECT_EQ(session.number("SELECT sum(executions) FROM block_count WHERE block = 0"), 200 * 32);
}

// The plain pipeline is made when the first of them repeats.
TEST(CaptureWithCounters,
     dispatches_on_a_cpu_device_are_counted_while_a_plain_pipeline_costs_more) {
  auto environment = kExecutionsOnly;
  environment["TALLY_REPEAT_AT_ONCE"] = "0";
  const Session session = run({.scenario = "often", .environment = environment});
  const auto repeats = session.number("SELECT sum(size) FROM command_batch WHERE repeats");
  if (session.text("SELECT type FROM device") == "cpu") {
    EXPECT_GT(repeats, 20);
    EXPECT_LT(repeats, 190);
  } else {
    EXPECT_EQ(repeats, 199 - 4);
  }
  EXPECT_EQ(session.number("SELECT sum(executions) FROM block_count WHERE block = 0"), 200 * 32);
}

TEST(CaptureWithCounters, repetitions_have_their_counts_wherever_they_run) {
  const Session session = run({.scenario = "often_everywhere", .environment = kExecutionsOnly});
  constexpr int64_t kDispatches = 100 + 100 * 40 + 50 * 2 * 3 + 20 * 3 * 5;
  EXPECT_EQ(session.number("SELECT sum(runs) FROM command_list"), kDispatches);
  EXPECT_EQ(session.number("SELECT sum(executions) FROM block_count WHERE block = 0"),
            kDispatches * 32);
  EXPECT_GT(session.number("SELECT sum(size) FROM command_batch WHERE repeats"), kDispatches / 2);
}

// Repetitions 33 to 199 without two that are counted again. All are timed up to the 64th.
TEST(CaptureWithCounters, a_part_of_the_dispatches_that_repeat_often_is_timed) {
  const char* const timed = "SELECT count(gpu_time_ns) FROM command";
  const char* const sampled = "SELECT ifnull(sum(size), 0) FROM command_batch WHERE time_sample";
  const Session session = run({.scenario = "often", .environment = kExecutionsOnly});
  EXPECT_EQ(session.number(sampled), 199 - 32 - 2);
  EXPECT_EQ(session.number("SELECT count(DISTINCT time_sample) FROM command_batch"), 1);
  EXPECT_GT(session.number(timed), 200 - (199 - 64 - 1));
  EXPECT_LT(session.number(timed), 110);
  auto environment = kExecutionsOnly;
  environment["TALLY_TIMES"] = "draws";
  const Session each = run({.scenario = "often", .environment = environment});
  EXPECT_EQ(each.number(timed), 200);
  EXPECT_EQ(each.number(sampled), 0);
}

TEST(CaptureWithCounters, conditional_dispatches_repeat_none_and_are_not_repeated) {
  const Session session(
      {.scenario = "conditional", .environment = kExecutionsOnly, .layers = kLayers});
  if (session.exit_status() == 77) GTEST_SKIP() << "no conditional rendering";
  EXPECT_EQ(session.exit_status(), 0) << session.errors();
  EXPECT_EQ(session.number("SELECT sum(size) FROM command_batch WHERE repeats"), 1);
  EXPECT_EQ(session.number("SELECT sum(executions) FROM block_count WHERE block = 0"), 3 * 32);
}

TEST(CaptureWithCounters, frames_that_the_application_marks_have_their_counts) {
  const Session session = run({.scenario = "marked"});
  EXPECT_THAT(executions(session), ElementsAre(kGroup, 100 * kGroup, 2 * kGroup, 100 * kGroup,
                                               3 * kGroup, 100 * kGroup, 4 * kGroup, 100 * kGroup));
  EXPECT_EQ(session.text("SELECT group_concat(ended_by) FROM frame"),
            "boundary,boundary,boundary,boundary");
  EXPECT_EQ(session.text("SELECT group_concat(frame) FROM command_list"), "0,0,1,1,2,2,3,3");
}

TEST(CaptureWithCounters, labels_of_a_command_buffer_divide_its_counts) {
  const Session session =
      run({.scenario = "labels", .environment = {{"TALLY_FRAME_LABEL", "^token"}}});
  EXPECT_EQ(session.text("SELECT group_concat(frame || ':' || executions) FROM command_list JOIN "
                         "block_count USING (command) WHERE block = 0"),
            "0:32,0:64,0:96,1:128,1:160,2:192,2:32,2:64,2:96,3:128,3:160,4:192");
}

TEST(CaptureWithCounters, overlapping_submissions_add_up_exactly) {
  const Session session = run({.scenario = "simultaneous"});
  EXPECT_EQ(session.number("SELECT sum(executions) FROM block_count WHERE block = 0"),
            40 * 5 * kGroup);
  EXPECT_EQ(session.number("SELECT count(*) FROM command WHERE gpu_time_ns NOT BETWEEN 0 AND 60e9"),
            0)
      << "from the beginning of one execution to the end of another";
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

// Topology, restart, and control points of a patch.
std::string assembly_of_draws(const Session& session) {
  return session.text(
      "SELECT group_concat(topology || ' ' || primitive_restart || ' ' || patch_control_points) "
      "FROM (SELECT * FROM command_batch ORDER BY positions)");
}

TEST(CaptureWithCounters, draws_have_the_topology_of_their_pipeline_or_of_commands) {
  const Session session({.scenario = "topologies", .layers = kLayers});
  if (session.exit_status() == 77) GTEST_SKIP() << "no tessellation";
  ASSERT_EQ(session.exit_status(), 0) << session.errors();
  EXPECT_EQ(assembly_of_draws(session), "4 1 0,4 1 0,1 0 0,2 0 0,10 0 3");
  EXPECT_EQ(session.number("SELECT count(*) FROM command_batch WHERE counted"), 5);
}

TEST(CaptureWithCounters, pipelines_of_libraries_have_the_topology_of_one) {
  const Session session({.scenario = "libraries", .layers = kLayers});
  if (session.exit_status() == 77) GTEST_SKIP() << "no graphicsPipelineLibrary";
  ASSERT_EQ(session.exit_status(), 0) << session.errors();
  EXPECT_EQ(assembly_of_draws(session), "3 0 0");
}

// The array that all invocations of 3 workgroups load has 5 elements in the first pipeline and 1 in
// the others.
TEST(CaptureWithCounters, pipelines_that_specialize_a_module_differently_have_costs_of_their_own) {
  for (const char* static_costs : {"0", "1"}) {
    const Session session =
        run({.scenario = "specialized", .environment = {{"TALLY_STATIC_COSTS", static_costs}}});
    const auto numbers = [&](const std::string& sql) {
      std::vector<int64_t> rows;
      auto statement = session.reader().query(sql);
      while (statement.ok() && statement->step()) rows.push_back(statement->integer(0));
      return rows;
    };
    EXPECT_THAT(numbers("SELECT sum(value) FROM command_metric JOIN command_list USING (command) "
                        "JOIN metric ON metric.id = metric "
                        "WHERE metric.name = 'Shared-memory bytes loaded' "
                        "GROUP BY command ORDER BY position"),
                ElementsAre(3 * 8 * 5 * 4, 3 * 4, 3 * 4));
    EXPECT_EQ(session.number("SELECT count(*) FROM pipeline"), 3);
    EXPECT_EQ(session.number("SELECT count(*) FROM module"), 1);
    EXPECT_EQ(session.text("SELECT group_concat(constants, ' ') FROM shader"),
              R"({"0":"0x00000008","1":"0x00000005"} {})");
  }
}

TEST(CaptureWithCounters, draws_with_shader_objects_are_measured) {
  const Session session({.scenario = "shader_objects", .layers = kLayers});
  if (session.exit_status() == 77) GTEST_SKIP() << "no shader objects";
  ASSERT_EQ(session.exit_status(), 0) << session.errors();
  EXPECT_THAT(executions(session), ElementsAre(3, 3 * 2, 3 * 3)) << "vertices";
  EXPECT_EQ(
      session.number("SELECT sum(executions) FROM block_count WHERE stage = 16 AND block = 0"),
      64 * 64 * (1 + 2 + 3))
      << "fragments";
  EXPECT_EQ(session.number("SELECT count(*) FROM pipeline WHERE not_instrumented != ''"), 0);
  EXPECT_EQ(session.number("SELECT count(*) FROM pipeline"), 1) << "three sets of equal shaders";
  EXPECT_EQ(assembly_of_draws(session), "3 0 0") << "that commands have set";
  EXPECT_EQ(session.number("SELECT count(*) FROM shader WHERE module IS NULL"), 0);
}

TEST(CaptureWithCounters, shader_objects_that_are_named_after_their_creation_are_selected) {
  const Session session({.scenario = "named_shader_objects",
                         .environment = {{"TALLY_SHADER", "the chosen*"}},
                         .layers = kLayers});
  if (session.exit_status() == 77) GTEST_SKIP() << "no shader objects";
  ASSERT_EQ(session.exit_status(), 0) << session.errors();
  EXPECT_THAT(executions(session), ElementsAre(-1, 3 * 2)) << "of both sets, the second is named";
  EXPECT_EQ(session.number("SELECT count(*) FROM pipeline WHERE not_instrumented != ''"), 1);
}

TEST(CaptureWithCounters, commands_that_the_device_generates_are_measured) {
  const Session session({.scenario = "generated", .layers = kLayers});
  if (session.exit_status() == 77) GTEST_SKIP() << "no generated commands";
  ASSERT_EQ(session.exit_status(), 0) << session.errors();
  EXPECT_THAT(executions(session), ElementsAre(3 * kGroup));
}

TEST(CaptureWithCounters, commands_that_the_device_generates_from_a_set_are_measured) {
  const Session session({.scenario = "generated_set", .layers = kLayers});
  if (session.exit_status() == 77) GTEST_SKIP() << "no generated commands";
  ASSERT_EQ(session.exit_status(), 0) << session.errors();
  EXPECT_EQ(session.number("SELECT count(*) FROM command WHERE counted = 0"), 0);
  EXPECT_EQ(session.number("SELECT count(*) FROM message WHERE text LIKE '%static costs%'"), 0);
  EXPECT_EQ(session.number("SELECT count(*) FROM pipeline WHERE bound"), 2);
  const auto executions_of = [&](const std::string& where) {
    return session.number(
        "SELECT sum(c.executions) FROM block_count AS c JOIN command ON command.id = c.command "
        "JOIN pipeline ON pipeline.id = command.pipeline "
        "JOIN batch_shader AS s ON s.batch = c.batch AND s.stage = c.stage "
        "AND coalesce(s.sub, c.sub) = c.sub "
        "WHERE c.block = 0 AND pipeline.name" +
        where);
  };
  const std::string in_set = " = 'execution set of 3 pipelines'";
  EXPECT_EQ(executions_of(in_set + " AND s.shader = 1"), 3 * kGroup);
  EXPECT_EQ(executions_of(in_set + " AND s.shader = 2"), 2 * 8);
  EXPECT_EQ(executions_of(" <> 'execution set of 3 pipelines'"), (1 + 2) * kGroup);
}

TEST(CaptureWithCounters, submissions_of_four_threads_on_one_queue_are_measured) {
  if (std::getenv("TALLY_TEST_VALIDATION")) GTEST_SKIP() << "not with the validation layer below";
  const Session session = run({.scenario = "shared_queue"}, 0,
                              "VK_LAYER_TALLY_capture:VK_LAYER_TALLY_counters:"
                              "VK_LAYER_TALLY_test_newest_driver");
  EXPECT_THAT(session.commands(), SizeIs(4 * 10));
  EXPECT_EQ(session.number("SELECT sum(executions) FROM block_count WHERE block = 0"),
            10 * (1 + 2 + 3 + 4) * kGroup);
}

// On the driver, and on the one that stands for others; hidden and not.
class CaptureEverything : public ::testing::TestWithParam<std::pair<bool, bool>> {};

TEST_P(CaptureEverything, that_is_listed_can_be_enabled_and_commands_are_measured) {
  const auto [others, all] = GetParam();
  if (std::getenv("TALLY_TEST_VALIDATION")) GTEST_SKIP() << "not with the validation layer below";
  SessionOptions options{.scenario = "everything"};
  if (all) options.environment["TALLY_HIDE_EXTENSIONS"] = "0";
  const Session session = run(options, 0,
                              others ? "VK_LAYER_TALLY_capture:VK_LAYER_TALLY_counters:"
                                       "VK_LAYER_TALLY_test_uncounted_driver"
                                     : kLayers);
  EXPECT_THAT(executions(session), ElementsAre(3 * kGroup));
  const std::string named =
      "SELECT count(*) FROM message WHERE text LIKE '%run is not counted: %VK_KHR_pipeline_binary "
      "(%VK_NV_device_generated_commands (%'";
  // Those that are hidden are not listed.
  const auto is_listed = [&](const char* extension) {
    return session.errors().find(std::string("listed: ") + extension + "\n") != std::string::npos;
  };
  const bool are_listed =
      is_listed("VK_KHR_pipeline_binary") && is_listed("VK_NV_device_generated_commands");
  if (others) {
    EXPECT_EQ(are_listed, all);
  }
  EXPECT_EQ(session.number(named), are_listed ? 1 : 0);
}

INSTANTIATE_TEST_SUITE_P(OnEach, CaptureEverything,
                         ::testing::Values(std::pair(false, false), std::pair(false, true),
                                           std::pair(true, false), std::pair(true, true)));

TEST(CaptureWithCounters, commands_whose_arguments_an_address_names_are_measured) {
  const Session session = run({.scenario = "addressed"}, 0,
                              "VK_LAYER_TALLY_capture:VK_LAYER_TALLY_counters:"
                              "VK_LAYER_TALLY_test_newest_driver");
  ASSERT_THAT(session.commands(), SizeIs(3));
  EXPECT_EQ(session.commands()[0].call, "vkCmdDispatchIndirect2KHR");
  EXPECT_EQ(session.commands()[2].call, "vkCmdDrawIndirect2KHR");
  EXPECT_EQ(session.commands()[2].parameters, R"({"drawCount":2,"stride":16})");
  EXPECT_THAT(executions(session), ElementsAre(3 * kGroup, 3, 3 * 2 + 3));
}

TEST(CaptureWithCounters, pipelines_with_descriptor_heaps_are_measured) {
  const Session session = run({.scenario = "heaps"}, 0,
                              "VK_LAYER_TALLY_capture:VK_LAYER_TALLY_counters:"
                              "VK_LAYER_TALLY_test_newest_driver");
  EXPECT_THAT(executions(session), ElementsAre(kGroup, 2 * kGroup, 3 * kGroup, kGroup, kGroup));
  EXPECT_EQ(session.number("SELECT count(*) FROM pipeline WHERE not_instrumented != ''"), 0);
}

TEST(CaptureWithCounters, draws_that_would_disturb_descriptor_heaps_are_listed_as_uncounted) {
  const Session session = run({.scenario = "mixed_heaps"}, 0,
                              "VK_LAYER_TALLY_capture:VK_LAYER_TALLY_counters:"
                              "VK_LAYER_TALLY_test_newest_driver");
  EXPECT_THAT(executions(session), ElementsAre(3, -1));
  EXPECT_EQ(session.number("SELECT count(*) FROM command WHERE counted = 0"), 1);
}

TEST(CaptureWithCounters, pipelines_of_identifiers_are_asked_for_with_their_code) {
  EXPECT_THAT(executions(run({.scenario = "identifiers"})), ElementsAre(5 * kGroup));
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

// All values of all blocks, and the metrics in order.
std::string every_value(const std::string& scenario, const char* static_costs) {
  const Session session =
      run({.scenario = scenario, .environment = {{"TALLY_STATIC_COSTS", static_costs}}});
  EXPECT_GT(session.number("SELECT count(DISTINCT metric) FROM block_metric WHERE value <> 0"), 5);
  return session.text(
             "SELECT group_concat(name || ': ' || description, char(10)) FROM (SELECT * FROM "
             "device_metric JOIN metric ON metric.id = metric ORDER BY device, position)") +
         session.text(R"sql(
           SELECT group_concat(value, char(10)) FROM (
             SELECT submission_number || ' ' || execution_position || ' ' || position || ': ' ||
                    sub || ' ' || stage || ' ' || block || ' ' || name || ' ' || value AS value
             FROM block_metric JOIN metric ON metric.id = metric JOIN command_list USING (command)
             WHERE value <> 0 ORDER BY 1))sql");
}

TEST(CaptureWithCounters, static_costs_are_the_same_from_the_spirv_and_from_the_values) {
  for (const char* scenario : {"resubmit", "render_pass", "secondaries", "suspended", "resets"}) {
    EXPECT_EQ(every_value(scenario, "0"), every_value(scenario, "1")) << scenario;
  }
}

TEST(CaptureWithCounters, static_costs_are_not_read_from_the_layer_where_it_leaves_them_out) {
  const Session session = run({.scenario = "resubmit"});
  EXPECT_EQ(session.number("SELECT count(*) FROM batch_other WHERE metric IN "
                           "(SELECT metric FROM block_cost)"),
            0);
  EXPECT_GT(session.number("SELECT count(DISTINCT metric) FROM block_cost"), 5);
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
