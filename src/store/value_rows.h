// Rows of values: of blocks, and of counters that are sampled once a frame.
#pragma once

#include <cstdint>
#include <string>

#include "store/column.h"
#include "store/keys.h"
#include "store/table.h"

namespace tally::store {

template <typename Key>
struct FrameCounterOf {
  Key id = 0;
  Key device = 0;
  std::string group;
  std::string name;
  std::string unit;
  uint64_t denominator = 1;
  bool is_level = false;

  static constexpr auto table() {
    using Row = FrameCounterOf;
    return store::table(
        Section::Values, "frame_counter", "a counter that is sampled once a frame ([EGL](egl.md))",
        column("id", &Row::id), column("device", &Row::device).references("device"),
        column("group_name", &Row::group), column("name", &Row::name), column("unit", &Row::unit),
        column("denominator", &Row::denominator, "value / denominator is in the unit"),
        column("is_level", &Row::is_level,
               "1: the value at the frame's end; 0: the increase during the frame"));
  }
};
using FrameCounterRow = FrameCounterOf<RowId>;

// A counter's value in a frame, also if it is zero. A frame without it did not measure the counter.
struct FrameValue {
  RowId frame = 0;
  RowId counter = 0;
  uint64_t value = 0;
};

// The values of counters whose ids follow each other.
struct FrameValuesRow {
  RowId frame = 0;
  RowId first_counter = 0;
  Column values;

  static constexpr auto table() {
    using Row = FrameValuesRow;
    return store::table(
               Section::Values, "frame_values",
               "values of counters in a frame; a frame without a counter's value did not measure "
               "it",
               column("frame", &Row::frame).references("frame"),
               column("first_counter", &Row::first_counter).references("frame_counter"),
               column("value", &Row::values,
                      "a JSON array: of `first_counter` and the counters whose ids follow; null "
                      "where there is no value")
                   .encoded(Encoding::List))
        .constrained("PRIMARY KEY (frame, first_counter)")
        .without_rowid()
        .on_conflict(Conflict::Replace);
  }
};

// Zeros are left out.
struct BlockCostRow {
  RowId shader = 0;
  uint32_t block = 0;
  RowId metric = 0;
  uint64_t per_execution = 0;

  static constexpr auto table() {
    using Row = BlockCostRow;
    return store::table(Section::Values, "block_cost",
                        "what one execution of a block costs in a metric, where it is not 0",
                        column("shader", &Row::shader).references("shader"),
                        column("block", &Row::block),
                        column("metric", &Row::metric).references("metric"),
                        column("per_execution", &Row::per_execution))
        .constrained("PRIMARY KEY (shader, block, metric)")
        .without_rowid()
        .on_conflict(Conflict::Ignore);
  }
};

struct BlockCountRow {
  RowId batch = 0;
  uint32_t sub = 0;
  uint32_t stage = 0;
  uint32_t block = 0;
  Column executions;

  static constexpr auto table() {
    using Row = BlockCountRow;
    return store::table(
               Section::Values, "batch_count", "how often the commands of a batch executed a block",
               column("batch", &Row::batch, "a command_batch or a value_set"),
               column("sub", &Row::sub), column("stage", &Row::stage), column("block", &Row::block),
               column("executions", &Row::executions, "a column"))
        .constrained("PRIMARY KEY (batch, sub, stage, block)")
        .without_rowid()
        .on_conflict(Conflict::Replace);
  }
};

struct BlockOtherRow {
  RowId batch = 0;
  uint32_t sub = 0;
  uint32_t stage = 0;
  uint32_t block = 0;
  RowId metric = 0;
  Column values;

  static constexpr auto table() {
    using Row = BlockOtherRow;
    return store::table(
               Section::Values, "batch_other",
               "a block's values of a metric, where one of them is *not* executions x cost",
               column("batch", &Row::batch, "a command_batch or a value_set"),
               column("sub", &Row::sub), column("stage", &Row::stage), column("block", &Row::block),
               column("metric", &Row::metric).references("metric"),
               column("value", &Row::values, "a column"))
        .constrained("PRIMARY KEY (batch, sub, stage, block, metric)")
        .without_rowid()
        .on_conflict(Conflict::Replace);
  }
};

}  // namespace tally::store
