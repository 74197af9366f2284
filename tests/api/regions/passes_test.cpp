// Kinds of render passes: subpasses, views, layers, secondary command buffers, suspension.
#include "api/regions/kit.h"
#include "full_screen.vert.h"
#include "layered.geom.h"
#include "layered.mesh.h"
#include "layered.vert.h"
#include "plain.frag.h"
#include "rectangle.vert.h"

namespace tally::test {
namespace {

constexpr const char* kInvocations = "fragment_invocations";
constexpr VkExtent2D kExtent = {128, 128};
constexpr VkRect2D kArea = {{0, 0}, kExtent};

class RegionPasses : public RegionsTest {
 protected:
  static void expect_rectangle(const Capture& values, const Context& context, uint32_t size,
                               uint32_t times = 1, uint32_t index = 0) {
    expect_pixels(
        values, kInvocations, context, kArea,
        [&](uint32_t x, uint32_t y) { return x < size && y < size ? times : 0; }, index);
    values.expect_layout(index);
  }
  static RectanglePush square(float size) { return {0, 0, size, size, 128, 128}; }

  VkCommandBuffer begin_secondary(const VkCommandBufferInheritanceInfo& inheritance,
                                  VkCommandBufferUsageFlags flags) {
    VkCommandBufferAllocateInfo allocate = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    allocate.commandPool = context().command_pool();
    allocate.level = VK_COMMAND_BUFFER_LEVEL_SECONDARY;
    allocate.commandBufferCount = 1;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    check(vkAllocateCommandBuffers(context().device(), &allocate, &commands));
    VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    begin.flags = flags;
    begin.pInheritanceInfo = &inheritance;
    check(vkBeginCommandBuffer(commands, &begin));
    return commands;
  }
};

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

TEST_F(RegionPasses, views_are_told_apart) {
  const RenderTarget target(context(), {.extent = kExtent, .view_mask = 0b101});
  const Pipeline pipeline = make_rectangles(plain_frag, {.view_mask = 0b101});
  const Capture values(context(), {.area = kExtent, .layers = 3});
  capture(target, values, [&](VkCommandBuffer commands) { draw(commands, pipeline, square(70)); });
  expect_rectangle(values, context(), 70, 1, 0);
  expect_rectangle(values, context(), 70, 0, 1);
  expect_rectangle(values, context(), 70, 1, 2);
}

TEST_F(RegionPasses, views_of_a_render_pass_object_are_told_apart) {
  const RenderTarget target(context(), {.extent = kExtent, .view_mask = 0b11});
  const Pipeline pipeline = make_rectangles(plain_frag, {.render_pass = target.render_pass()});
  const Capture values(context(), {.area = kExtent, .layers = 2});
  context().run([&](VkCommandBuffer commands) {
    target.begin_render_pass(commands, {0, 0, 0, 0}, VK_SUBPASS_CONTENTS_INLINE,
                             values.begin_info());
    draw(commands, pipeline, square(70));
    target.end_render_pass(commands);
    attachment_barrier(commands);
  });
  expect_rectangle(values, context(), 70, 1, 0);
  expect_rectangle(values, context(), 70, 1, 1);
}

TEST_F(RegionPasses, layers_of_a_geometry_shader_are_told_apart) {
  if (!context().features().geometryShader) GTEST_SKIP() << "no geometry shaders";
  const RenderTarget target(context(), {.extent = kExtent, .layers = 2});
  const Pipeline pipeline =
      make_graphics_pipeline(context(), {.stages = {{kVertex, rectangle_vert},
                                                    {VK_SHADER_STAGE_GEOMETRY_BIT, layered_geom},
                                                    {kFragment, plain_frag}},
                                         .layout = layout(),
                                         .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP});
  const Capture values(context(), {.area = kExtent, .layers = 2});
  capture(target, values, [&](VkCommandBuffer commands) { draw(commands, pipeline, square(128)); });
  EXPECT_EQ(values.sum(kInvocations, 0), 128u * 128);
  // The first of the square's two triangles; pixels on the diagonal belong to only one of them.
  EXPECT_NEAR(static_cast<double>(values.sum(kInvocations, 1)), 128 * 128 / 2, 64);
}

TEST_F(RegionPasses, layers_of_a_vertex_shader_are_told_apart) {
  VkPhysicalDeviceVulkan12Features core = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceFeatures2 features = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &core};
  vkGetPhysicalDeviceFeatures2(context().gpu(), &features);
  if (!core.shaderOutputLayer) GTEST_SKIP() << "no shaderOutputLayer";
  const RenderTarget target(context(), {.extent = kExtent, .layers = 3});
  const Pipeline pipeline = make_graphics_pipeline(
      context(),
      {.stages = {{kVertex, layered_vert}, {kFragment, plain_frag}}, .layout = layout()});
  // The second layer is not requested.
  const Capture values(context(), {.area = kExtent, .layers = 3, .wanted = {true, false, true}});
  capture(target, values, [&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    vkCmdDraw(commands, 3, 2, 0, 0);
    vkCmdDraw(commands, 3, 2, 0, 1);
  });
  expect_rectangle(values, context(), 128, 1, 0);
  EXPECT_TRUE(values.untouched(1));
  expect_rectangle(values, context(), 128, 1, 2);
}

TEST_F(RegionPasses, layers_of_a_mesh_shader_are_told_apart) {
  if (!context().has_extension(VK_EXT_MESH_SHADER_EXTENSION_NAME))
    GTEST_SKIP() << "no mesh shaders";
  VkPhysicalDeviceMeshShaderFeaturesEXT mesh = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MESH_SHADER_FEATURES_EXT};
  mesh.meshShader = VK_TRUE;
  start({}, false,
        {.device_extensions = {VK_EXT_MESH_SHADER_EXTENSION_NAME}, .device_next = &mesh});
  const RenderTarget target(context(), {.extent = kExtent, .layers = 2});
  const Pipeline pipeline = make_graphics_pipeline(
      context(), {.stages = {{VK_SHADER_STAGE_MESH_BIT_EXT, layered_mesh}, {kFragment, plain_frag}},
                  .layout = layout()});
  const Capture values(context(), {.area = kExtent, .layers = 2});
  const auto draw_mesh = context().function<PFN_vkCmdDrawMeshTasksEXT>("vkCmdDrawMeshTasksEXT");
  capture(target, values, [&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    draw_mesh(commands, 2, 1, 1);
    draw_mesh(commands, 1, 1, 1);
  });
  expect_rectangle(values, context(), 128, 2, 0);
  expect_rectangle(values, context(), 128, 1, 1);
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

// Two subpasses that draw into the same attachment.
class RegionSubpasses : public RegionPasses {
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
        begin_secondary(inheritance, VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT |
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

class RegionSecondaries : public RegionPasses {};

TEST_F(RegionSecondaries, that_contain_the_whole_pass_are_captured) {
  const RenderTarget target(context(), {.extent = kExtent});
  const Pipeline pipeline = make_rectangles(plain_frag);
  const Capture values(context(), {kExtent});
  const VkCommandBuffer secondary =
      begin_secondary({VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO}, 0);
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
  const VkCommandBuffer secondary =
      begin_secondary({VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO, &rendering},
                      VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT |
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
