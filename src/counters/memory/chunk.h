// One buffer with memory of its own: what the record pool cuts pages from, and where copies for the
// host go.
#pragma once

#include <cstddef>
#include <memory>

#include "counters/memory/context.h"

namespace tally::counters {

class Chunk {
 public:
  enum class Use {
    HostRecords,    // written by shaders through its address, filled, mapped
    HostResults,    // the same, in memory that the host reads fast
    DeviceRecords,  // written by shaders through its address, copied from and filled
    Staging,        // copied to, mapped
    Words,          // address words read as a uniform buffer, mapped, always coherent
  };

  // Null and the reason in `result` when there is no memory for it. The contents are undefined.
  static std::unique_ptr<Chunk> create(const MemoryContext& context, Use use, VkDeviceSize size,
                                       VkResult& result);
  ~Chunk();
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

  VkBuffer buffer() const { return buffer_; }
  VkDeviceSize size() const { return size_; }
  VkDeviceAddress address() const { return address_; }  // of shader-written chunks
  std::byte* host() const { return host_; }             // null unless mapped

  // No effect on coherent memory. The range is widened to what the device flushes.
  void invalidate(VkDeviceSize offset, VkDeviceSize size) const;
  void flush(VkDeviceSize offset, VkDeviceSize size) const;

 private:
  explicit Chunk(const MemoryContext& context) : context_(context) {}
  VkResult initialize(Use use, VkDeviceSize size);
  VkResult allocate(Use use);
  VkMappedMemoryRange range(VkDeviceSize offset, VkDeviceSize size) const;

  const MemoryContext& context_;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  VkDeviceSize size_ = 0;
  VkDeviceSize allocated_ = 0;
  VkDeviceAddress address_ = 0;
  std::byte* host_ = nullptr;
  bool coherent_ = true;
};

}  // namespace tally::counters
