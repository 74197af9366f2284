#include "capture/record/images.h"

namespace tally::capture {
namespace {

constexpr VkImageUsageFlags kAttachment =
    VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT;

constexpr VkImageUsageFlags kRead = VK_IMAGE_USAGE_TRANSFER_SRC_BIT;

constexpr VkImageCreateFlags kNeverCopied =
    VK_IMAGE_CREATE_PROTECTED_BIT | VK_IMAGE_CREATE_SUBSAMPLED_BIT_EXT;

VkImageCreateFlags stated_flags(const VkImageCreateInfo& info) {
  const auto* newer = vk::find_in_chain<VkImageCreateFlags2CreateInfoKHR>(
      info.pNext, VK_STRUCTURE_TYPE_IMAGE_CREATE_FLAGS_2_CREATE_INFO_KHR);
  return newer ? static_cast<VkImageCreateFlags>(newer->flags) : info.flags;
}

// True if the device can be asked for images with these flags.
bool is_short(VkFlags64 flags) { return flags <= UINT32_MAX; }

}  // namespace

void add_chained_usage(const void*& chain, VkImageUsageFlags usage,
                       std::deque<vk::ChainCopy>& copies) {
  constexpr VkStructureType kType = VK_STRUCTURE_TYPE_IMAGE_USAGE_FLAGS_2_CREATE_INFO_KHR;
  const auto* newer = vk::find_in_chain<VkImageUsageFlags2CreateInfoKHR>(chain, kType);
  if (!newer || (newer->usage & usage) == usage) return;
  vk::ChainCopy& copy = copies.emplace_back(chain);
  copy.find<VkImageUsageFlags2CreateInfoKHR>(kType)->usage |= usage;
  chain = copy.head();
}

VkImageUsageFlags Images::attachment_usage(VkImageUsageFlags usage) {
  const bool drawn_into =
      (usage & kAttachment) != 0 && (usage & VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT) == 0;
  return drawn_into ? usage | kRead : usage;
}

VkImageUsageFlags Images::usage(const VkImageCreateInfo& info) const {
  const VkImageUsageFlags stated = stated_usage(info.pNext, info.usage);
  const VkImageUsageFlags wanted = attachment_usage(stated);
  return wanted != stated && may_add(info) ? wanted : stated;
}

VkImageUsageFlags Images::usage(const VkSwapchainCreateInfoKHR& info) const {
  const VkImageUsageFlags stated = stated_usage(info.pNext, info.imageUsage);
  const VkImageUsageFlags wanted = attachment_usage(stated);
  VkSurfaceCapabilitiesKHR surface{};
  const bool supported = table_.GetPhysicalDeviceSurfaceCapabilitiesKHR &&
                         table_.GetPhysicalDeviceSurfaceCapabilitiesKHR(
                             physical_device_, info.surface, &surface) == VK_SUCCESS &&
                         (surface.supportedUsageFlags & kRead) != 0;
  const bool plain = (info.flags & VK_SWAPCHAIN_CREATE_PROTECTED_BIT_KHR) == 0;
  return supported && plain ? wanted : stated;
}

// The usage also affects the layout of shared memory, and a modifier may not support a different
// usage.
bool Images::chain_allows(const VkImageCreateInfo& info) const {
  for (auto* node = static_cast<const VkBaseInStructure*>(info.pNext); node; node = node->pNext) {
    switch (static_cast<uint32_t>(node->sType)) {
      case VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO:
      case VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO:
        break;
      case VK_STRUCTURE_TYPE_IMAGE_CREATE_FLAGS_2_CREATE_INFO_KHR:
        if (!is_short(reinterpret_cast<const VkImageCreateFlags2CreateInfoKHR*>(node)->flags)) {
          return false;
        }
        break;
      case VK_STRUCTURE_TYPE_IMAGE_USAGE_FLAGS_2_CREATE_INFO_KHR:
        if (!is_short(reinterpret_cast<const VkImageUsageFlags2CreateInfoKHR*>(node)->usage)) {
          return false;
        }
        break;
      case VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO:
        if (reinterpret_cast<const VkExternalMemoryImageCreateInfo*>(node)->handleTypes != 0) {
          return false;
        }
        break;
      case VK_STRUCTURE_TYPE_IMAGE_SWAPCHAIN_CREATE_INFO_KHR: {
        const auto* of = reinterpret_cast<const VkImageSwapchainCreateInfoKHR*>(node);
        const auto swapchain = swapchains_.find(of->swapchain);
        if (of->swapchain != VK_NULL_HANDLE && !(swapchain && swapchain->readable)) return false;
        break;
      }
      default:
        return false;
    }
  }
  return true;
}

bool Images::may_add(const VkImageCreateInfo& info) const {
  const VkImageCreateFlags flags = stated_flags(info);
  if (info.tiling != VK_IMAGE_TILING_OPTIMAL || !chain_allows(info) ||
      (flags & kNeverCopied) != 0) {
    return false;
  }
  VkFormatProperties format{};
  table_.GetPhysicalDeviceFormatProperties(physical_device_, info.format, &format);
  if ((format.optimalTilingFeatures & VK_FORMAT_FEATURE_TRANSFER_SRC_BIT) == 0) return false;
  VkImageFormatProperties properties{};
  const VkResult supported = table_.GetPhysicalDeviceImageFormatProperties(
      physical_device_, info.format, info.imageType, info.tiling,
      attachment_usage(stated_usage(info.pNext, info.usage)), flags, &properties);
  return supported == VK_SUCCESS && info.extent.width <= properties.maxExtent.width &&
         info.extent.height <= properties.maxExtent.height &&
         info.extent.depth <= properties.maxExtent.depth &&
         info.mipLevels <= properties.maxMipLevels &&
         info.arrayLayers <= properties.maxArrayLayers &&
         (properties.sampleCounts & info.samples) != 0;
}

void Images::add(VkImage handle, const VkImageCreateInfo& info) {
  images_.insert(handle, Image{info.imageType, info.format, info.samples, info.arrayLayers,
                               (stated_usage(info.pNext, info.usage) & kRead) != 0 &&
                                   (stated_flags(info) & kNeverCopied) == 0});
}

void Images::add(VkSwapchainKHR handle, const VkSwapchainCreateInfoKHR& info) {
  swapchains_.insert(handle, Image{VK_IMAGE_TYPE_2D, info.imageFormat, VK_SAMPLE_COUNT_1_BIT,
                                   info.imageArrayLayers,
                                   (stated_usage(info.pNext, info.imageUsage) & kRead) != 0});
}

void Images::add_images(VkSwapchainKHR handle, uint32_t count, const VkImage* images) {
  const std::optional<Image> image = swapchains_.find(handle);
  for (uint32_t i = 0; image && i < count; ++i) images_.insert(images[i], *image);
}

void Images::add(VkImageView handle, const VkImageViewCreateInfo& info) {
  const std::optional<Image> image = images_.find(info.image);
  if (!image) return;
  auto view = std::make_shared<ImageView>();
  view->handle = info.image;
  view->image = *image;
  view->mip = info.subresourceRange.baseMipLevel;
  view->first_layer = info.subresourceRange.baseArrayLayer;
  view->layers = info.subresourceRange.layerCount == VK_REMAINING_ARRAY_LAYERS
                     ? image->layers - view->first_layer
                     : info.subresourceRange.layerCount;
  views_.insert(handle, std::move(view));
}

ReadableFramebuffer::ReadableFramebuffer(const VkFramebufferCreateInfo& info) : info_(info) {
  // This is the only struct allowed in the chain of this create info.
  const auto* attachments = vk::find_in_chain<VkFramebufferAttachmentsCreateInfo>(
      info.pNext, VK_STRUCTURE_TYPE_FRAMEBUFFER_ATTACHMENTS_CREATE_INFO);
  if (!attachments || attachments->pNext || info.pNext != attachments) return;
  images_.assign(attachments->pAttachmentImageInfos,
                 attachments->pAttachmentImageInfos + attachments->attachmentImageInfoCount);
  for (VkFramebufferAttachmentImageInfo& image : images_) {
    image.usage = Images::attachment_usage(stated_usage(image.pNext, image.usage));
    add_chained_usage(image.pNext, image.usage, copies_);
  }
  attachments_ = *attachments;
  attachments_.pAttachmentImageInfos = images_.data();
  info_.pNext = &attachments_;
}

}  // namespace tally::capture
