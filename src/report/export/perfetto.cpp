#include "report/export/exports.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <protozero/pbf_writer.hpp>

#include "analysis/cost/block_totals.h"
#include "analysis/model/counts.h"
#include "analysis/model/metrics.h"
#include "analysis/model/names.h"
#include "analysis/model/timeline.h"
#include "base/text.h"

namespace tally::report {
namespace {

using analysis::GpuSpan;
using analysis::Model;
using protozero::pbf_writer;

// Field numbers of perfetto's protos: trace, trace_packet, track_descriptor, track_event,
// gpu_render_stage_event, interned_data.
constexpr uint32_t kTracePacket = 1;
namespace packet {
constexpr uint32_t kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInternedData = 12,
                   kSequenceFlags = 13, kRenderStage = 53, kTrackDescriptor = 60;
constexpr uint32_t kIncrementalStateCleared = 1, kNeedsIncrementalState = 2;
}  // namespace packet
namespace track {
constexpr uint32_t kUuid = 1, kName = 2, kParent = 5, kCounter = 8;
}
namespace counter {
constexpr uint32_t kUnit = 3, kUnitCount = 2;
}
namespace event {
constexpr uint32_t kType = 9, kTrackUuid = 11, kName = 23, kCounterValue = 30;
constexpr int32_t kSliceBegin = 1, kSliceEnd = 2, kCounter = 4;
}  // namespace event
namespace stage {
constexpr uint32_t kEventId = 1, kDuration = 2, kContext = 5, kExtraData = 6, kQueueIid = 13,
                   kStageIid = 14, kName = 17;
constexpr uint32_t kExtraName = 1, kExtraValue = 2;
}  // namespace stage
namespace interned {
constexpr uint32_t kContexts = 23, kSpecifications = 24;
constexpr uint32_t kIid = 1, kName = 2, kApi = 3, kCategory = 4;
constexpr int32_t kVulkan = 2, kOther = 0, kGraphics = 1, kCompute = 2;
}  // namespace interned

constexpr uint64_t kQueue = 1, kGraphicsStage = 2, kComputeStage = 3;
constexpr uint32_t kSequenceId = 1;
constexpr uint64_t kFramesTrack = 1, kCountersTrack = 2, kLabelsTrack = 3, kFirstCounterTrack = 4;

// A counter that adds up over the passes of one name.
struct CounterTrack {
  uint64_t uuid;
  uint64_t sum = 0;
};

class Perfetto {
 public:
  Perfetto(const Model& model, std::vector<GpuSpan> spans, const Output& out)
      : model_(model),
        out_(out),
        spans_(std::move(spans)),
        metrics_(analysis::describe_metrics(model)),
        labels_(model),
        values_(model.passes.size(), model.metrics.size()) {}

  Status write(const analysis::Progress& progress) {
    Status counted =
        analysis::visit_stage_values(model_, progress, [&](const analysis::StageValue& value) {
          const uint32_t pass = model_.commands[value.command].pass;
          if (pass != analysis::kNone) values_.add(pass, value.metric, value.value);
        });
    TALLY_TRY(counted);
    write_interned();
    write_track(kFramesTrack, "Frames");
    write_track(kCountersTrack, "Counters by pass");
    write_track(kLabelsTrack, "Labels");
    write_frames();
    write_labels();
    for (const GpuSpan& span : spans_) write_stage(span);
    write_counters();
    return {};
  }

 private:
  template <typename Fill>
  void write_packet(const Fill& fill) {
    data_.clear();
    pbf_writer trace(data_);
    {
      pbf_writer packet(trace, kTracePacket);
      packet.add_uint32(packet::kSequence, kSequenceId);
      fill(packet);
    }
    out_(data_);
  }

  void write_interned() {
    write_packet([&](pbf_writer& p) {
      p.add_uint32(packet::kSequenceFlags, packet::kIncrementalStateCleared);
      pbf_writer data(p, packet::kInternedData);
      for (const store::DeviceRow& device : model_.devices) {
        pbf_writer context(data, interned::kContexts);
        context.add_uint64(interned::kIid, static_cast<uint64_t>(device.id));
        context.add_enum(interned::kApi, interned::kVulkan);
      }
      const auto add = [&](uint64_t iid, const char* name, int32_t category) {
        pbf_writer specification(data, interned::kSpecifications);
        specification.add_uint64(interned::kIid, iid);
        specification.add_string(interned::kName, name);
        specification.add_enum(interned::kCategory, category);
      };
      add(kQueue, "GPU", interned::kOther);
      add(kGraphicsStage, "render pass", interned::kGraphics);
      add(kComputeStage, "outside of passes", interned::kCompute);
    });
  }

