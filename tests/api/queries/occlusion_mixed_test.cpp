// Draws that the fragment shader counts for occlusion queries, and draws that it cannot count, in
// one recording.
#include "api/queries/occlusion_scene.h"
#include "depth_columns.frag.h"
#include "stores.frag.h"

namespace tally::test {
namespace {

class OcclusionMixed : public OcclusionOfEverySource {
 protected:
  void SetUp() override {
    OcclusionOfEverySource::SetUp();
    GraphicsPipelineInfo info = with_depth(VK_COMPARE_OP_LESS_OR_EQUAL);
    shader_counts_ = make(full_screen_vert, plain_frag, info);
    passes_ = make(full_screen_vert, stores_frag, info);
    columns_ = make(full_screen_vert, depth_columns_frag, info);
    info.depth_compare = VK_COMPARE_OP_LESS;
    fails_ = make(full_screen_vert, stores_frag, info);
  }
  RenderTarget make_target() { return {context(), {.depth_format = VK_FORMAT_D32_SFLOAT}}; }
  void query(VkCommandBuffer commands, const Queries& queries, uint32_t index,
             std::initializer_list<const Pipeline*> pipelines) {
    queries.begin(commands, index, VK_QUERY_CONTROL_PRECISE_BIT);
    for (const Pipeline* pipeline : pipelines) draw(commands, *pipeline, 3);
    queries.end(commands, index);
  }
  VkCommandBuffer begin_secondary_pass(VkCommandBufferUsageFlags usage,
                                       VkCommandBufferInheritanceInfo inheritance) {
    constexpr VkFormat kColor = VK_FORMAT_R8G8B8A8_UNORM;
    const VkCommandBufferInheritanceRenderingInfo rendering{
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO,
        .colorAttachmentCount = 1,
        .pColorAttachmentFormats = &kColor,
        .depthAttachmentFormat = VK_FORMAT_D32_SFLOAT,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    inheritance.pNext = &rendering;
    return context().begin_secondary(inheritance,
                                     VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT | usage);
  }
  static constexpr VkRenderingFlags kSecondaries =
      VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT;

  Pipeline shader_counts_, passes_, columns_, fails_;
};

TEST_P(OcclusionMixed, queries_of_one_pass_count_the_draws_inside_each) {
  const RenderTarget target = make_target();
  const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION, 6);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    pass(commands, target, [&] {
      query(commands, queries, 0, {&fails_});
      query(commands, queries, 1, {&shader_counts_, &fails_, &shader_counts_});
      draw(commands, passes_, 3);
      query(commands, queries, 2, {&passes_, &passes_, &shader_counts_});
      query(commands, queries, 3, {&shader_counts_});
      query(commands, queries, 4, {});
      query(commands, queries, 5, {&columns_, &columns_, &fails_});
    });
  });
  const uint64_t expected[] = {0, 2 * kPixels, 3 * kPixels, kPixels, 0, kPixels};
  for (uint32_t i = 0; i < std::size(expected); ++i)
    EXPECT_EQ(queries.read(i)[0], expected[i]) << i;
}

TEST_P(OcclusionMixed, a_query_per_draw_counts_each_of_many) {
  constexpr uint32_t kDraws = 600;  // more than one pool of the driver's queries
  const RenderTarget target = make_target();
  const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION, kDraws);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    target.begin(commands);
    prepare(commands, target);
    const VkRect2D one_pixel{{5, 5}, {1, 1}};
    vkCmdSetScissor(commands, 0, 1, &one_pixel);
    for (uint32_t i = 0; i < kDraws; ++i) {
      query(commands, queries, i, {i % 3 == 0 ? &fails_ : &passes_});
    }
    target.end(commands);
  });
  for (uint32_t i = 0; i < kDraws; ++i) ASSERT_EQ(queries.read(i)[0], i % 3 == 0 ? 0 : 1) << i;
}

TEST_P(OcclusionMixed, a_query_around_passes_counts_all_of_them) {
  const RenderTarget target = make_target();
  const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    queries.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
    for (const Pipeline* pipeline : {&passes_, &fails_, &shader_counts_}) {
      pass(commands, target, [&] { draw(commands, *pipeline, 3); });
      full_barrier(commands);
    }
    queries.end(commands);
  });
  EXPECT_EQ(queries.read()[0], (3 + 2) * kPixels) << "with the background of each";
}

