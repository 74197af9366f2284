#include "analysis/diff/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/diff/alignment.h"
#include "analysis/diff/profile.h"
#include "analysis/model/names.h"
#include "picture/picture.h"

namespace tally::analysis {

bool CaptureDiff::empty() const {
  return pictures.pixels() == 0 &&
         std::ranges::all_of(by, [](const auto& list) { return list.empty(); });
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

std::string name_of_pass(const Item& pass) {
  return pass.place.empty() ? pass.name : pass.place + " / " + pass.name;
}

uint64_t value_at(const std::vector<uint64_t>& values, std::optional<size_t> metric) {
  return metric && *metric < values.size() ? values[*metric] : 0;
}

const SourceText* file_of(const ShaderItem& shader, uint32_t file) {
  return file < shader.files.size() ? &shader.files[file] : nullptr;
}

std::optional<size_t> Profile::invocations_of(const std::string& stage) const {
  std::string id = "invocations_" + stage;
  std::ranges::replace(id, ' ', '_');
  return find_metric(metrics, id);
}

std::vector<Hash128> differing_commands(const Profile& before, const Profile& after) {
  std::vector<Hash128> keys;
  auto a = before.command_digests.begin();
  auto b = after.command_digests.begin();
  const auto a_end = before.command_digests.end();
  const auto b_end = after.command_digests.end();
  while (a != a_end || b != b_end) {
    if (b == b_end || (a != a_end && a->key < b->key)) {
      keys.push_back((a++)->key);
    } else if (a == a_end || b->key < a->key) {
      keys.push_back((b++)->key);
    } else {
      if (a->content != b->content) keys.push_back(a->key);
      ++a, ++b;
    }
  }
  return keys;
}

// The pictures of passes.

namespace {

constexpr uint64_t kMaxPixels = uint64_t{1} << 28;

// Identifies a picture in both captures: frame, labels, pass with its size, layer.
using PictureKey = std::tuple<int64_t, std::string, std::string, uint32_t>;

// Indices of passes in the model. Equal passes of a frame are told apart by their order.
using StoredPictures = std::map<PictureKey, std::vector<uint32_t>>;

Result<bool> has_pictures(const store::Reader& reader) {
  auto rows = TALLY_TRY(reader.query("SELECT 1 FROM pass_picture LIMIT 1"));
  const bool any = rows.step();
  TALLY_TRY(rows.status());
  return any;
}

Result<StoredPictures> pictures_of(const Model& model) {
  auto rows =
      TALLY_TRY(model.reader.query("SELECT pass, layer FROM pass_picture ORDER BY pass, layer"));
  std::map<store::RowId, std::vector<uint32_t>> layers;
  while (rows.step()) layers[rows.integer(0)].push_back(static_cast<uint32_t>(rows.integer(1)));
  TALLY_TRY(rows.status());
  const LabelPaths labels(model);
  StoredPictures pictures;
  for (uint32_t p = 0; p < model.passes.size(); ++p) {
    const Pass& pass = model.passes[p];
    const auto found = layers.find(pass.row.id);
    if (found == layers.end()) continue;
    for (const uint32_t layer : found->second) {
      pictures[{model.frames[pass.frame].number, labels.path(pass.label), pass_text(&pass), layer}]
          .push_back(p);
    }
  }
  return pictures;
}

Result<Picture> decoded(const store::PassPictureRow& row, const std::string& pass) {
  auto picture = decode_png(row.png, kMaxPixels);
  if (!picture)
    return Error{fmt::format("the picture of {} is damaged: {}", pass, picture.error().message)};
  return picture;
}

uint32_t largest_difference(uint32_t a, uint32_t b) {
  uint32_t most = 0;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    const uint32_t x = a >> shift & 0xff, y = b >> shift & 0xff;
    most = std::max(most, x < y ? y - x : x - y);
  }
  return most;
}

void compare_pixels(const Picture& before, const Picture& after, PictureDifference& result) {
  result.left = after.width, result.top = after.height;
  for (uint32_t y = 0; y < after.height; ++y) {
    for (uint32_t x = 0; x < after.width; ++x) {
      const uint32_t a = before.at(x, y), b = after.at(x, y);
      if (a == b) continue;
      ++result.pixels;
      result.most = std::max(result.most, largest_difference(a, b));
      result.left = std::min(result.left, x), result.right = std::max(result.right, x + 1);
      result.top = std::min(result.top, y), result.bottom = std::max(result.bottom, y + 1);
    }
  }
  if (result.pixels == 0) result.left = result.top = 0;
}

// False: the pictures have other sizes.
Result<bool> compare_pair(const Model& before, const Model& after, PictureDifference& result) {
  const auto read = [&](const Model& model, uint32_t pass) {
    return model.reader.pass_picture(model.passes[pass].row.id, result.layer);
  };
  const auto a = TALLY_TRY(read(before, result.pass_before));
  const auto b = TALLY_TRY(read(after, result.pass_after));
  if (!a || !b || a->width != b->width || a->height != b->height) return false;
  result.width = b->width, result.height = b->height;
  if (a->png == b->png) return true;
  const auto old = TALLY_TRY(decoded(*a, result.pass));
  const auto now = TALLY_TRY(decoded(*b, result.pass));
  if (old.width != now.width || old.height != now.height) return false;
  compare_pixels(old, now, result);
  return true;
}

}  // namespace

uint64_t PictureDifferences::pixels() const {
  uint64_t sum = 0;
  for (const PictureDifference& one : list) sum += one.pixels;
  return sum;
}

Result<PictureDifferences> compare_pictures(const Model& before, const Model& after) {
  PictureDifferences result;
  auto old = TALLY_TRY(pictures_of(before));
  const auto now = TALLY_TRY(pictures_of(after));
  for (const auto& [key, passes] : old) result.only_before += passes.size();
  for (const auto& [key, passes] : now) {
    const std::vector<uint32_t>& twins = old[key];
    result.only_after += passes.size();
    for (size_t i = 0; i < std::min(passes.size(), twins.size()); ++i) {
      PictureDifference one{.pass_before = twins[i],
                            .pass_after = passes[i],
                            .layer = std::get<3>(key),
                            .pass = std::get<2>(key),
                            .label = std::get<1>(key),
                            .frame = std::get<0>(key)};
      const auto compared = TALLY_TRY(compare_pair(before, after, one));
      if (!compared) continue;
      --result.only_before, --result.only_after;
      result.list.push_back(std::move(one));
    }
  }
  std::ranges::sort(result.list, {}, [](const PictureDifference& one) {
    return std::pair(one.pass_after, one.layer);
  });
  return result;
}

Result<PictureDifferences> compare_pictures(const std::string& before, const std::string& after) {
  for (const std::string& file : {before, after}) {
    const auto reader = TALLY_TRY(store::Reader::open(file));
    const auto any = TALLY_TRY(has_pictures(reader));
    if (!any) return PictureDifferences();
  }
  const auto old = TALLY_TRY(open_model(before, {}, Model::Detail::Batches));
  const auto now = TALLY_TRY(open_model(after, {}, Model::Detail::Batches));
  return compare_pictures(old, now);
}

}  // namespace tally::analysis
