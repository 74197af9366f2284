#include "analysis/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "analysis/check/snapshot.h"
#include "analysis/diff/causes.h"
#include "analysis/diff/difference.h"
#include "analysis/model/model.h"
#include "analysis/model/names.h"
#include "analysis/tables/table_builder.h"

namespace tally::analysis {
namespace {

constexpr const char* kFormat = "tally-limits";
constexpr uint64_t kWhole = 1'000'000;  // of a growth limit
constexpr size_t kMaxDecimals = 4;      // of a percentage
constexpr uint64_t kMaxPercent = 1'000'000;

// "1.5" percent as millionths.
Result<uint64_t> parse_percent(const std::string& text) {
  const size_t point = std::min(text.find('.'), text.size());
  const auto whole = parse_count(text.substr(0, point));
  std::string decimals = point == text.size() ? "" : text.substr(point + 1);
  const bool bad = decimals.size() > kMaxDecimals || (decimals.empty() && point != text.size());
  if (!whole || *whole > kMaxPercent || bad)
    return Error{
        fmt::format("'+{}%' is not a percentage of up to {} decimals", text, kMaxDecimals)};
  decimals.resize(kMaxDecimals, '0');
  const auto part = parse_count(decimals);
  if (!part) return Error{fmt::format("'+{}%' is not a percentage", text)};
  return *whole * 10'000 + *part;
}

// "2.5ms" as nanoseconds.
Result<uint64_t> parse_time(const std::string& text) {
  struct TimeUnit {
    std::string_view name;
    size_t decimals;
  };
  constexpr TimeUnit kUnits[] = {{"ns", 0}, {"us", 3}, {"ms", 6}, {"s", 9}};
  for (const auto& [name, decimals] : kUnits) {
    if (!text.ends_with(name)) continue;
    const std::string number = text.substr(0, text.size() - name.size());
    const size_t point = std::min(number.find('.'), number.size());
    std::string fraction = point == number.size() ? "" : number.substr(point + 1);
    if (fraction.size() > decimals || number.ends_with('.')) break;
    fraction.resize(decimals, '0');
    auto amount = parse_count(number.substr(0, point) + fraction);
    if (point == 0 || !amount) break;
    return amount;
  }
  return Error{fmt::format("'{}' is not a time like 2.5ms (ns, us, ms or s)", text)};
}

Status set_limit(Limit& limit, const std::string& text) {
  limit.text = text;
  if (text == "exact") return {};
  if (text == "ratchet" || text == "ignore") {
    limit.kind = text == "ratchet" ? LimitKind::Ratchet : LimitKind::Ignore;
    return {};
  }
  const bool growth = text.starts_with('+') && text.ends_with('%');
  if (!growth && !text.starts_with("<="))
    return Error{fmt::format("'{}' is not exact, +N%, ratchet, ignore or <=N", text)};
  limit.kind = growth ? LimitKind::Growth : LimitKind::Cap;
  limit.amount = TALLY_TRY(growth ? parse_percent(text.substr(1, text.size() - 2))
                           : limit.pattern.kind == "time" ? parse_time(text.substr(2))
                                                          : parse_count(text.substr(2)));
  return {};
}

Result<Limit> parse_rule(const FieldLine& line) {
  if (line.fields.size() != 4) return Error{"not \"KIND NAME METRIC LIMIT\""};
  Limit limit{.pattern = {line.fields[0], line.fields[1], line.fields[2]}, .line = line.number};
  const std::string& kind = limit.pattern.kind;
  const bool only_capped =
      kind == "function" || kind == "line" || kind == "executable" || kind == "time";
  if (!only_capped && kind != "pass" && kind != "shader")
    return Error{fmt::format("'{}' is not pass, shader, function, line, executable or time", kind)};
  TALLY_TRY(set_limit(limit, line.fields[3]));
  if (only_capped && limit.kind != LimitKind::Cap)
    return Error{fmt::format("'{}' can only have a limit <=N: snapshots do not hold it", kind)};
  return limit;
}

bool matches_name(const std::string& pattern, const std::string& name) {
  return pattern.find_first_of("*?") == std::string::npos ? pattern == name
                                                          : matches_pattern(pattern, name);
}

}  // namespace

Result<Limits> parse_limits(const std::string& file, std::string_view text) {
  Limits limits{file, {}};
  const Status status =
      for_each_line(file, text, kFormat, kLimitsVersion, [&](const FieldLine& line) -> Status {
        auto rule = TALLY_TRY(parse_rule(line));
        const auto same = std::ranges::find_if(limits.rules, [&](const Limit& other) {
          return other.pattern == rule.pattern &&
                 (other.kind == LimitKind::Cap) == (rule.kind == LimitKind::Cap);
        });
        if (same != limits.rules.end())
          return Error{fmt::format("the same rule as in line {}", same->line)};
        limits.rules.push_back(std::move(rule));
        return {};
      });
  TALLY_TRY(status);
  return limits;
}

bool matches(const Limit& limit, const CountKey& key) {
  return limit.pattern.kind == key.kind && matches_name(limit.pattern.metric, key.metric) &&
         matches_name(limit.pattern.name, key.name);
}

bool allows(const Limit& limit, uint64_t before, uint64_t after) {
  using Wide = unsigned __int128;
  switch (limit.kind) {
    case LimitKind::Exact:
      return before == after;
    case LimitKind::Growth:
      return Wide{after} * kWhole <= Wide{before} * (kWhole + limit.amount);
    case LimitKind::Ratchet:
      return after <= before;
    case LimitKind::Ignore:
      return true;
    case LimitKind::Cap:
      return after <= limit.amount;
  }
  return false;
}

namespace {

// True if both have code, and the same shaders ran in as many draws and dispatches of each pass.
bool is_same_program(const Snapshot& before, const Snapshot& after) {
  if (before.shaders.empty() || after.shaders.empty()) return false;
  const auto contents = [](const Snapshot& snapshot) {
    std::set<std::tuple<std::string, std::string, std::map<std::string, uint64_t>>> all;
    for (const SnapshotShader& shader : snapshot.shaders)
      all.emplace(shader.name, shader.hash, shader.commands);
    return all;
  };
  return contents(before) == contents(after);
}

// A snapshot as a profile: shaders with their lines, and passes.
class SnapshotProfile {
 public:
  explicit SnapshotProfile(const Snapshot& snapshot) : snapshot_(snapshot) {
    profile_.metrics = {
        {.id = kSnapshotMetric, .title = kSnapshotMetric, .attribution = Attribution::ByClass},
        {.id = "executions", .title = "executions"},
        {.id = "draws", .title = "draws"},
        {.id = "dispatches", .title = "dispatches"},
        {.id = "invocations_compute", .title = "invocations"},
        {.id = "invocations_graphics", .title = "invocations"}};
  }

