// The keys of rows. A row struct whose row a process sends is a template on its key: RowId in the
// file, and in the stream the Id that the sender gave.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/specialization.h"
#include "store/format/table.h"

namespace tally::store {

using RowId = int64_t;  // 0: not in the file yet
namespace stream {
using Id = uint64_t;
}

// A reference that may be absent: in the stream the absent one is 0.
template <typename Key>
using OptionalKey = std::conditional_t<std::is_same_v<Key, RowId>, std::optional<RowId>, Key>;

// The enumerations of a capture. The file holds their names, the stream their numbers.

enum class Ending { Running, Closed, CutOff, Refused };
enum class CallKind { Draw, Dispatch, TraceRays, Generated };
// The one rule for what counts as a draw. Within a pass a device can generate nothing else.
constexpr bool is_draw(CallKind kind, bool in_pass) {
  return kind == CallKind::Draw || (kind == CallKind::Generated && in_pass);
}
// Present: also a swap of EGL. Boundary: of VK_EXT_frame_boundary.
enum class FrameEnd { Present, Submit, Open, Boundary, Label, Fence, QueueIdle };
enum class PassKind { RenderPass, Rendering };
enum class Severity { Info, Warning, Error };
// How a driver gives the value of a statistic.
enum class StatisticFormat { Bool, Int, Uint, Float };

// kNames: the names in the order of the enumerators.
template <typename Enum>
struct EnumNames;
template <>
struct EnumNames<Ending> {
  static constexpr const char* kNames[] = {"running", "closed", "cut off", "refused"};
};
template <>
struct EnumNames<CallKind> {
  static constexpr const char* kNames[] = {"draw", "dispatch", "trace rays", "generated"};
};
template <>
struct EnumNames<FrameEnd> {
  static constexpr const char* kNames[] = {"present", "submit", "open",      "boundary",
                                           "label",   "fence",  "queue idle"};
};
template <>
struct EnumNames<PassKind> {
  static constexpr const char* kNames[] = {"render pass", "rendering"};
};
template <>
struct EnumNames<Severity> {
  static constexpr const char* kNames[] = {"info", "warning", "error"};
};

template <>
struct EnumNames<StatisticFormat> {
  static constexpr const char* kNames[] = {"bool", "int", "uint", "float"};
};

template <typename Enum>
constexpr std::string_view enum_name(Enum value) {
  return EnumNames<Enum>::kNames[static_cast<size_t>(value)];
}

// None: no enumerator has this name.
template <typename Enum>
constexpr std::optional<Enum> enum_from_name(std::string_view name) {
  for (size_t i = 0; i < std::size(EnumNames<Enum>::kNames); ++i) {
    if (name == EnumNames<Enum>::kNames[i]) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

// Rows that say who was captured and define what the others refer to.

struct CaptureRow {
  RowId id = 0;
  std::string tool_version;
  std::vector<std::string> command_line;
  std::string working_directory;
  int64_t start_unix_ns = 0;
  int64_t start_monotonic_ns = 0;
  std::optional<int64_t> end_monotonic_ns;
  std::optional<int64_t> exit_status;
  std::string frame_range;
  std::string shader_pattern;
  std::string frame_per;
  std::string frame_label;
  std::vector<std::string> replacements;

  static constexpr auto table() {
    using Row = CaptureRow;
    return store::table(
        Section::Definitions, "capture", "the capture; one row",
        column("id", &Row::id).constrained("CHECK (id = 1)"),
        column("tool_version", &Row::tool_version), column("command_line", &Row::command_line),
        column("working_directory", &Row::working_directory),
        column("start_unix_ns", &Row::start_unix_ns),
        column("start_monotonic_ns", &Row::start_monotonic_ns,
               "the same moment as start_unix_ns, on the other clock"),
        column("end_monotonic_ns", &Row::end_monotonic_ns, "NULL: the writer died"),
        column("exit_status", &Row::exit_status, "of the application, as a shell reports it"),
        column("frame_range", &Row::frame_range, "as the user gave it; empty: all"),
        column("shader_pattern", &Row::shader_pattern, "as the user gave it; empty: all"),
        column("frame_per", &Row::frame_per,
               "what ends a frame, as the user gave it; empty: presents and frame boundaries")
            .since(8, "''"),
        column("frame_label", &Row::frame_label,
               "with labels: the regular expression that their names match; empty: all")
            .since(8, "''"),
        column("replacements", &Row::replacements,
               "the shaders to replace, as the user gave them: SHADER=FILE")
            .since(9, "'[]'"));
  }
};

template <typename Key>
struct ProcessOf {
  Key id = 0;
  int64_t pid = 0;
  int64_t parent_pid = 0;
  std::string executable;
  std::vector<std::string> command_line;
  std::string application;
  std::string engine;
  int64_t start_ns = 0;
  std::optional<int64_t> end_ns;
  Ending ending = Ending::Running;
  std::optional<int64_t> commands_missing;

  static constexpr auto table() {
    using Row = ProcessOf;
    return store::table(
        Section::Definitions, "process",
        "a connection of a process: one for its Vulkan, one for its GL",
        column("id", &Row::id).not_sent(), column("pid", &Row::pid),
        column("parent_pid", &Row::parent_pid), column("executable", &Row::executable),
        column("command_line", &Row::command_line),
        column("application", &Row::application, "from VkApplicationInfo"),
        column("engine", &Row::engine, "from VkApplicationInfo"),
        column("start_ns", &Row::start_ns), column("end_ns", &Row::end_ns).not_sent(),
        column("ending", &Row::ending,
               "closed: in order; cut off: killed, _exit, abort, or still running at the end, or "
               "the capture reached its limit; refused: it sent a malformed stream, and a message "
               "says how")
            .not_sent(),
        column("commands_missing", &Row::commands_missing,
               "how many commands it submitted that are neither in the capture nor counted in a "
               "frame's commands_missing; NULL: not known")
            .not_sent());
  }
};
using ProcessRow = ProcessOf<RowId>;

template <typename Key>
struct DeviceOf {
  Key id = 0;
  Key process = 0;
  std::string name;
  std::string type;
  uint32_t vendor_id = 0;
  uint32_t device_id = 0;
  uint32_t api_version = 0;
  std::string driver_name;
  std::string driver_info;
  uint32_t driver_version = 0;
  std::string uuid;
  double timestamp_period_ns = 0;
  bool per_block = false;
  std::string not_captured;

  static constexpr auto table() {
    using Row = DeviceOf;
    return store::table(
        Section::Definitions, "device",
        "a VkDevice; or, of type gl, all GL contexts of a process (name, driver_name and "
        "driver_info are GL_RENDERER, GL_VENDOR and GL_VERSION of the first one)",
        column("id", &Row::id), column("process", &Row::process).references("process").not_sent(),
        column("name", &Row::name),
        column("type", &Row::type, "cpu, discrete, integrated, virtual, other, gl"),
        column("vendor_id", &Row::vendor_id), column("device_id", &Row::device_id),
        column("api_version", &Row::api_version), column("driver_name", &Row::driver_name),
        column("driver_info", &Row::driver_info), column("driver_version", &Row::driver_version),
        column("uuid", &Row::uuid), column("timestamp_period_ns", &Row::timestamp_period_ns),
        column("per_block", &Row::per_block, "1: values come by basic block"),
        column("not_captured", &Row::not_captured,
               "why the capture has nothing of this device; empty: it is captured"));
  }
};
using DeviceRow = DeviceOf<RowId>;

template <typename Key>
struct QueueOf {
  Key id = 0;
  Key device = 0;
  uint32_t family = 0;
  uint32_t position = 0;
  uint32_t flags = 0;
  uint32_t timestamp_bits = 0;
  std::string name;

  static constexpr auto table() {
    using Row = QueueOf;
    return store::table(Section::Definitions, "queue", "a VkQueue", column("id", &Row::id),
                        column("device", &Row::device).references("device"),
                        column("family", &Row::family), column("position", &Row::position),
                        column("flags", &Row::flags, "VkQueueFlags"),
                        column("timestamp_bits", &Row::timestamp_bits),
                        column("name", &Row::name, "debug name").not_sent());
  }
};
using QueueRow = QueueOf<RowId>;

template <typename Key>
struct MetricOf {
  Key id = 0;
  std::string name;
  std::string description;

  static constexpr auto table() {
    using Row = MetricOf;
    return store::table(Section::Definitions, "metric",
                        "a metric; devices that give it the same name and description share it",
                        column("id", &Row::id).not_sent(), column("name", &Row::name),
                        column("description", &Row::description))
        .constrained("UNIQUE (name, description)");
  }
};
using MetricRow = MetricOf<RowId>;

struct DeviceMetricRow {
  RowId device = 0;
  uint32_t position = 0;
  RowId metric = 0;

  static constexpr auto table() {
    using Row = DeviceMetricRow;
    return store::table(
               Section::Definitions, "device_metric", "a metric that a device has",
               column("device", &Row::device).references("device"),
               column("position", &Row::position, "in the order in which the driver enumerates"),
               column("metric", &Row::metric).references("metric"))
        .constrained("PRIMARY KEY (device, position)")
        .without_rowid()
        .on_conflict(Conflict::Replace);
  }
};

template <typename Key>
struct ObjectOf {
  Key id = 0;
  Key device = 0;
  std::string type;
  uint64_t handle = 0;
  std::string name;

  static constexpr auto table() {
    using Row = ObjectOf;
    return store::table(Section::Definitions, "object",
                        "a Vulkan object that another row refers to", column("id", &Row::id),
                        column("device", &Row::device).references("device"),
                        column("type", &Row::type, "such as VkRenderPass"),
                        column("handle", &Row::handle).encoded(Encoding::Bits),
                        column("name", &Row::name, "debug name").not_sent());
  }
};
using ObjectRow = ObjectOf<RowId>;

template <typename Key>
struct LabelOf {
  Key id = 0;
  OptionalKey<Key> parent{};
  std::string name;

  static constexpr auto table() {
    using Row = LabelOf;
    return store::table(Section::Definitions, "label",
                        "a debug label within its parent; equal paths share the row",
                        column("id", &Row::id),
                        column("parent", &Row::parent, "NULL: outermost").references("label"),
                        column("name", &Row::name))
        .indexed("CREATE UNIQUE INDEX label_by_parent ON label (ifnull(parent, 0), name)");
  }
};
using LabelRow = LabelOf<RowId>;

template <typename Key>
struct MessageOf {
  Key id = 0;
  OptionalKey<Key> process{};
  int64_t time_ns = 0;
  Severity severity = Severity::Info;
  std::string text;
  int64_t count = 1;

  static constexpr auto table() {
    using Row = MessageOf;
    return store::table(
        Section::Definitions, "message", "a message to the user: what failed, what is missing",
        column("id", &Row::id).not_sent(),
        column("process", &Row::process, "NULL: Tally itself").references("process").not_sent(),
        column("time_ns", &Row::time_ns), column("severity", &Row::severity),
        column("text", &Row::text), column("count", &Row::count, "how often it was reported"));
  }
};
using MessageRow = MessageOf<RowId>;

// Rows of shader modules, shaders and pipelines.

template <typename Key>
struct ModuleOf {
  Key id = 0;
  std::string hash;
  std::string name;
  std::vector<uint32_t> spirv;

  static constexpr auto table() {
    using Row = ModuleOf;
    return store::table(Section::Definitions, "module",
                        "a SPIR-V module; equal modules share the row", column("id", &Row::id),
                        column("hash", &Row::hash, "of the words").constrained("UNIQUE"),
                        column("name", &Row::name, "debug name").not_sent(),
                        column("spirv", &Row::spirv, "the words as the application gave them"));
  }
};
using ModuleRow = ModuleOf<RowId>;

// An entry point of a module in one stage, on one device, specialized.
template <typename Key>
struct ShaderOf {
  Key id = 0;
  Key device = 0;
  OptionalKey<Key> module{};
  uint32_t stage = 0;  // one VkShaderStageFlagBits
  std::string entry_point;
  std::string not_instrumented;
  Specialization constants;

  static constexpr auto table() {
    using Row = ShaderOf;
    return store::table(
        Section::Definitions, "shader",
        "an entry point of a module on a device; pipelines that specialize it alike share the row",
        column("id", &Row::id), column("device", &Row::device).references("device"),
        column("module", &Row::module, "NULL: the SPIR-V is not known").references("module"),
        column("stage", &Row::stage), column("entry_point", &Row::entry_point),
        column("not_instrumented", &Row::not_instrumented,
               "why there are no counts; empty: no such reason is known"),
        column("constants", &Row::constants,
               "the specialization constants that the application gave: a JSON object with the "
               "bytes of each as a hexadecimal number, by SpecId")
            .since(7, "'{}'"));
  }
};
using ShaderRow = ShaderOf<RowId>;

// The fate of a shader that `tally run --replace` names, in one process.
template <typename Key>
struct ReplacementOf {
  Key id = 0;
  Key process = 0;
  std::string pattern;
  std::string file;
  std::string shader;
  uint32_t stage = 0;  // one VkShaderStageFlagBits
  std::string entry_point;
  std::string hash;
  std::string new_hash;
  std::string refusal;

  static constexpr auto table() {
    using Row = ReplacementOf;
    return store::table(Section::Definitions, "replacement",
                        "a shader of the application that --replace names: replaced, or why not",
                        column("id", &Row::id).not_sent(),
                        column("process", &Row::process).references("process").not_sent(),
                        column("pattern", &Row::pattern, "that the shader matches"),
                        column("file", &Row::file, "as the user gave it"),
                        column("shader", &Row::shader, "its name, or the start of its hash"),
                        column("stage", &Row::stage), column("entry_point", &Row::entry_point),
                        column("hash", &Row::hash, "of the application's module"),
                        column("new_hash", &Row::new_hash,
                               "of the module that ran in its place; empty: it was not replaced"),
                        column("refusal", &Row::refusal, "why it was not replaced"))
        .since(9);
  }
};
using ReplacementRow = ReplacementOf<RowId>;

template <typename Key>
struct PipelineOf {
  Key id = 0;
  Key device = 0;
  std::string hash;
  std::string bind_point;
  std::string name;
  std::string not_instrumented;
  bool bound = false;
  std::vector<Key> shaders;  // rows of pipeline_shader

  static constexpr auto table() {
    using Row = PipelineOf;
    return store::table(
        Section::Definitions, "pipeline", "a pipeline", column("id", &Row::id),
        column("device", &Row::device).references("device"),
        column("hash", &Row::hash,
               "of its stages, entry points, modules and specialization: identifies the pipeline "
               "in other captures"),
        column("bind_point", &Row::bind_point, "graphics, compute, ray tracing"),
        column("name", &Row::name, "debug name").not_sent(),
        column("not_instrumented", &Row::not_instrumented),
        column(
            "bound", &Row::bound,
            "1: a command buffer that was recorded for captured frames bound it, executed or not")
            .not_sent());
  }
};
using PipelineRow = PipelineOf<RowId>;

struct PipelineShaderRow {
  RowId pipeline = 0;
  int64_t position = 0;
  RowId shader = 0;

  static constexpr auto table() {
    using Row = PipelineShaderRow;
    return store::table(Section::Definitions, "pipeline_shader", "a shader that a pipeline has",
                        column("pipeline", &Row::pipeline).references("pipeline"),
                        column("position", &Row::position),
                        column("shader", &Row::shader).references("shader"))
        .constrained("PRIMARY KEY (pipeline, position)")
        .without_rowid();
  }
};

// A number that the driver's compiler gives for an executable of a pipeline: a stage, or several
// that it has joined.
template <typename Key>
struct PipelineStatisticOf {
  Key pipeline = 0;
  uint32_t executable = 0;
  uint32_t position = 0;
  std::string executable_name;
  std::string executable_description;
  uint32_t stages = 0;
  uint32_t subgroup_size = 0;
  std::string name;
  std::string description;
  StatisticFormat format = StatisticFormat::Bool;
  double value = 0;

  static constexpr auto table() {
    using Row = PipelineStatisticOf;
    return store::table(
               Section::Definitions, "pipeline_statistic",
               "a number that the driver's compiler gives for an executable of a pipeline "
               "(VK_KHR_pipeline_executable_properties), without the code that counts",
               column("pipeline", &Row::pipeline).references("pipeline"),
               column("executable", &Row::executable, "number in the pipeline, from 0"),
               column("position", &Row::position, "number in the executable, from 0"),
               column("executable_name", &Row::executable_name),
               column("executable_description", &Row::executable_description),
               column("stages", &Row::stages, "bits of VkShaderStageFlagBits; may be several"),
               column("subgroup_size", &Row::subgroup_size, "0: not known"),
               column("name", &Row::name), column("description", &Row::description),
               column("format", &Row::format),
               column("value", &Row::value, "rounded beyond 2^53; infinities and NaN have no row"))
        .constrained("PRIMARY KEY (pipeline, executable, position)")
        .without_rowid()
        .on_conflict(Conflict::Ignore)
        .since(10);
  }
};
using PipelineStatisticRow = PipelineStatisticOf<RowId>;

// The Vulkan action commands that a capture can record: their names, kinds, and the names of the
// recorded parameters. The stream holds the enumerators' numbers: append new functions.

enum class Function : uint8_t {
  Draw,
  DrawIndexed,
  DrawIndirect,
  DrawIndexedIndirect,
  DrawIndirectCount,
  DrawIndexedIndirectCount,
  DrawIndirectByteCount,
  DrawMulti,
  DrawMultiIndexed,
  DrawMeshTasks,
  DrawMeshTasksIndirect,
  DrawMeshTasksIndirectCount,
  DrawMeshTasksNv,
  DrawMeshTasksIndirectNv,
  DrawMeshTasksIndirectCountNv,
  Dispatch,
  DispatchBase,
  DispatchIndirect,
  TraceRays,
  TraceRaysIndirect,
  TraceRaysIndirect2,
  TraceRaysNv,
  ExecuteGeneratedCommands,
  DrawIndirect2,
  DrawIndexedIndirect2,
  DrawIndirectCount2,
  DrawIndexedIndirectCount2,
  DrawIndirectByteCount2,
  DrawMeshTasksIndirect2,
  DrawMeshTasksIndirectCount2,
  DispatchIndirect2,
};

inline constexpr size_t kFunctionCount = 31;
inline constexpr size_t kMaxParameters = 6;

struct FunctionInfo {
  CallKind kind;
  const char* name;  // "vkCmdDraw"
  std::array<const char*, kMaxParameters>
      parameters;  // names of the specification; null after the last
};

const FunctionInfo& function_info(Function function);
size_t parameter_count(Function function);

}  // namespace tally::store
