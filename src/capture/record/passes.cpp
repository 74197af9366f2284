#include "capture/record/passes.h"

#include <fmt/format.h>

#include <algorithm>

#include "capture/record/images.h"
#include "store/stream/stream.h"
#include "vk/chain.h"

namespace tally::capture {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{256} << 20;
constexpr uint32_t kMaxWidth = 32'768;  // a row must fit into a message

// Prefers colour attachments. For a multisampled colour attachment, it takes the resolve
// attachment. Without a colour attachment, it takes depth.
template <typename Info>
std::optional<FinalAttachment> find_final(const Info& info, const auto* depth) {
  const auto stored = [&](const auto* reference,
                          bool multisampled = false) -> std::optional<FinalAttachment> {
    if (!reference || reference->attachment >= info.attachmentCount) return std::nullopt;
    const auto& attachment = info.pAttachments[reference->attachment];
    if (attachment.storeOp != VK_ATTACHMENT_STORE_OP_STORE ||
        (attachment.samples != VK_SAMPLE_COUNT_1_BIT) != multisampled) {
      return std::nullopt;
    }
    return FinalAttachment{reference->attachment, attachment.finalLayout};
  };
  if (info.subpassCount == 0) return std::nullopt;
  const auto& last = info.pSubpasses[info.subpassCount - 1];
  for (uint32_t i = 0; i < last.colorAttachmentCount; ++i) {
    if (last.pResolveAttachments) {
      if (const auto found = stored(&last.pResolveAttachments[i])) return found;
    }
    if (const auto found = stored(&last.pColorAttachments[i])) return found;
  }
  for (uint32_t i = 0; i < last.colorAttachmentCount; ++i) {
    if (const auto found = stored(&last.pColorAttachments[i], true)) return found;
  }
  return stored(depth);
}

// False for layouts that an image cannot be returned to, and for layouts in which the image may be
// read concurrently.
bool can_leave(VkImageLayout layout) {
  return layout != VK_IMAGE_LAYOUT_UNDEFINED && layout != VK_IMAGE_LAYOUT_PREINITIALIZED &&
         layout != VK_IMAGE_LAYOUT_SHARED_PRESENT_KHR;
}

std::string reason_against_copy(const FinalImage& image, const VkRect2D& area, uint32_t layers) {
  if (!image.view) return image.missing;
  const Image& of = image.view->image;
  if (!of.readable) return "its image cannot be copied";
  if (of.type != VK_IMAGE_TYPE_2D) return "its image is not two-dimensional";
  if (of.samples != VK_SAMPLE_COUNT_1_BIT && depth_aspects(of.format) != 0) {
    return "its depth image is multisampled";
  }
  if (texel_bytes(of.format) == 0) {
    return fmt::format("the format of its image ({}) is not supported",
                       static_cast<int>(of.format));
  }
  if (!can_leave(image.layout)) return "the layout of its image does not allow a copy";
  const uint64_t pixels = uint64_t{area.extent.width} * area.extent.height;
  const uint64_t bytes = pixels * layers * texel_bytes(of.format);
  if (pixels == 0 || layers == 0) return "it has no area or no layer";
  if (pixels > store::stream::kMaxPicturePixels || bytes > kMaxBytes ||
      area.extent.width > kMaxWidth) {
    return fmt::format("{} x {} pixels are too many", area.extent.width, area.extent.height);
  }
  return {};
}

VkImageLayout copy_layout(VkImageLayout layout) {
  return layout == VK_IMAGE_LAYOUT_GENERAL ? layout : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
}

VkImageMemoryBarrier barrier_of(const ImageView& view, VkImageAspectFlags aspect, uint32_t layers) {
  VkImageMemoryBarrier barrier{VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER};
  barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  barrier.image = view.handle;
  barrier.subresourceRange = {aspect, view.mip, 1, view.first_layer, layers};
  return barrier;
}

// Depth and stencil change their layout together, except in layouts for one of the aspects.
VkImageAspectFlags aspects_of(VkFormat format, VkImageLayout layout) {
  const VkImageAspectFlags depth = depth_aspects(format);
  if (depth == 0) return VK_IMAGE_ASPECT_COLOR_BIT;
  if (layout == VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL ||
      layout == VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_OPTIMAL) {
    return VK_IMAGE_ASPECT_DEPTH_BIT;
  }
  return depth;
}

// The source of the copy: layers of an image, in the layout for the copy.
struct Source {
  VkImage image;
  VkImageLayout layout;
  VkImageSubresourceLayers layers;
  VkOffset3D offset;
};

// Resolves `from` to one sample per pixel, in a separate image.
std::optional<Source> resolve(const DeviceTable& table, VkCommandBuffer commands,
                              const Source& from, const RecordedPicture& picture,
                              HostPieces& pieces) {
  const VkImage image = pieces.make_image(picture.format, picture.extent, picture.layers);
  if (image == VK_NULL_HANDLE) return std::nullopt;
  const Source to{image,
                  VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                  {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, picture.layers},
                  {0, 0, 0}};
  VkImageMemoryBarrier barrier{VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER};
  barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  barrier.image = image;
  barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, picture.layers};
  barrier.srcAccessMask = VK_ACCESS_TRANSFER_READ_BIT;  // by an earlier execution
  barrier.dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.newLayout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
  const auto change = [&] {
    table.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                             VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, nullptr, 0, nullptr, 1,
                             &barrier);
  };
  change();
  const VkImageResolve region{from.layers,
                              from.offset,
                              to.layers,
                              to.offset,
                              {picture.extent.width, picture.extent.height, 1}};
  table.CmdResolveImage(commands, from.image, from.layout, image, barrier.newLayout, 1, &region);
  barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT;
  barrier.oldLayout = barrier.newLayout;
  barrier.newLayout = to.layout;
  change();
  return to;
}

}  // namespace