  Profile run() {
    for (const SnapshotShader& shader : snapshot_.shaders) profile_.shaders.push_back(item(shader));
    return std::move(profile_);
  }

 private:
  enum Value : size_t { Instructions, Executions, Draws, Dispatches, Compute, Graphics, kValues };

  uint32_t pass(const std::string& name) {
    const auto next = static_cast<uint32_t>(passes_.size());
    const auto [found, is_new] = passes_.emplace(name, next);
    if (!is_new) return found->second;
    Item item{.name = name, .identity = {.names = name}};
    item.values.resize(kValues);
    const auto count = [&](const char* metric) {
      const auto known = snapshot_.counts.find({"pass", name, metric});
      return known == snapshot_.counts.end() ? 0 : known->second;
    };
    item.values[Draws] = count("draws"), item.values[Dispatches] = count("dispatches");
    profile_.passes.push_back(std::move(item));
    return next;
  }

  ShaderItem item(const SnapshotShader& shader) {
    ShaderItem item;
    const size_t space = shader.name.find_last_of(' ');
    item.name = shader.name.substr(0, space);
    item.place = space == std::string::npos ? std::string() : shader.name.substr(space + 1);
    item.stage = item.place == "compute" ? "compute" : "graphics";
    item.identity = {.names = shader.name, .hash = shader.hash, .likeness = {}};
    item.values.resize(kValues);
    item.values[Instructions] = shader.instructions;
    item.values[item.stage == "compute" ? Compute : Graphics] = shader.invocations;
    for (const auto& [name, commands] : shader.commands)
      item.commands_of_passes[pass(name)] = commands;
    for (const SnapshotFile& file : shader.files) add_file(item, file);
    return item;
  }

  // Lines have the numbers of their rows, which a file and a capture have in common.
  static void add_file(ShaderItem& item, const SnapshotFile& file) {
    const auto index = static_cast<uint32_t>(item.files.size());
    SourceText& text = item.files.emplace_back();
    text.name = file.name;
    std::map<uint32_t, uint32_t> loops;  // by number of the line
    for (const SnapshotLine& line : file.lines) {
      text.lines.push_back(line.text);
      if (!line.loop) continue;
      if (line.number != 0) loops[line.number] = static_cast<uint32_t>(item.loops.size());
      item.loops.push_back({index, static_cast<uint32_t>(text.lines.size()), line.loop->entries,
                            line.loop->iterations});
    }
    uint32_t row = 0;
    for (const SnapshotLine& line : file.lines) {
      ++row;
      if (!line.has_code) continue;
      LineItem code{.file = index, .line = row};
      code.values.resize(kValues);
      code.values[Instructions] = line.instructions, code.values[Executions] = line.executions;
      code.code = line.code;
      for (const uint32_t loop : line.loops)
        if (const auto found = loops.find(loop); found != loops.end())
          code.loops.push_back(found->second);
      item.lines.push_back(std::move(code));
    }
  }

