// Rows of what happened: frames, submissions, executions, passes and commands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/format/definition_rows.h"
#include "store/format/table.h"

namespace tally::store {

// The values of one field for all commands of a batch. A value that all commands share is stored
// once.

// The most commands of a batch.
inline constexpr size_t kMaxBatchCommands = 1024;

struct Column {
  // Stands for "no value"; SQL's NULL.
  static constexpr int64_t kNull = std::numeric_limits<int64_t>::min();

  // None: no command has a value. One: all commands have this one.
  std::vector<int64_t> values;

  int64_t at(size_t command) const {
    if (values.empty()) return kNull;
    return values.size() == 1 ? values[0] : values[command];
  }
  bool fits(size_t commands) const { return values.size() <= 1 || values.size() == commands; }

  // Appends the value of the command with the index `command`: those before it have theirs.
  void append(size_t command, int64_t value) {
    if (values.size() > 1) {
      values.push_back(value);
    } else if (command == 0 || values.empty() || values[0] != value) {
      append_another(command, value);
    }
  }

  // Appends the value of each of `count` commands: the same, or value_of(index among these).
  void append_same(size_t command, size_t count, int64_t value);
  template <typename ValueOf>
  void append_each(size_t command, size_t count, ValueOf value_of) {
    size_t i = 0;
    for (; i < count && values.size() <= 1; ++i) append(command + i, value_of(i));
    const size_t before = values.size();
    if (i == count) return;
    values.resize(before + count - i);
    for (int64_t* at = values.data() + before; i < count; ++i) *at++ = value_of(i);
  }

  bool operator==(const Column&) const = default;

 private:
  void append_another(size_t command, int64_t value);
};

// A count as columns and files hold it: saturated at 2^63 - 1.
inline int64_t stored(uint64_t value) {
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(value < kMax ? value : kMax);
}

// The text in the file: a JSON number, null, or an array of both.
std::string to_json(const Column& column);
// None: the text is not a column of `commands` commands.
std::optional<Column> column_from_json(std::string_view json, size_t commands);

struct FunctionRow {
  RowId id = 0;
  CallKind kind = CallKind::Draw;
  std::string name;

  static constexpr auto table() {
    using Row = FunctionRow;
    return store::table(Section::Definitions, "function", "a Vulkan action command",
                        column("id", &Row::id), column("kind", &Row::kind),
                        column("name", &Row::name, "such as vkCmdDraw").constrained("UNIQUE"));
  }
};

struct FrameRow {
  RowId id = 0;
  RowId device = 0;
  int64_t number = 0;
  FrameEnd ended_by = FrameEnd::Open;
  int64_t begin_ns = 0;
  std::optional<int64_t> end_ns;
  int64_t commands_missing = 0;

  static constexpr auto table() {
    using Row = FrameRow;
    return store::table(
               Section::Events, "frame",
               "a frame of a device. It ends at a present, a swap or a frame boundary; on a device "
               "without those, at each submission, or at what capture.frame_per names",
               column("id", &Row::id), column("device", &Row::device).references("device"),
               column("number", &Row::number, "from 0"), column("ended_by", &Row::ended_by),
               column("begin_ns", &Row::begin_ns), column("end_ns", &Row::end_ns),
               column(
                   "commands_missing", &Row::commands_missing,
                   "submitted in it, but not counted, or their results could not be read: a call "
                   "of the layer failed, the device was lost, or the process ended before the "
                   "GPU had finished"))
        .constrained("UNIQUE (device, number)");
  }
};

struct SubmissionRow {
  RowId id = 0;
  RowId frame = 0;
  RowId queue = 0;
  int64_t number = 0;
  int64_t time_ns = 0;
  std::optional<RowId> label;