std::optional<FinalAttachment> final_attachment(const VkRenderPassCreateInfo& info) {
  return info.subpassCount == 0
             ? std::nullopt
             : find_final(info, info.pSubpasses[info.subpassCount - 1].pDepthStencilAttachment);
}

std::optional<FinalAttachment> final_attachment(const VkRenderPassCreateInfo2& info) {
  return info.subpassCount == 0
             ? std::nullopt
             : find_final(info, info.pSubpasses[info.subpassCount - 1].pDepthStencilAttachment);
}

FinalImage final_image(const Images& images, const VkRenderingInfo& info) {
  FinalImage found;
  const auto take = [&](const VkRenderingAttachmentInfo* attachment) {
    if (!attachment || attachment->imageView == VK_NULL_HANDLE) return false;
    const bool resolved = attachment->resolveMode != VK_RESOLVE_MODE_NONE &&
                          attachment->resolveImageView != VK_NULL_HANDLE;
    if (!resolved && attachment->storeOp != VK_ATTACHMENT_STORE_OP_STORE) return false;
    found.view = images.find(resolved ? attachment->resolveImageView : attachment->imageView);
    found.layout = resolved ? attachment->resolveImageLayout : attachment->imageLayout;
    found.missing = "its image is not known";
    return true;
  };
  for (uint32_t i = 0; i < info.colorAttachmentCount; ++i) {
    if (take(&info.pColorAttachments[i])) return found;
    if (info.pColorAttachments[i].imageView != VK_NULL_HANDLE) ++found.attachment;
  }
  take(info.pDepthAttachment);
  return found;
}

std::span<const std::byte> RecordedPicture::layer(uint32_t index) const {
  const size_t bytes = row_bytes() * extent.height;
  return {texels.data + index * bytes, bytes};
}

size_t RecordedPicture::row_bytes() const { return size_t{extent.width} * texel_bytes(format); }

