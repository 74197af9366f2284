#include "capture/recording/command_buffer.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "capture/recording/recording_context.h"
#include "vk/chain.h"
#include "vk/handle_map.h"

namespace tally::capture {
namespace {

// VK_RENDERING_CONTENTS_INLINE_BIT_KHR, newer than the headers of Debian 12. With the other bit a
// pass has both commands of its own and secondary command buffers.
constexpr VkRenderingFlags kContentsInline = 0x10;

}  // namespace

CommandBuffer::CommandBuffer(RecordingContext& context, VkCommandBuffer handle, bool primary,
                             const CommandPool& pool)
    : context_(context),
      table_(context.table()),
      handle_(handle),
      primary_(primary),
      can_measure_(!pool.protected_memory &&
                   (pool.queue_flags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT)) != 0),
      can_time_(!pool.protected_memory && pool.timestamp_bits != 0 &&
                context.connection().settings().gpu_time),
      can_count_regions_(context.regions().enabled() && !pool.protected_memory &&
                         (pool.queue_flags & VK_QUEUE_GRAPHICS_BIT) != 0),
      object_(std::make_shared<Object>(context.connection().new_id(), "VkCommandBuffer",
                                       vk::handle_bits(handle))),
      copy_(context, pool.handle,
            primary ? VK_COMMAND_BUFFER_LEVEL_PRIMARY : VK_COMMAND_BUFFER_LEVEL_SECONDARY),
      counting_(handle),
      bound_(context) {}

void CommandBuffer::reset() {
  if (contents_ && contents_->used()) used_once_ = !contents_->needs_recording();
  contents_.reset();
  recording_.reset();
  abandoned_.reset();
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
    if (!copy_.begin(info)) return false;
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
  contents_->set_recording(nullptr, false);
  abandoned_ = std::move(recording_);
  counting_ = handle_;
  active_ = false;
}

void CommandBuffer::begin(const VkCommandBufferBeginInfo& info) {
  reset();
  active_ = refused_ = needs_barrier_ = suspending_ = between_suspended_ = false;
  pass_.reset();
  suspended_pass_.reset();
  subpass_ = 0;
  bound_.reset();
  labels_.clear();
  continues_parent_ =
      !primary_ && (info.flags & VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT) != 0;
  scope_ = continues_parent_ ? Scope::Inline : Scope::Outside;
  simultaneous_ = (info.flags & VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT) != 0;
  if (context_.frames().over() || !context_.may_measure()) return copy_.release();
  const bool once = used_once_ || (info.flags & VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT) != 0;
  contents_ = std::make_shared<Contents>(context_.frames().number(), once);
  if (once && !context_.frames().recording_soon()) return copy_.release();
  if (!begin_counting(info, once)) return;
  recording_ = std::make_shared<Recording>(context_.handle(), table_, context_.timestamps(),
                                           context_.host_memory(), object_,
                                           context_.next_recording(), simultaneous_);
  contents_->set_recording(recording_, copy_.recording());
}

