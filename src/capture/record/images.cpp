#include "capture/record/images.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace tally::capture {
namespace {

template <typename T>
T load(const std::byte* bytes, size_t index = 0) {
  T value;
  std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
  return value;
}

constexpr uint32_t opaque(uint32_t red, uint32_t green, uint32_t blue) {
  return 0xff000000u | blue << 16 | green << 8 | red;
}

uint32_t scaled(uint32_t value, uint32_t most) { return (value * 255 + most / 2) / most; }

uint32_t display(float linear) {
  if (!(linear > 0)) return 0;  // also NaN
  if (linear >= 1) return 255;
  const float encoded =
      linear <= 0.0031308f ? 12.92f * linear : 1.055f * std::pow(linear, 1 / 2.4f) - 0.055f;
  return static_cast<uint32_t>(std::lround(encoded * 255));
}

// Decodes a floating-point number with 5 exponent bits and `mantissa` mantissa bits, without a
// sign.
float small_float(uint32_t bits, int mantissa) {
  const auto fraction = static_cast<float>(bits & ((1u << mantissa) - 1));
  const int exponent = static_cast<int>(bits >> mantissa & 31);
  const float scale = std::ldexp(1.0f, -mantissa);
  if (exponent == 31) return fraction == 0 ? HUGE_VALF : NAN;
  if (exponent == 0) return std::ldexp(fraction * scale, -14);
  return std::ldexp(1 + fraction * scale, exponent - 15);
}

float half(uint16_t bits) {
  const float value = small_float(bits & 0x7fffu, 10);
  return (bits & 0x8000u) != 0 ? -value : value;
}

uint32_t grey(uint32_t shade) { return opaque(shade, shade, shade); }

uint32_t from_r8(const std::byte* t) { return grey(load<uint8_t>(t)); }
uint32_t from_rg8(const std::byte* t) { return opaque(load<uint8_t>(t), load<uint8_t>(t, 1), 0); }
uint32_t from_rgba8(const std::byte* t) { return load<uint32_t>(t) | 0xff000000u; }
uint32_t from_bgra8(const std::byte* t) {
  return opaque(load<uint8_t>(t, 2), load<uint8_t>(t, 1), load<uint8_t>(t, 0));
}
uint32_t from_r5g6b5(const std::byte* t) {
  const uint32_t v = load<uint16_t>(t);
  return opaque(scaled(v >> 11, 31), scaled(v >> 5 & 63, 63), scaled(v & 31, 31));
}
uint32_t from_a2b10g10r10(const std::byte* t) {
  const uint32_t v = load<uint32_t>(t);
  return opaque(scaled(v & 1023, 1023), scaled(v >> 10 & 1023, 1023), scaled(v >> 20 & 1023, 1023));
}
uint32_t from_a2r10g10b10(const std::byte* t) {
  const uint32_t v = load<uint32_t>(t);
  return opaque(scaled(v >> 20 & 1023, 1023), scaled(v >> 10 & 1023, 1023), scaled(v & 1023, 1023));
}
uint32_t from_b10g11r11(const std::byte* t) {
  const uint32_t v = load<uint32_t>(t);
  return opaque(display(small_float(v & 2047, 6)), display(small_float(v >> 11 & 2047, 6)),
                display(small_float(v >> 22, 5)));
}
uint32_t from_r16f(const std::byte* t) { return grey(display(half(load<uint16_t>(t)))); }
uint32_t from_rg16f(const std::byte* t) {
  return opaque(display(half(load<uint16_t>(t))), display(half(load<uint16_t>(t, 1))), 0);
}
uint32_t from_rgba16f(const std::byte* t) {
  return opaque(display(half(load<uint16_t>(t))), display(half(load<uint16_t>(t, 1))),
                display(half(load<uint16_t>(t, 2))));
}
uint32_t from_rgba16(const std::byte* t) {
  return opaque(load<uint16_t>(t, 0) >> 8, load<uint16_t>(t, 1) >> 8, load<uint16_t>(t, 2) >> 8);
}
uint32_t from_r16(const std::byte* t) { return grey(load<uint16_t>(t) >> 8); }
uint32_t from_r32f(const std::byte* t) { return grey(display(load<float>(t))); }
uint32_t from_rgba32f(const std::byte* t) {
  return opaque(display(load<float>(t, 0)), display(load<float>(t, 1)), display(load<float>(t, 2)));
}

uint32_t from_rg16(const std::byte* t) {
  return opaque(load<uint16_t>(t, 0) >> 8, load<uint16_t>(t, 1) >> 8, 0);
}
uint32_t from_rg32f(const std::byte* t) {
  return opaque(display(load<float>(t, 0)), display(load<float>(t, 1)), 0);
}
uint32_t from_r5g5b5a1(const std::byte* t) {
  const uint32_t v = load<uint16_t>(t);
  return opaque(scaled(v >> 11, 31), scaled(v >> 6 & 31, 31), scaled(v >> 1 & 31, 31));
}
uint32_t from_a1r5g5b5(const std::byte* t) {
  const uint32_t v = load<uint16_t>(t);
  return opaque(scaled(v >> 10 & 31, 31), scaled(v >> 5 & 31, 31), scaled(v & 31, 31));
}
uint32_t from_r4g4b4a4(const std::byte* t) {
  const uint32_t v = load<uint16_t>(t);
  return opaque(scaled(v >> 12, 15), scaled(v >> 8 & 15, 15), scaled(v >> 4 & 15, 15));
}

// Returns the first of several numbers.
template <typename T>
double number(const std::byte* t) {
  return static_cast<double>(load<T>(t));
}
double from_d24(const std::byte* t) { return (load<uint32_t>(t) & 0xffffffu) / 16777215.0; }

using Convert = uint32_t (*)(const std::byte* texel);
using Amount = double (*)(const std::byte* texel);

struct Row {
  VkFormat format;
  uint32_t bytes;
  Convert convert;               // for colours
  Amount amount = nullptr;       // for values shown from least to most
  VkImageAspectFlags depth = 0;  // the aspects of a depth format
};

constexpr VkImageAspectFlags kDepth = VK_IMAGE_ASPECT_DEPTH_BIT;
constexpr VkImageAspectFlags kBoth = VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;

constexpr Row kFormats[] = {
    {VK_FORMAT_R8_UNORM, 1, from_r8},
    {VK_FORMAT_R8_SRGB, 1, from_r8},
    {VK_FORMAT_R8G8_UNORM, 2, from_rg8},
    {VK_FORMAT_R8G8B8A8_UNORM, 4, from_rgba8},
    {VK_FORMAT_R8G8B8A8_SRGB, 4, from_rgba8},
    {VK_FORMAT_A8B8G8R8_UNORM_PACK32, 4, from_rgba8},
    {VK_FORMAT_A8B8G8R8_SRGB_PACK32, 4, from_rgba8},
    {VK_FORMAT_B8G8R8A8_UNORM, 4, from_bgra8},
    {VK_FORMAT_B8G8R8A8_SRGB, 4, from_bgra8},
    {VK_FORMAT_R5G6B5_UNORM_PACK16, 2, from_r5g6b5},
    {VK_FORMAT_A2B10G10R10_UNORM_PACK32, 4, from_a2b10g10r10},
    {VK_FORMAT_A2R10G10B10_UNORM_PACK32, 4, from_a2r10g10b10},
    {VK_FORMAT_B10G11R11_UFLOAT_PACK32, 4, from_b10g11r11},
    {VK_FORMAT_R16_UNORM, 2, from_r16},
    {VK_FORMAT_R16_SFLOAT, 2, from_r16f},
    {VK_FORMAT_R16G16_SFLOAT, 4, from_rg16f},
    {VK_FORMAT_R16G16B16A16_UNORM, 8, from_rgba16},
    {VK_FORMAT_R16G16B16A16_SFLOAT, 8, from_rgba16f},
    {VK_FORMAT_R32_SFLOAT, 4, from_r32f},
    {VK_FORMAT_R32G32B32A32_SFLOAT, 16, from_rgba32f},
    {VK_FORMAT_R16G16_UNORM, 4, from_rg16},
    {VK_FORMAT_R32G32_SFLOAT, 8, from_rg32f},
    {VK_FORMAT_R5G5B5A1_UNORM_PACK16, 2, from_r5g5b5a1},
    {VK_FORMAT_A1R5G5B5_UNORM_PACK16, 2, from_a1r5g5b5},
    {VK_FORMAT_R4G4B4A4_UNORM_PACK16, 2, from_r4g4b4a4},
    {VK_FORMAT_R8_UINT, 1, nullptr, number<uint8_t>},
    {VK_FORMAT_R8_SINT, 1, nullptr, number<int8_t>},
    {VK_FORMAT_R8G8_UINT, 2, nullptr, number<uint8_t>},
    {VK_FORMAT_R8G8B8A8_UINT, 4, from_rgba8},
    {VK_FORMAT_R16_UINT, 2, nullptr, number<uint16_t>},
    {VK_FORMAT_R16_SINT, 2, nullptr, number<int16_t>},
    {VK_FORMAT_R16G16_UINT, 4, nullptr, number<uint16_t>},
    {VK_FORMAT_R16G16B16A16_UINT, 8, nullptr, number<uint16_t>},
    {VK_FORMAT_R32_UINT, 4, nullptr, number<uint32_t>},
    {VK_FORMAT_R32_SINT, 4, nullptr, number<int32_t>},
    {VK_FORMAT_R32G32_UINT, 8, nullptr, number<uint32_t>},
    {VK_FORMAT_R32G32_SINT, 8, nullptr, number<int32_t>},
    {VK_FORMAT_R32G32B32A32_UINT, 16, nullptr, number<uint32_t>},
    {VK_FORMAT_R32G32B32A32_SINT, 16, nullptr, number<int32_t>},
    {VK_FORMAT_D16_UNORM, 2, nullptr, number<uint16_t>, kDepth},
    {VK_FORMAT_X8_D24_UNORM_PACK32, 4, nullptr, from_d24, kDepth},
    {VK_FORMAT_D32_SFLOAT, 4, nullptr, number<float>, kDepth},
    {VK_FORMAT_D16_UNORM_S8_UINT, 2, nullptr, number<uint16_t>, kBoth},
    {VK_FORMAT_D24_UNORM_S8_UINT, 4, nullptr, from_d24, kBoth},
    {VK_FORMAT_D32_SFLOAT_S8_UINT, 4, nullptr, number<float>, kBoth},
};

const Row* find(VkFormat format) {
  const auto* row = std::ranges::find(kFormats, format, &Row::format);
  return row == std::end(kFormats) ? nullptr : row;
}

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

uint32_t texel_bytes(VkFormat format) {
  const Row* row = find(format);
  return row ? row->bytes : 0;
}

VkImageAspectFlags depth_aspects(VkFormat format) {
  const Row* row = find(format);
  return row ? row->depth : 0;
}

AmountRange amount_range(VkFormat format, std::span<const std::byte> texels) {
  const Row* row = find(format);
  if (!row || !row->amount || texels.size() < row->bytes) return {};
  AmountRange range{HUGE_VAL, -HUGE_VAL};
  for (size_t at = 0; at + row->bytes <= texels.size(); at += row->bytes) {
    const double amount = row->amount(&texels[at]);
    range.least = std::min(range.least, amount);
    range.most = std::max(range.most, amount);
  }
  return range;
}

std::vector<uint32_t> to_pixels(VkFormat format, std::span<const std::byte> texels,
                                const AmountRange& range) {
  std::vector<uint32_t> pixels;
  const Row* row = find(format);
  if (!row) return pixels;
  pixels.reserve(texels.size() / row->bytes);
  const double span = range.most > range.least ? range.most - range.least : 1;
  for (size_t at = 0; at + row->bytes <= texels.size(); at += row->bytes) {
    if (row->convert) {
      pixels.push_back(row->convert(&texels[at]));
    } else {
      const double shade = (row->amount(&texels[at]) - range.least) / span;
      pixels.push_back(
          grey(shade > 0 ? static_cast<uint32_t>(std::lround(255 * std::min(shade, 1.0))) : 0));
    }
  }
  return pixels;
}

}  // namespace tally::capture
