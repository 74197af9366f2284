#include "analysis/dataset/value_sets.h"

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/dataset/dataset.h"
#include "analysis/model/counts.h"
#include "base/hash.h"

namespace tally::analysis {
namespace {

constexpr size_t kBranchStride = 2;

// Adds up the entries of two ascending lists. An entry is `stride` numbers: a key, then values.
std::vector<uint64_t> sum_of(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b,
                             size_t stride) {
  std::vector<uint64_t> sum;
  sum.reserve(a.size() + b.size());
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    const bool from_a = j == b.size() || (i < a.size() && a[i] <= b[j]);
    const bool from_b = i == a.size() || (j < b.size() && b[j] <= a[i]);
    sum.push_back(from_a ? a[i] : b[j]);
    for (size_t k = 1; k < stride; ++k)
      sum.push_back(saturating_sum(from_a ? a[i + k] : 0, from_b ? b[j + k] : 0));
    if (from_a) i += stride;
    if (from_b) j += stride;
  }
  return sum;
}

}  // namespace

ValueSets::ValueSets(const CaptureCode::Input& input, CaptureCode& code,
                     std::vector<uint32_t> counted)
    : in_(input),
      code_(code),
      counted_(std::move(counted)),
      stride_(2 + counted_.size()),
      executions_(executions_metric(input.metrics)),
      first_{0},
      first_branch_{0},
      values_(counted_.size(), DataColumn(DataColumn::Kind::Number)) {}

Result<bool> ValueSets::count(const std::vector<uint32_t>& group_of, size_t groups, size_t max_rows,
                              const Progress& progress) {
  set_of_.assign(groups, kNone);
  std::vector<uint32_t> left(groups);  // commands that are still to come
  for (const Batch& batch : in_.model.batches) {
    for (const uint32_t command : batch.commands)
      if (batch.counted) ++left[group_of[command]];
  }
  std::unordered_map<uint32_t, Counts> begun;
  bool fits = true;
  const auto add = [&](uint32_t group, const Counts& counts) {
    const auto found = begun.find(group);
    const bool last = --left[group] == 0;
    if (found == begun.end()) {
      if (last) set_of_[group] = intern(counts);
      if (!last) begun.emplace(group, counts);
      return;
    }
    Counts& sum = found->second;
    sum = {sum_of(sum.blocks, counts.blocks, stride_),
           sum_of(sum.branches, counts.branches, kBranchStride)};
    if (!last) return;
    set_of_[group] = intern(sum);
    begun.erase(found);
  };
  const Status status = visit_batch_blocks(
      in_.model, progress, [&](const Batch& batch, std::span<const BatchBlock> blocks) {
        fits &= blocks_.size() <= max_rows;
        if (!fits) return;
        const std::vector<Source> sources = sources_of(batch, blocks);
        const bool alike = std::ranges::all_of(blocks, [](const BatchBlock& block) {
          return (!block.executions || block.executions->values.size() <= 1) &&
                 std::ranges::all_of(block.stored, [](const BatchBlock::Stored& stored) {
                   return stored.values->values.size() <= 1;
                 });
        });
        Counts counts;
        for (size_t i = 0; i < batch.commands.size(); ++i) {
          if (i == 0 || !alike) counts = counts_of(sources, i);
          add(group_of[batch.commands[i]], counts);
        }
      });
  TALLY_TRY(status);
  return fits && blocks_.size() <= max_rows;
}

std::vector<ValueSets::Source> ValueSets::sources_of(const Batch& batch,
                                                     std::span<const BatchBlock> blocks) {
  std::vector<Source> sources;
  for (const BatchBlock& block : blocks) {
    const uint32_t row = code_.block_row(batch.pipeline, block.shader, block.block);
    if (row == kNone) continue;
    sources.push_back({row, block.shader, &block});
    const uint32_t shader = block.shader == kNone ? static_cast<uint32_t>(code_.shader_count() - 1)
                                                  : code_.shader_row(batch.pipeline, block.shader);
    measured_.resize(std::max<size_t>(measured_.size(), shader + 1));
    measured_[shader] = true;
  }
  std::ranges::stable_sort(sources, {}, &Source::block);
  return sources;
}

ValueSets::Counts ValueSets::counts_of(const std::vector<Source>& sources, size_t command) {
  Counts counts;
  for (const Source& source : sources) {
    add_block(source, command, counts);
    if (!in_.model.branch_metrics.empty()) add_branches(source, command, counts);
  }
  if (!in_.model.branch_metrics.empty()) add_sole_entries(counts);
  return counts;
}

// If several stages run the same shader, the block has one entry.
void ValueSets::add_block(const Source& source, size_t command, Counts& counts) {
  const BatchBlock& block = *source.of;
  // Without a shader there are no costs, so that only values that are stored count.
  const bool has_counts = block.executions && source.shader != kNone;
  uint64_t executions = has_counts ? count_at(*block.executions, command) : 0;
  if (!has_counts && executions_ != kNone) executions = value_of(source, command, 0, executions_);
  std::vector<uint64_t> entry = {source.block, executions};
  for (const uint32_t metric : counted_)
    entry.push_back(value_of(source, command, executions, metric));
  if (std::ranges::all_of(std::span(entry).subspan(1), [](uint64_t value) { return value == 0; }))
    return;
  const bool again =
      !counts.blocks.empty() && counts.blocks[counts.blocks.size() - stride_] == source.block;
  if (again) {
    counts.blocks = sum_of(counts.blocks, entry, stride_);
  } else {
    counts.blocks.insert(counts.blocks.end(), entry.begin(), entry.end());
  }
}

