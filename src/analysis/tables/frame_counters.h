// Tables of the counters by frame of a GL program (EGL_BRCM_performance_counters): the frames with
// their counters, and the counters with their totals.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/model/model.h"
#include "analysis/tables/table_builder.h"

namespace tally::analysis {

// A counter, shared by all devices that have an identical one.
struct FrameCounterKind {
  const store::FrameCounterRow* row;
  std::string id;
  Unit unit = Unit::Count;
  uint64_t divisor = 1;  // value / divisor is in the unit
};

struct MeasuredFrames {
  std::vector<uint32_t> frames;  // by row: its frame, in the order of the capture
  std::vector<FrameCounterKind> kinds;
  std::vector<std::vector<std::optional<uint64_t>>> values;  // [row][kind]
};

// Sums over the selected frames.
Result<MeasuredFrames> load_measured_frames(const Model& model);

// From the previous swap to the frame's own; empty if it is not known.
std::optional<uint64_t> frame_duration(const store::FrameRow& frame);

// True if the capture has counters by frame.
bool counts_frames(const Model& model);

// A row for each selected frame that was measured, a column for each counter. Identical counters of
// several devices share a column.
Result<Table> make_frame_counter_table(const Model& model, const TableOptions& options);

// A row for each counter: its sum over the selected frames, and its mean, minimum and maximum per
// frame.
Result<Table> make_counter_table(const Model& model, const TableOptions& options);

}  // namespace tally::analysis
