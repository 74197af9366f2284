// The capture layer above VK_LAYER_TALLY_counters on lavapipe: the two know each other only through
// the extension.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

#include <cstring>

#include "capture/testing/session.h"
#include "picture/picture.h"

namespace tally::capture::testing {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kLayers = "VK_LAYER_TALLY_run";
constexpr int64_t kGroup = 32;  // invocations of the client's compute shader

Session run(SessionOptions options, int exit_status = 0, const char* layers = kLayers) {
  options.layers = layers;
  options.environment.emplace("TALLY_VALIDATE_SPIRV", "1");
  options.environment.emplace("TALLY_STATIC_COSTS", "0");  // as `tally run` does
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

// On AMD's compiler, without hardware: there the driver reports that it can make no semaphore.
TEST(CaptureStatistics, of_the_drivers_compiler_are_in_the_capture) {
  const char* driver = std::getenv("TALLY_TEST_DRIVER");
  const bool is_radv = driver && std::string(driver).starts_with("radv");
  const Session session = run(
      {.scenario = "compiled_alone", .environment = {{"TALLY_STATISTICS", "1"}}}, is_radv ? 9 : 0);
  const auto statistics = *session.reader().pipeline_statistics();
  if (!is_radv && statistics.empty()) {
    EXPECT_EQ(session.number("SELECT count(*) FROM message WHERE text LIKE '%no statistics of "
                             "pipelines%'"),
              1);
    return;
  }
  EXPECT_GT(session.number("SELECT value FROM pipeline_statistic WHERE name = 'VGPRs'"), 0);
  EXPECT_GT(session.number("SELECT value FROM pipeline_statistic WHERE name = 'Code size'"), 0);
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

// VK_EXT_frame_boundary, which the driver below may lack.
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

// --- by region

Session run_by_region(const std::string& scenario, const std::string& region_size = "16x16") {
  return run({.scenario = scenario,
              .environment = {{"TALLY_REGIONS", "1"}, {"TALLY_REGION_SIZE", region_size}}});
}

constexpr const char* kInvocations =
    " FROM region_values JOIN region_counter ON region_counter.id = counter JOIN pass_regions ON "
    "pass_regions.id = regions WHERE name = 'Fragment invocations' ";

// The values of all regions of a subpass and layer of the capture's only pass with regions.
std::vector<uint32_t> invocations(const Session& session, int subpass = 0, int layer = 0) {
  Result<store::Statement> rows = session.reader().query(
      std::string("SELECT by_region") + kInvocations + "AND subpass = ? AND layer = ?");
  EXPECT_TRUE(rows.ok()) << rows.error().message;
  rows->bind(int64_t{subpass}).bind(int64_t{layer});
  std::vector<uint32_t> values;
  if (!rows->step()) return values;
  values.resize(rows->blob(0).size() / sizeof(uint32_t));
  std::memcpy(values.data(), rows->blob(0).data(), rows->blob(0).size());
  EXPECT_FALSE(rows->step()) << "more than one";
  return values;
}

std::vector<uint32_t> everywhere(size_t regions, uint32_t value) {
  return std::vector<uint32_t>(regions, value);
}

TEST(CaptureByRegion, every_region_of_a_pass_has_its_invocations) {
  const Session session = run_by_region("render_pass");
  EXPECT_EQ(invocations(session), everywhere(4 * 4, 16 * 16 * (2 + 3)));
  EXPECT_EQ(executions(session), (std::vector<int64_t>{3 * 2, 3 * 3}))
      << "vertices: both extensions in one pass";
  EXPECT_EQ(session.number("SELECT count(*) FROM region_counter WHERE name NOT IN "
                           "('Fragment shader clock', 'Fragment primitives')"),
            20)
      << "apart from those that not every device has";
  EXPECT_THAT(session.number("SELECT total FROM region_values JOIN region_counter ON "
                             "region_counter.id = counter WHERE name = 'Fragment warps'"),
              AnyOf(64 * 64 * 5 / 8, 64 * 64 * 5 / 4, 64 * 64 * 5 / 32))
      << "subgroups of lavapipe, SwiftShader and NVIDIA";
  EXPECT_EQ(session.text("SELECT x || ' ' || y || ' ' || width || ' ' || height || ' ' || "
                         "region_width || ' ' || region_height FROM pass_regions"),
            "0 0 64 64 16 16");
}

TEST(CaptureByRegion, nothing_is_there_unless_it_is_asked_for) {
  const Session session = run({.scenario = "render_pass"});
  EXPECT_EQ(session.number("SELECT count(*) FROM region_counter"), 0);
  EXPECT_EQ(session.number("SELECT count(*) FROM pass_regions"), 0);
}

TEST(CaptureByRegion, secondaries_that_continue_a_pass_count_in_it) {
  EXPECT_EQ(invocations(run_by_region("secondaries")), everywhere(4 * 4, 16 * 16 * (2 + 2 * 5)));
}

// It began in another command buffer, and the part that ends it has the values of all of it.
TEST(CaptureByRegion, a_pass_that_is_resumed_has_the_values_of_all_its_parts) {
  const Session session = run_by_region("suspended");
  EXPECT_EQ(invocations(session), everywhere(4 * 4, 16 * 16 * (1 + 2 + 3)));
  EXPECT_EQ(session.number("SELECT count(*) FROM pass"), 2);
  EXPECT_EQ(session.number("SELECT pass FROM pass_regions"),
            session.number("SELECT max(id) FROM pass"));
}

TEST(CaptureByRegion, each_view_has_regions_of_its_own_from_the_corner_of_the_render_area) {
  const Session session = run_by_region("views");
  // The area is 40 x 20 from (8, 4): the last column is 8 wide, the last row 4 high.
  const std::vector<uint32_t> twice{512, 512, 256, 128, 128, 64};
  EXPECT_EQ(invocations(session, 0, 0), twice);
  EXPECT_THAT(invocations(session, 0, 1), IsEmpty());
  EXPECT_EQ(invocations(session, 0, 2), twice);
  EXPECT_EQ(session.number("SELECT count(*) FROM pass_regions"), 3);
  EXPECT_EQ(session.text("SELECT x || ' ' || y || ' ' || width || ' ' || height FROM pass_regions"),
            "8 4 40 20");
}

TEST(CaptureByRegion, each_subpass_has_its_own_values) {
  const Session session = run_by_region("subpasses");
  EXPECT_EQ(invocations(session, 0), everywhere(4 * 4, 16 * 16));
  EXPECT_EQ(invocations(session, 1), everywhere(4 * 4, 16 * 16 * 2));
}

TEST(CaptureByRegion, each_execution_of_a_recording_has_its_own_values) {
  const Session session = run_by_region("passes_again");
  EXPECT_EQ(session.number(std::string("SELECT count(*)") + kInvocations), 20);
  EXPECT_EQ(session.number(std::string("SELECT count(DISTINCT pass)") + kInvocations +
                           "AND total = 64 * 64 * 3"),
            20);
}

// --- draws by region

Session run_by_draw(const std::string& scenario) {
  return run(
      {.scenario = scenario,
       .environment = {
           {"TALLY_REGIONS", "1"}, {"TALLY_REGION_SIZE", "16x16"}, {"TALLY_REGION_DRAWS", "1"}}});
}

// Subpass, layer and fragment invocations of each draw.
std::string draws_by_region(const Session& session) {
  return session.text(
      "SELECT group_concat(text, ', ') FROM (SELECT subpass || ' ' || layer || ' ' || total AS "
      "text "
      "FROM region_draw JOIN region_counter ON region_counter.id = counter JOIN pass_regions ON "
      "pass_regions.id = regions WHERE name = 'Fragment invocations' ORDER BY regions, position)");
}

// Where the draws do not add up to what the pass counted.
int64_t unequal_sums(const Session& session) {
  return session.number(
      "SELECT count(*) FROM region_values AS v JOIN region_counter ON region_counter.id = "
      "v.counter "
      "WHERE name <> 'Fragment warps' AND total <> (SELECT coalesce(sum(total), 0) FROM "
      "region_draw "
      "AS d WHERE d.regions = v.regions AND d.counter = v.counter)");
}

TEST(CaptureDrawsByRegion, draws_add_up_to_their_pass) {
  const Session session = run_by_draw("render_pass");
  EXPECT_EQ(draws_by_region(session), "0 0 8192, 0 0 12288");
  EXPECT_EQ(invocations(session), everywhere(4 * 4, 16 * 16 * (2 + 3)));
  EXPECT_EQ(unequal_sums(session), 0);
  EXPECT_EQ(session.number("SELECT count(*) FROM command JOIN pass ON pass.execution = "
                           "command.execution JOIN region_draw AS d ON d.position = "
                           "command.position"),
            session.number("SELECT count(*) FROM region_draw"))
      << "each one is a command";
}

TEST(CaptureDrawsByRegion, draws_are_in_their_subpass) {
  const Session session = run_by_draw("subpasses");
  EXPECT_EQ(draws_by_region(session), "0 0 4096, 1 0 8192");
  EXPECT_EQ(unequal_sums(session), 0);
}

TEST(CaptureDrawsByRegion, a_draw_counts_in_each_view) {
  const Session session = run_by_draw("views");
  EXPECT_EQ(draws_by_region(session), "0 0 1600, 0 2 1600");
  EXPECT_EQ(unequal_sums(session), 0);
}

TEST(CaptureDrawsByRegion, each_execution_of_a_recording_has_its_own) {
  const Session session = run_by_draw("passes_again");
  EXPECT_EQ(session.number("SELECT count(DISTINCT regions) FROM region_draw"), 20);
  EXPECT_EQ(unequal_sums(session), 0);
}

TEST(CaptureDrawsByRegion, what_is_not_counted_is_said) {
  const auto message = [](const Session& session) {
    return session.text("SELECT text FROM message WHERE text LIKE 'not all draws%'");
  };
  const Session secondaries = run_by_draw("secondaries");
  EXPECT_THAT(message(secondaries), HasSubstr("secondary command buffers"));
  EXPECT_EQ(invocations(secondaries), everywhere(4 * 4, 16 * 16 * (2 + 2 * 5)));
  const Session suspended = run_by_draw("suspended");
  EXPECT_THAT(message(suspended), HasSubstr("suspended"));
  EXPECT_EQ(invocations(suspended), everywhere(4 * 4, 16 * 16 * (1 + 2 + 3)));
  EXPECT_EQ(message(run_by_draw("subpasses")), "");
}

// --- final images

// The capture's only pass with regions.
Picture picture(const Session& session, uint32_t layer = 0) {
  const auto row =
      session.reader().pass_picture(session.number("SELECT pass FROM pass_regions"), layer);
  EXPECT_TRUE(row.ok()) << row.error().message;
  if (!*row) {
    ADD_FAILURE() << "no picture: " << session.text("SELECT text FROM message");
    return {};
  }
  auto decoded = decode_png((*row)->png, 1 << 20);
  EXPECT_TRUE(decoded.ok()) << decoded.error().message;
  return *decoded;
}

Picture plain(uint32_t width, uint32_t height, uint32_t pixel) {
  return {width, height, std::vector<uint32_t>(size_t{width} * height, pixel)};
}

void expect_same(const Picture& a, const Picture& b) {
  EXPECT_EQ(a.width, b.width);
  EXPECT_EQ(a.height, b.height);
  EXPECT_EQ(a.pixels, b.pixels);
}

// Half of 255 is the driver's to round.
void expect_orange(const Picture& shown, uint32_t width, uint32_t height) {
  ASSERT_FALSE(shown.pixels.empty());
  EXPECT_THAT(shown.pixels[0], AnyOf(0xff0080ffu, 0xff007fffu));
  expect_same(shown, plain(width, height, shown.pixels[0]));
}

TEST(PassPictures, show_what_a_pass_has_drawn) {
  for (const char* scenario :
       {"render_pass", "secondaries", "suspended", "subpasses", "multisampled"}) {
    SCOPED_TRACE(scenario);
    expect_orange(picture(run_by_region(scenario)), 64, 64);
  }
}

TEST(PassPictures, are_not_taken_where_the_driver_refuses_what_they_need) {
  if (std::getenv("TALLY_TEST_VALIDATION")) GTEST_SKIP() << "not with the validation layer below";
  const Session session = run({.scenario = "imageless",
                               .environment = {{"TALLY_REGIONS", "1"},
                                               {"TALLY_REGION_SIZE", "16x16"},
                                               {"TALLY_TEST_FAULT", "vkCreateFramebuffer:1:-2"}}},
                              0,
                              "VK_LAYER_TALLY_capture:VK_LAYER_TALLY_counters:"
                              "VK_LAYER_TALLY_test_faults");
  EXPECT_EQ(session.number("SELECT count(*) FROM pass"), 1);
}

TEST(PassPictures, are_of_each_layer_as_far_as_the_render_area) {
  const Session session = run_by_region("views");
  expect_orange(picture(session, 0), 40, 20);
  expect_orange(picture(session, 2), 40, 20);
  EXPECT_EQ(session.number("SELECT count(*) FROM pass_picture"), 3);
}

// 64x64 pixels.
Picture halves(uint32_t left, uint32_t right) {
  Picture both = plain(64, 64, right);
  for (uint32_t y = 0; y < 64; ++y) {
    for (uint32_t x = 0; x < 32; ++x) both.at(x, y) = left;
  }
  return both;
}

TEST(PassPictures, are_there_of_images_that_the_application_never_reads) {
  expect_same(picture(run_by_region("shadow")), halves(0xff000000, 0xffffffff));
  expect_same(picture(run_by_region("imageless")), plain(40, 20, 0xffff0000));
}

TEST(PassPictures, are_there_of_samples_that_nobody_resolves) {
  expect_same(picture(run_by_region("unresolved")), halves(0xff0000ff, 0xffff0000));
}

TEST(PassPictures, show_numbers_and_depth_from_the_least_to_the_most) {
  expect_same(picture(run_by_region("numbers")), halves(0xffffffff, 0xff000000));
  expect_same(picture(run_by_region("depth_and_stencil")), halves(0xff000000, 0xffffffff));
}

TEST(CaptureByRegion, where_nothing_below_offers_it_that_is_said) {
  const Session session({.scenario = "render_pass", .environment = {{"TALLY_REGIONS", "1"}}});
  EXPECT_EQ(session.exit_status(), 0) << session.errors();
  EXPECT_EQ(session.number("SELECT count(*) FROM pass_regions"), 0);
  EXPECT_THAT(session.text("SELECT text FROM message"),
              HasSubstr("neither the driver nor VK_LAYER_TALLY_counters offers"));
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

std::map<std::string, int64_t> live_counters(const Session& session) {
  std::map<std::string, int64_t> values;
  std::istringstream lines(session.errors());
  for (std::string line; std::getline(lines, line);) {
    const size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const char* const number = line.c_str() + equals + 1;
    const auto [end, error] =
        std::from_chars(number, line.c_str() + line.size(), values[line.substr(0, equals)]);
    EXPECT_EQ(error, std::errc{}) << line;
    EXPECT_EQ(*end, '\0') << line;
  }
  return values;
}

int64_t entry_executions(const Session& session, int stage) {
  return session.number(
      "SELECT ifnull(sum(executions), 0) FROM block_count WHERE block = 0 AND stage = " +
      std::to_string(stage));
}

constexpr std::array kLiveScenarios = {"resubmit",  "simultaneous", "render_pass", "secondaries",
                                       "suspended", "many",         "threads",     "two_devices"};

TEST(LiveCounters, agree_with_what_was_captured) {
  for (const char* scenario : kLiveScenarios) {
    const Session session =
        run({.scenario = scenario, .environment = {{"TEST_LIVE_COUNTERS", "wanted"}}});
    const auto live = live_counters(session);
    EXPECT_EQ(live.at("Vertex shader invocations"), entry_executions(session, 1)) << scenario;
    EXPECT_EQ(live.at("Fragment shader invocations"), entry_executions(session, 16)) << scenario;
    EXPECT_EQ(live.at("Compute shader invocations"), entry_executions(session, 32)) << scenario;
    EXPECT_EQ(live.at("Submissions"), session.number("SELECT count(*) FROM submission"))
        << scenario;
    EXPECT_EQ(live.at("Shaders: Blocks executed"),
              session.number(
                  "SELECT sum(value) FROM command_metric AS m JOIN metric ON metric.id = m.metric "
                  "WHERE lower(metric.name) = 'executions'"))
        << scenario;
    EXPECT_EQ(live.at("Commands whose shaders are not counted"), 0) << scenario;
  }
}

TEST(LiveCounters, are_the_same_without_a_receiver) {
  for (const char* scenario : kLiveScenarios) {
    auto with = live_counters(
        run({.scenario = scenario, .environment = {{"TEST_LIVE_COUNTERS", "wanted"}}}));
    auto without = live_counters(run({.scenario = scenario,
                                      .environment = {{"TEST_LIVE_COUNTERS", "wanted"},
                                                      {"TALLY_LIVE_COUNTERS", "1"},
                                                      {"TALLY_CAPTURE_SOCKET", ""}}}));
    for (auto* values : {&with, &without}) values->erase("GPU time in passes and dispatches");
    EXPECT_EQ(with, without) << scenario;
    EXPECT_GT(without.at("Submissions"), 0) << scenario;
  }
}

TEST(LiveCounters, are_the_same_from_the_spirv_and_from_the_values) {
  for (const char* scenario : kLiveScenarios) {
    const auto totals = [&](const char* static_costs) {
      auto values = live_counters(run({.scenario = scenario,
                                       .environment = {{"TEST_LIVE_COUNTERS", "wanted"},
                                                       {"TALLY_STATIC_COSTS", static_costs}}}));
      values.erase("GPU time in passes and dispatches");
      return values;
    };
    const auto added = totals("0");
    EXPECT_EQ(added, totals("1")) << scenario;
    EXPECT_GT(added.at("Shaders: Instructions"), added.at("Shaders: Blocks executed")) << scenario;
  }
}

TEST(LiveCounters, have_what_the_device_generates_in_a_pass_as_a_draw) {
  const std::map<std::string, std::pair<int, int>> expected = {{"generated", {0, 1}},
                                                               {"generated_set", {0, 3}},
                                                               {"generated_draw", {1, 0}},
                                                               {"generated_draw_set", {1, 0}}};
  for (const auto& [scenario, commands] : expected) {
    const Session session({.scenario = scenario,
                           .environment = {{"TEST_LIVE_COUNTERS", "wanted"}},
                           .layers = kLayers});
    if (session.exit_status() == 77) GTEST_SKIP() << "no generated commands";
    ASSERT_EQ(session.exit_status(), 0) << session.errors();
    const auto live = live_counters(session);
    EXPECT_EQ(live.at("Draw commands"), commands.first) << scenario;
    EXPECT_EQ(live.at("Draws, each of a multi-draw"), commands.first) << scenario;
    EXPECT_EQ(live.at("Dispatches"), commands.second) << scenario;
  }
}

TEST(LiveCounters, count_nothing_that_nobody_wants) {
  const auto live = live_counters(run({.scenario = "resubmit",
                                       .environment = {{"TEST_LIVE_COUNTERS", "1"},
                                                       {"TALLY_LIVE_COUNTERS", "1"},
                                                       {"TALLY_CAPTURE_SOCKET", ""}}}));
  ASSERT_FALSE(live.empty());
  for (const auto& [name, value] : live) EXPECT_EQ(value, 0) << name;
}

}  // namespace
}  // namespace tally::capture::testing
