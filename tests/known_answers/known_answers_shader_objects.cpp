// Compares counts of shader objects with those of pipelines of the same shaders, and the image with
// that of a device without the layer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "amplify.geom.h"
#include "branchy.frag.h"
#include "control_flow.comp.h"
#include "fan.mesh.h"
#include "fan.task.h"
#include "full_screen.vert.h"
#include "last_constant.comp.h"
#include "level.tesc.h"
#include "level.tese.h"
#include "orange.frag.h"
#include "patch.vert.h"
#include "plain.frag.h"
#include "rectangle.vert.h"
#include "support/instrumentation.h"
#include "support/render_target.h"
#include "support/shader_objects.h"
#include "support/stages.h"

namespace tally::test {
namespace {

constexpr uint32_t kPushBytes = 32;
// left, top, right, bottom; the target's size. level.tesc takes the first as its level.
constexpr std::array<float, 8> kPush = {4, 8, 40, 60, 64, 64, 0.5f};

const Stage kRectangle = {kVertex, rectangle_vert};
const Stage kPatch = {kVertex, patch_vert};
const Stage kLevel = {kControl, level_tesc};
const Stage kLevels = {kEvaluation, level_tese};
const Stage kAmplify = {kGeometry, amplify_geom};
const Stage kBranchy = {kFragment, branchy_frag};
const Stage kPlain = {kFragment, plain_frag};
const Stage kFullScreen = {kVertex, full_screen_vert};
const Stage kOrange = {kFragment, orange_frag};

enum class Linking { Separate, Linked };

// What all commands counted: every header with every metric but those of subgroups, into which
// drivers pack the invocations of two pipelines differently.
using Values = std::vector<std::pair<std::array<uint32_t, 3>, std::vector<uint64_t>>>;

Values values_of(const Instrumentation& instrumentation) {
  Values values;
  for (const BlockValues& block : instrumentation.read()) {
    std::vector<uint64_t> metrics = block.metrics;
    metrics.at(instrumentation.metric("subgroups")) = 0;
    metrics.at(instrumentation.metric("subgroup_lanes")) = 0;
    values.emplace_back(
        std::array{block.header.resultIndex, block.header.stages, block.header.basicBlockIndex},
        std::move(metrics));
  }
  return values;
}

std::vector<uint32_t> stages_of(const Values& values) {
  std::vector<uint32_t> stages;
  for (const auto& [header, metrics] : values) {
    if (stages.empty() || stages.back() != header[1]) stages.push_back(header[1]);
  }
  return stages;
}

class ShaderObjectAnswers : public testing::Test {
 protected:
  struct Scene {
    std::vector<Stage> stages;
    uint32_t vertices = 4;
    VkPrimitiveTopology topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP;
  };
  struct Drawn {
    Values values;
    std::vector<uint32_t> image;
  };
  static Scene all_stages() {
    return {{kPatch, kLevel, kLevels, kAmplify, kBranchy}, 6, VK_PRIMITIVE_TOPOLOGY_PATCH_LIST};
  }

  void SetUp() override {
    context_ = make_shader_object_context(true);
    if (!context_) GTEST_SKIP() << "no shader objects";
    target_.emplace(*context_);
    layout_ = make_pipeline_layout(*context_, {}, kPushBytes);
  }

  // The infos of shaders that are bound together.
  static std::vector<ShaderObjectInfo> infos(const std::vector<Stage>& stages, Linking linking,
                                             VkShaderCreateFlagsEXT flags) {
    if (linking == Linking::Linked) flags |= VK_SHADER_CREATE_LINK_STAGE_BIT_EXT;
    std::vector<ShaderObjectInfo> result;
    for (size_t i = 0; i < stages.size(); ++i) {
      const VkShaderStageFlags next = i + 1 < stages.size() ? stages[i + 1].stage : 0;
      result.push_back({stages[i], next, flags, {}, kPushBytes, {}});
    }
    return result;
  }

  template <typename Record>
  Drawn measure(Record&& record) {
    Instrumentation instrumentation(*context_);
    context_->run([&](VkCommandBuffer commands) {
      instrumentation.begin(commands);
      target_->begin(commands);
      push(commands);
      record(commands);
      target_->end(commands);
      instrumentation.end(commands);
      full_barrier(commands);
    });
    return {values_of(instrumentation), target_->read()};
  }
  void push(VkCommandBuffer commands) const {
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, kPushBytes, kPush.data());
  }