uint64_t ValueSets::value_of(const Source& source, size_t command, uint64_t executions,
                             uint32_t metric) const {
  const auto stored = [&](uint32_t m) -> const store::Column* {
    for (const BatchBlock::Stored& value : source.of->stored)
      if (in_.model.metric_index.find(value.metric) == m) return value.values;
    return nullptr;
  };
  if (metric == in_.model.subgroup_executions) {
    return value_of(source, command, executions, in_.model.subgroup_lanes) != 0 ? executions : 0;
  }
  if (const store::Column* values = stored(metric)) return count_at(*values, command);
  if (source.shader == kNone) return 0;
  for (const BlockCosts::Cost& cost : in_.costs.of(source.shader, source.of->block)) {
    if (in_.model.metric_index.find(cost.metric) == metric)
      return saturating_product(executions, cost.per_execution);
  }
  return 0;
}

void ValueSets::add_branches(const Source& source, size_t command, Counts& counts) const {
  const auto& targets = in_.model.branch_metrics;
  const uint64_t executions = source.of->executions ? count_at(*source.of->executions, command) : 0;
  std::vector<uint64_t> entries;
  const auto add = [&](store::RowId metric, uint64_t taken) {
    const auto target = targets.find(metric);
    if (target == targets.end() || taken == 0) return;
    const uint32_t row = code_.branch_row(source.block, target->second);
    if (row != kNone) entries = sum_of(entries, {row, taken}, kBranchStride);
  };
  for (const BatchBlock::Stored& value : source.of->stored)
    add(value.metric, count_at(*value.values, command));
  if (source.shader != kNone) {
    for (const BlockCosts::Cost& cost : in_.costs.of(source.shader, source.of->block)) {
      const auto is_stored = [&](const BatchBlock::Stored& value) {
        return value.metric == cost.metric;
      };
      if (std::ranges::none_of(source.of->stored, is_stored))
        add(cost.metric, saturating_product(executions, cost.per_execution));
    }
  }
  counts.branches = sum_of(counts.branches, entries, kBranchStride);
}

void ValueSets::add_sole_entries(Counts& counts) const {
  std::vector<uint64_t> entries;
  for (const CaptureCode::SoleEntry& entry : code_.sole_entries()) {
    for (size_t i = 0; i < counts.blocks.size(); i += stride_) {
      if (counts.blocks[i] == entry.block && counts.blocks[i + 1] != 0)
        entries = sum_of(entries, {entry.branch, counts.blocks[i + 1]}, kBranchStride);
    }
  }
  if (!entries.empty()) counts.branches = sum_of(counts.branches, entries, kBranchStride);
}

uint32_t ValueSets::intern(const Counts& counts) {
  uint64_t hash = counts.blocks.size();
  for (const uint64_t number : counts.blocks) hash = hash_combine(hash, number);
  for (const uint64_t number : counts.branches) hash = hash_combine(hash, number);
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto at = begin; at != end; ++at)
    if (equals(at->second, counts)) return at->second;
  const auto set = static_cast<uint32_t>(first_.size() - 1);
  by_hash_.emplace(hash, set);
  for (size_t i = 0; i < counts.blocks.size(); i += stride_) {
    blocks_.push(counts.blocks[i]);
    executions_column_.push(counts.blocks[i + 1]);
    for (size_t m = 0; m < values_.size(); ++m) values_[m].push(counts.blocks[i + 2 + m]);
  }
  for (size_t i = 0; i < counts.branches.size(); i += kBranchStride) {
    branches_.push(counts.branches[i]);
    taken_.push(counts.branches[i + 1]);
  }
  first_.push_back(blocks_.size());
  first_branch_.push_back(branches_.size());
  return set;
}

bool ValueSets::equals(uint32_t set, const Counts& counts) const {
  const size_t first = first_[set], branch = first_branch_[set];
  if ((first_[set + 1] - first) * stride_ != counts.blocks.size()) return false;
  if ((first_branch_[set + 1] - branch) * kBranchStride != counts.branches.size()) return false;
  for (size_t i = 0; i < counts.blocks.size(); ++i) {
    const size_t row = first + i / stride_, column = i % stride_;
    const DataColumn& of = column == 0   ? blocks_
                           : column == 1 ? executions_column_
                                         : values_[column - 2];
    if (of.at(row) != counts.blocks[i]) return false;
  }
  for (size_t i = 0; i < counts.branches.size(); ++i) {
    const DataColumn& of = i % kBranchStride == 0 ? branches_ : taken_;
    if (of.at(branch + i / kBranchStride) != counts.branches[i]) return false;
  }
  return true;
}

void ValueSets::finish(DataCapture& capture) && {
  DataTable sets("value_sets");
  DataColumn& first = sets.add("first", DataColumn::Kind::Number);
  DataColumn& count = sets.add("count", DataColumn::Kind::Number);
  DataTable branches("branch_counts");
  DataColumn& set_of_branch = branches.add("value_set", DataColumn::Kind::Index);
  for (size_t set = 0; set + 1 < first_.size(); ++set) {
    first.push(first_[set]);
    count.push(first_[set + 1] - first_[set]);
    for (size_t b = first_branch_[set]; b < first_branch_[set + 1]; ++b) set_of_branch.push(set);
  }
  branches.add("branch", DataColumn::Kind::Index) = std::move(branches_);
  branches.add("taken", DataColumn::Kind::Number) = std::move(taken_);
  DataTable counts("counts");
  counts.add("block", DataColumn::Kind::Index) = std::move(blocks_);
  counts.add("executions", DataColumn::Kind::Number) = std::move(executions_column_);
  for (size_t m = 0; m < counted_.size(); ++m) {
    counts.add(in_.metrics[counted_[m]].id, DataColumn::Kind::Number) = std::move(values_[m]);
  }
  for (DataTable* table : {&sets, &counts, &branches}) capture.tables.push_back(std::move(*table));
}

}  // namespace tally::analysis
