#include "analysis/model/region_passes.h"

#include <algorithm>

namespace tally::analysis {

Result<std::vector<RegionPass>> region_passes(const Model& model, std::optional<uint32_t> number) {
  IdIndex index;
  for (uint32_t p = 0; p < model.passes.size(); ++p) index.add(model.passes[p].row.id, p);
  std::vector<RegionPass> passes;
  const Status status = model.reader.for_each_pass_regions([&](const store::PassRegionsRow& row) {
    const uint32_t pass = index.find(row.pass);
    const bool wanted = pass != kNone && (!number || model.passes[pass].number_in_frame == *number);
    if (wanted) passes.push_back({pass, row});
    return true;
  });
  if (!status) return status.error();
  return passes;
}

PixelArea region_area(const store::PassRegionsRow& regions, uint32_t column, uint32_t row) {
  const uint32_t left = column * regions.region_width, top = row * regions.region_height;
  // Of a damaged file the sums may be beyond what there is.
  const auto sum = [](int64_t a, uint32_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + b);
  };
  return {sum(regions.x, left), sum(regions.y, top),
          std::min(regions.region_width, regions.width - left),
          std::min(regions.region_height, regions.height - top)};
}

}  // namespace tally::analysis