  static constexpr auto table() {
    using Row = SubmissionRow;
    return store::table(Section::Events, "submission",
                        "a vkQueueSubmit, or the part of it that is in one frame",
                        column("id", &Row::id), column("frame", &Row::frame).references("frame"),
                        column("queue", &Row::queue).references("queue"),
                        column("number", &Row::number, "counts up over the device"),
                        column("time_ns", &Row::time_ns),
                        column("label", &Row::label, "of the queue").references("label"))
        .indexed("CREATE INDEX submission_by_frame ON submission (frame)");
  }
};

struct ExecutionRow {
  RowId id = 0;
  RowId submission = 0;
  int64_t position = 0;
  std::optional<RowId> parent;
  std::optional<int64_t> parent_command;
  RowId command_buffer = 0;
  int64_t recording = 0;
  int64_t runs = 1;
  bool overlapped = false;

  static constexpr auto table() {
    using Row = ExecutionRow;
    return store::table(
               Section::Events, "execution",
               "an execution of a command buffer's recording by a submission, or of a secondary "
               "command buffer's by a primary",
               column("id", &Row::id),
               column("submission", &Row::submission).references("submission"),
               column("position", &Row::position, "in the submission, in submission order"),
               column("parent", &Row::parent, "of a secondary: the execution of the primary")
                   .references("execution"),
               column("parent_command", &Row::parent_command,
                      "of a secondary: it ran before the primary's command of this position"),
               column("command_buffer", &Row::command_buffer).references("object"),
               column("recording", &Row::recording,
                      "equal numbers on a device are the same recording"),
               column("runs", &Row::runs,
                      "how many executions in the submission its values are the sum of"),
               column("overlapped", &Row::overlapped, "see below"))
        .indexed("CREATE INDEX execution_by_submission ON execution (submission)");
  }
};

struct PassRow {
  RowId id = 0;
  RowId execution = 0;
  int64_t position = 0;
  PassKind kind = PassKind::RenderPass;
  // From the view pass_name, as names may arrive late. The writer ignores it.
  std::string name;
  std::optional<RowId> render_pass;
  std::optional<RowId> framebuffer;
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t layers = 0;
  uint32_t view_mask = 0;
  std::string attachments;
  std::optional<RowId> label;
  std::optional<int64_t> gpu_begin_ns;
  std::optional<int64_t> gpu_time_ns;
  std::optional<RowId> time_sample;

  static constexpr auto table() {
    using Row = PassRow;
    return store::table(
               Section::Events, "pass", "a render pass instance", column("id", &Row::id),
               column("execution", &Row::execution).references("execution"),
               column("position", &Row::position, "in the execution"), column("kind", &Row::kind),
               column("render_pass", &Row::render_pass).references("object"),
               column("framebuffer", &Row::framebuffer).references("object"),
               column("width", &Row::width, "of the render area"),
               column("height", &Row::height, "of the render area"), column("layers", &Row::layers),
               column("view_mask", &Row::view_mask),
               column("attachments", &Row::attachments,
                      "a JSON array of objects: format as VkFormat's number, samples where known, "
                      "load, store"),
               column("label", &Row::label).references("label"),
               column("gpu_begin_ns", &Row::gpu_begin_ns), column("gpu_time_ns", &Row::gpu_time_ns),
               column(
                   "time_sample", &Row::time_sample,
                   "a number: all passes with this number have equal attachments, sizes and "
                   "labels, and a random part of them was timed. null: belongs to no such sample")
                   .since(16, "NULL"))
        .indexed("CREATE INDEX pass_by_execution ON pass (execution)");
  }
};

struct CommandBatchRow {
  struct Parameter {
    std::string name;
    Column values;
  };

  RowId id = 0;
  RowId execution = 0;
  size_t size = 0;
  RowId function = 0;
  std::optional<RowId> pipeline;
  std::optional<RowId> pass;
  uint32_t subpass = 0;
  bool counted = false;
  Column positions;
  Column labels;
  std::vector<Parameter> parameters;
  Column gpu_begin_ns;
  Column gpu_time_ns;
  std::optional<RowId> value_set;
  // How the vertices of draws become primitives.
  std::optional<int64_t> topology;
  bool primitive_restart = false;
  uint32_t patch_control_points = 0;
  bool repeats = false;
  std::optional<RowId> time_sample;

