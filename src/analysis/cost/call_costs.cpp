#include "analysis/cost/call_costs.h"

#include <algorithm>
#include <map>

#include "analysis/model/counts.h"

namespace tally::analysis {
namespace {

// Beyond these, a shader's functions are shown directly below its entry point.
constexpr size_t kMaxPaths = 4096, kMaxPathFunctions = 512;

// Far above the relative errors of shares: one that is an integer must not fall below it.
constexpr long double kRounding = 1e-15L;

// Sums the costs of one frame by file and line.
class FrameLines {
 public:
  explicit FrameLines(size_t metrics) : metrics_(metrics) {}

  std::vector<uint64_t>& at(const spirv::SourceLocation& location) {
    auto& values = sums_[{location.file, location.line}];
    values.resize(metrics_);
    return values;
  }
  std::vector<SelfCost> take() {
    std::vector<SelfCost> lines;
    for (auto& [place, values] : sums_)
      lines.push_back({{.file = place.first, .line = place.second}, std::move(values)});
    return lines;
  }

 private:
  size_t metrics_;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint64_t>> sums_;
};

// `rest` is scratch memory.
void add_block(const ShaderCalls& shader, const BlockValues& values,
               const std::vector<Metric>& metrics, std::vector<uint64_t>& rest,
               std::vector<FrameLines>& sums) {
  const spirv::BlockMap& map = shader.code().map;
  const spirv::Block& block = map.blocks()[values.block];
  const auto lines = map.lines_of(block);
  rest.assign(values.metrics.begin(), values.metrics.end());
  const auto values_at = [&](const spirv::LineCost& line) -> std::vector<uint64_t>& {
    const auto index = static_cast<size_t>(&line - lines.data());
    return sums[shader.frame_of(block, index)].at(line.location);
  };
  const auto add = [&](const spirv::LineCost& line, size_t metric, uint64_t part) {
    uint64_t& sum = values_at(line)[metric];
    sum = saturating_sum(sum, part);
  };
  for (const spirv::LineCost& line : lines) values_at(line);  // also those of 0
  for (size_t m = 0; m < metrics.size(); ++m) {
    if (metrics[m].attribution == Attribution::ByClass) {
      rest[m] =
          split_over_lines(metrics[m], map, block, values.executions, rest[m],
                           [&](const spirv::LineCost& line, uint64_t part) { add(line, m, part); });
    } else if (!lines.empty()) {
      add(lines.front(), m, std::exchange(rest[m], 0));
    }
  }
  if (std::ranges::any_of(rest, [](uint64_t value) { return value != 0; }))
    add_saturating(sums[block.function].at({}), rest);
}

uint64_t executions_of(std::span<const BlockValues> values, uint32_t block) {
  const auto found = std::ranges::lower_bound(values, block, {}, &BlockValues::block);
  return found != values.end() && found->block == block ? found->executions : 0;
}

}  // namespace

ShaderCalls::ShaderCalls(const ShaderCode& code) : code_(code), functions_(code) {
  const auto functions = code.map.functions();
  if (code.entry_block != kNone) entry_ = code.map.blocks()[code.entry_block].function;
  find_frames();
  std::map<uint32_t, uint32_t> function_of_id;
  for (uint32_t f = 0; f < functions.size(); ++f) function_of_id[functions[f].id] = f;
  const spirv::Module& module = code.module;
  for (const uint32_t index :
       module.calls().callees_first(module.function_index(functions[entry_].id))) {
    const auto found = function_of_id.find(module.functions()[index].id);
    if (found != function_of_id.end()) order_.push_back(found->second);
  }
  find_calls();
}

uint32_t ShaderCalls::number_of(const std::string& name) {
  const auto [found, is_new] =
      number_of_name_.try_emplace(name, static_cast<uint32_t>(names_.size()));
  if (is_new) names_.push_back(name);
  return found->second;
}

uint32_t ShaderCalls::add_frame(const Frame& frame) {
  const auto number = static_cast<uint32_t>(frames_.size());
  frames_in_[frame.function].push_back(number);
  frames_.push_back(frame);
  return number;
}

void ShaderCalls::find_frames() {
  const spirv::BlockMap& map = code_.map;
  for (const std::string& name : functions_.names()) number_of(name);
  frames_in_.resize(map.functions().size());
  for (uint32_t f = 0; f < map.functions().size(); ++f) {
    const spirv::MappedFunction& mapped = map.functions()[f];
    frame_of_instance_.push_back(add_frame({.name = number_of(mapped.name),
                                            .parent = kNone,
                                            .function = f,
                                            .first_block = mapped.first_block,
                                            .location = {}}));
  }
  for (const spirv::InlinedCall& call : map.inlined_calls()) {
    uint32_t frame = frame_of_instance_[call.caller];
    if (call.source_function != kNone) {
      frame = add_frame({.name = number_of(map.source_functions()[call.source_function]),
                         .parent = frame,
                         .function = frames_[frame].function,
                         .location = call.location.value_or(spirv::SourceLocation{})});
    }
    frame_of_instance_.push_back(frame);
  }
  for (uint32_t b = 0; b < map.blocks().size(); ++b) {
    for (const spirv::LineCost& line : map.lines_of(map.blocks()[b])) {
      uint32_t frame = frame_for(line.instance, functions_.function_of(map.blocks()[b], line));
      frame_of_line_.push_back(frame);
      for (; frames_[frame].first_block == kNone; frame = frames_[frame].parent)
        frames_[frame].first_block = b;
    }
  }
}

// Without DebugInlinedAt, and where several calls share one, an instance has code of several
// functions.
uint32_t ShaderCalls::frame_for(uint32_t instance, uint32_t name) {
  const uint32_t own = frame_of_instance_[instance];
  if (frames_[own].name == name) return own;
  const auto [found, is_new] = other_frames_.try_emplace({instance, name});
  if (is_new) {
    const bool is_function = instance < code_.map.functions().size();
    const uint32_t parent = is_function || !is_inlined(own) ? own : frames_[own].parent;
    found->second = add_frame({.name = name,
                               .parent = parent,
                               .function = frames_[own].function,
                               .location = frames_[own].location});
  }
  return found->second;
}

void ShaderCalls::find_calls() {
  std::vector<uint32_t> rank(code_.map.functions().size(), kNone);
  for (uint32_t i = 0; i < order_.size(); ++i) rank[order_[i]] = i;
  for (const spirv::MappedCall& call : code_.map.calls()) {
    const spirv::Block& block = code_.map.blocks()[call.block];
    if (rank[call.callee] >= rank[block.function]) continue;
    uint32_t caller = frame_of_instance_[call.instance];
    if (call.source_function != kNone)
      caller =
          frame_for(call.instance, number_of(code_.map.source_functions()[call.source_function]));
    calls_.push_back(
        {caller, call.callee, call.block, call.location.value_or(spirv::SourceLocation{})});
  }
  std::ranges::stable_sort(calls_, {}, [&](const Call& call) { return rank[call.callee]; });
}

CallCosts::CallCosts(const ShaderCalls& shader, std::span<const BlockValues> values,
                     const std::vector<Metric>& metrics)
    : shader_(shader), metric_count_(metrics.size()) {
  add_self_costs(values, metrics);
  for (const Frame& frame : shader.frames())
    entered_.push_back(executions_of(values, frame.first_block));
  find_calls(values);
}

void CallCosts::add_self_costs(std::span<const BlockValues> values,
                               const std::vector<Metric>& metrics) {
  std::vector<FrameLines> sums(shader_.frames().size(), FrameLines(metric_count_));
  std::vector<uint64_t> rest;
  for (const BlockValues& block : values) {
    if (block.block < shader_.code().map.blocks().size())
      add_block(shader_, block, metrics, rest, sums);
  }
  for (FrameLines& frame : sums) frames_.push_back(frame.take());
}

// Calls that ran; of a function without any, its first call, so that every function has a caller.
void CallCosts::find_calls(std::span<const BlockValues> values) {
  const auto& calls = shader_.calls();
  for (size_t first = 0, last = 0; first < calls.size(); first = last) {
    const size_t before = calls_.size();
    const auto add = [&](const ShaderCalls::Call& call, uint64_t count) {
      calls_.push_back({call.caller, call.callee, call.location, count, {}});
    };
    for (last = first; last < calls.size() && calls[last].callee == calls[first].callee; ++last) {
      if (const uint64_t count = executions_of(values, calls[last].block)) add(calls[last], count);
    }
    if (calls_.size() == before) add(calls[first], 0);
  }
}

std::vector<CallCost> CallCosts::calls_with_costs() const {
  std::vector<std::vector<uint64_t>> inclusive;  // by function: with all that it calls
  for (uint32_t f = 0; f < shader_.code().map.functions().size(); ++f) {
    inclusive.emplace_back(metric_count_);
    for (const uint32_t frame : shader_.frames_in(f)) {
      for (const SelfCost& line : frames_[frame]) add_saturating(inclusive.back(), line.metrics);
    }
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
        calls[i].metrics[m] = all == 0 ? total : share_of(total, before, upto, all);
      }
      before = upto;
      add_saturating(inclusive[shader_.frames()[calls[i].caller].function], calls[i].metrics);
    }
  }
  return calls;
}

