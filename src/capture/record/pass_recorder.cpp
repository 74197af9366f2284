#include "capture/record/pass_recorder.h"

#include <algorithm>
#include <bit>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "capture/record/recording.h"
#include "capture/record/recording_context.h"
#include "vk/chain.h"
#include "vk/own_call.h"

namespace tally::capture {
namespace {

// VK_RENDERING_CONTENTS_INLINE_BIT_KHR, newer than the headers of Debian 12. With the other bit a
// pass has both commands of its own and secondary command buffers.
constexpr VkRenderingFlags kContentsInline = 0x10;

PassRecorder::Scope scope_of(bool secondaries) {
  return secondaries ? PassRecorder::Scope::Secondaries : PassRecorder::Scope::Inline;
}

// The size of the smallest framebuffer that has the render area.
uint64_t pixels(const RecordedPass& pass) {
  const auto end = [](int32_t offset, uint32_t extent) {
    return static_cast<uint64_t>(std::max(offset, 0)) + extent;
  };
  const VkRect2D& area = pass.area;
  return end(area.offset.x, area.extent.width) * end(area.offset.y, area.extent.height);
}

uint64_t hash_text(std::string_view text) { return hash_bytes(std::as_bytes(std::span(text))).low; }

uint32_t view_mask_of(const VkCommandBufferInheritanceInfo& info, const PassRegistry& passes) {
  if (const std::shared_ptr<RenderPass> pass = passes.find(info.renderPass)) {
    return pass->view_mask;
  }
  const auto* rendering = vk::find_in_chain<VkCommandBufferInheritanceRenderingInfo>(
      info.pNext, VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO);
  return rendering ? rendering->viewMask : 0;
}

}  // namespace

void PassRecorder::refuse_regions(Recording& recording) const {
  if (pass_) recording.passes[*pass_].regions.reset();
}

void PassRecorder::end_command_time(const PassTarget& to, TimeIndex time, bool dispatches) const {
  if (dispatches && scope_ == Scope::Outside) {
    to.recording.timestamps.end_dispatch(to.commands, time);
  } else {
    to.recording.timestamps.end(to.commands, timestamp_place(), time);
  }
}

void PassRecorder::reset(const VkCommandBufferInheritanceInfo* inherits, bool once) {
  continues_parent_ = inherits != nullptr;
  once_ = once;
  scope_ = continues_parent_ ? Scope::Inline : Scope::Outside;
  view_mask_ = inherits ? view_mask_of(*inherits, context_.passes()) : 0;
  suspending_ = between_suspended_ = false;
  pass_.reset();
  suspended_pass_.reset();
  subpass_ = 0;
}

void PassRecorder::place(CommandRun& command) const {
  if (continues_parent_) {
    command.pass_of = stream::PassOf::Parent;
  } else if (pass_) {
    command.pass_of = stream::PassOf::Own;
    command.pass = *pass_;
    command.subpass = subpass_;
  }
}

TimestampPlace PassRecorder::timestamp_place() const {
  if (scope_ == Scope::Outside) return {};
  const auto views = static_cast<uint32_t>(std::popcount(view_mask_));
  return {.in_pass = true, .views = std::max(views, 1u)};
}

bool PassRecorder::samples_times() const {
  const CaptureSettings& settings = context_.connection().settings();
  return times_ == Times::Passes && settings.counts && !settings.live_counters;
}

std::optional<TimeIndex> PassRecorder::begin_command_time(const PassTarget& to, bool timed) {
  if (scope_ != Scope::Outside && times_ != Times::Draws) return std::nullopt;
  if (timed) return begin_time(to);
  to.recording.timestamps.separate();
  return std::nullopt;
}

std::optional<TimeIndex> PassRecorder::begin_time(const PassTarget& to) {
  if (times_ == Times::Off || between_suspended_ || !context_.measures()) {
    to.recording.timestamps.separate();
    return std::nullopt;
  }
  const std::optional<TimeIndex> time =
      to.recording.timestamps.begin(to.commands, timestamp_place());
  if (!time) {
    const vk::OwnFailure failure = vk::take_own_failure();
    context_.connection().message(
        store::Severity::Warning,
        "GPU times are missing: " +
            (failure.what ? failure.text()
                          : "a command buffer with SIMULTANEOUS_USE has room for those of the "
                            "first draws of a render pass only"));
  }
  return time;
}

// Null if all such passes are timed. Parts of suspended passes may have no time at all.
PassSample* PassRecorder::sample_of(const RecordedPass& pass) const {
  const bool is_whole = !suspending_ && !between_suspended_;
  if (!once_ || !is_whole || !samples_times() || !context_.measures() ||
      !context_.timestamps().rules().in_each_tile) {
    return nullptr;
  }
  uint64_t key = hash_text(pass.attachments);
  for (const uint64_t part :
       {pass.render_pass ? pass.render_pass->id() : uint64_t{0}, uint64_t{pass.area.extent.width},
        uint64_t{pass.area.extent.height}, uint64_t{pass.layers}, uint64_t{pass.view_mask}}) {
    key = hash_combine(key, part);
  }
  for (const Label* label = pass.label; label; label = label->parent.get())
    key = hash_combine(key, hash_text(label->name));
  return context_.pass_samples().find(key);
}

void PassRecorder::begin_pass(const PassTarget& to, RecordedPass pass) {
  pass.label = to.label;
  pass.sample = sample_of(pass);
  const PassSample::Turn turn = pass.sample ? pass.sample->next() : PassSample::Turn();
  pass.sampled = turn.sampled;
  if (const auto time = turn.timed ? begin_time(to) : std::nullopt) pass.time = *time;
  view_mask_ = pass.view_mask;
  to.recording.passes.push_back(std::move(pass));
  pass_ = static_cast<uint32_t>(to.recording.passes.size() - 1);
  to.recording.timestamps.separate();  // the first draw begins after what the pass does before
}

void PassRecorder::prepare_regions(const PassTarget& to, RecordedPass& pass, const void* chain,
                                   uint32_t subpasses, bool whole) {
  if (!can_count_regions_) return;
  std::string reason;
  if (vk::find_in_chain<VkBaseInStructure>(chain, kRegionBeginType)) {
    reason = "the application counts it by region itself";
  } else {
    const auto views = static_cast<uint32_t>(std::bit_width(pass.view_mask));
    const PassShape shape{pass.area, subpasses, views != 0 ? views : pass.layers, whole};
    pass.regions = context_.regions().prepare(shape, to.recording.host_pieces, reason);
  }
  if (pass.regions) return;
  context_.connection().message(store::Severity::Warning,
                                "a render pass is not captured by region: " + reason);
}

void PassRecorder::take_picture(const PassTarget& to, RecordedPass& pass) {
  if (!pass.regions) return;
  std::string reason;
  pass.picture = copy_picture(context_.table(), to.commands, pass.final_image, pass.area,
                              pass.regions->shape.layers, to.recording.host_pieces, reason);
  to.recording.timestamps.separate();
  if (pass.picture) return;
  context_.connection().message(store::Severity::Info, "a render pass has no picture: " + reason);
}

const RecordedRegions* PassRecorder::regions(const Recording& recording) const {
  if (!pass_) return nullptr;
  const auto& regions = recording.passes[*pass_].regions;
  return regions ? &*regions : nullptr;
}

void PassRecorder::begin(const PassTarget& to, const VkRenderPassBeginInfo& info,
                         VkSubpassContents contents) {
  RecordedPass pass;
  pass.render_pass = context_.passes().find(info.renderPass);
  pass.framebuffer = context_.passes().find(info.framebuffer);
  pass.area = info.renderArea;
  if (pass.framebuffer) pass.layers = pass.framebuffer->layers;
  if (pass.render_pass) {
    pass.view_mask = pass.render_pass->view_mask;
    pass.attachments = pass.render_pass->attachments;
    pass.resolves = pass.render_pass->resolves;
    prepare_regions(to, pass, info.pNext, pass.render_pass->subpasses, true);
    if (pass.regions) {
      pass.final_image =
          final_image(*pass.render_pass, pass.framebuffer.get(), *context_.images(), info);
    }
  }
  begin_pass(to, std::move(pass));
  subpass_ = 0;
  scope_ = scope_of(contents == VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS);
}

void PassRecorder::next_subpass(VkSubpassContents contents) {
  ++subpass_;
  scope_ = scope_of(contents == VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS);
}

void PassRecorder::before_end(const PassTarget& to) {
  if (!pass_ || suspending_ || scope_ != Scope::Inline) return;
  RecordedPass& pass = to.recording.passes[*pass_];
  if (pass.time == CommandRun::kNone || pass.resolves || pass.regions) return;
  TimestampPlace place = timestamp_place();
  place.pixels = pixels(pass);
  pass.time_ended = to.recording.timestamps.end_in_pass(to.commands, place, pass.time);
}

void PassRecorder::end(const PassTarget& to) {
  if (!pass_) return;
  RecordedPass& pass = to.recording.passes[*pass_];
  scope_ = Scope::Outside;
  if (pass.time == CommandRun::kNone) {
    to.recording.timestamps.separate();
  } else if (!pass.time_ended) {
    to.recording.timestamps.end(to.commands, {.pixels = pixels(pass)}, pass.time);
  }
  pass.ended = true;
  take_picture(to, pass);
  pass_.reset();
}

bool PassRecorder::has_secondaries(const VkRenderingInfo& info) {
  constexpr VkRenderingFlags kContents =
      VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT | kContentsInline;
  return (info.flags & kContents) == VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT;
}

void PassRecorder::begin_rendering(const PassTarget& to, const VkRenderingInfo& info) {
  const bool resuming = (info.flags & VK_RENDERING_RESUMING_BIT) != 0;
  suspending_ = (info.flags & VK_RENDERING_SUSPENDING_BIT) != 0;
  if (resuming) between_suspended_ = true;  // nothing may be recorded before it
  if (resuming && suspended_pass_) {
    pass_ = std::exchange(suspended_pass_, std::nullopt);
    view_mask_ = info.viewMask;
    to.recording.timestamps.separate();
  } else {
    RecordedPass pass;
    pass.dynamic = true;
    pass.area = info.renderArea;
    pass.layers = info.layerCount;
    pass.view_mask = info.viewMask;
    pass.attachments = context_.passes().attachments(info);
    pass.resolves = resolves(info);
    prepare_regions(to, pass, info.pNext, 1, !suspending_ && !resuming);
    if (pass.regions) pass.final_image = final_image(*context_.images(), info);
    begin_pass(to, std::move(pass));
  }
  between_suspended_ = false;
  subpass_ = 0;
  scope_ = scope_of(has_secondaries(info));
}

void PassRecorder::end_rendering(const PassTarget& to) {
  if (!pass_) return;
  scope_ = Scope::Outside;
  if (suspending_) {
    between_suspended_ = true;
    suspended_pass_ = std::exchange(pass_, std::nullopt);
  } else {
    end(to);
  }
}

}  // namespace tally::capture
