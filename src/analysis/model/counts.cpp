#include "analysis/model/counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "analysis/model/metrics.h"
#include "analysis/model/names.h"
#include "analysis/model/shader_code.h"
#include "base/text.h"
#include "spirv/analysis/memory_access.h"

namespace tally::analysis {
namespace {

Result<uint32_t> find_counter(const Model& model, const std::vector<Metric>& counters,
                              const std::string& wanted) {
  if (wanted.empty()) return default_region_counter(counters);
  std::vector<KnownName> known;
  for (uint32_t i = 0; i < counters.size(); ++i)
    known.push_back({counters[i].id, model.region_counters[i].name});
  const auto found = TALLY_TRY(find_name("counter", wanted, known));
  return static_cast<uint32_t>(found);
}

// Returns zeros if the counter has no row.
Result<std::vector<uint32_t>> read_values(const Model& model, const store::PassRegionsRow& regions,
                                          store::RowId counter) {
  std::vector<uint32_t> values(size_t{regions.columns()} * regions.rows());
  TALLY_TRY(model.reader.for_each_region_values(regions, [&](const store::RegionValuesRow& row) {
    if (row.counter == counter) values = row.by_region;
    return row.counter != counter;
  }));
  return values;
}

using store::BlockCountRow;
using store::BlockOtherRow;

template <typename A, typename B>
bool same_block(const A& a, const B& b) {
  return a.sub == b.sub && a.stage == b.stage && a.block == b.block;
}

// The stored values from the block of `row` on. The reader sorts the rows.
std::span<const BlockOtherRow> others_of(const store::BatchValues& values,
                                         const BlockCountRow& row) {
  const auto key = [](const auto& r) { return std::tuple(r.sub, r.stage, r.block); };
  const auto first = std::ranges::lower_bound(
      values.others, key(row), {}, [&](const BlockOtherRow& other) { return key(other); });
  return {first, values.others.end()};
}

// The counts of the block of `row`, or null. The reader sorts the rows.
const BlockCountRow* counts_of(const store::BatchValues& values, const BlockOtherRow& row) {
  const auto key = [](const auto& r) { return std::tuple(r.sub, r.stage, r.block); };
  const auto found = std::ranges::lower_bound(
      values.counts, key(row), {}, [&](const BlockCountRow& count) { return key(count); });
  return found != values.counts.end() && same_block(*found, row) ? &*found : nullptr;
}

// Visits the values of all counted batches and reports progress.
Status visit_batches(
    const Model& model, const Progress& progress,
    const std::function<void(const Batch& batch, const store::BatchValues& values)>& visit) {
  auto reader = TALLY_TRY(model.reader.batch_values());
  store::BatchValues values;
  constexpr size_t kBatchesBetweenReports = 256;
  for (size_t i = 0; i < model.batches.size(); ++i) {
    const Batch& batch = model.batches[i];
    if (!batch.counted) continue;
    TALLY_TRY(reader.read(batch.values, batch.commands.size(), values));
    visit(batch, values);
    if (progress && i % kBatchesBetweenReports == kBatchesBetweenReports - 1) {
      progress(static_cast<double>(i) / static_cast<double>(model.batches.size()));
    }
  }
  return {};
}

// Finds the shader of a batch's stage. Consecutive lookups of the same stage are cached.
class StageLookup {
 public:
  StageLookup(const Model& model, const Batch& batch) : model_(model), batch_(batch) {}

  // Returns false if the shader is not selected.
  bool find(uint32_t sub, uint32_t stage) {
    if (sub != sub_ || stage != stage_) {
      sub_ = sub;
      stage_ = stage;
      shader_ = model_.shader_of(batch_.pipeline, sub, stage);
    }
    return shader_ == kNone ? model_.selection.shader.empty()
                            : model_.is_selected(shader_, batch_.pipeline);
  }
  uint32_t shader() const { return shader_; }