// Walks the tree of calls. Each function's costs are given out by the share of the calls so far;
// its last path gets the rest.
class CallCosts::PathVisit {
 public:
  PathVisit(const CallCosts& costs, const Visitor& visitor)
      : costs_(costs),
        shader_(costs.shader_),
        visitor_(visitor),
        edges_(costs.frames_.size()),
        calls_to_(shader_.code().map.functions().size()),
        paths_(calls_to_.size()),
        states_(calls_to_.size()),
        entered_(costs.frames_.size()) {
    for (const CallCost& call : costs.calls_) {
      edge(call.caller, call.callee).calls.total += call.count;
      calls_to_[call.callee] += static_cast<long double>(call.count);
    }
    for (size_t f = 0; f < costs.frames_.size(); ++f) {
      entered_[f].total = costs.entered_[f];
      given_.emplace_back();
      for (const SelfCost& line : costs.frames_[f]) given_[f].emplace_back(line.metrics.size());
    }
  }

  bool has_few_paths() {
    if (shader_.order().size() > kMaxPathFunctions) return false;
    paths_[shader_.entry()] = 1;
    size_t all = 0;
    for (size_t i = shader_.order().size(); i-- > 0;) {
      const uint32_t function = shader_.order()[i];
      all += paths_[function] * shader_.frames_in(function).size();
      if (all > kMaxPaths) return false;
      for (const uint32_t frame : shader_.frames_in(function)) {
        for (const Edge& call : edges_[frame]) paths_[call.callee] += paths_[function];
      }
    }
    return true;
  }

