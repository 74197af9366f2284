#include "analysis/tables/frame_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <set>

#include "analysis/model/counts.h"
#include "analysis/tables/fields.h"

namespace tally::analysis {
namespace {

// Shown in text where they are not 0 everywhere; --columns and JSON have all.
constexpr std::array kShown = {"gpu.gpu_time",
                               "api.draw_calls",
                               "api.vertices_submitted",
                               "api.state_changes",
                               "api.buffer_upload_bytes",
                               "api.texture_upload_bytes",
                               "gpu.samples_passed",
                               "gpu.fragment_shader_invocations"};

std::string id_of(const std::string& text) {
  std::string id;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (plain) id += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!plain && !id.empty() && id.back() != '_') id += '_';
  }
  while (id.ends_with('_')) id.pop_back();
  return id;
}

// How a counter's values are shown: times and memory in the units of every table, others divided.
struct Scale {
  Unit unit = Unit::Count;
  uint64_t divisor = 1;

  static Scale of(const store::FrameCounterRow& row) {
    if (row.unit == "us" && row.denominator == 1000) return {Unit::Nanoseconds, 1};
    if (row.unit == "KB" && row.denominator == 1024) return {Unit::Bytes, 1};
    if (row.unit == "bytes" && row.denominator == 1) return {Unit::Bytes, 1};
    return {Unit::Count, std::max<uint64_t>(row.denominator, 1)};
  }
  Cell cell(uint64_t value) const {
    if (divisor == 1) return value;
    return static_cast<double>(value) / static_cast<double>(divisor);
  }
};

// A counter that is the same on every device that has it.
struct Kind {
  const store::FrameCounterRow* row;
  std::string id;
  Scale scale;
};

struct Measured {
  std::vector<uint32_t> frames;  // by row, in the order of the capture
  std::vector<Kind> kinds;
  std::vector<std::vector<std::optional<uint64_t>>> values;  // [row][kind]
};

class Loader {
 public:
  explicit Loader(const Model& model) : model_(model) {}

  Result<Measured> load() {
    for (const store::FrameCounterRow& row : model_.frame_counters) add_kind(row);
    const Status status = model_.reader.for_each_frame_value([this](const auto& value) {
      add_value(value);
      return true;
    });
    if (!status.ok()) return status.error();
    return std::move(measured_);
  }

 private:
  void add_kind(const store::FrameCounterRow& row) {
    for (size_t k = 0; k < measured_.kinds.size(); ++k) {
      const store::FrameCounterRow& known = *measured_.kinds[k].row;
      const bool alike = known.device != row.device && known.group == row.group &&
                         known.name == row.name && known.unit == row.unit &&
                         known.denominator == row.denominator;
      if (alike) {
        kind_of_[row.id] = k;
        return;
      }
    }
    std::string id = id_of(row.group) + "." + id_of(row.name);
    while (!ids_.insert(id).second) id += "_";
    kind_of_[row.id] = measured_.kinds.size();
    measured_.kinds.push_back({&row, std::move(id), Scale::of(row)});
  }

  void add_value(const store::FrameValueRow& value) {
    const uint32_t frame = model_.frame_index.find(value.frame);
    const auto kind = kind_of_.find(value.counter);
    if (frame == kNone || kind == kind_of_.end() || !model_.frame_selected(frame)) return;
    if (measured_.frames.empty() || measured_.frames.back() != frame) {
      measured_.frames.push_back(frame);
      measured_.values.emplace_back(measured_.kinds.size());
    }
    measured_.values.back()[kind->second] = value.value;
  }

  const Model& model_;
  Measured measured_;
  std::map<store::RowId, size_t> kind_of_;
  std::set<std::string> ids_;
};

std::string device_name(const Model& model, uint32_t frame) {
  const uint32_t device = model.device_index.find(model.frames[frame].device);
  return device == kNone ? std::string() : model.devices[device].name;
}

Cell duration_of(const store::FrameRow& frame) {
  if (!frame.end_ns || frame.begin_ns < 0 || *frame.end_ns < frame.begin_ns) return {};
  return static_cast<uint64_t>(*frame.end_ns - frame.begin_ns);
}

