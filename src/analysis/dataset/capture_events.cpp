#include "analysis/dataset/capture_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "analysis/dataset/dataset.h"
#include "analysis/model/counts.h"
#include "analysis/model/names.h"
#include "analysis/tables/command_groups.h"
#include "analysis/tables/summary.h"

namespace tally::analysis {
namespace {

class SpanTable {
 public:
  SpanTable(const Model& model, const GpuPlaces& places, DataStrings& strings)
      : model_(model), places_(places), strings_(strings) {}

  DataTable run() && {
    add_command_buffers();
    for (const GpuSpan& span : places_.spans) {
      const uint32_t label =
          span.pass != kNone ? model_.passes[span.pass].label : model_.commands[span.command].label;
      add_labels(places_.of(span), span.frame, path_of(label));
    }
    for (auto& [queue, open] : open_) close(open, queue, 0);
    return std::move(table_);
  }

 private:
  struct Open {
    uint32_t frame = kNone;
    std::vector<uint32_t> labels;  // outermost first
    std::vector<std::pair<double, double>> times;
  };

  void add_command_buffers() {
    std::map<uint32_t, GpuPlace> extents;  // by command buffer
    for (const GpuSpan& span : places_.spans) {
      const GpuPlace& place = places_.of(span);
      GpuPlace& extent = extents.try_emplace(place.command_buffer, place).first->second;
      extent.begin = std::min(extent.begin, place.begin);
      extent.end = std::max(extent.end, place.end);
    }
    for (const auto& [number, extent] : extents) {
      if (number == kNone) continue;
      add("command_buffer", places_.command_buffers[number], extent.queue,
          {extent.begin, extent.end}, 0);
    }
  }

  std::vector<uint32_t> path_of(uint32_t label) const {
    std::vector<uint32_t> path;
    for (; label != kNone && path.size() < kMaxDepth; label = model_.parent_of_label(label))
      path.push_back(label);
    std::ranges::reverse(path);
    return path;
  }

  // Labels last as long as consecutive passes and commands of a queue's frame have them.
  void add_labels(const GpuPlace& place, uint32_t frame, const std::vector<uint32_t>& path) {
    Open& open = open_[place.queue];
    size_t common = 0;
    while (open.frame == frame && common < path.size() && common < open.labels.size() &&
           path[common] == open.labels[common])
      ++common;
    close(open, place.queue, common);
    open.frame = frame;
    for (auto& [begin, end] : open.times) end = std::max(end, place.end);
    for (size_t i = common; i < path.size(); ++i) {
      open.labels.push_back(path[i]);
      open.times.emplace_back(place.begin, place.end);
    }
  }

  void close(Open& open, uint32_t queue, size_t keep) {
    for (; open.labels.size() > keep; open.labels.pop_back(), open.times.pop_back()) {
      add("label", model_.labels[open.labels.back()].name, queue, open.times.back(),
          static_cast<uint32_t>(open.labels.size() - 1));
    }
  }

  void add(std::string_view kind, std::string_view name, uint32_t queue,
           std::pair<double, double> times, uint32_t depth) {
    kind_.push(strings_.add(kind));
    name_.push(strings_.add(name));
    queue_.push_index(queue);
    begin_.push_real(times.first);
    end_.push_real(times.second);
    depth_.push(depth);
  }

  static constexpr size_t kMaxDepth = 64;