 private:
  const Model& model_;
  const Batch& batch_;
  uint32_t sub_ = 0;
  uint32_t stage_ = 0;
  uint32_t shader_ = kNone;
};

// Sums over the blocks of one stage, for each command of a batch.
class StageSums {
 public:
  StageSums(size_t metrics, size_t commands) : sums_(metrics), commands_(commands) {}

  void add(uint32_t metric, const store::Column& column, uint64_t factor) {
    std::vector<uint64_t>& sums = sums_[metric];
    sums.resize(commands_);
    for (size_t i = 0; i < commands_; ++i) {
      sums[i] = saturating_sum(sums[i], saturating_product(count_at(column, i), factor));
    }
  }
  const std::vector<uint64_t>& of(size_t metric) const { return sums_[metric]; }
  void clear() {
    for (std::vector<uint64_t>& sums : sums_) sums.clear();
  }

 private:
  std::vector<std::vector<uint64_t>> sums_;  // by metric and command
  size_t commands_;
};

// Visits the costs of a block that apply: of metrics that have no stored values of their own.
// `others` are the stored values from that block on.
template <typename Visit>
void for_each_cost(const BlockCosts& costs, uint32_t shader, const BlockCountRow& count,
                   std::span<const BlockOtherRow> others, Visit&& visit) {
  size_t own = 0;
  while (own < others.size() && same_block(others[own], count)) ++own;
  for (const BlockCosts::Cost& cost : costs.of(shader, count.block)) {
    const bool stands_alone = std::ranges::any_of(
        others.first(own), [&](const BlockOtherRow& row) { return row.metric == cost.metric; });
    if (!stands_alone) visit(cost);
  }
}

class StageVisit {
 public:
  StageVisit(const Model& model, const BlockCosts& costs,
             const std::function<void(const StageValue&)>& visit)
      : model_(model),
        costs_(costs),
        visit_(visit),
        executions_(executions_metric(describe_metrics(model))) {}

  void run(const Batch& batch, const store::BatchValues& values) {
    StageLookup lookup(model_, batch);
    StageSums sums(model_.metrics.size(), batch.commands.size());
    auto count = values.counts.begin();
    auto other = values.others.begin();
    while (count != values.counts.end() || other != values.others.end()) {
      // The next stage of either list.
      auto stage = std::pair(~0u, ~0u);
      if (count != values.counts.end()) stage = std::pair(count->sub, count->stage);
      if (other != values.others.end())
        stage = std::min(stage, std::pair(other->sub, other->stage));
      const bool selected = lookup.find(stage.first, stage.second);
      sums.clear();
      auto rest = other;
      for (; count != values.counts.end() && std::pair(count->sub, count->stage) == stage;
           ++count) {
        while (rest != values.others.end() && std::pair(rest->sub, rest->stage) == stage &&
               rest->block < count->block) {
          ++rest;
        }
        if (selected) add_counts(lookup.shader(), *count, {rest, values.others.end()}, sums);
      }
      for (; other != values.others.end() && std::pair(other->sub, other->stage) == stage;
           ++other) {
        const uint32_t metric = model_.metric_index.find(other->metric);
        if (selected && metric != kNone) sums.add(metric, other->values, 1);
      }
      if (selected) emit(batch, lookup.shader(), stage.second, sums);
    }
  }

 private:
  // Adds executions x costs, except for metrics whose values are stored. `others` starts with the
  // stored values of the block, if there are any.
  void add_counts(uint32_t shader, const BlockCountRow& count,
                  std::span<const BlockOtherRow> others, StageSums& sums) const {
    if (shader == kNone) return;
    for_each_cost(costs_, shader, count, others, [&](const BlockCosts::Cost& cost) {
      sums.add(model_.metric_index.find(cost.metric), count.executions, cost.per_execution);
    });
  }

  void emit(const Batch& batch, uint32_t shader, uint32_t stage, const StageSums& sums) const {
    for (uint32_t metric = 0; metric < model_.metrics.size(); ++metric) {
      const std::vector<uint64_t>& of = sums.of(metric);
      for (size_t i = 0; i < of.size(); ++i) {
        if (of[i] != 0) visit_({batch.commands[i], shader, stage, metric, of[i]});
      }
    }
    if (model_.subgroup_lanes != kNone && executions_ != kNone) {
      emit_subgroup_executions(batch, shader, stage, sums);
    }
  }