  Drawn draw_pipeline(const Scene& scene) {
    const Pipeline pipeline = make_graphics_pipeline(
        *context_,
        {.stages = scene.stages,
         .layout = layout_,
         .topology = scene.topology,
         .patch_control_points = scene.topology == VK_PRIMITIVE_TOPOLOGY_PATCH_LIST ? 3u : 0u,
         .next = &kInstrument});
    return measure([&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
      vkCmdDraw(commands, scene.vertices, 1, 0, 0);
    });
  }
  void prepare(VkCommandBuffer commands, const Scene& scene) const {
    set_draw_state(*context_, commands, {.topology = scene.topology});
    unbind_graphics_shaders(*context_, commands);
  }
  Drawn draw_objects(const Scene& scene, Linking linking) {
    const ShaderObjects shaders(
        *context_, infos(scene.stages, linking, VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM));
    return measure([&](VkCommandBuffer commands) {
      prepare(commands, scene);
      shaders.bind(commands);
      vkCmdDraw(commands, scene.vertices, 1, 0, 0);
    });
  }
  // On a device without the layer.
  static std::vector<uint32_t> draw_bare(const Scene& scene, Linking linking) {
    const auto bare = make_shader_object_context(false);
    const RenderTarget target(*bare);
    const PipelineLayout layout = make_pipeline_layout(*bare, {}, kPushBytes);
    const ShaderObjects shaders(*bare, infos(scene.stages, linking, 0));
    bare->run([&](VkCommandBuffer commands) {
      target.begin(commands);
      vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_ALL, 0, kPushBytes, kPush.data());
      set_draw_state(*bare, commands, {.topology = scene.topology});
      unbind_graphics_shaders(*bare, commands);
      shaders.bind(commands);
      vkCmdDraw(commands, scene.vertices, 1, 0, 0);
      target.end(commands);
    });
    return target.read();
  }
  void expect_as_in_a_pipeline(const Scene& scene) {
    const Drawn pipeline = draw_pipeline(scene);
    ASSERT_EQ(stages_of(pipeline.values).size(), scene.stages.size());
    for (const Linking linking : {Linking::Separate, Linking::Linked}) {
      const Drawn objects = draw_objects(scene, linking);
      EXPECT_EQ(objects.values, pipeline.values);
      EXPECT_EQ(objects.image, pipeline.image);
      EXPECT_EQ(objects.image, draw_bare(scene, linking));
    }
  }
  std::vector<std::string> notices() const {
    std::vector<std::string> texts;
    for (const Message& message : context_->messages()) {
      if (message.id == "TALLY-uninstrumented-shader") texts.push_back(message.text);
    }
    return texts;
  }

  std::unique_ptr<Context> context_;
  std::optional<RenderTarget> target_;
  PipelineLayout layout_;
};

TEST_F(ShaderObjectAnswers, two_stages_count_as_in_a_pipeline) {
  expect_as_in_a_pipeline({{kRectangle, kBranchy}});
  EXPECT_THAT(notices(), testing::IsEmpty());
}

