#include "counters/objects/command_buffer.h"

#include <algorithm>

#include "counters/layer/device.h"

namespace tally::counters {

CommandBuffer::CommandBuffer(VkCommandBuffer handle, Device& device, Kind kind)
    : handle_(handle),
      device_(device),
      next_(device.next()),
      kind_(kind),
      shards_(device.instrumentation()->shards) {
  if (device.regions()) regions_ = std::make_unique<RegionRecorder>(device, handle);
  if (device.queries()) {
    queries_ = std::make_unique<QueryRecorder>(device, handle, is_secondary());
    if (device.gpu().native_performance_queries) {
      driver_queries_ = std::make_unique<DriverQueries>(device, handle);
    }
  }
}

void CommandBuffer::reset() {
  if (active_) {
    active_->close_page(page_);
    active_->close_words(words_);
  }
  active_.reset();
  segment_ = nullptr;
  page_ = {};
  words_ = {};
  kept_program_ = nullptr;
  error_ = VK_SUCCESS;
  attention_ = 0;
  transform_feedback_ = false;
  bound_ = {};
  compute_shader_ = VK_NULL_HANDLE;
  objects_.clear();
  capturing_.clear();
  if (regions_) regions_->reset();
  if (queries_) queries_->reset();
  if (driver_queries_) driver_queries_->reset();
  forget_words();
  dynamic_facts_ = {};
  indices_ = {};
  constants_.clear();
}

void CommandBuffer::fail(VkResult error) {
  if (error_ == VK_SUCCESS) error_ = error;
}

VkResult CommandBuffer::end() {
  if (active_) end_instrumentation();
  flush_queries();
  if (driver_queries_ && !is_secondary()) {
    const VkResult result = driver_queries_->record_others(*queries_);
    if (result != VK_SUCCESS) fail(result);
  }
  return error_;
}

void CommandBuffer::note_object(const std::shared_ptr<Instrumentation>& object) {
  if (std::ranges::find(objects_, object) == objects_.end()) objects_.push_back(object);
}

void CommandBuffer::execute(const std::shared_ptr<CommandBuffer>& secondary) {
  for (const auto& object : secondary->objects_) note_object(object);
  if (queries_) {
    queries_->execute(*secondary->queries_);
    if (driver_queries_) driver_queries_->execute(*secondary->driver_queries_);
    flush_queries();
  }
  if (!regions_) return;
  const VkResult result = regions_->link(*secondary->regions_);
  if (result != VK_SUCCESS) fail(result);
  if (secondary->regions_->captures()) capturing_.push_back(secondary);
}

void CommandBuffer::continue_pass() {
  if (queries_) queries_->continue_pass();
  if (!regions_) return;
  const VkResult result = regions_->begin_continuing();
  if (result != VK_SUCCESS) {
    fail(result);
    return;
  }
  attention_ |= kRegions;
}

void CommandBuffer::begin_capture(RegionRequest request) {
  const VkResult result = regions_->begin_pass(std::move(request));
  if (result != VK_SUCCESS) {
    fail(result);
    return;
  }
  attention_ |= kRegions;
  dispatched_ours();
  bind_wanted_pipelines();
}

void CommandBuffer::end_capture() {
  regions_->end_pass();
  attention_ &= ~kRegions;
  dispatched_ours();
  bind_wanted_pipelines();
}

// A dispatch of ours has changed the bound compute pipeline, and the bytes of the slot.
void CommandBuffer::dispatched_ours() {
  forget_words();
  const Bound& bound = *bound_at(VK_PIPELINE_BIND_POINT_COMPUTE);
  if (bound.handle != VK_NULL_HANDLE) {
    const bool plain = bound.variant == Variant::Plain;
    next().CmdBindPipeline(handle_, VK_PIPELINE_BIND_POINT_COMPUTE,
                           plain ? bound.handle : bound.pipeline->variant(bound.variant));
  } else if (compute_shader_ != VK_NULL_HANDLE) {
    constexpr VkShaderStageFlagBits kStage = VK_SHADER_STAGE_COMPUTE_BIT;
    next().CmdBindShadersEXT(handle_, 1, &kStage, &compute_shader_);
  }
  if (!constants_.empty()) attention_ |= kLostConstants;
}

void CommandBuffer::begin_instrumentation(const std::shared_ptr<Instrumentation>& object) {
  note_object(object);
  segment_ = &object->add_segment();
  active_ = object;
  kept_program_ = nullptr;
  for (Bound& bound : bound_) bound.run = {};
  attention_ |= kActive;
  bind_wanted_pipelines();
}

void CommandBuffer::end_instrumentation() {
  active_->close_page(page_);
  active_->close_words(words_);
  page_ = {};
  words_ = {};
  active_.reset();
  segment_ = nullptr;
  attention_ &= ~kActive;
  bind_wanted_pipelines();
}

void CommandBuffer::note_stale_words() {
  const bool stale = std::ranges::any_of(
      bound_, [](const Bound& bound) { return bound.variant != Variant::Plain; });
  attention_ = stale ? attention_ | kStaleWord : attention_ & ~kStaleWord;
}

// Pipelines may not be bound while transform feedback is active.
bool CommandBuffer::can_bind(VkPipelineBindPoint point) const {
  return point != VK_PIPELINE_BIND_POINT_GRAPHICS || !transform_feedback_;
}

Pipeline* CommandBuffer::resolve(Bound& bound) {
  if (!bound.pipeline && bound.handle != VK_NULL_HANDLE) {
    bound.pipeline = device_.instrumentation()->pipelines.find(bound.handle);
  }
  return bound.pipeline.get();
}

Variant CommandBuffer::wanted_variant(VkPipelineBindPoint point, Bound& bound) {
  const bool regions = (attention_ & kRegions) != 0 && point == VK_PIPELINE_BIND_POINT_GRAPHICS;
  const bool blocks = (attention_ & (kActive | kQueries)) != 0;
  if (!blocks && !regions) return Variant::Plain;
  const Pipeline* known = resolve(bound);
  if (!known) return Variant::Plain;
  const bool counted = known->instrumented || (attention_ & kQueries) != 0;
  return known->choose(make_variant(blocks && counted, regions));
}

void CommandBuffer::bind(VkPipelineBindPoint point, Bound& bound, Variant variant) {
  if (!bound.pipeline || bound.pipeline->layout.get() != pushed_layout_) forget_words();
  bound.variant = variant;
  bound.run = {};
  next().CmdBindPipeline(
      handle_, point, variant == Variant::Plain ? bound.handle : bound.pipeline->variant(variant));
}

void CommandBuffer::bind_pipeline(VkPipelineBindPoint point, VkPipeline pipeline) {
  Bound* bound = bound_at(point);
  if (!bound) {
    next().CmdBindPipeline(handle_, point, pipeline);
    return;
  }
  if (bound->handle != pipeline || !bound->pipeline) *bound = {pipeline, nullptr, Variant::Plain};
  bind(point, *bound, wanted_variant(point, *bound));
}

void CommandBuffer::forget_pipelines() {
  forget_words();
  bound_ = {};
  compute_shader_ = VK_NULL_HANDLE;
}

void CommandBuffer::forget_pipeline(VkPipelineBindPoint point) {
  if (Bound* bound = bound_at(point)) *bound = {};
  forget_words();  // whose layout it may have kept
}

void CommandBuffer::bind_wanted_pipelines() {
  attention_ &= ~kStalePipelines;
  for (size_t i = 0; i < bound_.size(); ++i) {
    Bound& bound = bound_[i];
    const VkPipelineBindPoint point = vk::kBindPoints[i];
    if (bound.handle == VK_NULL_HANDLE || !can_bind(point)) continue;
    const Variant wanted = wanted_variant(point, bound);
    if (wanted != bound.variant) bind(point, bound, wanted);
  }
  note_stale_words();
}

void CommandBuffer::bind_plain_pipelines() {
  for (size_t i = 0; i < bound_.size(); ++i) {
    Bound& bound = bound_[i];
    const VkPipelineBindPoint point = vk::kBindPoints[i];
    if (bound.variant != Variant::Plain && can_bind(point)) {
      bind(point, bound, Variant::Plain);
    }
  }
}

void CommandBuffer::before_generated_commands() {
  if (active_) active_->take_index();
  bind_plain_pipelines();
}

}  // namespace tally::counters
