// What the queries of each type count: the driver's own numbers, and numbers worked out by hand.
#include "amplify.geom.h"
#include "discard.frag.h"
#include "full_screen.vert.h"
#include "layered.mesh.h"
#include "level.tesc.h"
#include "level.tese.h"
#include "patch.vert.h"
#include "plain.frag.h"
#include "queries/kit.h"
#include "rectangle.vert.h"
#include "support/environment.h"
#include "tiny_triangles.vert.h"

namespace tally::test {
namespace {

constexpr VkShaderStageFlagBits kVertex = VK_SHADER_STAGE_VERTEX_BIT;
constexpr VkShaderStageFlagBits kFragment = VK_SHADER_STAGE_FRAGMENT_BIT;
constexpr VkShaderStageFlagBits kGeometry = VK_SHADER_STAGE_GEOMETRY_BIT;
constexpr VkShaderStageFlagBits kControl = VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT;
constexpr VkShaderStageFlagBits kEvaluation = VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT;

// Places of the bits in the results.
enum Statistic : size_t {
  kAssembledVertices,
  kAssembledPrimitives,
  kVertexInvocations,
  kGeometryInvocations,
  kGeometryPrimitives,
  kClippingInvocations,
  kClippingPrimitives,
  kFragmentInvocations,
  kPatches,
  kEvaluationInvocations,
  kComputeInvocations
};

class QueryTypes : public QueriesTest {
 protected:
  // The statistics of what `record` does between begin and end.
  template <typename Record>
  std::vector<uint64_t> statistics(Record&& record) {
    const Queries queries(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 1, kAllStatistics);
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      queries.begin(commands);
      record(commands);
      queries.end(commands);
    });
    return queries.read();
  }

  // Of a pass over a target of 64 x 64.
  template <typename Draw>
  std::vector<uint64_t> drawn(Draw&& draw_all) {
    const RenderTarget target(context());
    return statistics([&](VkCommandBuffer commands) {
      target.begin(commands);
      draw_all(commands);
      target.end(commands);
    });
  }

  void draw(VkCommandBuffer commands, VkPipeline pipeline, uint32_t vertices,
            uint32_t instances = 1, float level = 4) {
    vkCmdBindPipeline(commands, kGraphics, pipeline);
    vkCmdPushConstants(commands, layout(), VK_SHADER_STAGE_ALL, 0, sizeof level, &level);
    vkCmdDraw(commands, vertices, instances, 0, 0);
  }

  // The same with the driver's own queries; nothing where it has none.
  template <typename Scene>
  std::vector<uint64_t> of_driver(Scene&& scene) {
    start(false);
    return context().features().pipelineStatisticsQuery ? scene() : std::vector<uint64_t>{};
  }

  // lavapipe 22.3 counts all lanes that run: fragments that the triangle does not cover, too.
  static void expect_equal(std::vector<uint64_t> ours, const std::vector<uint64_t>& drivers) {
    if (driver_name() == "lavapipe") {
      EXPECT_LE(ours[kFragmentInvocations], drivers[kFragmentInvocations]);
      ours[kFragmentInvocations] = drivers[kFragmentInvocations];
    }
    // NVIDIA runs a vertex shader once for several instances where it does not ask which one it is;
    // the instrumented one asks.
    if (driver_name() == "nvidia") {
      EXPECT_GE(ours[kVertexInvocations], drivers[kVertexInvocations]);
      ours[kVertexInvocations] = drivers[kVertexInvocations];
    }
    EXPECT_EQ(ours, drivers);
  }

  static bool has(const std::vector<uint64_t>& numbers) { return !numbers.empty(); }
};

TEST_F(QueryTypes, statistics_of_triangles_are_the_drivers) {
  const auto scene = [&] {
    const Pipeline pipeline =
        make_graphics({{kVertex, tiny_triangles_vert}, {kFragment, plain_frag}});
    return drawn([&](VkCommandBuffer commands) { draw(commands, pipeline, 3 * 1000); });
  };
  start();
  const auto ours = scene();
  EXPECT_EQ(ours[kAssembledVertices], 3000u);
  EXPECT_EQ(ours[kAssembledPrimitives], 1000u);
  EXPECT_EQ(ours[kVertexInvocations], 3000u);
  EXPECT_EQ(ours[kClippingInvocations], 1000u);
  EXPECT_EQ(ours[kClippingPrimitives], 1000u);
  EXPECT_EQ(ours[kComputeInvocations], 0u);
  const auto drivers = of_driver(scene);
  if (has(drivers)) {
    expect_equal(ours, drivers);
  }
}