  // The `batch` of its rows in the tables of values.
  RowId values() const { return value_set.value_or(id); }

  static_assert(kMaxBatchCommands == 1024);
  static constexpr auto table() {
    using Row = CommandBatchRow;
    return store::table(
        Section::Events, "command_batch",
        "1 to 1024 action commands of an execution that are alike: the same function, pipeline, "
        "pass and subpass, counted in the same blocks. They need not be consecutive",
        column("id", &Row::id), column("execution", &Row::execution).references("execution"),
        column("size", &Row::size, "how many commands")
            .constrained("CHECK (size BETWEEN 1 AND 1024)"),
        column("function", &Row::function).references("function"),
        column("pipeline", &Row::pipeline).references("pipeline"),
        column("pass", &Row::pass).references("pass"), column("subpass", &Row::subpass),
        column("counted", &Row::counted, "1: the capture has the counts of their blocks"),
        column("positions", &Row::positions,
               "a column: their positions among the recording's action commands, ascending; a "
               "number instead of an array: the first one, and the others are consecutive")
            .encoded(Encoding::Positions),
        column("labels", &Row::labels, "a column"),
        column("parameters", &Row::parameters,
               "a JSON object with a column for each parameter, named as in the specification"),
        column("gpu_begin_ns", &Row::gpu_begin_ns, "a column"),
        column("gpu_time_ns", &Row::gpu_time_ns,
               "a column; of dispatches and traces outside of render passes, and of draws if each "
               "is timed (tally run --times draws)"),
        column("value_set", &Row::value_set,
               "a negative number: its values are those with this `batch` in `batch_count` and "
               "`batch_other`, which batches with equal values share. null: those with its id")
            .since(8, "NULL"),
        column("topology", &Row::topology,
               "of draws: VkPrimitiveTopology's number; null: not known, or without one")
            .since(11, "NULL"),
        column("primitive_restart", &Row::primitive_restart,
               "1: an index may begin another strip or list")
            .since(11, "0"),
        column("patch_control_points", &Row::patch_control_points, "of draws of patches; else 0")
            .since(11, "0"),
        column("repeats", &Row::repeats,
               "1: the dispatches ran uncounted, and have the counts of an earlier one with the "
               "same pipeline, workgroups and push constants, on which alone its counts depend")
            .since(13, "0"),
        column("time_sample", &Row::time_sample,
               "a number: all dispatches with this number have equal inputs, and a random part of "
               "them was timed. null: belongs to no such sample")
            .since(14, "NULL"));
  }
};

// Rows of passes that were counted by region, and of their pictures.

struct RegionCounterRow {
  RowId id = 0;
  std::string name;

  static constexpr auto table() {
    using Row = RegionCounterRow;
    return store::table(
        Section::Regions, "region_counter", "a counter that was taken by region",
        column("id", &Row::id),
        column("name", &Row::name, "[counters.md](counters.md), \"Regions of a framebuffer\"")
            .constrained("UNIQUE"));
  }
};

struct PassRegionsRow {
  RowId id = 0;
  RowId pass = 0;
  uint32_t subpass = 0;
  uint32_t layer = 0;
  int64_t x = 0;
  int64_t y = 0;
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t region_width = 1;
  uint32_t region_height = 1;

  uint32_t columns() const { return width / region_width + (width % region_width != 0); }
  uint32_t rows() const { return height / region_height + (height % region_height != 0); }

  static constexpr auto table() {
    using Row = PassRegionsRow;
    return store::table(Section::Regions, "pass_regions",
                        "the regions of one subpass and layer (or view) of a pass",
                        column("id", &Row::id), column("pass", &Row::pass).references("pass"),
                        column("subpass", &Row::subpass), column("layer", &Row::layer),
                        column("x", &Row::x, "of the render area"),
                        column("y", &Row::y, "of the render area"),
                        column("width", &Row::width, "of the render area"),
                        column("height", &Row::height, "of the render area"),
                        column("region_width", &Row::region_width),
                        column("region_height", &Row::region_height))
        .indexed("CREATE INDEX pass_regions_by_pass ON pass_regions (pass)");
  }
};

struct RegionValuesRow {
  RowId regions = 0;
  RowId counter = 0;
  std::vector<uint32_t> by_region;  // row by row

