#include "analysis/diff/code_alignment.h"

#include <algorithm>

#include "analysis/diff/line_alignment.h"

namespace tally::analysis {
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
  }
}

// Without a text a line's number says nothing about another version of the code.
std::optional<CodeAlignment::Aligned> CodeAlignment::after_of(const Place& place) const {
  if (place.second == 0 || same_lines_) return Aligned{place, false};
  const auto found = aligned_.find(place);
  return found == aligned_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace tally::analysis
