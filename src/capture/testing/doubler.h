// vkCmdDispatch of a shader that doubles 32 numbers a group.
#pragma once

#include "double.comp.h"
#include "support/context.h"
#include "support/memory.h"
#include "support/pipeline.h"

namespace tally::test {

class Doubler {
 public:
  explicit Doubler(Context& context)
      : buffer_(context, 1024 * sizeof(uint32_t)), set_(context, {buffer_}) {
    const VkDescriptorSetLayout layout = set_.layout();
    layout_ = make_pipeline_layout(context, {&layout, 1});
    pipeline_ =
        make_compute_pipeline(context, {{VK_SHADER_STAGE_COMPUTE_BIT, double_comp}, layout_});
  }
  void bind(VkCommandBuffer commands) const {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
    set_.bind(commands, layout_);
  }
  void dispatch(VkCommandBuffer commands, uint32_t groups) const {
    bind(commands);
    vkCmdDispatch(commands, groups, 1, 1);
    full_barrier(commands);
  }
  VkPipeline pipeline() const { return pipeline_; }

 private:
  Buffer buffer_;
  StorageSet set_;
  PipelineLayout layout_;
  Pipeline pipeline_;
};

}  // namespace tally::test
