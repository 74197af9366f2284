#include "capture/recording/bound_pipelines.h"

#include <bit>
#include <utility>

#include "capture/recording/recording_context.h"

namespace tally::capture {
namespace {

VkPipelineBindPoint bind_point_of(VkShaderStageFlagBits stage) {
  return stage == VK_SHADER_STAGE_COMPUTE_BIT ? VK_PIPELINE_BIND_POINT_COMPUTE
                                              : VK_PIPELINE_BIND_POINT_GRAPHICS;
}

}  // namespace

void BoundPipelines::reset() {
  bound_ = {};
  shaders_ = {};
  new_shaders_ = uses_shaders_ = {};
}

const Pipeline* BoundPipelines::bind(VkPipelineBindPoint bind_point, VkPipeline pipeline) {
  const size_t index = vk::bind_point_index(bind_point);
  if (index >= bound_.size()) return nullptr;
  if (uses_shaders_[index]) forget_shaders(bind_point);
  bound_[index] = context_.shaders().pipeline(pipeline);
  if (bound_[index]) {
    note_bound(bound_[index]);
  } else if (pipeline != VK_NULL_HANDLE) {
    bind_unknown(bind_point);
  }
  return bound_[index].get();
}

void BoundPipelines::bind_unknown(VkPipelineBindPoint bind_point) {
  const size_t index = vk::bind_point_index(bind_point);
  if (index >= bound_.size()) return;
  if (uses_shaders_[index]) forget_shaders(bind_point);
  bound_[index] = context_.shaders().stand_in(ShaderRegistry::StandIn::UnknownPipeline, bind_point);
  note_bound(bound_[index]);
}

void BoundPipelines::note_bound(const std::shared_ptr<Pipeline>& pipeline) {
  if (pipeline->bound.load(std::memory_order_relaxed)) return;
  if (!pipeline->bound.exchange(true)) context_.connection().pipeline_bound(pipeline);
}

// A set is looked up when a command needs it: applications bind the stages one by one.
void BoundPipelines::bind_shaders(uint32_t count, const VkShaderStageFlagBits* stages,
                                  const VkShaderEXT* shaders) {
  for (uint32_t i = 0; i < count; ++i) {
    const VkPipelineBindPoint bind_point = bind_point_of(stages[i]);
    const size_t point = vk::bind_point_index(bind_point);
    if (!uses_shaders_[point]) forget_shaders(bind_point);
    bound_[point] = nullptr;
    new_shaders_[point] = uses_shaders_[point] = true;
    const auto index = static_cast<size_t>(std::countr_zero(static_cast<uint32_t>(stages[i])));
    if (index >= kShaderStages) continue;
    shaders_[index] = context_.shader_objects().find(shaders ? shaders[i] : VK_NULL_HANDLE);
  }
}

// A pipeline replaces the shaders of its bind point.
void BoundPipelines::forget_shaders(VkPipelineBindPoint bind_point) {
  const size_t point = vk::bind_point_index(bind_point);
  new_shaders_[point] = uses_shaders_[point] = false;
  for (size_t i = 0; i < kShaderStages; ++i) {
    if (bind_point_of(static_cast<VkShaderStageFlagBits>(1u << i)) == bind_point) {
      shaders_[i] = nullptr;
    }
  }
}

const std::shared_ptr<Pipeline>& BoundPipelines::bound_at(VkPipelineBindPoint bind_point) {
  const size_t point = vk::bind_point_index(bind_point);
  if (std::exchange(new_shaders_[point], false)) {
    BoundShaders set;
    for (size_t i = 0; i < kShaderStages; ++i) {
      const auto stage = static_cast<VkShaderStageFlagBits>(1u << i);
      if (bind_point_of(stage) == bind_point) set[i] = shaders_[i];
    }
    bound_[point] = context_.shader_objects().pipeline(bind_point, set);
  }
  return bound_[point];
}

const std::shared_ptr<Pipeline>& BoundPipelines::pipeline_for(store::Function function) {
  switch (store::function_info(function).kind) {
    case store::CallKind::Dispatch:
      return bound_at(VK_PIPELINE_BIND_POINT_COMPUTE);
    case store::CallKind::TraceRays:
      return bound_at(VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR);
    case store::CallKind::Generated:
      return generated_;
    default:
      return bound_at(VK_PIPELINE_BIND_POINT_GRAPHICS);
  }
}

void BoundPipelines::set_generated(VkPipelineBindPoint bind_point, VkIndirectExecutionSetEXT set) {
  generated_ =
      set == VK_NULL_HANDLE ? bound_at(bind_point) : context_.execution_sets().pipeline(set);
  if (set == VK_NULL_HANDLE) return;
  if (!generated_)
    generated_ = context_.shaders().stand_in(ShaderRegistry::StandIn::ExecutionSet, bind_point);
  note_bound(generated_);
}

}  // namespace tally::capture
