#include "analysis/counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "analysis/metrics.h"

namespace tally::analysis {
namespace {

// Looks up rows that come in the order of command and stage, so that the last answer is mostly the
// next one too.
class Lookup {
 public:
  explicit Lookup(const Model& model) : model_(model) {}

  // False: the command or its shader is not selected.
  bool find(store::RowId command_id, uint32_t stage) {
    if (command_id != command_id_) {
      command_id_ = command_id;
      const auto found = model_.command_by_id.find(command_id);
      command_ = found == model_.command_by_id.end() ? kNone : found->second;
      stage_ = 0;
    }
    if (command_ == kNone) return false;
    if (stage != stage_) {
      stage_ = stage;
      shader_ = model_.shader_of(model_.commands[command_].pipeline, stage);
    }
    return shader_ == kNone ? model_.selection.shader.empty()
                            : bool(model_.shader_selected[shader_]);
  }

  uint32_t command() const { return command_; }
  uint32_t shader() const { return shader_; }

 private:
  const Model& model_;
  store::RowId command_id_ = 0;
  uint32_t command_ = kNone;
  uint32_t stage_ = 0;
  uint32_t shader_ = kNone;
};

// Runs a query whose first column is a command's id, over the selected commands, and reports
// progress by that id.
Status visit_rows(const Model& model, const Progress& progress, std::string_view sql,
                  const std::function<void(const store::Statement&)>& visit) {
  if (model.commands.empty()) return {};
  store::RowId first = std::numeric_limits<store::RowId>::max(), last = 0;
  for (const Command& command : model.commands) {
    first = std::min(first, command.id);
    last = std::max(last, command.id);
  }
  auto statement = model.reader.query(sql);
  if (!statement) return statement.error();
  statement->bind(int64_t{first}).bind(int64_t{last});
  constexpr uint64_t kRowsBetweenReports = 100'000;
  const double range = static_cast<double>(last) - static_cast<double>(first) + 1;
  for (uint64_t rows = 1; statement->step(); ++rows) {
    visit(*statement);
    if (progress && rows % kRowsBetweenReports == 0) {
      progress((static_cast<double>(statement->integer(0)) - static_cast<double>(first)) / range);
    }
  }
  return statement->status();
}

uint32_t u32(const store::Statement& row, int column) {
  return static_cast<uint32_t>(row.integer(column));
}
uint64_t u64(const store::Statement& row, int column) {
  return static_cast<uint64_t>(std::max<int64_t>(row.integer(column), 0));
}

}  // namespace

Status visit_stage_values(const Model& model, const Progress& progress,
                          const std::function<void(const StageValue&)>& visit) {
  Lookup lookup(model);
  return visit_rows(model, progress,
                    "SELECT command, stage, metric, value FROM command_metric"
                    " WHERE command BETWEEN ? AND ? ORDER BY command, sub, stage, metric",
                    [&](const store::Statement& row) {
                      const uint32_t metric = model.metric_index.find(row.integer(2));
                      if (metric == kNone || !lookup.find(row.integer(0), u32(row, 1))) return;
                      visit({lookup.command(), lookup.shader(), u32(row, 1), metric, u64(row, 3)});
                    });
}

Status visit_block_executions(const Model& model, const Progress& progress,
                              const std::function<void(const BlockExecutions&)>& visit) {
  Lookup lookup(model);
  const auto visit_with = [&](bool have_costs) {
    return [&, have_costs](const store::Statement& row) {
      if (!lookup.find(row.integer(0), u32(row, 1)) || lookup.shader() == kNone) return;
      visit({lookup.command(), lookup.shader(), u32(row, 2), u64(row, 3), have_costs});
    };
  };
  Status status = visit_rows(model, progress,
                             "SELECT command, stage, block, executions FROM block_count"
                             " WHERE command BETWEEN ? AND ? ORDER BY command, sub, stage, block",
                             visit_with(true));
  const uint32_t metric = executions_metric(describe_metrics(model));
  if (!status.ok() || metric == kNone) return status;
  const std::string rest = fmt::format(
      "SELECT o.command, o.stage, o.block, o.value FROM block_other o WHERE o.command BETWEEN ? "
      "AND ?"
      " AND o.metric = {} AND NOT EXISTS (SELECT 1 FROM block_count c WHERE c.command = o.command"
      " AND c.sub = o.sub AND c.stage = o.stage AND c.block = o.block)"
      " ORDER BY o.command, o.sub, o.stage, o.block",
      model.metrics[metric].id);
  return visit_rows(model, progress, rest, visit_with(false));
}

Status visit_block_values(const Model& model, const Progress& progress,
                          const std::function<void(const BlockValue&)>& visit) {
  Lookup lookup(model);
  return visit_rows(
      model, progress,
      "SELECT o.command, o.stage, o.block, o.metric, o.value, c.executions FROM block_other o"
      " LEFT JOIN block_count c USING (command, sub, stage, block)"
      " WHERE o.command BETWEEN ? AND ? ORDER BY o.command, o.sub, o.stage, o.block, o.metric",
      [&](const store::Statement& row) {
        const uint32_t metric = model.metric_index.find(row.integer(3));
        if (metric == kNone || !lookup.find(row.integer(0), u32(row, 1)) ||
            lookup.shader() == kNone)
          return;
        visit({lookup.command(), lookup.shader(), u32(row, 2), metric, u64(row, 4), u64(row, 5)});
      });
}

uint64_t saturating_sum(uint64_t a, uint64_t b) {
  uint64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<uint64_t>::max() : sum;
}

uint64_t saturating_product(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<uint64_t>::max() : product;
}

}  // namespace tally::analysis
