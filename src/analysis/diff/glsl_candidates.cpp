#include "analysis/diff/glsl_candidates.h"

#include <algorithm>

#include "analysis/diff/matching.h"

namespace tally::analysis {
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