  void walk(uint32_t function, long double weight, uint64_t calls) {
    State& state = states_[function];
    state.weight += weight;
    const Share share{state.weight, ++state.visits == paths_[function]};
    const size_t base = path_.size();
    for (const uint32_t frame : shader_.frames_in(function)) {
      set_path(base, frame);
      const uint64_t entered = shader_.is_inlined(frame) ? entered_[frame].next(share) : calls;
      if (visitor_.enter) visitor_.enter(path_, entered);
      give(frame, share);
    }
    for (const uint32_t frame : shader_.frames_in(function)) {
      for (Edge& call : edges_[frame]) {
        set_path(base, frame);
        const long double all = calls_to_[call.callee];
        const auto count = static_cast<long double>(call.calls.total);
        walk(call.callee, all == 0 ? weight : weight * count / all, call.calls.next(share));
      }
    }
    path_.resize(base);
  }

 private:
  // The part of a function that its paths so far have.
  struct Share {
    long double weight;
    bool is_all;

    uint64_t of(uint64_t total) const {
      const long double part = static_cast<long double>(total) * weight * (1 + kRounding);
      return is_all || part >= static_cast<long double>(total) ? total
                                                               : static_cast<uint64_t>(part);
    }
  };
  // A number that is given out in parts.
  struct Portion {
    uint64_t total = 0, given = 0;

    uint64_t next(const Share& share) {
      const uint64_t before = std::exchange(given, share.of(total));
      return given - before;
    }
  };
  // The calls of a function in a frame.
  struct Edge {
    uint32_t callee;
    Portion calls;
  };
  struct State {
    size_t visits = 0;
    long double weight = 0;
  };

  Edge& edge(uint32_t frame, uint32_t callee) {
    const auto found = std::ranges::find(edges_[frame], callee, &Edge::callee);
    return found != edges_[frame].end() ? *found : edges_[frame].emplace_back(Edge{callee, {}});
  }

  void set_path(size_t base, uint32_t frame) {
    path_.resize(base);
    for (uint32_t at = frame; at != kNone; at = shader_.frames()[at].parent) path_.push_back(at);
    std::reverse(path_.begin() + static_cast<std::ptrdiff_t>(base), path_.end());
  }

  void give(uint32_t frame, const Share& share) {
    for (size_t l = 0; l < given_[frame].size(); ++l) {
      SelfCost part = costs_.frames_[frame][l];
      for (size_t m = 0; m < part.metrics.size(); ++m) {
        uint64_t& given = given_[frame][l][m];
        const uint64_t before = std::exchange(given, share.of(part.metrics[m]));
        part.metrics[m] = given - before;
      }
      visitor_.cost(path_, part);
    }
  }

  const CallCosts& costs_;
  const ShaderCalls& shader_;
  const Visitor& visitor_;
  std::vector<std::vector<Edge>> edges_;                   // by frame
  std::vector<long double> calls_to_;                      // by callee: the number of calls
  std::vector<size_t> paths_;                              // by function
  std::vector<State> states_;                              // by function
  std::vector<Portion> entered_;                           // by frame
  std::vector<std::vector<std::vector<uint64_t>>> given_;  // by frame, line and metric
  std::vector<uint32_t> path_;
};

bool CallCosts::visit_paths(const Visitor& visitor) const {
  PathVisit paths(*this, visitor);
  const uint32_t entry = shader_.entry();
  if (paths.has_few_paths()) {
    paths.walk(entry, 1, entered_[entry]);
    return true;
  }
  for (uint32_t f = 0; f < frames_.size(); ++f) {
    const uint32_t path[] = {entry, f};
    const Path shown = Path(path).first(f == entry ? 1 : 2);
    if (visitor.enter) visitor.enter(shown, entered_[f]);
    for (const SelfCost& line : frames_[f]) visitor.cost(shown, line);
  }
  return false;
}

}  // namespace tally::analysis
