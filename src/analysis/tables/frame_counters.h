// Tables of what is counted frame by frame (EGL_BRCM_performance_counters of a GL program): the
// frames with their counters, and the counters with what they come to.
#pragma once

#include "analysis/model/model.h"
#include "analysis/tables/table_builder.h"

namespace tally::analysis {

// Whether the capture has such counters.
bool counts_frames(const Model& model);

// A row for each selected frame that was measured, a column for each counter. Counters of several
// devices that are alike share a column.
Result<Table> make_frame_counter_table(const Model& model, const TableOptions& options);

// A row for each counter: its sum over the selected frames, and a frame's mean, least and most.
Result<Table> make_counter_table(const Model& model, const TableOptions& options);

}  // namespace tally::analysis
