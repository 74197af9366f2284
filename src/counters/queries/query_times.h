// Timestamp queries, and the time between the begin and the end of other queries.
#pragma once

#include <vulkan/vulkan_core.h>

#include <span>

#include "counters/queries/batch.h"
#include "counters/queries/context.h"

namespace tally::counters {

class QueryTimes {
 public:
  QueryTimes(const QueryContext& context, QueryBatches& batches)
      : context_(context), batches_(batches) {}

  // Timestamps of the driver around a query whose kind takes the time.
  void write_begin(const QueryPool& pool, uint32_t query) const;
  void write_end(const QueryPool& pool, uint32_t query) const;
  // Copies those of the finished queries to their slots.
  void copy(std::span<const FinishedQuery> finished) const;

  // Records a timestamp of the layer. Not inside a render pass.
  VkResult record(const QueryTimestamp& timestamp);

 private:
  const QueryContext& context_;
  QueryBatches& batches_;
};

}  // namespace tally::counters