  const Snapshot& snapshot_;
  Profile profile_;
  std::map<std::string, uint32_t> passes_;
};

// The rows of the files of a capture, by name; shaders that share a file have the same rows.
using FileRows = std::map<std::string, const SnapshotFile*>;

uint32_t number_of_row(const FileRows& files, const std::string& file, uint32_t row) {
  const auto found = files.find(file);
  if (found == files.end() || row == 0 || row > found->second->lines.size()) return 0;
  return found->second->lines[row - 1].number;
}

// Why the instructions changed; empty if one of the snapshots has no code.
Causes snapshot_causes(const Snapshot& before, const Snapshot& after) {
  if (before.shaders.empty() || after.shaders.empty()) return {};
  const Profile old = SnapshotProfile(before).run(), now = SnapshotProfile(after).run();
  Causes causes = find_causes(old, now, match_shaders(old.shaders, now.shaders), kSnapshotMetric);
  FileRows files;
  for (const SnapshotShader& shader : after.shaders)
    for (const SnapshotFile& file : shader.files) files[file.name] = &file;
  for (Cause& cause : causes.list) {
    for (EditedLine& line : cause.lines) {
      line.line = number_of_row(files, line.file, line.line);
      line.old_line = 0;  // its number is not in the snapshot
    }
    for (auto* changes : {&cause.loops, &cause.other_lines})
      for (CountChange& change : *changes)
        change.line = number_of_row(files, change.file, change.line);
  }
  return causes;
}

uint64_t count_in(const Counts& counts, const CountKey& key) {
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : found->second;
}

class Checker {
 public:
  Checker(const Snapshot& snapshot, const std::optional<Limits>& limits, const Profile& profile,
          const CappedCounts& capped, const std::string& tool_version)
      : snapshot_(snapshot), profile_(profile), capped_(capped) {
    if (limits) limits_ = *limits;
    used_.resize(limits_.rules.size());
    now_ = make_snapshot(profile, tool_version);
    result_.counts = now_.counts;
    result_.driver = now_.driver;
    result_.same_program = snapshot.frames == now_.frames && is_same_program(snapshot, now_);
    result_.by_driver = result_.same_program && !snapshot.knows(now_.driver);
    before_ = snapshot.counts_on(now_.driver);
    updated_ = now_.counts;
  }

  Result<CheckResult> run() {
    std::set<CountKey> keys;
    for (const auto& [key, count] : before_) keys.insert(key);
    for (const auto& [key, count] : result_.counts) keys.insert(key);
    for (const CountKey& key : keys) check_count(key);
    check_code();
    for (const auto& [key, count] : capped_.counts) check_caps(key, {.value = count, .file = {}});
    TALLY_TRY(check_rules());
    std::ranges::stable_sort(result_.findings, std::less<>(), &Finding::key);
    if (!result_.findings.empty()) result_.causes = snapshot_causes(snapshot_, now_);
    update();
    return std::move(result_);
  }

 private:
  // A limit that cannot be compared would never fail.
  Status check_rules() const {
    for (size_t r = 0; r < limits_.rules.size(); ++r) {
      const Limit& rule = limits_.rules[r];
      for (const auto& [key, why] : capped_.unknown)
        if (matches(rule, key))
          return error_at(
              limits_.file, rule.line,
              fmt::format("{} has no predicted time on {}: {}", key.name, key.metric, why));
      if (used_[r]) continue;
      return error_at(limits_.file, rule.line,
                      rule.pattern.kind == "time"
                          ? "no predicted time matches this limit: --device names the device file"
                          : "no count matches this limit");
    }
    return {};
  }

  void check_count(const CountKey& key) {
    const uint64_t before = count_in(before_, key), after = count_in(result_.counts, key);
    Limit limit;
    for (size_t r = 0; r < limits_.rules.size(); ++r) {
      const Limit& rule = limits_.rules[r];
      if (!matches(rule, key)) continue;
      used_[r] = true;
      if (rule.kind != LimitKind::Cap) {
        limit = rule;
      } else if (!allows(rule, before, after)) {
        result_.findings.push_back({key, before, after, rule, {}, 0});
      }
    }
    ++result_.compared;
    if (!allows(limit, before, after))
      result_.findings.push_back({key, before, after, limit, {}, 0});
    set_updated(key, limit, before, after);
  }

