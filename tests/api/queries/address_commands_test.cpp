// Emulated queries of commands that name memory by its address, with custom restart indices, and
// around vkCmdEndRendering2KHR. Where the driver lacks these extensions, stand_in/newest/ stands
// for one that has them.
#include <tally/vulkan_newest.h>

#include "api/queries/restart.h"
#include "feedback.vert.h"
#include "patch.vert.h"
#include "plain.frag.h"

namespace tally::test {
namespace {

constexpr VkBufferUsageFlags kAddressed = VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;

class AddressCommands : public PrimitiveRestart {
 protected:
  bool start_newest(const char* extension = nullptr, void* feature = nullptr) {
    start(false);
    if (extension && !context().has_extension(extension)) return false;
    restart_.pNext = feature;
    const LayerSettings settings({{"emulate_queries", "all"}, {"validate_spirv", "true"}});
    ContextOptions options;
    options.layers = {"VK_LAYER_TALLY_counters"};
    const bool native = context().has_extension(VK_KHR_DEVICE_ADDRESS_COMMANDS_EXTENSION_NAME) &&
                        context().has_extension(VK_EXT_PRIMITIVE_RESTART_INDEX_EXTENSION_NAME) &&
                        context().has_extension("VK_KHR_maintenance10");
    if (!native) options.layers.push_back("VK_LAYER_TALLY_test_newest_driver");
    options.instance_next = settings.next();
    options.device_extensions = {VK_KHR_DEVICE_ADDRESS_COMMANDS_EXTENSION_NAME,
                                 VK_EXT_PRIMITIVE_RESTART_INDEX_EXTENSION_NAME,
                                 "VK_KHR_maintenance10"};
    if (extension) options.device_extensions.push_back(extension);
    options.device_next = &addresses_;
    start(false, options);
    return true;
  }
  template <typename Function, typename... Arguments>
  void call(const char* name, Arguments... arguments) {
    context().function<Function>(name)(arguments...);
  }
  Buffer make_arguments(std::initializer_list<uint32_t> words,
                        VkBufferUsageFlags usage = VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT) {
    Buffer buffer(context(), 128, usage | kAddressed);
    std::ranges::copy(words, buffer.as<uint32_t>().begin());
    return buffer;
  }
  bool draws_from_counts() {
    VkPhysicalDeviceVulkan12Features core{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceFeatures2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &core};
    vkGetPhysicalDeviceFeatures2(context().gpu(), &all);
    return core.drawIndirectCount == VK_TRUE;
  }
  static VkDrawIndirect2InfoKHR several(const Buffer& buffer, uint32_t draws, uint32_t stride) {
    return {.sType = VK_STRUCTURE_TYPE_DRAW_INDIRECT_2_INFO_KHR,
            .addressRange = {buffer.address(), buffer.size(), stride},
            .drawCount = draws};
  }
  static VkBindIndexBuffer3InfoKHR indices_at(const Buffer& buffer, VkDeviceSize offset,
                                              VkIndexType type) {
    return {.sType = VK_STRUCTURE_TYPE_BIND_INDEX_BUFFER_3_INFO_KHR,
            .addressRange = {buffer.address() + offset, buffer.size() - offset},
            .indexType = type};
  }

 private:
  VkPhysicalDevicePrimitiveRestartIndexFeaturesEXT restart_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIMITIVE_RESTART_INDEX_FEATURES_EXT, nullptr, VK_TRUE};
  VkPhysicalDeviceDeviceAddressCommandsFeaturesKHR addresses_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DEVICE_ADDRESS_COMMANDS_FEATURES_KHR, &restart_, VK_TRUE};
};

TEST_F(AddressCommands, count_indirect_draws) {
  start_newest();
  if (!context().features().multiDrawIndirect || !draws_from_counts()) {
    GTEST_SKIP() << "no multi-draw, or no counts in buffers";
  }
  const Pipeline pipeline = make_graphics({{kVertex, patch_vert}, {kFragment, plain_frag}});
  const Buffer arguments = make_arguments({6, 2, 0, 0, 9, 1, 0, 0, 300, 1, 0, 0});
  const Buffer count = make_arguments({0, 2});
  const auto numbers = drawn([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, kGraphics, pipeline);
    const VkDrawIndirect2InfoKHR draws = several(arguments, 2, 16);
    call<PFN_vkCmdDrawIndirect2KHR>("vkCmdDrawIndirect2KHR", commands, &draws);
    const VkDrawIndirectCount2InfoKHR counted{
        .sType = VK_STRUCTURE_TYPE_DRAW_INDIRECT_COUNT_2_INFO_KHR,
        .addressRange = {arguments.address() + 16, 32, 16},
        .countAddressRange = {count.address() + 4, 4},
        .maxDrawCount = 2};
    call<PFN_vkCmdDrawIndirectCount2KHR>("vkCmdDrawIndirectCount2KHR", commands, &counted);
  });
  constexpr uint64_t kVertices = 12 + 9 + 9 + 300;
  EXPECT_EQ(numbers[kAssembledVertices], kVertices);
  EXPECT_EQ(numbers[kAssembledPrimitives], kVertices / 3);
  EXPECT_EQ(numbers[kClippingInvocations], kVertices / 3);
  expect_vertices(numbers[kVertexInvocations], kVertices);
}