  // A stage's subgroups are counted in all of its blocks or in none.
  void emit_subgroup_executions(const Batch& batch, uint32_t shader, uint32_t stage,
                                const StageSums& sums) const {
    const std::vector<uint64_t>& lanes = sums.of(model_.subgroup_lanes);
    const std::vector<uint64_t>& executions = sums.of(executions_);
    for (size_t i = 0; i < std::min(lanes.size(), executions.size()); ++i) {
      if (lanes[i] == 0 || executions[i] == 0) continue;
      visit_({batch.commands[i], shader, stage, model_.subgroup_executions, executions[i]});
    }
  }

  const Model& model_;
  const BlockCosts& costs_;
  const std::function<void(const StageValue&)>& visit_;
  const uint32_t executions_;  // the metric
};

}  // namespace

Status visit_stage_values(const Model& model, const Progress& progress,
                          const std::function<void(const StageValue&)>& visit) {
  const auto costs = TALLY_TRY(BlockCosts::load(
      model, [&](store::RowId metric) { return model.metric_index.find(metric) != kNone; }));
  StageVisit stages(model, costs, visit);
  return visit_batches(model, progress, [&](const Batch& batch, const store::BatchValues& values) {
    stages.run(batch, values);
  });
}

Status visit_block_executions(const Model& model, const Progress& progress,
                              const std::function<void(const BlockExecutions&)>& visit) {
  const uint32_t metric = executions_metric(describe_metrics(model));
  return visit_batches(model, progress, [&](const Batch& batch, const store::BatchValues& values) {
    StageLookup lookup(model, batch);
    const auto visit_row = [&](const auto& row, const store::Column& executions, bool have_costs) {
      if (!lookup.find(row.sub, row.stage) || lookup.shader() == kNone) return;
      for (size_t i = 0; i < batch.commands.size(); ++i) {
        const uint64_t times = count_at(executions, i);
        if (times == 0) continue;
        visit({batch.commands[i], lookup.shader(), row.block, times, have_costs});
      }
    };
    for (const BlockCountRow& row : values.counts) visit_row(row, row.executions, true);
    for (const BlockOtherRow& row : values.others) {
      const bool is_executions = metric != kNone && row.metric == model.metrics[metric].id;
      if (is_executions && !counts_of(values, row)) visit_row(row, row.values, false);
    }
  });
}

Status visit_block_values(const Model& model, const Progress& progress,
                          const std::function<void(const BlockValue&)>& visit) {
  return visit_batches(model, progress, [&](const Batch& batch, const store::BatchValues& values) {
    StageLookup lookup(model, batch);
    for (const BlockOtherRow& row : values.others) {
      const uint32_t metric = model.metric_index.find(row.metric);
      if (metric == kNone || !lookup.find(row.sub, row.stage) || lookup.shader() == kNone) continue;
      const BlockCountRow* const counts = counts_of(values, row);
      for (size_t i = 0; i < batch.commands.size(); ++i) {
        visit({batch.commands[i], lookup.shader(), row.block, metric, count_at(row.values, i),
               counts ? count_at(counts->executions, i) : 0});
      }
    }
  });
}

Status visit_branch_values(const Model& model, const Progress& progress,
                           const std::function<void(const BranchValue&)>& visit) {
  const auto& targets = model.branch_metrics;
  if (targets.empty()) return {};
  const auto costs = TALLY_TRY(
      BlockCosts::load(model, [&](store::RowId metric) { return targets.contains(metric); }));
  return visit_batches(model, progress, [&](const Batch& batch, const store::BatchValues& values) {
    StageLookup lookup(model, batch);
    const auto visit_column = [&](uint32_t block, store::RowId metric, const store::Column& column,
                                  uint64_t factor) {
      for (size_t i = 0; i < batch.commands.size(); ++i) {
        const uint64_t times = saturating_product(count_at(column, i), factor);
        if (times == 0) continue;
        visit({batch.commands[i], lookup.shader(), block, targets.at(metric), times});
      }
    };
    for (const BlockOtherRow& row : values.others) {
      if (!targets.contains(row.metric) || !lookup.find(row.sub, row.stage)) continue;
      if (lookup.shader() != kNone) visit_column(row.block, row.metric, row.values, 1);
    }
    for (const BlockCountRow& row : values.counts) {
      if (!lookup.find(row.sub, row.stage) || lookup.shader() == kNone) continue;
      for_each_cost(costs, lookup.shader(), row, others_of(values, row),
                    [&](const BlockCosts::Cost& cost) {
                      visit_column(row.block, cost.metric, row.executions, cost.per_execution);
                    });
    }
  });
}

Status visit_site_values(const Model& model, const Progress& progress,
                         const std::function<void(const SiteValue&)>& visit) {
  if (model.site_metrics.empty()) return {};
  return visit_batches(model, progress, [&](const Batch& batch, const store::BatchValues& values) {
    StageLookup lookup(model, batch);
    for (const BlockOtherRow& row : values.others) {
      if (!spirv::is_site(row.block)) continue;
      const auto slot = model.site_metrics.find(row.metric);
      if (slot == model.site_metrics.end() || !lookup.find(row.sub, row.stage)) continue;
      if (lookup.shader() == kNone) continue;
      for (size_t i = 0; i < batch.commands.size(); ++i) {
        const uint64_t value = count_at(row.values, i);
        if (value == 0) continue;
        visit({batch.commands[i], lookup.shader(), row.block, slot->second, value});
      }
    }
  });
}

void Footprint::add(const Footprint& other) {
  largest = std::max(largest, other.largest);
  sum = saturating_sum(sum, other.sum);
  requested = saturating_sum(requested, other.requested);
}

namespace {

// The word offsets of the accesses of a shader to buffers.
std::unordered_set<uint32_t> sites_of_buffers(ShaderCodes& codes, uint32_t shader) {
  std::unordered_set<uint32_t> sites;
  const Result<ShaderCode>& code = codes.of(shader);
  if (!code) return sites;
  const spirv::MemoryAccesses accesses(code->module);
  for (uint32_t i = 0; i < code->module.instruction_count(); ++i) {
    const auto access = accesses.find(code->module.instruction(i));
    if (access && access->is_of_buffer()) sites.insert(code->module.word_offset(i));
  }
  return sites;
}

}  // namespace

Result<std::vector<Footprint>> find_footprints(const Model& model, ShaderCodes& codes,
                                               const std::vector<uint32_t>& row_of, size_t rows,
                                               const Progress& progress) {
  std::vector<Footprint> of_rows(rows);
  std::unordered_map<uint32_t, uint64_t> lines;  // by command: of all its stages
  std::unordered_map<uint32_t, std::unordered_set<uint32_t>> sites;  // by shader
  const Status status = visit_site_values(model, progress, [&](const SiteValue& v) {
    if (v.slot == spirv::SiteSlot::TouchedLines) {
      uint64_t& sum = lines[v.command];
      sum = saturating_sum(sum, v.value);
    } else if (v.slot == spirv::SiteSlot::RequestedBytes) {
      const auto [found, is_new] = sites.try_emplace(v.shader);
      if (is_new) found->second = sites_of_buffers(codes, v.shader);
      if (!found->second.contains(spirv::word_offset_of(v.site))) return;
      uint64_t& sum = of_rows[row_of[v.command]].requested;
      sum = saturating_sum(sum, v.value);
    }
  });
  TALLY_TRY(status);
  for (const auto& [command, count] : lines) {
    const uint64_t bytes = saturating_product(count, spirv::kLineBytes);
    of_rows[row_of[command]].add(
        {bytes, saturating_product(bytes, model.commands[command].runs), 0});
  }
  if (lines.empty()) of_rows.clear();
  return of_rows;
}

Status visit_batch_blocks(
    const Model& model, const Progress& progress,
    const std::function<void(const Batch& batch, std::span<const BatchBlock> blocks)>& visit) {
  std::vector<BatchBlock> blocks;
  std::vector<BatchBlock::Stored> stored;
  return visit_batches(model, progress, [&](const Batch& batch, const store::BatchValues& values) {
    StageLookup lookup(model, batch);
    blocks.clear();
    stored.clear();
    stored.reserve(values.others.size());  // blocks refer to it
    auto count = values.counts.begin();
    auto other = values.others.begin();
    const auto key = [](const auto& row) { return std::tuple(row.sub, row.stage, row.block); };
    while (count != values.counts.end() || other != values.others.end()) {
      const bool has_counts = count != values.counts.end() &&
                              (other == values.others.end() || key(*count) <= key(*other));
      const auto [sub, stage, block] = has_counts ? key(*count) : key(*other);
      if (!has_counts && spirv::is_site(block)) {
        ++other;
        continue;
      }
      const size_t first = stored.size();
      for (; other != values.others.end() && key(*other) == std::tuple(sub, stage, block); ++other)
        stored.push_back({other->metric, &other->values});
      const auto* executions = has_counts ? &(count++)->executions : nullptr;
      if (!lookup.find(sub, stage)) continue;
      blocks.push_back({lookup.shader(), block, executions, std::span(stored).subspan(first)});
    }
    visit(batch, blocks);
  });
}

uint64_t count_at(const store::Column& column, size_t command) {
  return static_cast<uint64_t>(std::max<int64_t>(column.at(command), 0));
}

uint64_t saturating_sum(uint64_t a, uint64_t b) {
  uint64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<uint64_t>::max() : sum;
}

uint64_t saturating_product(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<uint64_t>::max() : product;
}

uint64_t share_of(uint64_t amount, uint64_t begin, uint64_t end, uint64_t whole) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(Wide{amount} * end / whole - Wide{amount} * begin / whole);
}

