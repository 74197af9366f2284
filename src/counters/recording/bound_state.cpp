#include "counters/recording/bound_state.h"

#include <algorithm>

namespace tally::counters {

void BoundState::reset() {
  bound_ = {};
  compute_shader_ = VK_NULL_HANDLE;
  transform_feedback_ = false;
  invalidate_pointer();
  constants_.clear();
  dynamic_facts_ = {};
  indices_ = {};
}

Pipeline* BoundState::resolve(Bound& bound) const {
  if (!bound.pipeline && bound.handle != VK_NULL_HANDLE) {
    bound.pipeline = objects_.pipelines.find(bound.handle);
  }
  return bound.pipeline.get();
}

Variant BoundState::wanted_variant(VkPipelineBindPoint point, Bound& bound) const {
  using Status = RecordingStatus;
  if (point == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR) {
    const Pipeline* rays = resolve(bound);
    return rays ? rays->choose(Variant::Blocks) : Variant::Plain;
  }
  const bool regions = status_.has(Status::kRegions) && point == VK_PIPELINE_BIND_POINT_GRAPHICS;
  const bool blocks = status_.has(Status::kInstrumented | Status::kQueryShaders);
  if (!blocks && !regions) return Variant::Plain;
  const Pipeline* known = resolve(bound);
  if (!known) return Variant::Plain;
  const bool counted = known->instrumented || status_.has(Status::kQueryShaders);
  return known->choose(make_variant(blocks && counted, regions));
}

void BoundState::bind_variant(VkPipelineBindPoint point, Bound& bound, Variant variant) {
  if (!bound.pipeline || bound.pipeline->layout.get() != pushed_layout_) invalidate_pointer();
  bound.variant = variant;
  bound.run = {};
  next_.CmdBindPipeline(
      commands_, point,
      variant == Variant::Plain ? bound.handle : bound.pipeline->variant(variant));
}

void BoundState::bind_pipeline(VkPipelineBindPoint point, VkPipeline pipeline) {
  Bound* bound = at(point);
  if (!bound) {
    next_.CmdBindPipeline(commands_, point, pipeline);
    return;
  }
  if (bound->handle != pipeline || !bound->pipeline) *bound = {pipeline, nullptr, Variant::Plain};
  bind_variant(point, *bound, wanted_variant(point, *bound));
  if (point == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR) update_dirty_pointer();
}

void BoundState::bind_wanted() {
  status_.clear(RecordingStatus::kDirtyPipelines);
  for (size_t i = 0; i < bound_.size(); ++i) {
    Bound& bound = bound_[i];
    const VkPipelineBindPoint point = vk::kBindPoints[i];
    if (bound.handle == VK_NULL_HANDLE || !can_bind(point)) continue;
    const Variant wanted = wanted_variant(point, bound);
    if (wanted != bound.variant) bind_variant(point, bound, wanted);
  }
  update_dirty_pointer();
}

void BoundState::bind_plain() {
  for (size_t i = 0; i < bound_.size(); ++i) {
    Bound& bound = bound_[i];
    const VkPipelineBindPoint point = vk::kBindPoints[i];
    if (bound.variant != Variant::Plain && can_bind(point)) {
      bind_variant(point, bound, Variant::Plain);
    }
  }
}

void BoundState::invalidate_pipelines() {
  invalidate_pointer();
  bound_ = {};
  compute_shader_ = VK_NULL_HANDLE;
}

void BoundState::invalidate_pipeline(VkPipelineBindPoint point) {
  if (Bound* bound = at(point)) *bound = {};
  invalidate_pointer();  // the pipeline may have owned the layout
}

void BoundState::restore_after_dispatch() {
  invalidate_pointer();
  const Bound& bound = *at(VK_PIPELINE_BIND_POINT_COMPUTE);
  if (bound.handle != VK_NULL_HANDLE) {
    const bool plain = bound.variant == Variant::Plain;
    next_.CmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE,
                          plain ? bound.handle : bound.pipeline->variant(bound.variant));
  } else if (compute_shader_ != VK_NULL_HANDLE) {
    constexpr VkShaderStageFlagBits kStage = VK_SHADER_STAGE_COMPUTE_BIT;
    next_.CmdBindShadersEXT(commands_, 1, &kStage, &compute_shader_);
  }
  note_overwritten_constants();
}

void BoundState::update_dirty_pointer() {
  const bool counting = std::ranges::any_of(
      bound_, [](const Bound& bound) { return bound.variant != Variant::Plain; });
  status_.assign(RecordingStatus::kDirtyPointer, counting);
}

void BoundState::end_runs() {
  for (Bound& bound : bound_) bound.run = {};
}

void BoundState::set_pushed_pointer(const Bound& bound, uint64_t pointer) {
  pushed_pointer_ = pointer;
  pushed_layout_ = bound.pipeline->layout.get();
}

// An update of other bytes with the same layout leaves the slot as it is.
void BoundState::invalidate_pointer(VkPipelineLayout layout, uint32_t end) {
  if (pushed_pointer_ == 0) return;
  const bool kept =
      end <= pushed_layout_->slot_offset() && objects_.layouts.find(layout).get() == pushed_layout_;
  if (!kept) invalidate_pointer();
}

void BoundState::note_overwritten_constants() {
  if (!constants_.empty()) status_.set(RecordingStatus::kDirtyConstants);
}

VkShaderStageFlags BoundState::note_constants(VkPipelineLayout layout, VkShaderStageFlags stages,
                                              uint32_t offset, uint32_t size, const void* values) {
  const std::shared_ptr<PipelineLayout> known = objects_.layouts.find(layout);
  if (!known) return stages;
  if (known->covers_slot()) constants_.keep(*known, offset, size, values);
  return known->widen(stages, offset);
}

// In this pipeline's layout the slot holds constants of the application, and the layer overwrote
// them for another pipeline.
void BoundState::restore_constants(Bound& bound) {
  const Pipeline* pipeline = resolve(bound);
  if (!pipeline || !pipeline->layout || !pipeline->layout->covers_slot()) return;
  constants_.restore(*pipeline->layout, commands_);
  invalidate_pointer();
  status_.clear(RecordingStatus::kDirtyConstants);
}

DrawFacts BoundState::draw_facts() {
  const Pipeline* pipeline = resolve(graphics());
  return pipeline ? dynamic_facts_.applied_to(pipeline->facts.facts) : DrawFacts{};
}

}  // namespace tally::counters
