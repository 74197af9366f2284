// Finds the items of one profile in another: by names and content, by names, by content, and at
// last by likeness. Never by position; what is ambiguous stays unmatched.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/diff/profile.h"

namespace tally::analysis {

enum class MatchedBy : uint8_t { All, Names, Hash, Likeness };

struct ItemMatch {
  uint32_t before, after;  // indices
  MatchedBy by;
};

struct Matching {
  std::vector<ItemMatch> pairs;          // in the order of `before`
  std::vector<uint32_t> removed, added;  // indices of unmatched items
};

Matching match_items(const std::vector<Item>& before, const std::vector<Item>& after);
// Shaders that are left over are matched by their source texts, if most lines are the same.
Matching match_shaders(const std::vector<ShaderItem>& before, const std::vector<ShaderItem>& after);

}  // namespace tally::analysis
