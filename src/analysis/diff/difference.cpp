#include "analysis/diff/difference.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <unordered_map>

#include "analysis/diff/alignment.h"

namespace tally::analysis {

bool CaptureDiff::empty() const {
  return std::ranges::all_of(by, [](const auto& list) { return list.empty(); });
}

ValuePair values_of(const Difference& difference, size_t metric) {
  return {difference.before.empty() ? 0 : difference.before[metric],
          difference.after.empty() ? 0 : difference.after[metric]};
}

void sort_differences(std::vector<Difference>& differences, size_t metric) {
  std::ranges::stable_sort(differences, [metric](const Difference& a, const Difference& b) {
    const auto key = [metric](const Difference& d) {
      // Changes that code causes itself come before changes that its callers cause.
      return std::tuple(d.only_invocations, ~values_of(d, metric).amount(), d.file, d.line, d.name,
                        d.place);
    };
    return key(a) < key(b);
  });
}

namespace {

// Each capture has such a metric for the stages that ran; a stage that did not has the value 0.
bool is_of_stage(const Metric& metric) { return metric.id.starts_with("invocations_"); }

constexpr size_t kMissing = ~size_t{0};

std::vector<uint64_t> taken(const std::vector<uint64_t>& values,
                            const std::vector<size_t>& indices) {
  std::vector<uint64_t> result;
  result.reserve(indices.size());
  for (const size_t index : indices) result.push_back(index < values.size() ? values[index] : 0);
  return result;
}

}  // namespace

ValueMap::ValueMap(const std::vector<Metric>& before, const std::vector<Metric>& after) {
  const auto add = [this](const Metric& metric, size_t a, size_t b) {
    metrics_.push_back(metric);
    before_.push_back(a);
    after_.push_back(b);
  };
  for (size_t i = 0; i < before.size(); ++i) {
    const size_t other = find_metric(after, before[i].id).value_or(kMissing);
    if (other != kMissing || is_of_stage(before[i])) {
      add(before[i], i, other);
    } else {
      only_before_.push_back(before[i].id);
    }
  }
  for (size_t i = 0; i < after.size(); ++i) {
    if (find_metric(before, after[i].id)) continue;
    if (is_of_stage(after[i])) {
      add(after[i], kMissing, i);
    } else {
      only_after_.push_back(after[i].id);
    }
  }
}

std::vector<uint64_t> ValueMap::before(const std::vector<uint64_t>& values) const {
  return taken(values, before_);
}

std::vector<uint64_t> ValueMap::after(const std::vector<uint64_t>& values) const {
  return taken(values, after_);
}

namespace {

// Texts that have this proportion of lines in common are versions of the same shader.
constexpr double kSameShader = 0.5;
// Comparing texts takes time; programs with more unmatched shaders have changed altogether.
constexpr size_t kMaxComparedShaders = 64;

using Key = std::function<std::string(const Item&)>;

template <typename T>
class Matcher {
 public:
  Matcher(const std::vector<T>& before, const std::vector<T>& after)
      : before_(before), after_(after), after_of_(before.size(), kNone), taken_(after.size()) {}

  // Matches the items whose key is not empty and occurs once on either side.
  void match(MatchedBy by, const Key& key) {
    struct Found {
      uint32_t before = kNone, after = kNone;
      bool unique = true;
    };
    std::unordered_map<std::string, Found> by_key;
    const auto note = [&](const Item& item, uint32_t Found::*side, uint32_t index) {
      std::string text = key(item);
      if (text.empty()) return;
      Found& found = by_key[std::move(text)];
      found.unique &= found.*side == kNone;
      found.*side = index;
    };
    for (uint32_t i = 0; i < before_.size(); ++i)
      if (after_of_[i] == kNone) note(before_[i], &Found::before, i);
    for (uint32_t j = 0; j < after_.size(); ++j)
      if (!taken_[j]) note(after_[j], &Found::after, j);
    for (const auto& [text, found] : by_key) {
      if (found.unique && found.before != kNone && found.after != kNone)
        pair(found.before, found.after, by);
    }
  }

  void match_by_identity() {
    match(MatchedBy::All,
          [](const Item& item) { return item.identity.names + '\n' + item.identity.hash; });
    match(MatchedBy::Names, [](const Item& item) { return item.identity.names; });
    match(MatchedBy::Hash, [](const Item& item) { return item.identity.hash; });
    match(MatchedBy::Likeness, [](const Item& item) { return item.identity.likeness; });
  }

  void pair(uint32_t before, uint32_t after, MatchedBy by) {
    after_of_[before] = after;
    taken_[after] = true;
    result_.pairs.push_back({before, after, by});
  }

  std::vector<uint32_t> left_before() const {
    std::vector<uint32_t> left;
    for (uint32_t i = 0; i < before_.size(); ++i)
      if (after_of_[i] == kNone) left.push_back(i);
    return left;
  }

  std::vector<uint32_t> left_after() const {
    std::vector<uint32_t> left;
    for (uint32_t j = 0; j < after_.size(); ++j)
      if (!taken_[j]) left.push_back(j);
    return left;
  }

  Matching finish() {
    std::ranges::sort(result_.pairs, {}, &ItemMatch::before);
    result_.removed = left_before();
    result_.added = left_after();
    return std::move(result_);
  }

 private:
  const std::vector<T>& before_;
  const std::vector<T>& after_;
  std::vector<uint32_t> after_of_;
  std::vector<bool> taken_;  // by item of after_
  Matching result_;
};

std::vector<std::string> all_lines(const ShaderItem& shader) {
  std::vector<std::string> lines;
  for (const SourceText& file : shader.files)
    lines.insert(lines.end(), file.lines.begin(), file.lines.end());
  return lines;
}

struct Likeness {
  double proportion;
  uint32_t before, after;
};

void match_by_source(Matcher<ShaderItem>& matcher, const std::vector<ShaderItem>& before,
                     const std::vector<ShaderItem>& after) {
  const std::vector<uint32_t> old = matcher.left_before(), now = matcher.left_after();
  if (old.size() > kMaxComparedShaders || now.size() > kMaxComparedShaders) return;
  std::vector<Likeness> alike;
  for (const uint32_t i : old) {
    const std::vector<std::string> lines = all_lines(before[i]);
    for (const uint32_t j : now) {
      if (before[i].stage != after[j].stage) continue;
      const double proportion = likeness(lines, all_lines(after[j]));
      if (proportion >= kSameShader) alike.push_back({proportion, i, j});
    }
  }
  std::ranges::stable_sort(alike, std::greater<>(), &Likeness::proportion);
  std::vector<bool> old_taken(before.size()), now_taken(after.size());
  for (const Likeness& pair : alike) {
    if (old_taken[pair.before] || now_taken[pair.after]) continue;
    old_taken[pair.before] = now_taken[pair.after] = true;
    matcher.pair(pair.before, pair.after, MatchedBy::Likeness);
  }
}

}  // namespace

Matching match_items(const std::vector<Item>& before, const std::vector<Item>& after) {
  Matcher<Item> matcher(before, after);
  matcher.match_by_identity();
  return matcher.finish();
}

Matching match_shaders(const std::vector<ShaderItem>& before,
                       const std::vector<ShaderItem>& after) {
  Matcher<ShaderItem> matcher(before, after);
  matcher.match_by_identity();
  match_by_source(matcher, before, after);
  return matcher.finish();
}

}  // namespace tally::analysis
