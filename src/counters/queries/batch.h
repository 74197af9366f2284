// What the GPU is told of emulated queries at one place of a command buffer: which records counted
// for which queries, which queries have ended, and which commands have arguments in buffers; and
// how that is written into memory for the programs of shader/query_programs.h.
//
// Used by one thread at a time, as the command buffer is. The memory goes back at reset().
#pragma once

#include <vulkan/vulkan_core.h>

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "counters/memory/host_blocks.h"
#include "counters/queries/feedback.h"
#include "counters/queries/indirect_counts.h"
#include "counters/queries/pool.h"
#include "counters/shader/program.h"

namespace tally::counters {

// The record of commands with one program: the address of each slot's, without shards.
struct SharedRecord {
  VkDeviceAddress main = 0;
  VkDeviceAddress fragment = 0;
  uint32_t shards_log2 = 0;
};

struct QueryTarget {
  std::shared_ptr<QueryPool> pool;
  uint32_t query = 0;
  uint32_t index = 0;         // of a vertex stream
  VkDeviceAddress needs = 0;  // without a pool: of a span of transform feedback

  const QueryKind& kind() const { return pool ? pool->kind() : feedback_kind(); }
  const std::vector<uint64_t>& pairs() const {
    return pool ? pool->indirect_pairs() : feedback_pairs();
  }
  VkDeviceAddress rows() const {
    return pool ? pool->slot(query) + probe::kQuerySlotHeader : needs;
  }
};

// A record that commands counted into, and for whom.
struct RecordBinding {
  std::shared_ptr<const Program> program;
  SharedRecord record;
  uint64_t previous = 0;   // bytes behind the record; 0: not shared
  SharedRecord kept;       // where what was read is added up for whoever executes this; or 0
  bool inherited = false;  // also for the queries of whoever executes this
  std::vector<QueryTarget> targets;
};

// A query that has ended.
struct FinishedQuery {
  QueryTarget target;
  uint32_t views = 1;
  uint32_t errors = 0;
  std::vector<uint64_t> constants;
};

// A command with arguments in a buffer, and for whom it is counted.
struct QueryArguments {
  probe::QueryIndirect operation;
  std::vector<QueryTarget> targets;
  bool inherited = false;
  VkBuffer target = VK_NULL_HANDLE;  // where the copies of the arguments go
  VkBuffer buffer = VK_NULL_HANDLE;
  VkBufferCopy arguments{};
  VkBuffer count_buffer = VK_NULL_HANDLE;
  VkBufferCopy count{};
  bool copied = false;
};

// A timestamp that is written where no render pass is open.
struct QueryTimestamp {
  QueryTarget target;
  uint32_t views = 1;
};

struct QueryWork {
  std::vector<RecordBinding> uses;
  std::vector<FinishedQuery> ends;
  std::vector<QueryArguments> arguments;
  std::vector<IndexCopy> indices;  // to be made
  std::vector<QueryTimestamp> timestamps;
  std::vector<probe::QueryFeedback> spans;  // of transform feedback

  // Whether a query has ended, so that there are results to work out.
  bool settles() const { return !ends.empty() || !timestamps.empty(); }
  bool empty() const {
    return uses.empty() && ends.empty() && arguments.empty() && timestamps.empty() && spans.empty();
  }
  void clear() {
    uses.clear();
    ends.clear();
    arguments.clear();
    indices.clear();
    timestamps.clear();
    spans.clear();
  }
};

class QueryBatches {
 public:
  explicit QueryBatches(RecordPool& pool) : blocks_(pool) {}

  void reset();
  // Of work that is nothing there is no batch.
  VkResult write(const QueryWork& work, HostBlock& batch, probe::QueryBatch& header);
  // The parameters of a timestamp.
  VkResult write_timestamp(const QueryTimestamp& timestamp, HostBlock& parameters);
  // Spans of transform feedback, of which there are some.
  VkResult write_spans(const std::vector<probe::QueryFeedback>& spans, VkDeviceAddress& address);
  // The parameters of a copy of results to `output`.
  VkResult write_copy(const QueryPool& pool, const QueryPool::Request& request,
                      VkDeviceAddress output, HostBlock& parameters);
  // A word for the host to set before a submission.
  VkResult take_word(HostBlock& word) { return blocks_.take(sizeof(uint32_t), word); }
  // The batches of an executed command buffer: of the same submission.
  void follow(const QueryBatches& executed);
  // Before a submission: which pass of performance queries it makes.
  void set_pass(uint32_t pass) const;

 private:
  template <typename Number>
  VkResult store(const std::vector<Number>& numbers, VkDeviceAddress& address);
  VkResult matrix(const StageProgram& stage, const QueryTarget& target, VkDeviceAddress& address);
  VkResult pairs(const QueryTarget& target, VkDeviceAddress& address);
  VkResult make_records(const RecordBinding& use, std::vector<probe::QueryRecord>& records);
  VkResult make_finish(const FinishedQuery& end, probe::QueryFinish& result);
  VkResult make_indirect(const QueryArguments& arguments, probe::QueryIndirect& operation);

  HostBlocks blocks_;
  std::vector<HostBlock> batches_;
  // By stage and what is asked of it.
  using MatrixKey = std::tuple<const StageInfo*, uint32_t, const QueryKind*, uint32_t>;
  std::map<MatrixKey, VkDeviceAddress> matrices_;
  std::map<const QueryKind*, VkDeviceAddress> pairs_;
  std::vector<std::shared_ptr<const Program>> kept_programs_;  // what the keys point into
};

}  // namespace tally::counters
