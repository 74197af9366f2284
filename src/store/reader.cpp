#include "store/reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "store/schema.h"

namespace tally::store {
namespace {

constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr size_t kHeaderBytes = 100;

uint32_t big_endian(const unsigned char* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

struct FileHead {
  std::array<unsigned char, kHeaderBytes> bytes{};
  ssize_t read = 0;
  int64_t file_size = 0;
  bool has_wal = false;  // then the end of the file may still be in the log
};

Result<FileHead> read_head(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return Error{std::strerror(errno)};
  FileHead head;
  struct stat info {};
  const bool regular = ::fstat(file, &info) == 0 && S_ISREG(info.st_mode);
  if (regular) head.read = ::pread(file, head.bytes.data(), head.bytes.size(), 0);
  head.file_size = info.st_size;
  struct stat wal {};
  head.has_wal = ::stat((path + "-wal").c_str(), &wal) == 0 && wal.st_size > 0;
  ::close(file);
  if (!regular) return Error{"is not a regular file"};
  return head;
}

Status check_version(int64_t version) {
  if (version >= kOldestCaptureVersion && version <= kCaptureVersion) return {};
  if (version > kCaptureVersion) {
    return Error{fmt::format("is a capture of format {}, newer than the {} that this tally reads",
                             version, kCaptureVersion)};
  }
  return Error{
      fmt::format("is a capture of format {}, older than the {} that this tally reads; "
                  "capture again",
                  version, kOldestCaptureVersion)};
}

int64_t version_of(const FileHead& head) { return big_endian(head.bytes.data() + 60); }

// From the first bytes alone, before SQLite sees the file.
Status check_head(const FileHead& head) {
  const auto* bytes = head.bytes.data();
  const size_t read = head.read > 0 ? static_cast<size_t>(head.read) : 0;
  if (read < kMagic.size() || std::memcmp(bytes, kMagic.data(), kMagic.size()) != 0) {
    return Error{"is not a Tally capture"};
  }
  if (read < kHeaderBytes) return Error{"is a truncated file"};
  if (big_endian(bytes + 68) != static_cast<uint32_t>(kCaptureApplicationId)) {
    return Error{"is an SQLite database, but not a Tally capture"};
  }
  if (Status version = check_version(version_of(head)); !version) return version;
  const uint32_t stored_size = uint32_t{bytes[16]} << 8 | bytes[17];
  const int64_t page_size = stored_size == 1 ? 65536 : stored_size;
  const int64_t expected_size = page_size * big_endian(bytes + 28);
  if (!head.has_wal && head.file_size < expected_size) return Error{"is a truncated capture"};
  return {};
}

Status check_tables(const Database& database) {
  for (const char* table : schema_tables()) {
    Result<Statement> found =
        database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?");
    if (!found) return found.error();
    found->bind(std::string_view(table));
    const bool there = found->step();
    if (!found->status()) return found->status();
    if (!there) return Error{fmt::format("is a damaged capture: it has no table '{}'", table)};
  }
  return {};
}

std::vector<std::string> texts_of(const std::string& json) {
  std::vector<std::string> texts;
  const nlohmann::json parsed = nlohmann::json::parse(json, nullptr, false);
  if (!parsed.is_array()) return texts;
  for (const auto& item : parsed) {
    if (item.is_string()) texts.push_back(item.get<std::string>());
  }
  return texts;
}

uint32_t u32(const Statement& row, int column) {
  return static_cast<uint32_t>(row.integer(column));
}
uint64_t u64(const Statement& row, int column) {
  return static_cast<uint64_t>(row.integer(column));
}

template <typename Enum>
Enum enum_of(const Statement& row, int column) {
  return from_word<Enum>(row.text(column))
      .value_or(Enum{});  // the schema's CHECK admits no other word
}

// Runs `sql` and hands each row to `visit` until that returns false.
template <typename Visit>
Status each(const Database& database, std::string_view sql, Visit visit) {
  Result<Statement> statement = database.prepare(sql);
  if (!statement) return statement.error();
  while (statement->step()) {
    if (!visit(*statement)) return {};
  }
  return statement->status();
}

template <typename Row, typename Make>
Result<std::vector<Row>> all(const Database& database, std::string_view sql, Make make) {
  std::vector<Row> rows;
  const Status status = each(database, sql, [&](const Statement& row) {
    rows.push_back(make(row));
    return true;
  });
  if (!status) return status.error();
  return rows;
}

CaptureRow capture_of(const Statement& row) {
  return {.tool_version = row.text(1),
          .command_line = texts_of(row.text(2)),
          .working_directory = row.text(3),
          .start_unix_ns = row.integer(4),
          .start_monotonic_ns = row.integer(5),
          .end_monotonic_ns = row.optional_integer(6),
          .exit_status = row.optional_integer(7),
          .frame_range = row.text(8),
          .shader_pattern = row.text(9)};
}

ProcessRow process_of(const Statement& row) {
  return {.id = row.integer(0),
          .pid = row.integer(1),
          .parent_pid = row.integer(2),
          .executable = row.text(3),
          .command_line = texts_of(row.text(4)),
          .application = row.text(5),
          .engine = row.text(6),
          .start_ns = row.integer(7),
          .end_ns = row.optional_integer(8),
          .ending = enum_of<Ending>(row, 9),
          .commands_missing = row.optional_integer(10)};
}

DeviceRow device_of(const Statement& row) {
  return {.id = row.integer(0),
          .process = row.integer(1),
          .name = row.text(2),
          .type = row.text(3),
          .vendor_id = u32(row, 4),
          .device_id = u32(row, 5),
          .api_version = u32(row, 6),
          .driver_name = row.text(7),
          .driver_info = row.text(8),
          .driver_version = u32(row, 9),
          .uuid = row.text(10),
          .timestamp_period_ns = row.real(11),
          .per_block = row.integer(12) != 0,
          .not_captured = row.text(13)};
}

MetricRow metric_of(const Statement& row) {
  return {.id = row.integer(0), .name = row.text(1), .description = row.text(2)};
}

}  // namespace

Reader::Reader(Database database, std::string path)
    : database_(std::move(database)), path_(std::move(path)) {}

Result<Reader> Reader::open(const std::string& path) {
  const auto wrong = [&](const Error& error) { return Error{path + ": " + error.message}; };
  const Result<FileHead> head = read_head(path);
  if (!head) return wrong(head.error());
  if (Status checked = check_head(*head); !checked) return wrong(checked.error());
  Result<Database> database = Database::open(path, Database::Mode::Read);
  if (!database) return wrong(database.error());
  if (Status tables = check_tables(*database); !tables) return wrong(tables.error());
  if (Status views = database->execute(temporary_views_sql().c_str()); !views) {
    return wrong(views.error());
  }
  Reader reader(std::move(*database), path);
  if (Result<CaptureRow> row = reader.capture(); !row) return wrong(row.error());
  return reader;
}

Result<CaptureRow> Reader::capture() const {
  auto rows = all<CaptureRow>(database_, "SELECT * FROM capture", capture_of);
  if (!rows) return rows.error();
  if (rows->size() != 1) return Error{"is a damaged capture: it does not say what it captured"};
  return std::move(rows->front());
}

Result<std::vector<ProcessRow>> Reader::processes() const {
  return all<ProcessRow>(database_, "SELECT * FROM process ORDER BY id", process_of);
}

Result<std::vector<DeviceRow>> Reader::devices() const {
  return all<DeviceRow>(database_, "SELECT * FROM device ORDER BY id", device_of);
}

Result<std::vector<QueueRow>> Reader::queues() const {
  return all<QueueRow>(database_, "SELECT * FROM queue ORDER BY device, family, position",
                       [](const Statement& row) {
                         return QueueRow{.id = row.integer(0),
                                         .device = row.integer(1),
                                         .family = u32(row, 2),
                                         .position = u32(row, 3),
                                         .flags = u32(row, 4),
                                         .timestamp_bits = u32(row, 5),
                                         .name = row.text(6)};
                       });
}

Result<std::vector<MetricRow>> Reader::metrics() const {
  return all<MetricRow>(database_,
                        "SELECT metric.id, name, description FROM metric LEFT JOIN device_metric "
                        "ON device_metric.metric = metric.id GROUP BY metric.id "
                        "ORDER BY min(position), metric.id",
                        metric_of);
}

Result<std::vector<MetricRow>> Reader::device_metrics(RowId device) const {
  Result<Statement> rows = database_.prepare(
      "SELECT metric.id, name, description FROM device_metric JOIN metric ON metric.id = "
      "device_metric.metric WHERE device = ? ORDER BY position");
  if (!rows) return rows.error();
  std::vector<MetricRow> metrics;
  rows->bind(device);
  while (rows->step()) metrics.push_back(metric_of(*rows));
  if (!rows->status()) return rows->status().error();
  return metrics;
}

Result<std::vector<ModuleRow>> Reader::modules() const {
  return all<ModuleRow>(
      database_, "SELECT id, hash, name FROM module ORDER BY id", [](const Statement& row) {
        return ModuleRow{
            .id = row.integer(0), .hash = row.text(1), .name = row.text(2), .spirv = {}};
      });
}

Result<std::vector<uint32_t>> Reader::spirv(RowId module) const {
  Result<Statement> row = database_.prepare("SELECT spirv FROM module WHERE id = ?");
  if (!row) return row.error();
  row->bind(module);
  if (!row->step()) return row->status() ? Error{"no such module"} : row->status().error();
  const std::span<const std::byte> bytes = row->blob(0);
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint32_t));
  return words;
}

