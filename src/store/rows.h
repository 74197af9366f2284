// The rows of a capture as plain structs, one for each table, shared by the writer and the reader.
// docs/reference/capture-format.md says what each table means. `id` 0 means "none yet": the writer
// gives the ids. Times called *_ns on the host are CLOCK_MONOTONIC; gpu_* times are of the device's
// timestamp clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/column.h"

namespace tally::store {

using RowId = int64_t;

struct CaptureRow {
  std::string tool_version;
  std::vector<std::string> command_line;
  std::string working_directory;
  int64_t start_unix_ns = 0;
  int64_t start_monotonic_ns = 0;
  std::optional<int64_t> end_monotonic_ns;  // none: the writer died
  std::optional<int64_t> exit_status;       // of the application, as a shell sees it
  std::string frame_range;                  // as the user gave it, "" = all
  std::string shader_pattern;               // as the user gave it, "" = all
};

enum class Ending { Running, Closed, CutOff, Refused };

struct ProcessRow {
  RowId id = 0;
  int64_t pid = 0;
  int64_t parent_pid = 0;
  std::string executable;
  std::vector<std::string> command_line;
  std::string application;  // VkApplicationInfo
  std::string engine;
  int64_t start_ns = 0;
  std::optional<int64_t> end_ns;
  Ending ending = Ending::Running;
  // Commands that it submitted and that are not in the capture; those that frames count are not
  // among them. None: not known.
  std::optional<int64_t> commands_missing;
};

struct DeviceRow {
  RowId id = 0;
  RowId process = 0;
  std::string name;
  std::string type;  // "cpu", "discrete", "integrated", "virtual", "other"
  uint32_t vendor_id = 0;
  uint32_t device_id = 0;
  uint32_t api_version = 0;
  std::string driver_name;
  std::string driver_info;
  uint32_t driver_version = 0;
  std::string uuid;
  double timestamp_period_ns = 0;
  bool per_block = false;
  std::string not_captured;  // why nothing of this device is in the capture, "" = captured
};

struct QueueRow {
  RowId id = 0;
  RowId device = 0;
  uint32_t family = 0;
  uint32_t position = 0;
  uint32_t flags = 0;  // VkQueueFlags
  uint32_t timestamp_bits = 0;
  std::string name;
};

// Metrics are interned: two devices that offer the same name and description share the row.
struct MetricRow {
  RowId id = 0;
  std::string name;
  std::string description;
};

// The SPIR-V of a shader module, once for each content.
struct ModuleRow {
  RowId id = 0;
  std::string hash;  // Hash128::hex() of the words
  std::string name;
  std::vector<uint32_t> spirv;
};

// One entry point of a module in one stage, on one device.
struct ShaderRow {
  RowId id = 0;
  RowId device = 0;
  std::optional<RowId> module;  // none: created from an identifier or a binary
  uint32_t stage = 0;           // one VkShaderStageFlagBits
  std::string entry_point;
  std::string not_instrumented;  // why, "" = instrumented as far as is known
};

struct PipelineRow {
  RowId id = 0;
  RowId device = 0;
  std::string hash;  // of stages, entry points, modules and specialization: the same in every run
  std::string bind_point;  // "graphics", "compute", "ray tracing"
  std::string name;
  std::string not_instrumented;
  std::vector<RowId> shaders;
};

struct ObjectRow {
  RowId id = 0;
  RowId device = 0;
  std::string type;  // "VkCommandBuffer", "VkRenderPass", "VkFramebuffer" ...
  uint64_t handle = 0;
  std::string name;
};

// A debug-utils label, interned by its path: equal nestings of equal names share the row.
struct LabelRow {
  RowId id = 0;
  std::optional<RowId> parent;
  std::string name;
};

enum class CallKind { Draw, Dispatch, TraceRays, Generated };

// A Vulkan action command.
struct FunctionRow {
  RowId id = 0;
  CallKind kind = CallKind::Draw;
  std::string name;  // "vkCmdDrawIndexed"
};

enum class FrameEnd { Present, Submit, Open };

struct FrameRow {
  RowId id = 0;
  RowId device = 0;
  int64_t number = 0;
  FrameEnd ended_by = FrameEnd::Open;
  int64_t begin_ns = 0;
  std::optional<int64_t> end_ns;
  int64_t commands_missing = 0;  // that were executed in it and whose values could not be read
};

// Something that is counted frame by frame; value / denominator is in the unit.
struct FrameCounterRow {
  RowId id = 0;
  RowId device = 0;
  std::string group;
  std::string name;
  std::string unit;
  uint64_t denominator = 1;
  bool is_level = false;  // as it was at the frame's end, not what the frame added
};

// A frame without a row of a counter was not measured by it.
struct FrameValueRow {
  RowId frame = 0;
  RowId counter = 0;
  uint64_t value = 0;
};

struct SubmissionRow {
  RowId id = 0;
  RowId frame = 0;
  RowId queue = 0;
  int64_t number = 0;  // counts up over the device
  int64_t time_ns = 0;
  std::optional<RowId> label;  // the queue's debug label
};

// One execution of a command buffer's recording.
struct ExecutionRow {
  RowId id = 0;
  RowId submission = 0;
  int64_t position = 0;         // among the executions of the submission, in submission order
  std::optional<RowId> parent;  // of a secondary: the primary's execution
  std::optional<int64_t>
      parent_command;        // of a secondary: it ran before the primary's command of this position
  RowId command_buffer = 0;  // an object
  int64_t recording =
      0;             // equal numbers are the same recording, submitted again (within the device)
  int64_t runs = 1;  // its values are the sum of so many executions that could not be told apart
  // Executions of the recording overlapped in time: a part of a neighbour's values may be in this
  // one, and the other way round. Sums over them are exact.
  bool overlapped = false;
};

enum class PassKind { RenderPass, Rendering };

struct PassRow {
  RowId id = 0;
  RowId execution = 0;
  int64_t position = 0;  // in its execution
  PassKind kind = PassKind::RenderPass;
  // Of the render pass, the framebuffer or the label around it, the first that has one; may be "".
  // Derived when it is read: names may arrive late.
  std::string name;
  std::optional<RowId> render_pass;
  std::optional<RowId> framebuffer;
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t layers = 0;
  uint32_t view_mask = 0;
  std::string attachments;  // a JSON array of {"format":..,"samples":..,"load":..,"store":..}
  std::optional<RowId> label;
  std::optional<int64_t> gpu_begin_ns;
  std::optional<int64_t> gpu_time_ns;
};

// Something that is counted by region; devices that give it the same name share the row.
struct RegionCounterRow {
  RowId id = 0;
  std::string name;
};

// A subpass and layer of a pass, divided into regions from the render area's corner on. The last
// column and row may be partial.
struct PassRegionsRow {
  RowId id = 0;
  RowId pass = 0;
  uint32_t subpass = 0;
  uint32_t layer = 0;
  int64_t x = 0;  // the render area
  int64_t y = 0;
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t region_width = 1;
  uint32_t region_height = 1;

