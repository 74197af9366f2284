// Commands whose arguments are in a buffer, or whose indices may restart the primitive, for
// emulated queries. The layer copies arguments and indices before the command, or, inside a render
// pass, after the pass. The GPU counts from the copies (glsl/query_indirect.comp).
#pragma once

#include <vulkan/vulkan_core.h>

#include <vector>

#include "counters/memory/record_pool.h"
#include "counters/objects/draw_facts.h"
#include "counters/queries/named_memory.h"
#include "counters/shader/query_source.h"
#include "probe/query.h"

namespace tally::counters {

// A range of an index buffer.
struct IndexRange {
  NamedMemory memory;
  VkDeviceSize size = 0;     // VK_WHOLE_SIZE: up to the end of the buffer
  uint32_t index_bytes = 4;  // of one index
  uint32_t restart = ~0u;    // the index that restarts the primitive
};
// The restart index that binding an index buffer sets.
inline uint32_t default_restart(uint32_t index_bytes) {
  return index_bytes == 4 ? ~0u : (1u << (8 * index_bytes)) - 1;
}

// A copy of an index range.
struct IndexCopy {
  IndexRange source;
  QuerySpace target;
};

struct IndirectCommand {
  probe::QueryIndirect::Kind kind = probe::QueryIndirect::kDraw;
  bool mesh = false;
  bool indexed = false;
  NamedMemory arguments;
  uint32_t max_count = 1;    // of draws
  uint32_t stride = 0;       // bytes; for kByteCount of a vertex
  NamedMemory count;         // null: all draws
  uint32_t instances = 0;    // for kByteCount and kIndices
  uint32_t first_bytes = 0;  // for kByteCount
  uint32_t first_index = 0;  // for kIndices
  // The bound index buffer, if primitive restart is enabled.
  IndexRange indices;
};

// The number of bytes of the argument buffer that the command reads.
VkDeviceSize argument_bytes(const IndirectCommand& command);

// The indices that the command may read; size 0 without primitive restart.
IndexRange indices_of(const IndirectCommand& command);

// The operation for the GPU, without targets and addresses.
probe::QueryIndirect describe(const IndirectCommand& command, const DrawFacts& facts);

// The rows that the GPU counts from arguments: pairs of a row and a metric.
std::vector<uint64_t> indirect_pairs(const std::vector<QueryRow>& rows);

}  // namespace tally::counters
