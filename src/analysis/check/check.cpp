#include "analysis/check/check.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>

#include "analysis/check/line_fields.h"

namespace tally::analysis {
namespace {

uint64_t count_in(const Counts& counts, const CountKey& key) {
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : found->second;
}

class Checker {
 public:
  Checker(const Snapshot& snapshot, const std::optional<Limits>& limits, const Profile& profile,
          const std::string& tool_version)
      : snapshot_(snapshot), profile_(profile) {
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
    for (const auto& [key, count] : code_counts(profile_)) {
      for (size_t r = 0; r < limits_.rules.size(); ++r) {
        const Limit& rule = limits_.rules[r];
        if (!matches(rule, key)) continue;
        used_[r] = true;
        ++result_.compared;
        if (!allows(rule, 0, count.value))
          result_.findings.push_back({key, 0, count.value, rule, count.file, count.line});
      }
    }
  }

  const Snapshot& snapshot_;
  const Profile& profile_;
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
                          const Profile& profile, const std::string& tool_version) {
  return Checker(snapshot, limits, profile, tool_version).run();
}

}  // namespace tally::analysis
