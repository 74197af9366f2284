#include "capture/record/command_buffer.h"

#include <fmt/format.h>

#include <bit>

#include "base/hash.h"
#include "capture/record/recording_context.h"
#include "vk/handles.h"
#include "vk/own_call.h"

namespace tally::capture {

bool CountingCopy::allocate() {
  if (handle_ != VK_NULL_HANDLE) return true;
  const VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, nullptr,
                                         pool_, level_, 1};
  VkCommandBuffer buffer = VK_NULL_HANDLE;
  const DeviceTable& table = context_.table();
  if (vk::own("vkAllocateCommandBuffers",
              table.AllocateCommandBuffers(context_.handle(), &info, &buffer)) != VK_SUCCESS) {
    return false;
  }
  if (!context_.initialize(buffer)) {
    table.FreeCommandBuffers(context_.handle(), pool_, 1, &buffer);
    return false;
  }
  handle_ = buffer;
  state_ = State::Initial;
  return true;
}

bool CountingCopy::begin(const VkCommandBufferBeginInfo& info) {
  if (!allocate()) return false;
  // In the middle of a recording it cannot be begun. Its pool allows the reset: otherwise the
  // application would have reset the pool.
  if (state_ == State::Abandoned) reset(0);
  if (vk::own("vkBeginCommandBuffer", context_.table().BeginCommandBuffer(handle_, &info)) !=
      VK_SUCCESS) {
    return false;
  }
  state_ = State::Recording;
  return true;
}

bool CountingCopy::end() {
  const bool ended =
      vk::own("vkEndCommandBuffer", context_.table().EndCommandBuffer(handle_)) == VK_SUCCESS;
  state_ = ended ? State::Complete : State::Abandoned;
  return ended;
}

void CountingCopy::reset(VkCommandBufferResetFlags flags) {
  if (handle_ == VK_NULL_HANDLE || state_ == State::Initial) return;
  const VkResult result =
      vk::own("vkResetCommandBuffer", context_.table().ResetCommandBuffer(handle_, flags));
  state_ = result == VK_SUCCESS ? State::Initial : State::Abandoned;
}

void CountingCopy::pool_was_reset() { state_ = State::Initial; }

void CountingCopy::abandon() {
  if (recording()) state_ = State::Abandoned;
}

void CountingCopy::release() {
  if (handle_ == VK_NULL_HANDLE) return;
  context_.table().FreeCommandBuffers(context_.handle(), pool_, 1, &handle_);
  handle_ = VK_NULL_HANDLE;
  state_ = State::Initial;
}

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
  assembly_ = {};
}

