#include "store/writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>
#include <utility>

#include "store/schema.h"
#include "store/sqlite.h"
#include "store/unique_fd.h"

namespace tally::store {
namespace {

// Bounds how much a dying writer loses, and is large enough that commits do not matter.
constexpr int kRowsPerTransaction = 2'000;

std::string json_array(const std::vector<std::string>& texts) {
  return nlohmann::json(texts).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Positions that follow each other are their first one alone.
std::string positions_json(const Column& positions, size_t size) {
  for (size_t i = 1; i < size; ++i) {
    if (positions.at(i) != positions.at(0) + static_cast<int64_t>(i)) return to_json(positions);
  }
  return to_json({{positions.at(0)}});
}

std::string parameters_json(const std::vector<CommandBatchRow::Parameter>& parameters) {
  std::string json = "{";
  for (const CommandBatchRow::Parameter& parameter : parameters) {
    json += fmt::format("{}\"{}\":{}", json.size() > 1 ? "," : "", parameter.name,
                        to_json(parameter.values));
  }
  return json + "}";
}

bool is_capture(int file) {
  unsigned char header[72] = {};
  if (::read(file, header, sizeof header) != sizeof header) return false;
  const uint32_t id = uint32_t{header[68]} << 24 | uint32_t{header[69]} << 16 |
                      uint32_t{header[70]} << 8 | uint32_t{header[71]};
  return id == static_cast<uint32_t>(kCaptureApplicationId);
}

// SQLite holds a lock on a part of each database that is open.
bool is_in_use(int file) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return ::fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

// Removes a capture, or nothing at all: a file that is not one of ours is somebody's work. An empty
// one is taken as it is.
Status make_room(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  if (!S_ISREG(info.st_mode)) return Error{path + ": is not a regular file"};
  if (info.st_size > 0) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!is_capture(file.get())) {
      return Error{path + ": exists and is not a Tally capture; it is left as it is"};
    }
    if (is_in_use(file.get())) {
      return Error{path +
                   ": is in use, perhaps by a tally run that writes it; it is left as it is"};
    }
    ::unlink(path.c_str());
  }
  for (const char* suffix : {"-wal", "-shm", "-journal"}) ::unlink((path + suffix).c_str());
  return {};
}

}  // namespace

struct Writer::State {
  Database database;
  std::string path;
  Status status;
  int rows_in_transaction = 0;
  bool in_transaction = false;
  std::map<std::string, Statement, std::less<>> statements;
  std::map<std::pair<std::string, std::string>, RowId> metrics;
  std::map<std::string, RowId> modules;
  std::map<std::string, RowId> region_counters;
  std::map<std::pair<RowId, std::string>, RowId> labels;
  std::map<std::string, RowId> functions;

  State(Database opened, std::string file) : database(std::move(opened)), path(std::move(file)) {}

  void note(const Status& result) {
    if (!result && status.ok()) status = with_context(result.error(), path);
  }

  void begin_transaction() {
    if (in_transaction || !status.ok()) return;
    note(database.execute("BEGIN"));
    in_transaction = true;
  }

  void end_transaction() {
    if (in_transaction && status.ok()) note(database.execute("COMMIT"));
    in_transaction = false;
    rows_in_transaction = 0;
  }

  Statement* statement(std::string_view sql) {
    const auto found = statements.find(sql);
    if (found != statements.end()) return &found->second;
    Result<Statement> made = database.prepare(sql);
    if (!made) {
      note(made.error());
      return nullptr;
    }
    return &statements.emplace(std::string(sql), std::move(*made)).first->second;
  }

  template <typename... Values>
  void run(std::string_view sql, const Values&... values) {
    if (!status.ok()) return;
    begin_transaction();
    Statement* prepared = statement(sql);
    if (!prepared) return;
    (prepared->bind(values), ...);
    note(prepared->run());
    if (++rows_in_transaction >= kRowsPerTransaction) end_transaction();
  }

  template <typename... Values>
  RowId insert(std::string_view sql, const Values&... values) {
    run(sql, values...);
    return status.ok() ? database.last_row_id() : 0;
  }

