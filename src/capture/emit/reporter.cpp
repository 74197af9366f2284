#include "capture/emit/reporter.h"

#include <tally/vulkan_arm.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "capture/emit/command_batches.h"
#include "capture/emit/region_messages.h"

namespace tally::capture {
namespace {

constexpr const char* kNoCounts = "the driver returned no counts for it";

}  // namespace

Reporter::Reporter(StreamConnection& connection, ShaderRegistry& shaders,
                   const RegionCapture& regions, stream::Device device)
    : connection_(connection), shaders_(shaders), regions_(regions), device_(std::move(device)) {
  layout_.metrics = device_.metrics;
  layout_.find_executions();
  live_places_ = LiveTotals::instance().list(layout_);
}

// Reads one execution of a submission. Sends it if there is a receiver.
class Reporter::ExecutionReport {
 public:
  ExecutionReport(Reporter& reporter, const Submission& submission, size_t index, LiveSum* live,
                  PacketBuilder* packet)
      : reporter_(reporter),
        submission_(submission),
        index_(index),
        execution_(submission.executions[index]),
        recording_(*execution_.recording),
        live_(live),
        packet_(packet),
        done_(recording_.commands()) {
    for (const CommandRun& run : recording_.command_runs) {
      if (run.result != CommandRun::kNone) measured_.push_back(&run);
    }
    if (packet_) {
      batches_.emplace(*packet_, reporter_.connection_, execution_, reporter_.layout_);
    }
  }

  // Whether another execution of the recording overlapped it.
  bool run() {
    complete_ = recording_.after_completion(
        execution_.runs, reporter_.layout_.block_bytes(),
        {reporter_.device_.timestamp_period_ns, submission_.timestamp_bits},
        [&](const Recording::Read& read) { begin(read); },
        [&](uint32_t first, std::span<const uint64_t> words) { add_results(first, words); });
    for (const CommandRun& run : recording_.command_runs) {
      for (size_t i = run.first; i < run.first + run.count; ++i) add_command(run, i, {});
    }
    if (batches_) batches_->flush();
    note_what_is_missing();
    return read_.overlapped;
  }

 private:
  void begin(const Recording::Read& read) {
    read_ = read;
    if (live_) live_->add_execution(execution_, read.times);
    if (!packet_) return;
    packet_->add(stream::Execution{static_cast<int64_t>(index_), execution_.parent,
                                   execution_.parent_command,
                                   packet_->need(recording_.command_buffer()), recording_.number(),
                                   execution_.runs, read.overlapped});
    reporter_.write_passes(*packet_, execution_, read);
  }

  // Adds metric blocks. Their result indices start at `first` and ascend.
  void add_results(uint32_t first, std::span<const uint64_t> words) {
    const size_t block_words = reporter_.layout_.block_bytes() / sizeof(uint64_t);
    const auto result_at = [&](size_t at) {
      VkShaderInstrumentationMetricDataHeaderARM header;
      std::memcpy(&header, words.data() + at, sizeof header);
      return header.resultIndex;
    };
    for (size_t begin = 0; begin + block_words <= words.size();) {
      const uint32_t result = result_at(begin);
      size_t end = begin + block_words;
      while (end + block_words <= words.size() && result_at(end) == result) end += block_words;
      const uint64_t index = uint64_t{first} + result;
      if (const CommandRun* run = run_of_result(index)) {
        add_command(*run, run->first + (index - run->result), words.subspan(begin, end - begin));
      }
      begin = end;
    }
  }

  // Consecutive results are mostly in the same run.
  const CommandRun* run_of_result(uint64_t result) {
    const auto has_it = [&] {
      const CommandRun& run = *measured_[last_measured_];
      return run.result <= result && result < uint64_t{run.result} + run.count;
    };
    if (measured_.empty()) return nullptr;
    if (!has_it()) {
      const auto after = std::ranges::upper_bound(
          measured_, result, {}, [](const CommandRun* run) { return run->result; });
      if (after == measured_.begin()) return nullptr;
      last_measured_ = static_cast<size_t>(after - measured_.begin()) - 1;
    }
    return has_it() ? measured_[last_measured_] : nullptr;
  }

