#include "analysis/tables/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "analysis/model/names.h"
#include "analysis/model/timeline.h"

namespace tally::analysis {
namespace {

std::string version_text(uint32_t version) {
  return fmt::format("{}.{}.{}", version >> 22 & 0x7F, version >> 12 & 0x3FF, version & 0xFFF);
}

DeviceSummary device_summary(const store::DeviceRow& row) {
  std::string driver = row.driver_name;
  if (!row.driver_info.empty()) driver += (driver.empty() ? "" : " ") + row.driver_info;
  const bool gl = row.type == "gl";
  return {row.name, driver, gl ? "GL" : "Vulkan", gl ? "" : version_text(row.api_version),
          row.not_captured};
}

class Counter {
 public:
  Counter(const Model& model, Summary& summary) : model_(model), summary_(summary) {}

  void run() {
    std::map<uint32_t, uint64_t> commands_of_pipeline;
    for (const Command& command : model_.commands) {
      (model_.is_draw(command) ? summary_.draws : summary_.dispatches) += command.runs;
      if (command.pipeline != kNone) commands_of_pipeline[command.pipeline] += command.runs;
    }
    summary_.pipelines = commands_of_pipeline.size();
    for (const auto& [pipeline, commands] : commands_of_pipeline)
      add_pipeline(model_.pipelines[pipeline], commands);
    summary_.has_names = has_names_ || shaders_.empty();
    for (const auto& [shader, reason] : shaders_) {
      if (reason.empty()) ++summary_.shaders_counted;
    }
    for (const auto& [key, commands] : uncounted_)
      summary_.uncounted.push_back({key.first, key.second, commands});
  }

 private:
  void add_pipeline(const store::PipelineRow& pipeline, uint64_t commands) {
    bool reason_given = !model_.selection.shader.empty();
    for (const store::RowId id : pipeline.shaders) {
      const uint32_t shader = model_.shader_index.find(id);
      if (shader == kNone || !model_.shader_selected[shader]) continue;
      const store::ShaderRow& row = model_.shaders[shader];
      const std::string hash = shader_hash(model_, shader);
      has_names_ |= !pipeline.name.empty() || hash.empty() ||
                    !model_.shader_names[shader].starts_with(short_hash(hash));
      const std::string reason =
          row.not_instrumented.empty() ? pipeline.not_instrumented : row.not_instrumented;
      // A shader is counted if at least one of its pipelines is counted.
      auto [place, added] = shaders_.emplace(shader, reason);
      if (!added && reason.empty()) place->second.clear();
      if (reason.empty()) continue;
      reason_given = true;
      uncounted_[{model_.shader_names[shader] + " " + stage_name(row.stage), reason}] += commands;
    }
    if (!reason_given && !pipeline.not_instrumented.empty()) {
      uncounted_[{"pipeline " + (pipeline.name.empty() ? short_hash(pipeline.hash) : pipeline.name),
                  pipeline.not_instrumented}] += commands;
    }
  }

