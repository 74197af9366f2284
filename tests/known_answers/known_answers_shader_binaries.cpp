// Shader objects that are created from binaries: which of them count, and whose the binaries are.
#include <gmock/gmock.h>

#include <cstddef>

#include "shader_object_answers.h"

namespace tally::test {
namespace {

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
  // A binary of lavapipe 26 holds the size of the push constants, which the layer enlarges.
  std::vector<ShaderObjectInfo> enlarged = infos({kRectangle, kBranchy}, Linking::Separate, 0);
  for (ShaderObjectInfo& info : enlarged)
    info.push_bytes = bare->properties().limits.maxPushConstantsSize;
  const ShaderObjects larger(*bare, enlarged);
  for (const size_t i : {0u, 1u}) {
    EXPECT_THAT(with.binary(i), testing::AnyOf(without.binary(i), larger.binary(i))) << i;
  }
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
