// Kinds of render passes: objects, dynamic ones, secondary command buffers, suspension.
#include "api/regions/passes.h"
#include "discard.frag.h"
#include "plain.frag.h"
#include "rectangle.vert.h"

namespace tally::test {
namespace {

class RegionPasses : public RegionPassesTest {};

TEST_F(RegionPasses, a_render_pass_object_is_captured) {
  const RenderTarget target(context(), {.extent = kExtent});
  const Pipeline pipeline = make_rectangles(plain_frag, {.render_pass = target.render_pass()});
  const Capture values(context(), {kExtent});
  context().run([&](VkCommandBuffer commands) {
    target.begin_render_pass(commands, {0, 0, 0, 0}, VK_SUBPASS_CONTENTS_INLINE,
                             values.begin_info());
    draw(commands, pipeline, square(100));
    target.end_render_pass(commands);
    attachment_barrier(commands);
  });
  expect_rectangle(values, context(), 100);
}

// With the names of core Vulkan and of the extension.
TEST_F(RegionPasses, render_passes_of_version_2_are_captured) {
  ContextOptions options;
  options.device_extensions = {VK_KHR_CREATE_RENDERPASS_2_EXTENSION_NAME};
  start({}, false, options);
  const RenderTarget target(context(), {.extent = kExtent});
  const Pipeline pipeline = make_rectangles(plain_frag, {.render_pass = target.render_pass()});
  for (const std::string suffix : {"", "KHR"}) {
    const auto begin_pass = reinterpret_cast<PFN_vkCmdBeginRenderPass2>(
        vkGetDeviceProcAddr(context().device(), ("vkCmdBeginRenderPass2" + suffix).c_str()));
    const auto end_pass = reinterpret_cast<PFN_vkCmdEndRenderPass2>(
        vkGetDeviceProcAddr(context().device(), ("vkCmdEndRenderPass2" + suffix).c_str()));
    ASSERT_TRUE(begin_pass && end_pass) << suffix;
    const Capture values(context(), {kExtent});
    context().run([&](VkCommandBuffer commands) {
      const VkClearValue clear = {};
      VkRenderPassBeginInfo begin = {VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO, values.begin_info()};
      begin.renderPass = target.render_pass();
      begin.framebuffer = target.framebuffer();
      begin.renderArea = kArea;
      begin.clearValueCount = 1;
      begin.pClearValues = &clear;
      const VkSubpassBeginInfo contents = {VK_STRUCTURE_TYPE_SUBPASS_BEGIN_INFO, nullptr,
                                           VK_SUBPASS_CONTENTS_INLINE};
      const VkSubpassEndInfo end = {VK_STRUCTURE_TYPE_SUBPASS_END_INFO};
      begin_pass(commands, &begin, &contents);
      target.set_viewport(commands);
      draw(commands, pipeline, square(90));
      end_pass(commands, &end);
      attachment_barrier(commands);
    });
    expect_rectangle(values, context(), 90);
  }
}

// Covers both stages that an application may wait for.
TEST_F(RegionPasses, values_are_there_behind_a_barrier_from_the_fragment_stage) {
  const RenderTarget target(context(), {.extent = kExtent});
  const Pipeline pipeline = make_rectangles(plain_frag);
  const Capture values(context(), {kExtent});
  context().run([&](VkCommandBuffer commands) {
    target.begin(commands, {0, 0, 0, 0}, 0, values.begin_info());
    draw(commands, pipeline, square(70));
    target.end(commands);
    const VkMemoryBarrier barrier = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr,
                                     VK_ACCESS_SHADER_WRITE_BIT, VK_ACCESS_HOST_READ_BIT};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT,
                         VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
  });
  expect_rectangle(values, context(), 70);
}

TEST_F(RegionPasses, what_is_drawn_outside_of_the_pass_does_not_count) {
  const RenderTarget target(context(), {.extent = kExtent});
  const Pipeline pipeline = make_rectangles(plain_frag);
  const Capture values(context(), {kExtent});
  context().run([&](VkCommandBuffer commands) {
    target.begin(commands);
    draw(commands, pipeline, square(128));
    target.end(commands);
    target.begin(commands, {0, 0, 0, 0}, 0, values.begin_info());
    draw(commands, pipeline, square(64));
    target.end(commands);
    target.begin(commands);
    draw(commands, pipeline, square(128));
    target.end(commands);
    attachment_barrier(commands);
  });
  expect_rectangle(values, context(), 64);
}

// A pass that counts invocations alone runs other shaders.
TEST_F(RegionPasses, each_counts_what_it_asks_for_although_the_pipeline_is_bound_once) {
  const RenderTarget target(context(), {.extent = kExtent});
  const Pipeline pipeline = make_rectangles(discard_frag);
  std::vector<Capture> passes;
  for (const auto& counters : std::vector<std::vector<std::string_view>>{
           {kInvocations}, {kDiscarded}, {kInvocations}, {kDiscarded, kInvocations}}) {
    passes.emplace_back(context(), Capture::Info{kExtent, counters});
  }
  context().run([&](VkCommandBuffer commands) {
    for (size_t i = 0; i < passes.size(); ++i) {
      target.begin(commands, {0, 0, 0, 0}, 0, passes[i].begin_info());
      if (i == 0) {
        draw(commands, pipeline, square(64));
      } else {
        vkCmdDraw(commands, 4, 1, 0, 0);
      }
      target.end(commands);
      attachment_barrier(commands);
    }
  });
  for (const size_t i : {0, 2, 3}) EXPECT_EQ(passes[i].sum(kInvocations), 64u * 64) << i;
  for (const size_t i : {1, 3}) EXPECT_EQ(passes[i].sum(kDiscarded), 64u * 64 / 2) << i;
}

TEST_F(RegionPasses, a_recording_that_is_submitted_again_gives_the_same_values_again) {
  const RenderTarget target(context(), {.extent = kExtent});
  const Pipeline pipeline = make_rectangles(plain_frag);
  Capture values(context(), {kExtent});
  const VkCommandBuffer commands = context().begin_commands(0);
  target.begin(commands, {0, 0, 0, 0}, 0, values.begin_info());
  draw(commands, pipeline, square(100), 2);
  target.end(commands);
  attachment_barrier(commands);
  check(vkEndCommandBuffer(commands));
  for (int i = 0; i < 3; ++i) {
    values.reset();
    context().submit_and_wait(commands);
    expect_rectangle(values, context(), 100, 2);
  }
}

// One library of everything before the rasteriser and one of everything after it, linked.
TEST_F(RegionPasses, pipelines_linked_from_libraries_are_captured) {
  if (!context().has_extension(VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME))
    GTEST_SKIP() << "no graphics pipeline libraries";
  VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT feature = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT, nullptr, VK_TRUE};
  start({}, false,
        {.device_extensions = {VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME,
                               VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME},
         .device_next = &feature});
  const auto make_library = [&](const Stage& stage, VkGraphicsPipelineLibraryFlagsEXT parts) {
    const VkGraphicsPipelineLibraryCreateInfoEXT library = {
        VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT, nullptr, parts};
    GraphicsPipelineInfo info;
    info.stages = {stage};
    info.layout = layout();
    info.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP;
    info.flags = VK_PIPELINE_CREATE_LIBRARY_BIT_KHR;
    if (stage.stage == kVertex)
      info.color_format = VK_FORMAT_UNDEFINED;  // no attachments of its own
    info.next = &library;
    return make_graphics_pipeline(context(), info);
  };
  const Pipeline before =
      make_library({kVertex, rectangle_vert},
                   VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT |
                       VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT);
  const Pipeline behind = make_library(
      {kFragment, plain_frag}, VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT |
                                   VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT);
  const VkPipeline libraries[] = {before, behind};
  const VkPipelineLibraryCreateInfoKHR parts = {VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR,
                                                nullptr, 2, libraries};
  VkGraphicsPipelineCreateInfo link = {VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO, &parts};
  link.layout = layout();
  VkPipeline handle = VK_NULL_HANDLE;
  check(vkCreateGraphicsPipelines(context().device(), VK_NULL_HANDLE, 1, &link, nullptr, &handle));
  const Pipeline pipeline(context().device(), handle);
  const RenderTarget target(context(), {.extent = kExtent});
  const Capture values(context(), {kExtent});
  capture(target, values, [&](VkCommandBuffer commands) { draw(commands, pipeline, square(100)); });
  expect_rectangle(values, context(), 100);
}

