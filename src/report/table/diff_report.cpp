#include "report/table/diff_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

#include "analysis/diff/compare.h"
#include "base/user_names.h"
#include "report/table/display_text.h"

namespace tally::report {
namespace {

using analysis::CaptureDiff;
using analysis::Change;
using analysis::ColumnRole;
using analysis::DiffBy;
using analysis::Difference;
using analysis::Row;
using analysis::Table;
using analysis::Unit;
using analysis::ValuePair;

constexpr size_t kMaxOtherMetrics = 3;
// Metrics that are shown with the one that is sorted by, the most informative first.
constexpr std::array kOtherMetrics = {"draws",
                                      "dispatches",
                                      "passes",
                                      "invocations_fragment",
                                      "invocations_vertex",
                                      "invocations_compute",
                                      "executions",
                                      "instructions",
                                      "texture_samples",
                                      "matrix_multiply_adds",
                                      "ray_traversals",
                                      "fma",
                                      "buffer_bytes_loaded",
                                      "image_loads",
                                      "image_stores"};

const char* title_of(DiffBy by) {
  constexpr std::array kTitles = {"Passes",    "Pipelines", "Shaders",
                                  "Functions", "Lines",     "Draws and dispatches"};
  return kTitles[static_cast<size_t>(by)];
}

// "only more invocations": the code is not the cause.
std::string change_text(const Difference& d) {
  if (!d.only_invocations || d.change != Change::Changed) return change_name(d.change);
  return "invocations";
}

std::string name_text(const Difference& d) {
  return d.old_name.empty() ? d.name : fmt::format("{} (was {})", d.name, d.old_name);
}

std::string place_text(const Difference& d) {
  return d.old_place.empty() ? d.place : fmt::format("{} (was {})", d.place, d.old_place);
}

std::string line_text(const Difference& d) {
  return d.old_text.empty() ? d.text : fmt::format("{}  (was: {})", d.text, d.old_text);
}

std::vector<size_t> other_metrics(const CaptureDiff& diff, DiffBy by, size_t metric) {
  std::vector<size_t> shown;
  for (const char* id : kOtherMetrics) {
    const auto found = std::ranges::find(diff.metrics, id, &analysis::Metric::id);
    const auto index = static_cast<size_t>(found - diff.metrics.begin());
    if (found == diff.metrics.end() || index == metric || shown.size() == kMaxOtherMetrics)
      continue;
    const bool changes = std::ranges::any_of(
        diff.of(by), [&](const Difference& d) { return values_of(d, index).amount() != 0; });
    if (changes) shown.push_back(index);
  }
  return shown;
}

// "24.76 ms +-8%": the median of the frames, and how far they lie from it.
std::string time_text(const std::optional<analysis::TimeSpread>& time) {
  if (!time) return {};
  std::string median = duration_text(static_cast<double>(time->median_ns));
  if (time->frames == 1 || time->median_ns == 0) return median;
  const uint64_t spread = std::max(time->max_ns - time->median_ns, time->median_ns - time->min_ns);
  return fmt::format("{} \u00B1{:.0f}%", median,
                     100 * static_cast<double>(spread) / static_cast<double>(time->median_ns));
}

class DiffTable {
 public:
  DiffTable(const CaptureDiff& diff, DiffBy by, size_t metric)
      : diff_(diff), by_(by), metric_(metric), others_(other_metrics(diff, by, metric)) {}

  Table make(size_t top) {
    table_.id = analysis::kDiffByNames[static_cast<size_t>(by_)];
    table_.title = fmt::format("{}, by change of {}", title_of(by_), diff_.metrics[metric_].title);
    add_columns();
    std::vector<Difference> differences = diff_.of(by_);
    sort_differences(differences, metric_);
    table_.total_rows = differences.size();
    if (top != 0 && top < differences.size()) {
      differences.resize(top);
    }
    for (const Difference& d : differences) table_.rows.push_back(row_of(d));
    hide_empty_columns();
    add_notes(differences);
    return std::move(table_);
  }