void add_saturating(std::vector<uint64_t>& sums, std::span<const uint64_t> values) {
  sums.resize(std::max(sums.size(), values.size()));
  for (size_t i = 0; i < values.size(); ++i) sums[i] = saturating_sum(sums[i], values[i]);
}

Result<std::vector<RegionPass>> region_passes(const Model& model, std::optional<uint32_t> number) {
  IdIndex index;
  for (uint32_t p = 0; p < model.passes.size(); ++p) index.add(model.passes[p].row.id, p);
  std::vector<RegionPass> passes;
  const Status status = model.reader.for_each_pass_regions([&](const store::PassRegionsRow& row) {
    const uint32_t pass = index.find(row.pass);
    const bool wanted = pass != kNone && (!number || model.passes[pass].number_in_frame == *number);
    if (wanted) passes.push_back({pass, row});
    return true;
  });
  TALLY_TRY(status);
  return passes;
}

Result<RegionDraws> RegionDraws::open(const Model& model) {
  RegionDraws draws(model);
  auto any = TALLY_TRY(model.reader.query("SELECT 1 FROM region_draw LIMIT 1"));
  if (!any.step()) return any.status().ok() ? Result(std::move(draws)) : any.status().error();
  std::map<store::RowId, const Batch*> batches;
  for (const Batch& batch : model.batches) batches.emplace(batch.id, &batch);
  const Status read = model.reader.for_each_batch([&](const store::CommandBatchRow& row) {
    const auto found = batches.find(row.id);
    if (!row.pass || found == batches.end()) return true;
    const std::vector<uint32_t>& commands = found->second->commands;
    for (size_t i = 0; i < std::min(commands.size(), row.positions.values.size()); ++i)
      draws.commands_.emplace(std::pair(row.execution, row.positions.values[i]), commands[i]);
    return true;
  });
  TALLY_TRY(read);
  return draws;
}

