#include "store/write/writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/file.h"
#include "platform/files.h"
#include "store/format/schema.h"
#include "store/format/sqlite.h"

namespace tally::store {

namespace {

bool is_capture(int file) {
  unsigned char header[72] = {};
  if (platform::read_at(file, header, sizeof header, 0) != sizeof header) return false;
  const uint32_t id = uint32_t{header[68]} << 24 | uint32_t{header[69]} << 16 |
                      uint32_t{header[70]} << 8 | uint32_t{header[71]};
  return id == static_cast<uint32_t>(kCaptureApplicationId);
}

// Removes the capture at `path`, with the files that SQLite keeps next to it. An empty file stays.
// Any other file, and a capture that is open, is an error and stays.
Status remove_old_capture(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return {};
  if (!fs::is_regular_file(path, ignored)) return Error{path + ": not a regular file"};
  const bool is_empty = fs::file_size(path, ignored) == 0;
  if (!is_empty) {
    const UniqueFd file(platform::open_to_read(path));
    if (!is_capture(file.get())) {
      return Error{path + ": exists and is not a Tally capture; refusing to replace it"};
    }
    if (platform::is_locked_by_sqlite(file.get())) {
      return Error{path +
                   ": in use, perhaps by a tally run that writes it; refusing to replace it"};
    }
  }
  if (!is_empty && !platform::Folder::current().remove_file(path) && errno != ENOENT)
    return Error{path + ": " + std::strerror(errno)};  // Windows keeps a file that is open
  for (const char* suffix : {"-wal", "-shm", "-journal"}) fs::remove(path + suffix, ignored);
  return {};
}

}  // namespace

// The ids of the rows that a capture holds once, by what identifies them. (Labels are looked up in
// the capture: a long run has many, and they may be removed.)

inline auto identity(const MetricRow& row) { return std::pair(row.name, row.description); }
inline auto identity(const ModuleRow& row) { return row.hash; }
inline auto identity(const FunctionRow& row) { return row.name; }
inline auto identity(const RegionCounterRow& row) { return row.name; }

template <typename Row>
concept Interned = requires(const Row& row) {
  identity(row);
};

class InternedRows {
 public:
  // The id of the row that is equal to `row`, or that `insert` returns for it.
  template <Interned Row, typename Insert>
  RowId find_or(const Row& row, Insert insert) {
    auto& ids = std::get<Ids<Row>>(ids_).by_identity;
    auto key = identity(row);
    if (const auto found = ids.find(key); found != ids.end()) return found->second;
    const RowId id = insert();
    ids.emplace(std::move(key), id);
    return id;
  }

 private:
  template <Interned Row>
  struct Ids {
    std::map<decltype(identity(std::declval<const Row&>())), RowId> by_identity;
  };
  std::tuple<Ids<MetricRow>, Ids<ModuleRow>, Ids<FunctionRow>, Ids<RegionCounterRow>> ids_;
};

namespace {

// Bounds what is lost when the process dies; at this size the cost of commits is small.
constexpr int kRowsPerTransaction = 2'000;

}  // namespace

struct Writer::State {
  Database database;
  std::string path;
  Status status;
  int rows_in_transaction = 0;
  bool in_transaction = false;
  std::map<std::string, Statement, std::less<>> statements;
  InternedRows interned;
  size_t added = 0;          // objects and labels since the last remove_unused()
  size_t left = 0;           // after it
  RowId last_value_set = 0;  // counts down
  RowId last_time_sample = 0;
  std::set<RowId> value_sets;

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

  // Runs `sql` with the values that `bind` binds.
  template <typename Bind>
  void run_with(std::string_view sql, Bind bind) {
    if (!status.ok()) return;
    begin_transaction();
    Statement* prepared = statement(sql);
    if (!prepared) return;
    bind(*prepared);
    note(prepared->run());
    if (++rows_in_transaction >= kRowsPerTransaction) end_transaction();
  }

  template <typename... Values>
  void run(std::string_view sql, const Values&... values) {
    run_with(sql, [&](Statement& prepared) { (prepared.bind(values), ...); });
  }

