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

}  // namespace

const std::map<std::string, std::function<void(Context&)>>& region_scenarios() {
  static const std::map<std::string, std::function<void(Context&)>> scenarios = {
      {"views", views}, {"passes_again", passes_again}, {"subpasses", subpasses}};
  return scenarios;
}

}  // namespace tally::test
