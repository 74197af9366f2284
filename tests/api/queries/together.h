// Queries of several types that are active at the same time.
#pragma once

#include <map>

#include "api/queries/scenes.h"

namespace tally::test {

struct Kind {
  VkQueryType type;
  VkQueryPipelineStatisticFlags statistics = 0;
};
using Kinds = std::vector<Kind>;
using Results = std::map<VkQueryType, std::vector<uint64_t>>;

// Pools of several types, and timestamps.
class Pools {
 public:
  Pools(const Context& context, const Kinds& kinds, uint32_t count = 1)
      : kinds_(kinds), times_(context, VK_QUERY_TYPE_TIMESTAMP, 3 * count) {
    for (const Kind& kind : kinds) pools_.emplace_back(context, kind.type, count, kind.statistics);
  }
  void reset(VkCommandBuffer commands) const {
    for (const Queries& pool : pools_) pool.reset(commands);
    times_.reset(commands);
  }
  void begin(VkCommandBuffer commands, uint32_t query = 0) const {
    for (size_t i = 0; i < pools_.size(); ++i) {
      const bool precise = kinds_[i].type == VK_QUERY_TYPE_OCCLUSION;
      pools_[i].begin(commands, query, precise ? VK_QUERY_CONTROL_PRECISE_BIT : 0);
    }
  }
  // Ends them in the order of their beginnings, so that they are not nested.
  void end(VkCommandBuffer commands, uint32_t query = 0) const {
    for (const Queries& pool : pools_) pool.end(commands, query);
  }
  void write_time(VkCommandBuffer commands, uint32_t which) const {
    vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, times_, which);
  }

  Results read(uint32_t query = 0) const {
    Results results;
    for (size_t i = 0; i < pools_.size(); ++i) results[kinds_[i].type] = pools_[i].read(query);
    return results;
  }
  // Three of them.
  void expect_times_in_order(uint32_t first = 0) const {
    const auto time = [&](uint32_t which) { return times_.read(first + which)[0]; };
    EXPECT_LE(time(0), time(1));
    EXPECT_LE(time(1), time(2));
  }

 private:
  Kinds kinds_;
  std::vector<Queries> pools_;
  Queries times_;
};

class QueriesTogether : public EverySource {
 protected:
  bool has(const char* extension) { return context().has_extension(extension); }

  // Reads what the pools count of `draw_all`, with a timestamp before, one within and one after it.
  template <typename Draw>
  void record(VkCommandBuffer commands, const Pools& pools, uint32_t query, const Draw& draw_all) {
    pools.write_time(commands, 3 * query);
    pools.begin(commands, query);
    draw_all(commands, [&] { pools.write_time(commands, 3 * query + 1); });
    pools.end(commands, query);
    pools.write_time(commands, 3 * query + 2);
  }
  template <typename Draw>
  Results run_together(const Kinds& kinds, const Draw& draw_all) {
    const Pools pools(context(), kinds);
    context().run([&](VkCommandBuffer commands) {
      pools.reset(commands);
      record(commands, pools, 0, draw_all);
    });
    pools.expect_times_in_order();
    return pools.read();
  }
  template <typename Draw>
  std::vector<uint64_t> run_alone(const Kind& kind, const Draw& draw_all) {
    const Pools pools(context(), {kind});
    context().run([&](VkCommandBuffer commands) {
      pools.reset(commands);
      pools.begin(commands);
      draw_all(commands, [] {});
      pools.end(commands);
    });
    return pools.read().at(kind.type);
  }
};

}  // namespace tally::test