TEST_F(AddressCommands, count_strips_of_indices_that_an_address_binds) {
  start_newest();
  const Indices indices = some_indices(1000);
  const std::span all(indices);
  const Assembled expected =
      assemble(kStrip, all.subspan(110, 77)) + assemble(kStrip, all.subspan(23, 600)) * 2;
  const Pipeline pipeline = make_restarting(kStrip.topology);
  const Buffer buffer(context(), 2000, VK_BUFFER_USAGE_INDEX_BUFFER_BIT | kAddressed);
  store(buffer.as<std::byte>(), VK_INDEX_TYPE_UINT16, indices);
  const Buffer arguments = make_arguments({600, 2, 13, 0, 0});
  const auto numbers = drawn([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, kGraphics, pipeline);
    const VkBindIndexBuffer3InfoKHR bind = indices_at(buffer, 20, VK_INDEX_TYPE_UINT16);
    call<PFN_vkCmdBindIndexBuffer3KHR>("vkCmdBindIndexBuffer3KHR", commands, &bind);
    vkCmdDrawIndexed(commands, 77, 1, 100, 0, 0);
    const VkDrawIndirect2InfoKHR draw = several(arguments, 1, 20);
    call<PFN_vkCmdDrawIndexedIndirect2KHR>("vkCmdDrawIndexedIndirect2KHR", commands, &draw);
  });
  expect_assembled(numbers, true, expected);
}

// Binding indices restores the default index.
TEST_F(AddressCommands, restart_at_the_index_that_was_set) {
  start_newest();
  constexpr uint32_t kCustom = 77;
  Indices custom = some_indices(500);
  Indices expected = custom;
  std::ranges::replace(expected, kCustom, 1u);
  std::ranges::replace(custom, kCustom, 1u);
  std::ranges::replace(custom, kRestart, kCustom);
  const Pipeline pipeline = make_restarting(kStrip.topology);
  for (const VkIndexType type : {VK_INDEX_TYPE_UINT16, VK_INDEX_TYPE_UINT32}) {
    const Buffer buffer = make_indices(type, custom);
    const auto numbers = drawn([&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, kGraphics, pipeline);
      vkCmdBindIndexBuffer(commands, buffer, 0, type);
      call<PFN_vkCmdSetPrimitiveRestartIndexEXT>("vkCmdSetPrimitiveRestartIndexEXT", commands,
                                                 kCustom);
      vkCmdDrawIndexed(commands, 500, 1, 0, 0, 0);
      vkCmdBindIndexBuffer(commands, buffer, 0, type);
      vkCmdDrawIndexed(commands, 500, 1, 0, 0, 0);
    });
    expect_assembled(numbers, true, assemble(kStrip, expected) + assemble(kStrip, custom));
  }
}

TEST_F(AddressCommands, count_dispatches_and_copy_the_results) {
  start_newest();
  const Pipeline pipeline = make_work();
  const Buffer arguments = make_arguments({3, 1, 1});
  const Buffer copy = make_arguments({}, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  const Queries queries(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 2,
                        VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    for (uint32_t query = 0; query < 2; ++query) {
      queries.begin(commands, query);
      dispatch(commands, pipeline, query + 1);  // binds what the next dispatch needs
      const VkDispatchIndirect2InfoKHR info{.sType = VK_STRUCTURE_TYPE_DISPATCH_INDIRECT_2_INFO_KHR,
                                            .addressRange = {arguments.address(), 12}};
      call<PFN_vkCmdDispatchIndirect2KHR>("vkCmdDispatchIndirect2KHR", commands, &info);
      queries.end(commands, query);
    }
    const VkStridedDeviceAddressRangeKHR target{copy.address() + 8, copy.size() - 8, 24};
    call<PFN_vkCmdCopyQueryPoolResultsToMemoryKHR>(
        "vkCmdCopyQueryPoolResultsToMemoryKHR", commands, queries.handle(), 0u, 2u, &target, 0u,
        VkQueryResultFlags{VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT});
    full_barrier(commands);
  });
  EXPECT_EQ(queries.read(0)[0], 8u * (1 + 3));
  EXPECT_EQ(queries.read(1)[0], 8u * (2 + 3));
  EXPECT_EQ(copy.as<uint64_t>()[1], 8u * (1 + 3));
  EXPECT_EQ(copy.as<uint64_t>()[4], 8u * (2 + 3));
}

