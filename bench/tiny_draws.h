// 10,000 draws of a triangle on 4x4 pixels, each at a place of its own: where opaque triangles hide
// one another, llvmpipe shades the last of them alone, unless something counts them.
#pragma once

#include "support/pipeline.h"
#include "support/render_target.h"

namespace tally::bench {

class TinyDraws {
 public:
  static constexpr uint32_t kPlaces = 10'000;

  // `next`: of the pipeline's creation.
  explicit TinyDraws(test::Context& context, uint32_t push_bytes = 0, const void* next = nullptr);

  VkPipelineLayout layout() const { return layout_; }
  void begin(VkCommandBuffer commands) const;
  // Draws beyond kPlaces lie outside of the picture.
  static void draw(VkCommandBuffer commands, uint32_t index) {
    vkCmdDraw(commands, 3, 1, 3 * index, 0);
  }
  void end(VkCommandBuffer commands) const { target_.end(commands); }

 private:
  test::RenderTarget target_;
  test::PipelineLayout layout_;
  test::Pipeline pipeline_;
};

}  // namespace tally::bench
