#include "analysis/check/snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "analysis/diff/alignment.h"
#include "analysis/diff/difference.h"
#include "analysis/model/counts.h"
#include "base/hash.h"
#include "base/settings.h"
#include "base/text.h"

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
  if (control || clean_utf8(line) != line)
    return Error{"control characters, or text that is not UTF-8"};
  return {};
}

Status check_head(const FieldLine& line, const std::string& format, int version) {
  if (line.fields.empty() || line.fields.front() != format || line.fields.size() != 2)
    return Error{fmt::format("not a file that begins with \"{} {}\"", format, version)};
  const auto found = parse_count(line.fields[1]);
  if (!found || *found == 0 || *found > static_cast<uint64_t>(version))
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

std::string printable_name(const std::string& name) {
  std::string result = name;
  for (char& c : result) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = ' ';
  }
  return clean_utf8(result);
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

bool is_remark(const std::string& text) {
  const std::string_view code = trimmed(text);
  return code.empty() || code.starts_with("//");
}

class ShaderCodeRows {
 public:
  ShaderCodeRows(const Profile& profile, const ShaderItem& shader)
      : profile_(profile),
        shader_(shader),
        executions_(find_metric(profile.metrics, "executions")),
        instructions_(find_metric(profile.metrics, kSnapshotMetric)) {
    for (const LineItem& line : shader.lines) lines_[{line.file, line.line}] = &line;
    for (uint32_t l = 0; l < shader.loops.size(); ++l)
      loops_[{shader.loops[l].file, shader.loops[l].line}] = l;
  }

  SnapshotShader run() {
    SnapshotShader result;
    result.name = printable_name(shader_.name + " " + shader_.place);
    result.hash = to_string(hash_bytes(std::as_bytes(std::span(shader_.identity.hash))));
    result.invocations = value_at(shader_.values, profile_.invocations_of(shader_.stage));
    result.instructions = value_at(shader_.values, instructions_);
    for (const auto& [pass, commands] : shader_.commands_of_passes)
      result.commands[printable_name(name_of_pass(profile_.passes[pass]))] += commands;
    for (uint32_t f = 0; f < shader_.files.size(); ++f) {
      const bool has_code = std::ranges::any_of(
          shader_.lines, [&](const LineItem& line) { return line.file == f && line.line != 0; });
      if (has_code && !shader_.files[f].lines.empty()) result.files.push_back(rows_of(f));
    }
    return result;
  }

 private:
  using Place = std::pair<uint32_t, uint32_t>;

  SnapshotFile rows_of(uint32_t file) const {
    const SourceText& source = shader_.files[file];
    SnapshotFile result{printable_name(source.name), {}};
    for (uint32_t l = 0; l < source.lines.size(); ++l) {
      const auto code = lines_.find({file, l + 1});
      if (code == lines_.end() && is_remark(source.lines[l])) continue;
      SnapshotLine line;
      line.text = printable_name(std::string(trimmed(source.lines[l])));
      line.number = l + 1;
      if (code != lines_.end()) describe(*code->second, line);
      result.lines.push_back(std::move(line));
    }
    return result;
  }

  void describe(const LineItem& item, SnapshotLine& line) const {
    line.has_code = true;
    line.executions = value_at(item.values, executions_);
    line.instructions = value_at(item.values, instructions_);
    line.code = item.instructions;
    if (const auto loop = loops_.find({item.file, item.line}); loop != loops_.end())
      line.loop = {shader_.loops[loop->second].entries, shader_.loops[loop->second].iterations};
    for (const uint32_t loop : item.loops)
      if (shader_.loops[loop].file == item.file) line.loops.push_back(shader_.loops[loop].line);
  }

  const Profile& profile_;
  const ShaderItem& shader_;
  const std::optional<size_t> executions_, instructions_;  // metrics
  std::map<Place, const LineItem*> lines_;
  std::map<Place, uint32_t> loops_;
};

// Lines that are empty or only a comment are left out, and files that have no code.
std::vector<SnapshotShader> snapshot_code(const Profile& profile) {
  std::vector<SnapshotShader> shaders;
  for (const ShaderItem& shader : profile.shaders)
    shaders.push_back(ShaderCodeRows(profile, shader).run());
  std::ranges::stable_sort(
      shaders, {}, [](const SnapshotShader& shader) { return std::tie(shader.name, shader.hash); });
  return shaders;
}

std::string code_text(const std::vector<SnapshotShader>& shaders) {
  std::string text;
  for (const SnapshotShader& shader : shaders) {
    text += fmt::format("code {} {} {} {}\n", quoted_name(shader.name), shader.hash,
                        shader.invocations, shader.instructions);
    for (const auto& [pass, commands] : shader.commands)
      text += fmt::format("in {} {}\n", quoted_name(pass), commands);
    for (const SnapshotFile& file : shader.files) {
      text += fmt::format("file {}\n", quoted_name(file.name));
      for (const SnapshotLine& line : file.lines) {
        text += "line " + quoted_name(line.text);
        if (line.has_code)
          text += fmt::format(" {} {} {}", line.executions, line.instructions, line.code);
        if (line.loop) text += fmt::format(" {} {}", line.loop->entries, line.loop->iterations);
        text += '\n';
      }
    }
  }
  return text;
}

// Reads the rows of code. `take` returns false for a row that is none.
class CodeParser {
 public:
  Result<bool> take(const FieldLine& line);
  std::vector<SnapshotShader> finish() { return std::move(shaders_); }

 private:
  Status take_line(const std::vector<std::string>& fields);

  std::vector<SnapshotShader> shaders_;
};

Result<bool> CodeParser::take(const FieldLine& line) {
  const std::vector<std::string>& fields = line.fields;
  const std::string& kind = fields.front();
  if (kind != "code" && kind != "in" && kind != "file" && kind != "line") return false;
  if (kind == "code") {
    if (fields.size() != 5) return Error{"not \"code SHADER HASH INVOCATIONS INSTRUCTIONS\""};
    if (fields[2].find_first_not_of("0123456789abcdef") != std::string::npos)
      return Error{fmt::format("'{}' is not a hash", fields[2])};
    const auto invocations = TALLY_TRY(parse_count(fields[3]));
    const auto instructions = TALLY_TRY(parse_count(fields[4]));
    shaders_.push_back({.name = fields[1],
                        .hash = fields[2],
                        .invocations = invocations,
                        .instructions = instructions});
    return true;
  }
  if (shaders_.empty()) return Error{fmt::format("'{}' belongs to no shader", kind)};
  SnapshotShader& shader = shaders_.back();
  if (kind == "in") {
    if (fields.size() != 3) return Error{"not \"in PASS COUNT\""};
    const auto count = TALLY_TRY(parse_count(fields[2]));
    if (!shader.commands.emplace(fields[1], count).second) return Error{"the same pass again"};
    return true;
  }
  if (kind == "file") {
    if (fields.size() != 2) return Error{"not \"file NAME\""};
    shader.files.push_back({fields[1], {}});
    return true;
  }
  TALLY_TRY(take_line(fields));
  return true;
}

Status CodeParser::take_line(const std::vector<std::string>& fields) {
  constexpr size_t kText = 2, kCode = 5, kLoop = 7;  // fields of a row
  if (fields.size() != kText && fields.size() != kCode && fields.size() != kLoop)
    return Error{"not \"line TEXT [EXECUTIONS INSTRUCTIONS CODE [ENTRIES ITERATIONS]]\""};
  if (shaders_.back().files.empty()) return Error{"'line' belongs to no file"};
  std::vector<SnapshotLine>& lines = shaders_.back().files.back().lines;
  uint64_t counts[kLoop - kText] = {};
  for (size_t f = kText; f < fields.size(); ++f) {
    const auto count = TALLY_TRY(parse_count(fields[f]));
    counts[f - kText] = count;
  }
  SnapshotLine line{.text = fields[1],
                    .has_code = fields.size() > kText,
                    .executions = counts[0],
                    .instructions = counts[1],
                    .code = counts[2]};
  if (fields.size() == kLoop) line.loop = {counts[3], counts[4]};
  lines.push_back(std::move(line));
  return {};
}

}  // namespace

