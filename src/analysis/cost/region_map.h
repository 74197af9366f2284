// One counter in all regions of one pass; the data of a heatmap.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/model/counts.h"
#include "analysis/model/metrics.h"

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
  std::string counter;           // its id or name; empty: the default counter
  std::optional<uint32_t> pass;  // only passes with this number in their frame
};

// Selects, among the selected frames' passes, the (subpass, layer) with the highest total of the
// counter. Returns nullopt if no pass was counted by region.
Result<std::optional<RegionMap>> make_region_map(const Model& model,
                                                 const RegionMapOptions& options);

}  // namespace tally::analysis
