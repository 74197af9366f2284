// Transform feedback for emulated queries. Commands with the same active queries form a span: where
// a query begins or ends while transform feedback is active, a span ends and another begins. The
// GPU processes the spans in order (glsl/query_feedback.comp). The rows of a span have the number
// of primitives that each stream needs. How many fit follows from the sizes of the buffers and from
// the offsets at which transform feedback began.
#pragma once

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "base/containers.h"
#include "counters/features/queries/indirect_counts.h"
#include "counters/features/queries/pool.h"
#include "counters/memory/device_memory.h"
#include "counters/pipelines/pipeline_contents.h"
#include "counters/shaders/program.h"
#include "probe/query.h"

namespace tally::counters {

inline constexpr uint32_t kFeedbackBuffers = spirv::FeedbackLayout::kBuffers;

// The rows of a span: primitives of each stream.
const QueryKind& feedback_kind();
// The rows that the GPU counts from arguments in buffers.
const std::vector<uint64_t>& feedback_pairs();

// Where the driver stores its counters when transform feedback begins.
struct FeedbackStart {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;      // of the counter of buffer 0; the others follow at 4 bytes each
  VkDeviceAddress address = 0;  // the same place
};

// Describes the captured buffers of a pipeline. `sizes`: of the bound buffers.
probe::QueryFeedback describe_feedback(const Program& program, const DrawFacts& facts,
                                       const std::array<VkDeviceSize, kFeedbackBuffers>& sizes);

// The work that the GPU does for emulated queries at one place of a command buffer: which records
// count for which queries, which queries have finished, and which commands have their arguments in
// buffers. QueryBatches writes it to memory for the programs of shader/query_programs.h.
//
// Used by one thread at a time, as the command buffer is. reset() returns the memory.

// The record that commands with one program share.
struct SharedRecord {
  VkDeviceAddress address = 0;
  uint32_t shards_log2 = 0;

  VkDeviceAddress slot(const Program& program, AddressSlot which) const {
    return address + slot_begin(program, which, shards_log2);
  }
};

// The recording keeps the pool.
struct QueryTarget {
  const QueryPool* pool = nullptr;
  uint32_t query = 0;
  uint32_t index = 0;         // of a vertex stream
  VkDeviceAddress needs = 0;  // a span of transform feedback, where there is no pool

  const QueryKind& kind() const { return pool ? pool->kind() : feedback_kind(); }
  const std::vector<uint64_t>& pairs() const {
    return pool ? pool->indirect_pairs() : feedback_pairs();
  }
  VkDeviceAddress rows() const {
    return pool ? pool->slot(query) + probe::kQuerySlotHeader : needs;
  }
};
using QueryTargets = InlineVector<QueryTarget, 1>;

// A record that commands count into, and the queries that it counts for.
struct RecordBinding {
  std::shared_ptr<const Program> program;
  SharedRecord record;
  uint64_t previous = 0;   // offset of the counts that were read before; 0: not a shared record
  SharedRecord kept;       // where the counts are summed for queries of the primary; or null
  bool inherited = false;  // counts for queries of the primary too
  bool reusable = false;   // later executions may count for other queries
  bool samples = true;     // counts for occlusion queries
  QueryTargets targets;
};

// A query of the driver that counts samples, or a sum of its results that is kept for queries of
// the primary; and the queries that it counts for.
struct SampleCount {
  VkQueryPool pool = VK_NULL_HANDLE;  // null: a sum, which grows until the GPU reads and zeroes it
  uint32_t first = 0;
  uint32_t views = 1;      // as many queries, and numbers
  QuerySpace counts;       // where the results are copied to; null: not copied yet
  QuerySpace kept;         // where they are summed for queries of the primary; or null
  bool inherited = false;  // counts for queries of the primary too
  QueryTargets targets;

  bool is_copied() const { return counts.address != 0; }
  bool is_sum() const { return pool == VK_NULL_HANDLE; }
};

// A query that has ended; `constants`: what the host adds to its rows.
struct FinishedQuery {
  QueryTarget target;
  uint32_t views = 1;
  uint32_t errors = 0;
  InlineVector<uint64_t, 2> constants;
};

// A command with arguments in a buffer, and the queries that it counts for.
struct QueryArguments {
  probe::QueryIndirect operation;
  QueryTargets targets;
  bool inherited = false;
  NamedMemory arguments;
  QuerySpace arguments_copy;
  VkDeviceSize argument_bytes = 0;
  NamedMemory count;
  QuerySpace count_copy;
  bool copied = false;
};

// A timestamp that is written after the render pass.
struct QueryTimestamp {
  QueryTarget target;
  uint32_t views = 1;
};

struct QueryWork {
  std::vector<RecordBinding> bindings;
  std::vector<SampleCount> samples;
  std::vector<FinishedQuery> finished;
  std::vector<QueryArguments> arguments;
  std::vector<IndexCopy> indices;  // not copied yet
  std::vector<QueryTimestamp> timestamps;
  std::vector<probe::QueryFeedback> spans;  // of transform feedback

