// The shaders of tiny draws, counting their invocations by hand: with as few instructions as exact
// counts need, and with the knowledge that the vertices tell the draw's number. What they cost no
// layer can avoid.
#pragma once

#include "harness/gpu.h"
#include "support/pipeline.h"
#include "tiny_draws.h"

namespace tally::bench {

class CountedDraws {
 public:
  // A record for each draw, or this many records (a power of two) for all. `vertices`: whether the
  // vertex shader counts too.
  explicit CountedDraws(test::Context& context, uint32_t records = TinyDraws::kMaxDraws,
                        bool vertices = true);

  // Zeroes the records; call before the render pass.
  void clear(VkCommandBuffer commands) const;
  // Call after TinyDraws::begin.
  void bind(VkCommandBuffer commands) const;
  // After a frame of kMaxDraws: fails unless each draw counted 3 vertices, or none if they are not
  // counted, and as many fragments as the others.
  void require_counts() const;

 private:
  uint32_t record_count_;
  VkBool32 vertices_;
  test::PipelineLayout layout_;
  test::Pipeline pipeline_;
  DeviceBuffer records_;
};

}  // namespace tally::bench
