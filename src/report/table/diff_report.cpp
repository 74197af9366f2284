#include "report/table/reports.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

#include "analysis/diff/alignment.h"
#include "analysis/diff/difference.h"
#include "base/text.h"
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

using analysis::Cause;
using analysis::Causes;

size_t shown(const Causes& causes, size_t top) {
  return top == 0 ? causes.list.size() : std::min(top, causes.list.size());
}

std::string rest_text(const Causes& causes, size_t count) {
  int64_t amount = 0;
  for (size_t c = count; c < causes.list.size(); ++c) amount += causes.list[c].amount();
  return fmt::format("{} not shown; {} {}{}", counted(causes.list.size() - count, "more cause"),
                     causes.metric_title, amount < 0 ? "-" : "+",
                     with_separators(analysis::magnitude(amount)));
}

Json place_json(const std::string& file, uint32_t line) {
  Json json = {{"file", file}};
  if (line != 0) json["line"] = line;
  return json;
}

Json lines_json(const Cause& cause) {
  Json lines = Json::array();
  for (const analysis::EditedLine& line : cause.lines) {
    Json json = place_json(line.file, line.line);
    if (line.old_line != 0) json["old_line"] = line.old_line;
    if (!line.text.empty()) json["text"] = line.text;
    if (!line.old_text.empty()) json["old_text"] = line.old_text;
    json["code"] = line.code;
    lines.push_back(std::move(json));
  }
  return lines;
}

Json changes_json(const std::vector<analysis::CountChange>& changes, const char* base,
                  const char* count) {
  Json list = Json::array();
  for (const analysis::CountChange& change : changes) {
    Json json = place_json(change.file, change.line);
    json["before"] = {{base, change.base_before}, {count, change.before}};
    json["after"] = {{base, change.base_after}, {count, change.after}};
    json["amount"] = change.part;
    list.push_back(std::move(json));
  }
  return list;
}

Json cause_json(const Causes& causes, const Cause& cause) {
  Json json = {{"kind", cause_name(cause.kind)},
               {"text", cause_text(causes, cause)},
               {"amount", cause.amount()},
               {"parts",
                {{"code", cause.parts.code},
                 {"executions", cause.parts.executions},
                 {"invocations", cause.parts.invocations},
                 {"commands", cause.parts.commands}}},
               {"shaders", cause.shaders}};
  if (!cause.pass.empty()) json["pass"] = cause.pass;
  if (!cause.lines.empty()) json["lines"] = lines_json(cause);
  if (!cause.loops.empty()) json["loops"] = changes_json(cause.loops, "entries", "iterations");
  if (!cause.other_lines.empty())
    json["other_lines"] = changes_json(cause.other_lines, "invocations", "executions");
  return json;
}

}  // namespace

std::string causes_title(const Causes& causes) {
  return "Causes of the change: " + total_text(causes);
}

void write_causes(const Causes& causes, size_t top, size_t width, const Output& out) {
  if (causes.list.empty()) return;
  out(printable(causes_title(causes)) + "\n\n");
  const size_t count = shown(causes, top);
  for (size_t c = 0; c < count; ++c) {
    const Cause& cause = causes.list[c];
    out(wrapped(printable(cause_text(causes, cause)), width));
    if (const std::string parts = parts_text(causes, cause); !parts.empty())
      out(wrapped("  " + printable(parts), width));
  }
  if (count < causes.list.size()) out(wrapped(rest_text(causes, count), width));
  out("\n");
}

void add_causes(const Causes& causes, size_t top, MarkdownDocument& document) {
  if (causes.list.empty()) return;
  document.add(markdown_text(causes_title(causes)));
  const size_t count = shown(causes, top);
  std::string list;
  for (size_t c = 0; c < count; ++c) {
    const Cause& cause = causes.list[c];
    list += "- " + markdown_text(cause_text(causes, cause)) + "\n";
    if (const std::string parts = parts_text(causes, cause); !parts.empty())
      list += "  " + markdown_text("(" + parts + ")") + "\n";
  }
  if (count < causes.list.size()) list += "- " + rest_text(causes, count) + "\n";
  list.pop_back();
  document.add(list);
}

