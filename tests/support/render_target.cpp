#include "support/render_target.h"

#include <bit>

namespace tally::test {
namespace {

constexpr VkImageUsageFlags kColorUsage =
    VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;

VkClearValue clear_color(std::array<float, 4> color) {
  VkClearValue value = {};
  for (size_t i = 0; i < 4; ++i) value.color.float32[i] = color[i];
  return value;
}

VkAttachmentDescription attachment(VkFormat format, VkSampleCountFlagBits samples,
                                   VkImageLayout final_layout) {
  VkAttachmentDescription description = {};
  description.format = format;
  description.samples = samples;
  description.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
  description.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
  description.stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
  description.stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE;
  description.finalLayout = final_layout;
  return description;
}

}  // namespace

RenderTarget::RenderTarget(Context& context, const RenderTargetInfo& info)
    : context_(context), info_(info) {
  const uint32_t layers =
      info.view_mask ? static_cast<uint32_t>(std::bit_width(info.view_mask)) : info.layers;
  color_ = Image(context, {info.extent, info.color_format, kColorUsage, info.samples, layers});
  if (has_depth()) {
    depth_ = Image(context, {info.extent, info.depth_format,
                             VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT, info.samples, layers});
  }
  if (resolved()) {
    resolve_ = Image(context,
                     {info.extent, info.color_format, kColorUsage, VK_SAMPLE_COUNT_1_BIT, layers});
  }
  create_render_pass();
  create_framebuffer();
}

VkRect2D RenderTarget::area() const {
  return info_.area.extent.width != 0 ? info_.area : VkRect2D{{0, 0}, info_.extent};
}

void RenderTarget::begin(VkCommandBuffer commands, std::array<float, 4> color,
                         VkRenderingFlags flags, const void* next) const {
  change_layout(commands, color_, VK_IMAGE_LAYOUT_UNDEFINED,
                VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
  VkRenderingAttachmentInfo color_info = {VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO};
  color_info.imageView = color_.view();
  color_info.imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
  color_info.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
  color_info.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
  color_info.clearValue = clear_color(color);
  if (resolved()) {
    change_layout(commands, resolve_, VK_IMAGE_LAYOUT_UNDEFINED,
                  VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    color_info.resolveMode = VK_RESOLVE_MODE_AVERAGE_BIT;
    color_info.resolveImageView = resolve_.view();
    color_info.resolveImageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
  }
  VkRenderingAttachmentInfo depth_info = {VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO};
  const bool stencil = has_stencil(info_.depth_format);
  if (has_depth()) {
    const VkImageLayout layout = stencil ? VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL
                                         : VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL;
    change_layout(commands, depth_, VK_IMAGE_LAYOUT_UNDEFINED, layout);
    depth_info.imageView = depth_.view();
    depth_info.imageLayout = layout;
    depth_info.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
    depth_info.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
    depth_info.clearValue.depthStencil = {1, 0};
  }
  VkRenderingInfo rendering = {VK_STRUCTURE_TYPE_RENDERING_INFO, next};
  rendering.flags = flags;
  rendering.renderArea = area();
  rendering.layerCount = info_.layers;
  rendering.viewMask = info_.view_mask;
  rendering.colorAttachmentCount = 1;
  rendering.pColorAttachments = &color_info;
  rendering.pDepthAttachment = has_depth() ? &depth_info : nullptr;
  rendering.pStencilAttachment = stencil ? &depth_info : nullptr;
  vkCmdBeginRendering(commands, &rendering);
  if (!(flags & VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT)) set_viewport(commands);
}

void RenderTarget::end(VkCommandBuffer commands) const {
  vkCmdEndRendering(commands);
  finish(commands);
}

void RenderTarget::begin_render_pass(VkCommandBuffer commands, std::array<float, 4> color,
                                     VkSubpassContents contents, const void* next) const {
  std::vector<VkClearValue> clear = {clear_color(color)};
  if (has_depth()) {
    clear.emplace_back();
    clear.back().depthStencil = {1, 0};
  }
  VkRenderPassBeginInfo begin = {VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO, next};
  begin.renderPass = render_pass_;
  begin.framebuffer = framebuffer_;
  begin.renderArea = area();
  begin.clearValueCount = static_cast<uint32_t>(clear.size());
  begin.pClearValues = clear.data();
  vkCmdBeginRenderPass(commands, &begin, contents);
  if (contents == VK_SUBPASS_CONTENTS_INLINE) set_viewport(commands);
}

void RenderTarget::end_render_pass(VkCommandBuffer commands) const {
  vkCmdEndRenderPass(commands);
  finish(commands);
}

void RenderTarget::finish(VkCommandBuffer commands) const {
  change_layout(commands, resolved() ? resolve_ : color_, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
}

void RenderTarget::set_viewport(VkCommandBuffer commands) const {
  const VkViewport viewport = {
      0, 0, static_cast<float>(info_.extent.width), static_cast<float>(info_.extent.height), 0, 1};
  const VkRect2D scissor = area();
  vkCmdSetViewport(commands, 0, 1, &viewport);
  vkCmdSetScissor(commands, 0, 1, &scissor);
}

std::vector<uint32_t> RenderTarget::read() const {
  return read_texels(context_, resolved() ? resolve_ : color_);
}

void RenderTarget::create_render_pass() {
  const VkImageLayout color_layout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
  const VkImageLayout depth_layout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL;
  std::vector<VkAttachmentDescription> attachments = {
      attachment(info_.color_format, info_.samples, color_layout)};
  const VkAttachmentReference color = {0, color_layout};
  VkAttachmentReference depth = {VK_ATTACHMENT_UNUSED, depth_layout};
  VkAttachmentReference resolve = {VK_ATTACHMENT_UNUSED, color_layout};
  if (has_depth()) {
    depth.attachment = static_cast<uint32_t>(attachments.size());
    attachments.push_back(attachment(info_.depth_format, info_.samples, depth_layout));
  }
  if (resolved()) {
    resolve.attachment = static_cast<uint32_t>(attachments.size());
    attachments.push_back(attachment(info_.color_format, VK_SAMPLE_COUNT_1_BIT, color_layout));
    attachments.back().loadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
  }
  VkSubpassDescription subpass = {};
  subpass.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS;
  subpass.colorAttachmentCount = 1;
  subpass.pColorAttachments = &color;
  subpass.pResolveAttachments = resolved() ? &resolve : nullptr;
  subpass.pDepthStencilAttachment = has_depth() ? &depth : nullptr;
  VkRenderPassMultiviewCreateInfo multiview = {VK_STRUCTURE_TYPE_RENDER_PASS_MULTIVIEW_CREATE_INFO};
  multiview.subpassCount = 1;
  multiview.pViewMasks = &info_.view_mask;
  VkRenderPassCreateInfo create = {VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                   info_.view_mask ? &multiview : nullptr};
  create.attachmentCount = static_cast<uint32_t>(attachments.size());
  create.pAttachments = attachments.data();
  create.subpassCount = 1;
  create.pSubpasses = &subpass;
  VkRenderPass handle = VK_NULL_HANDLE;
  check(vkCreateRenderPass(context_.device(), &create, nullptr, &handle));
  render_pass_ = {context_.device(), handle};
}

void RenderTarget::create_framebuffer() {
  std::vector<VkImageView> views = {color_.view()};
  if (has_depth()) views.push_back(depth_.view());
  if (resolved()) views.push_back(resolve_.view());
  VkFramebufferCreateInfo create = {VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO};
  create.renderPass = render_pass_;
  create.attachmentCount = static_cast<uint32_t>(views.size());
  create.pAttachments = views.data();
  create.width = info_.extent.width;
  create.height = info_.extent.height;
  create.layers = info_.layers;
  VkFramebuffer handle = VK_NULL_HANDLE;
  check(vkCreateFramebuffer(context_.device(), &create, nullptr, &handle));
  framebuffer_ = {context_.device(), handle};
}

}  // namespace tally::test
