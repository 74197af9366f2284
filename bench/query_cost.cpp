// The cost of an emulated query relative to the driver's own: one query around each of many draws
// of a frame, or one around all of them; and of the same counts by shaders that count by hand. Also
// the cost of getting the results of many queries, on the host and by a copy command.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "counted_draws.h"
#include "harness/program.h"
#include "harness/rounds.h"
#include "harness/table.h"
#include "tiny_draws.h"

namespace tally::bench {
namespace {

constexpr uint32_t kDraws = TinyDraws::kMaxDraws;
constexpr uint32_t kResults = 100'000;
constexpr VkQueryPipelineStatisticFlags kStatistics =
    VK_QUERY_PIPELINE_STATISTIC_VERTEX_SHADER_INVOCATIONS_BIT |
    VK_QUERY_PIPELINE_STATISTIC_FRAGMENT_SHADER_INVOCATIONS_BIT;

// The host counts the others when it records draws.
constexpr VkQueryPipelineStatisticFlags kFiveStatistics =
    kStatistics | VK_QUERY_PIPELINE_STATISTIC_INPUT_ASSEMBLY_VERTICES_BIT |
    VK_QUERY_PIPELINE_STATISTIC_INPUT_ASSEMBLY_PRIMITIVES_BIT |
    VK_QUERY_PIPELINE_STATISTIC_CLIPPING_INVOCATIONS_BIT;

// Size of the record that all draws of a query share.
constexpr uint32_t kRecords = 8;

enum class Use { None, Native, ByHand, Emulated };

// Uses no instance settings, because the environment's settings apply to the whole process.
test::ContextOptions options_of(Use use) {
  test::ContextOptions options;
  if (use == Use::Emulated) options.layers = {"VK_LAYER_TALLY_counters"};
  return options;
}

struct QueryType {
  VkQueryType type;
  VkQueryPipelineStatisticFlags statistics = 0;
};

test::QueryPool make_pool(const test::Context& context, const QueryType& type, uint32_t count) {
  VkQueryPoolCreateInfo info{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
  info.queryType = type.type;
  info.queryCount = count;
  info.pipelineStatistics = type.statistics;
  VkQueryPool pool = VK_NULL_HANDLE;
  test::check(vkCreateQueryPool(context.device(), &info, nullptr, &pool));
  return {context.device(), pool};
}

// A device that renders frames of tiny draws.
class Frames {
 public:
  Frames(Use use, const QueryType& type, bool each)
      : use_(use), each_(each), context_(options_of(use)), draws_(context_), timer_(context_) {
    if (use == Use::ByHand) {
      by_hand_.emplace(context_, CountedDrawsInfo{.records = each ? kDraws : kRecords,
                                                  .vertices = type.statistics != 0});
    }
    if (has_queries()) pool_ = make_pool(context_, type, kDraws);
    commands_ = context_.begin_commands(0);
    test::check(vkEndCommandBuffer(commands_));
  }

  // Nanoseconds per frame: recorded, submitted and completed; recording alone; the device alone.
  Sample frame() {
    const double recording = time_of([&] {
      const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
      test::check(vkBeginCommandBuffer(commands_, &begin));
      timer_.begin(commands_);
      record(commands_);
      timer_.end(commands_);
      test::check(vkEndCommandBuffer(commands_));
    });
    const double rest = time_of([&] { context_.submit_and_wait(commands_); });
    if (by_hand_) by_hand_->require_counts();
    return {recording + rest, recording, timer_.nanoseconds()};
  }

 private:
  bool has_queries() const { return use_ == Use::Native || use_ == Use::Emulated; }

  void record(VkCommandBuffer commands) const {
    const bool queries = has_queries();
    if (queries) vkCmdResetQueryPool(commands, pool_, 0, kDraws);
    if (by_hand_) by_hand_->clear(commands);
    draws_.begin(commands);
    if (by_hand_) by_hand_->bind(commands);
    if (queries && !each_) vkCmdBeginQuery(commands, pool_, 0, 0);
    for (uint32_t i = 0; i < kDraws; ++i) {
      if (queries && each_) vkCmdBeginQuery(commands, pool_, i, 0);
      TinyDraws::draw(commands, i);
      if (queries && each_) vkCmdEndQuery(commands, pool_, i);
    }
    if (queries && !each_) vkCmdEndQuery(commands, pool_, 0);
    draws_.end(commands);
  }

  Use use_;
  bool each_;
  test::Context context_;
  TinyDraws draws_;
  std::optional<CountedDraws> by_hand_;
  GpuTimer timer_;
  test::QueryPool pool_;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
};

// The results of many available queries.
class Results {
 public:
  explicit Results(Use use)
      : context_(options_of(use)),
        pool_(make_pool(context_, {VK_QUERY_TYPE_OCCLUSION}, kResults)),
        buffer_(context_, VkDeviceSize{kResults} * 8, VK_BUFFER_USAGE_TRANSFER_DST_BIT),
        numbers_(kResults) {
    context_.run([&](VkCommandBuffer commands) {
      vkCmdResetQueryPool(commands, pool_, 0, kResults);
      for (uint32_t i = 0; i < kResults; ++i) {
        vkCmdBeginQuery(commands, pool_, i, 0);
        vkCmdEndQuery(commands, pool_, i);
      }
    });
  }

  Sample measure() {
    const double host = time_of([&] {
      test::check(vkGetQueryPoolResults(context_.device(), pool_, 0, kResults, 8 * kResults,
                                        numbers_.data(), 8, VK_QUERY_RESULT_64_BIT));
    });
    const double copy = time_of([&] {
      context_.run([&](VkCommandBuffer commands) {
        vkCmdCopyQueryPoolResults(commands, pool_, 0, kResults, buffer_, 0, 8,
                                  VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
      });
    });
    return {host, copy};
  }

 private:
  test::Context context_;
  test::QueryPool pool_;
  test::Buffer buffer_;
  std::vector<uint64_t> numbers_;
};

bool native_statistics() {
  return test::Context(options_of(Use::Native)).features().pipelineStatisticsQuery == VK_TRUE;
}

void print_frames(const char* title, const QueryType& type, bool each, int rounds) {
  std::vector<std::unique_ptr<Frames>> all;
  std::vector<Candidate> candidates;
  const auto add = [&](const char* name, Use use) {
    Frames& frames = *all.emplace_back(std::make_unique<Frames>(use, type, each));
    candidates.push_back({name, [&frames] { return frames.frame(); }});
  };
  add("no query", Use::None);
  if (type.statistics == 0 || native_statistics()) add("the driver's", Use::Native);
  add("counted by hand", Use::ByHand);
  add("emulated", Use::Emulated);
  Table table({fmt::format("{}, a frame of {} draws", title, kDraws), "time", "of none",
               "recording", "of none", "on the device", "of none"});
  for (const Measured& row : measure_in_turn(candidates, rounds)) table.add(in_columns(row));
  fmt::print("{}\n", table.text());
}

void print_results(int rounds) {
  Results native(Use::Native);
  Results emulated(Use::Emulated);
  Table table({fmt::format("results of {} queries", kResults), "by the host", "of the driver's",
               "by a copy", "of the driver's"});
  const Candidate candidates[] = {{"the driver's", [&] { return native.measure(); }},
                                  {"emulated", [&] { return emulated.measure(); }}};
  for (const Measured& row : measure_in_turn(candidates, rounds)) {
    table.add({row.name, duration(row.values[0].median), with_quartiles(row.ratios[0]),
               duration(row.values[1].median), with_quartiles(row.ratios[1])});
  }
  fmt::print("{}\n", table.text());
}

}  // namespace
}  // namespace tally::bench

int main(int argc, char** argv) try {
  using namespace tally::bench;
  CLI::App app("The cost of emulated queries");
  int rounds = 9;
  app.add_option("--rounds", rounds)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  setenv("TALLY_EMULATE_QUERIES", "statistics,occlusion", 1);
  return run_program([&] {
    const QueryType occlusion{VK_QUERY_TYPE_OCCLUSION};
    print_frames("one query of invocations", {VK_QUERY_TYPE_PIPELINE_STATISTICS, kStatistics},
                 false, rounds);
    print_frames("one query of five statistics",
                 {VK_QUERY_TYPE_PIPELINE_STATISTICS, kFiveStatistics}, false, rounds);
    print_frames("one occlusion query", occlusion, false, rounds);
    print_frames("an occlusion query each", occlusion, true, rounds);
    print_results(rounds);
  });
} catch (const std::exception& error) {
  return tally::bench::fail(error);
}