Result<std::vector<ShaderRow>> Reader::shaders() const {
  return all<ShaderRow>(database_, "SELECT * FROM shader ORDER BY id", [](const Statement& row) {
    return ShaderRow{.id = row.integer(0),
                     .device = row.integer(1),
                     .module = row.optional_integer(2),
                     .stage = u32(row, 3),
                     .entry_point = row.text(4),
                     .not_instrumented = row.text(5)};
  });
}

Result<std::vector<PipelineRow>> Reader::pipelines() const {
  auto pipelines =
      all<PipelineRow>(database_, "SELECT * FROM pipeline ORDER BY id", [](const Statement& row) {
        return PipelineRow{.id = row.integer(0),
                           .device = row.integer(1),
                           .hash = row.text(2),
                           .bind_point = row.text(3),
                           .name = row.text(4),
                           .not_instrumented = row.text(5),
                           .shaders = {}};
      });
  if (!pipelines) return pipelines;
  // Both are ordered by the pipeline: one walk along the two.
  size_t at = 0;
  const Status status =
      each(database_, "SELECT pipeline, shader FROM pipeline_shader ORDER BY pipeline, position",
           [&](const Statement& row) {
             while (at < pipelines->size() && (*pipelines)[at].id < row.integer(0)) ++at;
             if (at == pipelines->size()) return false;
             if ((*pipelines)[at].id == row.integer(0)) {
               (*pipelines)[at].shaders.push_back(row.integer(1));
             }
             return true;
           });
  if (!status) return status.error();
  return pipelines;
}