TEST_F(ShaderObjectAnswers, tessellation_and_geometry_count_as_in_a_pipeline) {
  expect_as_in_a_pipeline(all_stages());
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
  const uint32_t trips = 2;
  const VkSpecializationMapEntry entry = {0, 0, sizeof trips};
  const VkSpecializationInfo specialization = {1, &entry, sizeof trips, &trips};
  const Stage stage = {kCompute, control_flow_comp, "main", &specialization};
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
    EXPECT_EQ(Counts(instrumentation, kCompute, control_flow_comp, 0).at("trips"), 128u * 2);
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

// lavapipe 25.0 crashes where the push constants of two shaders are more than 256 bytes, all are
// between 0 and 1, and a constant colour fills a tile (PushGuard): with the layer's ranges they are
// more.
class SmallPushConstants : public ShaderObjectAnswers {
 protected:
  static constexpr std::array<float, 64> kSmall = {0, 1, 0.5f};

  // Updates push constants. Their layouts outlive the recording.
  struct Pushes {
    Context& context;
    std::vector<PipelineLayout> layouts;
    void push(VkCommandBuffer commands, uint32_t bytes) {
      layouts.push_back(make_pipeline_layout(context, {}, bytes));
      vkCmdPushConstants(commands, layouts.back(), VK_SHADER_STAGE_ALL, 0, bytes, kSmall.data());
    }
    void push_all(VkCommandBuffer commands) {
      const uint32_t all = context.properties().limits.maxPushConstantsSize;
      push(commands, std::min<uint32_t>(all, sizeof kSmall));
    }
  };

  // Records `before`, then fills a target with orange.
  template <typename Record>
  std::vector<uint32_t> draw(Context& context, VkShaderCreateFlagsEXT vertex_flags,
                             Record&& before) {
    constexpr VkExtent2D kTiles = {256, 256};
    std::vector<ShaderObjectInfo> created = infos({kFullScreen, kOrange}, Linking::Separate, 0);
    created[0].flags = vertex_flags;
    const RenderTarget target(context, {.extent = kTiles});
    const ShaderObjects shaders(context, created);
    Pushes pushes{context, {}};
    context.run([&](VkCommandBuffer commands) {
      before(pushes, commands);
      target.begin(commands);
      set_draw_state(context, commands, {.extent = kTiles});
      unbind_graphics_shaders(context, commands);
      shaders.bind(commands);
      vkCmdDraw(commands, 3, 1, 0, 0);
      target.end(commands);
    });
    return target.read();
  }
  template <typename Record>
  void expect_the_same(Record&& before) {
    const std::vector<uint32_t> bare = draw(*make_shader_object_context(false), 0, before);
    EXPECT_EQ(draw(*context_, 0, before), bare);
    EXPECT_EQ(draw(*context_, VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM, before), bare);
  }
};

TEST_F(SmallPushConstants, draw_the_same_constant_colour) {
  expect_the_same([](Pushes& pushes, VkCommandBuffer commands) {  //
    pushes.push(commands, kPushBytes);
  });
}

TEST_F(SmallPushConstants, draw_the_same_after_others_filled_all_push_constants) {
  expect_the_same([](Pushes& pushes, VkCommandBuffer commands) {  //
    pushes.push_all(commands);
  });
  expect_the_same([](Pushes& pushes, VkCommandBuffer commands) {
    pushes.push_all(commands);
    pushes.push(commands, kPushBytes);
  });
  expect_the_same([](Pushes& pushes, VkCommandBuffer commands) {
    const VkCommandBuffer secondary = pushes.context.begin_secondary();
    pushes.push_all(secondary);
    check(vkEndCommandBuffer(secondary));
    vkCmdExecuteCommands(commands, 1, &secondary);
  });
}

TEST_F(SmallPushConstants, a_draw_leaves_those_of_others_as_they_are) {
  constexpr uint32_t kAll = sizeof kSmall;
  if (context_->properties().limits.maxPushConstantsSize != kAll) GTEST_SKIP() << "not 256 bytes";
  const Buffer value(*context_, 4);
  const StorageSet set(*context_, {value});
  const VkDescriptorSetLayout set_layout = set.layout();
  const PipelineLayout layout = make_pipeline_layout(*context_, {&set_layout, 1}, kAll);
  const Pipeline pipeline = make_compute_pipeline(
      *context_, {.shader = {kCompute, last_constant_comp}, .layout = layout});
  const ShaderObjects shaders(*context_, infos({kFullScreen, kOrange}, Linking::Separate, 0));
  std::array<float, 64> constants = kSmall;
  constants.back() = 0.25f;
  context_->run([&](VkCommandBuffer commands) {
    vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_ALL, 0, kAll, constants.data());
    target_->begin(commands);
    prepare(commands, {});
    shaders.bind(commands);
    vkCmdDraw(commands, 3, 1, 0, 0);
    target_->end(commands);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    set.bind(commands, layout);
    vkCmdDispatch(commands, 1, 1, 1);
    full_barrier(commands);
  });
  EXPECT_EQ(value.as<float>()[0], 0.25f);
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

// Of linked shaders the unflagged ones stay uncounted, and the others count.
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

TEST_F(ShaderObjectAnswers, a_binary_of_this_process_counts) {
  const Scene scene = {{kRectangle, kBranchy}};
  const Drawn expected = draw_pipeline(scene);
  const ShaderObjects source(*context_, infos(scene.stages, Linking::Separate, 0));
  std::vector<ShaderObjectInfo> created =
      infos(scene.stages, Linking::Separate, VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM);
  const std::vector<std::byte> vertex = source.binary(0);
  const std::vector<std::byte> fragment = source.binary(1);
  created[0].binary = vertex;
  created[1].binary = fragment;
  const ShaderObjects shaders(*context_, created);
  const Drawn drawn = measure([&](VkCommandBuffer commands) {
    prepare(commands, scene);
    shaders.bind(commands);
    vkCmdDraw(commands, 4, 1, 0, 0);
  });
  EXPECT_EQ(drawn.values, expected.values);
  EXPECT_EQ(drawn.image, expected.image);
}

TEST_F(ShaderObjectAnswers, the_binary_is_that_of_the_application) {
  const auto bare = make_shader_object_context(false);
  const ShaderObjects with(*context_, infos({kRectangle, kBranchy}, Linking::Separate,
                                            VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM));
  const ShaderObjects without(*bare, infos({kRectangle, kBranchy}, Linking::Separate, 0));
  for (const size_t i : {0u, 1u}) EXPECT_EQ(with.binary(i), without.binary(i)) << i;
}

TEST_F(ShaderObjectAnswers, a_binary_of_unknown_origin_runs_and_is_named) {
  std::vector<std::byte> binary;
  {
    const auto bare = make_shader_object_context(false);
    binary = ShaderObjects(*bare, infos({kRectangle, kBranchy}, Linking::Separate, 0)).binary(1);
  }
  std::vector<ShaderObjectInfo> created =
      infos({kRectangle, kBranchy}, Linking::Separate, VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM);
  created[1].binary = binary;
  const ShaderObjects shaders(*context_, created);
  const Drawn drawn = measure([&](VkCommandBuffer commands) {
    prepare(commands, {});
    shaders.bind(commands);
    vkCmdDraw(commands, 4, 1, 0, 0);
  });
  EXPECT_THAT(stages_of(drawn.values), testing::ElementsAre(kVertex));
  EXPECT_EQ(drawn.image, draw_bare({{kRectangle, kBranchy}}, Linking::Separate));
  EXPECT_THAT(notices(),
              testing::ElementsAre(testing::HasSubstr(
                  "runs uninstrumented: it was created from a binary whose SPIR-V is not known")));
}

}  // namespace
}  // namespace tally::test
