#include "analysis/check/limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/check/line_fields.h"
#include "analysis/model/selection.h"

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
  const bool code = limit.pattern.kind == "function" || limit.pattern.kind == "line";
  if (!code && limit.pattern.kind != "pass" && limit.pattern.kind != "shader")
    return Error{fmt::format("'{}' is not pass, shader, function or line", limit.pattern.kind)};
  if (Status set = set_limit(limit, line.fields[3]); !set) return set.error();
  if (code && limit.kind != LimitKind::Cap)
    return Error{fmt::format("a {} can only have a limit <=N: snapshots do not hold it",
                             limit.pattern.kind)};
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

}  // namespace tally::analysis