TEST_F(AddressCommands, end_whatever_an_addressed_condition_says) {
  VkPhysicalDeviceConditionalRenderingFeaturesEXT feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT, nullptr, VK_TRUE};
  if (!start_newest(VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME, &feature)) {
    GTEST_SKIP() << "no conditional rendering";
  }
  const Pipeline pipeline = make_work();
  for (const uint32_t condition : {0u, 1u}) {
    const Queries queries(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 1,
                          VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT);
    const Buffer predicate =
        make_arguments({condition}, VK_BUFFER_USAGE_CONDITIONAL_RENDERING_BIT_EXT);
    const VkConditionalRenderingBeginInfo2EXT info{
        .sType = VK_STRUCTURE_TYPE_CONDITIONAL_RENDERING_BEGIN_INFO_2_EXT,
        .addressRange = {predicate.address(), 4}};
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      call<PFN_vkCmdBeginConditionalRendering2EXT>("vkCmdBeginConditionalRendering2EXT", commands,
                                                   &info);
      queries.begin(commands);
      dispatch(commands, pipeline, 3);
      queries.end(commands);
      dispatch(commands, pipeline, 3);
      call<PFN_vkCmdEndConditionalRenderingEXT>("vkCmdEndConditionalRenderingEXT", commands);
    });
    EXPECT_EQ(queries.read()[0], condition * 24u) << "available, and counted where it ran";
  }
}

TEST_F(AddressCommands, know_where_addressed_transform_feedback_is_resumed) {
  VkPhysicalDeviceTransformFeedbackFeaturesEXT feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT, nullptr, VK_TRUE};
  if (!start_newest(VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME, &feature)) {
    GTEST_SKIP() << "no transform feedback";
  }
  using Range = VkBindTransformFeedbackBuffer2InfoEXT;
  const auto range = [](VkDeviceAddress address, VkDeviceSize size) {
    return Range{.sType = VK_STRUCTURE_TYPE_BIND_TRANSFORM_FEEDBACK_BUFFER_2_INFO_EXT,
                 .addressRange = {address, size}};
  };
  const Pipeline pipeline = make_graphics({{kVertex, feedback_vert}, {kFragment, plain_frag}});
  const Buffer captured(context(), 4096,
                        VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_BUFFER_BIT_EXT | kAddressed);
  const Buffer counters(context(), 64,
                        VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_COUNTER_BUFFER_BIT_EXT | kAddressed);
  counters.as<uint32_t>()[0] = counters.as<uint32_t>()[2] = 0;
  const RenderTarget target(context());
  const Queries queries(context(), VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT, 2);
  // Two buffers with room for five triangles, of 48 and 96 bytes each.
  const Range buffers[] = {range(captured.address(), 5 * 48),
                           range(captured.address() + 2048, 5 * 96)};
  const Range resumed[] = {range(counters.address(), 4), range(counters.address() + 8, 4)};
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    for (uint32_t query = 0; query < 2; ++query) {
      target.begin(commands);
      vkCmdBindPipeline(commands, kGraphics, pipeline);
      call<PFN_vkCmdBindTransformFeedbackBuffers2EXT>("vkCmdBindTransformFeedbackBuffers2EXT",
                                                      commands, 0u, 2u, buffers);
      queries.begin(commands, query);
      call<PFN_vkCmdBeginTransformFeedback2EXT>("vkCmdBeginTransformFeedback2EXT", commands, 0u, 2u,
                                                resumed);
      vkCmdDraw(commands, 12, 1, 0, 0);
      call<PFN_vkCmdEndTransformFeedback2EXT>("vkCmdEndTransformFeedback2EXT", commands, 0u, 2u,
                                              resumed);
      queries.end(commands, query);
      target.end(commands);
      full_barrier(commands);
    }
  });
  EXPECT_EQ(queries.read(0), (std::vector<uint64_t>{4, 4}));
  EXPECT_EQ(queries.read(1), (std::vector<uint64_t>{1, 4})) << "one more fits";
}

// Results are resolved behind the render pass.
TEST_F(AddressCommands, are_resolved_when_rendering_ends_with_the_newer_command) {
  start_newest();
  const Pipeline pipeline = make_graphics({{kVertex, patch_vert}, {kFragment, plain_frag}});
  const Image color(context(), {.extent = {64, 64},
                                .format = VK_FORMAT_R8G8B8A8_UNORM,
                                .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT});
  const Queries queries(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 1,
                        VK_QUERY_PIPELINE_STATISTIC_VERTEX_SHADER_INVOCATIONS_BIT);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    VkRenderingAttachmentInfo attachment{VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO};
    attachment.imageView = color.view();
    attachment.imageLayout = VK_IMAGE_LAYOUT_GENERAL;
    VkRenderingInfo info{VK_STRUCTURE_TYPE_RENDERING_INFO};
    info.renderArea.extent = {64, 64};
    info.layerCount = 1;
    info.colorAttachmentCount = 1;
    info.pColorAttachments = &attachment;
    change_layout(commands, color, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    vkCmdBeginRendering(commands, &info);
    const VkViewport viewport{0, 0, 64, 64, 0, 1};
    vkCmdSetViewport(commands, 0, 1, &viewport);
    vkCmdSetScissor(commands, 0, 1, &info.renderArea);
    vkCmdBindPipeline(commands, kGraphics, pipeline);
    queries.begin(commands);
    vkCmdDraw(commands, 6, 1, 0, 0);
    queries.end(commands);
    call<PFN_vkCmdEndRendering2KHR>("vkCmdEndRendering2KHR", commands, nullptr);
  });
  EXPECT_EQ(queries.read()[0], 6u);
}

}  // namespace
}  // namespace tally::test
