#include "analysis/diff/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/diff/matching.h"
#include "analysis/diff/shader_difference.h"
#include "analysis/diff/value_map.h"

namespace tally::analysis {
namespace {

constexpr size_t kMaxFrames = 8;  // that a difference names
constexpr size_t kMaxNamedShaders = 5;

// "3, 7-9, 12"
std::string frame_ranges(const std::set<int64_t>& frames) {
  std::string text;
  size_t shown = 0;
  for (auto at = frames.begin(); at != frames.end();) {
    const int64_t first = *at;
    int64_t last = first;
    while (++at != frames.end() && *at == last + 1) last = *at;
    if (++shown > kMaxFrames) return text + " ...";
    text += text.empty() ? "" : ", ";
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
  return text;
}

std::string differing_frames(const Item* before, const Item* after) {
  std::set<int64_t> frames;
  static const std::map<int64_t, uint64_t> kNoFrames;
  const auto& a = before ? before->frames : kNoFrames;
  const auto& b = after ? after->frames : kNoFrames;
  for (const auto& [frame, hash] : a) {
    const auto found = b.find(frame);
    if (found == b.end() || found->second != hash) frames.insert(frame);
  }
  for (const auto& [frame, hash] : b)
    if (!a.contains(frame)) frames.insert(frame);
  return frame_ranges(frames);
}

Difference describe(const Item* before, const Item* after, const ValueMap& map) {
  const Item& item = after ? *after : *before;
  Difference d{.name = item.name, .place = item.place};
  if (before && before->name != item.name) d.old_name = before->name;
  if (before && before->place != item.place) d.old_place = before->place;
  if (before) d.before = map.before(before->values), d.time_before = before->time;
  if (after) d.after = map.after(after->values), d.time_after = after->time;
  d.frames = differing_frames(before, after);
  return d;
}

Change change_of(const Item& before, const Item& after, MatchedBy by) {
  if (by == MatchedBy::All || by == MatchedBy::Names) return Change::Changed;
  if (before.name != after.name) return Change::Renamed;
  return before.place != after.place ? Change::Moved : Change::Changed;
}

class Comparison {
 public:
  Comparison(const Profile& before, const Profile& after)
      : before_(before), after_(after), map_(before.metrics, after.metrics) {
    diff_.before = before.summary;
    diff_.after = after.summary;
    diff_.metrics = map_.metrics();
  }

  CaptureDiff run() {
    compare_items(DiffBy::Pass, before_.passes, after_.passes);
    compare_items(DiffBy::Pipeline, before_.pipelines, after_.pipelines);
    compare_items(DiffBy::Command, before_.commands, after_.commands);
    compare_shaders();
    add_notes();
    return std::move(diff_);
  }

 private:
  std::vector<Difference>& of(DiffBy by) { return diff_.by[static_cast<size_t>(by)]; }

  void add(DiffBy by, Change change, Difference difference) {
    difference.change = change;
    const bool same = change == Change::Changed && difference.before == difference.after &&
                      difference.frames.empty();
    if (!same) of(by).push_back(std::move(difference));
  }

  void compare_items(DiffBy by, const std::vector<Item>& before, const std::vector<Item>& after) {
    const Matching matching = match_items(before, after);
    for (const ItemMatch& pair : matching.pairs) {
      const Item& a = before[pair.before];
      const Item& b = after[pair.after];
      add(by, change_of(a, b, pair.by), describe(&a, &b, map_));
    }
    for (const uint32_t i : matching.removed)
      add(by, Change::Removed, describe(&before[i], nullptr, map_));
    for (const uint32_t j : matching.added)
      add(by, Change::Added, describe(nullptr, &after[j], map_));
  }

  void compare_shaders() {
    const Matching matching = match_shaders(before_.shaders, after_.shaders);
    for (const ItemMatch& pair : matching.pairs)
      compare_shader(before_.shaders[pair.before], after_.shaders[pair.after], pair.by);
    for (const uint32_t i : matching.removed)
      add(DiffBy::Shader, Change::Removed, describe(&before_.shaders[i], nullptr, map_));
    for (const uint32_t j : matching.added)
      add(DiffBy::Shader, Change::Added, describe(nullptr, &after_.shaders[j], map_));
    diff_.same_code &= matching.removed.empty() && matching.added.empty();
  }

  void compare_shader(const ShaderItem& before, const ShaderItem& after, MatchedBy by) {
    diff_.same_code &= before.identity.hash == after.identity.hash;
    Difference difference = describe(&before, &after, map_);
    const Invocations invocations = invocations_of(before, after);
    difference.only_invocations = invocations.explain(difference.before, difference.after);
    add(DiffBy::Shader, change_of(before, after, by), std::move(difference));
    ShaderDifference code = compare_code(before, after, map_, invocations);
    for (Difference& d : code.functions) of(DiffBy::Function).push_back(std::move(d));
    for (Difference& d : code.lines) of(DiffBy::Line).push_back(std::move(d));
  }

  Invocations invocations_of(const ShaderItem& before, const ShaderItem& after) const {
    const auto count = [](const Profile& profile, const ShaderItem& shader) {
      const auto metric = profile.invocations_of(shader.stage);
      return metric ? shader.values[*metric] : 0;
    };
    return {count(before_, before), count(after_, after)};
  }

  void add_notes() {
    const auto note = [this](std::string text) { diff_.notes.push_back(std::move(text)); };
    const Summary& a = before_.summary;
    const Summary& b = after_.summary;
    if (a.frames != b.frames)
      note(fmt::format("frames: OLD has {}, NEW has {}; counts are sums over all of them", a.frames,
                       b.frames));
    if (driver_of(a) != driver_of(b))
      note(fmt::format("OLD was captured on {}, NEW on {}", driver_of(a), driver_of(b)));
    if (!a.complete()) note("OLD is incomplete; tally report says what is missing");
    if (!b.complete()) note("NEW is incomplete; tally report says what is missing");
    for (const std::string& id : map_.only_before())
      note(fmt::format("only OLD has the metric {}: it is not compared", id));
    for (const std::string& id : map_.only_after())
      note(fmt::format("only NEW has the metric {}: it is not compared", id));
    if (has_reconstructed_lines())
      note(
          "Lines of files that end in :glsl are of GLSL that SPIRV-Cross reconstructed from the "
          "SPIR-V; it is not the application's text.");
    note_not_reconstructed();
  }

  // Their lines are missing.
  void note_not_reconstructed() {
    std::set<std::string> shaders;
    for (const Profile* profile : {&before_, &after_}) {
      for (const ShaderItem& shader : profile->shaders) {
        if (!shader.why_not_reconstructed.empty())
          shaders.insert(
              fmt::format("{} {}: {}", shader.name, shader.place, shader.why_not_reconstructed));
      }
    }
    size_t named = 0;
    for (const std::string& shader : shaders) {
      if (++named > kMaxNamedShaders) break;
      diff_.notes.push_back("has no source, and cannot be reconstructed as GLSL: " + shader);
    }
    if (shaders.size() > kMaxNamedShaders)
      diff_.notes.push_back(fmt::format("{} more shader(s) cannot be reconstructed as GLSL",
                                        shaders.size() - kMaxNamedShaders));
  }

  bool has_reconstructed_lines() const {
    const auto is_reconstructed = [](const Difference& d) {
      return d.origin == origin_name(SourceOrigin::Reconstructed);
    };
    return std::ranges::any_of(diff_.of(DiffBy::Line), is_reconstructed) ||
           std::ranges::any_of(diff_.of(DiffBy::Function), is_reconstructed);
  }

  const Profile& before_;
  const Profile& after_;
  const ValueMap map_;
  CaptureDiff diff_;
};

}  // namespace

std::string driver_of(const Summary& summary) {
  std::string text;
  std::set<std::string> named;
  for (const DeviceSummary& device : summary.devices) {
    std::string driver = fmt::format("{}; {}", device.name, device.driver);
    const auto [found, is_new] = named.insert(std::move(driver));
    if (is_new) text += (text.empty() ? "" : ", ") + *found;
  }
  return text.empty() ? "no device" : text;
}

CaptureDiff compare(const Profile& before, const Profile& after) {
  return Comparison(before, after).run();
}

}  // namespace tally::analysis
