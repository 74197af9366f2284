// TinyDraws whose shaders count by hand what no host can know: the fragments of each draw. A bound
// on what a capture costs: nothing else is recorded, and a draw takes four bytes.
#pragma once

#include <span>

#include "support/pipeline.h"
#include "support/render_target.h"

namespace tally::bench {

class HandCountedDraws {
 public:
  // `draws`: of a frame.
  HandCountedDraws(test::Context& context, uint32_t draws);

  void begin(VkCommandBuffer commands);
  // `number`: of the draw in its frame.
  static void draw(VkCommandBuffer commands, uint32_t index, uint32_t triangles, uint32_t number) {
    vkCmdDraw(commands, 3 * triangles, 1, 3 * index * triangles, number);
  }
  void end(VkCommandBuffer commands) const { target_.end(commands); }
  // A number of fragments for each draw of the last frame.
  std::span<const char> counts() const { return counts_.as<char>(); }

 private:
  test::RenderTarget target_;
  test::Buffer counts_;
  test::PipelineLayout layout_;
  test::Pipeline pipeline_;
};

}  // namespace tally::bench
