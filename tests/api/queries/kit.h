// Shared by the tests of queries: a device whose queries the layer emulates although the driver
// supports them, or one without the layer; and pools with numeric results.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <vector>

#include "api/kit.h"
#include "support/pipeline.h"
#include "support/queries.h"
#include "support/render_target.h"

namespace tally::test {

class Queries {
 public:
  Queries(const Context& context, VkQueryType type, uint32_t count = 1,
          VkQueryPipelineStatisticFlags statistics = 0, const void* next = nullptr);

  VkQueryPool handle() const { return pool_; }
  operator VkQueryPool() const { return pool_; }
  void reset(VkCommandBuffer commands) const { vkCmdResetQueryPool(commands, pool_, 0, count_); }
  void begin(VkCommandBuffer commands, uint32_t query = 0, VkQueryControlFlags flags = 0) const {
    vkCmdBeginQuery(commands, pool_, query, flags);
  }
  void end(VkCommandBuffer commands, uint32_t query = 0) const {
    vkCmdEndQuery(commands, pool_, query);
  }
  // Waits for the numbers of one query.
  std::vector<uint64_t> read(uint32_t query = 0) const;

 private:
  const Context& context_;
  QueryPool pool_;
  uint32_t count_;
  uint32_t numbers_;
};

class QueriesTest : public testing::Test {
 protected:
  static constexpr VkPipelineBindPoint kCompute = VK_PIPELINE_BIND_POINT_COMPUTE;
  static constexpr VkPipelineBindPoint kGraphics = VK_PIPELINE_BIND_POINT_GRAPHICS;

  // Creates a device. With `emulated`, the layer is loaded and emulates all types, or those of the
  // setting emulate_queries. Otherwise the driver's own queries are used.
  Context& start(bool emulated = true, ContextOptions options = {},
                 LayerSettings::Pairs settings = {});
  Context& context() { return context_ ? *context_ : start(); }

  VkPipelineLayout layout();
  Pipeline make_graphics(std::vector<Stage> stages, GraphicsPipelineInfo more = {});
  Pipeline make_work(const void* next = nullptr);
  // Records a draw in each of four threads, at the same time, in a query of its own, and returns
  // the fragment shader invocations of each.
  std::vector<uint64_t> fragments_in_threads(const std::function<void(VkCommandBuffer)>& draw);
  // Begins a secondary command buffer that continues rendering to the target; `inheritance`
  // describes the queries it inherits.
  VkCommandBuffer begin_secondary(const RenderTarget& target, VkCommandBufferUsageFlags usage = 0,
                                  VkCommandBufferInheritanceInfo inheritance = {});
  // Dispatches of work.comp: 8 invocations per group.
  void dispatch(VkCommandBuffer commands, VkPipeline pipeline, uint32_t groups);
  void dispatch_indirect(VkCommandBuffer commands, VkPipeline pipeline, VkBuffer buffer,
                         VkDeviceSize offset);

 private:
  void prepare_dispatch(VkCommandBuffer commands, VkPipeline pipeline);

  struct Work {
    explicit Work(Context& context);
    Buffer values;
    StorageSet set;
    PipelineLayout layout;
  };
  std::optional<Context> context_;
  std::optional<PipelineLayout> layout_;
  std::optional<Work> work_;
};

inline constexpr uint32_t kStatisticBits = 11;
inline constexpr VkQueryPipelineStatisticFlags kAllStatistics = (1u << kStatisticBits) - 1;

}  // namespace tally::test
