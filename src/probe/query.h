// The layout of emulated queries in GPU memory, and of what tells the GPU how to work out their
// results. The one place that the layer and the shaders in src/counters/shader/glsl take it from.
//
// A query has a slot. The GPU adds to its rows what the records of the query's commands have
// counted (record.h), as soon as that may be done after the query has ended: outside of render
// passes. Then it marks the query available. A slot that is all zero is a query that was reset.
//
//    0  passes    bit p: pass p of a performance query is complete (of any other query: pass 0)
//    4  errors    commands of the query that could not be counted
//    8  reserved
//   16  begin, end   device clock, where the query takes the time
//   32  rows      64 bits each
//
// A batch is what the GPU does at one place of a command buffer: its header, record operations,
// finish operations, then indirect operations.
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

// Bits of QuerySlot::passes; later passes, of which the layer needs nothing, are the last one.
inline constexpr uint32_t kMaxPasses = 32;

struct QueryBatch {
  uint32_t pass = 0;  // of performance queries, set for each submission
  uint32_t records = 0, finishes = 0, indirects = 0;
};

// Where the counts of a record go: row r gains the sum over the counters c of
// matrix[r * counters + c] * counter c. The matrix holds signed 32-bit numbers.
struct QueryTarget {
  uint64_t rows = 0;  // device addresses
  uint64_t matrix = 0;
  uint32_t row_count = 0;
  uint32_t pass = 0;  // in which it counts
  uint64_t reserved = 0;
};
// No more can be active at once: one query of each type that counts in records (occlusion,
// pipeline statistics, mesh primitives, both kinds of performance queries), one of primitives
// generated for each of four streams, and the span of transform feedback.
inline constexpr uint32_t kQueryTargets = 10;

// The counters of one stage in one record. They are set to 0 when they have been read; or, where
// others read them too, `previous` holds what was read before, one number a counter. What was read
// is added to the numbers at `kept` as well, for queries of a primary command buffer.
struct QueryRecord {
  uint64_t counters = 0;  // device address of counter 0 of shard 0
  uint64_t previous = 0;  // or 0
  uint64_t kept = 0;      // or 0
  uint32_t counter_count = 0;
  uint32_t stride = 0;  // of shards, in counters
  uint32_t shards_log2 = 0;
  uint32_t target_count = 0;
  QueryTarget targets[kQueryTargets];
};

// A query that has ended.
struct QueryFinish {
  static constexpr uint32_t kNoRow = ~0u;
  uint64_t slot = 0;
  uint64_t constants = 0;  // 64 bits a row: what the host has counted
  uint32_t rows = 0;
  uint32_t pass = 0;
  uint32_t time_row = kNoRow;
  uint32_t time_pass = 0;
  uint32_t views = 1;  // consecutive queries that become available; all but the first are 0
  uint32_t slot_bytes = 0;
  uint32_t errors = 0;
  uint32_t all_passes = 1;  // mask; 1: complete after any pass
};
// A command whose arguments stand in a buffer, of which `arguments` is a copy; or whose indices may
// restart the primitive, of which `indices` is one.
struct QueryIndirect {
  enum Kind : uint32_t {
    kDraw,       // vertices or indices, then instances
    kGroups,     // of three dimensions
    kTasks,      // of one
    kByteCount,  // bytes of transform feedback, behind the first `first_bytes`
    kIndices     // `most` indices, `instances` times: without arguments
  };
  enum Flags : uint32_t { kPatches = 1, kLast = 2, kClipped = 4, kMesh = 8 };
  // What is counted, as a target's matrix names it.
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
  uint64_t count_at = 0;   // of the number of draws; 0: all
  uint64_t indices = 0;    // 0: none restarts; all that are not there are 0
  uint32_t most = 0;       // draws
  uint32_t stride = 0;     // bytes
  uint32_t kind = kDraw;
  uint32_t first = 1, step = 1;  // vertices of the first primitive, of each further one
  uint32_t instances =
      0;  // of kByteCount and kIndices; of the former first_bytes and stride of a vertex are
  uint32_t flags = 0;  // in `first_bytes` and `stride`
  uint32_t target_count = 0;
  uint32_t first_bytes = 0;
  uint32_t index_bytes = 0;  // of one
  uint32_t index_count = 0;
  uint32_t reserved = 0;
  QueryTarget targets[kQueryTargets];  // whose matrix is pairs of a row and a metric
};

// Commands under transform feedback, one span after the other. What the stages have put out for
// each stream is in four rows, `needs`, which are set to 0 when they have been read; what fits
// still into the buffers of each stream, in primitives, in `room`.
struct QueryFeedback {
  static constexpr uint32_t kStreams = 4;
  static constexpr uint32_t kBuffers = 4;
  enum Flags : uint32_t { kFirst = 1 };  // transform feedback has just begun
  struct Buffer {
    uint64_t size = 0;
    uint32_t stride = 0;  // of a vertex; 0: not captured into
    uint32_t stream = 0;
  };
  uint64_t needs = 0;      // device addresses
  uint64_t assembled = 0;  // primitives for stream 0 that the host has counted
  uint64_t room = 0;
  uint64_t starts = 0;           // 32 bits a buffer: bytes in it when transform feedback began
  uint64_t rows[kStreams] = {};  // of the query of each stream, or 0: written, needed
  Buffer buffers[kBuffers];
  uint32_t flags = 0;
  uint32_t primitive_vertices = 1;
};
// Before the first of them.
struct QueryFeedbackHeader {
  uint32_t count = 0;
  uint32_t reserved = 0;
};
static_assert(sizeof(QueryFeedback) == 136 && sizeof(QueryFeedbackHeader) == 8);

static_assert(sizeof(QueryBatch) == 16 && sizeof(QueryTarget) == 32);
static_assert(sizeof(QueryRecord) == 360 && sizeof(QueryFinish) == 48);
static_assert(sizeof(QueryIndirect) == 392);

// A timestamp that a shader writes.
struct QueryTimestamp {
  uint64_t slot = 0;
  uint32_t views = 1;  // consecutive queries that become available; all but the first are 0
  uint32_t slot_bytes = 0;
};
static_assert(sizeof(QueryTimestamp) == 16);

// How results are written from slots (vkCmdCopyQueryPoolResults): header, then a QueryConversion
// for each result.
struct QueryCopy {
  enum Flags : uint32_t { k64Bit = 1, kAvailability = 2, kStatus = 4, kTyped = 8, kWraps = 16 };
  uint64_t slots = 0;  // of the first query
  uint64_t output = 0;
  uint32_t slot_bytes = 0, output_words = 0;  // a query
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
