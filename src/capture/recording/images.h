// Images that a render pass may draw into, and which of them can be read back: whose usage has
// transfers from them, by the application or because the layer adds it. Kept only where passes are
// captured by region, whose final images are wanted.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <optional>
#include <vector>

#include "capture/tables.h"
#include "vk/handle_map.h"

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

  // The usage that an image is to be created with.
  VkImageUsageFlags usage(const VkImageCreateInfo& info) const;
  VkImageUsageFlags usage(const VkSwapchainCreateInfoKHR& info) const;
  // That of an attachment whose image is not known yet (an imageless framebuffer).
  static VkImageUsageFlags attachment_usage(VkImageUsageFlags usage);

  // `info` as it was created.
  void add(VkImage handle, const VkImageCreateInfo& info);
  void remove(VkImage handle) { images_.take(handle); }
  void add(VkSwapchainKHR handle, const VkSwapchainCreateInfoKHR& info);
  void remove(VkSwapchainKHR handle) { swapchains_.take(handle); }
  // Images of a swapchain go with it; their handles may then be somebody else's, who adds them.
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

// The application's create info with the attachments' usage as their images have it.
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
};

}  // namespace tally::capture
