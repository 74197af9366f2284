#include "analysis/tables/frame_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "analysis/model/counts.h"
#include "analysis/tables/table_builder.h"

namespace tally::analysis {
namespace {

// Text output shows these columns if they are not 0 everywhere; --columns and JSON offer all
// columns.
constexpr std::array kShown = {"gpu.gpu_time",
                               "api.draw_calls",
                               "api.vertices_submitted",
                               "api.state_changes",
                               "api.buffer_upload_bytes",
                               "api.texture_upload_bytes",
                               "gpu.samples_passed",
                               "gpu.fragment_shader_invocations"};

// Bounds the memory for a hostile capture. Hours of a program with a hundred counters have fewer.
constexpr size_t kMaxValues = size_t{1} << 25;

// How a counter's values are displayed: times and memory sizes in the common units, other values
// divided by their denominator.
FrameCounterKind kind_for(const store::FrameCounterRow& row, std::string id) {
  if (row.unit == "us" && row.denominator == 1000)
    return {&row, std::move(id), Unit::Nanoseconds, 1};
  if (row.unit == "KB" && row.denominator == 1024) return {&row, std::move(id), Unit::Bytes, 1};
  if (row.unit == "bytes" && row.denominator == 1) return {&row, std::move(id), Unit::Bytes, 1};
  return {&row, std::move(id), Unit::Count, std::max<uint64_t>(row.denominator, 1)};
}

Cell scaled_cell(const FrameCounterKind& kind, uint64_t value) {
  if (kind.divisor == 1) return value;
  return static_cast<double>(value) / static_cast<double>(kind.divisor);
}

class Loader {
 public:
  explicit Loader(const Model& model) : model_(model) {}

  Result<MeasuredFrames> load() {
    for (const store::FrameCounterRow& row : model_.frame_counters) add_kind(row);
    if (measured_.kinds.size() * model_.frames.size() > kMaxValues) {
      return Error{
          fmt::format("{} counters in {} frames are more values than a table may have ({})",
                      measured_.kinds.size(), model_.frames.size(), kMaxValues)};
    }
    TALLY_TRY(model_.reader.for_each_frame_value([this](const auto& value) {
      add_value(value);
      return true;
    }));
    return std::move(measured_);
  }

 private:
  // The n-th of identical counters of one device shares a column with the n-th of other devices.
  void add_kind(const store::FrameCounterRow& row) {
    const Key key{row.group, row.name, row.unit, row.denominator};
    const size_t n = identical_[{row.device, key}]++;
    const auto [kind, is_new] = kinds_.try_emplace({key, n}, measured_.kinds.size());
    kind_of_[row.id] = kind->second;
    if (!is_new) return;
    std::string id = column_id(row.group) + "." + column_id(row.name);
    const size_t alike = alike_[id]++;
    if (alike != 0) id += "_" + std::to_string(alike + 1);
    while (!ids_.insert(id).second) id += "_";
    measured_.kinds.push_back(kind_for(row, std::move(id)));
  }

  void add_value(const store::FrameValue& value) {
    const uint32_t frame = model_.frame_index.find(value.frame);
    const auto kind = kind_of_.find(value.counter);
    if (frame == kNone || kind == kind_of_.end() || !model_.frame_selected(frame)) return;
    if (measured_.frames.empty() || measured_.frames.back() != frame) {
      measured_.frames.push_back(frame);
      measured_.values.emplace_back(measured_.kinds.size());
    }
    measured_.values.back()[kind->second] = value.value;
  }

  using Key = std::tuple<std::string, std::string, std::string, uint64_t>;  // what identifies it

