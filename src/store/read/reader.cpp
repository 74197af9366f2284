#include "store/read/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "platform/files.h"
#include "store/format/schema.h"
#include "store/stream/stream.h"

namespace tally::store {

// Rows read from a capture's database.

inline Error damaged(std::string_view table) {
  return {fmt::format("capture is damaged: a column of its table '{}' cannot be read", table)};
}

// A statement that selects the columns of Row. `tail` goes after the table's name.
template <typename Row, Blobs kBlobs = Blobs::Read>
Result<Statement> select(const Database& database, std::string_view tail) {
  return database.prepare(
      fmt::format("SELECT {} FROM {} {}", select_list<Row, kBlobs>(), kTable<Row>.name, tail));
}

// Hands each row of the statement to `visit` until that returns false.
template <typename Row, Blobs kBlobs = Blobs::Read, typename Visit>
Status each_row(Result<Statement> statement, Visit visit) {
  if (!statement) return statement.error();
  while (statement->step()) {
    Row row;
    if (!read_row<Row, kBlobs>(*statement, row)) return damaged(kTable<Row>.name);
    if (!visit(row)) return {};
  }
  return statement->status();
}

template <typename Row, Blobs kBlobs = Blobs::Read>
Result<std::vector<Row>> all_rows(Result<Statement> statement) {
  std::vector<Row> rows;
  TALLY_TRY(each_row<Row, kBlobs>(std::move(statement), [&](Row& row) {
    rows.push_back(std::move(row));
    return true;
  }));
  return rows;
}

template <typename Row>
Result<std::vector<Row>> all_rows(const Database& database, std::string_view tail) {
  return all_rows<Row>(select<Row>(database, tail));
}

// Reader: batches of commands and their values.

namespace {

// False: a column is malformed.
bool read_batch(const Statement& statement, CommandBatchRow& batch) {
  const int64_t size = statement.integer(index_of<CommandBatchRow>(&CommandBatchRow::size));
  return size >= 1 && size <= int64_t{kMaxBatchCommands} &&
         read_row(statement, batch, static_cast<size_t>(size));
}

// Reads the rows of one batch.
template <typename Row>
Status read_values(Statement& statement, RowId batch, size_t commands, std::vector<Row>& rows) {
  rows.clear();
  bool sound = true;
  for (statement.bind(batch); statement.step();) {
    sound &= read_row(statement, rows.emplace_back(), commands);
  }
  return sound ? statement.status() : Status(damaged(kTable<Row>.name));
}

}  // namespace

Status Reader::for_each_batch(const std::function<bool(const CommandBatchRow&)>& visit) const {
  Statement rows = TALLY_TRY(select<CommandBatchRow>(database_, "ORDER BY id"));
  CommandBatchRow batch;
  while (rows.step()) {
    if (!read_batch(rows, batch)) return damaged("command_batch");
    if (!visit(batch)) return {};
  }
  return rows.status();
}

Result<BatchValuesReader> Reader::batch_values() const {
  Statement counts =
      TALLY_TRY(select<BlockCountRow>(database_, "WHERE batch = ? ORDER BY sub, stage, block"));
  Statement others = TALLY_TRY(
      select<BlockOtherRow>(database_, "WHERE batch = ? ORDER BY sub, stage, block, metric"));
  return BatchValuesReader(std::move(counts), std::move(others));
}

Status BatchValuesReader::read(RowId batch, size_t commands, BatchValues& values) {
  TALLY_TRY(read_values(counts_, batch, commands, values.counts));
  return read_values(others_, batch, commands, values.others);
}

// Reader: values of passes by region, and pictures of passes.

Result<std::vector<RegionCounterRow>> Reader::region_counters() const {
  return all_rows<RegionCounterRow>(database_, "ORDER BY id");
}

Status Reader::for_each_pass_regions(
    const std::function<bool(const PassRegionsRow&)>& visit) const {
  return each_row<PassRegionsRow>(
      select<PassRegionsRow>(database_, "ORDER BY pass, subpass, layer, id"),
      [&](PassRegionsRow& regions) {
        regions.region_width = std::max(regions.region_width, 1u);
        regions.region_height = std::max(regions.region_height, 1u);
        const uint64_t count = uint64_t{regions.columns()} * regions.rows();
        // The writer accepts no other number of regions, and no other offsets.
        const bool valid = count != 0 && count <= stream::kMaxRegions &&
                           stream::is_offset(regions.x) && stream::is_offset(regions.y);
        return !valid || visit(regions);
      });
}

Status Reader::for_each_region_values(
    const PassRegionsRow& regions, const std::function<bool(const RegionValuesRow&)>& visit) const {
  Statement rows =
      TALLY_TRY(select<RegionValuesRow>(database_, "WHERE regions = ? ORDER BY counter"));
  constexpr int kValues = index_of<RegionValuesRow>(&RegionValuesRow::by_region);
  const uint64_t count = uint64_t{regions.columns()} * regions.rows();
  rows.bind(regions.id);
  while (rows.step()) {
    if (rows.blob(kValues).size() != count * sizeof(uint32_t)) continue;
    RegionValuesRow row;
    if (!read_row(rows, row)) return damaged("region_values");
    if (!visit(row)) return {};
  }
  return rows.status();
}

Status Reader::for_each_region_draw(const PassRegionsRow& regions,
                                    const std::function<bool(const RegionDrawRow&)>& visit) const {
  const uint64_t count = uint64_t{regions.columns()} * regions.rows();
  Result<Statement> rows =
      select<RegionDrawRow>(database_, "WHERE regions = ? ORDER BY position, counter");
  if (rows) rows->bind(regions.id);
  return each_row<RegionDrawRow>(std::move(rows), [&](RegionDrawRow& row) {
    const bool sound =
        row.places.size() == row.values.size() &&
        std::ranges::all_of(row.places, [&](uint32_t place) { return place < count; });
    return !sound || visit(row);
  });
}

Result<std::optional<PassPictureRow>> Reader::pass_picture(RowId pass, uint32_t layer) const {
  Result<Statement> statement =
      select<PassPictureRow>(database_, "WHERE pass = ? AND layer = ? LIMIT 1");
  if (statement) statement->bind(pass).bind(int64_t{layer});
  std::vector<PassPictureRow> rows = TALLY_TRY(all_rows<PassPictureRow>(std::move(statement)));
  if (rows.empty()) return std::optional<PassPictureRow>{};
  return std::optional(std::move(rows.front()));
}

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
  bool has_wal = false;  // the end of the file may still be in the log
};

