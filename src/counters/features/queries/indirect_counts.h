// GPU memory for the queries of one recording, cut one piece after the other from pages of the
// device's record pool. Used by one thread at a time.
#pragma once

#include <tally/vulkan_newer.h>
#include <tally/vulkan_newest.h>
#include <vulkan/vulkan_core.h>

#include <vector>

#include "counters/base/device_table.h"
#include "counters/memory/record_pool.h"
#include "counters/pipelines/pipeline_contents.h"
#include "counters/shaders/program.h"
#include "probe/query.h"
#include "probe/record.h"
#include "vk/chain.h"

namespace tally::counters {

struct QuerySpace {
  VkDeviceAddress address = 0;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;  // in the buffer
};

class QueryMemory {
 public:
  explicit QueryMemory(RecordPool& pool) : pool_(pool) {}
  ~QueryMemory() { reset(); }
  QueryMemory(const QueryMemory&) = delete;
  QueryMemory& operator=(const QueryMemory&) = delete;

  // Zeroed memory, aligned for records with any number of shards, or with this number.
  VkResult reserve(uint64_t bytes, QuerySpace& space) {
    return reserve(bytes, probe::kShardAlignment, space);
  }
  VkResult reserve_record(uint64_t bytes, uint32_t shards_log2, QuerySpace& space) {
    return reserve(bytes, shards_log2 == 0 ? probe::kRecordAlignment : probe::kShardAlignment,
                   space);
  }
  // A zeroed page that is not shared with other reservations.
  VkResult reserve_page(uint64_t bytes, RecordPage& page);
  // No command that uses the memory may be pending.
  void reset();

 private:
  VkResult reserve(uint64_t bytes, uint64_t alignment, QuerySpace& space);

  RecordPool& pool_;
  std::vector<RecordPage> pages_;
  VkDeviceSize used_ = 0;  // of the last page
};

// Memory of the application that one of its commands names: by a buffer and an offset, or by an
// address (VK_KHR_device_address_commands). Copies between it and memory of the layer.

struct NamedMemory {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;
  VkDeviceAddress address = 0;         // where there is no buffer
  VkAddressCommandFlagsKHR flags = 0;  // of the application, for its address

  bool is_null() const { return buffer == VK_NULL_HANDLE && address == 0; }
  NamedMemory behind(VkDeviceSize bytes) const {
    return address != 0 ? NamedMemory{VK_NULL_HANDLE, 0, address + bytes, flags}
                        : NamedMemory{buffer, offset + bytes};
  }
  bool operator==(const NamedMemory&) const = default;
};

// The flags for addresses of the layer's own memory.
inline constexpr VkAddressCommandFlagsKHR kLayerAddressFlags =
    VK_ADDRESS_COMMAND_FULLY_BOUND_BIT_KHR | VK_ADDRESS_COMMAND_STORAGE_BUFFER_USAGE_BIT_KHR;

// Copies the first `bytes` of the application's memory.
void copy_in(const DeviceTable& next, VkCommandBuffer commands, const NamedMemory& source,
             const QuerySpace& target, VkDeviceSize bytes);
// The offsets in `regions` are relative to `source` and `target`.
void copy_out(const DeviceTable& next, VkCommandBuffer commands, const QuerySpace& source,
              const NamedMemory& target, std::vector<VkBufferCopy> regions);

// The create info of a buffer that may contain arguments or indices of commands, with the usage
// that lets the layer copy them.

class CopyableBuffer {
 public:
  CopyableBuffer(const VkBufferCreateInfo& info, bool queries);
  const VkBufferCreateInfo* info() const { return &info_; }
  // True if the application has not asked for that usage itself.
  bool is_changed() const { return is_changed_; }
  // True if it may be bound for indices or transform feedback, where its size is needed.
  bool is_bound() const { return is_bound_; }

 private:
  // The struct and VkBufferCreateInfo hold the usage in numbers of different size.
  template <typename Flags>
  void add_copy(Flags& usage);

  bool is_bound_ = false;
  bool is_changed_ = false;
  VkBufferCreateInfo info_;
  vk::ChainCopy chain_;
};

// Commands whose arguments are in a buffer, or whose indices may restart the primitive, for
// emulated queries. The layer copies arguments and indices before the command, or, inside a render
// pass, after the pass. The GPU counts from the copies (glsl/query_indirect.comp).

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
