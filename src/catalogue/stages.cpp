#include "catalogue/stages.h"

#include <algorithm>

namespace tally::catalogue {
namespace {

constexpr Stage kStages[] = {
    {0x0001, 0, "vertex", "vertex"},
    {0x0002, 1, "tessellation control", "tess control"},
    {0x0004, 2, "tessellation evaluation", "tess evaluation"},
    {0x0008, 3, "geometry", "geometry"},
    {0x0010, 4, "fragment", "fragment"},
    {0x0020, 5, "compute", "compute"},
    {0x0040, 5364, "task", "task"},
    {0x0080, 5365, "mesh", "mesh"},
    {0x0100, 5313, "ray generation", "ray generation"},
    {0x0200, 5315, "any-hit", "any hit"},
    {0x0400, 5316, "closest-hit", "closest hit"},
    {0x0800, 5317, "miss", "miss"},
    {0x1000, 5314, "intersection", "intersection"},
    {0x2000, 5318, "callable", "callable"},
};

}  // namespace

std::span<const Stage> stages() { return kStages; }

const Stage* find_stage(uint32_t bit) {
  const auto found = std::ranges::find(kStages, bit, &Stage::bit);
  return found == std::end(kStages) ? nullptr : found;
}

const Stage* find_stage_of_model(uint32_t execution_model) {
  const auto found = std::ranges::find(kStages, execution_model, &Stage::execution_model);
  return found == std::end(kStages) ? nullptr : found;
}

}  // namespace tally::catalogue