 private:
  void add(const char* id, std::string title, Unit unit = Unit::None,
           ColumnRole role = ColumnRole::Key) {
    table_.columns.push_back({.id = id,
                              .title = std::move(title),
                              .unit = unit,
                              .role = role,
                              .description = {},
                              .zero = {}});
  }

  void add_columns() {
    const bool code = by_ == DiffBy::Function || by_ == DiffBy::Line;
    add("change", "change");
    add("name", analysis::kDiffByNames[static_cast<size_t>(by_)].data());
    add("place", code                      ? "shader"
                 : by_ == DiffBy::Shader   ? "stage"
                 : by_ == DiffBy::Pipeline ? "bind point"
                                           : "label");
    add("before", diff_.metrics[metric_].title, Unit::Count, ColumnRole::Value);
    add("after", "now", Unit::Count, ColumnRole::Value);
    add("amount", "change", Unit::Count, ColumnRole::Value);
    add("percent", "", Unit::Percent, ColumnRole::Value);
    for (const size_t other : others_)
      add(diff_.metrics[other].id.c_str(), diff_.metrics[other].title, Unit::Count,
          ColumnRole::Value);
    add("time_before", "GPU time", Unit::Nanoseconds, ColumnRole::Value);
    add("time_after", "GPU time now", Unit::Nanoseconds, ColumnRole::Value);
    add("frames", "frames", Unit::None, ColumnRole::Text);
    add("text", by_ == DiffBy::Function ? "file" : "source", Unit::None, ColumnRole::Text);
  }

  Row row_of(const Difference& d) const {
    const ValuePair values = values_of(d, metric_);
    Row row = {change_text(d),
               name_text(d),
               place_text(d),
               with_separators(values.before),
               with_separators(values.after),
               signed_text(values),
               percent_text(values)};
    for (const size_t other : others_) row.emplace_back(signed_text(values_of(d, other)));
    row.emplace_back(time_text(d.time_before));
    row.emplace_back(time_text(d.time_after));
    row.emplace_back(d.frames);
    row.emplace_back(line_text(d));
    return row;
  }

  void hide_empty_columns() {
    for (size_t c = 0; c < table_.columns.size(); ++c) {
      bool empty = true;
      for (size_t r = 0; r < table_.rows.size() && empty; ++r)
        empty = std::get<std::string>(table_.rows.cell(r, c)).empty();
      table_.columns[c].shown = !empty;
    }
  }

  void add_notes(const std::vector<Difference>& differences) {
    if (std::ranges::any_of(differences, &Difference::only_invocations)) {
      table_.notes.push_back(
          "invocations: every count changed in proportion to the shader's invocations; the draws, "
          "not this code, are the cause.");
    }
  }

