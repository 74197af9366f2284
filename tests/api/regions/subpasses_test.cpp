// Subpasses of render passes.
#include "api/regions/passes.h"
#include "plain.frag.h"

namespace tally::test {
namespace {

// Two subpasses that draw into the same attachment.
class RegionSubpasses : public RegionPassesTest {
 protected:
  void SetUp() override {
    target_.emplace(context(), RenderTargetInfo{.extent = kExtent});
    VkAttachmentDescription attachment = {};
    attachment.format = VK_FORMAT_R8G8B8A8_UNORM;
    attachment.samples = VK_SAMPLE_COUNT_1_BIT;
    attachment.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
    attachment.finalLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
    const VkAttachmentReference color = {0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
    VkSubpassDescription subpasses[2] = {};
    for (VkSubpassDescription& subpass : subpasses) {
      subpass.colorAttachmentCount = 1;
      subpass.pColorAttachments = &color;
    }
    VkSubpassDependency dependency = {0, 1};
    dependency.srcStageMask = dependency.dstStageMask =
        VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT;
    dependency.srcAccessMask = dependency.dstAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT;
    VkRenderPassCreateInfo create = {VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO};
    create.attachmentCount = 1;
    create.pAttachments = &attachment;
    create.subpassCount = 2;
    create.pSubpasses = subpasses;
    create.dependencyCount = 1;
    create.pDependencies = &dependency;
    VkRenderPass handle = VK_NULL_HANDLE;
    check(vkCreateRenderPass(context().device(), &create, nullptr, &handle));
    render_pass_ = {context().device(), handle};
    VkFramebufferCreateInfo frame = {VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO};
    const VkImageView view = target_->color().view();
    frame.renderPass = render_pass_;
    frame.attachmentCount = 1;
    frame.pAttachments = &view;
    frame.width = kExtent.width;
    frame.height = kExtent.height;
    frame.layers = 1;
    VkFramebuffer framebuffer = VK_NULL_HANDLE;
    check(vkCreateFramebuffer(context().device(), &frame, nullptr, &framebuffer));
    framebuffer_ = {context().device(), framebuffer};
  }
  void begin(VkCommandBuffer commands, const void* next,
             VkSubpassContents contents = VK_SUBPASS_CONTENTS_INLINE) {
    const VkClearValue clear = {};
    VkRenderPassBeginInfo begin = {VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO, next};
    begin.renderPass = render_pass_;
    begin.framebuffer = framebuffer_;
    begin.renderArea = kArea;
    begin.clearValueCount = 1;
    begin.pClearValues = &clear;
    vkCmdBeginRenderPass(commands, &begin, contents);
  }

  std::optional<RenderTarget> target_;
  RenderPass render_pass_;
  Framebuffer framebuffer_;
};

TEST_F(RegionSubpasses, have_values_of_their_own) {
  const Pipeline first = make_rectangles(plain_frag, {.render_pass = render_pass_});
  const Pipeline second = make_rectangles(plain_frag, {.render_pass = render_pass_, .subpass = 1});
  const Capture values(context(), {.area = kExtent, .subpasses = 2});
  context().run([&](VkCommandBuffer commands) {
    begin(commands, values.begin_info());
    target_->set_viewport(commands);
    draw(commands, first, square(100));
    vkCmdNextSubpass(commands, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, second);
    vkCmdDraw(commands, 4, 2, 0, 0);  // with the same push constants
    vkCmdEndRenderPass(commands);
    attachment_barrier(commands);
  });
  expect_rectangle(values, context(), 100, 1, 0);
  expect_rectangle(values, context(), 100, 2, 1);
}

TEST_F(RegionSubpasses, that_are_not_wanted_stay_untouched) {
  const Pipeline first = make_rectangles(plain_frag, {.render_pass = render_pass_});
  const Pipeline second = make_rectangles(plain_frag, {.render_pass = render_pass_, .subpass = 1});
  const Capture values(context(), {.area = kExtent, .subpasses = 2, .wanted = {false, true}});
  context().run([&](VkCommandBuffer commands) {
    begin(commands, values.begin_info());
    target_->set_viewport(commands);
    draw(commands, first, square(100));
    vkCmdNextSubpass(commands, VK_SUBPASS_CONTENTS_INLINE);
    draw(commands, second, square(50));
    vkCmdEndRenderPass(commands);
    attachment_barrier(commands);
  });
  EXPECT_TRUE(values.untouched(0));
  expect_rectangle(values, context(), 50, 1, 1);
}

// The secondary is executed in both subpasses, once and twice. It was recorded earlier and does not
// depend on them.
TEST_F(RegionSubpasses, of_secondary_command_buffers_have_values_of_their_own) {
  std::vector<Pipeline> pipelines;
  std::vector<VkCommandBuffer> secondaries;
  for (uint32_t subpass = 0; subpass < 2; ++subpass) {
    pipelines.push_back(
        make_rectangles(plain_frag, {.render_pass = render_pass_, .subpass = subpass}));
    VkCommandBufferInheritanceInfo inheritance = {
        VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    inheritance.renderPass = render_pass_;
    inheritance.subpass = subpass;
    secondaries.push_back(
        context().begin_secondary(inheritance, VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT |
                                                   VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT));
    target_->set_viewport(secondaries.back());
    draw(secondaries.back(), pipelines.back(), square(subpass == 0 ? 100 : 60));
    check(vkEndCommandBuffer(secondaries.back()));
  }
  Capture values(context(), {.area = kExtent, .subpasses = 2});
  const auto record = [&](const void* next) {
    const VkCommandBuffer commands = context().begin_commands(0);
    begin(commands, next, VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS);
    vkCmdExecuteCommands(commands, 1, &secondaries[0]);
    vkCmdNextSubpass(commands, VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS);
    vkCmdExecuteCommands(commands, 1, &secondaries[1]);
    vkCmdExecuteCommands(commands, 1, &secondaries[1]);
    vkCmdEndRenderPass(commands);
    attachment_barrier(commands);
    check(vkEndCommandBuffer(commands));
    return commands;
  };
  const VkCommandBuffer captured = record(values.begin_info());
  const VkCommandBuffer plain = record(nullptr);
  for (int i = 0; i < 2; ++i) {
    values.reset();
    context().submit_and_wait(captured);
    context().submit_and_wait(plain);
    expect_rectangle(values, context(), 100, 1, 0);
    expect_rectangle(values, context(), 60, 2, 1);
  }
}

}  // namespace
}  // namespace tally::test
