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
  Status status = visit_block_executions(*model_, progress, [&](const BlockExecutions& b) {
    executions_.add({group(b), b.block, b.executions, b.have_costs ? b.executions : 0});
  });
  if (!status) return status;
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

namespace {

__extension__ using Wide = unsigned __int128;

// Beyond these, a shader's functions are shown directly below its entry point.
constexpr size_t kMaxPaths = 4096, kMaxPathFunctions = 512;

// total x part / whole, rounded down.
uint64_t scaled(uint64_t total, uint64_t part, uint64_t whole) {
  return static_cast<uint64_t>(Wide{total} * part / whole);
}

void add_to(std::vector<uint64_t>& sums, const std::vector<uint64_t>& values) {
  for (size_t m = 0; m < sums.size(); ++m) sums[m] = saturating_sum(sums[m], values[m]);
}

// Sums the costs of one function by inlined function, file and line.
class LineSums {
 public:
  explicit LineSums(size_t metrics) : metrics_(metrics) {}

  std::vector<uint64_t>& at(uint32_t inlined, const spirv::SourceLocation& location) {
    auto& values = sums_[{location.file, inlined, location.line}];
    values.resize(metrics_);
    return values;
  }
  std::vector<SelfCost> take() {
    std::vector<SelfCost> lines;
    for (auto& [key, values] : sums_) {
      const auto& [file, inlined, line] = key;
      lines.push_back({{.file = file, .line = line}, inlined, std::move(values)});
    }
    return lines;
  }

 private:
  size_t metrics_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<uint64_t>> sums_;
};

// The source function of a line, or kNone if it is the function that contains the block.
uint32_t inlined_function(const spirv::BlockMap& map, const spirv::Block& block,
                          const spirv::LineCost& line) {
  if (line.source_function >= map.source_functions().size()) return kNone;
  const bool is_own =
      map.source_functions()[line.source_function] == map.functions()[block.function].name;
  return is_own ? kNone : line.source_function;
}

// `rest` is scratch memory.
void add_block(const spirv::BlockMap& map, const BlockValues& values,
               const std::vector<Metric>& metrics, std::vector<uint64_t>& rest, LineSums& sums) {
  const spirv::Block& block = map.blocks()[values.block];
  rest.assign(values.metrics.begin(), values.metrics.end());
  const auto values_at = [&](const spirv::LineCost& line) -> std::vector<uint64_t>& {
    return sums.at(inlined_function(map, block, line), line.location);
  };
  const auto add = [&](const spirv::LineCost& line, size_t metric, uint64_t part) {
    uint64_t& sum = values_at(line)[metric];
    sum = saturating_sum(sum, part);
  };
  for (const spirv::LineCost& line : map.lines_of(block)) values_at(line);  // also those of 0
  for (size_t m = 0; m < metrics.size(); ++m) {
    if (metrics[m].attribution == Attribution::ByClass) {
      rest[m] =
          split_over_lines(metrics[m], map, block, values.executions, rest[m],
                           [&](const spirv::LineCost& line, uint64_t part) { add(line, m, part); });
    } else if (block.line_count != 0) {
      add(map.lines_of(block).front(), m, std::exchange(rest[m], 0));
    }
  }
  if (std::ranges::any_of(rest, [](uint64_t value) { return value != 0; }))
    add_to(sums.at(kNone, {}), rest);
}

}  // namespace

ShaderCalls::ShaderCalls(const ShaderCode& code) : code_(code) {
  const auto functions = code.map.functions();
  if (code.entry_block != kNone) entry_ = code.map.blocks()[code.entry_block].function;
  for (uint32_t f = 0; f < functions.size(); ++f) function_of_id_[functions[f].id] = f;
  const spirv::Module& module = code.module;
  std::vector<uint32_t> rank(functions.size(), kNone);
  for (const uint32_t index :
       module.calls().callees_first(module.function_index(functions[entry_].id))) {
    const auto found = function_of_id_.find(module.functions()[index].id);
    if (found == function_of_id_.end()) continue;
    rank[found->second] = static_cast<uint32_t>(order_.size());
    order_.push_back(found->second);
  }
  for (uint32_t b = 0; b < code.map.blocks().size(); ++b) find_calls(b, rank);
  std::ranges::stable_sort(calls_, {}, [&](const Call& call) { return rank[call.callee]; });
}

void ShaderCalls::find_calls(uint32_t index, const std::vector<uint32_t>& rank) {
  const spirv::Block& block = code_.map.blocks()[index];
  const spirv::Module& module = code_.module;
  for (size_t i = module.definition_index(block.label_id);
       i < module.instruction_count() && module.word_offset(i) < block.word_end; ++i) {
    const auto called = spirv::called_functions(module.instruction(i));
    for (const uint32_t id : {called.first, called.second}) {
      const auto callee = function_of_id_.find(id);
      if (callee == function_of_id_.end() || rank[callee->second] >= rank[block.function]) continue;
      calls_.push_back({block.function, callee->second, index,
                        block.location.value_or(spirv::SourceLocation{})});
    }
  }
}

CallCosts::CallCosts(const ShaderCalls& shader, std::span<const BlockValues> values,
                     const std::vector<Metric>& metrics)
    : shader_(shader), metric_count_(metrics.size()) {
  add_self_costs(values, metrics);
  find_calls(values);
}

void CallCosts::add_self_costs(std::span<const BlockValues> values,
                               const std::vector<Metric>& metrics) {
  const spirv::BlockMap& map = shader_.code().map;
  std::vector<LineSums> sums(map.functions().size(), LineSums(metric_count_));
  std::vector<uint64_t> rest;
  for (const BlockValues& block : values) {
    if (block.block < map.blocks().size())
      add_block(map, block, metrics, rest, sums[map.blocks()[block.block].function]);
  }
  for (LineSums& function : sums) functions_.push_back(function.take());
}