Result<FileHead> read_head(const std::string& path) {
  const UniqueFd file(platform::open_to_read(path));
  if (!file) return Error{std::strerror(errno)};
  const std::optional<uint64_t> size = platform::size_of_regular_file(file.get());
  if (!size) return Error{"not a regular file"};
  FileHead head;
  head.read = platform::read_at(file.get(), head.bytes.data(), head.bytes.size(), 0);
  head.file_size = static_cast<int64_t>(*size);
  std::error_code none;
  const auto wal = std::filesystem::file_size(path + "-wal", none);
  head.has_wal = !none && wal > 0;
  return head;
}

Status check_version(int64_t version) {
  if (version >= kOldestCaptureVersion && version <= kCaptureVersion) return {};
  if (version > kCaptureVersion) {
    return Error{fmt::format("capture has format {}; this tally reads formats up to {}", version,
                             kCaptureVersion)};
  }
  return Error{
      fmt::format("capture has format {}; this tally reads formats from {} on; capture again",
                  version, kOldestCaptureVersion)};
}

int64_t version_of(const FileHead& head) { return big_endian(head.bytes.data() + 60); }

Status check(const FileHead& head) {
  const auto* bytes = head.bytes.data();
  const size_t read = head.read > 0 ? static_cast<size_t>(head.read) : 0;
  if (read < kMagic.size() || std::memcmp(bytes, kMagic.data(), kMagic.size()) != 0) {
    return Error{"not a Tally capture"};
  }
  if (read < kHeaderBytes) return Error{"file is truncated"};
  if (big_endian(bytes + 68) != static_cast<uint32_t>(kCaptureApplicationId)) {
    return Error{"an SQLite database, but not a Tally capture"};
  }
  TALLY_TRY(check_version(version_of(head)));
  const uint32_t stored_size = uint32_t{bytes[16]} << 8 | bytes[17];
  const int64_t page_size = stored_size == 1 ? 65536 : stored_size;
  const int64_t expected_size = page_size * big_endian(bytes + 28);
  if (!head.has_wal && head.file_size < expected_size) return Error{"capture is truncated"};
  return {};
}

// Checks that the file is a capture of a version that the reader accepts and is not truncated, from
// SQLite's header and the file's size alone: before SQLite opens the file.
Status check_capture_head(const std::string& path) {
  const Result<FileHead> head = read_head(path);
  return head ? check(*head) : Status(head.error());
}

