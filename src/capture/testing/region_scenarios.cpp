#include "capture/testing/region_scenarios.h"

#include <array>
#include <span>

#include "capture/testing/painter.h"
#include "rectangle.vert.h"

namespace tally::test {
namespace {

using Passes = Painter::Passes;

Pipeline make_orange(const Context& context, std::span<const uint32_t> vertex,
                     VkPipelineLayout layout, VkRenderPass render_pass, uint32_t subpass = 0) {
  GraphicsPipelineInfo info;
  info.stages = {{VK_SHADER_STAGE_VERTEX_BIT, vertex}, {VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag}};
  info.layout = layout;
  info.render_pass = render_pass;
  info.subpass = subpass;
  return make_graphics_pipeline(context, info);
}

// The first and the third view of a target, a part of it. (Where a triangle is clipped, lavapipe
// 22.3 says in all views that it is the first.)
void views(Context& context) {
  const RenderTarget target(context, {.view_mask = 0b101, .area = {{8, 4}, {40, 20}}});
  const PipelineLayout layout = make_pipeline_layout(context);
  const Pipeline pipeline = make_orange(context, rectangle_vert, layout, target.render_pass());
  context.run([&](VkCommandBuffer commands) {
    target.begin_render_pass(commands);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    vkCmdDraw(commands, 6, 2, 0, 0);
    target.end_render_pass(commands);
  });
}

// A recording for simultaneous use, submitted again and again without waiting.
void passes_again(Context& context) {
  const Painter painter(context, Passes::Dynamic);
  const VkCommandBuffer commands =
      context.begin_commands(VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  painter.target().begin(commands);
  painter.draw(commands, 3);
  painter.target().end(commands);
  check(vkEndCommandBuffer(commands));
  VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  for (int i = 0; i < 20; ++i) check(vkQueueSubmit(context.queue(), 1, &info, VK_NULL_HANDLE));
  check(vkQueueWaitIdle(context.queue()));
}

// Two subpasses that draw into the same attachment.
RenderPass make_two_subpasses(const Context& context, VkFormat format) {
  VkAttachmentDescription attachment{};
  attachment.format = format;
  attachment.samples = VK_SAMPLE_COUNT_1_BIT;
  attachment.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
  attachment.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
  attachment.finalLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
  const VkAttachmentReference color{0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
  std::array<VkSubpassDescription, 2> subpasses{};
  for (VkSubpassDescription& subpass : subpasses) {
    subpass.colorAttachmentCount = 1;
    subpass.pColorAttachments = &color;
  }
  const VkSubpassDependency dependency{0,
                                       1,
                                       VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
                                       VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
                                       VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT,
                                       VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT,
                                       VK_DEPENDENCY_BY_REGION_BIT};
  VkRenderPassCreateInfo info{VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO};
  info.attachmentCount = 1;
  info.pAttachments = &attachment;
  info.subpassCount = 2;
  info.pSubpasses = subpasses.data();
  info.dependencyCount = 1;
  info.pDependencies = &dependency;
  VkRenderPass render_pass = VK_NULL_HANDLE;
  check(vkCreateRenderPass(context.device(), &info, nullptr, &render_pass));
  return RenderPass(context.device(), render_pass);
}

Framebuffer make_framebuffer(const Context& context, VkRenderPass pass,
                             const RenderTarget& target) {
  const VkImageView view = target.color().view();
  VkFramebufferCreateInfo info{VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO};
  info.renderPass = pass;
  info.attachmentCount = 1;
  info.pAttachments = &view;
  info.width = target.info().extent.width;
  info.height = target.info().extent.height;
  info.layers = 1;
  VkFramebuffer framebuffer = VK_NULL_HANDLE;
  check(vkCreateFramebuffer(context.device(), &info, nullptr, &framebuffer));
  return Framebuffer(context.device(), framebuffer);
}

// Drawn once in the first subpass, twice in the second.
void subpasses(Context& context) {
  const RenderTarget target(context);
  const PipelineLayout layout = make_pipeline_layout(context);
  const RenderPass pass = make_two_subpasses(context, target.info().color_format);
  const Framebuffer framebuffer = make_framebuffer(context, pass, target);
  std::vector<Pipeline> pipelines;
  for (const uint32_t subpass : {0u, 1u}) {
    pipelines.push_back(make_orange(context, full_screen_vert, layout, pass, subpass));
  }
  context.run([&](VkCommandBuffer commands) {
    const VkClearValue clear{};
    VkRenderPassBeginInfo begin{VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO};
    begin.renderPass = pass;
    begin.framebuffer = framebuffer;
    begin.renderArea.extent = target.info().extent;
    begin.clearValueCount = 1;
    begin.pClearValues = &clear;
    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
    target.set_viewport(commands);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipelines[0]);
    vkCmdDraw(commands, 3, 1, 0, 0);
    vkCmdNextSubpass(commands, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipelines[1]);
    vkCmdDraw(commands, 3, 2, 0, 0);
    vkCmdEndRenderPass(commands);
  });
}

void multisampled(Context& context) {
  const Painter painter(context, Passes::Dynamic, {.samples = VK_SAMPLE_COUNT_4_BIT});
  context.run([&](VkCommandBuffer commands) {
    painter.target().begin(commands);
    painter.draw(commands, 1);
    painter.target().end(commands);
  });
}

// Depth alone: 0.5 in the left half, 1 in the right one. Nobody said that it would be read.
void shadow(Context& context) {
  constexpr VkFormat kFormat = VK_FORMAT_D32_SFLOAT;
  constexpr VkImageLayout kLayout = VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL;
  const Image depth(context,
                    {.format = kFormat, .usage = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT});
  const PipelineLayout layout = make_pipeline_layout(context);
  GraphicsPipelineInfo info;
  info.stages = {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert}};
  info.layout = layout;
  info.color_format = VK_FORMAT_UNDEFINED;
  info.depth_format = kFormat;
  info.depth_test = info.depth_write = true;
  const Pipeline pipeline = make_graphics_pipeline(context, info);
  context.run([&](VkCommandBuffer commands) {
    change_layout(commands, depth, VK_IMAGE_LAYOUT_UNDEFINED, kLayout);
    VkRenderingAttachmentInfo attachment{VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO};
    attachment.imageView = depth.view();
    attachment.imageLayout = kLayout;
    attachment.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
    attachment.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
    attachment.clearValue.depthStencil = {1, 0};
    VkRenderingInfo rendering{VK_STRUCTURE_TYPE_RENDERING_INFO};
    rendering.renderArea.extent = depth.info().extent;
    rendering.layerCount = 1;
    rendering.pDepthAttachment = &attachment;
    vkCmdBeginRendering(commands, &rendering);
    const VkViewport viewport{0, 0, 64, 64, 0, 1};
    const VkRect2D left{{0, 0}, {32, 64}};
    vkCmdSetViewport(commands, 0, 1, &viewport);
    vkCmdSetScissor(commands, 0, 1, &left);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    vkCmdDraw(commands, 3, 1, 0, 0);
    vkCmdEndRendering(commands);
  });
}

// A framebuffer that learns its image when the pass begins; cleared, and nothing drawn.
void imageless(Context& context) {
  const Image image(context, {.usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT});
  const RenderPass pass = make_two_subpasses(context, image.info().format);
  VkFramebufferAttachmentImageInfo attachment{VK_STRUCTURE_TYPE_FRAMEBUFFER_ATTACHMENT_IMAGE_INFO};
  attachment.usage = image.info().usage;
  attachment.width = attachment.height = 64;
  attachment.layerCount = 1;
  attachment.viewFormatCount = 1;
  attachment.pViewFormats = &image.info().format;
  const VkFramebufferAttachmentsCreateInfo attachments{
      VK_STRUCTURE_TYPE_FRAMEBUFFER_ATTACHMENTS_CREATE_INFO, nullptr, 1, &attachment};
  VkFramebufferCreateInfo info{VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
                               &attachments,
                               VK_FRAMEBUFFER_CREATE_IMAGELESS_BIT,
                               pass,
                               1,
                               nullptr,
                               64,
                               64,
                               1};
  VkFramebuffer handle = VK_NULL_HANDLE;
  check(vkCreateFramebuffer(context.device(), &info, nullptr, &handle));
  const Framebuffer framebuffer(context.device(), handle);
  context.run([&](VkCommandBuffer commands) {
    const VkImageView view = image.view();
    const VkRenderPassAttachmentBeginInfo views{VK_STRUCTURE_TYPE_RENDER_PASS_ATTACHMENT_BEGIN_INFO,
                                                nullptr, 1, &view};
    VkClearValue blue{};
    blue.color = {{0, 0, 1, 1}};
    const VkRenderPassBeginInfo begin{VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                      &views,
                                      pass,
                                      framebuffer,
                                      {{16, 8}, {40, 20}},
                                      1,
                                      &blue};
    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdNextSubpass(commands, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdEndRenderPass(commands);
  });
}

// The final image of a format: cleared, then its left half once more.
struct Halves {
  VkFormat format;
  VkClearValue all, left;
  VkSampleCountFlagBits samples = VK_SAMPLE_COUNT_1_BIT;
};

void halves(Context& context, const Halves& drawn) {
  const bool depth = drawn.format == VK_FORMAT_D32_SFLOAT_S8_UINT;
  const VkImageLayout layout = depth ? VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL
                                     : VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
  const Image image(context, {.format = drawn.format,
                              .usage = depth ? VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT
                                             : VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT,
                              .samples = drawn.samples});
  context.run([&](VkCommandBuffer commands) {
    change_layout(commands, image, VK_IMAGE_LAYOUT_UNDEFINED, layout);
    VkRenderingAttachmentInfo attachment{VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO};
    attachment.imageView = image.view();
    attachment.imageLayout = layout;
    attachment.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
    attachment.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
    attachment.clearValue = drawn.all;
    VkRenderingInfo rendering{VK_STRUCTURE_TYPE_RENDERING_INFO};
    rendering.renderArea.extent = image.info().extent;
    rendering.layerCount = 1;
    rendering.colorAttachmentCount = depth ? 0 : 1;
    rendering.pColorAttachments = &attachment;
    if (depth) rendering.pDepthAttachment = rendering.pStencilAttachment = &attachment;
    vkCmdBeginRendering(commands, &rendering);
    const VkClearAttachment clear{depth ? VK_IMAGE_ASPECT_DEPTH_BIT : VK_IMAGE_ASPECT_COLOR_BIT, 0,
                                  drawn.left};
    const VkClearRect left{{{0, 0}, {32, 64}}, 0, 1};
    vkCmdClearAttachments(commands, 1, &clear, 1, &left);
    vkCmdEndRendering(commands);
  });
}

VkClearValue colour(float red, float green, float blue) {
  VkClearValue value{};
  value.color = {{red, green, blue, 1}};
  return value;
}
VkClearValue number(uint32_t first) {
  VkClearValue value{};
  value.color.uint32[0] = first;
  return value;
}
VkClearValue depth_of(float depth) {
  VkClearValue value{};
  value.depthStencil = {depth, 7};
  return value;
}

void unresolved(Context& context) {
  halves(context,
         {VK_FORMAT_R8G8B8A8_UNORM, colour(0, 0, 1), colour(1, 0, 0), VK_SAMPLE_COUNT_4_BIT});
}
void numbers(Context& context) {
  halves(context, {VK_FORMAT_R32_UINT, number(4'000'000'000), number(4'000'000'001)});
}
void depth_and_stencil(Context& context) {
  halves(context, {VK_FORMAT_D32_SFLOAT_S8_UINT, depth_of(0.5f), depth_of(0.25f)});
}

}  // namespace

const Scenarios& region_scenarios() {
  static const Scenarios scenarios = {{"views", views},
                                      {"passes_again", passes_again},
                                      {"subpasses", subpasses},
                                      {"multisampled", multisampled},
                                      {"shadow", shadow},
                                      {"imageless", imageless},
                                      {"unresolved", unresolved},
                                      {"numbers", numbers},
                                      {"depth_and_stencil", depth_and_stencil}};
  return scenarios;
}

}  // namespace tally::test
