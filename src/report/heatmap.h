// The regions of a pass as a picture: how much of a counter each pixel of a region has on average,
// in colours over the pass's final image, with a scale, and where it is hottest.
#pragma once

#include "analysis/cost/region_map.h"
#include "picture/picture.h"

namespace tally::report {

// `background`: the final image, of the render area's size; null where there is none.
Picture draw_heatmap(const analysis::RegionMap& map, const Picture* background);

}  // namespace tally::report
