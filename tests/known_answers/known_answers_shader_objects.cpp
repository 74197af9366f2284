// Compares counts of shader objects with those of pipelines of the same shaders, and the image with
// the image of a device without the layer.
#include <gmock/gmock.h>

#include <algorithm>
#include <span>

#include "amplify.geom.h"
#include "fan.mesh.h"
#include "fan.task.h"
#include "level.tesc.h"
#include "level.tese.h"
#include "patch.vert.h"
#include "plain.frag.h"
#include "shader_object_answers.h"
#include "specialized.comp.h"

namespace tally::test {
namespace {

const Stage kPatch = {kVertex, patch_vert};
const Stage kLevel = {kControl, level_tesc};
const Stage kLevels = {kEvaluation, level_tese};
const Stage kAmplify = {kGeometry, amplify_geom};
const Stage kPlain = {kFragment, plain_frag};

TEST_F(ShaderObjectAnswers, two_stages_count_as_in_a_pipeline) {
  expect_as_in_a_pipeline({{kRectangle, kBranchy}});
  EXPECT_THAT(notices(), testing::IsEmpty());
}

TEST_F(ShaderObjectAnswers, tessellation_and_geometry_count_as_in_a_pipeline) {
  expect_as_in_a_pipeline(
      {{kPatch, kLevel, kLevels, kAmplify, kBranchy}, 6, VK_PRIMITIVE_TOPOLOGY_PATCH_LIST});
  expect_as_in_a_pipeline({{kPatch, kLevel, kLevels, kPlain}, 6, VK_PRIMITIVE_TOPOLOGY_PATCH_LIST});
  expect_as_in_a_pipeline({{kPatch, kAmplify, kPlain}, 6, VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST});
  EXPECT_THAT(notices(), testing::IsEmpty());
}

TEST_F(ShaderObjectAnswers, task_and_mesh_shaders_count_as_worked_out_by_hand) {
  if (!context_->has_extension(VK_EXT_MESH_SHADER_EXTENSION_NAME))
    GTEST_SKIP() << "no mesh shaders";
  for (const Linking linking : {Linking::Separate, Linking::Linked}) {
    const ShaderObjects shaders(*context_,
                                infos({{kTask, fan_task}, {kMesh, fan_mesh}, kPlain}, linking,
                                      VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM));
    const Instrumentation instrumentation(*context_);
    context_->run([&](VkCommandBuffer commands) {
      instrumentation.begin(commands);
      target_->begin(commands);
      push(commands);
      prepare(commands, {});
      shaders.bind(commands);
      context_->function<PFN_vkCmdDrawMeshTasksEXT>("vkCmdDrawMeshTasksEXT")(commands, 2, 1, 1);
      target_->end(commands);
      instrumentation.end(commands);
      full_barrier(commands);
    });
    EXPECT_EQ(Counts(instrumentation, kTask, fan_task).invocations(), 2u * 2);
    EXPECT_EQ(Counts(instrumentation, kMesh, fan_mesh).at("round"), 2u * 3 * 4 * 5);
    EXPECT_EQ(Counts(instrumentation, kFragment, plain_frag).invocations(), uint64_t{6} * 64 * 64);
  }
}

TEST_F(ShaderObjectAnswers, a_mesh_shader_counts_without_a_task_shader) {
  if (!context_->has_extension(VK_EXT_MESH_SHADER_EXTENSION_NAME))
    GTEST_SKIP() << "no mesh shaders";
  constexpr VkShaderCreateFlagsEXT kNoTaskShader = 0x8;
  std::vector<ShaderObjectInfo> created = infos({{kMesh, fan_mesh}, kPlain}, Linking::Separate,
                                                VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM);
  created[0].flags |= kNoTaskShader;
  const ShaderObjects shaders(*context_, created);
  const Instrumentation instrumentation(*context_);
  context_->run([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    target_->begin(commands);
    push(commands);
    prepare(commands, {});
    shaders.bind(commands);
    context_->function<PFN_vkCmdDrawMeshTasksEXT>("vkCmdDrawMeshTasksEXT")(commands, 3, 1, 1);
    target_->end(commands);
    instrumentation.end(commands);
    full_barrier(commands);
  });
  EXPECT_EQ(Counts(instrumentation, kMesh, fan_mesh).invocations(), 3u * 4);
  EXPECT_EQ(Counts(instrumentation, kFragment, plain_frag).invocations(), uint64_t{3} * 64 * 64);
}

TEST_F(ShaderObjectAnswers, compute_shaders_count_with_specialization_and_descriptors) {
  const Buffer data(*context_, 4096);
  const StorageSet set(*context_, {data});
  const VkDescriptorSetLayout set_layout = set.layout();
  const PipelineLayout layout = make_pipeline_layout(*context_, {&set_layout, 1});
  const uint32_t constants[] = {8, 5};  // of the workgroup and of the array
  const VkSpecializationMapEntry entries[] = {{0, 0, 4}, {1, 4, 4}};
  const VkSpecializationInfo specialization = {2, entries, sizeof constants, constants};
  const Stage stage = {kCompute, specialized_comp, "main", &specialization};
  const Pipeline pipeline =
      make_compute_pipeline(*context_, {.shader = stage, .layout = layout, .next = &kInstrument});
  const ShaderObjects shader(*context_, {{.shader = stage, .sets = {set_layout}}});
  const auto measure = [&](const auto& bind) {
    const Instrumentation instrumentation(*context_);
    context_->run([&](VkCommandBuffer commands) {
      set.bind(commands, layout);
      instrumentation.begin(commands);
      bind(commands);
      vkCmdDispatch(commands, 4, 1, 1);
      vkCmdDispatch(commands, 2, 1, 1);
      instrumentation.end(commands);
      full_barrier(commands);
    });
    const Counts counts(instrumentation, kCompute, specialized_comp, 0);
    EXPECT_EQ(counts.at("trips"), 4u * 8 * 3);
    EXPECT_EQ(counts.total("shared_bytes_loaded"), 4u * 8 * 5 * 4);
    return values_of(instrumentation);
  };
  const Values expected = measure([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  });
  EXPECT_EQ(measure([&](VkCommandBuffer commands) { shader.bind(commands); }), expected);
}

// Each of two vertex shaders with each of two fragment shaders, which change one at a time.
TEST_F(ShaderObjectAnswers, any_combination_of_separate_shaders_counts) {
  const std::array<std::span<const uint32_t>, 2> fragments = {branchy_frag, plain_frag};
  const ShaderObjects vertex(*context_, {{kRectangle, kFragment, 0x800, {}, kPushBytes, {}},
                                         {kPatch, kFragment, 0x800, {}, kPushBytes, {}}});
  const ShaderObjects fragment(*context_, {{kBranchy, 0, 0x800, {}, kPushBytes, {}},
                                           {kPlain, 0, 0x800, {}, kPushBytes, {}}});
  const Instrumentation instrumentation(*context_);
  context_->run([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    target_->begin(commands);
    push(commands);
    prepare(commands, {});
    for (size_t v = 0; v < 2; ++v) {
      bind_shader(*context_, commands, kVertex, vertex[v]);
      for (size_t f = 0; f < 2; ++f) {
        bind_shader(*context_, commands, kFragment, fragment[f]);
        vkCmdDraw(commands, 4, 1, 0, 0);
      }
    }
    target_->end(commands);
    instrumentation.end(commands);
    full_barrier(commands);
  });
  constexpr uint64_t kRectanglePixels = 36 * 52;
  for (uint32_t draw = 0; draw < 4; ++draw) {
    const auto code = draw < 2 ? std::span<const uint32_t>(rectangle_vert) : patch_vert;
    EXPECT_EQ(Counts(instrumentation, kVertex, code, draw).invocations(), 4u) << draw;
    const Counts pixels(instrumentation, kFragment, fragments[draw % 2], draw);
    if (draw < 2) {
      EXPECT_EQ(pixels.invocations(), kRectanglePixels) << draw;
    }
    if (draw == 0) {
      EXPECT_EQ(pixels.at("even"), pixels.at("odd"));
    }
  }
}

TEST_F(ShaderObjectAnswers, shaders_without_the_flag_are_not_reported) {
  std::vector<ShaderObjectInfo> created = infos({kRectangle, kBranchy}, Linking::Separate, 0);
  created[0].flags = VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM;
  const ShaderObjects mixed(*context_, created);
  const ShaderObjects plain(*context_, infos({kRectangle, kBranchy}, Linking::Linked, 0));
  const Drawn drawn = measure([&](VkCommandBuffer commands) {
    prepare(commands, {});
    plain.bind(commands);
    vkCmdDraw(commands, 4, 1, 0, 0);
    mixed.bind(commands);
    vkCmdDraw(commands, 4, 1, 0, 0);
  });
  EXPECT_THAT(stages_of(drawn.values), testing::ElementsAre(kVertex));
  for (const auto& [header, metrics] : drawn.values) EXPECT_EQ(header[0], 1u);
  EXPECT_EQ(drawn.image, draw_bare({{kRectangle, kBranchy}}, Linking::Separate));
}

// Among linked shaders the unflagged ones stay uncounted, and the others count.
TEST_F(ShaderObjectAnswers, one_linked_stage_may_count_alone) {
  std::vector<ShaderObjectInfo> created =
      infos({kRectangle, kBranchy}, Linking::Linked, VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM);
  created[0].flags &= ~VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM;
  const ShaderObjects shaders(*context_, created);
  const Drawn drawn = measure([&](VkCommandBuffer commands) {
    prepare(commands, {});
    shaders.bind(commands);
    vkCmdDraw(commands, 4, 1, 0, 0);
  });
  EXPECT_THAT(stages_of(drawn.values), testing::ElementsAre(kFragment));
  EXPECT_EQ(drawn.image, draw_bare({{kRectangle, kBranchy}}, Linking::Linked));
}

TEST_F(ShaderObjectAnswers, pipelines_and_shader_objects_replace_each_other) {
  const Pipeline pipeline =
      make_graphics_pipeline(*context_, {.stages = {kRectangle, kPlain},
                                         .layout = layout_,
                                         .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP,
                                         .next = &kInstrument});
  const ShaderObjects shaders(*context_, infos({kRectangle, kBranchy}, Linking::Separate,
                                               VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM));
  const Instrumentation instrumentation(*context_);
  context_->run([&](VkCommandBuffer commands) {
    target_->begin(commands);
    push(commands);
    prepare(commands, {});
    shaders.bind(commands);
    vkCmdDraw(commands, 4, 1, 0, 0);  // before the range: not counted
    instrumentation.begin(commands);
    vkCmdDraw(commands, 4, 1, 0, 0);  // 0: objects that were bound before
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    target_->set_viewport(commands);
    vkCmdDraw(commands, 4, 1, 0, 0);  // 1: the pipeline
    prepare(commands, {});
    shaders.bind(commands);
    vkCmdDraw(commands, 4, 1, 0, 0);  // 2: objects
    vkCmdDraw(commands, 4, 2, 0, 0);  // 3
    instrumentation.end(commands);
    vkCmdDraw(commands, 4, 1, 0, 0);  // after it
    target_->end(commands);
    full_barrier(commands);
  });
  constexpr uint64_t kPixels = 36 * 52;
  const auto pixels = [&](std::span<const uint32_t> code, uint32_t result) {
    return Counts(instrumentation, kFragment, code, result).invocations();
  };
  EXPECT_EQ(pixels(branchy_frag, 0), kPixels);
  EXPECT_EQ(pixels(plain_frag, 1), kPixels);
  EXPECT_EQ(pixels(branchy_frag, 2), kPixels);
  EXPECT_EQ(pixels(branchy_frag, 3), 2 * kPixels);
  const Values values = values_of(instrumentation);
  EXPECT_EQ(values.back().first[0], 3u);
  EXPECT_TRUE(std::ranges::is_sorted(values, {}, [](const auto& one) { return one.first; }));
}

// With rasterizer discard, no fragment shader is bound.
TEST_F(ShaderObjectAnswers, a_vertex_shader_counts_without_a_fragment_shader) {
  const ShaderObjects vertex(*context_, {{kRectangle, 0, 0x800, {}, kPushBytes, {}}});
  const Drawn drawn = measure([&](VkCommandBuffer commands) {
    set_draw_state(*context_, commands,
                   {.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP, .rasterizer_discard = true});
    unbind_graphics_shaders(*context_, commands);
    vertex.bind(commands);
    vkCmdDraw(commands, 4, 3, 0, 0);
  });
  EXPECT_THAT(stages_of(drawn.values), testing::ElementsAre(kVertex));
  EXPECT_EQ(drawn.values.front().second[0], 12u);
}

}  // namespace
}  // namespace tally::test
