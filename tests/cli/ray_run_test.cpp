// Whole way with ray tracing: traced_app under `tally run`, then `tally report` of the capture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "program.h"
#include "store/testing/test_capture.h"

namespace tally::test {
namespace {

using nlohmann::json;

class RayRun : public testing::Test {
 protected:
  static constexpr int kSubmissions = 3;

  void SetUp() override {
    const auto run = run_script(folder_.path(), "exec \"$TALLY\" run -o a.tally -- " +
                                                    std::string(TALLY_TRACED_APP) + " " +
                                                    std::to_string(kSubmissions));
    if (run.end.shell_status() == 77) GTEST_SKIP() << "the device has no ray-tracing pipelines";
    ASSERT_EQ(run.end.shell_status(), 0) << run.standard_error;
    EXPECT_EQ(run.standard_output, "done\n");
    EXPECT_THAT(run.standard_error, testing::Not(testing::HasSubstr("not counted")));
  }
  json rows(const std::string& options) {
    const auto result =
        run_script(folder_.path(), "exec \"$TALLY\" report --format json " + options + " a.tally");
    EXPECT_EQ(result.end.shell_status(), 0) << result.standard_error;
    return json::parse(result.standard_output).at("tables").at(0).at("rows");
  }

  store::TestDirectory folder_;
};

TEST_F(RayRun, every_shader_has_its_own_invocations) {
  std::multimap<std::string, int> invocations;
  for (const json& row : rows("--by shader")) {
    invocations.emplace(row.at("stage"), row.at("invocations"));
    EXPECT_EQ(row.at("commands"), kSubmissions);
  }
  std::multimap<std::string, int> expected = {
      {"ray generation", 64}, {"miss", 24},    {"miss", 16},    {"closest hit", 28},
      {"closest hit", 12},    {"any hit", 16}, {"any hit", 16}, {"intersection", 16},
      {"callable", 4},        {"callable", 4}};
  for (auto& [stage, count] : expected) count *= kSubmissions;
  using Pairs = std::multiset<std::pair<std::string, int>>;
  EXPECT_EQ(Pairs(invocations.begin(), invocations.end()), Pairs(expected.begin(), expected.end()));
}

TEST_F(RayRun, every_stage_has_lines) {
  std::map<std::string, int> executions;  // by file and line
  for (const json& row : rows("--by line")) executions[row.at("location")] = row.at("executions");
  EXPECT_EQ(executions.at("rays.rgen:17"), 8 * kSubmissions);
  EXPECT_EQ(executions.at("sky.rmiss:8"), 20 * kSubmissions);
  EXPECT_EQ(executions.at("surface.rchit:11"), 16 * kSubmissions);
  EXPECT_EQ(executions.at("leaf.rahit:13"), 4 * kSubmissions);
  EXPECT_EQ(executions.at("box.rint:11"), 16 * kSubmissions);
  EXPECT_EQ(executions.at("box.rahit:9"), 4 * kSubmissions);
  EXPECT_EQ(executions.at("even.rcall:7"), 12 * kSubmissions);
  EXPECT_EQ(executions.at("odd.rcall:8"), 2 * kSubmissions);
}

TEST_F(RayRun, every_trace_is_a_command) {
  const json commands = rows("--by draw --each");
  ASSERT_EQ(commands.size(), static_cast<size_t>(kSubmissions));
  for (const json& row : commands) {
    EXPECT_EQ(row.at("call"), "TraceRaysKHR 8 x 8 x 1");
    EXPECT_EQ(row.at("invocations_any_hit"), 16 + 16);
    EXPECT_EQ(row.at("ray_traversals"), 64 + 16 + 8);
  }
}

TEST_F(RayRun, a_ray_tracing_shader_is_replaced) {
  const auto script = [&](const std::string& text) {
    const auto result = run_script(folder_.path(), text);
    EXPECT_EQ(result.end.shell_status(), 0) << result.standard_error;
    return result.standard_error;
  };
  script("exec \"$TALLY\" extract sky.rmiss a.tally -o sky.rmiss");
  script(
      "sed -i 's/^  payload.x = 1u;/&\\n  for (int i = 0; i < 3; ++i)\\n"
      "    payload.x = payload.x;/' sky.rmiss");
  EXPECT_THAT(script("exec \"$TALLY\" run --force -o a.tally --strict --replace "
                     "sky.rmiss=sky.rmiss -- " +
                     std::string(TALLY_TRACED_APP) + " " + std::to_string(kSubmissions)),
              testing::HasSubstr("replaced: sky.rmiss"));
  std::map<std::string, int> executions;  // by text
  for (const json& row : rows("--by line"))
    executions[row.at("text")] += row.at("executions").get<int>();
  EXPECT_EQ(executions["payload.x = payload.x;"], 3 * 24 * kSubmissions);
}

}  // namespace
}  // namespace tally::test
