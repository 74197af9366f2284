// The totals that the capture layer keeps for its process agree with what it captures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "capture/testing/counted_session.h"

namespace tally::capture::testing {
namespace {

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
