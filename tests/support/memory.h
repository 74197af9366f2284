// Buffers and images with dedicated memory.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "support/context.h"

namespace tally::test {

using DeviceMemory = Handle<VkDeviceMemory, vkFreeMemory>;

// A host-visible, coherent, mapped buffer. Its address is 0 unless usage contains
// SHADER_DEVICE_ADDRESS.
class Buffer {
 public:
  Buffer() = default;
  // `next` is the chain of its create info.
  Buffer(const Context& context, VkDeviceSize size,
         VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, const void* next = nullptr);

  operator VkBuffer() const { return buffer_; }
  VkDeviceSize size() const { return size_; }
  VkDeviceAddress address() const { return address_; }
  template <typename T>
  std::span<T> as() const {
    return {static_cast<T*>(data_), static_cast<size_t>(size_ / sizeof(T))};
  }
  void clear() { std::memset(data_, 0, size_); }

 private:
  Handle<VkBuffer, vkDestroyBuffer> buffer_;
  DeviceMemory memory_;
  VkDeviceSize size_ = 0;
  VkDeviceAddress address_ = 0;
  void* data_ = nullptr;
};

// True if images of the format have depth and stencil.
inline bool has_stencil(VkFormat format) { return format == VK_FORMAT_D32_SFLOAT_S8_UINT; }

struct ImageInfo {
  VkExtent2D extent = {64, 64};
  VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
  VkImageUsageFlags usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
  VkSampleCountFlagBits samples = VK_SAMPLE_COUNT_1_BIT;
  uint32_t layers = 1;  // more than one: a 2D array view
};

// A 2D image in layout UNDEFINED, with one view of the whole image.
class Image {
 public:
  Image() = default;
  Image(const Context& context, const ImageInfo& info);

  operator VkImage() const { return image_; }
  VkImageView view() const { return view_; }
  const ImageInfo& info() const { return info_; }
  VkImageAspectFlags aspect() const;

 private:
  Handle<VkImage, vkDestroyImage> image_;
  DeviceMemory memory_;
  ImageView view_;
  ImageInfo info_;
};

// Orders all earlier commands before all later ones and makes their writes visible, including to
// host reads.
void full_barrier(VkCommandBuffer commands);
void change_layout(VkCommandBuffer commands, const Image& image, VkImageLayout from,
                   VkImageLayout to);

// Reads a single-sampled colour image of 4 bytes per texel, layer by layer. The image must be in
// layout TRANSFER_SRC_OPTIMAL.
std::vector<uint32_t> read_texels(Context& context, const Image& image);

}  // namespace tally::test
