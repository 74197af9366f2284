#include "analysis/cost/block_totals.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "analysis/model/counts.h"
#include "analysis/model/metrics.h"
#include "catalogue/catalogue.h"

namespace tally::analysis {

uint64_t MetricMatrix::at(size_t row, size_t metric) const {
  const Values& values = columns_[metric];
  if (!values.wide.empty()) return values.wide[row];
  return values.narrow.empty() ? 0 : values.narrow[row];
}

void MetricMatrix::set(size_t row, size_t metric, uint64_t value) {
  Values& values = columns_[metric];
  const bool fits = value <= std::numeric_limits<uint32_t>::max();
  if (values.wide.empty() && values.narrow.empty()) {
    fits ? values.narrow.resize(rows_) : values.wide.resize(rows_);
  }
  if (!values.narrow.empty() && !fits) {
    values.wide.assign(values.narrow.begin(), values.narrow.end());
    values.narrow = {};
  }
  if (values.wide.empty()) {
    values.narrow[row] = static_cast<uint32_t>(value);
  } else {
    values.wide[row] = value;
  }
}

void MetricMatrix::add(size_t row, size_t metric, uint64_t value) {
  if (value != 0) set(row, metric, saturating_sum(at(row, metric), value));
}

void MetricMatrix::raise_to(size_t row, size_t metric, uint64_t value) {
  if (value > at(row, metric)) set(row, metric, value);
}

namespace {

// A damaged file may name blocks that the shader does not have; its rows must not consume memory.
constexpr size_t kMaxBlocksWithoutCode = 65'536;

}  // namespace

BlockTotals::BlockTotals(const Model& model, ShaderCodes& codes, const Variants& variants)
    : model_(model), codes_(codes), variants_(variants), totals_(variants.size()) {}

bool BlockTotals::reserve_block(uint32_t variant, uint32_t block) {
  auto& executions = totals_[variant].executions;
  if (block < executions.size()) return true;
  const auto& code = codes_.of(variants_[variant].shader);
  const size_t block_limit = code.ok() ? code->map.blocks().size() : kMaxBlocksWithoutCode;
  if (block >= block_limit) return false;
  executions.resize(code.ok() ? block_limit : block + 1);
  totals_[variant].with_costs.resize(executions.size());
  return true;
}

Result<BlockTotals> BlockTotals::count(const Model& model, ShaderCodes& codes,
                                       const Variants& variants, const Progress& progress) {
  BlockTotals totals(model, codes, variants);
  const auto variant_of = [&](const auto& b) {
    return variants.of(model.commands[b.command].pipeline, b.shader);
  };
  TALLY_TRY(visit_block_executions(model, progress, [&](const BlockExecutions& b) {
    const uint32_t variant = variant_of(b);
    if (!totals.reserve_block(variant, b.block)) return;
    Totals& of = totals.totals_[variant];
    for (auto* sums : {&of.executions, b.have_costs ? &of.with_costs : nullptr}) {
      if (sums != nullptr) (*sums)[b.block] = saturating_sum((*sums)[b.block], b.executions);
    }
  }));
  StoredValues stored_values;
  TALLY_TRY(visit_block_values(model, progress, [&](const BlockValue& b) {
    const uint32_t variant = variant_of(b);
    if (!totals.reserve_block(variant, b.block)) return;
    StoredValue& stored = stored_values[{variant, b.block, b.metric}];
    stored.value = saturating_sum(stored.value, b.value);
    stored.executions = saturating_sum(stored.executions, b.executions);
  }));
  TALLY_TRY(totals.compute_values(stored_values));
  return totals;
}

// Computes executions x cost, except for executions whose values the capture stores.
Status BlockTotals::compute_values(const StoredValues& stored_values) {
  std::vector<std::vector<uint32_t>> variants_of(model_.shaders.size());
  for (uint32_t v = 0; v < totals_.size(); ++v) {
    variants_of[variants_[v].shader].push_back(v);
    totals_[v].values =
        std::make_unique<MetricMatrix>(totals_[v].executions.size(), model_.metrics.size());
  }
  Status status = visit_block_costs(model_, [&](const BlockCost& row) {
    const uint32_t metric = model_.metric_index.find(row.metric);
    if (metric == kNone) return;
    for (const uint32_t v : variants_of[row.shader]) {
      if (row.block >= block_count(v)) continue;
      const auto stored = stored_values.find({v, row.block, metric});
      const uint64_t all = totals_[v].with_costs[row.block];
      const uint64_t counted =
          stored == stored_values.end() ? all : all - std::min(all, stored->second.executions);
      totals_[v].values->add(row.block, metric, saturating_product(counted, row.per_execution));
    }
  });
  for (const auto& [key, stored] : stored_values) {
    const auto& [variant, block, metric] = key;
    totals_[variant].values->add(block, metric, stored.value);
  }
  add_executions_metric();
  add_subgroup_executions();
  return status;
}

// Sets the metric that counts executions, in case the capture stores no cost of 1 for it.
void BlockTotals::add_executions_metric() {
  const uint32_t metric = executions_metric(describe_metrics(model_));
  if (metric == kNone) return;
  for (Totals& of : totals_) {
    for (size_t block = 0; block < of.executions.size(); ++block) {
      of.values->raise_to(block, metric, of.executions[block]);
    }
  }
}

void BlockTotals::add_subgroup_executions() {
  if (model_.subgroup_lanes == kNone) return;
  for (Totals& of : totals_) {
    for (size_t block = 0; block < of.executions.size(); ++block) {
      if (of.values->at(block, model_.subgroup_lanes) == 0) continue;
      of.values->add(block, model_.subgroup_executions, of.executions[block]);
    }
  }
}

namespace {

// Keyed by variant, block and target.
using Times = std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint64_t>;

BranchCount count_of(uint32_t variant, spirv::Branch branch, const BlockTotals& blocks,
                     const Times& times) {
  static const size_t counted_targets = catalogue::counters_of(catalogue::Scope::Branch).size();
  BranchCount count{std::move(branch), {}};
  for (uint32_t target = 0; target < count.branch.targets.size(); ++target) {
    const spirv::BranchTarget& to = count.branch.targets[target];
    std::optional<uint64_t>& taken = count.taken.emplace_back();
    if (target < counted_targets) {
      const auto found = times.find({variant, count.branch.block, target});
      taken = found == times.end() ? 0 : found->second;
    } else if (to.sole_entry) {
      taken = blocks.executions(variant, to.block);
    }
  }
  return count;
}

// Equal for branches of different instances in one line that belong together.
std::vector<std::string> signature(std::span<const spirv::Branch> branches,
                                   const std::vector<uint32_t>& indices,
                                   const spirv::BlockMap& lines) {
  std::vector<std::string> texts;
  for (const uint32_t index : indices) {
    const spirv::Branch& branch = branches[index];
    std::string text = std::to_string(lines.blocks()[branch.block].end_location->column);
    for (const spirv::BranchTarget& target : branch.targets) text += '\n' + target.label;
    texts.push_back(std::move(text));
  }
  return texts;
}

// Unknown if either is.
void add_counts(BranchCount& sum, const BranchCount& count) {
  for (size_t t = 0; t < sum.taken.size(); ++t) {
    if (!sum.taken[t] || !count.taken[t]) {
      sum.taken[t].reset();
    } else {
      sum.taken[t] = saturating_sum(*sum.taken[t], *count.taken[t]);
    }
  }
}

}  // namespace

std::vector<uint32_t> branch_numbers(std::span<const spirv::Branch> branches,
                                     const spirv::BlockMap& lines) {
  // Sorted by file and line; then by instance.
  std::map<std::pair<uint32_t, uint32_t>, std::map<uint32_t, std::vector<uint32_t>>> by_line;
  for (uint32_t i = 0; i < branches.size(); ++i) {
    const spirv::Block& block = lines.blocks()[branches[i].block];
    if (!block.end_location) continue;
    by_line[{block.end_location->file, block.end_location->line}][block.end_instance].push_back(i);
  }
  std::vector<uint32_t> numbers(branches.size(), kNone);
  for (const auto& [line, instances] : by_line) {
    uint32_t next = 0;
    std::map<std::vector<std::string>, uint32_t> first_numbers;
    for (const auto& [instance, indices] : instances) {
      const auto [first, is_new] =
          first_numbers.try_emplace(signature(branches, indices, lines), next);
      if (is_new) next += static_cast<uint32_t>(indices.size());
      for (uint32_t i = 0; i < indices.size(); ++i) numbers[indices[i]] = first->second + i;
    }
  }
  return numbers;
}

std::vector<LineBranch> branches_by_line(std::span<const BranchCount> branches,
                                         const spirv::BlockMap& lines) {
  std::vector<spirv::Branch> code;
  for (const BranchCount& count : branches) code.push_back(count.branch);
  const std::vector<uint32_t> numbers = branch_numbers(code, lines);
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, LineBranch> by_number;
  for (size_t i = 0; i < branches.size(); ++i) {
    if (numbers[i] == kNone) continue;
    const spirv::SourceLocation& location = *lines.blocks()[code[i].block].end_location;
    const auto [sum, is_new] = by_number.try_emplace({location.file, location.line, numbers[i]},
                                                     LineBranch{location, numbers[i], branches[i]});
    if (!is_new) add_counts(sum->second.counts, branches[i]);
  }
  std::vector<LineBranch> result;
  for (auto& [key, branch] : by_number) result.push_back(std::move(branch));
  return result;
}

uint64_t BranchCount::total() const {
  uint64_t total = 0;
  for (const auto& times : taken) total = saturating_sum(total, times.value_or(0));
  return total;
}

Result<BranchTotals> BranchTotals::count(const Model& model, ShaderCodes& codes,
                                         const Variants& variants, const BlockTotals& blocks,
                                         const Progress& progress) {
  BranchTotals totals;
  totals.branches_.resize(variants.size());
  if (model.branch_metrics.empty()) return totals;
  Times times;
  Status status = visit_branch_values(model, progress, [&](const BranchValue& value) {
    const uint32_t variant = variants.of(model.commands[value.command].pipeline, value.shader);
    uint64_t& sum = times[{variant, value.block, value.target}];
    sum = saturating_sum(sum, value.times);
  });
  TALLY_TRY(status);
  for (uint32_t variant = 0; variant < variants.size(); ++variant) {
    const auto& code = codes.of(variants[variant].shader);
    if (!code.ok() || blocks.block_count(variant) == 0) continue;
    for (spirv::Branch& branch : spirv::branches_of(code->module, code->map)) {
      totals.branches_[variant].push_back(count_of(variant, std::move(branch), blocks, times));
    }
  }
  return totals;
}

namespace {

// True if an invocation that begins the block also reaches its end, without becoming a helper.
bool is_left_by_all(const ShaderCode& code, uint32_t block) {
  const uint32_t label = code.module.definition_index(code.map.blocks()[block].label_id);
  const auto range =
      std::ranges::lower_bound(code.module.blocks(), label, {}, &spirv::BlockRange::begin);
  for (uint32_t i = range->begin; i + 1 < range->end; ++i) {
    const spv::Op opcode = code.module.instruction(i).opcode();
    if (opcode == spv::Op::OpFunctionCall || spirv::ends_invocation_inside_block(opcode))
      return false;
  }
  return true;
}

// Sets the count of the only target without one to what the others leave.
void complete(BranchCount& count, uint64_t executions) {
  const auto begin = count.taken.begin(), end = count.taken.end();
  if (std::count(begin, end, std::nullopt) != 1 || count.total() > executions) return;
  *std::find(begin, end, std::nullopt) = executions - count.total();
}

}  // namespace

std::vector<BranchCount> branch_counts(const ShaderCode& code, uint32_t variant,
                                       const BlockTotals& totals) {
  std::vector<BranchCount> counts;
  for (spirv::Branch& branch : spirv::branches_of(code.module, code.map)) {
    const uint64_t times = totals.executions(variant, branch.block);
    BranchCount count{std::move(branch), {}};
    for (const spirv::BranchTarget& target : count.branch.targets) {
      std::optional<uint64_t>& taken = count.taken.emplace_back();
      if (times == 0) taken = 0;
      if (times != 0 && target.sole_entry) taken = totals.executions(variant, target.block);
    }
    if (is_left_by_all(code, count.branch.block)) complete(count, times);
    counts.push_back(std::move(count));
  }
  return counts;
}

std::optional<ConditionBlocks> condition_blocks(const ShaderCode& code,
                                                const spirv::Branch& branch) {
  if (branch.is_switch || branch.targets.size() != 2) return std::nullopt;
  const spirv::BranchTarget &yes = branch.targets[0], &no = branch.targets[1];
  if (!yes.sole_entry && !no.sole_entry) return std::nullopt;
  if (!(yes.sole_entry && no.sole_entry) && !is_left_by_all(code, branch.block))
    return std::nullopt;
  const auto side = [&](const spirv::BranchTarget& own, const spirv::BranchTarget& other) {
    return own.sole_entry ? ConditionBlocks::Side{own.block}
                          : ConditionBlocks::Side{branch.block, other.block};
  };
  return ConditionBlocks{side(yes, no), side(no, yes)};
}

namespace {

using FileAndLine = std::pair<uint32_t, uint32_t>;  // file, line
constexpr FileAndLine kNoLine{0, 0};

FileAndLine place_of(const spirv::SourceLocation& location) {
  return {location.file, location.line};
}

// Gives a line of an instance this block, if none that it has ran as often.
void note_block(std::map<LineInstance, uint32_t>& blocks, const FileAndLine& place,
                uint32_t instance, uint32_t block, uint32_t variant, const BlockTotals& totals) {
  const auto [most, is_new] = blocks.try_emplace({place.first, place.second, instance}, block);
  if (totals.executions(variant, block) > totals.executions(variant, most->second))
    most->second = block;
}

class CostAttribution {
 public:
  CostAttribution(const ShaderCode& code, const spirv::BlockMap& map, uint32_t variant,
                  const BlockTotals& totals, const std::vector<Metric>& metrics)
      : map_(map),
        variant_(variant),
        totals_(totals),
        metrics_(metrics),
        most_executed_(most_executed_blocks(code, map, variant, totals)) {}