Status check_tables(const Database& database, int64_t version) {
  Statement found =
      TALLY_TRY(database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"));
  for (const TableText& table : schema_tables()) {
    if (table.first_version > version) continue;
    found.bind(std::string_view(table.name));
    const bool there = found.step();
    TALLY_TRY(found.status());
    if (there) found.step();  // resets it
    if (!there) return Error{fmt::format("capture is damaged: it has no table '{}'", table.name)};
  }
  return {};
}

// The tables of which readers look up rows by their first key: without an index, each of many
// look-ups would read the whole table.
struct LookedUp {
  const char* table;
  const char* key;
  int first_version = 0;
};
constexpr LookedUp kLookedUp[] = {{"region_values", "regions"},
                                  {"region_draw", "regions", kTable<RegionDrawRow>.first_version},
                                  {"pass_picture", "pass"},
                                  {"batch_count", "batch"},
                                  {"batch_other", "batch"},
                                  {"device_metric", "device"},
                                  {"module", "id"}};

Status check_keys(const Database& database, int64_t version) {
  for (const auto& [table, key, first_version] : kLookedUp) {
    if (version < first_version) continue;
    Statement plan = TALLY_TRY(database.prepare(
        fmt::format("EXPLAIN QUERY PLAN SELECT * FROM main.{} WHERE {} = 1", table, key)));
    constexpr int kDetail = 3;
    while (plan.step()) {
      if (plan.text(kDetail).starts_with("SCAN"))
        return Error{fmt::format("capture is damaged: its table '{}' has no key", table)};
    }
    TALLY_TRY(plan.status());
  }
  return {};
}

}  // namespace

Reader::Reader(Database database, std::string path, int64_t version)
    : database_(std::move(database)), path_(std::move(path)), version_(version) {}

Result<Reader> Reader::open(const std::string& path) {
  TALLY_TRY(with_context(check_capture_head(path), path));
  Database database = TALLY_TRY(with_context(Database::open(path, Database::Mode::Read), path));
  const int64_t version = TALLY_TRY(with_context(database.integer("PRAGMA user_version"), path));
  TALLY_TRY(with_context(check_tables(database, version), path));
  TALLY_TRY(with_context(check_keys(database, version), path));
  const std::string views_sql = older_tables_sql(version) + temporary_views_sql();
  TALLY_TRY(with_context(database.execute(views_sql.c_str()), path));
  Reader reader(std::move(database), path, version);
  TALLY_TRY(with_context(reader.capture(), path));
  return reader;
}

uint64_t Reader::file_size() const {
  std::error_code failed;
  const uintmax_t size = std::filesystem::file_size(path_, failed);
  return failed ? 0 : size;
}

Result<CaptureRow> Reader::capture() const {
  auto rows = TALLY_TRY(all_rows<CaptureRow>(database_, ""));
  if (rows.size() != 1) return Error{"capture is damaged: it does not say what it captured"};
  return std::move(rows.front());
}

Result<std::vector<ProcessRow>> Reader::processes() const {
  return all_rows<ProcessRow>(database_, "ORDER BY id");
}

Result<std::vector<DeviceRow>> Reader::devices() const {
  return all_rows<DeviceRow>(database_, "ORDER BY id");
}

Result<std::vector<QueueRow>> Reader::queues() const {
  return all_rows<QueueRow>(database_, "ORDER BY device, family, position");
}

Result<std::vector<MetricRow>> Reader::metrics() const {
  return all_rows<MetricRow>(database_,
                             "LEFT JOIN (SELECT metric, min(position) AS first FROM device_metric "
                             "GROUP BY metric) AS named ON named.metric = metric.id "
                             "ORDER BY first, metric.id");
}

Result<std::vector<MetricRow>> Reader::device_metrics(RowId device) const {
  Result<Statement> rows = select<MetricRow>(
      database_,
      "JOIN device_metric ON device_metric.metric = metric.id WHERE device = ? ORDER BY position");
  if (rows) rows->bind(device);
  return all_rows<MetricRow>(std::move(rows));
}

Result<std::vector<ModuleRow>> Reader::modules() const {
  return all_rows<ModuleRow, Blobs::LeaveOut>(
      select<ModuleRow, Blobs::LeaveOut>(database_, "ORDER BY id"));
}

Result<std::vector<uint32_t>> Reader::spirv(RowId module) const {
  Result<Statement> statement = select<ModuleRow>(database_, "WHERE id = ? LIMIT 1");
  if (statement) statement->bind(module);
  std::vector<ModuleRow> rows = TALLY_TRY(all_rows<ModuleRow>(std::move(statement)));
  if (rows.empty()) return Error{"no such module"};
  return std::move(rows.front().spirv);
}

Result<std::vector<ShaderRow>> Reader::shaders() const {
  return all_rows<ShaderRow>(database_, "ORDER BY id");
}

Result<std::vector<PipelineRow>> Reader::pipelines() const {
  auto pipelines = all_rows<PipelineRow>(database_, "ORDER BY id");
  if (!pipelines) return pipelines;
  // Both are ordered by the pipeline, so one pass over the two is enough.
  auto pipeline = pipelines->begin();
  const Status status = each_row<PipelineShaderRow>(
      select<PipelineShaderRow>(database_, "ORDER BY pipeline, position"),
      [&](const PipelineShaderRow& row) {
        while (pipeline != pipelines->end() && pipeline->id < row.pipeline) ++pipeline;
        if (pipeline == pipelines->end()) return false;
        if (pipeline->id == row.pipeline) pipeline->shaders.push_back(row.shader);
        return true;
      });
  TALLY_TRY(status);
  return pipelines;
}

