#include "counters/pipelines/draw_facts.h"

#include <algorithm>

#include "counters/shaders/program.h"

namespace tally::counters {

SampleCounter sample_counter(const SampleFacts& facts, CountedSamples counted) {
  bool dropped = true;
  switch (counted) {
    case CountedSamples::Uncounted:
      break;
    case CountedSamples::BeforeTests:
      dropped = facts.covers_by_alpha || facts.may_fail_tests();
      break;
    case CountedSamples::AfterTests:
      // An invocation does not see which samples of its pixel have passed. Alpha to coverage comes
      // after the tests, and after samples are counted.
      dropped = facts.samples != VK_SAMPLE_COUNT_1_BIT && facts.may_fail_tests();
      break;
  }
  return dropped ? SampleCounter::Driver : SampleCounter::Shader;
}

DrawFacts DynamicDrawFacts::applied_to(DrawFacts facts) const {
  if (facts.dynamic_topology) facts.topology = topology;
  if (facts.dynamic_patch) facts.patch_control_points = patch_control_points;
  if (facts.dynamic_discard) facts.rasterizer_discard = rasterizer_discard;
  if (facts.dynamic_restart) facts.restarts = restarts;
  return facts;
}

SampleFacts DynamicDrawFacts::applied_to(SampleFacts facts) const {
  if (facts.dynamic_samples) facts.samples = samples.samples;
  if (facts.dynamic_alpha) facts.covers_by_alpha = samples.covers_by_alpha;
  if (facts.dynamic_depth_test) facts.depth_test = samples.depth_test;
  if (facts.dynamic_compare) facts.depth_compare = samples.depth_compare;
  if (facts.dynamic_bounds) facts.depth_bounds_test = samples.depth_bounds_test;
  if (facts.dynamic_stencil) facts.stencil_test = samples.stencil_test;
  return facts;
}

PrimitiveStep primitive_step(const DrawFacts& facts) {
  switch (facts.topology) {
    case VK_PRIMITIVE_TOPOLOGY_LINE_LIST:
      return {2, 2};
    case VK_PRIMITIVE_TOPOLOGY_LINE_STRIP:
      return {2, 1};
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST:
      return {3, 3};
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP:
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_FAN:
      return {3, 1};
    case VK_PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY:
      return {4, 4};
    case VK_PRIMITIVE_TOPOLOGY_LINE_STRIP_WITH_ADJACENCY:
      return {4, 1};
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST_WITH_ADJACENCY:
      return {6, 6};
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP_WITH_ADJACENCY:
      return {6, 2};
    case VK_PRIMITIVE_TOPOLOGY_PATCH_LIST: {
      const uint32_t points = std::max(1u, facts.patch_control_points);
      return {points, points};
    }
    default:
      return {1, 1};
  }
}

uint32_t primitive_vertices(const DrawFacts& facts) {
  switch (facts.topology) {
    case VK_PRIMITIVE_TOPOLOGY_POINT_LIST:
      return 1;
    case VK_PRIMITIVE_TOPOLOGY_LINE_LIST:
    case VK_PRIMITIVE_TOPOLOGY_LINE_STRIP:
    case VK_PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY:
    case VK_PRIMITIVE_TOPOLOGY_LINE_STRIP_WITH_ADJACENCY:
      return 2;
    default:
      return 3;
  }
}

}  // namespace tally::counters
