// Draws 10,000 triangles of 4x4 pixels, each at a position of its own: if opaque triangles hide one
// another, llvmpipe shades only the last one, unless something counts fragments.
#pragma once

#include "support/pipeline.h"
#include "support/render_target.h"

namespace tally::bench {

class TinyDraws {
 public:
  static constexpr uint32_t kMaxDraws = 10'000;

  // `next` extends the pipeline's create info.
  explicit TinyDraws(test::Context& context, uint32_t push_bytes = 0, const void* next = nullptr);

  VkPipelineLayout layout() const { return layout_; }
  void begin(VkCommandBuffer commands) const;
  // Triangles with an index of kMaxDraws or more lie outside the image.
  static void draw(VkCommandBuffer commands, uint32_t index, uint32_t triangles = 1,
                   uint32_t first_instance = 0) {
    vkCmdDraw(commands, 3 * triangles, 1, 3 * index * triangles, first_instance);
  }
  void end(VkCommandBuffer commands) const { target_.end(commands); }

 private:
  test::RenderTarget target_;
  test::PipelineLayout layout_;
  test::Pipeline pipeline_;
};

}  // namespace tally::bench