const Pipeline* BoundPipelines::bind(VkPipelineBindPoint bind_point, VkPipeline pipeline) {
  const size_t index = vk::bind_point_index(bind_point);
  if (index >= bound_.size()) return nullptr;
  if (uses_shaders_[index]) forget_shaders(bind_point);
  bound_[index] = context_.shaders().pipeline(pipeline);
  if (bound_[index]) {
    note_bound(bound_[index]);
    assembly_.update(bound_[index]->assembly);
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

namespace {

// True for one of 16 recordings, at random, so that no period of the application's is met.
bool is_chosen(int64_t recording) {
  return hash_combine(0, static_cast<uint64_t>(recording)) % 16 == 0;
}

}  // namespace

CommandBuffer::CommandBuffer(RecordingContext& context, VkCommandBuffer handle, bool primary,
                             const CommandPool& pool)
    : context_(context),
      table_(context.table()),
      handle_(handle),
      primary_(primary),
      can_measure_(!pool.protected_memory &&
                   (pool.queue_flags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT)) != 0),
      object_(std::make_shared<Object>(context.connection(), "VkCommandBuffer",
                                       vk::handle_bits(handle))),
      copy_(context, pool.handle,
            primary ? VK_COMMAND_BUFFER_LEVEL_PRIMARY : VK_COMMAND_BUFFER_LEVEL_SECONDARY),
      counting_(handle),
      passes_(context,
              pool.protected_memory || pool.timestamp_bits == 0
                  ? Times::Off
                  : context.connection().settings().times,
              context.regions().enabled() && !pool.protected_memory &&
                  (pool.queue_flags & VK_QUEUE_GRAPHICS_BIT) != 0),
      bound_(context) {}

void CommandBuffer::reset() {
  if (contents_ && contents_->used()) used_once_ = !contents_->needs_recording();
  contents_.reset();
  recording_.reset();
  abandoned_.clear();
  counting_ = handle_;
}

void CommandBuffer::reset(VkCommandBufferResetFlags flags) {
  copy_.reset(flags);
  reset();
}

void CommandBuffer::pool_was_reset() {
  copy_.pool_was_reset();
  reset();
}

// Chooses the command buffer that gets the instrumentation. Returns false if there is none. A
// secondary always needs a copy: the primary that executes it may have one.
bool CommandBuffer::begin_counting(const VkCommandBufferBeginInfo& info, bool once) {
  if (context_.copies() && can_measure_ && (!once || !primary_)) {
    if (!copy_.begin(info)) {
      tell_uncounted();
      return false;
    }
    counting_ = copy_.handle();
  } else {
    copy_.release();
  }
  return true;
}

// The contents of the copy are incomplete: captured frames execute the application's command
// buffer, and its commands are missing.
void CommandBuffer::abandon_copy() {
  copy_.abandon();
  abandoned_ = contents_->drop_recordings();
  recording_.reset();
  counting_ = handle_;
  active_ = false;
}

namespace {

bool inherits_condition(const VkCommandBufferBeginInfo& info) {
  using Condition = VkCommandBufferInheritanceConditionalRenderingInfoEXT;
  const auto* condition =
      info.pInheritanceInfo
          ? vk::find_in_chain<Condition>(
                info.pInheritanceInfo->pNext,
                VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_CONDITIONAL_RENDERING_INFO_EXT)
          : nullptr;
  return condition && condition->conditionalRenderingEnable == VK_TRUE;
}

}  // namespace

void CommandBuffer::begin(const VkCommandBufferBeginInfo& info) {
  reset();
  active_ = refused_ = needs_barrier_ = false;
  const bool continues =
      !primary_ && (info.flags & VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT) != 0;
  const bool once = used_once_ || (info.flags & VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT) != 0;
  passes_.reset(continues ? info.pInheritanceInfo : nullptr, once);
  bound_.reset();
  push_constants_.reset();
  sets_.reset();
  conditional_ = !primary_ && inherits_condition(info);
  labels_.clear();
  frame_labels_.clear();
  part_end_ = {};
  in_pass_ = passes_.continues_parent();
  suspends_pass_ = between_passes_ = false;
  simultaneous_ = (info.flags & VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT) != 0;
  if (context_.frames().over() || !context_.may_measure()) return copy_.release();
  contents_ = std::make_shared<Contents>(context_.frames().number(), once);
  if (once && !context_.frames().recording_soon()) return copy_.release();
  if (!begin_counting(info, once)) return;
  recording_ = make_recording();
  times_repetitions_ = is_chosen(recording_->number());
  contents_->set_recording(recording_, copy_.recording());
}

std::shared_ptr<Recording> CommandBuffer::make_recording() {
  return std::make_shared<Recording>(context_.handle(), table_, context_.timestamps(),
                                     context_.host_memory(), object_, context_.next_recording(),
                                     simultaneous_);
}

bool CommandBuffer::ends_at_labels() const {
  return contents_ && context_.frames().unit() == FrameUnit::Label;
}

// Begins the part after labels that have ended; what is recorded from here on may be in another
// frame.
void CommandBuffer::begin_part() {
  if (!part_end_.any() || in_pass_ || between_passes_) return;
  if (recording_) {
    deactivate();
    copy_times();
    recording_ = make_recording();
  }
  contents_->begin_part(std::exchange(part_end_, {}), recording_);
}

void CommandBuffer::enter_pass(bool suspending) {
  in_pass_ = true;
  between_passes_ = false;
  suspends_pass_ = suspending;
}

void CommandBuffer::leave_pass() {
  in_pass_ = false;
  between_passes_ = suspends_pass_;
  begin_part();
}

// The primary copies those of secondary command buffers that continue its passes.
void CommandBuffer::copy_times() {
  if (!recording_->timestamps.reserve_results(recording_->host_pieces)) {
    const vk::OwnFailure failure = vk::take_own_failure();
    context_.connection().message(
        store::Severity::Warning,
        "GPU times are missing: " +
            (failure.what ? failure.text() : "the device has no memory that the host can read"));
  }
  if (passes_.between_suspended() || passes_.continues_parent()) return;
  if (recording_->timestamps.copy_results(counting_)) needs_barrier_ = true;
  for (const RecordedSecondary& executed : recording_->secondaries) {
    if (executed.pass && executed.recording->timestamps.copy_results(counting_)) {
      needs_barrier_ = true;
    }
  }
}

// Makes the values of the whole command buffer visible to the host at the end of the command
// buffer.
void CommandBuffer::end() {
  deactivate();
  if (recording_) copy_times();
  if (ends_at_labels()) contents_->end_last_part(part_end_, frame_labels_.open());
  if (!recording_ || !needs_barrier_ || !primary_ || passes_.between_suspended()) return;
  VkAccessFlags writes = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  // Values by region are written like colour attachments. A compute queue has none.
  if (passes_.can_count_regions()) writes |= VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT;
  const VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, writes,
                                VK_ACCESS_HOST_READ_BIT};
  table_.CmdPipelineBarrier(counting_, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                            VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

void CommandBuffer::after_end() {
  if (!copy_.recording()) return;
  const bool ended = copy_.end();
  if (!ended) tell_uncounted();
  if (!ended || !context_.copies()) abandon_copy();
}

void CommandBuffer::tell_uncounted() {
  context_.connection().message(
      store::Severity::Warning,
      "commands of a command buffer are not counted: " + vk::take_own_failure().text());
}

void CommandBuffer::note_uncounted(const std::string& why) {
  context_.connection().message(store::Severity::Warning, why);
  if (!recording_) return;
  for (const RecordedPart& part : contents_->parts()) {
    part.recording->uncounted = true;
    for (RecordedPass& pass : part.recording->passes) pass.regions.reset();
  }
}

void CommandBuffer::refuse_regions(const std::string& why) {
  context_.connection().message(store::Severity::Warning, why);
  if (recording_) passes_.refuse_regions(*recording_);
}

void CommandBuffer::before_unknown_action(const char* name) {
  deactivate();
  sets_.reset();
  before_other_work();
  context_.connection().message(
      store::Severity::Warning,
      fmt::format("{} was called: the shaders that it runs are not counted", name));
}

void CommandBuffer::activate() {
  if (!measurable() || refused_ || passes_.scope() == PassRecorder::Scope::Secondaries) return;
  if (active_ && !recording_->object_is_full()) return;
  deactivate();
  const VkShaderInstrumentationARM object = recording_->next_object();
  refused_ = object == VK_NULL_HANDLE;
  if (refused_) {
    context_.connection().message(
        store::Severity::Error,
        "the rest of a command buffer is not counted: vkCreateShaderInstrumentationARM failed");
    return;
  }
  table_.CmdBeginShaderInstrumentationARM(counting_, object);
  active_ = true;
}

void CommandBuffer::deactivate() {
  if (!std::exchange(active_, false)) return;
  table_.CmdEndShaderInstrumentationARM(counting_);
}

void CommandBuffer::before_bind(VkPipelineBindPoint bind_point, VkPipeline pipeline) {
  if (!recording_) return;
  const Pipeline* bound = bound_.bind(bind_point, pipeline);
  // Its dispatches may have known counts, and need no instrumentation then.
  if (bound && bound->launches && context_.shares_counts(*bound->launches) &&
      !bound->launches->counts_all(context_.launch_rules().makes_plain)) {
    return;
  }
  const bool has_begun = passes_.scope() == PassRecorder::Scope::Inline ||
                         !context_.may_suspend() || recording_->commands() != 0;
  if (has_begun && bound && bound->instrumented() && context_.measures()) activate();
}

BoundSets* CommandBuffer::sets() {
  return recording_ && context_.follows_sets() ? &sets_ : nullptr;
}

// Null: the command has no launch that others share.
Launch* CommandBuffer::find_launch(store::Function function,
                                   std::initializer_list<int64_t> parameters,
                                   const Pipeline& pipeline) const {
  if (function != store::Function::Dispatch && function != store::Function::DispatchBase) {
    return nullptr;
  }
  if (!pipeline.launches || conditional_ || !context_.shares_counts(*pipeline.launches)) {
    return nullptr;
  }
  std::array<DescriptorSize, LaunchKey::kMaxSizes> room;
  const auto sizes = sets_.read(pipeline.launches->sizes(), context_.descriptor_sizes(), room);
  return pipeline.launches->find(parameters, push_constants_, sizes);
}

std::optional<TimeIndex> CommandBuffer::before_action(store::Function function,
                                                      std::initializer_list<int64_t> parameters) {
  if (contents_) contents_->add_command();
  if (!recording_) return std::nullopt;
  if (store::function_info(function).kind == store::CallKind::Generated) sets_.reset();
  const std::shared_ptr<Pipeline>& pipeline = bound_.pipeline_for(function);
  const bool measures = context_.measures();
  const bool wanted = measures && pipeline && pipeline->instrumented();
  Launch* const launch =
      wanted && measurable() ? find_launch(function, parameters, *pipeline) : nullptr;
  const Launch::Turn turn = launch ? pipeline->launches->next(*launch, times_repetitions_,
                                                              context_.launch_rules().makes_plain)
                                   : Launch::Turn();
  if (wanted && turn.counted) {
    activate();
  } else if (active_ && (wanted || !measures || recording_->object_is_full())) {
    deactivate();
  }
  const bool samples = passes_.samples_times();
  CommandRun command{
      .function = function, .launch = launch, .sampled = samples && turn.sampled, .label = label()};
  // A command uses one result index of the active object whether or not it is instrumented.
  const uint32_t result = active_ ? recording_->take_result() : CommandRun::kNone;
  needs_barrier_ = needs_barrier_ || active_;
  if (wanted && turn.counted) command.result = result;
  command.set_assembly(bound_.assembly());
  passes_.place(command);
  const std::optional<TimeIndex> time =
      passes_.begin_command_time(target(), !samples || turn.timed);
  if (time) command.times = *time;
  recording_->add(command, {parameters.begin(), parameters.size()}, pipeline);
  return time;
}

void CommandBuffer::after_action(store::Function function, std::optional<TimeIndex> time) {
  if (!time) return;
  const bool dispatches = store::function_info(function).kind == store::CallKind::Dispatch;
  passes_.end_command_time(target(), *time, dispatches);
}

const RecordedRegions* CommandBuffer::regions() const {
  return recording_ ? passes_.regions(*recording_) : nullptr;
}

// The values by region are made visible to the host as well.
void CommandBuffer::after_begin_pass() {
  if (regions()) needs_barrier_ = true;
}

void CommandBuffer::before_begin_pass(const VkRenderPassBeginInfo& info,
                                      VkSubpassContents contents) {
  enter_pass(false);
  if (!recording_) return;
  if (contents == VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS) deactivate();
  passes_.begin(target(), info, contents);
  after_begin_pass();
}

void CommandBuffer::before_next_subpass(VkSubpassContents contents) {
  if (!recording_) return;
  before_other_work();
  if (contents == VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS) deactivate();
  passes_.next_subpass(contents);
}

void CommandBuffer::before_end_pass() {
  if (recording_) passes_.before_end(target());
}

void CommandBuffer::after_end_pass() {
  if (recording_) passes_.end(target());
  leave_pass();
}

void CommandBuffer::before_begin_rendering(const VkRenderingInfo& info) {
  enter_pass((info.flags & VK_RENDERING_SUSPENDING_BIT) != 0);
  if (!recording_) return;
  // The suspending pass ended the instrumentation. Instrumentation that is active here began in an
  // earlier, complete pass.
  const bool resuming = (info.flags & VK_RENDERING_RESUMING_BIT) != 0;
  if (PassRecorder::has_secondaries(info) && !resuming) deactivate();
  passes_.begin_rendering(target(), info);
  after_begin_pass();
}

void CommandBuffer::before_end_rendering() {
  if (!recording_) return;
  if (passes_.suspending()) deactivate();
  passes_.before_end(target());
}

void CommandBuffer::after_end_rendering() {
  if (recording_) passes_.end_rendering(target());
  leave_pass();
}

void CommandBuffer::before_execute(std::span<const VkCommandBuffer> secondaries) {
  deactivate();
  sets_.reset();
  before_other_work();
  secondaries_.assign(secondaries.begin(), secondaries.end());
}

void CommandBuffer::execute(size_t index, const CommandBuffer& secondary) {
  if (secondary.contents_) contents_->add_secondary(secondary.contents_);
  if (copy_.recording() && !secondary.may_be_executed_twice()) abandon_copy();
  secondaries_[index] = secondary.counting_;
  if (!secondary.contents_) return;
  for (const RecordedPart& part : secondary.contents_->parts()) {
    if (recording_ && !part.empty()) {
      needs_barrier_ = true;
      RecordedSecondary executed;
      executed.recording = part.recording;
      executed.before_command = recording_->commands();
      executed.label = label();
      if (secondary.passes_.continues_parent()) executed.pass = passes_.pass();
      executed.subpass = passes_.subpass();
      recording_->secondaries.push_back(std::move(executed));
    }
    if (part.end.outermost && !frame_labels_.inside()) {
      part_end_.outermost = true;
      begin_part();
    }
  }
}

void CommandBuffer::push_label(const char* name) {
  if (ends_at_labels()) frame_labels_.begin(context_.frames().label_ends(name));
  if (!recording_) return;
  labels_.begin([&](const LabelRef& parent) {
    LabelRef label = context_.connection().label(parent, name);
    if (label) recording_->labels.push_back(label);
    return label;
  });
}

void CommandBuffer::pop_label() {
  labels_.end();
  if (!ends_at_labels()) return;
  if (frame_labels_.empty()) {
    ++part_end_.begun_before;
  } else if (frame_labels_.end()) {
    part_end_.outermost = true;
  }
  begin_part();
}

}  // namespace tally::capture