std::optional<RecordedPicture> copy_picture(const DeviceTable& table, VkCommandBuffer commands,
                                            const FinalImage& image, const VkRect2D& area,
                                            uint32_t layers, HostPieces& pieces,
                                            std::string& reason) {
  if (image.view) layers = std::min(layers, image.view->layers);
  reason = reason_against_copy(image, area, layers);
  if (!reason.empty()) return std::nullopt;
  const ImageView& view = *image.view;
  RecordedPicture picture{view.image.format, image.attachment, area.extent, layers, {}};
  const auto texels = pieces.cut(picture.row_bytes() * area.extent.height * layers);
  if (!texels) {
    reason = "out of memory";
    return std::nullopt;
  }
  picture.texels = *texels;

  VkImageMemoryBarrier barrier = barrier_of(view, aspects_of(picture.format, image.layout), layers);
  barrier.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT;
  barrier.oldLayout = image.layout;
  barrier.newLayout = copy_layout(image.layout);
  table.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                           VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, nullptr, 0, nullptr, 1, &barrier);
  const VkImageAspectFlags copied =
      depth_aspects(picture.format) != 0 ? VK_IMAGE_ASPECT_DEPTH_BIT : VK_IMAGE_ASPECT_COLOR_BIT;
  std::optional<Source> source = Source{view.handle,
                                        barrier.newLayout,
                                        {copied, view.mip, view.first_layer, layers},
                                        {area.offset.x, area.offset.y, 0}};
  if (view.image.samples != VK_SAMPLE_COUNT_1_BIT) {
    source = resolve(table, commands, *source, picture, pieces);
  }
  if (source) {
    const VkBufferImageCopy copy{texels->offset,
                                 0,
                                 0,
                                 source->layers,
                                 source->offset,
                                 {area.extent.width, area.extent.height, 1}};
    table.CmdCopyImageToBuffer(commands, source->image, source->layout, texels->buffer, 1, &copy);
  } else {
    reason = "out of memory";
  }
  std::swap(barrier.oldLayout, barrier.newLayout);
  barrier.srcAccessMask = VK_ACCESS_TRANSFER_READ_BIT;
  barrier.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  table.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                           VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, nullptr, 0, nullptr, 1,
                           &barrier);
  return source ? std::optional(picture) : std::nullopt;
}

namespace {

const char* load_word(VkAttachmentLoadOp op) {
  switch (op) {
    case VK_ATTACHMENT_LOAD_OP_LOAD:
      return "load";
    case VK_ATTACHMENT_LOAD_OP_CLEAR:
      return "clear";
    case VK_ATTACHMENT_LOAD_OP_DONT_CARE:
      return "dont care";
    default:
      return "none";
  }
}

const char* store_word(VkAttachmentStoreOp op) {
  switch (op) {
    case VK_ATTACHMENT_STORE_OP_STORE:
      return "store";
    case VK_ATTACHMENT_STORE_OP_DONT_CARE:
      return "dont care";
    default:
      return "none";
  }
}

template <typename Description>
std::string attachments_json(std::span<const Description> attachments) {
  std::string json = "[";
  for (const Description& attachment : attachments) {
    json += fmt::format(R"({}{{"format":{},"samples":{},"load":"{}","store":"{}"}})",
                        json.size() > 1 ? "," : "", static_cast<int>(attachment.format),
                        static_cast<int>(attachment.samples), load_word(attachment.loadOp),
                        store_word(attachment.storeOp));
  }
  return json + "]";
}

bool has_resolves(const auto& info) {
  return std::ranges::any_of(
      std::span(info.pSubpasses, info.subpassCount),
      [](const auto& subpass) { return subpass.pResolveAttachments != nullptr; });
}

// Depth and stencil, and what VK_EXT_multisampled_render_to_single_sampled resolves.
bool resolves_otherwise(const void* chain) {
  return vk::find_in_chain<VkSubpassDescriptionDepthStencilResolve>(
             chain, VK_STRUCTURE_TYPE_SUBPASS_DESCRIPTION_DEPTH_STENCIL_RESOLVE) ||
         vk::find_in_chain<VkMultisampledRenderToSingleSampledInfoEXT>(
             chain, VK_STRUCTURE_TYPE_MULTISAMPLED_RENDER_TO_SINGLE_SAMPLED_INFO_EXT);
}

}  // namespace

void PassRegistry::add(VkRenderPass handle, const VkRenderPassCreateInfo& info) {
  auto pass = std::make_shared<RenderPass>(connection_, "VkRenderPass", vk::handle_bits(handle));
  pass->attachments = attachments_json(std::span(info.pAttachments, info.attachmentCount));
  pass->subpasses = info.subpassCount;
  pass->final_attachment = final_attachment(info);
  pass->resolves = has_resolves(info);
  const auto* views = vk::find_in_chain<VkRenderPassMultiviewCreateInfo>(
      info.pNext, VK_STRUCTURE_TYPE_RENDER_PASS_MULTIVIEW_CREATE_INFO);
  for (uint32_t i = 0; views && i < views->subpassCount; ++i)
    pass->view_mask |= views->pViewMasks[i];
  render_passes_.insert(handle, std::move(pass));
}