  // A statement costs more than a small row, so each inserts as many rows as it can: a power of
  // two.
  template <typename Row>
  void insert_all(std::span<const Row> rows) {
    constexpr size_t kMaxRows = 32;
    static const auto sql = [] {
      std::array<std::string, std::bit_width(kMaxRows)> texts;  // texts[i] inserts 2^i rows
      for (size_t i = 0; i < texts.size(); ++i) {
        texts[i] = insert_sql(table_text<Row>(), size_t{1} << i);
      }
      return texts;
    }();
    while (!rows.empty()) {
      const size_t count = std::bit_floor(std::min(rows.size(), kMaxRows));
      run_with(sql[std::bit_width(count) - 1], [&](Statement& prepared) {
        for (const Row& row : rows.first(count)) bind_row(prepared, row);
      });
      rows_in_transaction += static_cast<int>(count) - 1;
      rows = rows.subspan(count);
    }
  }

  // The id where the table has one.
  template <typename Row>
  RowId insert(const Row& row) {
    static const std::string sql = insert_sql(table_text<Row>());
    run_with(sql, [&](Statement& prepared) { bind_row(prepared, row); });
    return status.ok() ? database.last_row_id() : 0;
  }

  // Calls `visit(statement)` for each row.
  template <typename Visit>
  void query(std::string_view sql, Visit visit) {
    if (!status.ok()) return;
    Statement* const prepared = statement(sql);
    if (!prepared) return;
    while (prepared->step()) visit(std::as_const(*prepared));
    note(prepared->status());
  }

  // A long run has too many labels to keep them all in memory.
  RowId find_or_insert(const LabelRow& row) {
    std::optional<RowId> found;
    if (status.ok()) {
      Statement* const prepared =
          statement("SELECT id FROM label WHERE ifnull(parent, 0) = ? AND name = ?");
      if (!prepared) return 0;
      prepared->bind(row.parent.value_or(0)).bind(row.name);
      while (prepared->step()) found = prepared->integer(0);
      note(prepared->status());
    }
    if (found) return *found;
    ++added;
    return insert(row);
  }

  // The rows of a table that columns of other tables refer to.
  std::unordered_set<RowId> referenced(std::string_view table) {
    std::unordered_set<RowId> rows;
    const auto add = [&](const Statement& row) { rows.insert(row.integer(0)); };
    for (const TableText& other : schema_tables()) {
      if (other.name == table) continue;
      for (const ColumnText& column : other.columns) {
        if (!column.target || column.target != table) continue;
        query(fmt::format("SELECT DISTINCT {0} FROM {1} WHERE {0} IS NOT NULL", column.name,
                          other.name),
              add);
      }
    }
    return rows;
  }

  void remove(std::string_view table, std::span<const RowId> rows) {
    for (const RowId row : rows) run(fmt::format("DELETE FROM {} WHERE id = ?", table), row);
  }

  RowId insert_pipeline(const PipelineRow& row) {
    const RowId id = insert(row);
    int64_t position = 0;
    for (const RowId shader : row.shaders) {
      insert(PipelineShaderRow{.pipeline = id, .position = position++, .shader = shader});
    }
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
  TALLY_TRY(remove_old_capture(path));
  Database opened = TALLY_TRY(with_context(Database::open(path, Database::Mode::Create), path));
  auto state = std::make_unique<State>(std::move(opened), path);
  const std::string pragmas = fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};",
                                          kCaptureApplicationId, kCaptureVersion);
  // Written data survives the end of any process, but not of the system: waiting for the
  // disk would cost more than most captures.
  state->note(state->database.execute("PRAGMA synchronous = OFF"));
  // The schema is created before WAL mode, in one transaction: a file with the identity has all
  // tables.
  state->note(state->database.execute("BEGIN"));
  state->note(state->database.execute(pragmas.c_str()));
  state->note(state->database.execute(schema_sql().c_str()));
  state->note(state->database.execute("COMMIT"));
  state->note(state->database.execute("PRAGMA journal_mode = WAL"));
  // The checks hold for all that the types of rows allow. SQLite would make a temporary table for
  // each check of an enumerator, which takes longer than inserting the row.
  state->note(state->database.execute("PRAGMA ignore_check_constraints = ON"));
  state->insert(capture);
  state->end_transaction();
  return Writer(std::move(state));
}

