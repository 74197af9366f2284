#include "capture/record/host_memory.h"

#include <algorithm>
#include <bit>

#include "vk/own_call.h"

namespace tally::capture {
namespace {

constexpr VkDeviceSize kMinBuffer = VkDeviceSize{1} << 20;
// The alignment of pieces. It is enough for the stores of a shader and for a copy of any texel.
constexpr VkDeviceSize kAlignment = 256;

constexpr VkMemoryPropertyFlags kCoherent =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

}  // namespace

std::optional<HostMemory::Buffer> HostMemory::borrow(VkDeviceSize bytes) {
  {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::ranges::find_if(free_, [&](const Buffer& buffer) { return buffer.size >= bytes; });
    if (found != free_.end()) {
      const Buffer buffer = *found;
      free_.erase(found);
      return buffer;
    }
  }
  return create(std::max(std::bit_ceil(bytes), kMinBuffer));
}

void HostMemory::give_back(const Buffer& buffer) {
  const std::lock_guard lock(mutex_);
  const auto place = std::ranges::upper_bound(free_, buffer.size, {}, &Buffer::size);
  free_.insert(place, buffer);  // sorted, so that the smallest buffer that fits is found first
}

void HostMemory::destroy_all() {
  const std::lock_guard lock(mutex_);
  for (const Buffer& buffer : free_) destroy(buffer);
  free_.clear();
}

void HostMemory::destroy(const Buffer& buffer) const {
  table_.DestroyBuffer(device_, buffer.handle, nullptr);
  table_.FreeMemory(device_, buffer.memory, nullptr);
}

std::optional<HostMemory::Buffer> HostMemory::create(VkDeviceSize bytes) const {
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  if (has_addresses_) info.usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  Buffer buffer;
  buffer.size = bytes;
  if (vk::own("vkCreateBuffer", table_.CreateBuffer(device_, &info, nullptr, &buffer.handle),
              buffer.handle) != VK_SUCCESS) {
    return std::nullopt;
  }
  if (allocate(buffer)) return buffer;
  destroy(buffer);
  return std::nullopt;
}

bool HostMemory::allocate(Buffer& buffer) const {
  VkMemoryRequirements needs{};
  table_.GetBufferMemoryRequirements(device_, buffer.handle, &needs);
  // Cached memory is fast to read for the host.
  auto type = memory_type(needs.memoryTypeBits, kCoherent | VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
  if (!type) type = memory_type(needs.memoryTypeBits, kCoherent);
  if (!type) return false;
  const VkMemoryAllocateFlagsInfo flags{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO, nullptr,
                                        VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT, 0};
  const VkMemoryAllocateInfo info{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                  has_addresses_ ? &flags : nullptr, needs.size, *type};
  void* data = nullptr;
  if (vk::own("vkAllocateMemory", table_.AllocateMemory(device_, &info, nullptr, &buffer.memory),
              buffer.memory) != VK_SUCCESS ||
      vk::own("vkBindBufferMemory",
              table_.BindBufferMemory(device_, buffer.handle, buffer.memory, 0)) != VK_SUCCESS ||
      vk::own("vkMapMemory",
              table_.MapMemory(device_, buffer.memory, 0, VK_WHOLE_SIZE, 0, &data)) != VK_SUCCESS) {
    return false;
  }
  buffer.data = static_cast<const std::byte*>(data);
  if (!has_addresses_) return true;
  const VkBufferDeviceAddressInfo address{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, nullptr,
                                          buffer.handle};
  buffer.address = table_.GetBufferDeviceAddress(device_, &address);
  return true;
}

std::optional<uint32_t> HostMemory::memory_type(uint32_t allowed,
                                                VkMemoryPropertyFlags wanted) const {
  for (uint32_t i = 0; i < properties_.memoryTypeCount; ++i) {
    const bool fits = (properties_.memoryTypes[i].propertyFlags & wanted) == wanted;
    if (fits && (allowed >> i & 1) != 0) return i;
  }
  return std::nullopt;
}

std::optional<HostMemory::Image> HostMemory::create_image(VkFormat format, VkExtent2D extent,
                                                          uint32_t layers) const {
  VkImageCreateInfo info{VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
  info.imageType = VK_IMAGE_TYPE_2D;
  info.format = format;
  info.extent = {extent.width, extent.height, 1};
  info.mipLevels = 1;
  info.arrayLayers = layers;
  info.samples = VK_SAMPLE_COUNT_1_BIT;
  info.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
  Image image;
  if (vk::own("vkCreateImage", table_.CreateImage(device_, &info, nullptr, &image.handle),
              image.handle) != VK_SUCCESS) {
    return std::nullopt;
  }
  if (allocate(image)) return image;
  destroy(image);
  return std::nullopt;
}

bool HostMemory::allocate(Image& image) const {
  VkMemoryRequirements needs{};
  table_.GetImageMemoryRequirements(device_, image.handle, &needs);
  const auto type = memory_type(needs.memoryTypeBits, 0);
  if (!type) return false;
  const VkMemoryAllocateInfo info{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, nullptr, needs.size,
                                  *type};
  return vk::own("vkAllocateMemory", table_.AllocateMemory(device_, &info, nullptr, &image.memory),
                 image.memory) == VK_SUCCESS &&
         vk::own("vkBindImageMemory",
                 table_.BindImageMemory(device_, image.handle, image.memory, 0)) == VK_SUCCESS;
}

void HostMemory::destroy(const Image& image) const {
  table_.DestroyImage(device_, image.handle, nullptr);
  table_.FreeMemory(device_, image.memory, nullptr);
}

HostPieces::~HostPieces() {
  for (const HostMemory::Buffer& buffer : buffers_) memory_.give_back(buffer);
  for (const HostMemory::Image& image : images_) memory_.destroy(image);
}

VkImage HostPieces::make_image(VkFormat format, VkExtent2D extent, uint32_t layers) {
  const auto image = memory_.create_image(format, extent, layers);
  if (!image) return VK_NULL_HANDLE;
  images_.push_back(*image);
  return image->handle;
}

std::optional<HostPiece> HostPieces::cut(VkDeviceSize bytes) {
  if (buffers_.empty() || buffers_.back().size - used_ < bytes) {
    const auto fresh = memory_.borrow(bytes);
    if (!fresh) return std::nullopt;
    buffers_.push_back(*fresh);
    used_ = 0;
  }
  const HostMemory::Buffer& buffer = buffers_.back();
  const HostPiece piece{buffer.handle, used_, buffer.address + used_, buffer.data + used_};
  used_ = std::min(buffer.size, (used_ + bytes + kAlignment - 1) / kAlignment * kAlignment);
  return piece;
}

}  // namespace tally::capture
