// Draws the regions of a pass as a picture. A region's colour shows the counter's average per
// pixel, drawn over the pass's final image. A scale explains the colours, and an outline marks the
// hottest region.
#pragma once

#include "analysis/cost/region_map.h"
#include "picture/picture.h"

namespace tally::report {

// `background` is the final image, with the size of the render area, or null.
Picture draw_heatmap(const analysis::RegionMap& map, const Picture* background);

}  // namespace tally::report