TEST_F(QueryTypes, statistics_of_a_strip_count_every_instance) {
  start();
  GraphicsPipelineInfo strip;
  strip.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP;
  const Pipeline pipeline =
      make_graphics({{kVertex, tiny_triangles_vert}, {kFragment, plain_frag}}, strip);
  const auto numbers = drawn([&](VkCommandBuffer commands) { draw(commands, pipeline, 10, 7); });
  EXPECT_EQ(numbers[kAssembledVertices], 70u);
  EXPECT_EQ(numbers[kAssembledPrimitives], 8u * 7);
  EXPECT_EQ(numbers[kClippingInvocations], 8u * 7);
}

TEST_F(QueryTypes, statistics_of_geometry_shaders_count_what_they_emit) {
  const auto scene = [&] {
    const Pipeline pipeline =
        make_graphics({{kVertex, patch_vert}, {kGeometry, amplify_geom}, {kFragment, plain_frag}});
    return drawn([&](VkCommandBuffer commands) { draw(commands, pipeline, 3 * 6); });
  };
  start();
  if (!context().features().geometryShader) GTEST_SKIP() << "no geometry shaders";
  auto ours = scene();
  EXPECT_EQ(ours[kGeometryInvocations], 6u * 2);
  EXPECT_EQ(ours[kGeometryPrimitives], 6u * 2 * 4);
  EXPECT_EQ(ours[kClippingInvocations], 6u * 2 * 4);
  auto drivers = of_driver(scene);
  if (!has(drivers)) return;
  // lavapipe 22.3 does not multiply by the shader's invocations.
  if (drivers[kGeometryInvocations] == 6) drivers[kGeometryInvocations] *= 2;
  expect_equal(ours, drivers);
}

TEST_F(QueryTypes, statistics_of_tessellation_are_the_drivers) {
  const auto scene = [&] {
    GraphicsPipelineInfo patches;
    patches.topology = VK_PRIMITIVE_TOPOLOGY_PATCH_LIST;
    patches.patch_control_points = 3;
    const Pipeline pipeline = make_graphics({{kVertex, patch_vert},
                                             {kControl, level_tesc},
                                             {kEvaluation, level_tese},
                                             {kFragment, plain_frag}},
                                            patches);
    return drawn([&](VkCommandBuffer commands) { draw(commands, pipeline, 3 * 5); });
  };
  start();
  if (!context().features().tessellationShader) GTEST_SKIP() << "no tessellation";
  auto ours = scene();
  EXPECT_EQ(ours[kPatches], 5u);
  auto drivers = of_driver(scene);
  if (!has(drivers)) return;
  // What the tessellator makes of a patch the layer cannot see.
  ours[kClippingInvocations] = drivers[kClippingInvocations];
  ours[kClippingPrimitives] = drivers[kClippingPrimitives];
  expect_equal(ours, drivers);
}

TEST_F(QueryTypes, statistics_of_dispatches_are_the_drivers) {
  const auto scene = [&] {
    const Pipeline pipeline = make_work();
    return statistics([&](VkCommandBuffer commands) {
      dispatch(commands, pipeline, 5);
      dispatch(commands, pipeline, 2);
    });
  };
  start();
  const auto ours = scene();
  EXPECT_EQ(ours[kComputeInvocations], 7u * 8);
  const auto drivers = of_driver(scene);
  if (has(drivers)) {
    expect_equal(ours, drivers);
  }
}