  std::vector<LineValues> run() {
    for (const auto& [line, block] : most_executed_) values_at(place_of(line));
    for (uint32_t block = 0; block < map_.blocks().size(); ++block) {
      if (totals_.executions(variant_, block) == 0) continue;
      for (size_t metric = 0; metric < metrics_.size(); ++metric) attribute(block, metric);
    }
    for (const auto& [line, block] : most_executed_) {
      if (totals_.executions(variant_, block) == 0) continue;
      for (size_t m = 0; m < metrics_.size(); ++m) {
        if (metrics_[m].attribution == Attribution::EveryLine)
          add(place_of(line), m, totals_.value(variant_, block, m));
      }
    }
    std::vector<LineValues> result;
    for (auto& [place, values] : lines_) {
      result.push_back({{place.first, place.second, 0}, std::move(values)});
    }
    return result;
  }

 private:
  void attribute(uint32_t index, size_t metric) {
    const spirv::Block& block = map_.blocks()[index];
    const uint64_t total = totals_.value(variant_, index, metric);
    switch (metrics_[metric].attribution) {
      case Attribution::ByClass:
        attribute_by_class(index, block, metric, total);
        break;
      case Attribution::EveryLine:
        break;  // most_executed_
      case Attribution::FirstLine:
        if (block.location) add(analysis::place_of(*block.location), metric, total);
        if (!block.location && total != 0) add_without_line(index, metric, total);
        break;
    }
  }

