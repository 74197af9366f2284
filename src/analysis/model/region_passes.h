// The passes of a capture that have counts by region.
#pragma once

#include <optional>
#include <vector>

#include "analysis/model/model.h"

namespace tally::analysis {

// One subpass and layer of a pass in a selected frame.
struct RegionPass {
  uint32_t pass;  // index in Model::passes
  store::PassRegionsRow regions;
};

// The passes, in capture order. `number` restricts them to passes with this number in their frame.
Result<std::vector<RegionPass>> region_passes(const Model& model, std::optional<uint32_t> number);

struct PixelArea {
  int64_t x, y;
  uint32_t width, height;

  // The value that ranks regions: those at the edges of the render area are smaller than others.
  double per_pixel(uint64_t value) const {
    return static_cast<double>(value) / (double{1} * width * height);
  }
};
// The part of a region that lies in the render area, in pixels.
PixelArea region_area(const store::PassRegionsRow& regions, uint32_t column, uint32_t row);

}  // namespace tally::analysis
