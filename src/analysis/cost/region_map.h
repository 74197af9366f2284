// One counter in all regions of one pass: what a heatmap shows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/model/metrics.h"
#include "analysis/model/region_passes.h"

namespace tally::analysis {

struct RegionMap {
  Metric counter;
  int64_t frame = 0;
  uint32_t pass_number = 0;  // in the frame
  std::string pass;          // "main 640x480"
  store::PassRegionsRow regions;
  std::vector<uint32_t> values;  // row by row
  uint64_t total = 0;
  std::optional<store::PassPictureRow> picture;  // of the pass's final image
};

struct RegionMapOptions {
  std::string counter;           // its id or name, empty: the default one
  std::optional<uint32_t> pass;  // only passes of this number in their frames
};

// Of the selected frames' passes the one (subpass, layer) that has most of the counter; none where
// no pass was counted by region.
Result<std::optional<RegionMap>> make_region_map(const Model& model,
                                                 const RegionMapOptions& options);

}  // namespace tally::analysis