template <typename Row>
std::conditional_t<kHasId<Row>, RowId, void> Writer::add(const Row& row) {
  if constexpr (Interned<Row>) {
    return state_->interned.find_or(row, [&] { return state_->insert(row); });
  } else if constexpr (std::is_same_v<Row, PipelineRow>) {
    return state_->insert_pipeline(row);
  } else if constexpr (std::is_same_v<Row, LabelRow>) {
    return state_->find_or_insert(row);
  } else if constexpr (kHasId<Row>) {
    if constexpr (std::is_same_v<Row, ObjectRow>) ++state_->added;
    return state_->insert(row);
  } else {
    state_->insert(row);
  }
}

void Writer::add_all(std::span<const BlockCountRow> rows) { state_->insert_all(rows); }

// A row for each value would take several times as long, and most of the file.
void Writer::add_frame_values(std::span<const FrameValue> values) {
  constexpr size_t kMaxGap = 8;  // counters without a value
  FrameValuesRow row;
  const auto insert = [&] {
    if (!row.values.values.empty()) state_->insert(row);
  };
  for (const FrameValue& one : values) {
    const auto place =
        static_cast<uint64_t>(one.counter) - static_cast<uint64_t>(row.first_counter);
    const size_t size = row.values.values.size();
    if (size == 0 || place < size || place - size > kMaxGap) {
      insert();
      row = {one.frame, one.counter, {{stored(one.value)}}};
      continue;
    }
    row.values.values.resize(place, Column::kNull);
    row.values.values.push_back(stored(one.value));
  }
  insert();
}

template RowId Writer::add(const ProcessRow&);
template RowId Writer::add(const DeviceRow&);
template RowId Writer::add(const QueueRow&);
template RowId Writer::add(const MetricRow&);
template void Writer::add(const DeviceMetricRow&);
template RowId Writer::add(const ModuleRow&);
template RowId Writer::add(const ShaderRow&);
template RowId Writer::add(const PipelineRow&);
template void Writer::add(const PipelineStatisticRow&);
template RowId Writer::add(const ObjectRow&);
template RowId Writer::add(const LabelRow&);
template RowId Writer::add(const FunctionRow&);
template RowId Writer::add(const FrameRow&);
template RowId Writer::add(const FrameCounterRow&);
template void Writer::add(const FrameValuesRow&);
template RowId Writer::add(const SubmissionRow&);
template RowId Writer::add(const ExecutionRow&);
template RowId Writer::add(const PassRow&);
template RowId Writer::add(const RegionCounterRow&);
template RowId Writer::add(const PassRegionsRow&);
template void Writer::add(const RegionValuesRow&);
template void Writer::add(const RegionDrawRow&);
template void Writer::add(const PassPictureRow&);
template RowId Writer::add(const CommandBatchRow&);
template void Writer::add(const BlockCostRow&);
template void Writer::add(const BlockCountRow&);
template void Writer::add(const BlockOtherRow&);
template RowId Writer::add(const MessageRow&);
template RowId Writer::add(const ReplacementRow&);

void Writer::set_module_name(RowId module, const std::string& name) {
  state_->run("UPDATE module SET name = ? WHERE id = ?", name, module);
}

void Writer::set_pipeline_name(RowId pipeline, const std::string& name) {
  state_->run("UPDATE pipeline SET name = ? WHERE id = ?", name, pipeline);
}

void Writer::set_pipeline_bound(RowId pipeline) {
  state_->run("UPDATE pipeline SET bound = 1 WHERE id = ?", pipeline);
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
              end_ns, enum_name(ending), commands_missing, process);
}

void Writer::end_frame(RowId frame, int64_t end_ns, FrameEnd ended_by) {
  state_->run("UPDATE frame SET end_ns = ?, ended_by = ? WHERE id = ?", end_ns, enum_name(ended_by),
              frame);
}

void Writer::add_missing(RowId frame, int64_t commands) {
  state_->run("UPDATE frame SET commands_missing = commands_missing + ? WHERE id = ?", commands,
              frame);
}

void Writer::lacks_values(RowId batch) {
  state_->run("UPDATE command_batch SET counted = 0 WHERE id = ?", batch);
}