  const Model& model_;
  MeasuredFrames measured_;
  std::map<store::RowId, size_t> kind_of_;
  std::map<std::pair<store::RowId, Key>, size_t> identical_;  // by device
  std::map<std::pair<Key, size_t>, size_t> kinds_;
  std::map<std::string, size_t> alike_;  // by id
  std::set<std::string> ids_;
};

std::string device_name(const Model& model, uint32_t frame) {
  const uint32_t device = model.device_index.find(model.frames[frame].device);
  return device == kNone ? std::string() : model.devices[device].name;
}

std::vector<Field> frame_fields(const Model& model, const MeasuredFrames& measured) {
  const auto row = [&](size_t r) -> const store::FrameRow& {
    return model.frames[measured.frames[r]];
  };
  std::vector<Field> fields;
  fields.push_back(key_field(
      "frame", "frame", "number of the frame",
      [row](size_t r) -> Cell {
        return static_cast<uint64_t>(std::max<int64_t>(row(r).number, 0));
      },
      Unit::Count));
  fields.push_back(
      key_field("device", "device", "GL implementation that rendered the frame",
                [&](size_t r) -> Cell { return device_name(model, measured.frames[r]); }));
  if (model.devices.size() < 2) fields.back().column.shown = false;
  fields.push_back(value_field(
      "time", "time", "from the previous swap to this one, including the work of counting",
      [row](size_t r) {
        const auto duration = frame_duration(row(r));
        return duration ? Cell(*duration) : Cell();
      },
      Unit::Nanoseconds));
  for (size_t k = 0; k < measured.kinds.size(); ++k) {
    const FrameCounterKind& kind = measured.kinds[k];
    const auto cell = [&measured, &kind, k](size_t r) -> Cell {
      const auto& value = measured.values[r][k];
      return value ? scaled_cell(kind, *value) : Cell();
    };
    fields.push_back(value_field(kind.id, kind.row->name, kind.row->group + ": " + kind.row->name,
                                 cell, kind.unit));
    const bool shown = std::find(kShown.begin(), kShown.end(), kind.id) != kShown.end();
    fields.back().column.shown = shown;
  }
  return fields;
}

struct Sums {
  uint64_t frames = 0;
  uint64_t total = 0;
  uint64_t min = UINT64_MAX;
  uint64_t max = 0;
};

Sums sum_counter(const MeasuredFrames& measured, size_t kind) {
  Sums sums;
  for (const auto& row : measured.values) {
    if (!row[kind]) continue;
    const uint64_t value = *row[kind];
    sums.total = saturating_sum(sums.total, value);
    sums.min = std::min(sums.min, value);
    sums.max = std::max(sums.max, value);
    ++sums.frames;
  }
  return sums;
}

std::vector<Field> counter_fields(const MeasuredFrames& measured, const std::vector<size_t>& kinds,
                                  const std::vector<Sums>& sums) {
  const auto kind = [&](size_t r) -> const FrameCounterKind& { return measured.kinds[kinds[r]]; };
  const auto scaled = [kind](size_t r, uint64_t value) -> Cell {
    const uint64_t denominator = kind(r).row->denominator;
    if (denominator == 1) return value;
    return static_cast<double>(value) / static_cast<double>(denominator);
  };
  std::vector<Field> fields;
  fields.push_back(key_field("group", "group", "group of the counter",
                             [kind](size_t r) -> Cell { return kind(r).row->group; }));
  fields.push_back(key_field("counter", "counter", "name of the counter",
                             [kind](size_t r) -> Cell { return kind(r).row->name; }));
  fields.push_back(key_field("unit", "unit", "unit of the values",
                             [kind](size_t r) -> Cell { return kind(r).row->unit; }));
  fields.push_back(value_field("total", "total", "sum over the frames; empty for a level",
                               [&sums, kind, scaled](size_t r) -> Cell {
                                 if (kind(r).row->is_level) return {};
                                 return scaled(r, sums[r].total);
                               }));
  fields.push_back(
      value_field("mean", "mean per frame", "mean of the frames", [&sums, kind](size_t r) -> Cell {
        return static_cast<double>(sums[r].total) / static_cast<double>(sums[r].frames) /
               static_cast<double>(kind(r).row->denominator);
      }));
  fields.push_back(value_field("min", "min", "smallest value of a frame",
                               [&sums, scaled](size_t r) { return scaled(r, sums[r].min); }));
  fields.push_back(value_field("max", "max", "largest value of a frame",
                               [&sums, scaled](size_t r) { return scaled(r, sums[r].max); }));
  return fields;
}

}  // namespace

Result<MeasuredFrames> load_measured_frames(const Model& model) { return Loader(model).load(); }

std::optional<uint64_t> frame_duration(const store::FrameRow& frame) {
  if (!frame.end_ns || frame.begin_ns < 0 || *frame.end_ns < frame.begin_ns) return std::nullopt;
  return static_cast<uint64_t>(*frame.end_ns - frame.begin_ns);
}

bool counts_frames(const Model& model) { return !model.frame_counters.empty(); }

Result<Table> make_frame_counter_table(const Model& model, const TableOptions& options) {
  const auto measured = TALLY_TRY(load_measured_frames(model));
  Table table;
  table.id = "frame", table.title = "GL frames";
  const std::vector<Field> fields = frame_fields(model, measured);
  add_columns(table, fields);
  for (size_t r = 0; r < measured.frames.size(); ++r) table.rows.push_back(make_row(fields, r));
  table.total_rows = table.rows.size();
  TALLY_TRY(finish_table(table, {}, options));
  return table;
}

Result<Table> make_counter_table(const Model& model, const TableOptions& options) {
  const auto measured = TALLY_TRY(load_measured_frames(model));
  std::vector<size_t> kinds;
  std::vector<Sums> sums;
  size_t zero = 0;
  for (size_t k = 0; k < measured.kinds.size(); ++k) {
    const Sums of_kind = sum_counter(measured, k);
    if (of_kind.max == 0) {
      ++zero;
      continue;
    }
    kinds.push_back(k);
    sums.push_back(of_kind);
  }
  Table table;
  table.id = "counter", table.title = "GL counters, by frame";
  const std::vector<Field> fields = counter_fields(measured, kinds, sums);
  add_columns(table, fields);
  for (size_t r = 0; r < kinds.size(); ++r) table.rows.push_back(make_row(fields, r));
  table.total_rows = table.rows.size();
  if (zero != 0) table.notes.push_back(fmt::format("{} more counters are 0 in every frame.", zero));
  TALLY_TRY(finish_table(table, {}, options));
  return table;
}

}  // namespace tally::analysis
