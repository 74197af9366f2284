// Memory that the GPU writes and the host reads after an execution has completed: values by region,
// final images, the intermediate images for copying them, and timestamps. A device has a pool of
// mapped buffers. A recording borrows buffers and suballocates pieces from them.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

#include "capture/base/tables.h"

namespace tally::capture {

class HostMemory {
 public:
  struct Buffer {
    VkBuffer handle = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkDeviceSize size = 0;
    VkDeviceAddress address = 0;
    const std::byte* data = nullptr;
  };

  // `has_addresses`: shaders write to the buffers, whose addresses Buffer has.
  HostMemory(VkDevice device, const DeviceTable& table,
             const VkPhysicalDeviceMemoryProperties& properties, bool has_addresses)
      : device_(device), table_(table), properties_(properties), has_addresses_(has_addresses) {}

  // Returns a buffer of at least `bytes`; nullopt if the driver has no such memory left.
  std::optional<Buffer> borrow(VkDeviceSize bytes);
  void give_back(const Buffer& buffer);
  struct Image {
    VkImage handle = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
  };
  // Creates a colour image as a source and destination of copies. The host cannot access it.
  std::optional<Image> create_image(VkFormat format, VkExtent2D extent, uint32_t layers) const;
  void destroy(const Image& image) const;
  void destroy_all();

 private:
  std::optional<Buffer> create(VkDeviceSize bytes) const;
  bool allocate(Buffer& buffer) const;
  bool allocate(Image& image) const;
  std::optional<uint32_t> memory_type(uint32_t allowed, VkMemoryPropertyFlags wanted) const;
  void destroy(const Buffer& buffer) const;

  const VkDevice device_;
  const DeviceTable& table_;
  const VkPhysicalDeviceMemoryProperties properties_;
  const bool has_addresses_;
  std::mutex mutex_;
  std::vector<Buffer> free_;
};

struct HostPiece {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;
  VkDeviceAddress address = 0;
  const std::byte* data = nullptr;
};

// The pieces of one recording. Only one thread may cut them.
class HostPieces {
 public:
  explicit HostPieces(HostMemory& memory) : memory_(memory) {}
  ~HostPieces();
  HostPieces(const HostPieces&) = delete;
  HostPieces& operator=(const HostPieces&) = delete;

  std::optional<HostPiece> cut(VkDeviceSize bytes);
  // Creates an image that lives as long as the pieces; null if there is no memory.
  VkImage make_image(VkFormat format, VkExtent2D extent, uint32_t layers);

 private:
  HostMemory& memory_;
  std::vector<HostMemory::Buffer> buffers_;
  std::vector<HostMemory::Image> images_;
  VkDeviceSize used_ = 0;  // bytes used in the last buffer
};

}  // namespace tally::capture