  void write_track(uint64_t uuid, const std::string& name) {
    write_packet([&](pbf_writer& p) {
      pbf_writer descriptor(p, packet::kTrackDescriptor);
      descriptor.add_uint64(track::kUuid, uuid);
      descriptor.add_string(track::kName, clean_utf8(name));
    });
  }

  void write_counter_track(uint64_t uuid, const std::string& name) {
    write_packet([&](pbf_writer& p) {
      pbf_writer descriptor(p, packet::kTrackDescriptor);
      descriptor.add_uint64(track::kUuid, uuid);
      descriptor.add_string(track::kName, clean_utf8(name));
      descriptor.add_uint64(track::kParent, kCountersTrack);
      pbf_writer of_counter(descriptor, track::kCounter);
      of_counter.add_enum(counter::kUnit, counter::kUnitCount);
    });
  }

  template <typename Fill>
  void write_event(int64_t time, uint64_t on_track, int32_t type, const Fill& fill) {
    write_packet([&](pbf_writer& p) {
      p.add_uint64(packet::kTimestamp, static_cast<uint64_t>(time));
      pbf_writer e(p, packet::kTrackEvent);
      e.add_enum(event::kType, type);
      e.add_uint64(event::kTrackUuid, on_track);
      fill(e);
    });
  }

  // A frame lasts from the begin of its first span to the end of its last one, at most to the begin
  // of the next frame: frames are on one track, where slices must not overlap partly.
  void write_frames() {
    struct Extent {
      int64_t begin_ns, end_ns;
      uint32_t frame;
    };
    std::map<uint32_t, Extent> by_frame;
    for (const GpuSpan& span : spans_) {
      Extent& extent =
          by_frame.try_emplace(span.frame, Extent{span.begin_ns, span.end_ns, span.frame})
              .first->second;
      extent.end_ns = std::max(extent.end_ns, span.end_ns);
    }
    std::vector<Extent> frames;
    for (const auto& [frame, extent] : by_frame) frames.push_back(extent);
    std::ranges::stable_sort(frames, {}, &Extent::begin_ns);
    for (size_t i = 0; i < frames.size(); ++i) {
      const int64_t next =
          i + 1 < frames.size() ? frames[i + 1].begin_ns : std::numeric_limits<int64_t>::max();
      write_event(frames[i].begin_ns, kFramesTrack, event::kSliceBegin, [&](pbf_writer& e) {
        e.add_string(event::kName, fmt::format("Frame {}", model_.frames[frames[i].frame].number));
      });
      write_event(std::min(frames[i].end_ns, next), kFramesTrack, event::kSliceEnd,
                  [](pbf_writer&) {});
    }
  }

  // The outermost label first.
  std::vector<uint32_t> labels_of(const GpuSpan& span) const {
    std::vector<uint32_t> labels;
    uint32_t label = span.pass != analysis::kNone ? model_.passes[span.pass].label
                                                  : model_.commands[span.command].label;
    for (; label != analysis::kNone; label = model_.parent_of_label(label)) labels.push_back(label);
    return {labels.rbegin(), labels.rend()};
  }

  // A label lasts as long as what runs in it, at most until something runs outside of it: on their
  // track labels nest. Those of another frame are others.
  void write_labels() {
    struct Open {
      uint32_t label;
      int64_t end_ns;
    };
    std::vector<Open> open;
    const auto close = [&](size_t depth, int64_t limit) {
      for (; open.size() > depth; open.pop_back())
        write_event(std::min(open.back().end_ns, limit), kLabelsTrack, event::kSliceEnd,
                    [](pbf_writer&) {});
    };
    uint32_t frame = analysis::kNone;
    for (const GpuSpan& span : spans_) {
      const std::vector<uint32_t> labels = labels_of(span);
      size_t common = 0;
      while (frame == span.frame && common < std::min(open.size(), labels.size()) &&
             open[common].label == labels[common])
        ++common;
      close(common, span.begin_ns);
      frame = span.frame;
      for (; common < labels.size(); ++common) {
        write_event(span.begin_ns, kLabelsTrack, event::kSliceBegin, [&](pbf_writer& e) {
          e.add_string(event::kName, clean_utf8(model_.labels[labels[common]].name));
        });
        open.push_back({labels[common], span.end_ns});
      }
      for (Open& outer : open) outer.end_ns = std::max(outer.end_ns, span.end_ns);
    }
    close(0, std::numeric_limits<int64_t>::max());
  }