  uint32_t columns() const { return width / region_width + (width % region_width != 0); }
  uint32_t rows() const { return height / region_height + (height % region_height != 0); }
};

// A counter in all regions, row by row. Without a row it is 0 everywhere.
struct RegionValuesRow {
  RowId regions = 0;
  RowId counter = 0;
  std::vector<uint32_t> by_region;
};

// A layer of a pass's final image, as far as the render area.
struct PassPictureRow {
  RowId pass = 0;
  uint32_t layer = 0;
  uint32_t attachment = 0;  // index in the pass's attachments
  uint32_t width = 0;
  uint32_t height = 0;
  std::vector<std::byte> png;

  bool operator==(const PassPictureRow&) const = default;
};

// Commands of one execution that are alike; its columns have a value for each of them.
struct CommandBatchRow {
  struct Parameter {
    std::string name;
    Column values;
  };

  RowId id = 0;
  RowId execution = 0;
  size_t size = 0;  // commands, 1 to kMaxBatchCommands
  RowId function = 0;
  std::optional<RowId> pipeline;
  std::optional<RowId> pass;
  uint32_t subpass = 0;
  bool counted = false;  // the counts of its blocks are in the capture
  Column positions;      // among the action commands of the command buffer, ascending
  Column labels;
  std::vector<Parameter> parameters;
  Column gpu_begin_ns;
  Column gpu_time_ns;
};

// How often the commands of a batch executed a block. A block without a row was not executed.
struct BlockCountRow {
  RowId batch = 0;
  uint32_t sub = 0;  // resultSubIndex
  uint32_t stage = 0;
  uint32_t block = 0;
  Column executions;
};

// A block's values of a metric, where one of them is not executions x block_cost.
struct BlockOtherRow {
  RowId batch = 0;
  uint32_t sub = 0;
  uint32_t stage = 0;
  uint32_t block = 0;
  RowId metric = 0;
  Column values;
};

// What one execution of a block costs in a metric. Zeros are left out.
struct BlockCostRow {
  RowId shader = 0;
  uint32_t block = 0;
  RowId metric = 0;
  uint64_t per_execution = 0;
};

enum class Severity { Info, Warning, Error };

struct MessageRow {
  RowId id = 0;
  std::optional<RowId> process;  // none: of tally itself
  int64_t time_ns = 0;
  Severity severity = Severity::Info;
  std::string text;
  int64_t count = 1;
};

// The words that the file holds for the enumerations above, and back (none: not one of them).
const char* word(Ending value);
const char* word(CallKind value);
const char* word(FrameEnd value);
const char* word(PassKind value);
const char* word(Severity value);
template <typename Enum>
std::optional<Enum> from_word(const std::string& text);

}  // namespace tally::store
