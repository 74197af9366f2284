// `tally report --heatmap`: writes a pass by region as a PNG file.
#pragma once

#include <string>

#include "analysis/cost/region_map.h"
#include "base/status.h"

namespace tally::cli {

// Writes the picture of a pass. An existing PNG file is replaced; any other existing file is an
// error. Returns a line that describes the picture.
Result<std::string> write_heatmap(const analysis::RegionMap& map, const std::string& file);

}  // namespace tally::cli