  std::string name_of(const GpuSpan& span) const {
    if (span.pass != analysis::kNone) return analysis::pass_text(&model_.passes[span.pass]);
    return analysis::call_text(model_.calls[model_.commands[span.command].call]);
  }

  void write_stage(const GpuSpan& span) {
    const bool is_pass = span.pass != analysis::kNone;
    const uint32_t label =
        is_pass ? model_.passes[span.pass].label : model_.commands[span.command].label;
    const store::FrameRow& frame = model_.frames[span.frame];
    write_packet([&](pbf_writer& p) {
      p.add_uint64(packet::kTimestamp, static_cast<uint64_t>(span.begin_ns));
      p.add_uint32(packet::kSequenceFlags, packet::kNeedsIncrementalState);
      pbf_writer s(p, packet::kRenderStage);
      s.add_uint64(stage::kEventId, ++last_event_);
      s.add_uint64(stage::kDuration, static_cast<uint64_t>(span.end_ns - span.begin_ns));
      s.add_uint64(stage::kQueueIid, kQueue);
      s.add_uint64(stage::kStageIid, is_pass ? kGraphicsStage : kComputeStage);
      s.add_uint64(stage::kContext, static_cast<uint64_t>(frame.device));
      s.add_string(stage::kName, clean_utf8(name_of(span)));
      const auto add = [&](const std::string& name, const std::string& value) {
        pbf_writer extra(s, stage::kExtraData);
        extra.add_string(stage::kExtraName, name);
        extra.add_string(stage::kExtraValue, clean_utf8(value));
      };
      add("frame", fmt::format("{}", frame.number));
      if (label != analysis::kNone) add("label", labels_.path(label));
      if (!is_pass) return;
      for (size_t m = 0; m < metrics_.size(); ++m) {
        if (const uint64_t value = values_.at(span.pass, m))
          add(metrics_[m].id, fmt::format("{}", value));
      }
    });
  }

  // At the end of each pass, the sum so far of the passes of the same name.
  void write_counters() {
    std::ranges::stable_sort(spans_, {}, &GpuSpan::end_ns);
    for (const GpuSpan& span : spans_) {
      if (span.pass == analysis::kNone) continue;
      for (uint32_t m = 0; m < metrics_.size(); ++m) {
        if (!values_.is_zero(m)) add_to_counter(span, m);
      }
    }
  }

  void add_to_counter(const GpuSpan& span, uint32_t metric) {
    const std::string name = fmt::format("{}: {}", name_of(span), metrics_[metric].title);
    const auto [found, is_new] =
        counters_.try_emplace(name, CounterTrack{kFirstCounterTrack + counters_.size()});
    CounterTrack& counter = found->second;
    const auto write_value = [&](int64_t time) {
      constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
      write_event(time, counter.uuid, event::kCounter, [&](pbf_writer& e) {
        e.add_int64(event::kCounterValue, static_cast<int64_t>(std::min(counter.sum, kMax)));
      });
    };
    if (is_new) {
      write_counter_track(counter.uuid, name);
      write_value(span.begin_ns);
    }
    counter.sum = analysis::saturating_sum(counter.sum, values_.at(span.pass, metric));
    write_value(span.end_ns);
  }

  const Model& model_;
  const Output& out_;
  std::vector<GpuSpan> spans_;
  std::vector<analysis::Metric> metrics_;
  analysis::LabelPaths labels_;
  analysis::MetricMatrix values_;  // by pass
  std::map<std::string, CounterTrack> counters_;
  uint64_t last_event_ = 0;
  std::string data_;
};

}  // namespace

Status write_perfetto(const Model& model, const analysis::Progress& progress, const Output& out) {
  auto spans = TALLY_TRY(analysis::gpu_timeline(model));
  if (spans.empty()) {
    return Error{
        "the capture has no GPU times: the driver has no timestamps, or nothing was timed"};
  }
  return Perfetto(model, std::move(spans), out).write(progress);
}

}  // namespace tally::report
