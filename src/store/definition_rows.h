// Rows that say who was captured and define what the others refer to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/enums.h"
#include "store/keys.h"
#include "store/table.h"

namespace tally::store {

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
            .since(8, "''"));
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

}  // namespace tally::store