  const CaptureDiff& diff_;
  const DiffBy by_;
  const size_t metric_;
  const std::vector<size_t> others_;
  Table table_;
};

}  // namespace

std::string change_name(Change change) {
  constexpr std::array kNames = {"changed", "added", "removed", "renamed", "moved"};
  return kNames[static_cast<size_t>(change)];
}

std::string signed_text(const ValuePair& values) {
  if (values.before == values.after) return "0";
  return (values.after > values.before ? "+" : "-") + with_separators(values.amount());
}

std::string percent_text(const ValuePair& values) {
  if (values.before == values.after) return {};
  if (values.before == 0) return "new";
  if (values.after == 0) return "gone";
  const double percent =
      100 * static_cast<double>(values.amount()) / static_cast<double>(values.before);
  return fmt::format("{}{:.{}f}%", values.after > values.before ? "+" : "-", percent,
                     percent < 10 ? 2 : 1);
}

Result<size_t> diff_metric(const CaptureDiff& diff, const std::string& id) {
  if (id.empty()) return size_t{default_metric(diff.metrics)};
  std::vector<KnownName> known;
  for (const analysis::Metric& metric : diff.metrics) known.push_back({metric.id, metric.title});
  return find_name("metric", id, known);
}

Table diff_table(const CaptureDiff& diff, DiffBy by, size_t metric, size_t top) {
  return DiffTable(diff, by, metric).make(top);
}

namespace {

using Json = nlohmann::ordered_json;
using analysis::CaptureDiff;
using analysis::Difference;
using analysis::Metric;

std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json capture_json(const std::string& file, const analysis::Summary& summary) {
  if (file.empty()) return nullptr;
  return {{"file", file},
          {"driver", driver_of(summary)},
          {"frames", summary.frames},
          {"complete", summary.complete()}};
}

// Metrics that are 0 are left out.
Json values_json(const std::vector<Metric>& metrics, const std::vector<uint64_t>& values) {
  if (values.empty()) return nullptr;
  Json json = Json::object();
  for (size_t m = 0; m < values.size(); ++m)
    if (values[m] != 0) json[metrics[m].id] = values[m];
  return json;
}

Json time_json(const std::optional<analysis::TimeSpread>& time) {
  if (!time) return nullptr;
  return {{"min_ns", time->min_ns},
          {"median_ns", time->median_ns},
          {"max_ns", time->max_ns},
          {"frames", time->frames}};
}

Json difference_json(const std::vector<Metric>& metrics, const Difference& d) {
  Json json = {{"change", change_name(d.change)},
               {"only_invocations", d.only_invocations},
               {"name", d.name},
               {"place", d.place}};
  const auto add = [&json](const char* name, const std::string& text) {
    if (!text.empty()) json[name] = text;
  };
  add("old_name", d.old_name);
  add("old_place", d.old_place);
  add("file", d.file);
  if (d.line != 0) json["line"] = d.line;
  add("origin", d.origin);
  add("text", d.text);
  add("old_text", d.old_text);
  add("frames", d.frames);
  json["before"] = values_json(metrics, d.before);
  json["after"] = values_json(metrics, d.after);
  if (d.time_before || d.time_after) {
    json["gpu_time_before"] = time_json(d.time_before);
    json["gpu_time_after"] = time_json(d.time_after);
  }
  return json;
}

void write_table(const CaptureDiff& diff, analysis::DiffBy by, const DiffJsonOptions& options,
                 const Output& out) {
  std::vector<Difference> differences = diff.of(by);
  const auto metric = diff_metric(diff, options.sort);
  if (metric) sort_differences(differences, *metric);
  const size_t total = differences.size();
  if (options.top != 0 && options.top < total) differences.resize(options.top);
  out("        {\"by\": " + json_text(analysis::kDiffByNames[static_cast<size_t>(by)]) +
      ", \"total_rows\": " + std::to_string(total) + ", \"rows\": [");
  for (size_t i = 0; i < differences.size(); ++i)
    out((i == 0 ? "\n          " : ",\n          ") +
        json_text(difference_json(diff.metrics, differences[i])));
  out("]}");
}

void write_diff(const NamedDiff& named, const DiffJsonOptions& options, const Output& out) {
  const CaptureDiff& diff = named.diff;
  out("    {\n      \"before\": " + json_text(capture_json(named.before, diff.before)) +
      ",\n      \"after\": " + json_text(capture_json(named.after, diff.after)) +
      ",\n      \"notes\": " + json_text(diff.notes) + ",\n      \"tables\": [");
  for (size_t t = 0; t < options.by.size(); ++t) {
    out(t == 0 ? "\n" : ",\n");
    write_table(diff, options.by[t], options, out);
  }
  out("\n      ]\n    }");
}

}  // namespace

void write_diff_json(const std::vector<NamedDiff>& diffs, const DiffJsonOptions& options,
                     const Output& out) {
  out("{\n  \"format\": \"tally-diff\",\n  \"version\": " + std::to_string(kDiffJsonVersion) +
      ",\n  \"diffs\": [");
  for (size_t i = 0; i < diffs.size(); ++i) {
    out(i == 0 ? "\n" : ",\n");
    write_diff(diffs[i], options, out);
  }
  out(diffs.empty() ? "]\n}\n" : "\n  ]\n}\n");
}

}  // namespace tally::report
