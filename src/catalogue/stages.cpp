#include "catalogue/stages.h"

#include <algorithm>

namespace tally::catalogue {
namespace {

constexpr Stage kStages[] = {
    {0x0001, 0, "vertex", "vertex", "vert"},
    {0x0002, 1, "tessellation control", "tess control", "tesc"},
    {0x0004, 2, "tessellation evaluation", "tess evaluation", "tese"},
    {0x0008, 3, "geometry", "geometry", "geom"},
    {0x0010, 4, "fragment", "fragment", "frag"},
    {0x0020, 5, "compute", "compute", "comp"},
    {0x0040, 5364, "task", "task", "task"},
    {0x0080, 5365, "mesh", "mesh", "mesh"},
    {0x0100, 5313, "ray generation", "ray generation", "rgen"},
    {0x0200, 5315, "any-hit", "any hit", "rahit"},
    {0x0400, 5316, "closest-hit", "closest hit", "rchit"},
    {0x0800, 5317, "miss", "miss", "rmiss"},
    {0x1000, 5314, "intersection", "intersection", "rint"},
    {0x2000, 5318, "callable", "callable", "rcall"},
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
