// The usage of images and swapchains, also where a struct in the chain gives it
// (VK_KHR_extended_flags).
#include "capture/record/images.h"

#include <gtest/gtest.h>

namespace tally::capture {
namespace {

constexpr VkImageUsageFlags kColor = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
constexpr VkImageUsageFlags kRead = VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
constexpr VkImageUsageFlags kIgnored = VK_IMAGE_USAGE_SAMPLED_BIT | kRead;

VkResult VKAPI_CALL get_surface(VkPhysicalDevice, VkSurfaceKHR, VkSurfaceCapabilitiesKHR* surface) {
  surface->supportedUsageFlags = kColor | kRead;
  return VK_SUCCESS;
}
void VKAPI_CALL get_format(VkPhysicalDevice, VkFormat, VkFormatProperties* format) {
  format->optimalTilingFeatures = VK_FORMAT_FEATURE_TRANSFER_SRC_BIT;
}
VkResult VKAPI_CALL get_image_format(VkPhysicalDevice, VkFormat, VkImageType, VkImageTiling,
                                     VkImageUsageFlags usage, VkImageCreateFlags,
                                     VkImageFormatProperties* properties) {
  *properties = {{64, 64, 1}, 1, 1, VK_SAMPLE_COUNT_1_BIT, 1 << 20};
  return usage == (kColor | kRead) ? VK_SUCCESS : VK_ERROR_FORMAT_NOT_SUPPORTED;
}

class ImagesTest : public testing::Test {
 protected:
  ImagesTest() {
    table_.GetPhysicalDeviceSurfaceCapabilitiesKHR = get_surface;
    table_.GetPhysicalDeviceFormatProperties = get_format;
    table_.GetPhysicalDeviceImageFormatProperties = get_image_format;
    image_.format = VK_FORMAT_R8G8B8A8_UNORM;
    image_.imageType = VK_IMAGE_TYPE_2D;
    image_.extent = {64, 64, 1};
    image_.mipLevels = image_.arrayLayers = 1;
    image_.samples = VK_SAMPLE_COUNT_1_BIT;
  }
  static VkFlags64 chained(const void* chain) {
    return vk::find_in_chain<VkImageUsageFlags2CreateInfoKHR>(
               chain, VK_STRUCTURE_TYPE_IMAGE_USAGE_FLAGS_2_CREATE_INFO_KHR)
        ->usage;
  }
  bool is_readable(const VkImageCreateInfo& info) {
    const auto handle = reinterpret_cast<VkImage>(uint64_t{1});
    const auto view = reinterpret_cast<VkImageView>(uint64_t{2});
    images_.add(handle, info);
    VkImageViewCreateInfo of{VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO};
    of.image = handle;
    images_.add(view, of);
    return images_.find(view)->image.readable;
  }

  InstanceTable table_;
  Images images_{table_, VK_NULL_HANDLE};
  VkImageUsageFlags2CreateInfoKHR usage_{VK_STRUCTURE_TYPE_IMAGE_USAGE_FLAGS_2_CREATE_INFO_KHR,
                                         nullptr, kColor};
  VkImageCreateInfo image_{VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
};

TEST_F(ImagesTest, are_created_readable_if_passes_draw_into_them) {
  image_.usage = kColor;
  const ReadableImage readable(images_, image_);
  EXPECT_EQ(readable.get()->usage, kColor | kRead);
  EXPECT_TRUE(is_readable(*readable.get()));
}

TEST_F(ImagesTest, the_usage_in_the_chain_replaces_the_other) {
  image_.pNext = &usage_;
  image_.usage = kIgnored;
  const ReadableImage readable(images_, image_);
  EXPECT_EQ(readable.get()->usage, kColor | kRead);
  EXPECT_EQ(chained(readable.get()->pNext), kColor | kRead);
  EXPECT_TRUE(is_readable(*readable.get()));
  EXPECT_EQ(usage_.usage, kColor) << "the application's own struct was written";
}

TEST_F(ImagesTest, with_a_usage_that_a_device_cannot_be_asked_for_are_left_as_they_are) {
  image_.pNext = &usage_;
  image_.usage = kIgnored;
  usage_.usage |= VkFlags64{1} << 40;
  const ReadableImage readable(images_, image_);
  EXPECT_EQ(readable.get()->pNext, &usage_);
  EXPECT_FALSE(is_readable(*readable.get())) << "the usage outside of the chain is ignored";
}

TEST_F(ImagesTest, the_flags_in_the_chain_replace_the_others) {
  const VkImageCreateFlags2CreateInfoKHR flags{
      VK_STRUCTURE_TYPE_IMAGE_CREATE_FLAGS_2_CREATE_INFO_KHR, nullptr,
      VK_IMAGE_CREATE_PROTECTED_BIT};
  image_.pNext = &flags;
  image_.usage = kColor;
  EXPECT_EQ(ReadableImage(images_, image_).get()->usage, kColor);
  image_.usage = kColor | kRead;
  EXPECT_FALSE(is_readable(*ReadableImage(images_, image_).get()));
}

TEST_F(ImagesTest, of_a_swapchain_have_the_usage_in_its_chain) {
  VkSwapchainCreateInfoKHR info{VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR, &usage_};
  info.imageUsage = kIgnored;
  const ReadableSwapchain readable(images_, info);
  EXPECT_EQ(readable.get()->imageUsage, kColor | kRead);
  EXPECT_EQ(chained(readable.get()->pNext), kColor | kRead);
}

TEST_F(ImagesTest, of_a_framebuffer_have_the_usage_in_their_chains) {
  VkFramebufferAttachmentImageInfo attachment{VK_STRUCTURE_TYPE_FRAMEBUFFER_ATTACHMENT_IMAGE_INFO};
  attachment.pNext = &usage_;
  attachment.usage = kIgnored;
  const VkFramebufferAttachmentsCreateInfo attachments{
      VK_STRUCTURE_TYPE_FRAMEBUFFER_ATTACHMENTS_CREATE_INFO, nullptr, 1, &attachment};
  const VkFramebufferCreateInfo info{VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO, &attachments};
  const ReadableFramebuffer readable(info);
  const auto* changed =
      static_cast<const VkFramebufferAttachmentsCreateInfo*>(readable.get()->pNext);
  EXPECT_EQ(changed->pAttachmentImageInfos[0].usage, kColor | kRead);
  EXPECT_EQ(chained(changed->pAttachmentImageInfos[0].pNext), kColor | kRead);
}

}  // namespace
}  // namespace tally::capture
