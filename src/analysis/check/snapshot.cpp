#include "analysis/check/snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "analysis/diff/alignment.h"
#include "analysis/diff/compare.h"
#include "analysis/model/counts.h"
#include "analysis/model/names.h"
#include "analysis/tables/table_builder.h"
#include "store/stream/utf8.h"

namespace tally::analysis {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t'; }

bool is_merge_marker(std::string_view line) {
  constexpr std::array<std::string_view, 4> kMarkers = {"<<<<<<<", "=======", ">>>>>>>", "|||||||"};
  return std::ranges::any_of(kMarkers,
                             [&](std::string_view marker) { return line.starts_with(marker); });
}

// Reads a quoted word; `text` begins after the quote. nullopt: it has no end.
std::optional<std::string> take_quoted(std::string_view& text) {
  std::string word;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return word;
    }
    if (text[i] == '\\' && ++i == text.size()) break;
    word += text[i];
  }
  return std::nullopt;
}

Result<std::vector<std::string>> split(std::string_view text) {
  std::vector<std::string> fields;
  while (true) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    if (text.empty() || text.front() == '#') return fields;
    if (text.front() != '"') {
      const size_t end = std::min(text.find_first_of(" \t"), text.size());
      fields.emplace_back(text.substr(0, end));
      text.remove_prefix(end);
      continue;
    }
    text.remove_prefix(1);
    auto word = take_quoted(text);
    if (!word) return Error{"a quoted name has no end"};
    if (!text.empty() && !is_space(text.front()))
      return Error{"a space is missing after a quoted name"};
    fields.push_back(std::move(*word));
  }
}

Status check_line(std::string_view line) {
  if (is_merge_marker(line)) return Error{"a marker of an unresolved merge"};
  const bool control = std::ranges::any_of(
      line, [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
  if (control || store::clean_utf8(line) != line)
    return Error{"control characters, or text that is not UTF-8"};
  return {};
}

Status check_head(const FieldLine& line, const std::string& format, int version) {
  if (line.fields.empty() || line.fields.front() != format || line.fields.size() != 2)
    return Error{fmt::format("not a file that begins with \"{} {}\"", format, version)};
  if (line.fields[1] != std::to_string(version))
    return Error{fmt::format("{} of version {}; this tally reads version {}", format,
                             line.fields[1], version)};
  return {};
}

}  // namespace

Error error_at(const std::string& file, size_t line, const std::string& what) {
  return {fmt::format("{}:{}: {}", file, line, what)};
}

Status for_each_line(const std::string& file, std::string_view text, const std::string& format,
                     int version, const std::function<Status(const FieldLine&)>& visit) {
  bool has_head = false;
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (const Status good = check_line(line); !good)
      return error_at(file, number, good.error().message);
    auto fields = split(line);
    if (!fields) return error_at(file, number, fields.error().message);
    if (fields->empty()) continue;
    const FieldLine parsed{number, std::move(*fields)};
    const Status status = has_head ? visit(parsed) : check_head(parsed, format, version);
    if (!status) return error_at(file, number, status.error().message);
    has_head = true;
  }
  if (!has_head)
    return error_at(file, 1, fmt::format("empty; it begins with \"{} {}\"", format, version));
  return {};
}

