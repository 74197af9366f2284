#include "counters/recording/bound_state.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "counters/pipelines/object_state.h"
#include "counters/pipelines/shader_layouts.h"
#include "counters/pipelines/shader_set.h"

namespace tally::counters {
namespace {

constexpr VkDeviceSize kChunkSize = 64 << 10;
constexpr VkDeviceSize kAlignment = 64;

}  // namespace

void PushData::reset() {
  clear();
  chunk_ = 0;
  used_ = 0;
}

void PushData::clear() {
  begin_ = end_ = lost_begin_ = lost_end_ = 0;
  copy_ = 0;
}

void PushData::keep(const VkPushDataInfoEXT& info) {
  const auto size = static_cast<uint32_t>(info.data.size);
  if (size == 0) return;
  const uint32_t end = info.offset + size;
  if (bytes_.size() < end) bytes_.resize(end);
  std::memcpy(bytes_.data() + info.offset, info.data.address, size);
  begin_ = begin_ == end_ ? info.offset : std::min(begin_, info.offset);
  end_ = std::max(end_, end);
  copy_ = 0;
}

void PushData::note_overwritten(uint32_t begin, uint32_t end) {
  const bool none = lost_begin_ == lost_end_;
  lost_begin_ = none ? begin : std::min(lost_begin_, begin);
  lost_end_ = none ? end : std::max(lost_end_, end);
}

bool PushData::overwritten(uint32_t except_begin, uint32_t except_end) const {
  const uint32_t begin = std::max(begin_, lost_begin_);
  const uint32_t end = std::min(end_, lost_end_);
  return begin < end && !(except_begin <= begin && end <= except_end);
}

void PushData::restore(VkCommandBuffer commands, const DeviceTable& next) {
  if (needs_restore()) {
    const uint32_t begin = std::max(begin_, lost_begin_);
    const uint32_t end = std::min(end_, lost_end_);
    const VkPushDataInfoEXT info{
        VK_STRUCTURE_TYPE_PUSH_DATA_INFO_EXT, nullptr, begin, {bytes_.data() + begin, end - begin}};
    next.CmdPushDataEXT(commands, &info);
  }
  lost_begin_ = lost_end_ = 0;
}

VkDeviceAddress PushData::copy(const MemoryContext& memory, uint32_t size) {
  if (copy_ != 0) return copy_;
  const VkDeviceSize stride = (size + kAlignment - 1) / kAlignment * kAlignment;
  if (chunk_ < chunks_.size() && used_ + stride > kChunkSize) {
    ++chunk_;
    used_ = 0;
  }
  if (chunk_ == chunks_.size()) {
    chunks_.reserve(chunk_ + 1);
    VkResult result = VK_SUCCESS;
    auto chunk = Chunk::create(memory, Chunk::Use::HostRecords, kChunkSize, result);
    if (!chunk) return 0;
    chunks_.push_back(std::move(chunk));
  }
  const Chunk& chunk = *chunks_[chunk_];
  const size_t known = std::min<size_t>({bytes_.size(), end_, size});
  std::memcpy(chunk.host() + used_, bytes_.data(), known);
  chunk.flush(used_, stride);
  copy_ = chunk.address() + used_;
  used_ += stride;
  return copy_;
}

void SlotConstants::keep(const PipelineLayout& layout, uint32_t offset, uint32_t size,
                         const void* values) {
  const uint32_t slot = layout.reserved_offset();
  const uint32_t begin = std::max(offset, slot);
  const uint32_t end =
      std::min<uint32_t>(offset + size, slot + static_cast<uint32_t>(bytes_.size()));
  if (begin >= end) return;
  std::memcpy(bytes_.data() + (begin - slot),
              static_cast<const std::byte*>(values) + (begin - offset), end - begin);
  begin_ = empty() ? begin : std::min(begin_, begin);
  end_ = std::max(end_, end);
}

void SlotConstants::restore(const PipelineLayout& layout, VkCommandBuffer commands) const {
  layout.push_application_bytes(commands, begin_, end_,
                                bytes_.data() + (begin_ - layout.reserved_offset()));
}

namespace {

// Made when they are first bound together. Null if none of the shaders is known.
std::shared_ptr<ShaderSet> shader_set_of(ObjectState& state, const BoundShaders& bound) {
  if (std::shared_ptr<ShaderSet> known = state.shader_sets.find(bound)) return known;
  ShaderSet::Shaders shaders;
  bool any = false;
  for (size_t i = 0; i < kShaderStages; ++i) {
    if (bound[i] != VK_NULL_HANDLE) shaders[i] = state.shaders.find(bound[i]);
    any = any || shaders[i];
  }
  if (!any) return nullptr;
  const auto set = std::make_shared<ShaderSet>(std::move(shaders));
  if (set->mixes_heap_layouts()) {
    state.device.messages.notice(
        kUninstrumentedNotice, VK_OBJECT_TYPE_DEVICE, state.device.handle_bits(),
        "shader objects run uninstrumented: one reads push data where another has its record "
        "pointer, or what it reads is not known");
  }
  return state.shader_sets.add(bound, set);
}

}  // namespace

BoundState::BoundState(VkCommandBuffer commands, ObjectState& objects, RecordingStatus& status)
    : commands_(commands), next_(objects.device.next), objects_(objects), status_(status) {}

VkDeviceAddress BoundState::copy_push_data(const MemoryContext& memory) {
  return push_data_.copy(memory, objects_.layout_rules.push_data_size);
}

void BoundState::reset() {
  bound_ = {};
  shaders_ = {};
  known_sets_ = {};
  transform_feedback_ = false;
  invalidate_pointer();
  constants_.clear();
  push_data_.reset();
  descriptors_ = {};
  dynamic_facts_ = {};
  indices_ = {};
}

Bindable* BoundState::look_up(Bound& bound) {
  if (bound.shaders) {
    bound.pipeline = find_shader_set(bound);
  } else if (!bound.empty()) {
    bound.pipeline = objects_.pipelines.find(bound.handle);
  }
  return bound.pipeline.get();
}

std::shared_ptr<ShaderSet> BoundState::find_shader_set(const Bound& bound) {
  BoundShaders shaders{};
  const bool compute = &bound == at(VK_PIPELINE_BIND_POINT_COMPUTE);
  for (size_t i = 0; i < kShaderStages; ++i) {
    if (compute == (i == kComputeShader)) shaders[i] = shaders_[i];
  }
  const auto known = std::ranges::find(known_sets_, shaders, &KnownSet::shaders);
  if (known != known_sets_.end() && known->set) return known->set;
  KnownSet& added = known_sets_[next_known_set_++ % known_sets_.size()];
  added = {shaders, shader_set_of(objects_, shaders)};
  return added.set;
}

bool BoundState::choose_alpha_to_coverage(bool enabled) {
  Bound& bound = graphics();
  if (!resolve(bound) || !bound.pipeline->by_alpha_to_coverage) return false;
  return std::exchange(bound.alpha_to_coverage, enabled) != enabled;
}

// The next draw binds what it needs: the application may bind another pipeline before.
void BoundState::set_alpha_to_coverage(bool enabled) {
  bool& current = dynamic_facts().samples.covers_by_alpha;
  if (current != enabled && has_counting_features()) status_.set(RecordingStatus::kDirtyGraphics);
  current = enabled;
}

void BoundState::begin_transform_feedback() {
  if (has_counting_features() && choose_alpha_to_coverage(true)) {
    bind_variant(VK_PIPELINE_BIND_POINT_GRAPHICS, graphics(),
                 wanted_variant(VK_PIPELINE_BIND_POINT_GRAPHICS, graphics()));
  }
  transform_feedback_ = true;
}

// llvmpipe begins and ends a query in each tile. That takes as long as counting so many invocations
// of a shader (docs/developer/performance.md).
constexpr uint64_t kInvocationsOfTile = 8;

bool BoundState::driver_should_count(Bindable& pipeline) const {
  if (!pipeline.draw_size) return false;
  const uint64_t size = pipeline.draw_size->mean();
  const bool pays = size == DrawSize::kUnknown ? status_.draws_of_unknown_size != 0
                                               : size >= kInvocationsOfTile * status_.tiles;
  return pays && pipeline.make(Variant::ByDriver);
}

void BoundState::begin_pass(VkExtent2D area) {
  constexpr uint32_t kTile = 64;
  const uint32_t columns = (area.width + kTile - 1) / kTile;
  const uint32_t rows = (area.height + kTile - 1) / kTile;
  const uint32_t tiles = std::max(columns * rows, 1u);
  if (std::exchange(status_.tiles, tiles) == tiles || !status_.driver_counts) return;
  if (has_counting_features()) status_.set(RecordingStatus::kDirtyGraphics);
}

Variant BoundState::wanted_variant(VkPipelineBindPoint point, Bound& bound) {
  using Status = RecordingStatus;
  if (point == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR) {
    Bindable* rays = resolve(bound);
    return rays ? rays->make_best(Variant::Blocks) : Variant::Plain;
  }
  const bool regions = status_.has(Status::kRegions) && point == VK_PIPELINE_BIND_POINT_GRAPHICS;
  const bool blocks = status_.has(Status::kInstrumented | Status::kQueryShaders);
  if (!blocks && !regions) return Variant::Plain;
  Bindable* known = resolve(bound);
  if (!known) return Variant::Plain;
  const bool queries = status_.has(Status::kQueryShaders);
  if (queries && !regions) return known->make_best_for_queries(bound.alpha_to_coverage);
  const bool counted = blocks && (known->instrumented || queries);
  if (status_.driver_counts && counted && !regions && !queries && !bound.alpha_to_coverage &&
      point == VK_PIPELINE_BIND_POINT_GRAPHICS && driver_should_count(*known)) {
    return Variant::ByDriver;
  }
  Variant wanted{.blocks = counted, .regions = regions};
  if (regions && !counted && status_.has(Status::kOnlyInvocations)) {
    wanted = Variant::Invocations;
  }
  return known->make_best(wanted.with_alpha_to_coverage(bound.alpha_to_coverage));
}

void BoundState::bind_variant(VkPipelineBindPoint point, Bound& bound, Variant variant) {
  if (!bound.pipeline || bound.pipeline->layout.get() != pushed_layout_) invalidate_pointer();
  bound.variant = variant;
  bound.counted = variant == Variant::Plain ? nullptr : &bound.pipeline->program(variant);
  bound.run = {};
  bound.query_run = {};
  bind_handles(point, bound, variant);
}

void BoundState::bind_handles(VkPipelineBindPoint point, Bound& bound, Variant variant) {
  if (variant != Variant::Plain) {
    bound.pipeline->bind(commands_, point, variant);
  } else if (bound.shaders) {
    bind_plain_shaders(point);
  } else if (objects_.needs.late && resolve(bound) && bound.pipeline->plain_is_late) {
    bind_late(point, bound);
  } else {
    next_.CmdBindPipeline(commands_, point, bound.handle);
  }
}

void BoundState::bind_late(VkPipelineBindPoint point, Bound& bound) {
  if (bound.pipeline->make(Variant::Plain)) {
    bound.pipeline->bind(commands_, point, Variant::Plain);
  } else {
    status_.set(RecordingStatus::kLostPipeline);
  }
}

void BoundState::bind_pipeline(VkPipelineBindPoint point, VkPipeline pipeline) {
  Bound* bound = at(point);
  if (!bound) {
    next_.CmdBindPipeline(commands_, point, pipeline);
    return;
  }
  if (bound->handle != pipeline || !bound->pipeline) {
    *bound = {};
    bound->handle = pipeline;
  }
  bind_variant(point, *bound, wanted_variant(point, *bound));
  // The application may set dynamic state before the draw.
  if (point == VK_PIPELINE_BIND_POINT_GRAPHICS && bound->variant != Variant::Plain &&
      dynamic_facts_.samples.covers_by_alpha && bound->pipeline->by_alpha_to_coverage) {
    status_.set(RecordingStatus::kDirtyGraphics);
  }
  if (point == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR) update_dirty_pointer();
}

// Variants are bound before the next command that needs them: applications bind the stages one by
// one. Until then the driver has plain shaders of all stages.
void BoundState::bind_shaders(uint32_t count, const VkShaderStageFlagBits* stages,
                              const VkShaderEXT* shaders) {
  for (const VkPipelineBindPoint point :
       {VK_PIPELINE_BIND_POINT_GRAPHICS, VK_PIPELINE_BIND_POINT_COMPUTE}) {
    const bool compute = point == VK_PIPELINE_BIND_POINT_COMPUTE;
    Bound& bound = *at(point);
    const bool touched = std::any_of(stages, stages + count, [&](VkShaderStageFlagBits stage) {
      return compute == (stage == VK_SHADER_STAGE_COMPUTE_BIT);
    });
    if (!touched) continue;
    if (bound.shaders && bound.variant != Variant::Plain)
      bind_variant(point, bound, Variant::Plain);
    if (!bound.shaders) forget_shaders(compute);
    bound = {};
    bound.shaders = true;
  }
  for (uint32_t i = 0; i < count; ++i) {
    const size_t index = shader_index(stages[i]);
    if (index < kShaderStages) shaders_[index] = shaders ? shaders[i] : VK_NULL_HANDLE;
  }
  invalidate_pointer();
  if (has_counting_features()) status_.set(RecordingStatus::kDirtyPipelines);
  next_.CmdBindShadersEXT(commands_, count, stages, shaders);
}

void BoundState::bind_plain_shaders(VkPipelineBindPoint point) const {
  std::array<VkShaderStageFlagBits, kShaderStages> stages{};
  BoundShaders handles{};
  uint32_t count = 0;
  for (size_t i = 0; i < kShaderStages; ++i) {
    const bool compute = i == kComputeShader;
    if (compute != (point == VK_PIPELINE_BIND_POINT_COMPUTE)) continue;
    if (shaders_[i] == VK_NULL_HANDLE) continue;
    stages[count] = static_cast<VkShaderStageFlagBits>(1u << i);
    handles[count++] = shaders_[i];
  }
  if (count != 0) next_.CmdBindShadersEXT(commands_, count, stages.data(), handles.data());
}

// A pipeline was bound in between.
void BoundState::forget_shaders(bool compute) {
  for (size_t i = 0; i < kShaderStages; ++i) {
    if (compute == (i == kComputeShader)) shaders_[i] = VK_NULL_HANDLE;
  }
}

void BoundState::bind_wanted(VkPipelineBindPoint point) {
  const bool draws = point == VK_PIPELINE_BIND_POINT_GRAPHICS;
  const auto dirty = draws ? RecordingStatus::kDirtyGraphics : RecordingStatus::kDirtyOthers;
  if (!status_.has(dirty)) return;
  bool others = false;
  for (size_t i = 0; i < bound_.size(); ++i) {
    if (draws == (vk::kBindPoints[i] == VK_PIPELINE_BIND_POINT_GRAPHICS)) {
      bind_wanted(vk::kBindPoints[i], bound_[i]);
    } else {
      others = others || !bound_[i].empty();
    }
  }
  status_.clear(others ? dirty : RecordingStatus::kDirtyPipelines);
  update_dirty_pointer();
}

void BoundState::bind_wanted() {
  for (size_t i = 0; i < bound_.size(); ++i) bind_wanted(vk::kBindPoints[i], bound_[i]);
  status_.clear(RecordingStatus::kDirtyPipelines);
  update_dirty_pointer();
}

void BoundState::bind_wanted(VkPipelineBindPoint point, Bound& bound) {
  if (bound.empty() || !can_bind(point)) return;
  if (point == VK_PIPELINE_BIND_POINT_GRAPHICS) {
    choose_alpha_to_coverage(dynamic_facts_.samples.covers_by_alpha);
  }
  const Variant wanted = wanted_variant(point, bound);
  if (wanted != bound.variant) bind_variant(point, bound, wanted);
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
  shaders_ = {};
}

void BoundState::invalidate_pipeline(VkPipelineBindPoint point) {
  if (Bound* bound = at(point)) *bound = {};
  invalidate_pointer();  // the pipeline may have owned the layout
}

void BoundState::restore_after_dispatch() {
  invalidate_pointer();
  Bound& bound = *at(VK_PIPELINE_BIND_POINT_COMPUTE);
  if (!bound.empty()) bind_handles(VK_PIPELINE_BIND_POINT_COMPUTE, bound, bound.variant);
  if (descriptors_.uses_heaps()) {
    const LayoutRules rules = objects_.layout_rules.with_heaps();
    push_data_.note_overwritten(rules.reserved_offset(), rules.push_data_size);
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

void BoundState::push_guard() {
  if (descriptors_.uses_heaps()) return;  // push constants invalidate them
  status_.clear(RecordingStatus::kLostGuard);
  objects_.push_guard.push(commands_);
  note_overwritten_constants();
}

void BoundState::invalidate_guard() {
  const bool covered = objects_.inspects_constants.load(std::memory_order_relaxed);
  if (objects_.layout_rules.guard && covered) status_.set(RecordingStatus::kLostGuard);
}

void BoundState::note_overwritten_constants() {
  if (!constants_.empty() || push_data_.needs_restore()) {
    status_.set(RecordingStatus::kDirtyConstants);
  }
}

VkShaderStageFlags BoundState::note_constants(VkPipelineLayout layout, VkShaderStageFlags stages,
                                              uint32_t offset, uint32_t size, const void* values) {
  const std::shared_ptr<PipelineLayout> known = objects_.layouts.find(layout);
  if (!known) return stages;
  if (known->covers_reserved()) constants_.keep(*known, offset, size, values);
  if (known->covers_guard()) {
    status_.set(RecordingStatus::kLostGuard);
  } else if (status_.has(RecordingStatus::kLostGuard)) {
    push_guard();
  }
  return known->widen(stages, offset);
}

// In some pipelines' layouts the slot and the guard's bytes hold constants of the application.
// Pipelines that the layer does not know have other layouts.
void BoundState::restore_constants(Bound& bound) {
  using Status = RecordingStatus;
  const Bindable* pipeline = resolve(bound);
  const PipelineLayout* layout = pipeline ? pipeline->layout.get() : nullptr;
  if (descriptors_.uses_heaps()) return restore_push_data(bound, layout);
  const bool guarded = !layout || !layout->covers_guard();
  if (guarded && status_.has(Status::kLostGuard)) push_guard();
  if (!layout || !layout->covers_reserved()) return;
  if (!status_.has(Status::kDirtyConstants) || disturbs_descriptors(bound)) return;
  constants_.restore(*layout, commands_);
  invalidate_pointer();
  status_.clear(Status::kDirtyConstants);
  if (!guarded) status_.set(Status::kLostGuard);
}

void BoundState::set_descriptors(DescriptorKind kind) {
  if (kind == descriptors_.kind || !objects_.heap_layouts.enabled()) return;
  descriptors_.kind = kind;
  if (descriptors_.uses_heaps()) {
    constants_.clear();
  } else {
    push_data_.clear();
  }
  invalidate_pointer();
  // A pipeline whose pointer would have invalidated the other kind may count now.
  if (has_counting_features()) status_.set(RecordingStatus::kDirtyPipelines);
}

void BoundState::push_data(const VkPushDataInfoEXT& info) {
  set_descriptors(DescriptorKind::Heaps);
  if (!objects_.heap_layouts.enabled()) return;
  push_data_.keep(info);
  if (pushed_pointer_ == 0) return;
  const bool kept = pushed_layout_->has_heaps() && !pushed_layout_->moves_blocks() &&
                    (info.offset + info.data.size <= pushed_layout_->reserved_offset() ||
                     info.offset >= pushed_layout_->slots_end());
  if (!kept) invalidate_pointer();
}

void BoundState::overwrite_push_data(uint32_t begin, uint32_t end) {
  if (push_data_.needs_restore_outside(begin, end)) push_data_.restore(commands_, next_);
  push_data_.note_overwritten(begin, end);
}

// A pipeline that counts reads nothing where its own pointers are. For others, this is not known.
void BoundState::restore_push_data(const Bound& bound, const PipelineLayout* layout) {
  if (!status_.has(RecordingStatus::kDirtyConstants)) return;
  if (layout && !layout->has_heaps()) return;
  const bool counts = layout && bound.variant != Variant::Plain;
  if (counts && !push_data_.needs_restore_outside(layout->reserved_offset(), layout->slots_end())) {
    return;
  }
  push_data_.restore(commands_, next_);
  invalidate_pointer();
  status_.clear(RecordingStatus::kDirtyConstants);
}

bool BoundState::disturbs_descriptors(const Bound& bound) const {
  if (descriptors_.kind == DescriptorKind::None || !bound.pipeline || !bound.pipeline->layout) {
    return false;
  }
  return bound.pipeline->layout->has_heaps() != descriptors_.uses_heaps();
}

SampleCounter BoundState::sample_counter() {
  const Bound& bound = graphics();
  const Bindable* pipeline = resolve(graphics());
  if (!pipeline) return SampleCounter::Driver;
  if (draw_facts().rasterizer_discard) return SampleCounter::None;
  const CountedSamples counted =
      bound.variant.blocks ? bound.program()->samples : CountedSamples::Uncounted;
  return tally::counters::sample_counter(dynamic_facts_.applied_to(pipeline->facts.samples),
                                         counted);
}

const DrawFacts& BoundState::state_facts(Bound& bound) {
  const Bindable* pipeline = resolve(bound);
  bound.facts = pipeline ? dynamic_facts_.applied_to(pipeline->facts.facts) : DrawFacts{};
  return *bound.facts;
}

}  // namespace tally::counters
