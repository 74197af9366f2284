#include "analysis/cost/call_costs.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/model/counts.h"

namespace tally::analysis {
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
  for (const spirv::LineCost& line : map.lines_of(block)) {
    auto& of_line = sums.at(inlined_function(map, block, line), line.location);
    for (size_t m = 0; m < metrics.size(); ++m) {
      uint64_t part = rest[m];
      if (metrics[m].attribution == Attribution::ByClass)
        part =
            std::min(part, saturating_product(values.executions, line.mix[metrics[m].cost_class]));
      of_line[m] = saturating_sum(of_line[m], part);
      rest[m] -= part;
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
