// Reader: batches of commands and their values, column by column.
#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "store/reader.h"

namespace tally::store {
namespace {

constexpr int64_t kMaxPosition = int64_t{1} << 48;

uint32_t u32(const Statement& row, int column) {
  return static_cast<uint32_t>(row.integer(column));
}

Error damaged(const char* table) {
  return {fmt::format("is a damaged capture: a column of its table '{}' cannot be read", table)};
}

bool read_column(std::string_view json, size_t commands, Column& column) {
  std::optional<Column> read = column_from_json(json, commands);
  if (read) column = std::move(*read);
  return read.has_value();
}

// Their first one alone, where they follow each other.
bool read_positions(std::string_view json, size_t commands, Column& positions) {
  if (!read_column(json, commands, positions) || positions.values.empty()) return false;
  if (positions.values.size() == commands) return true;
  const int64_t first = positions.values.front();
  if (first < 0 || first > kMaxPosition) return false;
  for (size_t i = 1; i < commands; ++i) {
    positions.values.push_back(first + static_cast<int64_t>(i));
  }
  return true;
}

// {"name":column,...}, as the writer writes it.
bool read_parameters(std::string_view json, size_t commands,
                     std::vector<CommandBatchRow::Parameter>& parameters) {
  if (json == "{}") return true;
  for (char before = '{'; json.starts_with(before); before = ',') {
    const size_t colon = json.find("\":");
    if (!json.substr(1).starts_with('"') || colon == json.npos) return false;
    CommandBatchRow::Parameter& parameter = parameters.emplace_back();
    parameter.name = json.substr(2, colon - 2);
    json.remove_prefix(colon + 2);
    const size_t end = json.find_first_of(json.starts_with('[') ? "]" : ",}");
    if (end == json.npos) return false;
    const size_t size = end + (json.starts_with('[') ? 1 : 0);
    if (!read_column(json.substr(0, size), commands, parameter.values)) return false;
    json.remove_prefix(size);
  }
  return json == "}";
}

// False: a column is damaged.
bool read_batch(const Statement& row, CommandBatchRow& batch) {
  batch = {.id = row.integer(0),
           .execution = row.integer(1),
           .size = static_cast<size_t>(row.integer(2)),
           .function = row.integer(3),
           .pipeline = row.optional_integer(4),
           .pass = row.optional_integer(5),
           .subpass = u32(row, 6),
           .counted = row.integer(7) != 0};
  return batch.size >= 1 && batch.size <= kMaxBatchCommands &&
         read_positions(row.view(8), batch.size, batch.positions) &&
         read_column(row.view(9), batch.size, batch.labels) &&
         read_parameters(row.view(10), batch.size, batch.parameters) &&
         read_column(row.view(11), batch.size, batch.gpu_begin_ns) &&
         read_column(row.view(12), batch.size, batch.gpu_time_ns);
}

}  // namespace

Status Reader::for_each_batch(const std::function<bool(const CommandBatchRow&)>& visit) const {
  Result<Statement> rows = database_.prepare("SELECT * FROM command_batch ORDER BY id");
  if (!rows) return rows.error();
  CommandBatchRow batch;
  while (rows->step()) {
    if (!read_batch(*rows, batch)) return damaged("command_batch");
    if (!visit(batch)) return {};
  }
  return rows->status();
}

Result<BatchValuesReader> Reader::batch_values() const {
  Result<Statement> counts = database_.prepare(
      "SELECT sub, stage, block, executions FROM batch_count WHERE batch = ?"
      " ORDER BY sub, stage, block");
  if (!counts) return counts.error();
  Result<Statement> others = database_.prepare(
      "SELECT sub, stage, block, metric, value FROM batch_other WHERE batch = ?"
      " ORDER BY sub, stage, block, metric");
  if (!others) return others.error();
  return BatchValuesReader(std::move(*counts), std::move(*others));
}

Status BatchValuesReader::read(RowId batch, size_t commands, BatchValues& values) {
  values.counts.clear();
  values.others.clear();
  bool sound = true;
  for (counts_.bind(batch); counts_.step();) {
    BlockCountRow& row = values.counts.emplace_back(BlockCountRow{.batch = batch,
                                                                  .sub = u32(counts_, 0),
                                                                  .stage = u32(counts_, 1),
                                                                  .block = u32(counts_, 2)});
    sound &= read_column(counts_.view(3), commands, row.executions);
  }
  if (!sound) return damaged("batch_count");
  if (!counts_.status()) return counts_.status();
  for (others_.bind(batch); others_.step();) {
    BlockOtherRow& row = values.others.emplace_back(BlockOtherRow{.batch = batch,
                                                                  .sub = u32(others_, 0),
                                                                  .stage = u32(others_, 1),
                                                                  .block = u32(others_, 2),
                                                                  .metric = others_.integer(3)});
    sound &= read_column(others_.view(4), commands, row.values);
  }
  return sound ? others_.status() : Status(damaged("batch_other"));
}

}  // namespace tally::store
