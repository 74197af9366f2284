
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "analysis/diff/alignment.h"
#include "analysis/diff/causes.h"
#include "analysis/diff/difference.h"

namespace tally::analysis {
namespace {

std::string text_of(const ShaderItem& shader, const LineItem& line) {
  const SourceText* file = file_of(shader, line.file);
  if (!file || line.line == 0 || line.line > file->lines.size()) return {};
  const std::string& text = file->lines[line.line - 1];
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

// "scene.frag:71"; code without a line has the name of its shader.
std::string name_of(const ShaderItem& shader, const LineItem& line) {
  const SourceText* file = file_of(shader, line.file);
  const std::string title = file && !file->name.empty() ? base_name(file->name) : shader.name;
  return line.line == 0 ? shader.name + " (no line)" : fmt::format("{}:{}", title, line.line);
}

class CodeComparison {
 public:
  CodeComparison(const ShaderItem& before, const ShaderItem& after, const ValueMap& map,
                 const Invocations& invocations)
      : before_(before),
        after_(after),
        map_(map),
        invocations_(invocations),
        alignment_(before, after) {}

  ShaderDifference run() {
    compare_lines();
    compare_functions();
    return std::move(result_);
  }

 private:
  using Place = CodeAlignment::Place;

  void compare_lines() {
    for (const auto& [before, after, moved] : pair_lines(before_, after_, alignment_)) {
      const Change change = !after    ? Change::Removed
                            : !before ? Change::Added
                            : moved   ? Change::Moved
                                      : Change::Changed;
      add_line(before, after, change);
    }
  }

  void add_line(const LineItem* before, const LineItem* after, Change change) {
    const ShaderItem& shader = after ? after_ : before_;
    const LineItem& line = after ? *after : *before;
    Difference d = describe(before ? &before->values : nullptr, after ? &after->values : nullptr);
    // A moved line with the same counts is not worth a word; nor is a line that never ran.
    if (is_same(d)) return;
    d.change = change;
    d.name = name_of(shader, line);
    d.text = text_of(shader, line);
    d.line = line.line;
    const SourceText* file = file_of(shader, line.file);
    if (file) d.file = file->name;
    if (file && line.line != 0) d.origin = origin_name(file->origin);
    if (before && after) {
      set_old(d.old_name, name_of(before_, *before), d.name);
      set_old(d.old_text, text_of(before_, *before), d.text);
    }
    result_.lines.push_back(std::move(d));
  }

  // The function after the change: of the same name, else the one that has most of its lines.
  const FunctionItem* renamed(uint32_t function, const std::vector<bool>& taken) const {
    std::map<uint32_t, size_t> lines;  // by function after the change
    size_t total = 0;
    for (const LineItem& line : before_.lines) {
      if (line.function != function || line.line == 0) continue;
      ++total;
      const auto aligned = alignment_.after_of({line.file, line.line});
      if (!aligned) continue;
      for (const LineItem& other : after_.lines)
        if (Place{other.file, other.line} == aligned->after) ++lines[other.function];
    }
    for (const auto& [other, count] : lines)
      if (2 * count > total && other < taken.size() && !taken[other])
        return &after_.functions[other];
    return nullptr;
  }

  void compare_functions() {
    std::vector<bool> taken(after_.functions.size());
    std::vector<uint32_t> left;
    const auto pair = [&](const FunctionItem& before, const FunctionItem& after, Change change) {
      taken[static_cast<size_t>(&after - after_.functions.data())] = true;
      add_function(&before, &after, change);
    };
    for (uint32_t f = 0; f < before_.functions.size(); ++f) {
      const FunctionItem& old = before_.functions[f];
      const auto found = std::ranges::find(after_.functions, old.name, &FunctionItem::name);
      if (found == after_.functions.end()) {
        left.push_back(f);
        continue;
      }
      const bool elsewhere = base_name(found->file) != base_name(old.file) &&
                             !is_reconstructed(before_) && !is_reconstructed(after_);
      pair(old, *found, elsewhere ? Change::Moved : Change::Changed);
    }
    for (const uint32_t f : left) {
      if (const FunctionItem* now = renamed(f, taken)) {
        pair(before_.functions[f], *now, Change::Renamed);
      } else {
        add_function(&before_.functions[f], nullptr, Change::Removed);
      }
    }
    for (size_t f = 0; f < taken.size(); ++f)
      if (!taken[f]) add_function(nullptr, &after_.functions[f], Change::Added);
  }

  void add_function(const FunctionItem* before, const FunctionItem* after, Change change) {
    const FunctionItem& function = after ? *after : *before;
    Difference d = describe(before ? &before->values : nullptr, after ? &after->values : nullptr);
    if (is_same(d) && (change == Change::Changed || has_no_values(d))) return;
    d.change = change;
    d.name = function.name;
    d.file = function.file;
    d.line = function.line;
    if (function.line != 0) d.origin = origin_name(function.origin);
    if (before && after) set_old(d.old_name, before->name, d.name);
    if (change == Change::Moved) d.old_text = before->file, d.text = after->file;
    result_.functions.push_back(std::move(d));
  }

  Difference describe(const std::vector<uint64_t>* before,
                      const std::vector<uint64_t>* after) const {
    const ShaderItem& shader = after ? after_ : before_;
    Difference d;
    d.place = fmt::format("{} {}", shader.name, shader.place);
    if (before) d.before = map_.before(*before);
    if (after) d.after = map_.after(*after);
    d.only_invocations = before && after && invocations_.explain(d.before, d.after);
    return d;
  }

  static bool has_no_values(const Difference& d) {
    const auto zero = [](uint64_t value) { return value == 0; };
    return std::ranges::all_of(d.before, zero) && std::ranges::all_of(d.after, zero);
  }
  static bool is_same(const Difference& d) { return d.before == d.after || has_no_values(d); }

  static void set_old(std::string& old, const std::string& before, const std::string& after) {
    if (before != after) old = before;
  }

  const ShaderItem& before_;
  const ShaderItem& after_;
  const ValueMap& map_;
  const Invocations invocations_;
  const CodeAlignment alignment_;
  ShaderDifference result_;
};

}  // namespace

bool Invocations::explain(const std::vector<uint64_t>& values_before,
                          const std::vector<uint64_t>& values_after) const {
  if (before == after || before == 0 || after == 0) return false;
  using Wide = unsigned __int128;
  for (size_t m = 0; m < values_before.size(); ++m) {
    if (Wide{values_before[m]} * after != Wide{values_after[m]} * before) return false;
  }
  return true;
}

ShaderDifference compare_code(const ShaderItem& before, const ShaderItem& after,
                              const ValueMap& map, const Invocations& invocations) {
  return CodeComparison(before, after, map, invocations).run();
}

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

