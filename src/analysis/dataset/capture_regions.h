// Passes by region and their pictures, and counters by frame, as tables.
#pragma once

#include "analysis/dataset/dataset.h"
#include "analysis/model/model.h"

namespace tally::analysis {

// Regions and pictures take much memory: the hottest instance of each merged pass comes first, and
// what does not fit is left out. `merged_of`: by pass, its merged pass.
Status add_regions(const Model& model, const std::vector<uint32_t>& merged_of,
                   DataCapture& capture);

// Frames with counters of EGL. `capture` has its table of frames.
Status add_egl_frames(const Model& model, DataCapture& capture);

}  // namespace tally::analysis
