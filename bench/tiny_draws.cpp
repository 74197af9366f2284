#include "tiny_draws.h"

#include "orange.frag.h"
#include "tiny_draws.vert.h"

namespace tally::bench {

TinyDraws::TinyDraws(test::Context& context, uint32_t push_bytes, const void* next)
    : target_(context, {.extent = {400, 400}}),
      layout_(test::make_pipeline_layout(context, {}, push_bytes)) {
  test::GraphicsPipelineInfo info;
  info.stages = {{VK_SHADER_STAGE_VERTEX_BIT, tiny_draws_vert},
                 {VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag}};
  info.layout = layout_;
  info.next = next;
  pipeline_ = test::make_graphics_pipeline(context, info);
}

void TinyDraws::begin(VkCommandBuffer commands) const {
  target_.begin(commands);
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline_);
}

}  // namespace tally::bench