std::string causes_json(const Causes& causes) {
  if (causes.metric.empty()) return "null";
  Json list = Json::array();
  for (const Cause& cause : causes.list) list.push_back(cause_json(causes, cause));
  const Json json = {{"metric", causes.metric},
                     {"before", causes.before},
                     {"after", causes.after},
                     {"list", std::move(list)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

namespace {

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
      ",\n      \"notes\": " + json_text(diff.notes) +
      ",\n      \"causes\": " + causes_json(diff.causes) +
      ",\n      \"pictures\": " + pictures_json(diff.pictures) + ",\n      \"tables\": [");
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

namespace {

using analysis::FirstDifference;
using analysis::FirstPlace;

std::string first_change_text(uint64_t before, uint64_t after) {
  return fmt::format("{} before, {} now", with_separators(before), with_separators(after));
}

std::string first_place_text(const FirstPlace& place) {
  if (place.line == 0)
    return fmt::format("{}, block {}: executed {}", place.shader, place.block,
                       first_change_text(place.before, place.after));
  const std::string file = place.file.empty() ? place.shader : analysis::base_name(place.file);
  return fmt::format("{}:{}: executed {}: {}", file, place.line,
                     first_change_text(place.before, place.after), place.text);
}

// The difference within a command that both captures have.
std::string what_differs(const FirstDifference& first) {
  if (first.place) return first_place_text(*first.place);
  if (first.metric.empty()) return "Its shaders have other code: tally diff shows which lines.";
  return fmt::format("{}: {}; every line was executed equally often", first.metric,
                     first_change_text(first.metric_before, first.metric_after));
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json first_json(const FirstDifference& first) {
  Json json = {{"frame", first.frame},
               {"number", first.number},
               {"same_before", first.same_before},
               {"before", text_or_null(first.before)},
               {"after", text_or_null(first.after)}};
  if (first.place) {
    json["place"] = {{"shader", first.place->shader}, {"block", first.place->block}};
    if (!first.place->file.empty()) json["place"]["file"] = first.place->file;
    if (first.place->line != 0) json["place"]["line"] = first.place->line;
    if (!first.place->text.empty()) json["place"]["text"] = first.place->text;
    json["place"]["before"] = first.place->before;
    json["place"]["after"] = first.place->after;
  }
  if (!first.metric.empty())
    json["metric"] = {
        {"id", first.metric}, {"before", first.metric_before}, {"after", first.metric_after}};
  return json;
}

}  // namespace

void write_first(const NamedFirst& named, const Output& out) {
  const auto line = [&out](const std::string& text) { out(printable(text) + "\n"); };
  if (named.before.empty() || named.after.empty()) {
    line(named.before.empty() ? named.after + " is new" : named.before + " is gone");
    return;
  }
  line(named.before + " -> " + named.after);
  out("\n");
  if (!named.first) {
    line("  No difference: every draw and dispatch did the same.");
    return;
  }
  const FirstDifference& first = *named.first;
  line(
      fmt::format("  The first difference is draw or dispatch {} of frame {}, after {} that did "
                  "the same.",
                  first.number, first.frame, counted(first.same_before, "command")));
  if (first.before == first.after) {
    line("  " + first.after);
    line("  " + what_differs(first));
    return;
  }
  line("  Before: " + (first.before.empty() ? "none" : first.before));
  line("  Now: " + (first.after.empty() ? "none" : first.after));
}

void write_first_json(const std::vector<NamedFirst>& firsts, const Output& out) {
  Json diffs = Json::array();
  for (const NamedFirst& named : firsts) {
    diffs.push_back({{"before", text_or_null(named.before)},
                     {"after", text_or_null(named.after)},
                     {"first", named.first ? first_json(*named.first) : Json()}});
  }
  const Json json = {
      {"format", "tally-first-difference"}, {"version", kFirstJsonVersion}, {"diffs", diffs}};
  out(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace tally::report