Result<std::vector<ObjectRow>> Reader::objects() const {
  return all<ObjectRow>(database_, "SELECT * FROM object ORDER BY id", [](const Statement& row) {
    return ObjectRow{.id = row.integer(0),
                     .device = row.integer(1),
                     .type = row.text(2),
                     .handle = u64(row, 3),
                     .name = row.text(4)};
  });
}

Result<std::vector<LabelRow>> Reader::labels() const {
  return all<LabelRow>(database_, "SELECT * FROM label ORDER BY id", [](const Statement& row) {
    return LabelRow{.id = row.integer(0), .parent = row.optional_integer(1), .name = row.text(2)};
  });
}

Result<std::vector<FunctionRow>> Reader::functions() const {
  return all<FunctionRow>(
      database_, "SELECT * FROM function ORDER BY id", [](const Statement& row) {
        return FunctionRow{
            .id = row.integer(0), .kind = enum_of<CallKind>(row, 1), .name = row.text(2)};
      });
}

Result<std::vector<FrameRow>> Reader::frames() const {
  return all<FrameRow>(database_, "SELECT * FROM frame ORDER BY device, number",
                       [](const Statement& row) {
                         return FrameRow{.id = row.integer(0),
                                         .device = row.integer(1),
                                         .number = row.integer(2),
                                         .ended_by = enum_of<FrameEnd>(row, 3),
                                         .begin_ns = row.integer(4),
                                         .end_ns = row.optional_integer(5),
                                         .commands_missing = row.integer(6)};
                       });
}

