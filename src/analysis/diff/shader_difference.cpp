#include "analysis/diff/shader_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "analysis/diff/code_alignment.h"

namespace tally::analysis {
namespace {

const SourceText* file_of(const ShaderItem& shader, uint32_t file) {
  return file < shader.files.size() ? &shader.files[file] : nullptr;
}

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
    std::map<Place, const LineItem*> left;
    for (const LineItem& line : after_.lines) left[{line.file, line.line}] = &line;
    std::vector<const LineItem*> gone;
    for (const LineItem& line : before_.lines) {
      const auto aligned = alignment_.after_of({line.file, line.line});
      const auto found = aligned ? left.find(aligned->after) : left.end();
      if (found == left.end()) {
        gone.push_back(&line);
        continue;
      }
      add_line(&line, found->second, aligned->moved ? Change::Moved : Change::Changed);
      left.erase(found);
    }
    for (const LineItem* line : gone) add_line(line, nullptr, Change::Removed);
    for (const auto& [place, line] : left) add_line(nullptr, line, Change::Added);
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

}  // namespace tally::analysis