Result<std::vector<PipelineStatisticRow>> Reader::pipeline_statistics() const {
  return all_rows<PipelineStatisticRow>(database_, "ORDER BY pipeline, executable, position");
}

Result<std::vector<ObjectRow>> Reader::objects() const {
  return all_rows<ObjectRow>(database_, "ORDER BY id");
}

Result<std::vector<LabelRow>> Reader::labels() const {
  return all_rows<LabelRow>(database_, "ORDER BY id");
}

Result<std::vector<FunctionRow>> Reader::functions() const {
  return all_rows<FunctionRow>(database_, "ORDER BY id");
}

Result<std::vector<FrameRow>> Reader::frames() const {
  return all_rows<FrameRow>(database_, "ORDER BY device, number");
}

Result<std::vector<FrameCounterRow>> Reader::frame_counters() const {
  return all_rows<FrameCounterRow>(database_, "ORDER BY id");
}

Result<std::vector<MessageRow>> Reader::messages() const {
  return all_rows<MessageRow>(database_, "ORDER BY id");
}

Result<std::vector<ReplacementRow>> Reader::replacements() const {
  return all_rows<ReplacementRow>(database_, "ORDER BY id");
}

Status Reader::for_each_frame_value(const std::function<bool(const FrameValue&)>& visit) const {
  const auto visit_row = [&](const FrameValuesRow& row) {
    auto counter = static_cast<uint64_t>(row.first_counter);
    for (const int64_t value : row.values.values) {
      const FrameValue one{row.frame, static_cast<RowId>(counter++), static_cast<uint64_t>(value)};
      if (value != Column::kNull && !visit(one)) return false;
    }
    return true;
  };
  return each_row<FrameValuesRow>(
      select<FrameValuesRow>(database_, "ORDER BY frame, first_counter"), visit_row);
}

Status Reader::for_each_submission(const std::function<bool(const SubmissionRow&)>& visit) const {
  return each_row<SubmissionRow>(select<SubmissionRow>(database_, "ORDER BY id"), visit);
}

Status Reader::for_each_execution(const std::function<bool(const ExecutionRow&)>& visit) const {
  return each_row<ExecutionRow>(select<ExecutionRow>(database_, "ORDER BY id"), visit);
}

Status Reader::for_each_pass(const std::function<bool(const PassRow&)>& visit) const {
  Statement rows = TALLY_TRY(database_.prepare(
      fmt::format("SELECT {}, pass_name.name FROM pass JOIN pass_name ON pass_name.pass = pass.id "
                  "ORDER BY pass.id",
                  select_list<PassRow>())));
  while (rows.step()) {
    PassRow row;
    if (!read_row(rows, row)) return damaged("pass");
    row.name = rows.text(selected_count<PassRow>());
    if (!visit(row)) return {};
  }
  return rows.status();
}

Status Reader::for_each_block_cost(const std::function<bool(const BlockCostRow&)>& visit) const {
  return each_row<BlockCostRow>(select<BlockCostRow>(database_, "ORDER BY shader, block, metric"),
                                visit);
}

namespace {

Status insert_all(const Database& database, const std::vector<SourceText>& texts) {
  auto insert =
      TALLY_TRY(database.prepare("INSERT OR IGNORE INTO source_file (name, text) VALUES (?, ?)"));
  for (const SourceText& source : texts) {
    insert.bind(std::string_view(source.name)).bind(std::string_view(source.text));
    TALLY_TRY(insert.run());
  }
  return {};
}

}  // namespace

Status add_source_texts(const std::string& capture, const std::vector<SourceText>& texts) {
  auto database = TALLY_TRY(with_context(Database::open(capture, Database::Mode::Create), capture));
  Status done = database.execute(
      "PRAGMA synchronous = OFF; BEGIN;"
      "CREATE TABLE IF NOT EXISTS source_file (name TEXT PRIMARY KEY, text TEXT NOT NULL)");
  if (done.ok()) done = insert_all(database, texts);
  if (done.ok()) done = database.execute("COMMIT");
  if (done.ok()) done = database.close();
  return done.ok() ? done : Status(with_context(done.error(), capture));
}

Result<std::vector<SourceText>> source_texts(const Reader& reader) {
  auto table = TALLY_TRY(
      reader.query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'source_file'"));
  std::vector<SourceText> texts;
  const bool is_there = table.step();
  TALLY_TRY(table.status());
  if (!is_there) return texts;
  auto rows = TALLY_TRY(reader.query("SELECT name, text FROM source_file ORDER BY name"));
  while (rows.step()) texts.push_back({rows.text(0), rows.text(1)});
  TALLY_TRY(rows.status());
  return texts;
}

}  // namespace tally::store
