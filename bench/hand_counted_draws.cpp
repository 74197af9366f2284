#include "hand_counted_draws.h"

#include "hand_counted_draws.frag.h"
#include "hand_counted_draws.vert.h"

namespace tally::bench {

HandCountedDraws::HandCountedDraws(test::Context& context, uint32_t draws)
    : target_(context, {.extent = {400, 400}}),
      counts_(context, draws * sizeof(uint32_t), VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT),
      layout_(test::make_pipeline_layout(context, {}, sizeof(VkDeviceAddress))) {
  test::GraphicsPipelineInfo info;
  info.stages = {{VK_SHADER_STAGE_VERTEX_BIT, hand_counted_draws_vert},
                 {VK_SHADER_STAGE_FRAGMENT_BIT, hand_counted_draws_frag}};
  info.layout = layout_;
  pipeline_ = test::make_graphics_pipeline(context, info);
}

void HandCountedDraws::begin(VkCommandBuffer commands) {
  counts_.clear();
  target_.begin(commands);
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline_);
  const VkDeviceAddress address = counts_.address();
  vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, sizeof address, &address);
}

}  // namespace tally::bench