  // The id that `known` holds for `key`, or of the row that `make` inserts.
  template <typename Map, typename Make>
  RowId intern(Map& known, typename Map::key_type key, Make make) {
    const auto found = known.find(key);
    if (found != known.end()) return found->second;
    const RowId id = make();
    known.emplace(std::move(key), id);
    return id;
  }
};

Writer::Writer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;

Writer::~Writer() {
  if (state_) state_->end_transaction();
}

Result<Writer> Writer::create(const std::string& path, const CaptureRow& capture) {
  if (Status room = make_room(path); !room) return room.error();
  Result<Database> opened = Database::open(path, Database::Mode::Create);
  if (!opened) return with_context(opened.error(), path);
  auto state = std::make_unique<State>(std::move(*opened), path);
  const std::string pragmas = fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};",
                                          kCaptureApplicationId, kCaptureVersion);
  // What was written survives the end of any process, but not that of the system: waiting for the
  // disk would cost more than most captures.
  state->note(state->database.execute("PRAGMA synchronous = OFF"));
  // The schema goes in before WAL mode, in one transaction: a file that has the identity has all
  // tables.
  state->note(state->database.execute("BEGIN"));
  state->note(state->database.execute(pragmas.c_str()));
  state->note(state->database.execute(schema_sql().c_str()));
  state->note(state->database.execute("COMMIT"));
  state->note(state->database.execute("PRAGMA journal_mode = WAL"));
  state->run("INSERT INTO capture VALUES (1, ?, ?, ?, ?, ?, NULL, NULL, ?, ?)",
             capture.tool_version, json_array(capture.command_line), capture.working_directory,
             capture.start_unix_ns, capture.start_monotonic_ns, capture.frame_range,
             capture.shader_pattern);
  state->end_transaction();
  if (!state->status) return state->status.error();
  return Writer(std::move(state));
}

RowId Writer::add(const ProcessRow& row) {
  return state_->insert("INSERT INTO process VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row.pid,
                        row.parent_pid, row.executable, json_array(row.command_line),
                        row.application, row.engine, row.start_ns, row.end_ns,
                        std::string_view(word(row.ending)), row.commands_missing);
}

RowId Writer::add(const DeviceRow& row) {
  return state_->insert("INSERT INTO device VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                        row.process, row.name, row.type, int64_t{row.vendor_id},
                        int64_t{row.device_id}, int64_t{row.api_version}, row.driver_name,
                        row.driver_info, int64_t{row.driver_version}, row.uuid,
                        row.timestamp_period_ns, int64_t{row.per_block}, row.not_captured);
}

RowId Writer::add(const QueueRow& row) {
  return state_->insert("INSERT INTO queue VALUES (NULL, ?, ?, ?, ?, ?, ?)", row.device,
                        int64_t{row.family}, int64_t{row.position}, int64_t{row.flags},
                        int64_t{row.timestamp_bits}, row.name);
}

RowId Writer::add(const MetricRow& row) {
  return state_->intern(state_->metrics, {row.name, row.description}, [&] {
    return state_->insert("INSERT INTO metric VALUES (NULL, ?, ?)", row.name, row.description);
  });
}

RowId Writer::add(const ModuleRow& row) {
  return state_->intern(state_->modules, row.hash, [&] {
    return state_->insert("INSERT INTO module VALUES (NULL, ?, ?, ?)", row.hash, row.name,
                          std::as_bytes(std::span(row.spirv)));
  });
}

RowId Writer::add(const ShaderRow& row) {
  return state_->insert("INSERT INTO shader VALUES (NULL, ?, ?, ?, ?, ?)", row.device, row.module,
                        int64_t{row.stage}, row.entry_point, row.not_instrumented);
}

RowId Writer::add(const PipelineRow& row) {
  const RowId id = state_->insert("INSERT INTO pipeline VALUES (NULL, ?, ?, ?, ?, ?)", row.device,
                                  row.hash, row.bind_point, row.name, row.not_instrumented);
  int64_t position = 0;
  for (const RowId shader : row.shaders) {
    state_->run("INSERT INTO pipeline_shader VALUES (?, ?, ?)", id, position++, shader);
  }
  return id;
}

