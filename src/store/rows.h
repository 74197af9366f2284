// The rows of a capture: one struct for each table, shared by the writer and the reader. Each
// struct defines the table's columns (table.h); docs/reference/capture-format.md describes them.
//
// Times called *_ns on the host are CLOCK_MONOTONIC; gpu_* times are of the device's timestamp
// clock.
#pragma once

#include "store/definition_rows.h"
#include "store/event_rows.h"
#include "store/region_rows.h"
#include "store/shader_rows.h"
#include "store/value_rows.h"

namespace tally::store {

// In the order in which the tables are created.
using AllRows =
    RowList<CaptureRow, ProcessRow, DeviceRow, QueueRow, MetricRow, DeviceMetricRow, ModuleRow,
            ShaderRow, PipelineRow, PipelineShaderRow, ObjectRow, LabelRow, FunctionRow, FrameRow,
            FrameCounterRow, FrameValuesRow, SubmissionRow, ExecutionRow, PassRow, RegionCounterRow,
            PassRegionsRow, RegionValuesRow, PassPictureRow, CommandBatchRow, BlockCostRow,
            BlockCountRow, BlockOtherRow, MessageRow>;

}  // namespace tally::store