void PassRegistry::add(VkRenderPass handle, const VkRenderPassCreateInfo2& info) {
  auto pass = std::make_shared<RenderPass>(connection_, "VkRenderPass", vk::handle_bits(handle));
  pass->attachments = attachments_json(std::span(info.pAttachments, info.attachmentCount));
  pass->subpasses = info.subpassCount;
  pass->final_attachment = final_attachment(info);
  pass->resolves = has_resolves(info);
  for (uint32_t i = 0; i < info.subpassCount; ++i) {
    const VkSubpassDescription2& subpass = info.pSubpasses[i];
    pass->view_mask |= subpass.viewMask;
    pass->resolves = pass->resolves || resolves_otherwise(subpass.pNext);
  }
  render_passes_.insert(handle, std::move(pass));
}

void PassRegistry::add(VkFramebuffer handle, const VkFramebufferCreateInfo& info,
                       const Images* images) {
  auto framebuffer =
      std::make_shared<Framebuffer>(connection_, "VkFramebuffer", vk::handle_bits(handle));
  framebuffer->layers = info.layers;
  framebuffer->imageless = (info.flags & VK_FRAMEBUFFER_CREATE_IMAGELESS_BIT) != 0;
  for (uint32_t i = 0; images && !framebuffer->imageless && i < info.attachmentCount; ++i) {
    framebuffer->views.push_back(images->find(info.pAttachments[i]));
  }
  framebuffers_.insert(handle, std::move(framebuffer));
}

std::string PassRegistry::attachments(const VkRenderingInfo& info) const {
  std::string json = "[";
  const auto add = [&](const VkRenderingAttachmentInfo* attachment) {
    if (!attachment || attachment->imageView == VK_NULL_HANDLE) return;
    json += fmt::format(R"({}{{"format":{},"load":"{}","store":"{}"}})", json.size() > 1 ? "," : "",
                        static_cast<int>(views_.find(attachment->imageView)),
                        load_word(attachment->loadOp), store_word(attachment->storeOp));
  };
  for (uint32_t i = 0; i < info.colorAttachmentCount; ++i) add(&info.pColorAttachments[i]);
  add(info.pDepthAttachment);
  const bool separate_stencil =
      info.pStencilAttachment && (!info.pDepthAttachment || info.pDepthAttachment->imageView !=
                                                                info.pStencilAttachment->imageView);
  if (separate_stencil) add(info.pStencilAttachment);
  return json + "]";
}

bool resolves(const VkRenderingInfo& info) {
  const auto of = [](const VkRenderingAttachmentInfo* attachment) {
    return attachment && attachment->resolveMode != VK_RESOLVE_MODE_NONE;
  };
  return std::ranges::any_of(std::span(info.pColorAttachments, info.colorAttachmentCount),
                             [&](const auto& attachment) { return of(&attachment); }) ||
         of(info.pDepthAttachment) || of(info.pStencilAttachment) || resolves_otherwise(info.pNext);
}

FinalImage final_image(const RenderPass& pass, const Framebuffer* framebuffer, const Images& images,
                       const VkRenderPassBeginInfo& info) {
  FinalImage image;
  const auto& attachment = pass.final_attachment;
  if (!attachment || !framebuffer) return image;
  image.attachment = attachment->index;
  image.layout = attachment->layout;
  image.missing = "its image is not known";
  const auto* views = vk::find_in_chain<VkRenderPassAttachmentBeginInfo>(
      info.pNext, VK_STRUCTURE_TYPE_RENDER_PASS_ATTACHMENT_BEGIN_INFO);
  if (framebuffer->imageless && views && attachment->index < views->attachmentCount) {
    image.view = images.find(views->pAttachments[attachment->index]);
  } else if (attachment->index < framebuffer->views.size()) {
    image.view = framebuffer->views[attachment->index];
  }
  return image;
}

}  // namespace tally::capture