  const Model& model_;
  const GpuPlaces& places_;
  DataStrings& strings_;
  std::map<uint32_t, Open> open_;  // by queue
  DataTable table_{"spans"};
  DataColumn& kind_ = table_.add("kind", DataColumn::Kind::Index);
  DataColumn& name_ = table_.add("name", DataColumn::Kind::Index);
  DataColumn& queue_ = table_.add("queue", DataColumn::Kind::Index);
  DataColumn& begin_ = table_.add("begin", DataColumn::Kind::Real);
  DataColumn& end_ = table_.add("end", DataColumn::Kind::Real);
  DataColumn& depth_ = table_.add("depth", DataColumn::Kind::Number);
};

}  // namespace

DataTable span_table(const Model& model, const GpuPlaces& places, DataStrings& strings) {
  return SpanTable(model, places, strings).run();
}

namespace {

using Kind = DataColumn::Kind;

constexpr double kNoTime = std::numeric_limits<double>::quiet_NaN();

double time_of(const std::optional<int64_t>& nanoseconds) {
  return nanoseconds && *nanoseconds >= 0 ? static_cast<double>(*nanoseconds) : kNoTime;
}

uint64_t from_zero(int64_t number) { return static_cast<uint64_t>(std::max<int64_t>(number, 0)); }

// The columns that say when and where something ran.
struct PlaceColumns {
  DataColumn &begin, &end, &queue, &command_buffer;

  explicit PlaceColumns(DataTable& table)
      : begin(table.add("begin", Kind::Real)),
        end(table.add("end", Kind::Real)),
        queue(table.add("queue", Kind::Index)),
        command_buffer(table.add("command_buffer", Kind::Index)) {}

  void push(const GpuPlace& place) {
    begin.push_real(place.begin);
    end.push_real(place.end);
    queue.push_index(place.queue);
    command_buffer.push_index(place.command_buffer);
  }
};

struct FrameSums {
  double gpu_time = 0, first_use = 0;
  bool is_timed = false;
  uint64_t draws = 0, dispatches = 0, uncounted = 0;

