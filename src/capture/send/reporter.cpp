#include "capture/send/reporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "capture/record/images.h"
#include "capture/record/recording.h"

namespace tally::capture {

// Sends the values by region of a completed submission, pass by pass.

namespace {

constexpr size_t kValuesPerMessage = size_t{256} << 10;
constexpr size_t kPixelsPerMessage = size_t{256} << 10;

void add_values(PacketBuilder& packet, uint32_t counter, const std::vector<uint32_t>& values) {
  for (size_t at = 0; at < values.size(); at += kValuesPerMessage) {
    const size_t end = std::min(values.size(), at + kValuesPerMessage);
    packet.add(stream::RegionValues{counter,
                                    {values.begin() + static_cast<ptrdiff_t>(at),
                                     values.begin() + static_cast<ptrdiff_t>(end)}});
  }
}

// Sends one layer at a time, with as many rows per message as fit.
void send_picture(PacketBuilder& packet, stream::PassPicture message,
                  const RecordedPicture& picture) {
  const size_t row_bytes = picture.row_bytes();
  const size_t bytes_at_once = std::max<size_t>(kPixelsPerMessage / message.width, 1) * row_bytes;
  for (message.layer = 0; message.layer < picture.layers; ++message.layer) {
    packet.add(message);
    std::span<const std::byte> texels = picture.layer(message.layer);
    const AmountRange range = amount_range(picture.format, texels);
    while (!texels.empty()) {
      const auto part = texels.first(std::min(texels.size(), bytes_at_once));
      packet.add(stream::PictureRows{to_pixels(picture.format, part, range)});
      texels = texels.subspan(part.size());
    }
  }
}

// The draws of a pass, and what was counted of them.
class PassDraws {
 public:
  PassDraws(const Recording& recording, uint32_t pass, uint32_t counters) : counters_(counters) {
    const RecordedRegions& regions = *recording.passes[pass].regions;
    missing_ = regions.no_draws;
    if (regions.draw_capacity == 0) return;
    layer_regions_ = regions.columns * regions.rows;
    for (const CommandRun& run : recording.command_runs) {
      if (run.pass_of != stream::PassOf::Own || run.pass != pass) continue;
      for (uint32_t i = 0; i < run.count; ++i) draws_.push_back({run.first + i, run.subpass});
    }
    missing_ = why_missing(recording, pass, regions);
    const vk::RegionDrawsHeader header = regions.draws_header();
    if (header.magic == vk::kRegionDrawsMagic && header.draws == draws_.size()) {
      entries_ = regions.draw_entries(counters);
    }
  }

  const std::string& missing() const { return missing_; }
  void send(PacketBuilder& packet, uint32_t subpass, uint32_t layer) const {
    for (auto begin = entries_.begin(); begin != entries_.end();) {
      const auto end = std::find_if(
          begin, entries_.end(), [&](const DrawEntry& entry) { return entry.draw != begin->draw; });
      if (draws_[begin->draw].subpass == subpass) send_draw(packet, {begin, end}, layer);
      begin = end;
    }
  }

 private:
  struct Draw {
    uint32_t position = 0;
    uint32_t subpass = 0;
  };

  std::string why_missing(const Recording& recording, uint32_t pass,
                          const RecordedRegions& regions) const {
    const vk::RegionDrawsHeader header = regions.draws_header();
    if (header.magic != vk::kRegionDrawsMagic) return "the layer below does not count them";
    if (header.draws != draws_.size())
      return fmt::format("{} draws were recorded, {} counted", draws_.size(), header.draws);
    if (header.counted < header.draws) {
      return fmt::format("{} of {} draws of a pass exceed its memory; use larger regions",
                         header.draws - header.counted, header.draws);
    }
    if (header.entries > regions.draw_capacity) {
      return fmt::format("{} of {} values of a pass exceed its memory; use larger regions",
                         header.entries - regions.draw_capacity, header.entries);
    }
    const bool has_secondaries = std::ranges::any_of(
        recording.secondaries, [&](const RecordedSecondary& own) { return own.pass == pass; });
    return has_secondaries ? "draws in secondary command buffers are counted only with their pass"
                           : "";
  }

  void send_draw(PacketBuilder& packet, std::span<const DrawEntry> entries, uint32_t layer) const {
    for (uint32_t counter = 0; counter < counters_; ++counter) {
      stream::RegionDraw message{.counter = counter, .position = draws_[entries[0].draw].position};
      const auto send = [&] {
        if (!message.values.empty()) packet.add(message);
        message.regions.clear();
        message.values.clear();
      };
      for (const DrawEntry& entry : entries) {
        const uint32_t value = entry.value(counter);
        if (value == 0 || entry.place / layer_regions_ != layer) continue;
        message.regions.push_back(entry.place % layer_regions_);
        message.values.push_back(value);
        if (message.values.size() == kValuesPerMessage) send();
      }
      send();
    }
  }