Result<std::vector<RegionDraw>> RegionDraws::read(const RegionPass& pass) const {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint64_t>> found;  // by region and command
  const store::RowId execution = model_->passes[pass.pass].row.execution;
  const Status read =
      model_->reader.for_each_region_draw(pass.regions, [&](const store::RegionDrawRow& row) {
        const auto command = commands_.find({execution, row.position});
        const uint32_t counter = model_->region_counter_index.find(row.counter);
        if (command == commands_.end() || counter == kNone) return true;
        for (size_t i = 0; i < row.places.size(); ++i) {
          std::vector<uint64_t>& values = found[{row.places[i], command->second}];
          values.resize(model_->region_counters.size());
          values[counter] = saturating_sum(values[counter], row.values[i]);
        }
        return true;
      });
  TALLY_TRY(read);
  std::vector<RegionDraw> draws;
  draws.reserve(found.size());
  for (auto& [key, values] : found) draws.push_back({key.first, key.second, std::move(values)});
  return draws;
}

uint64_t pixels_of(const Pass& pass) {
  const auto views = static_cast<uint64_t>(std::popcount(pass.row.view_mask));
  const uint64_t layers = views != 0 ? views : std::max<uint64_t>(pass.row.layers, 1);
  return saturating_product(uint64_t{pass.row.width} * pass.row.height, layers * pass.runs);
}

