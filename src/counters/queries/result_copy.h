// vkCmdCopyQueryPoolResults for emulated queries: a dispatch of the layer writes the results into
// memory of the layer, from where they are copied to the application's buffer.
#pragma once

#include <vulkan/vulkan_core.h>

#include "counters/queries/batch.h"
#include "counters/queries/condition.h"
#include "counters/queries/context.h"
#include "counters/queries/named_memory.h"
#include "counters/queries/query_memory.h"

namespace tally::counters {

class ResultCopy {
 public:
  ResultCopy(const QueryContext& context, QueryMemory& memory, QueryBatches& batches)
      : context_(context), memory_(memory), batches_(batches) {}

  VkResult record(const QueryPool& pool, const QueryPool::Request& request,
                  const Condition& condition, const NamedMemory& target);

 private:
  VkResult copy_mixed(const QueryPool& pool, const QueryPool::Request& request,
                      const RecordPage& layer_page, const NamedMemory& target);

  const QueryContext& context_;
  QueryMemory& memory_;
  QueryBatches& batches_;
};

}  // namespace tally::counters