  const Model& model_;
  Summary& summary_;
  bool has_names_ = false;
  std::map<uint32_t, std::string> shaders_;  // by shader: why it is not counted
  std::map<std::pair<std::string, std::string>, uint64_t> uncounted_;
};

// Compares process ids, because GL and Vulkan of one process are captured through separate
// connections.
int64_t pid_of(const Model& model, const store::DeviceRow& device) {
  for (const store::ProcessRow& process : model.processes) {
    if (process.id == device.process) return process.pid;
  }
  return 0;
}

void include(std::optional<FrameRange>& range, int64_t frame) {
  if (!range) range = {frame, frame};
  range->first = std::min(range->first, frame);
  range->last = std::max(range->last, frame);
}

// Reads the file: of the frames that are not selected the model has no commands.
std::optional<FrameRange> frames_of_capture(const Model& model) {
  auto rows = model.reader.query(
      "SELECT number FROM frame WHERE id IN (SELECT frame FROM frame_values) OR id IN (SELECT "
      "submission.frame FROM execution JOIN submission ON submission.id = execution.submission "
      "WHERE execution.id IN (SELECT execution FROM command_batch) OR execution.id IN (SELECT "
      "execution FROM pass))");
  std::optional<FrameRange> range;
  while (rows && rows->step()) include(range, rows->integer(0));
  return range;
}

}  // namespace

// If GL runs on Vulkan, both report the same frames; only those of GL count.
std::vector<FrameContent> frame_contents(const Model& model) {
  const auto device_of = [&](uint32_t frame) -> const store::DeviceRow* {
    const uint32_t device = model.device_index.find(model.frames[frame].device);
    return device == kNone ? nullptr : &model.devices[device];
  };
  const auto is_gl = [](const store::DeviceRow* device) { return device && device->type == "gl"; };
  std::set<uint32_t> frames;
  for (const Command& command : model.commands) frames.insert(command.frame);
  for (const Pass& pass : model.passes) frames.insert(pass.frame);
  std::set<int64_t> processes_of_gl;
  for (uint32_t f = 0; f < model.frames.size() && !model.frame_counters.empty(); ++f) {
    if (!is_gl(device_of(f)) || !model.frame_selected(f)) continue;
    frames.insert(f);
    processes_of_gl.insert(pid_of(model, *device_of(f)));
  }
  std::vector<FrameContent> contents(model.frames.size(), FrameContent::Nothing);
  for (uint32_t f = 0; f < contents.size(); ++f) {
    const bool lacks = model.frame_selected(f) && model.frames[f].commands_missing > 0;
    if (lacks || frames.contains(f)) contents[f] = FrameContent::Shown;
    const store::DeviceRow* device = device_of(f);
    const bool is_gls =
        device && !is_gl(device) && processes_of_gl.contains(pid_of(model, *device));
    if (frames.contains(f) && !is_gls) contents[f] = FrameContent::Counted;
  }
  return contents;
}

namespace {

void count_frames(const Model& model, Summary& summary) {
  const std::vector<FrameContent> contents = frame_contents(model);
  for (uint32_t f = 0; f < contents.size(); ++f) {
    if (contents[f] != FrameContent::Counted) continue;
    ++summary.frames;
    include(summary.frames_of_capture, model.frames[f].number);
  }
  if (model.selection.frames) summary.frames_of_capture = frames_of_capture(model);
}

// The ends that the user chose are named even if no frame has ended.
std::string frames_end_at(const Model& model) {
  struct Kind {
    store::FrameEnd end;
    bool gl;
    std::string_view chosen;  // by `tally run --frame-per`
    std::string what;
  };
  const std::string& label = model.capture.frame_label;
  const Kind kinds[] = {{store::FrameEnd::Present, false, "present", "presents"},
                        {store::FrameEnd::Present, true, "present", "swaps"},
                        {store::FrameEnd::Boundary, false, "present", "frame boundaries"},
                        {store::FrameEnd::Submit, false, "submit", "submissions"},
                        {store::FrameEnd::Label, false, "label",
                         label.empty() ? "outermost labels" : "labels that match '" + label + "'"},
                        {store::FrameEnd::Fence, false, "fence", "waits for fences"},
                        {store::FrameEnd::QueueIdle, false, "queue-idle", "waits for idle queues"}};
  std::string text;
  for (const Kind& kind : kinds) {
    const auto ends_so = [&](const store::FrameRow& frame) {
      const uint32_t device = model.device_index.find(frame.device);
      const bool gl = device != kNone && model.devices[device].type == "gl";
      return frame.ended_by == kind.end && gl == kind.gl;
    };
    if (kind.chosen == model.capture.frame_per || std::ranges::any_of(model.frames, ends_so))
      text += (text.empty() ? "" : " and ") + kind.what;
  }
  return text;
}

// Several processes, and several pipelines, tell of the same shader: the last one counts.
std::vector<Replaced> find_replaced(const Model& model) {
  std::map<std::vector<std::string>, const store::ReplacementRow*> last;
  std::set<std::string> matched;
  for (const store::ReplacementRow& row : model.replacements) {
    last[{row.pattern, row.file, row.shader, std::to_string(row.stage), row.entry_point,
          row.hash}] = &row;
    matched.insert(row.pattern + "=" + row.file);
  }
  std::vector<Replaced> list;
  for (const auto& [key, row] : last) {
    list.push_back(
        {row->shader + " " + stage_name(row->stage), row->file,
         row->new_hash.empty() && row->refusal.empty() ? "no reason is known" : row->refusal});
  }
  for (const std::string& asked : model.capture.replacements) {
    const size_t equals = asked.find('=');
    if (equals == asked.npos || matched.contains(asked)) continue;
    list.push_back({asked.substr(0, equals), asked.substr(equals + 1),
                    "no shader of this name and of the file's stage was created"});
  }
  return list;
}

// Commands that a process did not send belong to no frame; they count for every selection.
void count_missing(const Model& model, Summary& summary) {
  const auto count = [](int64_t value) {
    return static_cast<uint64_t>(std::max<int64_t>(value, 0));
  };
  for (uint32_t f = 0; f < model.frames.size(); ++f) {
    if (model.frame_selected(f))
      summary.commands_missing += count(model.frames[f].commands_missing);
  }
  for (const store::ProcessRow& process : model.processes) {
    summary.commands_missing += count(process.commands_missing.value_or(0));
    if (process.end_ns && !process.commands_missing) ++summary.processes_cut_off;
  }
}

// Considers the frames that have commands.
std::vector<FrameRange> find_warm_frames(const Model& model, const FirstUses& first) {
  std::map<int64_t, bool> warm;  // by number
  uint32_t last = kNone;
  for (const Command& command : model.commands) {
    if (command.frame == last) continue;
    last = command.frame;
    bool& is_warm = warm.try_emplace(model.frames[last].number, true).first->second;
    is_warm = is_warm && !first.frames[last];
  }
  std::vector<FrameRange> ranges;
  bool in_range = false;
  for (const auto& [number, is_warm] : warm) {
    if (is_warm && !in_range) ranges.push_back({number, number});
    if (is_warm) ranges.back().last = number;
    in_range = is_warm;
  }
  return ranges;
}

// Adds up times, some of which are estimated.
class TimeAdder {
 public:
  void add(std::optional<int64_t> time, uint32_t estimated_from, uint32_t runs) {
    estimated_.add(estimated_from);
    if (estimated_from != kNone) sum_.estimated += runs;
    sum_.time_ns += static_cast<double>(std::max<int64_t>(time.value_or(0), 0));
  }
  TimedSum sum(const Model& model, uint64_t untimed) const {
    TimedSum sum = sum_;
    sum.untimed = untimed;
    sum.error_ns = estimated_.standard_error(model.time_samples).value_or(0);
    return sum;
  }