  void add_command(const CommandRun& run, size_t index, std::span<const uint64_t> words) {
    if (done_[index]) return;
    done_[index] = true;
    if (live_) live_->add_command(execution_, run, index, words);
    if (!batches_) return;
    const bool has_time = run.timestamps < read_.times.size();
    batches_->add(run, index, words, has_time ? read_.times[run.timestamps] : std::nullopt);
    note_shaders(run, words);
  }

  // Consecutive commands usually have the same pipeline. It is noted once.
  void note_shaders(const CommandRun& run, std::span<const uint64_t> words) {
    if (run.result == CommandRun::kNone || run.pipeline == CommandRun::kNone) return;
    if (!seen_.empty() && seen_.back().first == run.pipeline &&
        seen_.back().second.empty() == words.empty()) {
      return;
    }
    const Pipeline& pipeline = *recording_.pipelines[run.pipeline];
    std::vector<const Shader*> shaders;
    const size_t block_words = reporter_.layout_.block_bytes() / sizeof(uint64_t);
    for (size_t at = 0; at + block_words <= words.size(); at += block_words) {
      VkShaderInstrumentationMetricDataHeaderARM header;
      std::memcpy(&header, words.data() + at, sizeof header);
      const Shader* shader = pipeline.shader_of(header.resultSubIndex, header.stages);
      if (shaders.empty() || shaders.back() != shader) shaders.push_back(shader);
    }
    seen_.emplace_back(run.pipeline, std::move(shaders));
  }

  void note_what_is_missing() {
    if (!complete_) {
      reporter_.connection_.message(store::Severity::Error,
                                    "the driver did not return the values of a command buffer");
      return;
    }
    for (const auto& [pipeline, shaders] : seen_) {
      reporter_.note_missing_shaders(*packet_, *recording_.pipelines[pipeline], shaders);
    }
  }