TEST_P(OcclusionMixed, a_command_buffer_counts_anew_each_time_it_is_submitted) {
  const RenderTarget target = make_target();
  const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION, 2);
  const Buffer copies(context(), 48, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  const VkCommandBuffer commands =
      context().begin_commands(VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  queries.reset(commands);
  pass(commands, target, [&] {
    query(commands, queries, 0, {&columns_});
    query(commands, queries, 1, {&passes_, &shader_counts_});  // half is behind the columns
  });
  check(vkEndCommandBuffer(commands));
  for (int run = 0; run < 3; ++run) {
    context().submit_and_wait(commands);
    EXPECT_EQ(queries.read(0)[0], kPixels / 2);
    EXPECT_EQ(queries.read(1)[0], kPixels);
  }
  std::vector<VkCommandBuffer> all;
  for (uint32_t i = 0; i < 3; ++i) {
    all.push_back(commands);
    all.push_back(context().begin_commands());
    full_barrier(all.back());
    vkCmdCopyQueryPoolResults(all.back(), queries, 0, 2, copies, 16 * i, 8,
                              VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    full_barrier(all.back());
    check(vkEndCommandBuffer(all.back()));
  }
  context().submit_and_wait(all);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(copies.as<uint64_t>()[2 * i], kPixels / 2);
    EXPECT_EQ(copies.as<uint64_t>()[2 * i + 1], kPixels);
  }
}

TEST_P(OcclusionMixed, results_are_copied_in_the_order_of_the_gpu) {
  const RenderTarget target = make_target();
  const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION);
  const Buffer copies(context(), 32, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  const Pipeline* const order[] = {&passes_, &fails_, &columns_, &shader_counts_};
  context().run([&](VkCommandBuffer commands) {
    for (uint32_t i = 0; i < 4; ++i) {
      queries.reset(commands);
      pass(commands, target, [&] { query(commands, queries, 0, {order[i]}); });
      vkCmdCopyQueryPoolResults(commands, queries, 0, 1, copies, 8 * i, 8,
                                VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
      full_barrier(commands);
    }
  });
  const auto copied = copies.as<uint64_t>();
  EXPECT_EQ(copied[0], kPixels);
  EXPECT_EQ(copied[1], 0u);
  EXPECT_EQ(copied[2], kPixels / 2);
  EXPECT_EQ(copied[3], kPixels);
}

TEST_P(OcclusionMixed, secondary_command_buffers_count_for_their_own_queries) {
  const RenderTarget target = make_target();
  const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION, 2);
  const VkCommandBuffer secondary = begin_secondary_pass(0, {});
  target.set_viewport(secondary);
  prepare(secondary, target);
  query(secondary, queries, 0, {&fails_, &columns_});
  query(secondary, queries, 1, {&passes_, &shader_counts_});  // half is behind the columns
  check(vkEndCommandBuffer(secondary));
  // The validation layer overlooks that the primary resets what the secondary has used: when the
  // submission has ended, it takes the queries of the secondary for available.
  const int runs = validation_wanted() ? 1 : 2;
  for (int run = 0; run < runs; ++run) {
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      target.begin(commands, {}, kSecondaries);
      vkCmdExecuteCommands(commands, 1, &secondary);
      target.end(commands);
    });
    EXPECT_EQ(queries.read(0)[0], kPixels / 2);
    EXPECT_EQ(queries.read(1)[0], kPixels);
  }
}

TEST_P(OcclusionMixed, secondary_command_buffers_count_for_the_primarys_query) {
  if (!context().features().inheritedQueries) {
    ASSERT_FALSE(emulated()) << "the layer has them where the driver has none";
    GTEST_SKIP() << "no inherited queries";
  }
  const RenderTarget target = make_target();
  const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION, 2);
  const VkCommandBufferInheritanceInfo inheritance{.occlusionQueryEnable = VK_TRUE,
                                                   .queryFlags = VK_QUERY_CONTROL_PRECISE_BIT};
  std::array<VkCommandBuffer, 2> inside{};
  for (VkCommandBuffer& one : inside) {
    one = begin_secondary_pass(0, inheritance);
    target.set_viewport(one);
    prepare(one, target);
    for (const Pipeline* pipeline : {&columns_, &fails_, &shader_counts_, &passes_}) {
      draw(one, *pipeline, 3);
    }
    check(vkEndCommandBuffer(one));
  }
  // Whole passes in a secondary command buffer.
  const VkCommandBuffer around = context().begin_secondary(inheritance);
  pass(around, target, [&] {
    draw(around, passes_, 3);
    draw(around, fails_, 3);
  });
  check(vkEndCommandBuffer(around));
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    queries.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
    target.begin(commands, {}, kSecondaries);
    vkCmdExecuteCommands(commands, 2, inside.data());
    target.end(commands);
    full_barrier(commands);
    vkCmdExecuteCommands(commands, 1, &around);
    queries.end(commands, 0);
    full_barrier(commands);
    queries.begin(commands, 1, VK_QUERY_CONTROL_PRECISE_BIT);
    queries.end(commands, 1);
  });
  // Behind the columns at depth 0.25 half of what comes after them is hidden.
  constexpr uint64_t kInside = kPixels + kPixels / 2 + kPixels / 2 + kPixels / 2;
  EXPECT_EQ(queries.read(0)[0], 2 * kInside + 2 * kPixels);
  EXPECT_EQ(queries.read(1)[0], 0u);
}

