#include "capture/reporter.h"

#include <cstring>
#include <utility>

#include "capture/command_messages.h"
#include "capture/live_totals.h"
#include "capture/region_messages.h"
#include "capture/value_reader.h"
#include "store/clock.h"

namespace tally::capture {
namespace {

constexpr const char* kNoCounts = "no counts came back for it";

}  // namespace

Reporter::Reporter(Channel& channel, ShaderRegistry& shaders, const RegionCapture& regions,
                   stream::Device device)
    : channel_(channel), shaders_(shaders), regions_(regions), device_(std::move(device)) {
  layout_.metrics = device_.metrics;
  layout_.find_executions();
  live_places_ = LiveTotals::instance().list(layout_);
}

void Reporter::announce_device() {
  const std::lock_guard lock(channel_.emission_mutex());
  Draft draft(channel_, device_.id);
  draft.add(device_);
  draft.push(SIZE_MAX);
}

void Reporter::announce_queue(const stream::Queue& queue,
                              const std::shared_ptr<Definable>& definable) {
  const std::lock_guard lock(channel_.emission_mutex());
  Draft draft(channel_, device_.id);
  if (draft.mark(definable->defined)) draft.add(queue);
  draft.push(SIZE_MAX);
}

void Reporter::report(const Submission& submission) {
  const std::lock_guard lock(channel_.emission_mutex());
  const std::vector<Values> values = read_values(submission);
  count_live(submission, values);
  if (!channel_.receiving()) return;
  if (write_as_there_is_room(submission, values)) write_regions(submission, values);
}

bool Reporter::write_as_there_is_room(const Submission& submission,
                                      const std::vector<Values>& values) {
  const size_t limit = channel_.settings().queue_bytes;
  const bool congested = congested_frame_ == submission.frame.number;
  if (!congested) {
    if (write(submission, values, true, limit)) return true;
    channel_.wait_below(limit / 2, channel_.settings().patience);
    if (write(submission, values, true, limit)) return true;
    congested_frame_ = submission.frame.number;
  }
  Lost& lost = lost_[submission.frame.number];
  int64_t commands = 0;
  for (const Execution& execution : submission.executions) {
    commands += static_cast<int64_t>(execution.recording->commands.size());
  }
  // A quarter more for what is small and matters most.
  lost.blocks += commands;
  if (write(submission, values, false, limit + limit / 4)) return true;
  lost_[submission.frame.number].blocks -= commands;
  lost_[submission.frame.number].commands += commands;
  return false;
}

// While executions of a recording overlap, one overwrites the values of another.
void Reporter::write_regions(const Submission& submission, const std::vector<Values>& values) {
  RegionMessages messages(channel_, device_.id, regions_);
  for (size_t i = 0; i < submission.executions.size(); ++i) {
    const Recording& recording = *submission.executions[i].recording;
    if (!recording.has_regions()) continue;
    if (values[i].read.overlapped) {
      channel_.message(store::Severity::Warning,
                       "regions of render passes are missing: command buffers were executed again "
                       "before their values could be read");
    } else {
      messages.send(static_cast<int64_t>(i), recording);
    }
  }
}

void Reporter::lost(const Submission& submission, const std::string& why) {
  channel_.message(store::Severity::Error, why);
  const std::lock_guard lock(channel_.emission_mutex());
  submission.for_each_recording([&](Recording& recording, uint32_t runs) {
    recording.submit_failed(runs);
    lost_[submission.frame.number].commands += static_cast<int64_t>(recording.commands.size());
  });
  Draft draft(channel_, device_.id);
  write_frame(draft, submission.frame);
  write_lost(draft);
  push(draft, channel_.settings().queue_bytes);
}

void Reporter::report(const FrameEnd& end) {
  const std::lock_guard lock(channel_.emission_mutex());
  Draft draft(channel_, device_.id);
  write_frame(draft, end.frame);
  draft.add(stream::FrameEnded{device_.id, end.frame.number, end.end_ns, end.by_present});
  write_pipelines(draft);
  write_lost(draft);
  push(draft, channel_.settings().queue_bytes * 2);
}

void Reporter::report_rest() {
  const std::lock_guard lock(channel_.emission_mutex());
  Draft draft(channel_, device_.id);
  write_pipelines(draft);
  write_lost(draft);
  push(draft, channel_.settings().queue_bytes * 2);
}

std::vector<Reporter::Values> Reporter::read_values(const Submission& submission) {
  std::vector<Values> all;
  for (const Execution& execution : submission.executions) {
    Values& values = all.emplace_back();
    Recording& recording = *execution.recording;
    ValueReader reader(recording, layout_);
    values.read = recording.after_completion(
        execution.runs, layout_.block_bytes(),
        {device_.timestamp_period_ns, submission.timestamp_bits},
        [&](uint32_t first, std::span<const uint64_t> words) { reader.take(first, words); });
    values.stages = reader.result();
    note_missing_stages(execution, values);
    if (recording.commands_lost > 0) {
      lost_[submission.frame.number].commands += static_cast<int64_t>(recording.commands_lost);
    }
    if (!values.read.complete) {
      channel_.message(store::Severity::Error,
                       "the driver did not give the values of a command buffer");
    }
  }
  return all;
}

void Reporter::count_live(const Submission& submission, const std::vector<Values>& values) {
  LiveSum sum(layout_);
  for (size_t i = 0; i < values.size(); ++i) {
    sum.add(submission.executions[i], values[i].read.times, values[i].stages);
  }
  LiveTotals::instance().add(sum, live_places_);
}

bool Reporter::write(const Submission& submission, const std::vector<Values>& values, bool blocks,
                     size_t limit) {
  Draft draft(channel_, device_.id);
  write_pipelines(draft);
  write_frame(draft, submission.frame);
  draft.add(stream::Submission{submission.queue, submission.frame.number, submission.number,
                               submission.time_ns, submission.label});
  for (size_t i = 0; i < submission.executions.size(); ++i) {
    write_execution(draft, submission, i, values[i], blocks);
  }
  write_lost(draft);
  return push(draft, limit);
}

void Reporter::write_execution(Draft& draft, const Submission& submission, size_t index,
                               const Values& values, bool blocks) {
  const Execution& execution = submission.executions[index];
  const Recording& recording = *execution.recording;
  draft.add(stream::Execution{static_cast<int64_t>(index), execution.parent,
                              execution.parent_command, draft.need(recording.command_buffer()),
                              recording.number(), execution.runs, values.read.overlapped});
  write_passes(draft, execution, values);
  CommandMessages messages(draft, channel_, execution, layout_.values());
  for (size_t i = 0; i < recording.commands.size(); ++i) {
    const RecordedCommand& command = recording.commands[i];
    static const std::vector<stream::StageValues> kNothing;
    const bool has_values = command.result < values.stages.size();
    const bool has_time = command.timestamps < values.read.times.size();
    messages.add(i, has_values ? values.stages[command.result] : kNothing, blocks,
                 has_time ? values.read.times[command.timestamps] : std::nullopt);
  }
  messages.flush();
  for (const stream::NotInstrumented& news : values.news) draft.add(news);
}

void Reporter::write_passes(Draft& draft, const Execution& execution, const Values& values) {
  const Recording& recording = *execution.recording;
  for (size_t i = 0; i < recording.passes.size(); ++i) {
    const RecordedPass& pass = recording.passes[i];
    const Id label = channel_.label_under(execution.parent_label, pass.label);
    draft.add_labels();
    stream::Pass message{static_cast<int64_t>(i),
                         pass.dynamic,
                         draft.need(pass.render_pass),
                         draft.need(pass.framebuffer),
                         pass.area.extent.width,
                         pass.area.extent.height,
                         pass.layers,
                         pass.view_mask,
                         pass.attachments,
                         label,
                         std::nullopt};
    if (pass.timestamps < values.read.times.size())
      message.gpu = values.read.times[pass.timestamps];
    draft.add(message);
  }
}

// A stage of an instrumented pipeline that never gives a block, although its commands ran: said
// once, taken back when one comes.
void Reporter::note_missing_stages(const Execution& execution, Values& values) {
  using Counts = Shader::Counts;
  for (const RecordedCommand& command : execution.recording->commands) {
    if (command.result >= values.stages.size() || !values.read.complete) continue;
    if (command.pipeline == RecordedCommand::kNone) continue;
    const Pipeline& pipeline = *execution.recording->pipelines[command.pipeline];
    const char* reason = pipeline.heard.empty() ? kNoCounts : pipeline.heard.c_str();
    for (const auto& shader : pipeline.shaders) {
      if (shader->counts == Counts::Seen || !shader->module) continue;
      bool seen = false;
      for (const stream::StageValues& stage : values.stages[command.result]) {
        seen |= stage.stage == static_cast<uint32_t>(shader->stage);
      }
      const Counts before = std::exchange(shader->counts, seen ? Counts::Seen : Counts::Missing);
      if (before == shader->counts || (seen && before == Counts::Unknown)) continue;
      values.news.push_back({shader->id, seen ? "" : reason});
    }
  }
}

void Reporter::write_frame(Draft& draft, const Frames::Frame& frame) {
  if (draft.mark(frames_[frame.number])) {
    draft.add(stream::Frame{device_.id, frame.number, frame.begin_ns});
  }
}

void Reporter::write_pipelines(Draft& draft) {
  auto fresh = shaders_.take_new();
  for (const auto& pipeline : fresh) draft.need(pipeline);
  draft.keep_new(shaders_, std::move(fresh));
}

void Reporter::write_lost(Draft& draft) {
  for (const auto& [frame, lost] : lost_) {
    if (frames_[frame] && (lost.blocks != 0 || lost.commands != 0)) {
      draft.add(stream::Dropped{device_.id, frame, lost.blocks, lost.commands});
    }
  }
}

bool Reporter::push(Draft& draft, size_t limit) {
  if (!draft.push(limit)) return false;
  std::erase_if(lost_, [&](const auto& entry) { return frames_[entry.first]; });
  return true;
}

}  // namespace tally::capture