 private:
  TimedSum sum_;
  EstimatedTimes estimated_;
};

void add_times(const Model& model, const FirstUses& first_uses, Summary& summary) {
  TimeAdder dispatches, passes;
  for (const Command& command : model.commands) {
    if (command.pass == kNone)
      dispatches.add(command.gpu_time_ns, command.estimated_from, command.runs);
  }
  for (size_t p = 0; p < model.passes.size(); ++p) {
    const Pass& pass = model.passes[p];
    if (!first_uses.passes[p]) passes.add(pass.row.gpu_time_ns, pass.estimated_from, pass.runs);
  }
  summary.dispatch_times = dispatches.sum(model, model.dispatches_untimed);
  summary.pass_times = passes.sum(model, model.passes_untimed);
}

}  // namespace

Summary summarize(const Model& model) {
  Summary summary;
  summary.path = model.reader.path();
  summary.tool_version = model.capture.tool_version;
  summary.command_line = model.capture.command_line;
  summary.start_unix_ns = model.capture.start_unix_ns;
  summary.finished = model.capture.end_monotonic_ns.has_value();
  const int64_t start = model.capture.start_monotonic_ns;
  if (summary.finished && start >= 0 && *model.capture.end_monotonic_ns >= start)
    summary.duration_ns = *model.capture.end_monotonic_ns - start;
  summary.exit_status = model.capture.exit_status;
  summary.frame_range = model.capture.frame_range;
  summary.shader_pattern = model.capture.shader_pattern;
  summary.replaced = find_replaced(model);
  summary.frames_end_at = frames_end_at(model);
  summary.selected_frames = model.selection.frames;
  summary.processes = model.processes.size();
  for (const store::DeviceRow& row : model.devices) summary.devices.push_back(device_summary(row));
  summary.has_commands =
      std::any_of(model.devices.begin(), model.devices.end(),
                  [](const store::DeviceRow& device) { return device.type != "gl"; });
  summary.passes = model.passes.size();
  count_frames(model, summary);
  count_missing(model, summary);
  const FirstUses first_uses = find_first_uses(model);
  summary.warm_frames = find_warm_frames(model, first_uses);
  Counter(model, summary).run();
  summary.dispatches_repeated = model.dispatches_repeated;
  add_times(model, first_uses, summary);
  summary.messages = model.messages;
  return summary;
}

}  // namespace tally::analysis
