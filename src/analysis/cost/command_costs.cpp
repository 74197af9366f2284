#include "analysis/cost/command_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "analysis/model/counts.h"
#include "analysis/model/names.h"
#include "base/hash.h"

namespace tally::analysis {
void CommandCosts::Executions::add(const Executions& other) {
  all = saturating_sum(all, other.all);
  with_costs = saturating_sum(with_costs, other.with_costs);
}

void CommandCosts::Stored::add(const Stored& other) {
  value = saturating_sum(value, other.value);
  executions = saturating_sum(executions, other.executions);
}

template <typename Element>
void CommandCosts::Counts<Element>::add(const Element& element) {
  if (!elements_.empty() && elements_.back().key() == element.key())
    return elements_.back().add(element);
  elements_.push_back(element);
  if (elements_.size() < limit_) return;
  sum_up();
  limit_ = std::max(limit_, 2 * elements_.size());
}

template <typename Element>
void CommandCosts::Counts<Element>::sum_up() {
  const auto key = [](const Element& element) { return element.key(); };
  if (!std::ranges::is_sorted(elements_, {}, key)) std::ranges::sort(elements_, {}, key);
  size_t last = 0;
  for (size_t i = 1; i < elements_.size(); ++i) {
    if (elements_[i].key() == elements_[last].key()) {
      elements_[last].add(elements_[i]);
    } else {
      elements_[++last] = elements_[i];
    }
  }
  if (!elements_.empty()) elements_.resize(last + 1, elements_.front());
}

template <typename Element>
void CommandCosts::Counts<Element>::renumber(const std::vector<uint32_t>& numbers) {
  for (Element& element : elements_) element.group = numbers[element.group];
  sum_up();
  first_.assign(numbers.size() + 1, 0);
  for (const Element& element : elements_) ++first_[element.group + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
}

CommandCosts::CommandCosts(const Model& model)
    : model_(&model), executions_metric_(executions_metric(describe_metrics(model))) {}

Result<CommandCosts> CommandCosts::count(const Model& model, const Variants& variants,
                                         const Progress& progress) {
  CommandCosts costs(model);
  costs.variants_ = &variants;
  costs.find_draws();
  TALLY_TRY(costs.load_costs());
  TALLY_TRY(costs.count_blocks(variants, progress));
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
  NumberTable draw_numbers;
  draw_numbers.reserve(model_->calls.size());
  const auto key = [&](uint32_t place_of_draw, uint32_t c) {
    return std::tuple(place_of_draw, model_->commands[c].call, model_->commands[c].pipeline);
  };
  const auto hash = [&](uint32_t place_of_draw, uint32_t c) {
    const Command& command = model_->commands[c];
    return hash_combine(hash_combine(place_of_draw, command.call), command.pipeline);
  };
  for (uint32_t c = 0; c < model_->commands.size(); ++c) {
    const Command& command = model_->commands[c];
    uint32_t& of_pipeline =
        place_of_pipeline[std::min<size_t>(command.pipeline, model_->pipelines.size())];
    if (command.pass == kNone && of_pipeline == kNone)
      of_pipeline = place("pipeline " + pipeline_name(*model_, command.pipeline));
    const uint32_t at = command.pass == kNone ? of_pipeline : place_of_pass[command.pass];
    const auto next = static_cast<uint32_t>(draws_.size());
    const uint32_t draw = draw_numbers.find_or_add(
        hash(at, c), next,
        [&](uint32_t other) {
          return key(draws_[other].place, draws_[other].command) == key(at, c);
        },
        [&](uint32_t other) { return hash(draws_[other].place, draws_[other].command); });
    if (draw == next) draws_.push_back({at, c, 0});
    draws_[draw].runs += command.runs;
    draw_of_.push_back(draw);
  }
}

Status CommandCosts::load_costs() {
  return visit_block_costs(*model_, [&](const BlockCost& cost) {
    const uint32_t metric = model_->metric_index.find(cost.metric);
    if (metric != kNone) costs_[{cost.shader, cost.block}].emplace_back(metric, cost.per_execution);
  });
}

uint32_t CommandCosts::group_of(uint32_t command, uint32_t variant) {
  const auto next = static_cast<uint32_t>(groups_.size());
  const uint32_t draw = draw_of_[command];
  const uint32_t group = group_numbers_.find_or_add(
      hash_combine(draw, variant), next,
      [&](uint32_t other) {
        return groups_[other].draw == draw && groups_[other].variant == variant;
      },
      [&](uint32_t other) { return hash_combine(groups_[other].draw, groups_[other].variant); });
  if (group == next) groups_.push_back({draw, variant});
  return group;
}

Status CommandCosts::count_blocks(const Variants& variants, const Progress& progress) {
  const auto group = [&](const auto& b) {
    return group_of(b.command, variants.of(model_->commands[b.command].pipeline, b.shader));
  };
  group_numbers_.reserve(draws_.size());
  TALLY_TRY(visit_block_executions(*model_, progress, [&](const BlockExecutions& b) {
    executions_.add({group(b), b.block, b.executions, b.have_costs ? b.executions : 0});
  }));
  return visit_block_values(*model_, progress, [&](const BlockValue& b) {
    stored_.add({group(b), b.block, b.metric, b.value, b.executions});
  });
}

void CommandCosts::sort_groups() {
  std::vector<uint32_t> order(groups_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](uint32_t group) {
    const Group& g = groups_[group];
    return std::tuple(draws_[g.draw].place, g.draw, g.variant);
  });
  std::vector<Group> groups;
  std::vector<uint32_t> numbers(groups_.size());
  for (const uint32_t group : order) {
    numbers[group] = static_cast<uint32_t>(groups.size());
    groups.push_back(groups_[group]);
  }
  groups_ = std::move(groups);
  group_numbers_ = {};
  executions_.renumber(numbers);
  stored_.renumber(numbers);
}

// Adds the stored values of a block, and its costs times the executions that these do not cover.
void CommandCosts::add_values(const BlockValues& block, std::span<const Stored> stored,
                              uint64_t with_costs, uint32_t shader) const {
  const auto add = [&](uint32_t metric, uint64_t value) {
    block.metrics[metric] = saturating_sum(block.metrics[metric], value);
  };
  if (executions_metric_ != kNone) add(executions_metric_, block.executions);
  for (const Stored& of_block : stored) {
    if (of_block.metric != executions_metric_) add(of_block.metric, of_block.value);
  }
  const auto costs = costs_.find({shader, block.block});
  if (costs == costs_.end() || with_costs == 0) return;
  for (const auto& [metric, cost] : costs->second) {
    if (metric == executions_metric_) continue;
    const auto found = std::ranges::find(stored, metric, &Stored::metric);
    const uint64_t covered = found == stored.end() ? 0 : found->executions;
    add(metric, saturating_product(with_costs - std::min(with_costs, covered), cost));
  }
}

void CommandCosts::values(size_t group, BlockValueList& values) const {
  const auto number = static_cast<uint32_t>(group);
  const std::span<const Executions> executions = executions_.of(number);
  std::span<const Stored> stored = stored_.of(number);
  const size_t metrics = model_->metrics.size();
  auto& blocks = values.blocks_;
  blocks.clear();
  for (const Executions& of_block : executions) blocks.push_back({of_block.block, of_block.all});
  for (const Stored& of_block : stored) {  // those that did not run are rare
    const auto at = std::ranges::lower_bound(blocks, of_block.block, {}, &BlockValues::block);
    if (at == blocks.end() || at->block != of_block.block) blocks.insert(at, {of_block.block});
  }
  values.metrics_.assign(blocks.size() * metrics, 0);
  const uint32_t shader = (*variants_)[groups_[group].variant].shader;
  auto counted = executions.begin();
  for (size_t i = 0; i < blocks.size(); ++i) {
    blocks[i].metrics = std::span(values.metrics_).subspan(i * metrics, metrics);
    size_t own = 0;
    while (own < stored.size() && stored[own].block == blocks[i].block) ++own;
    const bool ran = counted != executions.end() && counted->block == blocks[i].block;
    add_values(blocks[i], stored.first(own), ran ? counted->with_costs : 0, shader);
    if (ran) ++counted;
    stored = stored.subspan(own);
  }
}

std::vector<BlockValueList> CommandCosts::variant_values() const {
  std::vector<BlockValueList> sums(variants_->size());
  std::vector<std::map<uint32_t, size_t>> positions(sums.size());  // by variant and block
  const size_t metrics = model_->metrics.size();
  BlockValueList values_of_group;
  for (size_t g = 0; g < groups_.size(); ++g) {
    values(g, values_of_group);
    BlockValueList& sum = sums[groups_[g].variant];
    for (const BlockValues& block : values_of_group.blocks()) {
      const auto [at, is_new] =
          positions[groups_[g].variant].try_emplace(block.block, sum.blocks_.size());
      if (is_new) {
        sum.blocks_.push_back({block.block});
        sum.metrics_.resize(sum.metrics_.size() + metrics);
      }
      uint64_t& executions = sum.blocks_[at->second].executions;
      executions = saturating_sum(executions, block.executions);
      uint64_t* const into = &sum.metrics_[at->second * metrics];
      for (size_t m = 0; m < metrics; ++m) into[m] = saturating_sum(into[m], block.metrics[m]);
    }
  }
  for (BlockValueList& sum : sums) {
    for (size_t i = 0; i < sum.blocks_.size(); ++i)
      sum.blocks_[i].metrics = std::span(sum.metrics_).subspan(i * metrics, metrics);
    std::ranges::sort(sum.blocks_, {}, &BlockValues::block);
  }
  return sums;
}

// The costs of a block that a group ran with nothing but executions are looked at only once.
std::vector<bool> CommandCosts::used_metrics() const {
  std::vector<bool> used(model_->metrics.size());
  std::vector<std::vector<bool>> seen(variants_->size());  // by variant and block
  BlockValueList values_of_group;
  for (size_t g = 0; g < groups_.size(); ++g) {
    const auto group = static_cast<uint32_t>(g);
    std::vector<bool>& of_variant = seen[groups_[g].variant];
    const auto is_seen = [&](const Executions& of_block) {
      return of_block.block < of_variant.size() && of_variant[of_block.block];
    };
    const auto executions = executions_.of(group);
    const bool has_stored = !stored_.of(group).empty();
    if (!has_stored && std::ranges::all_of(executions, is_seen)) continue;
    values(g, values_of_group);
    for (const BlockValues& block : values_of_group.blocks()) {
      for (size_t m = 0; m < used.size(); ++m) used[m] = used[m] || block.metrics[m] != 0;
    }
    if (has_stored) continue;
    for (const Executions& of_block : executions) {
      if (of_block.with_costs == 0) continue;
      if (of_block.block >= of_variant.size()) of_variant.resize(of_block.block + size_t{1});
      of_variant[of_block.block] = true;
    }
  }
  return used;
}

std::string CommandCosts::draw_text(const Draw& draw) const {
  const Command& command = model_->commands[draw.command];
  const std::string call = call_text(model_->calls[command.call]);
  if (command.pass == kNone) return call;
  return fmt::format("{} ({})", call, pipeline_name(*model_, command.pipeline));
}

}  // namespace tally::analysis
