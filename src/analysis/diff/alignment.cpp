// The sequence comparison follows Wu, Manber, Myers and Miller, "An O(NP) Sequence Comparison
// Algorithm", as implemented by the Diff Template Library. Tests: diff_test.cpp.

#include "analysis/diff/alignment.h"

#include <fmt/format.h>
#include <dtl/dtl.hpp>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <unordered_map>

#include "base/settings.h"

namespace tally::analysis {
namespace {

// Texts with more differing lines are aligned only at their common start and end: the comparison
// takes quadratic time, and the texts are untrusted.
constexpr size_t kMaxCompared = 20'000;
// An edited line keeps at least this proportion of its text.
constexpr double kEditedLikeness = 0.5;
// Shorter lines, such as "}", say too little to be recognised in another place.
constexpr size_t kMinMovedLetters = 6;

// Gives equal lines the same number.
class LineNumbers {
 public:
  std::vector<uint32_t> of(std::span<const std::string> lines) {
    std::vector<uint32_t> numbers;
    numbers.reserve(lines.size());
    for (const std::string& line : lines) {
      const auto next = static_cast<uint32_t>(by_text_.size());
      numbers.push_back(by_text_.emplace(trimmed(line), next).first->second);
    }
    return numbers;
  }

 private:
  std::unordered_map<std::string_view, uint32_t> by_text_;
};

// The proportion of the longer text that is a common start or end.
double common_part(std::string_view a, std::string_view b) {
  const size_t shorter = std::min(a.size(), b.size());
  size_t head = 0, tail = 0;
  while (head < shorter && a[head] == b[head]) ++head;
  while (tail < shorter - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) ++tail;
  const size_t longer = std::max(a.size(), b.size());
  return longer == 0 ? 0 : static_cast<double>(head + tail) / static_cast<double>(longer);
}

class Aligner {
 public:
  Aligner(std::span<const std::string> before, std::span<const std::string> after)
      : before_(before), after_(after), result_(before.size()), taken_(after.size()) {}

  std::vector<AlignedLine> run() {
    align_same();
    align_edited();
    align_moved();
    return std::move(result_);
  }

  std::vector<AlignedLine> same_lines() {
    align_same();
    return std::move(result_);
  }

 private:
  void align(size_t before, size_t after, LineMatch match) {
    result_[before] = {match, static_cast<uint32_t>(after)};
    taken_[after] = true;
  }

  void align_same() {
    LineNumbers numbers;
    const std::vector<uint32_t> a = numbers.of(before_), b = numbers.of(after_);
    size_t head = 0, tail = 0;
    const size_t shorter = std::min(a.size(), b.size());
    for (; head < shorter && a[head] == b[head]; ++head) align(head, head, LineMatch::Same);
    for (; tail < shorter - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]; ++tail)
      align(a.size() - 1 - tail, b.size() - 1 - tail, LineMatch::Same);
    const std::vector<uint32_t> middle_a(a.begin() + static_cast<ptrdiff_t>(head),
                                         a.end() - static_cast<ptrdiff_t>(tail));
    const std::vector<uint32_t> middle_b(b.begin() + static_cast<ptrdiff_t>(head),
                                         b.end() - static_cast<ptrdiff_t>(tail));
    if (middle_a.empty() || middle_b.empty()) return;
    if (middle_a.size() + middle_b.size() > kMaxCompared) return;
    dtl::Diff<uint32_t> diff(middle_a, middle_b);
    diff.compose();
    // The library's own positions are wrong in long sequences, which it compares in parts.
    size_t i = head, j = head;
    for (const auto& [number, info] : diff.getSes().getSequence()) {
      if (info.type == dtl::SES_COMMON) align(i, j, LineMatch::Same);
      i += info.type != dtl::SES_ADD;
      j += info.type != dtl::SES_DELETE;
    }
  }

  // Pairs the lines of each gap between the same neighbours, in order.
  void align_edited() {
    size_t next = 0;  // in after_
    for (size_t i = 0; i < before_.size(); ++i) {
      if (result_[i].match != LineMatch::None) {
        next = result_[i].after + 1;
        continue;
      }
      for (size_t j = next; j < after_.size() && !taken_[j]; ++j) {
        if (common_part(trimmed(before_[i]), trimmed(after_[j])) < kEditedLikeness) continue;
        align(i, j, LineMatch::Edited);
        next = j + 1;
        break;
      }
    }
  }

