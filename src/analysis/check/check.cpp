#include "analysis/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>

#include "analysis/check/snapshot.h"
#include "analysis/model/model.h"

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
  const auto amount =
      growth ? parse_percent(text.substr(1, text.size() - 2)) : parse_count(text.substr(2));
  if (!amount) return amount.error();
  limit.amount = *amount;
  return {};
}

Result<Limit> parse_rule(const FieldLine& line) {
  if (line.fields.size() != 4) return Error{"not \"KIND NAME METRIC LIMIT\""};
  Limit limit{.pattern = {line.fields[0], line.fields[1], line.fields[2]}, .line = line.number};
  const std::string& kind = limit.pattern.kind;
  const bool only_capped = kind == "function" || kind == "line" || kind == "executable";
  if (!only_capped && kind != "pass" && kind != "shader")
    return Error{fmt::format("'{}' is not pass, shader, function, line or executable", kind)};
  if (Status set = set_limit(limit, line.fields[3]); !set) return set.error();
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
        auto rule = parse_rule(line);
        if (!rule) return rule.error();
        const auto same = std::ranges::find_if(limits.rules, [&](const Limit& other) {
          return other.pattern == rule->pattern &&
                 (other.kind == LimitKind::Cap) == (rule->kind == LimitKind::Cap);
        });
        if (same != limits.rules.end())
          return Error{fmt::format("the same rule as in line {}", same->line)};
        limits.rules.push_back(std::move(*rule));
        return {};
      });
  if (!status) return status.error();
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

uint64_t count_in(const Counts& counts, const CountKey& key) {
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : found->second;
}

class Checker {
 public:
  Checker(const Snapshot& snapshot, const std::optional<Limits>& limits, const Profile& profile,
          const Counts& statistics, const std::string& tool_version)
      : snapshot_(snapshot), profile_(profile), statistics_(statistics) {
    if (limits) limits_ = *limits;
    used_.resize(limits_.rules.size());
    result_.updated = make_snapshot(profile, tool_version);
    result_.counts = result_.updated.counts;
  }

  Result<CheckResult> run() {
    std::set<CountKey> keys;
    for (const auto& [key, count] : snapshot_.counts) keys.insert(key);
    for (const auto& [key, count] : result_.counts) keys.insert(key);
    for (const CountKey& key : keys) check_count(key);
    check_code();
    for (const auto& [key, count] : statistics_) check_caps(key, {.value = count, .file = {}});
    for (size_t r = 0; r < used_.size(); ++r)
      if (!used_[r])
        return error_at(limits_.file, limits_.rules[r].line, "no count matches this limit");
    std::ranges::stable_sort(result_.findings, std::less<>(), &Finding::key);
    return std::move(result_);
  }

 private:
  void check_count(const CountKey& key) {
    const uint64_t before = count_in(snapshot_.counts, key), after = count_in(result_.counts, key);
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
    Counts& counts = result_.updated.counts;
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

  const Snapshot& snapshot_;
  const Profile& profile_;
  const Counts& statistics_;
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

Result<CheckResult> check(const Snapshot& snapshot, const std::optional<Limits>& limits,
                          const Profile& profile, const Counts& statistics,
                          const std::string& tool_version) {
  return Checker(snapshot, limits, profile, statistics, tool_version).run();
}

}  // namespace tally::analysis
