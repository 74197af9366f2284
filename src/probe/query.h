// The layout of emulated queries in GPU memory, and of the operations by which the GPU computes
// their results. The layer and the shaders in src/counters/features/queries/glsl both take the
// layout from this header.
//
// Each query has a slot. After the query has ended, the GPU adds the counts of its commands'
// records (record.h) to the rows of the slot, as soon as it can do so outside of render passes. It
// then marks the query available. A slot of zeros is a query that was reset.
//
//    0  passes    bit p: pass p of a performance query is complete (any other query: pass 0)
//    4  errors    commands of the query that could not be counted
//    8  reserved
//   16  begin, end   device clock, if the query measures time
//   32  rows      64 bits each
//
// A batch is the work that the GPU does at one point of a command buffer: a header, then record
// operations, finish operations, indirect operations, and the targets of the record operations.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tally::probe {

struct QuerySlot {
  uint32_t passes = 0;
  uint32_t errors = 0;
  uint64_t reserved = 0;
  uint64_t begin = 0, end = 0;
};
inline constexpr uint64_t kQuerySlotHeader = sizeof(QuerySlot);
static_assert(kQuerySlotHeader == 32);

// The number of bits of QuerySlot::passes. The last bit stands for all later passes; the layer
// needs none of them.
inline constexpr uint32_t kMaxPasses = 32;

struct QueryBatch {
  uint32_t pass = 0;           // of performance queries; set for each submission
  uint32_t records = 0;        // of which a workgroup reads each
  uint32_t small_records = 0;  // behind them: an invocation reads each
  uint32_t finishes = 0, indirects = 0;
  uint32_t targets_at = 0;  // bytes from the header
  uint64_t reserved = 0;
};

// The destination of a record's counts. Row r gains the sum over the counters c of matrix[r *
// counters + c] * counter c. The matrix holds signed 32-bit numbers.
struct QueryTarget {
  uint64_t rows = 0;  // device addresses
  uint64_t matrix = 0;
  uint32_t row_count = 0;
  uint32_t pass = 0;  // the pass in which it counts
  uint64_t reserved = 0;
};
// The maximum number of targets that can be active at once: one query of each type that counts in
// records (occlusion, pipeline statistics, mesh primitives, both kinds of performance queries), one
// primitives-generated query for each of four streams, and the span of transform feedback.
inline constexpr uint32_t kQueryTargets = 10;

// The counters of one stage in one record. The GPU resets them to 0 after it has read them. If
// others read them too, `previous` holds the values that were read last, one number per counter.
// The GPU also adds the values to the numbers at `kept`, for queries of a primary command buffer.
struct QueryRecord {
  uint64_t counters = 0;  // device address of counter 0 of shard 0
  uint64_t previous = 0;  // or 0
  uint64_t kept = 0;      // or 0
  uint32_t counter_count = 0;
  uint32_t stride = 0;  // between shards, in counters
  uint32_t shards_log2 = 0;
  uint32_t target_count = 0;
  uint32_t first_target = 0;  // in the batch
  uint32_t reserved = 0;
};