  void align_moved() {
    struct Places {
      size_t count = 0;
      size_t place = 0;
    };
    std::unordered_map<std::string_view, Places> before, after;
    for (size_t i = 0; i < before_.size(); ++i) {
      if (result_[i].match != LineMatch::None) continue;
      Places& places = before[trimmed(before_[i])];
      ++places.count, places.place = i;
    }
    for (size_t j = 0; j < after_.size(); ++j) {
      if (taken_[j]) continue;
      Places& places = after[trimmed(after_[j])];
      ++places.count, places.place = j;
    }
    for (const auto& [text, old] : before) {
      const auto found = after.find(text);
      const auto letters =
          std::ranges::count_if(text, [](unsigned char c) { return std::isalnum(c) != 0; });
      if (found == after.end() || static_cast<size_t>(letters) < kMinMovedLetters) continue;
      if (old.count == 1 && found->second.count == 1)
        align(old.place, found->second.place, LineMatch::Moved);
    }
  }

  std::span<const std::string> before_, after_;
  std::vector<AlignedLine> result_;
  std::vector<bool> taken_;  // by line of after_
};

constexpr size_t kContext = 3;  // unchanged lines around a change

struct Edit {
  char kind;  // ' ': in both, '-': only before, '+': only after
  std::string_view text;
  size_t before, after;  // positions, from 0
};

std::vector<Edit> edit_script(std::span<const std::string> before,
                              std::span<const std::string> after) {
  const auto lines = Aligner(before, after).same_lines();
  std::vector<Edit> edits;
  size_t j = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    if (lines[i].match == LineMatch::None) {
      edits.push_back({'-', before[i], i, j});
      continue;
    }
    for (; j < lines[i].after; ++j) edits.push_back({'+', after[j], i, j});
    edits.push_back({' ', before[i], i, j++});
  }
  for (; j < after.size(); ++j) edits.push_back({'+', after[j], before.size(), j});
  return edits;
}

std::string hunk(std::span<const Edit> edits) {
  size_t removed = 0, added = 0;
  std::string lines;
  for (const Edit& edit : edits) {
    removed += edit.kind != '+';
    added += edit.kind != '-';
    lines += fmt::format("{}{}\n", edit.kind, edit.text);
  }
  // An empty range is named by the line before it.
  return fmt::format("@@ -{},{} +{},{} @@\n{}", edits.front().before + (removed != 0), removed,
                     edits.front().after + (added != 0), added, lines);
}

}  // namespace

std::vector<AlignedLine> align_lines(std::span<const std::string> before,
                                     std::span<const std::string> after) {
  return Aligner(before, after).run();
}

double likeness(std::span<const std::string> before, std::span<const std::string> after) {
  if (before.empty() || after.empty()) return 0;
  std::unordered_map<std::string_view, size_t> left;
  for (const std::string& line : after) ++left[trimmed(line)];
  size_t same = 0;
  for (const std::string& line : before) {
    const auto found = left.find(trimmed(line));
    if (found == left.end() || found->second == 0) continue;
    --found->second;
    ++same;
  }
  return static_cast<double>(same) / static_cast<double>(std::max(before.size(), after.size()));
}

std::string unified_patch(const std::string& file, std::span<const std::string> before,
                          std::span<const std::string> after) {
  const std::vector<Edit> edits = edit_script(before, after);
  std::string hunks;
  size_t at = 0;
  while (at < edits.size()) {
    while (at < edits.size() && edits[at].kind == ' ') ++at;
    if (at == edits.size()) break;
    const size_t first = at - std::min(at, kContext);
    size_t last_change = at;
    for (; at < edits.size() && at - last_change <= 2 * kContext; ++at)
      if (edits[at].kind != ' ') last_change = at;
    at = std::min(edits.size(), last_change + 1 + kContext);
    hunks += hunk({edits.begin() + static_cast<ptrdiff_t>(first),
                   edits.begin() + static_cast<ptrdiff_t>(at)});
  }
  return hunks.empty() ? hunks : fmt::format("--- a/{0}\n+++ b/{0}\n{1}", file, hunks);
}

