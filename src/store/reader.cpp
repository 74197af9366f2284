#include "store/reader.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <utility>

#include "store/capture_head.h"
#include "store/row_reader.h"
#include "store/schema.h"

namespace tally::store {
namespace {

Status check_tables(const Database& database, int64_t version) {
  Result<Statement> found =
      database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?");
  if (!found) return found.error();
  for (const TableText& table : schema_tables()) {
    if (table.first_version > version) continue;
    found->bind(std::string_view(table.name));
    const bool there = found->step();
    if (!found->status()) return found->status();
    if (there) found->step();  // resets it
    if (!there) return Error{fmt::format("capture is damaged: it has no table '{}'", table.name)};
  }
  return {};
}

// The tables of which readers look up rows by their first key: without an index, each of many
// look-ups would read the whole table.
constexpr std::pair<const char*, const char*> kLookedUp[] = {
    {"region_values", "regions"}, {"pass_picture", "pass"},    {"batch_count", "batch"},
    {"batch_other", "batch"},     {"device_metric", "device"}, {"module", "id"}};

Status check_keys(const Database& database) {
  for (const auto& [table, key] : kLookedUp) {
    Result<Statement> plan = database.prepare(
        fmt::format("EXPLAIN QUERY PLAN SELECT * FROM main.{} WHERE {} = 1", table, key));
    if (!plan) return plan.error();
    constexpr int kDetail = 3;
    while (plan->step()) {
      if (plan->text(kDetail).starts_with("SCAN"))
        return Error{fmt::format("capture is damaged: its table '{}' has no key", table)};
    }
    if (!plan->status()) return plan->status();
  }
  return {};
}

}  // namespace

Reader::Reader(Database database, std::string path, int64_t version)
    : database_(std::move(database)), path_(std::move(path)), version_(version) {}

Result<Reader> Reader::open(const std::string& path) {
  if (Status head = check_capture_head(path); !head) return with_context(head.error(), path);
  Result<Database> database = Database::open(path, Database::Mode::Read);
  if (!database) return with_context(database.error(), path);
  const Result<int64_t> version = database->integer("PRAGMA user_version");
  if (!version) return with_context(version.error(), path);
  if (Status tables = check_tables(*database, *version); !tables) {
    return with_context(tables.error(), path);
  }
  if (Status keys = check_keys(*database); !keys) return with_context(keys.error(), path);
  const std::string views_sql = older_tables_sql(*version) + temporary_views_sql();
  if (Status views = database->execute(views_sql.c_str()); !views) {
    return with_context(views.error(), path);
  }
  Reader reader(std::move(*database), path, *version);
  if (Result<CaptureRow> row = reader.capture(); !row) return with_context(row.error(), path);
  return reader;
}

uint64_t Reader::file_size() const {
  std::error_code failed;
  const uintmax_t size = std::filesystem::file_size(path_, failed);
  return failed ? 0 : size;
}

Result<CaptureRow> Reader::capture() const {
  auto rows = all_rows<CaptureRow>(database_, "");
  if (!rows) return rows.error();
  if (rows->size() != 1) return Error{"capture is damaged: it does not say what it captured"};
  return std::move(rows->front());
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
  Result<std::vector<ModuleRow>> rows = all_rows<ModuleRow>(std::move(statement));
  if (!rows) return rows.error();
  if (rows->empty()) return Error{"no such module"};
  return std::move(rows->front().spirv);
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
  if (!status) return status.error();
  return pipelines;
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
  Result<Statement> rows = database_.prepare(
      fmt::format("SELECT {}, pass_name.name FROM pass JOIN pass_name ON pass_name.pass = pass.id "
                  "ORDER BY pass.id",
                  select_list<PassRow>()));
  if (!rows) return rows.error();
  while (rows->step()) {
    PassRow row;
    if (!read_row(*rows, row)) return damaged("pass");
    row.name = rows->text(selected_count<PassRow>());
    if (!visit(row)) return {};
  }
  return rows->status();
}

Status Reader::for_each_block_cost(const std::function<bool(const BlockCostRow&)>& visit) const {
  return each_row<BlockCostRow>(select<BlockCostRow>(database_, "ORDER BY shader, block, metric"),
                                visit);
}

}  // namespace tally::store