  uint64_t total() const {
    return std::accumulate(by_region.begin(), by_region.end(), uint64_t{0});
  }

  static constexpr auto table() {
    using Row = RegionValuesRow;
    return store::table(Section::Regions, "region_values", "a counter in these regions",
                        column("regions", &Row::regions).references("pass_regions"),
                        column("counter", &Row::counter).references("region_counter"),
                        column("total", &Row::total, "the sum"),
                        column("by_region", &Row::by_region,
                               "a little-endian 32-bit number for each region"))
        .constrained("PRIMARY KEY (regions, counter)")
        .on_conflict(Conflict::Replace);
  }
};

// A draw that touches very many regions has several rows.
struct RegionDrawRow {
  RowId regions = 0;
  int64_t position = 0;
  RowId counter = 0;
  std::vector<uint32_t> places;
  std::vector<uint32_t> values;

  bool operator==(const RegionDrawRow&) const = default;
  uint64_t total() const { return std::accumulate(values.begin(), values.end(), uint64_t{0}); }

  static constexpr auto table() {
    using Row = RegionDrawRow;
    return store::table(
               Section::Regions, "region_draw",
               "a counter of one draw in some of these regions, with tally run --region-draws",
               column("regions", &Row::regions).references("pass_regions"),
               column("position", &Row::position, "of the draw in the execution of the pass"),
               column("counter", &Row::counter).references("region_counter"),
               column("total", &Row::total, "the sum"),
               column("places", &Row::places,
                      "a little-endian 32-bit number for each region where it is not 0: its index "
                      "in by_region of region_values, ascending"),
               column("value", &Row::values, "likewise, the values there"))
        .indexed("CREATE INDEX region_draw_by_regions ON region_draw (regions)")
        .since(12);
  }
};

struct PassPictureRow {
  RowId pass = 0;
  uint32_t layer = 0;
  uint32_t attachment = 0;
  uint32_t width = 0;
  uint32_t height = 0;
  std::vector<std::byte> png;

  bool operator==(const PassPictureRow&) const = default;

  static constexpr auto table() {
    using Row = PassPictureRow;
    return store::table(Section::Regions, "pass_picture",
                        "the render area of a layer of the pass's image at the end of the pass",
                        column("pass", &Row::pass).references("pass"), column("layer", &Row::layer),
                        column("attachment", &Row::attachment, "its index in pass.attachments"),
                        column("width", &Row::width), column("height", &Row::height),
                        column("png", &Row::png))
        .constrained("PRIMARY KEY (pass, layer)")
        .on_conflict(Conflict::Replace);
  }
};

// Rows of values: of blocks, and of counters that are sampled once a frame.

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

// The rows of a capture: one struct for each table, shared by the writer and the reader. Each
// struct defines the table's columns (table.h); docs/reference/capture-format.md describes them.
//
// Times called *_ns on the host are CLOCK_MONOTONIC; gpu_* times are of the device's timestamp
// clock.

// In the order in which the tables are created.
using AllRows = RowList<CaptureRow, ProcessRow, DeviceRow, QueueRow, MetricRow, DeviceMetricRow,
                        ModuleRow, ShaderRow, PipelineRow, PipelineShaderRow, PipelineStatisticRow,
                        ObjectRow, LabelRow, FunctionRow, FrameRow, FrameCounterRow, FrameValuesRow,
                        SubmissionRow, ExecutionRow, PassRow, RegionCounterRow, PassRegionsRow,
                        RegionValuesRow, RegionDrawRow, PassPictureRow, CommandBatchRow,
                        BlockCostRow, BlockCountRow, BlockOtherRow, MessageRow, ReplacementRow>;

}  // namespace tally::store