  const uint32_t counters_;
  uint32_t layer_regions_ = 1;
  std::vector<Draw> draws_;
  std::vector<DrawEntry> entries_;
  std::string missing_;
};

void send_pass(PacketBuilder& packet, uint32_t counters, stream::PassRegions message,
               const RecordedRegions& regions, const PassDraws& draws) {
  for (message.subpass = 0; message.subpass < regions.shape.subpasses; ++message.subpass) {
    for (message.layer = 0; message.layer < regions.shape.layers; ++message.layer) {
      packet.add(message);
      for (uint32_t counter = 0; counter < counters; ++counter) {
        const auto values = regions.read(message.subpass, message.layer, counter);
        const bool zero = std::ranges::all_of(values, [](uint32_t value) { return value == 0; });
        if (!zero) add_values(packet, counter, values);
      }
      draws.send(packet, message.subpass, message.layer);
    }
  }
}

// Sends the values of execution `index` of the submission.
void send_regions(PacketBuilder& packet, StreamConnection& connection, const RegionCapture& capture,
                  int64_t index, const Recording& recording) {
  for (size_t i = 0; i < recording.passes.size(); ++i) {
    const RecordedPass& pass = recording.passes[i];
    if (!pass.regions || !pass.ended) continue;
    const VkRect2D& area = pass.regions->shape.area;
    const PassDraws draws(recording, static_cast<uint32_t>(i), capture.counters());
    if (!draws.missing().empty()) {
      connection.message(store::Severity::Warning,
                         "not all draws are counted by region: " + draws.missing());
    }
    send_pass(packet, capture.counters(),
              {.execution = index,
               .pass = static_cast<uint32_t>(i),
               .x = area.offset.x,
               .y = area.offset.y,
               .width = area.extent.width,
               .height = area.extent.height,
               .region_width = capture.region().width,
               .region_height = capture.region().height},
              *pass.regions, draws);
    if (!pass.picture) continue;
    send_picture(packet,
                 {.execution = index,
                  .pass = static_cast<uint32_t>(i),
                  .attachment = pass.picture->attachment,
                  .width = area.extent.width,
                  .height = area.extent.height},
                 *pass.picture);
  }
}

}  // namespace

Reporter::Reporter(StreamConnection& connection, ShaderRegistry& shaders,
                   const RegionCapture& regions, stream::Device device, MetricLayout layout)
    : connection_(connection),
      shaders_(shaders),
      regions_(regions),
      device_(std::move(device)),
      layout_(std::move(layout)),
      live_places_(LiveTotals::instance().list(layout_)) {}

void Reporter::announce_device() { PacketBuilder(connection_, device_.id).add(device_); }

void Reporter::announce_queue(const stream::Queue& queue, InternedObject& object) {
  PacketBuilder packet(connection_, device_.id);
  if (!std::exchange(object.defined, true)) packet.add(queue);
}

void Reporter::report(const Submission& submission) {
  if (!submission.captured) {
    submission.for_each_recording(
        [](Recording& recording, uint32_t runs) { recording.execution_lost(runs); });
    return;
  }
  std::optional<PacketBuilder> packet;
  if (connection_.receiving()) {
    packet.emplace(connection_, device_.id);
    write_pipelines(*packet);
    write_frame(*packet, submission.frame);
    packet->add(stream::Submission{submission.queue, submission.frame.number, submission.number,
                                   submission.time_ns, packet->need(submission.label.get())});
  }
  std::optional<LiveSum> live;
  if (LiveTotals::instance().requested()) live.emplace(layout_);
  std::vector<bool> overlapped;
  uint64_t missing = submission.not_recorded;
  for (size_t i = 0; i < submission.executions.size(); ++i) {
    overlapped.push_back(report_execution(submission, i, live ? &*live : nullptr,
                                          packet ? &*packet : nullptr, missing));
    missing += submission.executions[i].recording->commands_lost;
  }
  if (live) LiveTotals::instance().add(*live, live_places_);
  if (!packet) return;
  if (missing > 0) {
    packet->add(
        stream::Missing{device_.id, submission.frame.number, static_cast<int64_t>(missing)});
  }
  write_regions(*packet, submission, overlapped);
}

bool Reporter::report_execution(const Submission& submission, size_t index, LiveSum* live,
                                PacketBuilder* packet, uint64_t& missing) {
  const Execution& execution = submission.executions[index];
  Recording& recording = *execution.recording;
  Recording::Read read;
  std::optional<CommandBatches> batches;
  if (packet) batches.emplace(*packet, connection_, value_sets_, execution, layout_);
  CommandSlices slices(recording, layout_, [&](const CommandSlice& slice) {
    if (slice.unread) {
      missing += slice.count;
      return;
    }
    if (execution.runs == 1 && !read.overlapped && !recording.uncounted) learn(recording, slice);
    if (live) live->add_commands(execution, slice);
    if (!batches) return;
    CommandSlice timed = slice;
    timed.take_times(read.times);
    batches->add(timed);
  });
  const bool complete = recording.after_completion(
      execution.runs, layout_.block_bytes(),
      {device_.timestamp_period_ns, submission.timestamp_bits},
      [&](const Recording::Read& begun) {
        read = begun;
        if (live) live->add_execution(execution, read.times);
        if (packet) write_execution(*packet, execution, index, read);
      },
      [&](uint32_t first, std::span<const uint64_t> words) { slices.add_results(first, words); });
  slices.add_launches(execution.runs);
  slices.add_rest(!complete || recording.uncounted);
  if (batches) batches->flush();
  if (!complete) {
    connection_.message(store::Severity::Error,
                        "commands of a command buffer are not counted: the driver did not return "
                        "their counts");
  }
  if (read.times_failure.result != VK_SUCCESS) {
    connection_.message(store::Severity::Warning,
                        "GPU times are missing: " + read.times_failure.text());
  }
  return read.overlapped;
}

// The values are those of one execution of each command.
void Reporter::learn(const Recording& recording, const CommandSlice& slice) {
  if (!slice.run->launch || slice.run->repeats()) return;
  for (uint32_t i = 0; i < slice.count; ++i) {
    const auto words = slice.part(i, 1).words;
    if (words.empty() || slice.run->launch->learn(words, layout_.block_bytes() / sizeof(uint64_t)))
      continue;
    const Pipeline& pipeline = *recording.pipelines[slice.run->pipeline];
    pipeline.launches->distrust();
    connection_.message(
        store::Severity::Error,
        fmt::format("dispatches of pipeline {} with equal inputs have different counts: "
                    "counts reused for other dispatches may be wrong; none are reused from now on",
                    to_string(pipeline.hash)));
  }
}

void Reporter::write_execution(PacketBuilder& packet, const Execution& execution, size_t index,
                               const Recording::Read& read) {
  const Recording& recording = *execution.recording;
  packet.add(stream::Execution{static_cast<int64_t>(index), execution.parent,
                               execution.parent_command, packet.need(recording.command_buffer()),
                               recording.number(), execution.runs, read.overlapped});
  write_passes(packet, execution, read);
}

// While executions of a recording overlap, each overwrites the values of the others. The values
// follow the other messages of the submission because they can be large.
void Reporter::write_regions(PacketBuilder& packet, const Submission& submission,
                             const std::vector<bool>& overlapped) {
  for (size_t i = 0; i < submission.executions.size(); ++i) {
    const Recording& recording = *submission.executions[i].recording;
    if (!recording.has_regions()) continue;
    if (overlapped[i]) {
      connection_.message(
          store::Severity::Warning,
          "regions of render passes are missing: command buffers were executed again "
          "before their values could be read");
    } else {
      send_regions(packet, connection_, regions_, static_cast<int64_t>(i), recording);
    }
  }
}

void Reporter::lost(const Submission& submission, const std::string& why) {
  connection_.message(store::Severity::Error, "a submission is not counted: " + why);
  submission.for_each_recording(
      [](Recording& recording, uint32_t runs) { recording.execution_lost(runs); });
  if (!submission.captured) return;
  PacketBuilder packet(connection_, device_.id);
  write_frame(packet, submission.frame);
  packet.add(stream::Missing{device_.id, submission.frame.number,
                             static_cast<int64_t>(submission.commands())});
}

void Reporter::report(const FrameEnd& end) {
  PacketBuilder packet(connection_, device_.id);
  write_frame(packet, end.frame);
  packet.add(stream::FrameEnded{device_.id, end.frame.number, end.end_ns, end.ended_by});
  write_pipelines(packet);
}

void Reporter::report_rest() {
  PacketBuilder packet(connection_, device_.id);
  write_pipelines(packet);
}

void Reporter::write_passes(PacketBuilder& packet, const Execution& execution,
                            const Recording::Read& read) {
  const Recording& recording = *execution.recording;
  for (size_t i = 0; i < recording.passes.size(); ++i) {
    const RecordedPass& pass = recording.passes[i];
    const Id label = packet.need(pass.label, execution.parent_label);
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
                         std::nullopt,
                         pass.sampled ? pass.sample->number() : 0};
    if (pass.time < read.times.size()) message.gpu = read.times[pass.time];
    if (message.gpu && pass.sample) pass.sample->learn(message.gpu->time_ns);
    packet.add(message);
  }
}

void Reporter::write_frame(PacketBuilder& packet, const Frames::Frame& frame) {
  if (frames_.insert(frame.index)) {
    packet.add(stream::Frame{device_.id, frame.number, frame.begin_ns});
  }
}

void Reporter::write_pipelines(PacketBuilder& packet) {
  for (const auto& pipeline : shaders_.take_new()) packet.need(pipeline);
}

}  // namespace tally::capture