  CaptureDiff run(const std::string& metric) {
    compare_items(DiffBy::Pass, before_.passes, after_.passes);
    compare_items(DiffBy::Pipeline, before_.pipelines, after_.pipelines);
    compare_items(DiffBy::Command, before_.commands, after_.commands);
    compare_shaders(metric);
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

  void compare_shaders(const std::string& metric) {
    const Matching matching = match_shaders(before_.shaders, after_.shaders);
    diff_.causes = find_causes(before_, after_, matching, metric);
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

CaptureDiff compare(const Profile& before, const Profile& after, const std::string& metric) {
  return Comparison(before, after).run(metric);
}

namespace {

bool has_source_text(const ShaderItem& shader) {
  return std::ranges::any_of(shader.lines, [&](const LineItem& line) {
    return line.line != 0 && line.file < shader.files.size() &&
           !shader.files[line.file].lines.empty();
  });
}

bool is_same_shader(const ShaderItem& before, const ShaderItem& after) {
  return before.identity.hash == after.identity.hash && before.counts == after.counts;
}

}  // namespace

std::set<std::string> glsl_candidates(const Profile& before, const Profile& after,
                                      SourceChoice choice) {
  std::set<std::string> hashes;
  if (choice != SourceChoice::Auto && choice != SourceChoice::Glsl) return hashes;
  const auto add = [&](const ShaderItem& shader) {
    if (choice == SourceChoice::Glsl || !has_source_text(shader))
      hashes.insert(shader.identity.hash);
  };
  const Matching matching = match_shaders(before.shaders, after.shaders);
  for (const ItemMatch& pair : matching.pairs) {
    const ShaderItem& a = before.shaders[pair.before];
    const ShaderItem& b = after.shaders[pair.after];
    if (!is_same_shader(a, b)) add(a), add(b);
  }
  for (const uint32_t i : matching.removed) add(before.shaders[i]);
  for (const uint32_t j : matching.added) add(after.shaders[j]);
  return hashes;
}

}  // namespace tally::analysis