TEST_F(QueryTypes, commands_with_arguments_in_a_buffer_count_on_the_gpu) {
  const auto scene = [&] {
    const Pipeline graphics =
        make_graphics({{kVertex, tiny_triangles_vert}, {kFragment, plain_frag}});
    const Pipeline compute = make_work();
    const Buffer arguments(context(), 256,
                           VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    const RenderTarget target(context());
    // Three draws; the last one is only drawn where the number does not stand in a buffer.
    const uint32_t draws[] = {30, 2, 0, 0, 6, 1, 0, 0, 300, 1, 0, 0};
    const uint32_t groups[] = {2, 3, 1};
    return statistics([&](VkCommandBuffer commands) {
      vkCmdUpdateBuffer(commands, arguments, 0, sizeof draws, draws);
      vkCmdUpdateBuffer(commands, arguments, 64, sizeof groups, groups);
      full_barrier(commands);
      dispatch_indirect(commands, compute, arguments, 64);
      // What the command has read may change.
      vkCmdFillBuffer(commands, arguments, 64, 12, 1);
      full_barrier(commands);
      target.begin(commands);
      vkCmdBindPipeline(commands, kGraphics, graphics);
      vkCmdDrawIndirect(commands, arguments, 0, 3, 16);
      target.end(commands);
      full_barrier(commands);
    });
  };
  start();
  if (!context().features().multiDrawIndirect) GTEST_SKIP() << "no multi-draw";
  const auto ours = scene();
  EXPECT_EQ(ours[kAssembledVertices], 60u + 6 + 300);
  EXPECT_EQ(ours[kAssembledPrimitives], 20u + 2 + 100);
  EXPECT_EQ(ours[kClippingInvocations], 20u + 2 + 100);
  EXPECT_EQ(ours[kComputeInvocations], 6u * 8);
  const auto drivers = of_driver(scene);
  if (has(drivers)) {
    expect_equal(ours, drivers);
  }
}

TEST_F(QueryTypes, the_number_of_draws_may_stand_in_a_buffer) {
  start();
  VkPhysicalDeviceVulkan12Features core{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &core};
  vkGetPhysicalDeviceFeatures2(context().gpu(), &features);
  if (!core.drawIndirectCount) GTEST_SKIP() << "no drawIndirectCount";
  const Pipeline pipeline =
      make_graphics({{kVertex, tiny_triangles_vert}, {kFragment, plain_frag}});
  const Buffer arguments(context(), 64, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
  const uint32_t words[] = {30, 2, 0, 0, 6, 1, 0, 0, 300, 1, 0, 0, 2};
  std::ranges::copy(words, arguments.as<uint32_t>().begin());
  const auto numbers = drawn([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, kGraphics, pipeline);
    vkCmdDrawIndirectCount(commands, arguments, 0, arguments, 48, 3, 16);
  });
  EXPECT_EQ(numbers[kAssembledVertices], 60u + 6);
  EXPECT_EQ(numbers[kVertexInvocations], 60u + 6);
}

TEST_F(QueryTypes, rasterization_that_is_off_reaches_no_clipper) {
  start();
  GraphicsPipelineInfo discarding;
  discarding.rasterizer_discard = true;
  const Pipeline pipeline = make_graphics({{kVertex, tiny_triangles_vert}}, discarding);
  const auto numbers = drawn([&](VkCommandBuffer commands) { draw(commands, pipeline, 30); });
  EXPECT_EQ(numbers[kVertexInvocations], 30u);
  EXPECT_EQ(numbers[kClippingInvocations], 0u);
}

TEST_F(QueryTypes, occlusion_counts_samples_that_are_drawn) {
  const auto scene = [&](VkSampleCountFlagBits samples) {
    const RenderTarget target(context(), {.samples = samples});
    GraphicsPipelineInfo info;
    info.samples = samples;
    const Pipeline pipeline =
        make_graphics({{kVertex, tiny_triangles_vert}, {kFragment, plain_frag}}, info);
    const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION);
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      target.begin(commands);
      queries.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
      draw(commands, pipeline, 3 * 1000);
      queries.end(commands);
      target.end(commands);
    });
    return queries.read();
  };
  for (const VkSampleCountFlagBits samples : {VK_SAMPLE_COUNT_1_BIT, VK_SAMPLE_COUNT_4_BIT}) {
    start(false);
    const auto drivers = scene(samples);
    start();
    EXPECT_EQ(scene(samples), drivers) << samples;
  }
}

TEST_F(QueryTypes, occlusion_does_not_count_what_is_behind_or_discarded) {
  const auto scene = [&](std::span<const uint32_t> fragment) {
    const RenderTarget target(context(), {.depth_format = VK_FORMAT_D32_SFLOAT});
    GraphicsPipelineInfo info;
    info.depth_format = VK_FORMAT_D32_SFLOAT;
    info.depth_test = info.depth_write = true;
    const Pipeline pipeline =
        make_graphics({{kVertex, tiny_triangles_vert}, {kFragment, fragment}}, info);
    const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION);
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      target.begin(commands);
      draw(commands, pipeline, 3 * 100);
      queries.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
      draw(commands, pipeline, 3 * 200);  // half of it is there already
      queries.end(commands);
      target.end(commands);
    });
    return queries.read();
  };
  start(false);
  const auto drivers = scene(plain_frag);
  EXPECT_GT(drivers[0], 0u);
  start();
  EXPECT_EQ(scene(plain_frag), drivers);
}

