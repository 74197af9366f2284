// Scenes for the tests of several query types, and their expected counts.
#pragma once

#include <utility>

#include "api/queries/kit.h"
#include "support/environment.h"
#include "support/stages.h"

namespace tally::test {

inline constexpr VkQueryType kStatistics = VK_QUERY_TYPE_PIPELINE_STATISTICS;
inline constexpr VkQueryPipelineStatisticFlags kInvocations =
    VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT;

// Positions of the statistics in the results.
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

  // The statistics of a pass over a 64 x 64 target.
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

  // The same with the driver's own queries; nothing if the driver has none.
  template <typename Scene>
  std::vector<uint64_t> of_driver(Scene&& scene) {
    start(false);
    return context().features().pipelineStatisticsQuery ? scene() : std::vector<uint64_t>{};
  }

  // lavapipe 22.3 counts all active lanes, including fragments that the triangle does not cover.
  static void expect_equal(std::vector<uint64_t> ours, const std::vector<uint64_t>& drivers) {
    if (driver_name() == "lavapipe") {
      EXPECT_LE(ours[kFragmentInvocations], drivers[kFragmentInvocations]);
      ours[kFragmentInvocations] = drivers[kFragmentInvocations];
    }
    EXPECT_EQ(ours, drivers);
  }

  static bool has(const std::vector<uint64_t>& numbers) { return !numbers.empty(); }
};

// NVIDIA runs a vertex shader once for several instances, and for several draws of a command, if
// the shader does not read which one it is.
inline void expect_vertices(uint64_t invocations, uint64_t vertices) {
  if (driver_name() == "nvidia") {
    EXPECT_GT(invocations, 0u);
    EXPECT_LE(invocations, vertices);
  } else {
    EXPECT_EQ(invocations, vertices);
  }
}

// Runs the same test with the driver's own queries, without the layer, and with those that the
// layer emulates.
enum class Source { Native, Emulated };

inline std::string name_of(Source source) {
  return source == Source::Native ? "native" : "emulated";
}

class EverySource : public QueryTypes, public testing::WithParamInterface<Source> {
 protected:
  bool emulated() const { return GetParam() == Source::Emulated; }
  Context& start_source(ContextOptions options = {}) {
    return start(emulated(), std::move(options));
  }
};

// The tests of a suite derived from EverySource, for both sources.
#define TALLY_EVERY_SOURCE(suite)                                                      \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::Values(Source::Native, Source::Emulated), \
                           [](const auto& one) { return name_of(one.param); })

}  // namespace tally::test