RowId Writer::add(const ObjectRow& row) {
  return state_->insert("INSERT INTO object VALUES (NULL, ?, ?, ?, ?)", row.device, row.type,
                        static_cast<int64_t>(row.handle), row.name);
}

RowId Writer::add(const LabelRow& row) {
  return state_->intern(state_->labels, {row.parent.value_or(0), row.name}, [&] {
    return state_->insert("INSERT INTO label VALUES (NULL, ?, ?)", row.parent, row.name);
  });
}

RowId Writer::add(const FunctionRow& row) {
  return state_->intern(state_->functions, row.name, [&] {
    return state_->insert("INSERT INTO function VALUES (NULL, ?, ?)",
                          std::string_view(word(row.kind)), row.name);
  });
}

RowId Writer::add(const FrameRow& row) {
  return state_->insert("INSERT INTO frame VALUES (NULL, ?, ?, ?, ?, ?, ?)", row.device, row.number,
                        std::string_view(word(row.ended_by)), row.begin_ns, row.end_ns,
                        row.commands_missing);
}

RowId Writer::add(const FrameCounterRow& row) {
  return state_->insert("INSERT INTO frame_counter VALUES (NULL, ?, ?, ?, ?, ?, ?)", row.device,
                        row.group, row.name, row.unit, stored(row.denominator),
                        int64_t{row.is_level});
}

RowId Writer::add(const SubmissionRow& row) {
  return state_->insert("INSERT INTO submission VALUES (NULL, ?, ?, ?, ?, ?)", row.frame, row.queue,
                        row.number, row.time_ns, row.label);
}

RowId Writer::add(const ExecutionRow& row) {
  return state_->insert("INSERT INTO execution VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)",
                        row.submission, row.position, row.parent, row.parent_command,
                        row.command_buffer, row.recording, row.runs, int64_t{row.overlapped});
}

RowId Writer::add(const PassRow& row) {
  return state_->insert("INSERT INTO pass VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                        row.execution, row.position, std::string_view(word(row.kind)),
                        row.render_pass, row.framebuffer, int64_t{row.width}, int64_t{row.height},
                        int64_t{row.layers}, int64_t{row.view_mask}, row.attachments, row.label,
                        row.gpu_begin_ns, row.gpu_time_ns);
}

RowId Writer::add(const RegionCounterRow& row) {
  return state_->intern(state_->region_counters, row.name, [&] {
    return state_->insert("INSERT INTO region_counter VALUES (NULL, ?)", row.name);
  });
}

RowId Writer::add(const PassRegionsRow& row) {
  return state_->insert("INSERT INTO pass_regions VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                        row.pass, int64_t{row.subpass}, int64_t{row.layer}, row.x, row.y,
                        int64_t{row.width}, int64_t{row.height}, int64_t{row.region_width},
                        int64_t{row.region_height});
}

void Writer::add(const RegionValuesRow& row) {
  const uint64_t total = std::accumulate(row.by_region.begin(), row.by_region.end(), uint64_t{0});
  state_->run("INSERT OR REPLACE INTO region_values VALUES (?, ?, ?, ?)", row.regions, row.counter,
              stored(total), std::as_bytes(std::span(row.by_region)));
}

void Writer::add(const PassPictureRow& row) {
  state_->run("INSERT OR REPLACE INTO pass_picture VALUES (?, ?, ?, ?, ?, ?)", row.pass,
              int64_t{row.layer}, int64_t{row.attachment}, int64_t{row.width}, int64_t{row.height},
              std::span<const std::byte>(row.png));
}

RowId Writer::add(const CommandBatchRow& row) {
  return state_->insert(
      "INSERT INTO command_batch VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row.execution,
      static_cast<int64_t>(row.size), row.function, row.pipeline, row.pass, int64_t{row.subpass},
      int64_t{row.counted}, positions_json(row.positions, row.size), to_json(row.labels),
      parameters_json(row.parameters), to_json(row.gpu_begin_ns), to_json(row.gpu_time_ns));
}

