// Computes the number of primitives from the number of vertices.
#pragma once

#include <cstdint>

namespace tally::egl {

namespace mode {
inline constexpr uint32_t kPoints = 0x0000, kLines = 0x0001, kLineLoop = 0x0002,
                          kLineStrip = 0x0003, kTriangles = 0x0004, kTriangleStrip = 0x0005,
                          kTriangleFan = 0x0006, kQuads = 0x0007, kQuadStrip = 0x0008,
                          kPolygon = 0x0009, kLinesAdjacency = 0x000A, kLineStripAdjacency = 0x000B,
                          kTrianglesAdjacency = 0x000C, kTriangleStripAdjacency = 0x000D,
                          kPatches = 0x000E;
}  // namespace mode

// OpenGL 4.6, section 10.1. Incomplete primitives are not counted. `patch_vertices` is used for
// kPatches only.
constexpr uint64_t primitives_of(uint32_t primitive_mode, uint64_t vertices,
                                 uint64_t patch_vertices) {
  const auto beyond = [vertices](uint64_t first) {
    return vertices > first ? vertices - first : 0;
  };
  switch (primitive_mode) {
    case mode::kPoints:
      return vertices;
    case mode::kLines:
      return vertices / 2;
    case mode::kLineLoop:
      return vertices >= 2 ? vertices : 0;
    case mode::kLineStrip:
      return beyond(1);
    case mode::kTriangles:
      return vertices / 3;
    case mode::kTriangleStrip:
    case mode::kTriangleFan:
      return beyond(2);
    case mode::kQuads:
      return vertices / 4;
    case mode::kQuadStrip:
      return beyond(2) / 2;
    case mode::kPolygon:
      return vertices >= 3 ? 1 : 0;
    case mode::kLinesAdjacency:
      return vertices / 4;
    case mode::kLineStripAdjacency:
      return beyond(3);
    case mode::kTrianglesAdjacency:
      return vertices / 6;
    case mode::kTriangleStripAdjacency:
      return beyond(4) / 2;
    case mode::kPatches:
      return patch_vertices > 0 ? vertices / patch_vertices : 0;
    default:
      return 0;
  }
}

}  // namespace tally::egl
