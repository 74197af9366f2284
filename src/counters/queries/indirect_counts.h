// Commands whose arguments stand in a buffer, or whose indices may restart the primitive, for the
// emulated queries of one command buffer: both are copied where the command runs, or, in a render
// pass, where the pass has ended; the GPU counts from the copies (glsl/query_indirect.comp).
#pragma once

#include <vulkan/vulkan_core.h>

#include <vector>

#include "counters/memory/record_pool.h"
#include "counters/objects/draw_facts.h"
#include "counters/queries/source.h"
#include "probe/query.h"

namespace tally::counters {

// An index buffer, or the part of it that a command reads.
struct IndexRange {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;
  VkDeviceSize size = 0;     // VK_WHOLE_SIZE: all behind the offset
  uint32_t index_bytes = 4;  // of one
};

// A copy of one.
struct IndexCopy {
  IndexRange source;
  VkDeviceAddress address = 0;
  VkBuffer target = VK_NULL_HANDLE;
  VkDeviceSize target_offset = 0;
};

struct IndirectCommand {
  probe::QueryIndirect::Kind kind = probe::QueryIndirect::kDraw;
  bool mesh = false;
  bool indexed = false;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;
  uint32_t most = 1;    // draws
  uint32_t stride = 0;  // bytes; of a vertex where the kind is kByteCount
  VkBuffer count_buffer = VK_NULL_HANDLE;
  VkDeviceSize count_offset = 0;
  uint32_t instances = 0;    // of kByteCount and kIndices
  uint32_t first_bytes = 0;  // of kByteCount
  uint32_t first_index = 0;  // of kIndices
  // Where an index may restart the primitive: what is bound, all of it.
  IndexRange indices;
};

// How large the part of the buffer is that the command reads.
VkDeviceSize argument_bytes(const IndirectCommand& command);

// The indices that the command may read; of size 0 where none restarts.
IndexRange indices_of(const IndirectCommand& command);

// What the GPU needs to know, but for the targets and the addresses.
probe::QueryIndirect describe(const IndirectCommand& command, const DrawFacts& facts);

// Which rows count what the GPU finds in arguments: pairs of a row and a metric.
std::vector<uint64_t> indirect_pairs(const std::vector<QueryRow>& rows);

}  // namespace tally::counters
