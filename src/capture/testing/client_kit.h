// Shared by the client's scenarios.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "double.comp.h"
#include "support/context.h"
#include "support/memory.h"
#include "support/pipeline.h"

namespace tally::test {

using Scenarios = std::map<std::string, std::function<void(Context&)>>;  // by name

// vkCmdDispatch of a shader that doubles 32 numbers a group.
class Doubler {
 public:
  static constexpr uint32_t kMostGroups = 1024;

  explicit Doubler(Context& context)
      : buffer_(context, kMostGroups * 32 * sizeof(uint32_t)), set_(context, {buffer_}) {
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

class Label {
 public:
  Label(const Context& context, VkCommandBuffer commands, const char* name)
      : context_(context), commands_(commands) {
    const VkDebugUtilsLabelEXT label{VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT, nullptr, name, {}};
    context.function<PFN_vkCmdBeginDebugUtilsLabelEXT>("vkCmdBeginDebugUtilsLabelEXT")(commands,
                                                                                       &label);
  }
  ~Label() {
    context_.function<PFN_vkCmdEndDebugUtilsLabelEXT>("vkCmdEndDebugUtilsLabelEXT")(commands_);
  }

 private:
  const Context& context_;
  VkCommandBuffer commands_;
};

void set_name(const Context& context, VkObjectType type, const void* handle, const char* name);

void submit(const Context& context, std::vector<VkCommandBuffer> commands,
            VkFence fence = VK_NULL_HANDLE);

}  // namespace tally::test
