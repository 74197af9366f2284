// What queries count of primitives that the tessellator makes.
#include <limits>
#include <spirv/unified1/spirv.hpp11>

#include "api/queries/scenes.h"
#include "domain.tese.h"
#include "levels.tesc.h"
#include "patch.vert.h"
#include "plain.frag.h"
#include "points.tese.h"
#include "waits.tesc.h"

namespace tally::test {
namespace {

constexpr uint32_t kPatchCount = 2;

struct Levels {
  float outer[4];
  float inner[2];
};
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
const Levels kLevels[] = {
    {{1, 1, 1, 1}, {1, 1}},       {{4, 4, 4, 4}, {4, 4}},
    {{1, 1, 1, 1}, {5, 2}},       {{3, 1, 1, 1}, {1, 1}},
    {{1, 1, 1, 1}, {1.5f, 1}},    {{2.25f, 5.5f, 7, 3.75f}, {6.5f, 2.5f}},
    {{7, 2, 9, 3}, {1, 8}},       {{0.25f, 0.5f, 3, 1}, {0.5f, 0}},
    {{64, 64, 64, 64}, {64, 64}}, {{100, 63.5f, 62.5f, 64.5f}, {kInfinity, 63}},
    {{3, 4, 5, 6}, {kNaN, 3}},    {{3, 4, 5, 6}, {-1, 0}},
    {{0, 3, 3, 3}, {3, 3}},       {{3, kNaN, 3, 3}, {3, 3}},
    {{3, 3, -1, 3}, {3, 3}},      {{3, 3, 3, 0}, {3, 3}},
    {{3, 3, kNaN, kNaN}, {3, 3}}, {{2, 3, 4, 5}, {2, 3}},
    {{5, 5, 5, 5}, {3, 2}},       {{1, 1, 1, 2}, {1, 1}},
};

struct Modes {
  const char* name;
  spv::ExecutionMode mode;
};
constexpr Modes kDomains[] = {{"triangles", spv::ExecutionMode::Triangles},
                              {"quads", spv::ExecutionMode::Quads},
                              {"isolines", spv::ExecutionMode::Isolines}};
constexpr Modes kSpacings[] = {{"equal", spv::ExecutionMode::SpacingEqual},
                               {"fractional even", spv::ExecutionMode::SpacingFractionalEven},
                               {"fractional odd", spv::ExecutionMode::SpacingFractionalOdd}};

// The evaluation shader with other modes.
std::vector<uint32_t> with_modes(std::span<const uint32_t> code, spv::ExecutionMode domain,
                                 spv::ExecutionMode spacing) {
  std::vector<uint32_t> words(code.begin(), code.end());
  for (size_t i = 5; i < words.size(); i += words[i] >> 16) {
    if ((words[i] & 0xffff) != static_cast<uint32_t>(spv::Op::OpExecutionMode)) continue;
    uint32_t& mode = words[i + 2];
    if (mode == static_cast<uint32_t>(spv::ExecutionMode::Triangles)) {
      mode = static_cast<uint32_t>(domain);
    } else if (mode == static_cast<uint32_t>(spv::ExecutionMode::SpacingEqual)) {
      mode = static_cast<uint32_t>(spacing);
    }
  }
  return words;
}

class Tessellation : public QueryTypes {
 protected:
  static constexpr size_t kNumbers = std::size(kLevels);

  Pipeline make_pipeline(std::span<const uint32_t> evaluation, bool discards = false,
                         std::span<const uint32_t> control = levels_tesc) {
    GraphicsPipelineInfo patches;
    patches.topology = VK_PRIMITIVE_TOPOLOGY_PATCH_LIST;
    patches.patch_control_points = 3;
    patches.rasterizer_discard = discards;
    std::vector<Stage> stages = {
        {kVertex, patch_vert}, {kControl, control}, {kEvaluation, evaluation}};
    if (!discards) stages.push_back({kFragment, plain_frag});
    return make_graphics(stages, patches);
  }

  void draw_patches(VkCommandBuffer commands, const Levels& levels) {
    vkCmdPushConstants(commands, layout(), VK_SHADER_STAGE_ALL, 0, sizeof levels, &levels);
    vkCmdDraw(commands, 3 * kPatchCount, 1, 0, 0);
  }

  // Primitives that reach the clipper, of each kind of levels.
  std::vector<uint64_t> clipped(VkPipeline pipeline) {
    const Queries queries(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, kNumbers,
                          VK_QUERY_PIPELINE_STATISTIC_CLIPPING_INVOCATIONS_BIT);
    const RenderTarget target(context());
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      target.begin(commands);
      vkCmdBindPipeline(commands, kGraphics, pipeline);
      for (uint32_t i = 0; i < kNumbers; ++i) {
        queries.begin(commands, i);
        draw_patches(commands, kLevels[i]);
        queries.end(commands, i);
      }
      target.end(commands);
    });
    std::vector<uint64_t> numbers;
    for (uint32_t i = 0; i < kNumbers; ++i) numbers.push_back(queries.read(i)[0]);
    return numbers;
  }

  // Of all domains and spacings, with and without points.
  std::vector<std::vector<uint64_t>> all_clipped() {
    std::vector<std::vector<uint64_t>> all;
    for (const Modes& domain : kDomains) {
      for (const Modes& spacing : kSpacings) {
        for (const std::span<const uint32_t> code :
             {std::span<const uint32_t>(domain_tese), std::span<const uint32_t>(points_tese)}) {
          const auto words = with_modes(code, domain.mode, spacing.mode);
          all.push_back(clipped(make_pipeline(words)));
        }
      }
    }
    return all;
  }
};

TEST_F(Tessellation, primitives_of_every_domain_spacing_and_level_are_the_drivers) {
  start();
  if (!context().features().tessellationShader) GTEST_SKIP() << "no tessellation";
  const auto ours = all_clipped();
  // Worked out by hand: one triangle; four rings' worth; dropped.
  EXPECT_EQ(ours[0][0], kPatchCount * 1);
  EXPECT_EQ(ours[0][1], kPatchCount * 24);
  EXPECT_EQ(ours[0][12], 0u);
  start(false);
  if (!context().features().pipelineStatisticsQuery) return;
  const auto drivers = all_clipped();
  size_t at = 0;
  for (const Modes& domain : kDomains) {
    for (const Modes& spacing : kSpacings) {
      for (const bool points : {false, true}) {
        EXPECT_EQ(ours[at], drivers[at])
            << domain.name << ", " << spacing.name << (points ? ", points" : "");
        ++at;
      }
    }
  }
}

TEST_F(Tessellation, levels_are_read_when_every_invocation_has_left_a_loop_that_ends_in_a_return) {
  start();
  if (!context().features().tessellationShader) GTEST_SKIP() << "no tessellation";
  EXPECT_EQ(clipped(make_pipeline(domain_tese, false, waits_tesc)),
            clipped(make_pipeline(domain_tese)));
}

TEST_F(Tessellation, primitives_that_are_not_rasterized_do_not_reach_the_clipper) {
  start();
  if (!context().features().tessellationShader) GTEST_SKIP() << "no tessellation";
  const Pipeline pipeline = make_pipeline(domain_tese, true);
  EXPECT_THAT(clipped(pipeline), testing::Each(0u));
}

}  // namespace
}  // namespace tally::test