// The recording may be executed again before its queries could be reset. So the shader counts.
TEST_P(OcclusionMixed, a_secondary_command_buffer_may_be_executed_twice_in_a_pass) {
  if (!context().features().inheritedQueries) {
    ASSERT_FALSE(emulated()) << "the layer has them where the driver has none";
    GTEST_SKIP() << "no inherited queries";
  }
  const RenderTarget target = make_target();
  const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION);
  const VkCommandBuffer secondary = begin_secondary_pass(
      VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT,
      {.occlusionQueryEnable = VK_TRUE, .queryFlags = VK_QUERY_CONTROL_PRECISE_BIT});
  target.set_viewport(secondary);
  prepare(secondary, target);
  draw(secondary, passes_, 3);
  check(vkEndCommandBuffer(secondary));
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    queries.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
    target.begin(commands, {}, kSecondaries);
    vkCmdExecuteCommands(commands, 1, &secondary);
    vkCmdExecuteCommands(commands, 1, &secondary);
    target.end(commands);
    queries.end(commands);
  });
  EXPECT_EQ(queries.read()[0], 4 * kPixels);
}

// The samples that its own query has read are kept for a query of the primary, if there is one.
TEST_P(OcclusionMixed, a_secondary_command_buffer_counts_for_the_primarys_query_of_each_execution) {
  if (!emulated() && driver_name() == "nvidia") {
    GTEST_SKIP() << "NVIDIA's outer query does not count what an inner one counts";
  }
  if (!context().features().inheritedQueries) {
    ASSERT_FALSE(emulated()) << "the layer has them where the driver has none";
    GTEST_SKIP() << "no inherited queries";
  }
  const RenderTarget target = make_target();
  const Queries outer(context(), VK_QUERY_TYPE_OCCLUSION);
  const Queries inner(context(), VK_QUERY_TYPE_OCCLUSION);
  const VkCommandBuffer secondary = context().begin_secondary(
      {.occlusionQueryEnable = VK_TRUE, .queryFlags = VK_QUERY_CONTROL_PRECISE_BIT});
  inner.reset(secondary);
  pass(secondary, target, [&] { query(secondary, inner, 0, {&passes_, &passes_}); });
  check(vkEndCommandBuffer(secondary));
  context().run([&](VkCommandBuffer commands) { vkCmdExecuteCommands(commands, 1, &secondary); });
  EXPECT_EQ(inner.read()[0], 2 * kPixels);
  context().run([&](VkCommandBuffer commands) {
    outer.reset(commands);
    outer.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
    vkCmdExecuteCommands(commands, 1, &secondary);
    outer.end(commands);
  });
  EXPECT_EQ(inner.read()[0], 2 * kPixels);
  EXPECT_EQ(outer.read()[0], 3 * kPixels) << "with the background";
}

TEST_P(OcclusionMixed, rendering_may_be_suspended_and_resumed) {
  const RenderTarget target = make_target();
  const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION, 2);
  const VkCommandBuffer commands = context().begin_commands(0);
  const Pipeline plain = make(full_screen_vert, stores_frag);
  const RenderTarget bare(context());
  const auto part = [&](VkRenderingFlags flags, uint32_t index) {
    const VkRenderingAttachmentInfo color{.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                          .imageView = bare.color().view(),
                                          .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                          .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                          .storeOp = VK_ATTACHMENT_STORE_OP_STORE};
    const VkRenderingInfo rendering{.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                    .flags = flags,
                                    .renderArea = {{0, 0}, bare.info().extent},
                                    .layerCount = 1,
                                    .colorAttachmentCount = 1,
                                    .pColorAttachments = &color};
    vkCmdBeginRendering(commands, &rendering);
    bare.set_viewport(commands);
    prepare(commands, bare);
    query(commands, queries, index, {&plain});
    vkCmdEndRendering(commands);
  };
  queries.reset(commands);
  change_layout(commands, bare.color(), VK_IMAGE_LAYOUT_UNDEFINED,
                VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
  part(VK_RENDERING_SUSPENDING_BIT, 0);
  part(VK_RENDERING_RESUMING_BIT, 1);
  check(vkEndCommandBuffer(commands));
  for (int run = 0; run < 2; ++run) {
    context().submit_and_wait(commands);
    EXPECT_EQ(queries.read(0)[0], kPixels);
    EXPECT_EQ(queries.read(1)[0], kPixels);
  }
}

TEST_P(OcclusionMixed, the_sum_over_all_views_is_the_whole) {
  const bool one_view = driver_name() == "lavapipe";
  if (!emulated() && one_view) {
    GTEST_SKIP() << "lavapipe 22.3 counts the first view, and makes one query available";
  }
  constexpr uint32_t kViews = 5;  // two of three
  const RenderTarget target(context(), {.depth_format = VK_FORMAT_D32_SFLOAT, .view_mask = kViews});
  GraphicsPipelineInfo info = with_depth(VK_COMPARE_OP_LESS);
  info.view_mask = kViews;
  const Pipeline columns = make(full_screen_vert, depth_columns_frag, info);
  const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION, 4);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    pass(commands, target, [&] {
      query(commands, queries, 0, {&columns});  // the front half passes
      query(commands, queries, 2, {&columns});  // no sample does
    });
  });
  EXPECT_EQ(queries.read(0)[0] + queries.read(1)[0], one_view ? kPixels / 2 : kPixels);
  EXPECT_EQ(queries.read(2)[0] + queries.read(3)[0], 0u);
}

TALLY_EVERY_SOURCE(OcclusionMixed);

}  // namespace
}  // namespace tally::test