std::string quoted_name(std::string_view word) {
  std::string text = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

Result<uint64_t> parse_count(const std::string& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    return Error{"'" + text + "' is not a count"};
  return value;
}

namespace {

constexpr const char* kSnapshotFormat = "tally-snapshot";

std::string name_of_pass(const Item& pass) {
  return pass.place.empty() ? pass.name : pass.place + " / " + pass.name;
}

// A name as it is read back: control characters are not written.
std::string printable_name(const std::string& name) {
  std::string result = name;
  for (char& c : result) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = ' ';
  }
  return result;
}

bool is_metric(const std::string& id) {
  return !id.empty() && std::ranges::all_of(id, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// A snapshot must not change with a table of weights.
bool is_counted(const Metric& metric) { return metric.device == nullptr; }

void add_counts(Counts& counts, const std::string& kind, const std::string& name,
                const std::vector<Metric>& metrics, const std::vector<uint64_t>& values) {
  for (size_t m = 0; m < values.size(); ++m) {
    if (values[m] == 0 || !is_counted(metrics[m])) continue;
    uint64_t& sum = counts[{kind, printable_name(name), metrics[m].id}];
    sum = saturating_sum(sum, values[m]);
  }
}

class Parser {
 public:
  Status take(const FieldLine& line) {
    const std::string& first = line.fields.front();
    if (first == "driver" || first == "tally" || first == "frames") return take_head(line);
    if (first != "pass" && first != "shader")
      return Error{fmt::format("'{}' is neither pass nor shader", first)};
    if (line.fields.size() != 4) return Error{fmt::format("not \"{} NAME METRIC COUNT\"", first)};
    if (!is_metric(line.fields[2]))
      return Error{fmt::format("'{}' is not the id of a metric", line.fields[2])};
    const auto count = parse_count(line.fields[3]);
    if (!count) return count.error();
    const auto [place, added] =
        lines_.emplace(CountKey{first, line.fields[1], line.fields[2]}, line.number);
    if (!added) return Error{fmt::format("the same count as in line {}", place->second)};
    snapshot_.counts[place->first] = *count;
    return {};
  }

  Result<Snapshot> finish(const std::string& file) {
    for (const char* name : {"driver", "frames"})
      if (!head_.contains(name)) return error_at(file, 1, fmt::format("has no {}", name));
    return std::move(snapshot_);
  }

 private:
  Status take_head(const FieldLine& line) {
    const std::string& name = line.fields.front();
    if (line.fields.size() != 2) return Error{fmt::format("{} has not one value", name)};
    const auto [place, added] = head_.emplace(name, line.number);
    if (!added) return Error{fmt::format("{} is already in line {}", name, place->second)};
    if (name == "driver") snapshot_.driver = line.fields[1];
    if (name == "tally") snapshot_.tool_version = line.fields[1];
    if (name != "frames") return {};
    const auto frames = parse_count(line.fields[1]);
    if (!frames) return frames.error();
    snapshot_.frames = *frames;
    return {};
  }

  Snapshot snapshot_;
  std::map<std::string, size_t> head_;  // lines
  std::map<CountKey, size_t> lines_;
};

}  // namespace

Snapshot make_snapshot(const Profile& profile, const std::string& tool_version) {
  Snapshot snapshot{
      printable_name(driver_of(profile.summary)), tool_version, profile.summary.frames, {}};
  for (const Item& pass : profile.passes)
    add_counts(snapshot.counts, "pass", name_of_pass(pass), profile.metrics, pass.values);
  for (const ShaderItem& shader : profile.shaders) {
    add_counts(snapshot.counts, "shader", shader.name + " " + shader.place, profile.metrics,
               shader.values);
  }
  return snapshot;
}

std::string snapshot_text(const Snapshot& snapshot) {
  std::string text = fmt::format("{} {}\n", kSnapshotFormat, kSnapshotVersion);
  text += fmt::format("driver {}\n", quoted_name(snapshot.driver));
  text += fmt::format("tally {}\n", quoted_name(snapshot.tool_version));
  text += fmt::format("frames {}\n", snapshot.frames);
  for (const auto& [key, count] : snapshot.counts)
    text += fmt::format("{} {} {} {}\n", key.kind, quoted_name(key.name), key.metric, count);
  return text;
}

Result<Snapshot> parse_snapshot(const std::string& file, std::string_view text) {
  Parser parser;
  const Status status = for_each_line(file, text, kSnapshotFormat, kSnapshotVersion,
                                      [&](const FieldLine& line) { return parser.take(line); });
  if (!status) return status.error();
  return parser.finish(file);
}

bool is_snapshot(std::string_view text) {
  return text.starts_with(std::string(kSnapshotFormat) + " ");
}

std::map<CountKey, CodeCount> code_counts(const Profile& profile) {
  std::map<CountKey, CodeCount> counts;
  const auto add = [&](const char* kind, const std::string& name, const std::string& file,
                       uint32_t line, const std::vector<uint64_t>& values) {
    for (size_t m = 0; m < values.size(); ++m) {
      if (!is_counted(profile.metrics[m])) continue;
      CodeCount& count = counts[{kind, name, profile.metrics[m].id}];
      count.value = saturating_sum(count.value, values[m]);
      if (count.file.empty()) count.file = file, count.line = line;
    }
  };
  for (const ShaderItem& shader : profile.shaders) {
    for (const FunctionItem& function : shader.functions) {
      const std::string file = function.file.empty() ? shader.name : base_name(function.file);
      add("function", file + ":" + function.name, function.file, function.line, function.values);
    }
    for (const LineItem& line : shader.lines) {
      if (line.line == 0 || line.file >= shader.files.size()) continue;
      const std::string& file = shader.files[line.file].name;
      add("line", fmt::format("{}:{}", base_name(file), line.line), file, line.line, line.values);
    }
  }
  return counts;
}

Result<Counts> statistic_counts(const store::Reader& capture) {
  const auto pipelines = capture.pipelines();
  if (!pipelines) return pipelines.error();
  std::map<store::RowId, std::string> names;
  for (const store::PipelineRow& row : *pipelines)
    names[row.id] = row.name.empty() ? short_hash(row.hash) : row.name;
  const auto statistics = capture.pipeline_statistics();
  if (!statistics) return statistics.error();
  constexpr double kMost = 0x1p63;
  Counts counts;
  for (const store::PipelineStatisticRow& row : *statistics) {
    const double value = std::clamp(std::ceil(row.value), 0.0, kMost);
    uint64_t& count = counts[{"executable", names[row.pipeline] + " " + stage_names(row.stages),
                              column_id(row.name)}];
    count = std::max(count, static_cast<uint64_t>(value));
  }
  return counts;
}

}  // namespace tally::analysis