Result<std::vector<FrameCounterRow>> Reader::frame_counters() const {
  return all<FrameCounterRow>(database_, "SELECT * FROM frame_counter ORDER BY id",
                              [](const Statement& row) {
                                return FrameCounterRow{.id = row.integer(0),
                                                       .device = row.integer(1),
                                                       .group = row.text(2),
                                                       .name = row.text(3),
                                                       .unit = row.text(4),
                                                       .denominator = u64(row, 5),
                                                       .is_level = row.integer(6) != 0};
                              });
}

Status Reader::for_each_frame_value(const std::function<bool(const FrameValueRow&)>& visit) const {
  return each(database_, "SELECT * FROM frame_value ORDER BY frame, counter",
              [&](const Statement& row) {
                return visit({row.integer(0), row.integer(1), u64(row, 2)});
              });
}

Result<std::vector<MessageRow>> Reader::messages() const {
  return all<MessageRow>(database_, "SELECT * FROM message ORDER BY id", [](const Statement& row) {
    return MessageRow{.id = row.integer(0),
                      .process = row.optional_integer(1),
                      .time_ns = row.integer(2),
                      .severity = enum_of<Severity>(row, 3),
                      .text = row.text(4),
                      .count = row.integer(5)};
  });
}

Status Reader::for_each_submission(const std::function<bool(const SubmissionRow&)>& visit) const {
  return each(database_, "SELECT * FROM submission ORDER BY id", [&](const Statement& row) {
    return visit({.id = row.integer(0),
                  .frame = row.integer(1),
                  .queue = row.integer(2),
                  .number = row.integer(3),
                  .time_ns = row.integer(4),
                  .label = row.optional_integer(5)});
  });
}

Status Reader::for_each_execution(const std::function<bool(const ExecutionRow&)>& visit) const {
  return each(database_, "SELECT * FROM execution ORDER BY id", [&](const Statement& row) {
    return visit({.id = row.integer(0),
                  .submission = row.integer(1),
                  .position = row.integer(2),
                  .parent = row.optional_integer(3),
                  .parent_command = row.optional_integer(4),
                  .command_buffer = row.integer(5),
                  .recording = row.integer(6),
                  .runs = row.integer(7),
                  .overlapped = row.integer(8) != 0});
  });
}

Status Reader::for_each_pass(const std::function<bool(const PassRow&)>& visit) const {
  const char* sql =
      "SELECT pass.*, pass_name.name FROM pass JOIN pass_name ON pass_name.pass = pass.id "
      "ORDER BY pass.id";
  return each(database_, sql, [&](const Statement& row) {
    return visit({.id = row.integer(0),
                  .execution = row.integer(1),
                  .position = row.integer(2),
                  .kind = enum_of<PassKind>(row, 3),
                  .name = row.text(14),
                  .render_pass = row.optional_integer(4),
                  .framebuffer = row.optional_integer(5),
                  .width = u32(row, 6),
                  .height = u32(row, 7),
                  .layers = u32(row, 8),
                  .view_mask = u32(row, 9),
                  .attachments = row.text(10),
                  .label = row.optional_integer(11),
                  .gpu_begin_ns = row.optional_integer(12),
                  .gpu_time_ns = row.optional_integer(13)});
  });
}

Status Reader::for_each_block_cost(const std::function<bool(const BlockCostRow&)>& visit) const {
  return each(database_, "SELECT * FROM block_cost ORDER BY shader, block, metric",
              [&](const Statement& row) {
                return visit({.shader = row.integer(0),
                              .block = u32(row, 1),
                              .metric = row.integer(2),
                              .per_execution = u64(row, 3)});
              });
}

}  // namespace tally::store
