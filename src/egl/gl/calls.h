// One observed call, and the counters it adds to. The handlers of observe.h use this.
#pragma once

#include <cstdint>
#include <ctime>

#include "egl/gl/api_counts.h"
#include "egl/gl/context.h"
#include "egl/gl/hot.h"
#include "egl/gl/pixel_size.h"
#include "egl/gl/primitives.h"

namespace tally::egl {

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
