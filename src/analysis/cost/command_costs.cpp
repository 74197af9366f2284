#include "analysis/cost/command_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "analysis/model/counts.h"
#include "analysis/model/names.h"

namespace tally::analysis {
namespace {

// The element with this key in an ascending vector; added if there is none.
template <typename Element, typename Key>
Element& element_at(std::vector<Element>& elements, const Key& key, Key Element::*member) {
  if (elements.empty() || elements.back().*member < key) return elements.emplace_back(Element{key});
  const auto at = std::ranges::lower_bound(elements, key, {}, member);
  return (*at).*member == key ? *at : *elements.insert(at, Element{key});
}

}  // namespace

CommandCosts::CommandCosts(const Model& model)
    : model_(&model), executions_metric_(executions_metric(describe_metrics(model))) {}

Result<CommandCosts> CommandCosts::count(const Model& model, const Variants& variants,
                                         const Progress& progress) {
  CommandCosts costs(model);
  costs.variants_ = &variants;
  costs.find_draws();
  if (Status loaded = costs.load_costs(); !loaded) return loaded.error();
  if (Status counted = costs.count_blocks(variants, progress); !counted) return counted.error();
  costs.sort_groups();
  return costs;
}

void CommandCosts::find_draws() {
  std::map<std::string, uint32_t> place_of;
  std::vector<uint32_t> place_of_pass, place_of_pipeline(model_->pipelines.size() + 1, kNone);
  const auto place = [&](std::string name) {
    const auto [found, is_new] =
        place_of.try_emplace(std::move(name), static_cast<uint32_t>(places_.size()));
    if (is_new) places_.push_back(found->first);
    return found->second;
  };
  for (const Pass& pass : model_->passes) place_of_pass.push_back(place(pass_text(&pass)));
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> draw_of;
  for (uint32_t c = 0; c < model_->commands.size(); ++c) {
    const Command& command = model_->commands[c];
    uint32_t& of_pipeline =
        place_of_pipeline[std::min<size_t>(command.pipeline, model_->pipelines.size())];
    if (command.pass == kNone && of_pipeline == kNone)
      of_pipeline = place("pipeline " + pipeline_name(*model_, command.pipeline));
    const uint32_t at = command.pass == kNone ? of_pipeline : place_of_pass[command.pass];
    const auto [found, is_new] = draw_of.try_emplace(std::tuple(at, command.call, command.pipeline),
                                                     static_cast<uint32_t>(draws_.size()));
    if (is_new) draws_.push_back({at, c, 0});
    draws_[found->second].runs += command.runs;
    draw_of_.push_back(found->second);
  }
}

Status CommandCosts::load_costs() {
  return model_->reader.for_each_block_cost([&](const store::BlockCostRow& row) {
    const uint32_t shader = model_->shader_index.find(row.shader);
    const uint32_t metric = model_->metric_index.find(row.metric);
    if (shader != kNone && metric != kNone)
      costs_[{shader, row.block}].emplace_back(metric, row.per_execution);
    return true;
  });
}

CommandCosts::Counts& CommandCosts::counts_of(uint32_t command, uint32_t variant) {
  const uint32_t draw = draw_of_[command];
  const auto [found, is_new] =
      group_of_.try_emplace(uint64_t{draw} << 32 | variant, static_cast<uint32_t>(groups_.size()));
  if (is_new) {
    groups_.push_back({draw, variant});
    counts_.emplace_back();
  }
  return counts_[found->second];
}

Status CommandCosts::count_blocks(const Variants& variants, const Progress& progress) {
  const auto counts = [&](const auto& b) -> Counts& {
    return counts_of(b.command, variants.of(model_->commands[b.command].pipeline, b.shader));
  };
  Status status = visit_block_executions(*model_, progress, [&](const BlockExecutions& b) {
    Executions& sums = element_at(counts(b).executions, b.block, &Executions::block);
    sums.all = saturating_sum(sums.all, b.executions);
    if (b.have_costs) sums.with_costs = saturating_sum(sums.with_costs, b.executions);
  });
  if (!status) return status;
  return visit_block_values(*model_, progress, [&](const BlockValue& b) {
    Stored& stored = element_at(counts(b).stored, std::pair(b.block, b.metric), &Stored::key);
    stored.value = saturating_sum(stored.value, b.value);
    stored.executions = saturating_sum(stored.executions, b.executions);
  });
}

void CommandCosts::sort_groups() {
  std::vector<uint32_t> order(groups_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const auto key = [&](uint32_t group) {
      const Group& g = groups_[group];
      return std::tuple(draws_[g.draw].place, g.draw, g.variant);
    };
    return key(a) < key(b);
  });
  std::vector<Group> groups;
  std::vector<Counts> counts;
  for (const uint32_t group : order) {
    groups.push_back(groups_[group]);
    counts.push_back(std::move(counts_[group]));
  }
  groups_ = std::move(groups);
  counts_ = std::move(counts);
  group_of_.clear();
}

void CommandCosts::add_values(const Group& group, const Counts& counts,
                              std::vector<BlockValues>& sums) const {
  const auto of_block = [&](uint32_t block) -> BlockValues& {
    BlockValues& values = element_at(sums, block, &BlockValues::block);
    values.metrics.resize(model_->metrics.size());
    return values;
  };
  const auto add = [](uint64_t& sum, uint64_t value) { sum = saturating_sum(sum, value); };
  for (const Executions& executions : counts.executions) {
    const uint32_t block = executions.block;
    BlockValues& values = of_block(block);
    add(values.executions, executions.all);
    if (executions_metric_ != kNone) add(values.metrics[executions_metric_], executions.all);
    const auto costs = costs_.find({(*variants_)[group.variant].shader, block});
    if (costs == costs_.end()) continue;
    for (const auto& [metric, cost] : costs->second) {
      if (metric == executions_metric_) continue;
      const auto stored =
          std::ranges::lower_bound(counts.stored, std::pair(block, metric), {}, &Stored::key);
      const bool is_stored =
          stored != counts.stored.end() && stored->key == std::pair(block, metric);
      const uint64_t covered = is_stored ? stored->executions : 0;
      add(values.metrics[metric],
          saturating_product(executions.with_costs - std::min(executions.with_costs, covered),
                             cost));
    }
  }
  for (const Stored& stored : counts.stored) {
    const auto [block, metric] = stored.key;
    if (metric != executions_metric_) add(of_block(block).metrics[metric], stored.value);
  }
}

std::vector<BlockValues> CommandCosts::values(size_t group) const {
  std::vector<BlockValues> values;
  values.reserve(counts_[group].executions.size());
  add_values(groups_[group], counts_[group], values);
  return values;
}

std::vector<std::vector<BlockValues>> CommandCosts::variant_values() const {
  std::vector<std::vector<BlockValues>> values(variants_->size());
  for (size_t g = 0; g < groups_.size(); ++g)
    add_values(groups_[g], counts_[g], values[groups_[g].variant]);
  return values;
}

std::string CommandCosts::draw_text(const Draw& draw) const {
  const Command& command = model_->commands[draw.command];
  const std::string call = call_text(model_->calls[command.call]);
  if (command.pass == kNone) return call;
  return fmt::format("{} ({})", call, pipeline_name(*model_, command.pipeline));
}

}  // namespace tally::analysis
