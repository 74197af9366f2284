#include "report/diff_json.h"

#include <nlohmann/json.hpp>

#include "analysis/diff/compare.h"
#include "report/diff_table.h"

namespace tally::report {
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