namespace {

constexpr const char* kSnapshotFormat = "tally-snapshot";

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
    if (first == "on") return take_driver(line);
    const auto is_code = TALLY_TRY(code_.take(line));
    if (is_code) return {};
    if (first != "pass" && first != "shader")
      return Error{fmt::format("'{}' is neither pass nor shader", first)};
    if (line.fields.size() != 4) return Error{fmt::format("not \"{} NAME METRIC COUNT\"", first)};
    if (!is_metric(line.fields[2]))
      return Error{fmt::format("'{}' is not the id of a metric", line.fields[2])};
    const auto count = TALLY_TRY(parse_count(line.fields[3]));
    const auto [place, added] =
        lines_.emplace(CountKey{first, line.fields[1], line.fields[2]}, line.number);
    if (!added) return Error{fmt::format("the same count as in line {}", place->second)};
    (other_ ? *other_ : snapshot_.counts)[place->first] = count;
    return {};
  }

  Result<Snapshot> finish(const std::string& file) {
    for (const char* name : {"driver", "frames"})
      if (!head_.contains(name)) return error_at(file, 1, fmt::format("has no {}", name));
    if (snapshot_.others.contains(snapshot_.driver))
      return error_at(file, 1, fmt::format("has driver {} twice", snapshot_.driver));
    snapshot_.shaders = code_.finish();
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
    snapshot_.frames = TALLY_TRY(parse_count(line.fields[1]));
    return {};
  }

  // The rows that follow are the counts of another driver.
  Status take_driver(const FieldLine& line) {
    if (line.fields.size() != 2) return Error{"not \"on DRIVER\""};
    const auto [other, added] = snapshot_.others.try_emplace(line.fields[1]);
    if (!added) return Error{"the same driver again"};
    other_ = &other->second;
    lines_.clear();
    return {};
  }

  Snapshot snapshot_;
  CodeParser code_;
  Counts* other_ = nullptr;             // null: the counts of the first driver are read
  std::map<std::string, size_t> head_;  // lines
  std::map<CountKey, size_t> lines_;
};

}  // namespace