// Makes the values of the whole command buffer visible to the host at the end of the command
// buffer.
void CommandBuffer::end() {
  deactivate();
  if (!recording_ || !needs_barrier_ || !primary_ || between_suspended_) return;
  VkAccessFlags writes = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  // Values by region are written like colour attachments. A compute queue has none.
  if (can_count_regions_) writes |= VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT;
  const VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, writes,
                                VK_ACCESS_HOST_READ_BIT};
  table_.CmdPipelineBarrier(counting_, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                            VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

void CommandBuffer::after_end() {
  if (!copy_.recording()) return;
  if (!copy_.end() || !context_.copies()) abandon_copy();
}

void CommandBuffer::before_unknown_action(const char* name) {
  deactivate();
  context_.connection().message(
      store::Severity::Warning,
      fmt::format("{} was called: the shaders that it runs are not counted", name));
}

void CommandBuffer::activate() {
  if (!measurable() || refused_ || scope_ == Scope::Secondaries) return;
  if (active_ && !recording_->object_is_full()) return;
  deactivate();
  const VkShaderInstrumentationARM object = recording_->next_object();
  refused_ = object == VK_NULL_HANDLE;
  if (refused_) {
    context_.connection().message(
        store::Severity::Error,
        "vkCreateShaderInstrumentationARM failed: commands are not measured");
    return;
  }
  table_.CmdBeginShaderInstrumentationARM(counting_, object);
  active_ = needs_barrier_ = true;
}

void CommandBuffer::deactivate() {
  if (!std::exchange(active_, false)) return;
  table_.CmdEndShaderInstrumentationARM(counting_);
}

std::optional<TimestampPair> CommandBuffer::begin_time() {
  if (!can_time_ || between_suspended_ || !context_.measures()) return std::nullopt;
  return recording_->timestamps.begin(counting_);
}

std::optional<TimestampPair> CommandBuffer::before_action(
    store::Function function, std::initializer_list<int64_t> parameters) {
  if (contents_) contents_->add_command();
  if (!recording_) return std::nullopt;
  const std::shared_ptr<Pipeline>& pipeline = bound_.pipeline_for(function);
  const bool measures = context_.measures();
  const bool wanted = measures && pipeline && pipeline->instrumented();
  if (wanted) {
    activate();
  } else if (active_ && (!measures || recording_->object_is_full())) {
    deactivate();
  }
  CommandRun command{.function = function, .label = label()};
  // A command uses one result index of the active object whether or not it is instrumented.
  const uint32_t result = active_ ? recording_->take_result() : CommandRun::kNone;
  if (wanted) command.result = result;
  if (continues_parent_) {
    command.pass_of = stream::PassOf::Parent;
  } else if (pass_) {
    command.pass_of = stream::PassOf::Own;
    command.pass = *pass_;
    command.subpass = subpass_;
  }
  std::optional<TimestampPair> pair;
  if (store::function_info(function).kind != store::CallKind::Draw && scope_ == Scope::Outside)
    pair = begin_time();
  if (pair) command.timestamps = *pair;
  recording_->add(std::move(command), {parameters.begin(), parameters.size()}, pipeline);
  return pair;
}

void CommandBuffer::after_action(std::optional<TimestampPair> pair) {
  if (pair) recording_->timestamps.end(counting_, *pair);
}

uint32_t CommandBuffer::begin_pass(RecordedPass pass) {
  pass.label = label();
  if (const auto pair = begin_time()) pass.timestamps = *pair;
  recording_->passes.push_back(std::move(pass));
  return static_cast<uint32_t>(recording_->passes.size() - 1);
}

void CommandBuffer::prepare_regions(RecordedPass& pass, const void* chain, uint32_t subpasses) {
  if (!can_count_regions_) return;
  std::string reason;
  if (vk::find_in_chain<VkBaseInStructure>(chain, kRegionBeginType)) {
    reason = "the application counts it by region itself";
  } else {
    const auto views = static_cast<uint32_t>(std::bit_width(pass.view_mask));
    const PassShape shape{pass.area, subpasses, views != 0 ? views : pass.layers};
    pass.regions = context_.regions().prepare(shape, recording_->host_pieces, reason);
  }
  if (pass.regions) {
    needs_barrier_ = true;
  } else {
    context_.connection().message(store::Severity::Warning,
                                  "a render pass is not captured by region: " + reason);
  }
}

void CommandBuffer::take_picture(RecordedPass& pass) {
  if (!pass.regions) return;
  std::string reason;
  pass.picture = copy_picture(table_, counting_, pass.final_image, pass.area,
                              pass.regions->shape.layers, recording_->host_pieces, reason);
  if (pass.picture) return;
  context_.connection().message(store::Severity::Info, "a render pass has no picture: " + reason);
}

const RecordedRegions* CommandBuffer::regions() const {
  if (!recording_ || !pass_) return nullptr;
  const auto& regions = recording_->passes[*pass_].regions;
  return regions ? &*regions : nullptr;
}

void CommandBuffer::before_begin_pass(const VkRenderPassBeginInfo& info,
                                      VkSubpassContents contents) {
  if (!recording_) return;
  if (contents == VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS) deactivate();
  RecordedPass pass;
  pass.render_pass = context_.passes().find(info.renderPass);
  pass.framebuffer = context_.passes().find(info.framebuffer);
  pass.area = info.renderArea;
  if (pass.framebuffer) pass.layers = pass.framebuffer->layers;
  if (pass.render_pass) {
    pass.view_mask = pass.render_pass->view_mask;
    pass.attachments = pass.render_pass->attachments;
    prepare_regions(pass, info.pNext, pass.render_pass->subpasses);
    if (pass.regions) {
      pass.final_image =
          final_image(*pass.render_pass, pass.framebuffer.get(), *context_.images(), info);
    }
  }
  pass_ = begin_pass(std::move(pass));
  subpass_ = 0;
  scope_ = contents == VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS ? Scope::Secondaries
                                                                     : Scope::Inline;
}

void CommandBuffer::before_next_subpass(VkSubpassContents contents) {
  if (!recording_) return;
  if (contents == VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS) deactivate();
  ++subpass_;
  scope_ = contents == VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS ? Scope::Secondaries
                                                                     : Scope::Inline;
}

void CommandBuffer::after_end_pass() {
  if (!recording_ || !pass_) return;
  const uint32_t pair = recording_->passes[*pass_].timestamps;
  if (pair != CommandRun::kNone) recording_->timestamps.end(counting_, pair);
  recording_->passes[*pass_].ended = true;
  take_picture(recording_->passes[*pass_]);
  pass_.reset();
  scope_ = Scope::Outside;
}

void CommandBuffer::before_begin_rendering(const VkRenderingInfo& info) {
  if (!recording_) return;
  constexpr VkRenderingFlags kContents =
      VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT | kContentsInline;
  const bool secondaries =
      (info.flags & kContents) == VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT;
  const bool resuming = (info.flags & VK_RENDERING_RESUMING_BIT) != 0;
  // The suspending pass ended the instrumentation. Instrumentation that is active here began in an
  // earlier, complete pass.
  if (secondaries && !resuming) deactivate();
  suspending_ = (info.flags & VK_RENDERING_SUSPENDING_BIT) != 0;
  if (resuming) between_suspended_ = true;  // nothing may be recorded before it
  if (resuming && suspended_pass_) {
    pass_ = std::exchange(suspended_pass_, std::nullopt);
  } else {
    RecordedPass pass;
    pass.dynamic = true;
    pass.area = info.renderArea;
    pass.layers = info.layerCount;
    pass.view_mask = info.viewMask;
    pass.attachments = context_.passes().attachments(info);
    prepare_regions(pass, info.pNext, 1);
    if (pass.regions) pass.final_image = final_image(*context_.images(), info);
    pass_ = begin_pass(std::move(pass));
  }
  between_suspended_ = false;
  subpass_ = 0;
  scope_ = secondaries ? Scope::Secondaries : Scope::Inline;
}

void CommandBuffer::before_end_rendering() {
  if (recording_ && suspending_) deactivate();
}

void CommandBuffer::after_end_rendering() {
  if (!recording_ || !pass_) return;
  scope_ = Scope::Outside;
  if (suspending_) {
    between_suspended_ = true;
    suspended_pass_ = std::exchange(pass_, std::nullopt);
  } else {
    after_end_pass();
  }
}

void CommandBuffer::before_execute(std::span<const VkCommandBuffer> secondaries) {
  deactivate();
  secondaries_.assign(secondaries.begin(), secondaries.end());
}

void CommandBuffer::execute(size_t index, const CommandBuffer& secondary) {
  if (secondary.contents_) contents_->add_secondary(secondary.contents_);
  if (copy_.recording() && !secondary.may_be_executed_twice()) abandon_copy();
  secondaries_[index] = secondary.counting_;
  if (!recording_ || !secondary.recording_ || secondary.recording_->empty()) return;
  needs_barrier_ = true;
  RecordedSecondary executed;
  executed.recording = secondary.recording_;
  executed.before_command = recording_->commands();
  executed.label = label();
  if (secondary.continues_parent_) executed.pass = pass_;
  executed.subpass = subpass_;
  recording_->secondaries.push_back(std::move(executed));
}

void CommandBuffer::push_label(const char* name) {
  if (!recording_) return;
  labels_.begin([&](Id parent) { return context_.connection().label(parent, name); });
}

void CommandBuffer::pop_label() { labels_.end(); }

}  // namespace tally::capture
