#include "capture/recording/passes.h"

#include <fmt/format.h>

#include <span>

#include "vk/chain.h"

namespace tally::capture {
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

}  // namespace

void PassRegistry::add(VkRenderPass handle, const VkRenderPassCreateInfo& info) {
  auto pass = std::make_shared<RenderPass>(connection_, "VkRenderPass", vk::handle_bits(handle));
  pass->attachments = attachments_json(std::span(info.pAttachments, info.attachmentCount));
  pass->subpasses = info.subpassCount;
  pass->final_attachment = final_attachment(info);
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
  for (uint32_t i = 0; i < info.subpassCount; ++i) pass->view_mask |= info.pSubpasses[i].viewMask;
  render_passes_.insert(handle, std::move(pass));
}

void PassRegistry::add(VkFramebuffer handle, const VkFramebufferCreateInfo& info,
                       const Images* images) {
  auto framebuffer =
      std::make_shared<Framebuffer>(connection_, "VkFramebuffer", vk::handle_bits(handle));
  framebuffer->width = info.width;
  framebuffer->height = info.height;
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