RowId Writer::begin_value_set() {
  const RowId set = --state_->last_value_set;
  state_->value_sets.insert(set);
  return set;
}

RowId Writer::add_time_sample() { return ++state_->last_time_sample; }

void Writer::end_value_set(RowId set) { state_->value_sets.erase(set); }

void Writer::keep_last_frames(uint64_t count) {
  state_->run(
      "DELETE FROM frame WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY "
      "device ORDER BY number DESC) AS place FROM frame) WHERE place > ?)",
      static_cast<int64_t>(std::min<uint64_t>(count, INT64_MAX)));
  for (const auto& [table, key, owner] :
       {std::array{"frame_values", "frame", "frame"}, std::array{"submission", "frame", "frame"},
        std::array{"execution", "submission", "submission"},
        std::array{"pass", "execution", "execution"},
        std::array{"command_batch", "execution", "execution"},
        std::array{"pass_regions", "pass", "pass"}, std::array{"pass_picture", "pass", "pass"},
        std::array{"region_values", "regions", "pass_regions"},
        std::array{"region_draw", "regions", "pass_regions"}}) {
    state_->run(
        fmt::format("DELETE FROM {} WHERE {} NOT IN (SELECT id FROM {})", table, key, owner));
  }
  for (const char* table : {"batch_count", "batch_other"}) {
    state_->run(fmt::format("DELETE FROM {} WHERE batch NOT IN (SELECT id FROM command_batch) AND "
                            "batch NOT IN (SELECT "
                            "value_set FROM command_batch WHERE value_set IS NOT NULL) AND batch "
                            "NOT IN (SELECT value "
                            "FROM json_each(?))",
                            table),
                fmt::format("[{}]", fmt::join(state_->value_sets, ",")));
  }
}

bool Writer::has_many_new() const {
  constexpr size_t kFew = 256;
  return state_->added > std::max(kFew, state_->left);
}

void Writer::remove_unused(HeldRows held) {
  held.objects.merge(state_->referenced("object"));
  std::vector<RowId> unused;
  size_t left = 0;
  const auto choose = [&](const std::unordered_set<RowId>& used, RowId row) {
    if (used.contains(row)) {
      ++left;
    } else {
      unused.push_back(row);
    }
  };
  state_->query("SELECT id FROM object",
                [&](const Statement& row) { choose(held.objects, row.integer(0)); });
  state_->remove("object", unused);

  held.labels.merge(state_->referenced("label"));
  state_->query(
      "SELECT DISTINCT each.value FROM command_batch, json_each(command_batch.labels) AS each "
      "WHERE each.value IS NOT NULL",
      [&](const Statement& row) { held.labels.insert(row.integer(0)); });
  unused.clear();
  // A label has a greater id than its parent.
  state_->query("SELECT id, parent FROM label ORDER BY id DESC", [&](const Statement& row) {
    choose(held.labels, row.integer(0));
    if (held.labels.contains(row.integer(0))) held.labels.insert(row.integer(1));
  });
  state_->remove("label", unused);
  state_->added = 0;
  state_->left = left;
}

uint64_t Writer::bytes() {
  Statement* pages =
      state_->statement("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
  if (!pages || !pages->step()) return 0;
  const auto bytes = static_cast<uint64_t>(pages->integer(0));
  pages->step();  // resets it
  return bytes;
}

void Writer::commit() { state_->end_transaction(); }

const Status& Writer::status() const { return state_->status; }

Status Writer::finish(int64_t end_monotonic_ns, std::optional<int64_t> exit_status) {
  state_->run("UPDATE capture SET end_monotonic_ns = ?, exit_status = ?", end_monotonic_ns,
              exit_status);
  state_->end_transaction();
  state_->statements.clear();
  // If another connection reads the file, it stays in WAL mode, which is as readable.
  if (state_->status.ok() && !state_->database.execute("PRAGMA journal_mode = DELETE")) {
    state_->note(state_->database.execute("PRAGMA wal_checkpoint(PASSIVE)"));
  }
  if (state_->status.ok()) state_->note(state_->database.close());
  Status result = state_->status;
  if (result.ok()) state_->status = Error{state_->path + ": is finished"};
  return result;
}

}  // namespace tally::store
