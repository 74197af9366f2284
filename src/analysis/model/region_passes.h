// The passes of a capture that were counted by region.
#pragma once

#include <optional>
#include <vector>

#include "analysis/model/model.h"

namespace tally::analysis {

// A subpass and layer of a pass of a selected frame.
struct RegionPass {
  uint32_t pass;  // index in Model::passes
  store::PassRegionsRow regions;
};

// In the order of the capture; `number`: only passes of this number in their frames.
Result<std::vector<RegionPass>> region_passes(const Model& model, std::optional<uint32_t> number);

struct PixelArea {
  int64_t x, y;
  uint32_t width, height;
};
// Pixels of a region that are in the render area.
PixelArea region_area(const store::PassRegionsRow& regions, uint32_t column, uint32_t row);

}  // namespace tally::analysis