namespace {

// Which file of the one version is which file of the other: by path, else by base name, else the
// only ones that are left.
std::map<uint32_t, uint32_t> match_files(const ShaderItem& before, const ShaderItem& after) {
  std::map<uint32_t, uint32_t> matched;
  std::vector<bool> taken(after.files.size());
  const auto match = [&](auto same) {
    for (uint32_t i = 0; i < before.files.size(); ++i) {
      if (matched.contains(i)) continue;
      for (uint32_t j = 0; j < after.files.size(); ++j) {
        if (taken[j] || !same(before.files[i].name, after.files[j].name)) continue;
        matched[i] = j;
        taken[j] = true;
        break;
      }
    }
  };
  match([](const std::string& a, const std::string& b) { return a == b; });
  match([](const std::string& a, const std::string& b) { return base_name(a) == base_name(b); });
  if (before.files.size() == after.files.size() && matched.size() + 1 == before.files.size())
    match([](const std::string&, const std::string&) { return true; });
  return matched;
}

}  // namespace

std::string base_name(const std::string& path) { return path.substr(path.find_last_of("/\\") + 1); }

bool is_reconstructed(const ShaderItem& shader) {
  return std::ranges::find(shader.files, SourceOrigin::Reconstructed, &SourceText::origin) !=
         shader.files.end();
}

namespace {

// A line without its comment and the white space around it.
std::string_view code_of_line(std::string_view line) {
  return trimmed(line.substr(0, std::min(line.find("//"), line.size())));
}

bool says_something(std::string_view code) {
  return std::ranges::any_of(code, [](unsigned char c) { return std::isalnum(c) != 0; });
}

}  // namespace

// If the code is equal, only one may have reconstructed lines: the other's source text may be
// known.
CodeAlignment::CodeAlignment(const ShaderItem& before, const ShaderItem& after)
    : same_lines_(before.identity.hash == after.identity.hash &&
                  is_reconstructed(before) == is_reconstructed(after)) {
  for (const auto& [a, b] : match_files(before, after)) {
    const std::vector<AlignedLine> lines = align_lines(before.files[a].lines, after.files[b].lines);
    for (uint32_t i = 0; i < lines.size(); ++i) {
      if (lines[i].match == LineMatch::None) continue;
      aligned_[{a, i + 1}] = {{b, lines[i].after + 1}, lines[i].match == LineMatch::Moved};
    }
    if (!same_lines_) add_edits(a, b, before.files[a], after.files[b], lines);
  }
}

void CodeAlignment::add_edits(uint32_t before_file, uint32_t after_file, const SourceText& before,
                              const SourceText& after, const std::vector<AlignedLine>& lines) {
  std::vector<bool> taken(after.lines.size());
  for (uint32_t i = 0; i < lines.size(); ++i) {
    const std::string_view old = code_of_line(before.lines[i]);
    if (lines[i].match == LineMatch::None) {
      if (says_something(old)) edits_.push_back({Place{before_file, i + 1}, std::nullopt});
      continue;
    }
    taken[lines[i].after] = true;
    const std::string_view now = code_of_line(after.lines[lines[i].after]);
    if (old != now && (says_something(old) || says_something(now)))
      edits_.push_back({Place{before_file, i + 1}, Place{after_file, lines[i].after + 1}});
  }
  for (uint32_t j = 0; j < taken.size(); ++j) {
    if (!taken[j] && says_something(code_of_line(after.lines[j])))
      edits_.push_back({std::nullopt, Place{after_file, j + 1}});
  }
}

// Without a text a line's number says nothing about another version of the code.
std::optional<CodeAlignment::Aligned> CodeAlignment::after_of(const Place& place) const {
  if (place.second == 0 || same_lines_) return Aligned{place, false};
  const auto found = aligned_.find(place);
  return found == aligned_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<LinePair> pair_lines(const ShaderItem& before, const ShaderItem& after,
                                 const CodeAlignment& alignment) {
  std::map<CodeAlignment::Place, const LineItem*> left;
  for (const LineItem& line : after.lines) left[{line.file, line.line}] = &line;
  std::vector<LinePair> pairs;
  std::vector<const LineItem*> gone;
  for (const LineItem& line : before.lines) {
    const auto aligned = alignment.after_of({line.file, line.line});
    const auto found = aligned ? left.find(aligned->after) : left.end();
    if (found == left.end()) {
      gone.push_back(&line);
      continue;
    }
    pairs.push_back({&line, found->second, aligned->moved});
    left.erase(found);
  }
  for (const LineItem* line : gone) pairs.push_back({line, nullptr});
  for (const auto& [place, line] : left) pairs.push_back({nullptr, line});
  return pairs;
}

}  // namespace tally::analysis
