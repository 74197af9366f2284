// Tables of the counters by frame of a GL program (EGL_BRCM_performance_counters): the frames with
// their counters, and the counters with their totals.
#pragma once

#include "analysis/model/model.h"
#include "analysis/tables/table_builder.h"

namespace tally::analysis {

// Whether the capture has counters by frame.
bool counts_frames(const Model& model);

// A row for each selected frame that was measured, a column for each counter. Identical counters of
// several devices share a column.
Result<Table> make_frame_counter_table(const Model& model, const TableOptions& options);

// A row for each counter: its sum over the selected frames, and its mean, minimum and maximum per
// frame.
Result<Table> make_counter_table(const Model& model, const TableOptions& options);

}  // namespace tally::analysis