  // True if a query has results now.
  bool has_finished() const { return !finished.empty() || !timestamps.empty(); }
  bool inputs_copied() const { return std::ranges::all_of(arguments, &QueryArguments::copied); }
  bool empty() const {
    return bindings.empty() && samples.empty() && finished.empty() && arguments.empty() &&
           timestamps.empty() && spans.empty();
  }
  void clear() {
    bindings.clear();
    samples.clear();
    finished.clear();
    arguments.clear();
    indices.clear();
    timestamps.clear();
    spans.clear();
  }
  // Adds all of `other`.
  void take(const QueryWork& other) {
    append(bindings, other.bindings);
    append(samples, other.samples);
    append(arguments, other.arguments);
    take_rest(other);
  }
  // Adds the work of an executed command buffer, but for its bindings, samples and arguments.
  void take_rest(const QueryWork& executed) {
    append(indices, executed.indices);
    append(timestamps, executed.timestamps);
    append(finished, executed.finished);
    append(spans, executed.spans);
  }

 private:
  template <typename Element>
  static void append(std::vector<Element>& all, const std::vector<Element>& added) {
    all.insert(all.end(), added.begin(), added.end());
  }
};

class QueryBatches {
 public:
  explicit QueryBatches(RecordPool& pool) : blocks_(pool, HostBlocks::Contents::Undefined) {}

  void reset();
  // Leaves `batch` null where there is nothing to do.
  VkResult write(const QueryWork& work, HostBlock& batch, probe::QueryBatch& header);
  // The parameters of a timestamp.
  VkResult write_timestamp(const QueryTimestamp& timestamp, HostBlock& parameters);
  // At least one span of transform feedback.
  VkResult write_spans(const std::vector<probe::QueryFeedback>& spans, VkDeviceAddress& address);
  // The parameters of a copy of results to `output`.
  VkResult write_copy(const QueryPool& pool, const QueryPool::Request& request,
                      VkDeviceAddress output, HostBlock& parameters);
  // A word for the host to set before a submission.
  VkResult take_word(HostBlock& word) { return blocks_.take(sizeof(uint32_t), word); }
  // Executed command buffers belong to the same submission.
  void follow(const QueryBatches& executed);
  // Before a submission: sets its pass of performance queries.
  void set_pass(uint32_t pass) const;

 private:
  template <typename Numbers>
  VkResult store(const Numbers& numbers, VkDeviceAddress& address);
  VkResult matrix(const StageProgram& stage, const QueryTarget& target, VkDeviceAddress& address);
  VkResult pairs(const QueryTarget& target, VkDeviceAddress& address);
  struct Records {
    std::vector<probe::QueryRecord> large, small;
    std::vector<probe::QueryTarget> targets;

    void clear() {
      large.clear();
      small.clear();
      targets.clear();
    }
  };
  VkResult add_targets(const RecordBinding& binding, const StageProgram& stage,
                       std::vector<probe::QueryTarget>& targets);
  VkResult make_records(const RecordBinding& binding, Records& records);
  VkResult make_record(const SampleCount& samples, Records& records);
  VkResult make_finish(const FinishedQuery& finished, probe::QueryFinish& result);
  VkResult make_indirect(const QueryArguments& arguments, probe::QueryIndirect& operation);

  HostBlocks blocks_;
  std::vector<HostBlock> batches_;
  // State of the batch that is being made.
  Records records_;
  std::vector<probe::QueryFinish> finishes_;
  // Matrices and pairs that are written already.
  using MatrixKey = std::tuple<const StageInfo*, uint32_t, const QueryKind*, uint32_t>;
  std::map<MatrixKey, VkDeviceAddress> matrices_;
  // Those that were looked up last: most records are of few programs.
  struct RecentMatrix {
    MatrixKey key;
    VkDeviceAddress address = 0;
  };
  std::array<RecentMatrix, 4> recent_matrices_;
  size_t next_recent_ = 0;
  std::map<const QueryKind*, VkDeviceAddress> pairs_;
  VkDeviceAddress ones_ = 0;  // the matrix that adds the samples of all views
  std::vector<std::shared_ptr<const Program>> kept_programs_;  // what the keys point into
};

}  // namespace tally::counters