Snapshot make_snapshot(const Profile& profile, const std::string& tool_version) {
  Snapshot snapshot{.driver = printable_name(driver_of(profile.summary)),
                    .tool_version = tool_version,
                    .frames = profile.summary.frames};
  for (const Item& pass : profile.passes)
    add_counts(snapshot.counts, "pass", name_of_pass(pass), profile.metrics, pass.values);
  for (const ShaderItem& shader : profile.shaders) {
    add_counts(snapshot.counts, "shader", shader.name + " " + shader.place, profile.metrics,
               shader.values);
  }
  snapshot.shaders = snapshot_code(profile);
  return snapshot;
}

Counts Snapshot::counts_on(const std::string& name) const {
  Counts result = counts;
  const auto other = others.find(name);
  if (other == others.end()) return result;
  for (const auto& [key, count] : other->second) {
    if (count == 0) {
      result.erase(key);
    } else {
      result[key] = count;
    }
  }
  return result;
}

std::string snapshot_text(const Snapshot& snapshot) {
  std::string text = fmt::format("{} {}\n", kSnapshotFormat, kSnapshotVersion);
  text += fmt::format("driver {}\n", quoted_name(snapshot.driver));
  text += fmt::format("tally {}\n", quoted_name(snapshot.tool_version));
  text += fmt::format("frames {}\n", snapshot.frames);
  const auto add = [&text](const Counts& counts) {
    for (const auto& [key, count] : counts)
      text += fmt::format("{} {} {} {}\n", key.kind, quoted_name(key.name), key.metric, count);
  };
  add(snapshot.counts);
  text += code_text(snapshot.shaders);
  for (const auto& [driver, counts] : snapshot.others) {
    text += fmt::format("on {}\n", quoted_name(driver));
    add(counts);
  }
  return text;
}

Result<Snapshot> parse_snapshot(const std::string& file, std::string_view text) {
  Parser parser;
  TALLY_TRY(for_each_line(file, text, kSnapshotFormat, kSnapshotVersion,
                          [&](const FieldLine& line) { return parser.take(line); }));
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

}  // namespace tally::analysis