// A query that has ended.
struct QueryFinish {
  static constexpr uint32_t kNoRow = ~0u;
  uint64_t slot = 0;
  uint64_t constants = 0;  // 64 bits per row: counts from the host
  uint32_t rows = 0;
  uint32_t pass = 0;
  uint32_t time_row = kNoRow;
  uint32_t time_pass = 0;
  uint32_t views = 1;  // consecutive queries that become available; all but the first hold 0
  uint32_t slot_bytes = 0;
  uint32_t errors = 0;
  uint32_t all_passes = 1;  // mask; 1: complete after any pass
};
// A command that reads its arguments from a buffer (`arguments` is a copy of it), or whose indices
// may contain primitive restarts (`indices` is a copy of them).
struct QueryIndirect {
  enum Kind : uint32_t {
    kDraw,       // vertices or indices, then instances
    kGroups,     // workgroups in three dimensions
    kTasks,      // workgroups in one dimension
    kByteCount,  // bytes of transform feedback, after the first `first_bytes`
    kIndices     // `most` indices, `instances` times; no arguments
  };
  enum Flags : uint32_t { kPatches = 1, kLast = 2, kClipped = 4, kMesh = 8 };
  // The quantities that a target's matrix can refer to.
  enum Metric : uint32_t {
    kVertices,
    kPrimitives,
    kPatchCount,
    kLastPrimitives,
    kClippedPrimitives,
    kWorkgroups,
    kMeshWorkgroups,
    kMetrics
  };
  uint64_t arguments = 0;  // device address
  uint64_t count_at = 0;   // device address of the number of draws; 0: all
  uint64_t indices = 0;    // 0: no restart; indices out of range are 0
  uint32_t max_draws = 0;  // maximum number of draws
  uint32_t stride = 0;     // bytes between draws; of kByteCount: bytes per vertex
  uint32_t kind = kDraw;
  uint32_t first = 1, step = 1;  // vertices of the first primitive and of each further one
  uint32_t instances = 0;        // of kByteCount and kIndices
  uint32_t flags = 0;
  uint32_t target_count = 0;
  uint32_t first_bytes = 0;  // of kByteCount
  uint32_t index_bytes = 0;  // size of one index
  uint32_t index_count = 0;
  uint32_t restart = 0;                // the index that restarts the primitive
  QueryTarget targets[kQueryTargets];  // the matrix holds pairs of a row and a metric
};

// A span of commands under transform feedback. Spans follow each other. The stages write their
// output for each stream to four rows at `needs`, which the GPU resets to 0 after it has read them.
// `capacity` holds the remaining capacity of each stream's buffers, in primitives.
struct QueryFeedback {
  static constexpr uint32_t kStreams = 4;
  static constexpr uint32_t kBuffers = 4;
  enum Flags : uint32_t { kFirst = 1 };  // transform feedback has just begun
  struct Buffer {
    uint64_t size = 0;
    uint32_t stride = 0;  // bytes per vertex; 0: the buffer is unused
    uint32_t stream = 0;
  };
  uint64_t needs = 0;      // device addresses
  uint64_t assembled = 0;  // primitives for stream 0, counted by the host
  uint64_t capacity = 0;
  uint64_t starts = 0;  // 32 bits per buffer: bytes in it when transform feedback began
  uint64_t rows[kStreams] =
      {};  // of each stream's query, or 0: primitives written, primitives needed
  Buffer buffers[kBuffers];
  uint32_t flags = 0;
  uint32_t primitive_vertices = 1;
};
// Precedes the first span.
struct QueryFeedbackHeader {
  uint32_t count = 0;
  uint32_t reserved = 0;
};
static_assert(sizeof(QueryFeedback) == 136 && sizeof(QueryFeedbackHeader) == 8);

static_assert(sizeof(QueryBatch) == 32 && sizeof(QueryTarget) == 32);
static_assert(sizeof(QueryRecord) == 48 && sizeof(QueryFinish) == 48);
static_assert(sizeof(QueryIndirect) == 392);

// A timestamp that a shader writes.
struct QueryTimestamp {
  uint64_t slot = 0;
  uint32_t views = 1;  // consecutive queries that become available; all but the first hold 0
  uint32_t slot_bytes = 0;
};
static_assert(sizeof(QueryTimestamp) == 16);

// Describes how results are copied from slots (vkCmdCopyQueryPoolResults): a header, then one
// QueryConversion per result.
struct QueryCopy {
  enum Flags : uint32_t { k64Bit = 1, kAvailability = 2, kStatus = 4, kTyped = 8, kWraps = 16 };
  uint64_t slots = 0;  // slot of the first query
  uint64_t output = 0;
  uint32_t slot_bytes = 0, output_words = 0;  // per query
  uint32_t count = 0;
  uint32_t flags = 0;
  uint32_t results = 0;
  uint32_t all_passes = 1;  // mask
  uint64_t reserved = 0;
};
struct QueryConversion {
  static constexpr uint32_t kNoDivisor = ~0u;
  uint32_t row = 0;
  uint32_t divisor = kNoDivisor;
  float scale = 1.0f;
  uint32_t storage = 0;  // VkPerformanceCounterStorageKHR
};
static_assert(sizeof(QueryCopy) == 48 && sizeof(QueryConversion) == 16);

}  // namespace tally::probe
