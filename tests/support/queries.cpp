#include "support/queries.h"

#include <array>

namespace tally::test {
namespace {

constexpr uint32_t kStatistics = 11;

}  // namespace

QueryPool make_query_pool(const Context& context, VkQueryType type, uint32_t count,
                          VkQueryPipelineStatisticFlags statistics, const void* next) {
  const VkQueryPoolCreateInfo info = {
      VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, next, 0, type, count, statistics};
  VkQueryPool handle = VK_NULL_HANDLE;
  check(vkCreateQueryPool(context.device(), &info, nullptr, &handle));
  return {context.device(), handle};
}

StatisticsQuery::StatisticsQuery(const Context& context, uint32_t queries)
    : context_(context), queries_(queries) {
  if (context.features().pipelineStatisticsQuery) {
    pool_ = make_query_pool(context, VK_QUERY_TYPE_PIPELINE_STATISTICS, queries,
                            (1u << kStatistics) - 1);
  }
}

void StatisticsQuery::reset(VkCommandBuffer commands) const {
  if (available()) vkCmdResetQueryPool(commands, pool_, 0, queries_);
}
void StatisticsQuery::begin(VkCommandBuffer commands) const {
  if (available()) vkCmdBeginQuery(commands, pool_, 0, 0);
}
void StatisticsQuery::end(VkCommandBuffer commands) const {
  if (available()) vkCmdEndQuery(commands, pool_, 0);
}

PipelineStatistics StatisticsQuery::read() const {
  std::array<uint64_t, kStatistics> sum = {};
  for (uint32_t query = 0; query < queries_; ++query) {
    std::array<uint64_t, kStatistics> values = {};
    check(vkGetQueryPoolResults(context_.device(), pool_, query, 1, sizeof(values), values.data(),
                                sizeof(values), VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
    for (uint32_t i = 0; i < kStatistics; ++i) sum[i] += values[i];
  }
  return {sum[0], sum[1], sum[2], sum[3], sum[4], sum[5], sum[6], sum[7], sum[8], sum[9], sum[10]};
}

OcclusionQuery::OcclusionQuery(const Context& context)
    : context_(context), pool_(make_query_pool(context, VK_QUERY_TYPE_OCCLUSION, 1)) {}

void OcclusionQuery::reset(VkCommandBuffer commands) const {
  vkCmdResetQueryPool(commands, pool_, 0, 1);
}
void OcclusionQuery::begin(VkCommandBuffer commands) const {
  vkCmdBeginQuery(commands, pool_, 0, VK_QUERY_CONTROL_PRECISE_BIT);
}
void OcclusionQuery::end(VkCommandBuffer commands) const { vkCmdEndQuery(commands, pool_, 0); }

uint64_t OcclusionQuery::read() const {
  uint64_t samples = 0;
  check(vkGetQueryPoolResults(context_.device(), pool_, 0, 1, sizeof(samples), &samples,
                              sizeof(samples), VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
  return samples;
}

}  // namespace tally::test