  void set_updated(const CountKey& key, const Limit& limit, uint64_t before, uint64_t after) {
    Counts& counts = updated_;
    if (limit.kind == LimitKind::Ignore) {
      counts.erase(key);
    } else if (limit.kind == LimitKind::Ratchet && before != 0 && after > before) {
      counts[key] = before;
    }
  }

  void check_code() {
    const bool wanted = std::ranges::any_of(limits_.rules, [](const Limit& rule) {
      return rule.pattern.kind == "function" || rule.pattern.kind == "line";
    });
    if (!wanted) return;
    for (const auto& [key, count] : code_counts(profile_)) check_caps(key, count);
  }

  void check_caps(const CountKey& key, const CodeCount& count) {
    for (size_t r = 0; r < limits_.rules.size(); ++r) {
      const Limit& rule = limits_.rules[r];
      if (!matches(rule, key)) continue;
      used_[r] = true;
      ++result_.compared;
      if (!allows(rule, 0, count.value))
        result_.findings.push_back({key, 0, count.value, rule, count.file, count.line});
    }
  }

  // A snapshot keeps the counts of several drivers while the program is the same.
  void update() {
    Snapshot& updated = result_.updated;
    const bool is_other = result_.same_program && now_.driver != snapshot_.driver;
    if (!is_other) {
      updated = now_;
      updated.counts = updated_;
      if (!result_.same_program) return;
      for (const auto& [driver, counts] : snapshot_.others)
        updated.others[driver] = differing(updated_, snapshot_.counts_on(driver));
      return;
    }
    updated = snapshot_;
    updated.tool_version = now_.tool_version;
    updated.others[now_.driver] = differing(snapshot_.counts, updated_);
  }

  // The counts that are not those of `base`, also zeros.
  static Counts differing(const Counts& base, const Counts& counts) {
    Counts result;
    for (const auto& [key, count] : counts)
      if (count_in(base, key) != count) result[key] = count;
    for (const auto& [key, count] : base)
      if (!counts.contains(key)) result[key] = 0;
    return result;
  }

  const Snapshot& snapshot_;
  const Profile& profile_;
  const CappedCounts& capped_;
  Snapshot now_;
  Counts before_;   // of the capture's driver, or of the first
  Counts updated_;  // of the capture's driver, after an update
  Limits limits_;
  std::vector<bool> used_;  // by rule
  CheckResult result_;
};

}  // namespace

std::vector<Finding> CheckResult::remaining() const {
  std::vector<Finding> left;
  std::ranges::copy_if(findings, std::back_inserter(left), [](const Finding& finding) {
    const bool ratchet = finding.limit.kind == LimitKind::Ratchet && finding.before != 0;
    return finding.is_cap() || ratchet;
  });
  return left;
}

Status add_statistics(const store::Reader& capture, CappedCounts& counts) {
  const auto pipelines = TALLY_TRY(capture.pipelines());
  std::map<store::RowId, std::string> names;
  for (const store::PipelineRow& row : pipelines)
    names[row.id] = row.name.empty() ? short_hash(row.hash) : row.name;
  const auto statistics = TALLY_TRY(capture.pipeline_statistics());
  constexpr double kMax = 0x1p63;
  for (const store::PipelineStatisticRow& row : statistics) {
    const double value = std::clamp(std::ceil(row.value), 0.0, kMax);
    uint64_t& count = counts.counts[{
        "executable", names[row.pipeline] + " " + stage_names(row.stages), column_id(row.name)}];
    count = std::max(count, static_cast<uint64_t>(value));
  }
  return {};
}

void add_times(const Prediction& prediction, CappedCounts& counts) {
  for (size_t w = 0; w < prediction.times.size(); ++w) {
    const CountKey key = {"time", prediction.works.works[w].name, prediction.device->name};
    if (const auto time = prediction.time_of(w)) {
      uint64_t& low = counts.counts[key];
      low = std::max(low, time->low);
    } else {
      counts.unknown[key] = prediction.status_of(w);
    }
  }
}

Result<CheckResult> check(const Snapshot& snapshot, const std::optional<Limits>& limits,
                          const Profile& profile, const CappedCounts& capped,
                          const std::string& tool_version) {
  return Checker(snapshot, limits, profile, capped, tool_version).run();
}

}  // namespace tally::analysis