TEST_F(QueryTypes, discarded_fragments_cover_no_samples) {
  start();
  const RenderTarget target(context());
  const Pipeline pipeline = make_graphics({{kVertex, full_screen_vert}, {kFragment, discard_frag}});
  const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    target.begin(commands);
    queries.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
    draw(commands, pipeline, 3);
    queries.end(commands);
    target.end(commands);
  });
  EXPECT_EQ(queries.read()[0], 64u * 64 / 2);
}

// --- primitives generated, mesh shaders, result status

class GeneratedPrimitives : public QueryTypes {
 protected:
  Context& start_with_feature(bool emulated) {
    ContextOptions options{.device_extensions = {VK_EXT_PRIMITIVES_GENERATED_QUERY_EXTENSION_NAME},
                           .device_next = &feature_};
    // The driver's own needs it.
    if (transform_feedback_) {
      options.device_extensions.push_back(VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME);
    }
    return start(emulated, options);
  }
  bool driver_has_it() {
    start(false);
    transform_feedback_ = context().has_extension(VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME);
    return context().has_extension(VK_EXT_PRIMITIVES_GENERATED_QUERY_EXTENSION_NAME);
  }
  uint64_t count(VkPipeline pipeline, uint32_t vertices, uint32_t instances = 1) {
    const RenderTarget target(context());
    const Queries queries(context(), VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT);
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      target.begin(commands);
      queries.begin(commands);
      draw(commands, pipeline, vertices, instances);
      queries.end(commands);
      target.end(commands);
    });
    return queries.read()[0];
  }

 private:
  bool transform_feedback_ = false;
  VkPhysicalDevicePrimitivesGeneratedQueryFeaturesEXT feature_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIMITIVES_GENERATED_QUERY_FEATURES_EXT, nullptr, VK_TRUE};
};

TEST_F(GeneratedPrimitives, are_those_that_the_last_stage_puts_out) {
  const bool native = driver_has_it();
  const auto scene = [&] {
    const Pipeline triangles =
        make_graphics({{kVertex, tiny_triangles_vert}, {kFragment, plain_frag}});
    GraphicsPipelineInfo strip;
    strip.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP;
    const Pipeline strips =
        make_graphics({{kVertex, tiny_triangles_vert}, {kFragment, plain_frag}}, strip);
    std::vector<uint64_t> counts = {count(triangles, 31), count(strips, 10, 3)};
    if (context().features().geometryShader) {
      const Pipeline amplified = make_graphics(
          {{kVertex, patch_vert}, {kGeometry, amplify_geom}, {kFragment, plain_frag}});
      counts.push_back(count(amplified, 9));
    }
    return counts;
  };
  start_with_feature(true);
  const auto ours = scene();
  EXPECT_EQ(ours[0], 10u);
  EXPECT_EQ(ours[1], 24u);
  if (ours.size() > 2) {
    EXPECT_EQ(ours[2], 3u * 2 * 4);
  }
  if (!native) return;
  start_with_feature(false);
  EXPECT_EQ(ours, scene());
}

class MeshQueries : public QueryTypes {};

TEST_F(MeshQueries, count_invocations_and_primitives) {
  start(false);
  if (!context().has_extension(VK_EXT_MESH_SHADER_EXTENSION_NAME)) {
    GTEST_SKIP() << "no mesh shaders";
  }
  VkPhysicalDeviceMeshShaderFeaturesEXT mesh{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MESH_SHADER_FEATURES_EXT};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &mesh};
  vkGetPhysicalDeviceFeatures2(context().gpu(), &features);
  const bool native = mesh.meshShaderQueries == VK_TRUE;
  mesh.pNext = nullptr;
  mesh.meshShaderQueries = VK_TRUE;
  mesh.multiviewMeshShader = mesh.primitiveFragmentShadingRateMeshShader = VK_FALSE;
  const ContextOptions options{.device_extensions = {VK_EXT_MESH_SHADER_EXTENSION_NAME},
                               .device_next = &mesh};
  const auto scene = [&] {
    const Pipeline pipeline =
        make_graphics({{VK_SHADER_STAGE_MESH_BIT_EXT, layered_mesh}, {kFragment, plain_frag}});
    const RenderTarget target(context(), {.layers = 4});
    const Queries statistics(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 1,
                             VK_QUERY_PIPELINE_STATISTIC_MESH_SHADER_INVOCATIONS_BIT_EXT);
    const Queries primitives(context(), VK_QUERY_TYPE_MESH_PRIMITIVES_GENERATED_EXT);
    const auto draw_mesh = context().function<PFN_vkCmdDrawMeshTasksEXT>("vkCmdDrawMeshTasksEXT");
    context().run([&](VkCommandBuffer commands) {
      statistics.reset(commands);
      primitives.reset(commands);
      target.begin(commands);
      vkCmdBindPipeline(commands, kGraphics, pipeline);
      statistics.begin(commands);
      primitives.begin(commands);
      draw_mesh(commands, 4, 1, 1);
      primitives.end(commands);
      statistics.end(commands);
      target.end(commands);
    });
    return std::pair(statistics.read()[0], primitives.read()[0]);
  };
  start(true, options);
  const auto ours = scene();
  EXPECT_EQ(ours, std::pair(uint64_t{4 * 3}, uint64_t{4}));
  if (!native) return;
  start(false, options);
  EXPECT_EQ(ours, scene());
}