std::vector<Field> frame_fields(const Model& model, const Measured& measured) {
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
  fields.push_back(key_field("device", "device", "the GL that drew it", [&](size_t r) -> Cell {
    return device_name(model, measured.frames[r]);
  }));
  if (model.devices.size() < 2) fields.back().column.shown = false;
  fields.push_back(value_field(
      "time", "time", "from the previous swap to this one, including the work of counting",
      [row](size_t r) { return duration_of(row(r)); }, Unit::Nanoseconds));
  for (size_t k = 0; k < measured.kinds.size(); ++k) {
    const Kind& kind = measured.kinds[k];
    const auto cell = [&measured, &kind, k](size_t r) -> Cell {
      const auto& value = measured.values[r][k];
      return value ? kind.scale.cell(*value) : Cell();
    };
    fields.push_back(value_field(kind.id, kind.row->name, kind.row->group + ": " + kind.row->name,
                                 cell, kind.scale.unit));
    const bool shown = std::find(kShown.begin(), kShown.end(), kind.id) != kShown.end();
    fields.back().column.shown = shown;
  }
  return fields;
}

struct Sums {
  uint64_t frames = 0;
  uint64_t total = 0;
  uint64_t least = UINT64_MAX;
  uint64_t most = 0;
};

Sums sum_up(const Measured& measured, size_t kind) {
  Sums sums;
  for (const auto& row : measured.values) {
    if (!row[kind]) continue;
    const uint64_t value = *row[kind];
    sums.total = saturating_sum(sums.total, value);
    sums.least = std::min(sums.least, value);
    sums.most = std::max(sums.most, value);
    ++sums.frames;
  }
  return sums;
}

std::vector<Field> counter_fields(const Measured& measured, const std::vector<size_t>& kinds,
                                  const std::vector<Sums>& sums) {
  const auto kind = [&](size_t r) -> const Kind& { return measured.kinds[kinds[r]]; };
  const auto scaled = [kind](size_t r, uint64_t value) -> Cell {
    const uint64_t denominator = kind(r).row->denominator;
    if (denominator == 1) return value;
    return static_cast<double>(value) / static_cast<double>(denominator);
  };
  std::vector<Field> fields;
  fields.push_back(key_field("group", "group", "the counter's group",
                             [kind](size_t r) -> Cell { return kind(r).row->group; }));
  fields.push_back(key_field("counter", "counter", "the counter",
                             [kind](size_t r) -> Cell { return kind(r).row->name; }));
  fields.push_back(key_field("unit", "unit", "of the values",
                             [kind](size_t r) -> Cell { return kind(r).row->unit; }));
  fields.push_back(value_field("total", "total", "sum over the frames; none for a level",
                               [&sums, kind, scaled](size_t r) -> Cell {
                                 if (kind(r).row->is_level) return {};
                                 return scaled(r, sums[r].total);
                               }));
  fields.push_back(value_field(
      "mean", "mean a frame", "the mean of the frames", [&sums, kind](size_t r) -> Cell {
        return static_cast<double>(sums[r].total) / static_cast<double>(sums[r].frames) /
               static_cast<double>(kind(r).row->denominator);
      }));
  fields.push_back(value_field("least", "least", "of a frame",
                               [&sums, scaled](size_t r) { return scaled(r, sums[r].least); }));
  fields.push_back(value_field("most", "most", "of a frame",
                               [&sums, scaled](size_t r) { return scaled(r, sums[r].most); }));
  return fields;
}

}  // namespace

bool counts_frames(const Model& model) { return !model.frame_counters.empty(); }

Result<Table> make_frame_counter_table(const Model& model, const TableOptions& options) {
  const auto measured = Loader(model).load();
  if (!measured) return measured.error();
  Table table;
  table.id = "frame", table.title = "Frames of GL";
  const std::vector<Field> fields = frame_fields(model, *measured);
  add_columns(table, fields);
  for (size_t r = 0; r < measured->frames.size(); ++r) table.rows.push_back(make_row(fields, r));
  table.total_rows = table.rows.size();
  if (Status finished = finish_table(table, {}, options); !finished) return finished.error();
  return table;
}

Result<Table> make_counter_table(const Model& model, const TableOptions& options) {
  const auto measured = Loader(model).load();
  if (!measured) return measured.error();
  std::vector<size_t> kinds;
  std::vector<Sums> sums;
  size_t zero = 0;
  for (size_t k = 0; k < measured->kinds.size(); ++k) {
    const Sums of_kind = sum_up(*measured, k);
    if (of_kind.most == 0) {
      ++zero;
      continue;
    }
    kinds.push_back(k);
    sums.push_back(of_kind);
  }
  Table table;
  table.id = "counter", table.title = "Counters of GL, by frame";
  const std::vector<Field> fields = counter_fields(*measured, kinds, sums);
  add_columns(table, fields);
  for (size_t r = 0; r < kinds.size(); ++r) table.rows.push_back(make_row(fields, r));
  table.total_rows = table.rows.size();
  if (zero != 0) table.notes.push_back(fmt::format("{} more counters are 0 in every frame.", zero));
  if (Status finished = finish_table(table, {}, options); !finished) return finished.error();
  return table;
}

}  // namespace tally::analysis
