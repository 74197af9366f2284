// Orange triangles over the whole of a target.
#pragma once

#include "full_screen.vert.h"
#include "orange.frag.h"
#include "support/pipeline.h"
#include "support/render_target.h"

namespace tally::test {

class Painter {
 public:
  enum class Passes { Objects, Dynamic };

  Painter(Context& context, Passes passes, const RenderTargetInfo& target = {})
      : layout_(make_pipeline_layout(context)), target_(context, target) {
    GraphicsPipelineInfo info;
    info.stages = {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert},
                   {VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag}};
    info.layout = layout_;
    info.samples = target.samples;
    if (passes == Passes::Objects) info.render_pass = target_.render_pass();
    pipeline_ = make_graphics_pipeline(context, info);
  }
  void bind(VkCommandBuffer commands) const {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline_);
  }
  void draw(VkCommandBuffer commands, uint32_t instances) const {
    bind(commands);
    target_.set_viewport(commands);
    vkCmdDraw(commands, 3, instances, 0, 0);
  }
  const RenderTarget& target() const { return target_; }

 private:
  PipelineLayout layout_;
  RenderTarget target_;
  Pipeline pipeline_;
};

}  // namespace tally::test