class ResultStatus : public QueryTypes {
 protected:
  int32_t status(const Queries& queries) {
    int32_t value = 77;
    check(vkGetQueryPoolResults(context().device(), queries, 0, 1, sizeof value, &value,
                                sizeof value, VK_QUERY_RESULT_WITH_STATUS_BIT_KHR));
    return value;
  }
};

TEST_F(ResultStatus, is_supported_by_every_family) {
  start();
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties2(context().gpu(), &count, nullptr);
  std::vector<VkQueueFamilyQueryResultStatusPropertiesKHR> status(
      count, {VK_STRUCTURE_TYPE_QUEUE_FAMILY_QUERY_RESULT_STATUS_PROPERTIES_KHR});
  std::vector<VkQueueFamilyProperties2> families;
  for (auto& one : status) {
    families.push_back({VK_STRUCTURE_TYPE_QUEUE_FAMILY_PROPERTIES_2, &one});
  }
  vkGetPhysicalDeviceQueueFamilyProperties2(context().gpu(), &count, families.data());
  for (const auto& one : status) EXPECT_TRUE(one.queryResultStatusSupport);
}

TEST_F(ResultStatus, of_work_that_ran_is_complete) {
  start();
  const Queries queries(context(), VK_QUERY_TYPE_RESULT_STATUS_ONLY_KHR);
  const Pipeline pipeline = make_work();
  context().run([&](VkCommandBuffer commands) { queries.reset(commands); });
  int32_t value = 77;
  EXPECT_EQ(vkGetQueryPoolResults(context().device(), queries, 0, 1, sizeof value, &value,
                                  sizeof value, VK_QUERY_RESULT_WITH_STATUS_BIT_KHR),
            VK_NOT_READY);
  EXPECT_EQ(value, VK_QUERY_RESULT_STATUS_NOT_READY_KHR);
  context().run([&](VkCommandBuffer commands) {
    queries.begin(commands);
    dispatch(commands, pipeline, 1);
    queries.end(commands);
  });
  EXPECT_EQ(status(queries), VK_QUERY_RESULT_STATUS_COMPLETE_KHR);
}

// Its push constants and sets leave no room for the address of a record.
TEST_F(ResultStatus, of_a_query_whose_shaders_could_not_be_counted_is_an_error) {
  start(true, {}, {{"record_address", "push_constant"}});
  const uint32_t all = context().properties().limits.maxPushConstantsSize;
  const PipelineLayout full = make_pipeline_layout(context(), {}, all);
  GraphicsPipelineInfo info;
  info.stages = {{kVertex, full_screen_vert}, {kFragment, plain_frag}};
  info.layout = full;
  const Pipeline pipeline = make_graphics_pipeline(context(), info);
  const RenderTarget target(context());
  const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    target.begin(commands);
    vkCmdBindPipeline(commands, kGraphics, pipeline);
    queries.begin(commands);
    vkCmdDraw(commands, 3, 1, 0, 0);
    queries.end(commands);
    target.end(commands);
  });
  struct {
    uint32_t samples;
    int32_t status;
  } result = {};
  check(vkGetQueryPoolResults(context().device(), queries, 0, 1, sizeof result, &result,
                              sizeof result, VK_QUERY_RESULT_WITH_STATUS_BIT_KHR));
  EXPECT_EQ(result.status, VK_QUERY_RESULT_STATUS_ERROR_KHR);
}

}  // namespace
}  // namespace tally::test