class RegionSecondaries : public RegionPassesTest {};

TEST_F(RegionSecondaries, that_contain_the_whole_pass_are_captured) {
  const RenderTarget target(context(), {.extent = kExtent});
  const Pipeline pipeline = make_rectangles(plain_frag);
  const Capture values(context(), {kExtent});
  const VkCommandBuffer secondary = context().begin_secondary();
  target.begin(secondary, {0, 0, 0, 0}, 0, values.begin_info());
  draw(secondary, pipeline, square(77));
  target.end(secondary);
  attachment_barrier(secondary);
  check(vkEndCommandBuffer(secondary));
  context().run([&](VkCommandBuffer commands) { vkCmdExecuteCommands(commands, 1, &secondary); });
  expect_rectangle(values, context(), 77);
}

// One secondary in two captured passes and one pass that is not captured, all of one primary.
TEST_F(RegionSecondaries, that_continue_a_pass_count_in_each_that_executes_them) {
  const RenderTarget target(context(), {.extent = kExtent});
  const Pipeline pipeline = make_rectangles(plain_frag);
  const Capture first(context(), {kExtent});
  const Capture second(context(), {kExtent});
  VkCommandBufferInheritanceRenderingInfo rendering = {
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO, first.begin_info()};
  const VkFormat format = target.info().color_format;
  rendering.colorAttachmentCount = 1;
  rendering.pColorAttachmentFormats = &format;
  rendering.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT;
  const VkCommandBuffer secondary = context().begin_secondary(
      {.pNext = &rendering}, VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT |
                                 VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  target.set_viewport(secondary);
  draw(secondary, pipeline, square(40));
  check(vkEndCommandBuffer(secondary));
  constexpr VkRenderingFlags kFlags = VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT;
  const std::vector<VkCommandBuffer> twice = {secondary, secondary};
  context().run([&](VkCommandBuffer commands) {
    target.begin(commands, {0, 0, 0, 0}, kFlags, first.begin_info());
    vkCmdExecuteCommands(commands, 1, &secondary);
    target.end(commands);
    target.begin(commands, {0, 0, 0, 0}, kFlags);
    vkCmdExecuteCommands(commands, 2, twice.data());
    target.end(commands);
    target.begin(commands, {0, 0, 0, 0}, kFlags, second.begin_info());
    vkCmdExecuteCommands(commands, 2, twice.data());
    target.end(commands);
    attachment_barrier(commands);
  });
  expect_rectangle(first, context(), 40, 1);
  expect_rectangle(second, context(), 40, 2);
}

using RegionSuspension = RegionPasses;

TEST_F(RegionSuspension, in_one_command_buffer_goes_on_counting) {
  const RenderTarget target(context(), {.extent = kExtent});
  const Pipeline pipeline = make_rectangles(plain_frag);
  const Capture values(context(), {kExtent});
  context().run([&](VkCommandBuffer commands) {
    change_layout(commands, target.color(), VK_IMAGE_LAYOUT_UNDEFINED,
                  VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    begin_part(commands, target, VK_RENDERING_SUSPENDING_BIT, values.begin_info());
    draw(commands, pipeline, square(80));
    vkCmdEndRendering(commands);
    begin_part(commands, target, VK_RENDERING_RESUMING_BIT, values.begin_info());
    draw(commands, pipeline, square(80), 2);
    vkCmdEndRendering(commands);
    attachment_barrier(commands);
  });
  expect_rectangle(values, context(), 80, 3);
}

TEST_F(RegionSuspension, over_three_command_buffers_goes_on_counting) {
  const RenderTarget target(context(), {.extent = kExtent});
  const Pipeline pipeline = make_rectangles(plain_frag);
  Capture values(context(), {kExtent});
  constexpr VkRenderingFlags kParts[] = {VK_RENDERING_SUSPENDING_BIT,
                                         VK_RENDERING_RESUMING_BIT | VK_RENDERING_SUSPENDING_BIT,
                                         VK_RENDERING_RESUMING_BIT};
  std::vector<VkCommandBuffer> parts;
  for (uint32_t i = 0; i < 3; ++i) {
    const VkCommandBuffer commands = parts.emplace_back(context().begin_commands(0));
    if (i == 0) {
      change_layout(commands, target.color(), VK_IMAGE_LAYOUT_UNDEFINED,
                    VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    }
    begin_part(commands, target, kParts[i], values.begin_info());
    draw(commands, pipeline, square(80), i + 1);
    vkCmdEndRendering(commands);
    if (i == 2) attachment_barrier(commands);
    check(vkEndCommandBuffer(commands));
  }
  for (int i = 0; i < 2; ++i) {
    values.reset();
    context().submit_and_wait(parts);
    expect_rectangle(values, context(), 80, 6);
  }
}

}  // namespace
}  // namespace tally::test