  Reporter& reporter_;
  const Submission& submission_;
  const size_t index_;
  const Execution& execution_;
  Recording& recording_;
  LiveSum* const live_;          // null: not requested
  PacketBuilder* const packet_;  // null: no receiver
  std::optional<CommandBatches> batches_;
  std::vector<const CommandRun*> measured_;  // runs with results, in ascending order of results
  size_t last_measured_ = 0;
  std::vector<bool> done_;  // by command
  Recording::Read read_;
  bool complete_ = true;
  std::vector<std::pair<uint32_t, std::vector<const Shader*>>> seen_;  // by pipeline: with blocks
};

void Reporter::announce_device() {
  const std::lock_guard lock(connection_.emission_mutex());
  PacketBuilder(connection_, device_.id).add(device_);
}

void Reporter::announce_queue(const stream::Queue& queue, InternedObject& object) {
  const std::lock_guard lock(connection_.emission_mutex());
  PacketBuilder packet(connection_, device_.id);
  if (!std::exchange(object.defined, true)) packet.add(queue);
}

void Reporter::report(const Submission& submission) {
  const std::lock_guard lock(connection_.emission_mutex());
  const bool receiving = connection_.receiving();
  std::optional<PacketBuilder> packet;
  if (receiving) {
    packet.emplace(connection_, device_.id);
    write_pipelines(*packet);
    write_frame(*packet, submission.frame);
    packet->add(stream::Submission{submission.queue, submission.frame.number, submission.number,
                                   submission.time_ns, submission.label});
  }
  std::optional<LiveSum> live;
  if (LiveTotals::instance().requested()) live.emplace(layout_);
  std::vector<bool> overlapped;
  uint64_t missing = 0;  // commands beyond the limit of a recording
  for (size_t i = 0; i < submission.executions.size(); ++i) {
    overlapped.push_back(
        ExecutionReport(*this, submission, i, live ? &*live : nullptr, packet ? &*packet : nullptr)
            .run());
    missing += submission.executions[i].recording->commands_lost;
  }
  if (live) LiveTotals::instance().add(*live, live_places_);
  if (!packet) return;
  if (missing > 0) {
    packet->add(
        stream::Missing{device_.id, submission.frame.number, static_cast<int64_t>(missing)});
  }
  packet.reset();
  write_regions(submission, overlapped);
}

// While executions of a recording overlap, each overwrites the values of the others.
void Reporter::write_regions(const Submission& submission, const std::vector<bool>& overlapped) {
  RegionMessages messages(connection_, device_.id, regions_);
  for (size_t i = 0; i < submission.executions.size(); ++i) {
    const Recording& recording = *submission.executions[i].recording;
    if (!recording.has_regions()) continue;
    if (overlapped[i]) {
      connection_.message(
          store::Severity::Warning,
          "regions of render passes are missing: command buffers were executed again "
          "before their values could be read");
    } else {
      messages.send(static_cast<int64_t>(i), recording);
    }
  }
}

void Reporter::lost(const Submission& submission, const std::string& why) {
  connection_.message(store::Severity::Error, why);
  const std::lock_guard lock(connection_.emission_mutex());
  submission.for_each_recording(
      [](Recording& recording, uint32_t runs) { recording.submit_failed(runs); });
  PacketBuilder packet(connection_, device_.id);
  write_frame(packet, submission.frame);
  packet.add(stream::Missing{device_.id, submission.frame.number,
                             static_cast<int64_t>(submission.commands())});
}

void Reporter::report(const FrameEnd& end) {
  const std::lock_guard lock(connection_.emission_mutex());
  PacketBuilder packet(connection_, device_.id);
  write_frame(packet, end.frame);
  packet.add(stream::FrameEnded{device_.id, end.frame.number, end.end_ns, end.by_present});
  write_pipelines(packet);
}

void Reporter::report_rest() {
  const std::lock_guard lock(connection_.emission_mutex());
  PacketBuilder packet(connection_, device_.id);
  write_pipelines(packet);
}

void Reporter::write_passes(PacketBuilder& packet, const Execution& execution,
                            const Recording::Read& read) {
  const Recording& recording = *execution.recording;
  for (size_t i = 0; i < recording.passes.size(); ++i) {
    const RecordedPass& pass = recording.passes[i];
    const Id label = connection_.label_under(execution.parent_label, pass.label);
    packet.add_labels();
    stream::Pass message{static_cast<int64_t>(i),
                         pass.dynamic,
                         packet.need(pass.render_pass),
                         packet.need(pass.framebuffer),
                         pass.area.extent.width,
                         pass.area.extent.height,
                         pass.layers,
                         pass.view_mask,
                         pass.attachments,
                         label,
                         std::nullopt};
    if (pass.timestamps < read.times.size()) message.gpu = read.times[pass.timestamps];
    packet.add(message);
  }
}

// Reports shaders of an instrumented pipeline that returned no block although commands with it ran.
// Each is reported once, and the report is withdrawn when a block arrives.
void Reporter::note_missing_shaders(PacketBuilder& packet, const Pipeline& pipeline,
                                    std::span<const Shader* const> with_blocks) {
  using Counts = Shader::Counts;
  const char* reason = pipeline.diagnostics.empty() ? kNoCounts : pipeline.diagnostics.c_str();
  for (const auto& shader : pipeline.shaders) {
    if (shader->counts == Counts::Seen || !shader->module) continue;
    const bool seen = std::ranges::find(with_blocks, shader.get()) != with_blocks.end();
    const Counts before = std::exchange(shader->counts, seen ? Counts::Seen : Counts::Missing);
    if (before == shader->counts || (seen && before == Counts::Unknown)) continue;
    packet.add(stream::NotInstrumented{shader->id, seen ? "" : reason});
  }
}

void Reporter::write_frame(PacketBuilder& packet, const Frames::Frame& frame) {
  if (frames_.insert(frame.number)) {
    packet.add(stream::Frame{device_.id, frame.number, frame.begin_ns});
  }
}

void Reporter::write_pipelines(PacketBuilder& packet) {
  for (const auto& pipeline : shaders_.take_new()) packet.need(pipeline);
}

}  // namespace tally::capture
