// Images that a render pass may draw into, and whether they can be read back: their usage includes
// transfer source, set by the application or added by the layer. They are tracked only if passes
// are captured by region, because only then final images are captured.
#pragma once

#include <tally/vulkan_newest.h>
#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "capture/base/tables.h"
#include "vk/chain.h"
#include "vk/handles.h"

namespace tally::capture {

struct Image {
  VkImageType type = VK_IMAGE_TYPE_2D;
  VkFormat format = VK_FORMAT_UNDEFINED;
  VkSampleCountFlagBits samples = VK_SAMPLE_COUNT_1_BIT;
  uint32_t layers = 1;
  bool readable = false;
};

struct ImageView {
  VkImage handle = VK_NULL_HANDLE;
  Image image;
  uint32_t mip = 0;
  uint32_t first_layer = 0;
  uint32_t layers = 1;
};

class Images {
 public:
  Images(const InstanceTable& table, VkPhysicalDevice physical_device)
      : table_(table), physical_device_(physical_device) {}

  // Returns the usage for creating an image. It may belong to a struct in the chain.
  VkImageUsageFlags usage(const VkImageCreateInfo& info) const;
  VkImageUsageFlags usage(const VkSwapchainCreateInfoKHR& info) const;
  // Returns the usage of an attachment whose image is not known yet (an imageless framebuffer).
  static VkImageUsageFlags attachment_usage(VkImageUsageFlags usage);

  // `info` is the create info that the image was created with.
  void add(VkImage handle, const VkImageCreateInfo& info);
  void remove(VkImage handle) { images_.take(handle); }
  void add(VkSwapchainKHR handle, const VkSwapchainCreateInfoKHR& info);
  void remove(VkSwapchainKHR handle) { swapchains_.take(handle); }
  // The images of a swapchain are destroyed with it. Their handles may then be reused by other
  // images, which are added again.
  void add_images(VkSwapchainKHR handle, uint32_t count, const VkImage* images);
  void add(VkImageView handle, const VkImageViewCreateInfo& info);
  void remove(VkImageView handle) { views_.take(handle); }
  std::shared_ptr<const ImageView> find(VkImageView handle) const { return views_.find(handle); }

 private:
  bool may_add(const VkImageCreateInfo& info) const;
  bool chain_allows(const VkImageCreateInfo& info) const;

  const InstanceTable& table_;
  const VkPhysicalDevice physical_device_;
  vk::HandleMap<VkImage, std::optional<Image>> images_;
  vk::HandleMap<VkSwapchainKHR, std::optional<Image>> swapchains_;
  vk::HandleMap<VkImageView, std::shared_ptr<const ImageView>> views_;
};

// In the chains that VkImageUsageFlags2CreateInfoKHR extends, its usage replaces the other.
inline VkImageUsageFlags stated_usage(const void* chain, VkImageUsageFlags usage) {
  const auto* newer = vk::find_in_chain<VkImageUsageFlags2CreateInfoKHR>(
      chain, VK_STRUCTURE_TYPE_IMAGE_USAGE_FLAGS_2_CREATE_INFO_KHR);
  return newer ? static_cast<VkImageUsageFlags>(newer->usage) : usage;
}

// Adds to the usage in such a chain, if there is one: `chain` becomes a copy that `copies` owns.
void add_chained_usage(const void*& chain, VkImageUsageFlags usage,
                       std::deque<vk::ChainCopy>& copies);

// The application's create info of an image or a swapchain, with the usage that the layer gives it.
template <typename Info, VkImageUsageFlags Info::*kUsage>
class ReadableInfo {
 public:
  ReadableInfo(const Images& images, const Info& info) : info_(info) {
    info_.*kUsage = images.usage(info);
    add_chained_usage(info_.pNext, info_.*kUsage, copies_);
  }
  ReadableInfo(const ReadableInfo&) = delete;
  ReadableInfo& operator=(const ReadableInfo&) = delete;
  // Its usage is right, also where one in the chain replaces it.
  const Info* get() const { return &info_; }

 private:
  Info info_;
  std::deque<vk::ChainCopy> copies_;
};
using ReadableImage = ReadableInfo<VkImageCreateInfo, &VkImageCreateInfo::usage>;
using ReadableSwapchain =
    ReadableInfo<VkSwapchainCreateInfoKHR, &VkSwapchainCreateInfoKHR::imageUsage>;

// The application's create info, with the usage of each attachment as its image was created.
class ReadableFramebuffer {
 public:
  explicit ReadableFramebuffer(const VkFramebufferCreateInfo& info);
  ReadableFramebuffer(const ReadableFramebuffer&) = delete;
  ReadableFramebuffer& operator=(const ReadableFramebuffer&) = delete;
  const VkFramebufferCreateInfo* get() const { return &info_; }

 private:
  VkFramebufferCreateInfo info_;
  VkFramebufferAttachmentsCreateInfo attachments_{};
  std::vector<VkFramebufferAttachmentImageInfo> images_;
  std::deque<vk::ChainCopy> copies_;
};

// Converts texels of images that were copied to a buffer into pixels for display.

// Returns the bytes of a texel in a buffer; 0 for formats that pictures do not support. For depth
// formats, the size of the depth aspect.
uint32_t texel_bytes(VkFormat format);
// Returns depth, and stencil if the format has it; 0 for colour formats.
VkImageAspectFlags depth_aspects(VkFormat format);

// The range that maps depths and integers to shades of grey: the least is black, the most is white.
struct AmountRange {
  double least = 0;
  double most = 1;
};
AmountRange amount_range(VkFormat format, std::span<const std::byte> texels);

// Returns opaque pixels with the bytes R, G, B, A. Linear values (floating point) get the sRGB
// curve; values outside 0 to 1 are clamped. If a texel has several integers, the first one is
// shown, except that four bytes are a colour.
std::vector<uint32_t> to_pixels(VkFormat format, std::span<const std::byte> texels,
                                const AmountRange& range = {});

}  // namespace tally::capture
