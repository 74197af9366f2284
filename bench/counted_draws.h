// The shaders of tiny draws, counting their invocations by hand, with as few instructions as exact
// counts need. No layer can avoid their cost.
#pragma once

#include "harness/gpu.h"
#include "support/pipeline.h"
#include "tiny_draws.h"

namespace tally::bench {

struct CountedDrawsInfo {
  uint32_t records = TinyDraws::kMaxDraws;  // one for each draw, or a power of two for all
  bool vertices = true;                     // whether the vertex shader counts too
  // True if the first instance is the draw's number. Otherwise the vertices tell it, which no layer
  // can rely on.
  bool by_instance = false;
};

class CountedDraws {
 public:
  explicit CountedDraws(test::Context& context, const CountedDrawsInfo& info = {});

  // Zeroes the records; call before the render pass.
  void clear(VkCommandBuffer commands) const;
  // Call after TinyDraws::begin.
  void bind(VkCommandBuffer commands) const;
  // After a frame of kMaxDraws: fails unless each draw counted 3 vertices, or none if they are not
  // counted, and as many fragments as the others.
  void require_counts() const;

 private:
  CountedDrawsInfo info_;
  test::PipelineLayout layout_;
  test::Pipeline pipeline_;
  DeviceBuffer records_;
};

}  // namespace tally::bench