  void add_time(double time, bool is_first_use) {
    if (time != time) return;
    (is_first_use ? first_use : gpu_time) += time;
    is_timed = true;
  }
};

}  // namespace

CommandRows group_rows(const Model& model, Grouping grouping) {
  CommandRows rows;
  rows.grouped = grouping != Grouping::Each;
  rows.same_call = grouping != Grouping::SamePipeline;
  rows.row_of.reserve(model.commands.size());
  const FirstUses first_uses = rows.grouped ? find_first_uses(model) : FirstUses();
  std::map<std::array<uint32_t, 7>, uint32_t> row_of;
  for (uint32_t c = 0; c < model.commands.size(); ++c) {
    const Command& command = model.commands[c];
    auto row = static_cast<uint32_t>(rows.first_of.size());
    if (rows.grouped) {
      const uint32_t call = rows.same_call ? command.call : uint32_t{model.is_draw(command)};
      row = row_of
                .try_emplace({command.frame, command.pass, command.label, command.pipeline, call,
                              uint32_t{first_uses.commands[c]}, command.estimated_from},
                             row)
                .first->second;
    }
    if (row == rows.first_of.size()) rows.first_of.push_back(c);
    rows.row_of.push_back(row);
  }
  return rows;
}

CaptureEvents::CaptureEvents(const CaptureCode::Input& input, const GpuPlaces& places)
    : in_(input),
      model_(input.model),
      places_(places),
      first_uses_(find_first_uses(model_)),
      merged_(group_commands(model_, GroupBy::Pass, /*merge=*/true)),
      frame_rows_(model_.frames.size(), kNone),
      pipeline_rows_(model_.pipelines.size(), kNone) {
  std::vector<bool> used(model_.pipelines.size());
  for (const Command& command : model_.commands)
    if (command.pipeline != kNone) used[command.pipeline] = true;
  for (uint32_t p = 0; p < used.size(); ++p) {
    if (!used[p]) continue;
    pipeline_rows_[p] = static_cast<uint32_t>(pipelines_.size());
    pipelines_.push_back(p);
  }
}

Status CaptureEvents::add(const CaptureCode& code, const CommandRows& rows,
                          const std::vector<uint32_t>& set_of, const Progress& progress,
                          DataCapture& capture) {
  auto compiled = TALLY_TRY(statistics(code));
  const auto footprints =
      TALLY_TRY(find_footprints(model_, in_.codes, rows.row_of, rows.first_of.size(), progress));
  capture.grouped = rows.grouped;
  capture.tables.push_back(frames());
  capture.tables.push_back(labels());
  capture.tables.push_back(queues());
  capture.tables.push_back(pipelines_table());
  capture.tables.push_back(pipeline_shaders(code));
  capture.tables.push_back(std::move(compiled));
  capture.tables.push_back(merged_passes());
  capture.tables.push_back(passes());
  capture.tables.push_back(commands(rows, set_of, footprints));
  capture.tables.push_back(span_table(model_, places_, in_.strings));
  if (!model_.time_samples.empty()) capture.tables.push_back(time_samples());
  return {};
}

DataTable CaptureEvents::frames() {
  std::vector<FrameSums> sums(model_.frames.size());
  for (uint32_t p = 0; p < model_.passes.size(); ++p) {
    const Pass& pass = model_.passes[p];
    sums[pass.frame].add_time(time_of(pass.row.gpu_time_ns), first_uses_.passes[p]);
  }
  for (uint32_t c = 0; c < model_.commands.size(); ++c) {
    const Command& command = model_.commands[c];
    FrameSums& of = sums[command.frame];
    (model_.is_draw(command) ? of.draws : of.dispatches) += command.runs;
    if (command.pass == kNone) of.add_time(time_of(command.gpu_time_ns), first_uses_.commands[c]);
  }
  for (const Batch& batch : model_.batches) {
    for (const uint32_t c : batch.commands)
      if (!batch.counted) sums[model_.commands[c].frame].uncounted += model_.commands[c].runs;
  }
  DataTable table("frames");
  DataColumn& number = table.add("number", Kind::Number);
  DataColumn& device = table.add("device", Kind::Index);
  DataColumn& ended_by = table.add("ended_by", Kind::Index);
  DataColumn& gpu_time = table.add("gpu_time", Kind::Real);
  DataColumn& first_use = table.add("first_use", Kind::Real);
  DataColumn& warm = table.add("warm", Kind::Number);
  DataColumn& draws = table.add("draws", Kind::Number);
  DataColumn& dispatches = table.add("dispatches", Kind::Number);
  DataColumn& uncounted = table.add("uncounted", Kind::Number);
  DataColumn& missing = table.add("missing", Kind::Number);
  DataColumn& counted = table.add("counted", Kind::Number);
  const std::vector<FrameContent> contents = frame_contents(model_);
  for (uint32_t f = 0; f < model_.frames.size(); ++f) {
    if (contents[f] == FrameContent::Nothing) continue;
    const store::FrameRow& frame = model_.frames[f];
    frame_rows_[f] = static_cast<uint32_t>(table.rows());
    number.push(from_zero(frame.number));
    device.push_index(model_.device_index.find(frame.device));
    ended_by.push(in_.strings.add(frame_end_text(frame.ended_by)));
    gpu_time.push_real(sums[f].is_timed ? sums[f].gpu_time : kNoTime);
    first_use.push_real(sums[f].is_timed ? sums[f].first_use : kNoTime);
    warm.push(!first_uses_.frames[f]);
    draws.push(sums[f].draws);
    dispatches.push(sums[f].dispatches);
    uncounted.push(sums[f].uncounted);
    missing.push(from_zero(frame.commands_missing));
    counted.push(contents[f] == FrameContent::Counted);
  }
  return table;
}

DataTable CaptureEvents::labels() const {
  DataTable table("labels");
  DataColumn& name = table.add("name", Kind::Index);
  DataColumn& parent = table.add("parent", Kind::Index);
  for (uint32_t l = 0; l < model_.labels.size(); ++l) {
    name.push(in_.strings.add(model_.labels[l].name));
    parent.push_index(model_.parent_of_label(l));
  }
  return table;
}

DataTable CaptureEvents::queues() const {
  DataTable table("queues");
  DataColumn& name = table.add("name", Kind::Index);
  for (const std::string& queue : places_.queues) name.push(in_.strings.add(queue));
  return table;
}

DataTable CaptureEvents::pipelines_table() const {
  DataTable table("pipelines");
  DataColumn& name = table.add("name", Kind::Index);
  DataColumn& hash = table.add("hash", Kind::Index);
  DataColumn& bind_point = table.add("bind_point", Kind::Index);
  for (const uint32_t p : pipelines_) {
    name.push(in_.strings.add(model_.pipeline_names[p]));
    hash.push(in_.strings.add(model_.pipelines[p].hash));
    bind_point.push(in_.strings.add(model_.pipelines[p].bind_point));
  }
  return table;
}

DataTable CaptureEvents::pipeline_shaders(const CaptureCode& code) const {
  DataTable table("pipeline_shaders");
  DataColumn& pipeline = table.add("pipeline", Kind::Index);
  DataColumn& shader = table.add("shader", Kind::Index);
  for (uint32_t row = 0; row < pipelines_.size(); ++row) {
    for (const store::RowId id : model_.pipelines[pipelines_[row]].shaders) {
      const uint32_t found = model_.shader_index.find(id);
      const uint32_t of = found == kNone ? kNone : code.shader_row(pipelines_[row], found);
      if (of == kNone) continue;
      pipeline.push(row);
      shader.push(of);
    }
  }
  return table;
}

Result<DataTable> CaptureEvents::statistics(const CaptureCode& code) const {
  DataTable table("statistics");
  DataColumn& pipeline = table.add("pipeline", Kind::Index);
  DataColumn& shader = table.add("shader", Kind::Index);
  DataColumn& executable = table.add("executable", Kind::Index);
  DataColumn& name = table.add("name", Kind::Index);
  DataColumn& description = table.add("description", Kind::Index);
  DataColumn& value = table.add("value", Kind::Real);
  const auto rows = TALLY_TRY(model_.reader.pipeline_statistics());
  for (const store::PipelineStatisticRow& row : rows) {
    const uint32_t p = model_.pipeline_index.find(row.pipeline);
    if (p == kNone || pipeline_rows_[p] == kNone) continue;
    for (const store::RowId id : model_.pipelines[p].shaders) {
      const uint32_t found = model_.shader_index.find(id);
      if (found == kNone || (model_.shaders[found].stage & row.stages) == 0) continue;
      const uint32_t of = code.shader_row(p, found);
      if (of == kNone) continue;
      pipeline.push(pipeline_rows_[p]);
      shader.push(of);
      executable.push(in_.strings.add(row.executable_name));
      name.push(in_.strings.add(row.name));
      description.push(in_.strings.add(row.description));
      value.push_real(row.value);
    }
  }
  return table;
}

DataTable CaptureEvents::merged_passes() const {
  DataTable table("merged_passes");
  DataColumn& name = table.add("name", Kind::Index);
  DataColumn& label = table.add("label", Kind::Index);
  for (const CommandGroup& group : merged_.groups) {
    const Pass* pass = group.pass == kNone ? nullptr : &model_.passes[group.pass];
    name.push(in_.strings.add(pass ? pass_text(pass) : "(outside of passes)"));
    label.push_index(pass ? pass->label : kNone);
  }
  return table;
}

namespace {

// The work of a row, which may be kNone, and how often it ran.
using WorkOfRow = std::function<std::pair<uint32_t, uint64_t>(uint32_t row)>;

void add_predicted_times(DataTable& table, uint32_t rows, const Prediction& prediction,
                         const WorkOfRow& work_of) {
  constexpr std::pair<const char*, uint64_t PredictedTime::*> kParts[] = {
      {"predicted_time", &PredictedTime::time},
      {"predicted_low", &PredictedTime::low},
      {"predicted_high", &PredictedTime::high}};
  for (const auto& [name, part] : kParts) {
    DataColumn& column = table.add(name, Kind::Real);
    for (uint32_t row = 0; row < rows; ++row) {
      const auto [work, runs] = work_of(row);
      const auto time = work == kNone ? std::nullopt : prediction.time_of(work);
      column.push_real(time ? static_cast<double>((*time).*part * runs) : kNoTime);
    }
  }
}

void add_footprints(DataTable& table, const std::vector<Footprint>& footprints) {
  DataColumn& largest = table.add("footprint", Kind::Number);
  DataColumn& sum = table.add("footprints", Kind::Number);
  DataColumn& requested = table.add("requested", Kind::Number);
  for (const Footprint& of : footprints) {
    largest.push(of.largest);
    sum.push(of.sum);
    requested.push(of.requested);
  }
}

}  // namespace

DataTable CaptureEvents::passes() const {
  DataTable table("passes");
  DataColumn& frame = table.add("frame", Kind::Index);
  DataColumn& number = table.add("number", Kind::Number);
  DataColumn& name = table.add("name", Kind::Index);
  DataColumn& label = table.add("label", Kind::Index);
  DataColumn& attachments = table.add("attachments", Kind::Index);
  DataColumn& width = table.add("width", Kind::Number);
  DataColumn& height = table.add("height", Kind::Number);
  DataColumn& pixels = table.add("pixels", Kind::Number);
  DataColumn& gpu_time = table.add("gpu_time", Kind::Real);
  DataColumn& first_use = table.add("first_use", Kind::Number);
  DataColumn& merged = table.add("merged", Kind::Index);
  PlaceColumns place(table);
  for (uint32_t p = 0; p < model_.passes.size(); ++p) {
    const Pass& pass = model_.passes[p];
    frame.push_index(frame_rows_[pass.frame]);
    number.push(pass.number_in_frame);
    name.push(in_.strings.add(pass_text(&pass)));
    label.push_index(pass.label);
    attachments.push(in_.strings.add(pass.row.attachments));
    width.push(pass.row.width);
    height.push(pass.row.height);
    pixels.push(pixels_of(pass));
    gpu_time.push_real(time_of(pass.row.gpu_time_ns));
    first_use.push(first_uses_.passes[p]);
    merged.push(merged_.group_of_pass[p]);
    place.push(places_.passes[p]);
  }
  if (!model_.time_samples.empty()) {
    DataColumn& sample = table.add("time_sample", Kind::Index);
    for (const Pass& pass : model_.passes) sample.push_index(pass.estimated_from);
  }
  if (in_.prediction)
    add_predicted_times(
        table, static_cast<uint32_t>(model_.passes.size()), *in_.prediction, [&](uint32_t p) {
          return std::pair(in_.prediction->works.of_pass[p], uint64_t{model_.passes[p].runs});
        });
  return table;
}

DataTable CaptureEvents::commands(const CommandRows& rows, const std::vector<uint32_t>& set_of,
                                  const std::vector<Footprint>& footprints) const {
  std::vector<uint64_t> runs_of(rows.first_of.size());
  std::vector<uint64_t> vertices_of_row(runs_of), unknown_vertices_of(runs_of);
  std::vector<uint64_t> primitives_of_row(runs_of), unknown_primitives_of(runs_of);
  for (const Batch& batch : model_.batches) {
    for (const uint32_t c : batch.commands) {
      const Command& command = model_.commands[c];
      if (!batch.counted || !model_.is_draw(command)) continue;
      const uint32_t row = rows.row_of[c];
      const auto add = [&](std::optional<uint64_t> known, uint64_t& sum, uint64_t& unknown) {
        sum = saturating_sum(sum, saturating_product(known.value_or(0), command.runs));
        unknown += !known;
      };
      const Call call = model_.calls[command.call];
      add(vertices_of(call), vertices_of_row[row], unknown_vertices_of[row]);
      add(primitives_of(call, command.assembly), primitives_of_row[row],
          unknown_primitives_of[row]);
    }
  }
  std::vector<FrameSums> times(rows.first_of.size());
  for (uint32_t c = 0; c < model_.commands.size(); ++c) {
    runs_of[rows.row_of[c]] += model_.commands[c].runs;
    times[rows.row_of[c]].add_time(time_of(model_.commands[c].gpu_time_ns), false);
  }
  std::vector<uint32_t> call_texts(model_.calls.size(), kNone);
  const auto call_text_of = [&](const Command& command) {
    if (command.call == kNone) return in_.strings.add("");
    if (!rows.same_call) return in_.strings.add(model_.is_draw(command) ? "draws" : "dispatches");
    uint32_t& text = call_texts[command.call];
    if (text == kNone) text = in_.strings.add(call_text(model_.calls[command.call]));
    return text;
  };
  DataTable table("commands");
  DataColumn& frame = table.add("frame", Kind::Index);
  DataColumn& number = table.add("number", Kind::Number);
  DataColumn& pass = table.add("pass", Kind::Index);
  DataColumn& call = table.add("call", Kind::Index);
  DataColumn& kind = table.add("kind", Kind::Number);
  DataColumn& pipeline = table.add("pipeline", Kind::Index);
  DataColumn& label = table.add("label", Kind::Index);
  DataColumn& values = table.add("values", Kind::Index);
  DataColumn& runs = table.add("runs", Kind::Number);
  DataColumn& vertices = table.add("vertices", Kind::Number);
  DataColumn& unknown_vertices = table.add("unknown_vertices", Kind::Number);
  DataColumn& primitives = table.add("primitives", Kind::Number);
  DataColumn& unknown_primitives = table.add("unknown_primitives", Kind::Number);
  DataColumn& gpu_time = table.add("gpu_time", Kind::Real);
  DataColumn& first_use = table.add("first_use", Kind::Number);
  PlaceColumns place(table);
  for (uint32_t row = 0; row < rows.first_of.size(); ++row) {
    const uint32_t first = rows.first_of[row];
    const Command& command = model_.commands[first];
    frame.push_index(frame_rows_[command.frame]);
    number.push(command.number_in_frame);
    pass.push_index(command.pass);
    call.push(call_text_of(command));
    kind.push(model_.is_draw(command) ? 0 : 1);
    pipeline.push_index(command.pipeline == kNone ? kNone : pipeline_rows_[command.pipeline]);
    label.push_index(command.label);
    values.push_index(set_of[row]);
    runs.push(runs_of[row]);
    vertices.push(vertices_of_row[row]);
    unknown_vertices.push(unknown_vertices_of[row]);
    primitives.push(primitives_of_row[row]);
    unknown_primitives.push(unknown_primitives_of[row]);
    gpu_time.push_real(times[row].is_timed ? times[row].gpu_time : kNoTime);
    first_use.push(first_uses_.commands[first]);
    const auto placed = places_.commands.find(first);
    place.push(placed == places_.commands.end() ? GpuPlace() : placed->second);
  }
  if (in_.prediction)
    add_predicted_times(
        table, static_cast<uint32_t>(rows.first_of.size()), *in_.prediction, [&](uint32_t row) {
          const uint32_t first = rows.first_of[row];
          const bool has_work = rows.same_call && model_.commands[first].pass == kNone;
          return std::pair(has_work ? in_.prediction->works.of_command[first] : kNone,
                           runs_of[row]);
        });
  if (!footprints.empty()) add_footprints(table, footprints);
  if (!model_.time_samples.empty()) add_estimates(rows, table);
  return table;
}

void CaptureEvents::add_estimates(const CommandRows& rows, DataTable& table) const {
  std::vector<uint64_t> commands(rows.first_of.size());
  for (const uint32_t row : rows.row_of) ++commands[row];
  DataColumn& sample = table.add("time_sample", Kind::Index);
  DataColumn& estimated = table.add("estimated", Kind::Number);
  for (uint32_t row = 0; row < rows.first_of.size(); ++row) {
    const uint32_t from = model_.commands[rows.first_of[row]].estimated_from;
    sample.push_index(from);
    estimated.push(from == kNone ? 0 : commands[row]);
  }
}

DataTable CaptureEvents::time_samples() const {
  DataTable table("time_samples");
  DataColumn& timed = table.add("timed", Kind::Number);
  DataColumn& variance = table.add("variance", Kind::Real);
  for (const TimeSample& sample : model_.time_samples) {
    timed.push(sample.timed);
    variance.push_real(sample.variance);
  }
  return table;
}

}  // namespace tally::analysis