// Calls that ran; of a function without any, its first call, so that every function has a caller.
void CallCosts::find_calls(std::span<const BlockValues> values) {
  const auto count_of = [&](uint32_t block) -> uint64_t {
    const auto found = std::ranges::lower_bound(values, block, {}, &BlockValues::block);
    return found != values.end() && found->block == block ? found->executions : 0;
  };
  const auto& calls = shader_.calls();
  for (size_t first = 0, last = 0; first < calls.size(); first = last) {
    const size_t before = calls_.size();
    const auto add = [&](const ShaderCalls::Call& call, uint64_t count) {
      calls_.push_back({call.caller, call.callee, call.location, count, {}});
    };
    for (last = first; last < calls.size() && calls[last].callee == calls[first].callee; ++last) {
      if (const uint64_t count = count_of(calls[last].block)) add(calls[last], count);
    }
    if (calls_.size() == before) add(calls[first], 0);
  }
}

std::vector<CallCost> CallCosts::calls_with_costs() const {
  std::vector<std::vector<uint64_t>> inclusive;  // by function: with all that it calls
  for (const auto& lines : functions_) {
    inclusive.emplace_back(metric_count_);
    for (const SelfCost& line : lines) add_to(inclusive.back(), line.metrics);
  }
  std::vector<CallCost> calls = calls_;
  // All calls of a function are adjacent, and its own calls precede them.
  for (size_t first = 0, last = 0; first < calls.size(); first = last) {
    const uint32_t callee = calls[first].callee;
    uint64_t all = 0, before = 0;
    for (last = first; last < calls.size() && calls[last].callee == callee; ++last)
      all = saturating_sum(all, calls[last].count);
    for (size_t i = first; i < last; ++i) {
      const uint64_t upto = saturating_sum(before, calls[i].count);
      calls[i].metrics.resize(metric_count_);
      for (size_t m = 0; m < metric_count_; ++m) {
        const uint64_t total = inclusive[callee][m];
        calls[i].metrics[m] =
            all == 0 ? total : scaled(total, upto, all) - scaled(total, before, all);
      }
      before = upto;
      add_to(inclusive[calls[i].caller], calls[i].metrics);
    }
  }
  return calls;
}

// Walks the tree of calls. Each function's costs are given out by the share of the calls so far;
// its last path gets the rest.
class CallCosts::PathVisit {
 public:
  PathVisit(const CallCosts& costs, const Visit& visit)
      : costs_(costs),
        visit_(visit),
        calls_of_(costs.functions_.size()),
        calls_to_(costs.functions_.size()),
        paths_(costs.functions_.size()),
        states_(costs.functions_.size()) {
    for (const CallCost& call : costs.calls_) {
      calls_of_[call.caller].push_back(&call);
      calls_to_[call.callee] += static_cast<long double>(call.count);
    }
    for (size_t f = 0; f < states_.size(); ++f) {
      for (const SelfCost& line : costs.functions_[f])
        states_[f].given.emplace_back(line.metrics.size());
    }
  }

  bool has_few_paths() {
    if (costs_.shader_.order().size() > kMaxPathFunctions) return false;
    paths_[costs_.shader_.entry()] = 1;
    size_t all = 0;
    for (size_t i = costs_.shader_.order().size(); i-- > 0;) {
      const uint32_t function = costs_.shader_.order()[i];
      all += paths_[function];
      if (all > kMaxPaths) return false;
      for (const CallCost* call : calls_of_[function]) paths_[call->callee] += paths_[function];
    }
    return true;
  }

  void walk(uint32_t function, long double weight) {
    path_.push_back(function);
    give(function, weight);
    for (const CallCost* call : calls_of_[function]) {
      const long double all = calls_to_[call->callee];
      walk(call->callee, all == 0 ? weight : weight * static_cast<long double>(call->count) / all);
    }
    path_.pop_back();
  }

 private:
  struct State {
    size_t visits = 0;
    long double weight = 0;
    std::vector<std::vector<uint64_t>> given;  // by line and metric
  };

  void give(uint32_t function, long double weight) {
    State& state = states_[function];
    state.weight += weight;
    const bool is_last = ++state.visits == paths_[function];
    for (size_t l = 0; l < state.given.size(); ++l) {
      SelfCost part = costs_.functions_[function][l];
      for (size_t m = 0; m < part.metrics.size(); ++m) {
        const uint64_t total = part.metrics[m];
        const long double share = static_cast<long double>(total) * state.weight;
        const uint64_t target = is_last || share >= static_cast<long double>(total)
                                    ? total
                                    : static_cast<uint64_t>(share);
        part.metrics[m] = target - state.given[l][m];
        state.given[l][m] = target;
      }
      visit_(path_, part);
    }
  }

  const CallCosts& costs_;
  const Visit& visit_;
  std::vector<std::vector<const CallCost*>> calls_of_;  // by caller
  std::vector<long double> calls_to_;                   // by callee: the number of calls
  std::vector<size_t> paths_;                           // by function
  std::vector<State> states_;
  std::vector<uint32_t> path_;
};

void CallCosts::visit_paths(const Visit& visit) const {
  PathVisit paths(*this, visit);
  if (paths.has_few_paths()) return paths.walk(shader_.entry(), 1);
  for (uint32_t f = 0; f < functions_.size(); ++f) {
    const uint32_t path[] = {shader_.entry(), f};
    const std::span<const uint32_t> shown(path);
    for (const SelfCost& line : functions_[f])
      visit(shown.first(f == shader_.entry() ? 1 : 2), line);
  }
}

}  // namespace tally::analysis
