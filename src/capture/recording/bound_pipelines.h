// The pipelines that are bound in a command buffer: those of the application, the sets of shader
// objects that stand for one, and execution sets. Externally synchronised, like the command buffer.
#pragma once

#include <vulkan/vulkan_core.h>

#include <tally/vulkan_generated.h>

#include <array>
#include <memory>

#include "capture/recording/shader_objects.h"
#include "store/functions.h"
#include "vk/bind_point.h"

namespace tally::capture {

class RecordingContext;

class BoundPipelines {
 public:
  explicit BoundPipelines(RecordingContext& context) : context_(context) {}

  void reset();
  // Returns what is bound, or null.
  const Pipeline* bind(VkPipelineBindPoint bind_point, VkPipeline pipeline);
  // Binds something that the capture does not count.
  void bind_unknown(VkPipelineBindPoint bind_point);
  // A null pointer stands for null handles.
  void bind_shaders(uint32_t count, const VkShaderStageFlagBits* stages,
                    const VkShaderEXT* shaders);
  // Sets what the next generated commands run: the bound pipeline, or a set that is not null.
  void set_generated(VkPipelineBindPoint bind_point, VkIndirectExecutionSetEXT set);

  // The pipeline that a command runs. Null: nothing is bound.
  const std::shared_ptr<Pipeline>& pipeline_for(store::Function function);

 private:
  void note_bound(const std::shared_ptr<Pipeline>& pipeline);
  const std::shared_ptr<Pipeline>& bound_at(VkPipelineBindPoint bind_point);
  void forget_shaders(VkPipelineBindPoint bind_point);

  RecordingContext& context_;
  std::array<std::shared_ptr<Pipeline>, vk::kBindPoints.size()> bound_;
  BoundShaders shaders_;  // of the bind points without a pipeline
  std::array<bool, vk::kBindPoints.size()> uses_shaders_{};
  // Shaders were bound, and bound_ does not have their set yet.
  std::array<bool, vk::kBindPoints.size()> new_shaders_{};
  std::shared_ptr<Pipeline> generated_;  // what the next generated commands run
};

}  // namespace tally::capture
