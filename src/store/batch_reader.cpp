// Reader: batches of commands and their values.
#include <utility>

#include "store/reader.h"
#include "store/row_reader.h"

namespace tally::store {
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
  Result<Statement> rows = select<CommandBatchRow>(database_, "ORDER BY id");
  if (!rows) return rows.error();
  CommandBatchRow batch;
  while (rows->step()) {
    if (!read_batch(*rows, batch)) return damaged("command_batch");
    if (!visit(batch)) return {};
  }
  return rows->status();
}

Result<BatchValuesReader> Reader::batch_values() const {
  Result<Statement> counts =
      select<BlockCountRow>(database_, "WHERE batch = ? ORDER BY sub, stage, block");
  if (!counts) return counts.error();
  Result<Statement> others =
      select<BlockOtherRow>(database_, "WHERE batch = ? ORDER BY sub, stage, block, metric");
  if (!others) return others.error();
  return BatchValuesReader(std::move(*counts), std::move(*others));
}

Status BatchValuesReader::read(RowId batch, size_t commands, BatchValues& values) {
  if (Status counts = read_values(counts_, batch, commands, values.counts); !counts) return counts;
  return read_values(others_, batch, commands, values.others);
}

}  // namespace tally::store
