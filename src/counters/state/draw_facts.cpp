#include "counters/state/draw_facts.h"

#include <algorithm>

namespace tally::counters {
namespace {

// One more primitive with each `step` vertices, the first one with `first`.
uint64_t count(uint64_t vertices, uint64_t first, uint64_t step) {
  return vertices < first ? 0 : (vertices - first) / step + 1;
}

}  // namespace

DrawFacts DynamicDrawFacts::applied_to(DrawFacts facts) const {
  if (facts.dynamic_topology) facts.topology = topology;
  if (facts.dynamic_patch) facts.patch_control_points = patch_control_points;
  if (facts.dynamic_discard) facts.rasterizer_discard = rasterizer_discard;
  return facts;
}

uint64_t primitives_of(const DrawFacts& facts, uint64_t vertices) {
  switch (facts.topology) {
    case VK_PRIMITIVE_TOPOLOGY_POINT_LIST:
      return vertices;
    case VK_PRIMITIVE_TOPOLOGY_LINE_LIST:
      return count(vertices, 2, 2);
    case VK_PRIMITIVE_TOPOLOGY_LINE_STRIP:
      return count(vertices, 2, 1);
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST:
      return count(vertices, 3, 3);
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP:
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_FAN:
      return count(vertices, 3, 1);
    case VK_PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY:
      return count(vertices, 4, 4);
    case VK_PRIMITIVE_TOPOLOGY_LINE_STRIP_WITH_ADJACENCY:
      return count(vertices, 4, 1);
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST_WITH_ADJACENCY:
      return count(vertices, 6, 6);
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP_WITH_ADJACENCY:
      return count(vertices, 6, 2);
    case VK_PRIMITIVE_TOPOLOGY_PATCH_LIST: {
      const uint64_t points = std::max(1u, facts.patch_control_points);
      return count(vertices, points, points);
    }
    default:
      return 0;
  }
}

}  // namespace tally::counters