PixelArea region_area(const store::PassRegionsRow& regions, uint32_t column, uint32_t row) {
  const uint32_t left = column * regions.region_width, top = row * regions.region_height;
  // In a damaged file the sums may overflow.
  const auto sum = [](int64_t a, uint32_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + b);
  };
  return {sum(regions.x, left), sum(regions.y, top),
          std::min(regions.region_width, regions.width - left),
          std::min(regions.region_height, regions.height - top)};
}

Result<uint64_t> count_unknown_stages(const Model& model) {
  std::unordered_multimap<store::RowId, const Batch*> batches;  // several share values
  for (const Batch& batch : model.batches) batches.emplace(batch.values, &batch);
  auto stages = TALLY_TRY(model.reader.query("SELECT DISTINCT batch, sub, stage FROM batch_count"));
  uint64_t count = 0;
  while (stages.step()) {
    const auto [begin, end] = batches.equal_range(stages.integer(0));
    for (auto at = begin; at != end; ++at) {
      const Batch& batch = *at->second;
      if (!batch.counted) continue;
      const uint32_t shader =
          model.shader_of(batch.pipeline, static_cast<uint32_t>(stages.integer(1)),
                          static_cast<uint32_t>(stages.integer(2)));
      if (shader == kNone) count += batch.commands.size();
    }
  }
  TALLY_TRY(stages.status());
  return count;
}

Result<std::optional<RegionMap>> make_region_map(const Model& model,
                                                 const RegionMapOptions& options) {
  const auto passes = TALLY_TRY(region_passes(model, options.pass));
  const std::vector<Metric> counters = describe_region_counters(model);
  if (passes.empty() || counters.empty()) return std::optional<RegionMap>();
  const auto counter = TALLY_TRY(find_counter(model, counters, options.counter));
  RegionMap map;
  map.counter = counters[counter];
  const RegionPass* hottest = nullptr;
  for (const RegionPass& pass : passes) {
    auto values = TALLY_TRY(read_values(model, pass.regions, model.region_counters[counter].id));
    const uint64_t total = std::accumulate(values.begin(), values.end(), uint64_t{0});
    if (hottest && total <= map.total) continue;
    hottest = &pass;
    map.total = total;
    map.values = std::move(values);
  }
  const Pass& pass = model.passes[hottest->pass];
  map.frame = model.frames[pass.frame].number;
  map.pass_number = pass.number_in_frame;
  map.pass = pass_text(&pass);
  map.regions = hottest->regions;
  map.picture = TALLY_TRY(model.reader.pass_picture(pass.row.id, map.regions.layer));
  return std::optional(std::move(map));
}

}  // namespace tally::analysis