  void attribute_by_class(uint32_t index, const spirv::Block& block, size_t metric,
                          uint64_t total) {
    const uint64_t rest =
        split_over_lines(metrics_[metric], map_, block, totals_.executions(variant_, index), total,
                         [&](const spirv::LineCost& line, uint64_t part) {
                           add(analysis::place_of(line.location), metric, part);
                         });
    if (rest != 0) add_without_line(index, metric, rest);
  }

  // Adds a value to the instructions without a line.
  void add_without_line(uint32_t index, size_t metric, uint64_t value) {
    add(kNoLine, metric, value);
    note_block(most_executed_, kNoLine, map_.blocks()[index].function, index, variant_, totals_);
  }

  void add(const FileAndLine& place, size_t metric, uint64_t value) {
    if (value == 0) return;
    uint64_t& sum = values_at(place)[metric];
    sum = saturating_sum(sum, value);
  }

  std::vector<uint64_t>& values_at(const FileAndLine& place) {
    auto& values = lines_[place];
    values.resize(metrics_.size());
    return values;
  }

  static FileAndLine place_of(const LineInstance& line) {
    return {std::get<0>(line), std::get<1>(line)};
  }

  const spirv::BlockMap& map_;
  uint32_t variant_;
  const BlockTotals& totals_;
  const std::vector<Metric>& metrics_;
  std::map<LineInstance, uint32_t> most_executed_;
  std::map<FileAndLine, std::vector<uint64_t>> lines_;
};

}  // namespace

std::map<LineInstance, uint32_t> most_executed_blocks(const ShaderCode& code,
                                                      const spirv::BlockMap& lines,
                                                      uint32_t variant, const BlockTotals& totals) {
  std::map<LineInstance, uint32_t> blocks;
  for (uint32_t block = 0; block < lines.blocks().size(); ++block) {
    if (!code.is_countable(block)) continue;
    for (const spirv::LineCost& line : lines.lines_of(lines.blocks()[block]))
      note_block(blocks, place_of(line.location), line.instance, block, variant, totals);
  }
  return blocks;
}

std::vector<LineValues> line_values(const ShaderCode& code, const spirv::BlockMap& lines,
                                    uint32_t variant, const BlockTotals& totals,
                                    const std::vector<Metric>& metrics) {
  return CostAttribution(code, lines, variant, totals, metrics).run();
}

std::vector<uint64_t> instruction_values(const spirv::CostModel& model, const ShaderCode& code,
                                         size_t instruction, uint32_t variant, size_t block,
                                         const BlockTotals& totals,
                                         const std::vector<Metric>& metrics) {
  const uint64_t executions = totals.executions(variant, block);
  spirv::InstructionMix mix, compiled;
  model.add(code.module.instruction(instruction), mix);
  model.add_compiled(code.module.instruction(instruction), code.map.residue(instruction), compiled);
  std::vector<uint64_t> values;
  for (size_t m = 0; m < metrics.size(); ++m) {
    switch (metrics[m].attribution) {
      case Attribution::ByClass:
        values.push_back(saturating_product(executions, static_cost(metrics[m], mix, compiled)));
        break;
      case Attribution::EveryLine:
        values.push_back(totals.value(variant, block, m));
        break;
      case Attribution::FirstLine:
        values.push_back(0);
        break;
    }
  }
  return values;
}

namespace {

constexpr uint32_t kUnused = ~0u;

}  // namespace

FunctionTable::FunctionTable(const ShaderCode& code)
    : code_(code), by_source_function_(code.map.source_functions().size(), kUnused) {
  for (const spirv::MappedFunction& function : code.map.functions())
    by_function_.push_back(number_of(function.name));
  std::set<std::pair<uint32_t, uint32_t>> entered;  // function, instance
  for (uint32_t b = 0; b < code.map.blocks().size(); ++b) {
    const spirv::Block& block = code.map.blocks()[b];
    const auto enter = [&](uint32_t function, uint32_t instance) {
      if (entered.emplace(function, instance).second) entries_.emplace_back(b, function);
    };
    enter(function_of(block), block.function);
    for (const spirv::LineCost& line : code.map.lines_of(block)) {
      if (line.source_function < by_source_function_.size()) {
        uint32_t& number = by_source_function_[line.source_function];
        if (number == kUnused)
          number = number_of(code.map.source_functions()[line.source_function]);
      }
      const uint32_t function = function_of(block, line);
      enter(function, line.instance);
      if (code.is_countable(b)) find_place(function, line.location);
    }
  }
}

void FunctionTable::find_place(uint32_t function, const spirv::SourceLocation& location) {
  std::optional<spirv::SourceLocation>& first = places_[function];
  if (!first) first = location;
  if (first->file == location.file && location.line < first->line) first = location;
}

uint32_t FunctionTable::number_of(const std::string& name) {
  const auto [found, is_new] =
      number_of_name_.try_emplace(name, static_cast<uint32_t>(names_.size()));
  if (is_new) {
    names_.push_back(name);
    places_.emplace_back();
  }
  return found->second;
}

uint32_t FunctionTable::function_of(const spirv::Block& block) const {
  return by_function_[block.function];
}

uint32_t FunctionTable::function_of(const spirv::Block& block, const spirv::LineCost& line) const {
  return line.source_function < by_source_function_.size()
             ? by_source_function_[line.source_function]
             : function_of(block);
}

std::vector<uint64_t> FunctionTable::executions(uint32_t variant, const BlockTotals& totals) const {
  std::vector<uint64_t> executions(names_.size());
  for (const auto& [block, function] : entries_)
    executions[function] = saturating_sum(executions[function], totals.executions(variant, block));
  return executions;
}

std::vector<std::vector<uint64_t>> FunctionTable::values(uint32_t variant,
                                                         const BlockTotals& totals,
                                                         const std::vector<Metric>& metrics) const {
  std::vector<std::vector<uint64_t>> values(names_.size(), std::vector<uint64_t>(metrics.size()));
  const auto add = [&](uint32_t function, size_t metric, uint64_t value) {
    uint64_t& sum = values[function][metric];
    sum = saturating_sum(sum, value);
  };
  for (const auto& [block, function] : entries_) {
    for (size_t metric = 0; metric < metrics.size(); ++metric) {
      if (metrics[metric].attribution == Attribution::EveryLine)
        add(function, metric, totals.value(variant, block, metric));
    }
  }
  for (size_t index = 0; index < totals.block_count(variant); ++index) {
    const spirv::Block& block = code_.map.blocks()[index];
    for (size_t metric = 0; metric < metrics.size(); ++metric) {
      uint64_t rest = totals.value(variant, index, metric);
      switch (metrics[metric].attribution) {
        case Attribution::EveryLine:
          break;  // entries_
        case Attribution::ByClass:
          rest =
              split_over_lines(metrics[metric], code_.map, block, totals.executions(variant, index),
                               rest, [&](const spirv::LineCost& line, uint64_t part) {
                                 add(function_of(block, line), metric, part);
                               });
          [[fallthrough]];
        case Attribution::FirstLine:
          add(function_of(block), metric, rest);
          break;
      }
    }
  }
  return values;
}

}  // namespace tally::analysis
