// One buffer with dedicated memory. The record pool cuts pages from chunks; staging copies for the
// host use them too.
#pragma once

#include <cstddef>
#include <memory>

#include "counters/memory/context.h"

namespace tally::counters {

class Chunk {
 public:
  enum class Use {
    HostRecords,    // mapped; shaders write through the address, and the GPU fills it
    HostResults,    // the same, in host-cached memory
    DeviceRecords,  // device-local; shaders write through the address, and the GPU fills and copies
                    // it
    Staging,        // mapped; the GPU copies to it
    Words,          // mapped and coherent; record pointers that shaders read as a uniform buffer
    Preprocess,     // device-local; the driver preprocesses generated commands in it
  };

  // Null, with the reason in `result`, if there is no memory. The contents are undefined. The
  // memory is of one of the types in `allowed_types`.
  static std::unique_ptr<Chunk> create(const MemoryContext& context, Use use, VkDeviceSize size,
                                       VkResult& result, uint32_t allowed_types = ~0u);
  ~Chunk();
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

  VkBuffer buffer() const { return buffer_; }
  VkDeviceSize size() const { return size_; }
  VkDeviceAddress address() const { return address_; }  // 0 for staging and words
  std::byte* host() const { return host_; }             // null unless mapped

  bool coherent() const { return coherent_; }
  bool cached() const { return cached_; }  // by the processor
  // No effect on coherent memory. The range is extended to multiples of nonCoherentAtomSize.
  void invalidate(VkDeviceSize offset, VkDeviceSize size) const;
  void flush(VkDeviceSize offset, VkDeviceSize size) const;

 private:
  explicit Chunk(const MemoryContext& context) : context_(context) {}
  VkResult initialize(Use use, VkDeviceSize size, uint32_t allowed_types);
  VkResult allocate(Use use, uint32_t allowed_types);
  VkMappedMemoryRange range(VkDeviceSize offset, VkDeviceSize size) const;

  const MemoryContext& context_;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  VkDeviceSize size_ = 0;
  VkDeviceSize allocated_ = 0;
  VkDeviceAddress address_ = 0;
  std::byte* host_ = nullptr;
  bool coherent_ = true;
  bool cached_ = true;
};

}  // namespace tally::counters
