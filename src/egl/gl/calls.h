// One observed call, and the counters it adds to. The handlers of stubs.cpp use this.
#pragma once

#include <cstdint>
#include <ctime>

#include "egl/gl/context.h"
#include "egl/gl/hot.h"

namespace tally::egl {

// Sizes of the pixels that the application passes to glTexImage and similar functions.

// Returns the bits per pixel of this format and type, or 0 for a pair that GL does not define (the
// call then fails anyway).
uint32_t pixel_bits(uint32_t format, uint32_t type);

// Computes the number of primitives from the number of vertices.

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

// Nanoseconds of a monotonic clock.
inline uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// GL sizes are signed. A call with a negative size fails, so it counts as 0.
template <typename Integer>
constexpr uint64_t size_of(Integer value) {
  return value > 0 ? static_cast<uint64_t>(value) : 0;
}

class Call {
 public:
  explicit Call(HotThread& thread)
      : thread_(thread),
        counts_(thread.counts != nullptr ? *thread.counts : counts_for_this_thread()) {}

  void add(ApiCounter counter, uint64_t amount = 1) { counts_.add(counter, amount); }
  GlContext* context() { return thread_.context; }

  void draw(GLenum primitive_mode, uint64_t vertices, uint64_t instances = 1) {
    add(ApiCounter::DrawCalls);
    add(ApiCounter::Draws);
    submit(primitive_mode, vertices, instances);
  }
  // Adds one of several draws in a single call.
  void part_of_draw(GLenum primitive_mode, uint64_t vertices) {
    add(ApiCounter::Draws);
    submit(primitive_mode, vertices, 1);
  }
  void submit(GLenum primitive_mode, uint64_t vertices, uint64_t instances) {
    const uint64_t patch = primitive_mode == mode::kPatches && thread_.context != nullptr
                               ? thread_.context->patch_vertices()
                               : 0;
    add(ApiCounter::Instances, instances);
    add(ApiCounter::Vertices, vertices * instances);
    add(ApiCounter::Primitives, primitives_of(primitive_mode, vertices, patch) * instances);
  }
  void state() { add(ApiCounter::StateChanges); }
  void upload_uniforms(uint64_t bytes) {
    add(ApiCounter::UniformUpdates);
    add(ApiCounter::UniformBytes, bytes);
  }
  void upload_texture(uint64_t bytes) {
    add(ApiCounter::TextureUploads);
    add(ApiCounter::TextureBytes, bytes);
  }
  void upload_buffer(uint64_t bytes) {
    add(ApiCounter::BufferUploads);
    add(ApiCounter::BufferBytes, bytes);
  }
  void dispatch(uint64_t groups) {
    add(ApiCounter::Dispatches);
    add(ApiCounter::WorkGroups, groups);
  }
  bool is_bound(GLenum pixel_buffer_binding) {
    return thread_.context != nullptr && thread_.context->has_pixel_buffers() &&
           thread_.context->is_bound(pixel_buffer_binding);
  }

 private:
  HotThread& thread_;
  ApiCounts& counts_;
};

// Adds its lifetime to a counter.
class TimedCall {
 public:
  TimedCall(Call& call, ApiCounter counter) : call_(call), counter_(counter), begin_(now_ns()) {}
  ~TimedCall() { call_.add(counter_, now_ns() - begin_); }
  TimedCall(const TimedCall&) = delete;
  TimedCall& operator=(const TimedCall&) = delete;

 private:
  Call& call_;
  ApiCounter counter_;
  uint64_t begin_;
};

}  // namespace tally::egl