RowId Writer::add(const MessageRow& row) {
  return state_->insert("INSERT INTO message VALUES (NULL, ?, ?, ?, ?, ?)", row.process,
                        row.time_ns, std::string_view(word(row.severity)), row.text, row.count);
}

void Writer::add(const FrameValueRow& row) {
  state_->run("INSERT OR REPLACE INTO frame_value VALUES (?, ?, ?)", row.frame, row.counter,
              stored(row.value));
}

void Writer::add(const BlockCostRow& row) {
  state_->run("INSERT OR IGNORE INTO block_cost VALUES (?, ?, ?, ?)", row.shader,
              int64_t{row.block}, row.metric, stored(row.per_execution));
}

void Writer::add(const BlockCountRow& row) {
  state_->run("INSERT OR REPLACE INTO batch_count VALUES (?, ?, ?, ?, ?)", row.batch,
              int64_t{row.sub}, int64_t{row.stage}, int64_t{row.block}, to_json(row.executions));
}

void Writer::add(const BlockOtherRow& row) {
  state_->run("INSERT OR REPLACE INTO batch_other VALUES (?, ?, ?, ?, ?, ?)", row.batch,
              int64_t{row.sub}, int64_t{row.stage}, int64_t{row.block}, row.metric,
              to_json(row.values));
}

void Writer::add_device_metric(RowId device, uint32_t position, RowId metric) {
  state_->run("INSERT OR REPLACE INTO device_metric VALUES (?, ?, ?)", device, int64_t{position},
              metric);
}

void Writer::set_module_name(RowId module, const std::string& name) {
  state_->run("UPDATE module SET name = ? WHERE id = ?", name, module);
}

void Writer::set_pipeline_name(RowId pipeline, const std::string& name) {
  state_->run("UPDATE pipeline SET name = ? WHERE id = ?", name, pipeline);
}

void Writer::set_object_name(RowId object, const std::string& name) {
  state_->run("UPDATE object SET name = ? WHERE id = ?", name, object);
}

void Writer::set_queue_name(RowId queue, const std::string& name) {
  state_->run("UPDATE queue SET name = ? WHERE id = ?", name, queue);
}

void Writer::set_shader_not_instrumented(RowId shader, const std::string& reason) {
  state_->run("UPDATE shader SET not_instrumented = ? WHERE id = ?", reason, shader);
}

void Writer::end_process(RowId process, int64_t end_ns, Ending ending,
                         std::optional<int64_t> commands_missing) {
  state_->run("UPDATE process SET end_ns = ?, ending = ?, commands_missing = ? WHERE id = ?",
              end_ns, std::string_view(word(ending)), commands_missing, process);
}

void Writer::end_frame(RowId frame, int64_t end_ns, FrameEnd ended_by) {
  state_->run("UPDATE frame SET end_ns = ?, ended_by = ? WHERE id = ?", end_ns,
              std::string_view(word(ended_by)), frame);
}

void Writer::add_missing(RowId frame, int64_t commands) {
  state_->run("UPDATE frame SET commands_missing = commands_missing + ? WHERE id = ?", commands,
              frame);
}

void Writer::commit() { state_->end_transaction(); }

const Status& Writer::status() const { return state_->status; }

Status Writer::finish(int64_t end_monotonic_ns, std::optional<int64_t> exit_status) {
  state_->run("UPDATE capture SET end_monotonic_ns = ?, exit_status = ?", end_monotonic_ns,
              exit_status);
  state_->end_transaction();
  state_->statements.clear();
  // Somebody may be reading: then the capture stays in WAL mode, as readable as before.
  if (state_->status.ok() && !state_->database.execute("PRAGMA journal_mode = DELETE")) {
    state_->note(state_->database.execute("PRAGMA wal_checkpoint(PASSIVE)"));
  }
  if (state_->status.ok()) state_->note(state_->database.close());
  Status result = state_->status;
  if (result.ok()) state_->status = Error{state_->path + ": is finished"};
  return result;
}

}  // namespace tally::store
