#include "spirv/plan/counter_placement.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "spirv/ir/editor.h"

namespace tally::spirv {
namespace {

using spv::Op;

// The segments of one function.
struct FunctionSegments {
  uint32_t begin, end;
  uint32_t function;
  uint32_t first_block;  // number in the BlockMap
};

std::vector<FunctionSegments> functions_of(const SegmentGraph& graph) {
  const auto& segments = graph.segments;
  std::vector<FunctionSegments> functions;
  for (uint32_t s = 0; s < segments.size(); ++s) {
    if (functions.empty() || functions.back().function != segments[s].function) {
      functions.push_back({s, s, segments[s].function, segments[s].block});
    }
    functions.back().end = s + 1;
  }
  return functions;
}

class EdgeFinder {
 public:
  EdgeFinder(const AnalyzedModule& analyzed, const SegmentGraph& graph)
      : analyzed_(analyzed), graph_(graph) {
    for (const FlowGraph::Edge& edge : graph.flow.edges) flow_.emplace(edge.from, edge.to);
  }

  std::vector<BranchEdge> find() {
    for (const FunctionSegments& function : functions_of(graph_)) {
      if (const Result<Cfg>& cfg = analyzed_.cfg(function.function)) add(function, *cfg);
    }
    std::ranges::sort(edges_, {}, [](const BranchEdge& e) { return std::pair(e.block, e.target); });
    return std::move(edges_);
  }

 private:
  void add(const FunctionSegments& function, const Cfg& cfg) {
    std::vector<uint32_t> first(cfg.blocks().size()), last(cfg.blocks().size());
    for (uint32_t s = function.begin; s < function.end; ++s) {
      const uint32_t block = graph_.segments[s].block - function.first_block;
      if (graph_.segments[s].begins_block) first[block] = s;
      last[block] = s;
    }
    for (uint32_t block = 0; block < cfg.blocks().size(); ++block) {
      const auto targets = cfg.successors(block);
      if (targets.size() < 2) continue;
      for (uint32_t target = 0; target < targets.size(); ++target) {
        const uint32_t from = last[block], to = first[targets[target]];
        if (!flow_.contains({from, to})) continue;
        const CfgBlock& branch = cfg.blocks()[block];
        const uint32_t at =
            branch.merge_instruction == kNone ? branch.end - 1 : branch.merge_instruction;
        edges_.push_back({from, to, function.first_block + block, target,
                          cfg.blocks()[targets[target]].label_id, branch.end - 1, at});
      }
    }
  }

  const AnalyzedModule& analyzed_;
  const SegmentGraph& graph_;
  std::set<std::pair<uint32_t, uint32_t>> flow_;
  std::vector<BranchEdge> edges_;
};

// True if the selector equals the literal of a case that leads to the label, or, for the label of
// the default, of no case that leads elsewhere.
uint32_t is_selected(InstructionBuilder& code, Editor& editor, const Instruction& branch,
                     uint32_t label_id) {
  const uint32_t boolean = editor.type_bool();
  const uint32_t selector = branch.operand(0);
  const uint32_t type = editor.module().type_of(selector);
  const uint32_t words = selector_words(editor.module(), selector);
  const bool is_default = branch.operand(1) == label_id;
  uint32_t any = 0;
  for (uint32_t at = 2; at + words < branch.operand_count(); at += words + 1) {
    if ((branch.operand(at + words) == label_id) == is_default) continue;
    const uint32_t literal = editor.constant(type, branch.operands().subspan(at, words));
    const uint32_t equal = code.emit(Op::OpIEqual, boolean, {selector, literal});
    any = any == 0 ? equal : code.emit(Op::OpLogicalOr, boolean, {any, equal});
  }
  return is_default ? code.emit(Op::OpLogicalNot, boolean, {any}) : any;
}

}  // namespace

std::vector<BranchEdge> find_branch_edges(const AnalyzedModule& analyzed,
                                          const SegmentGraph& graph) {
  return EdgeFinder(analyzed, graph).find();
}

uint32_t is_taken(InstructionBuilder& code, Editor& editor, const BranchEdge& edge) {
  const Instruction branch = editor.module().instruction(edge.instruction);
  if (branch.opcode() == Op::OpSwitch) return is_selected(code, editor, branch, edge.label_id);
  const uint32_t condition = branch.operand(0);
  if (branch.operand(1) == edge.label_id) return condition;
  return code.emit(Op::OpLogicalNot, editor.type_bool(), {condition});
}

namespace {

// The cost of counting an edge, which takes a condition, relative to counting a segment.
constexpr uint64_t kEdgeCost = 2;

class PlanMaker {
 public:
  PlanMaker(const AnalyzedModule& analyzed, const SegmentGraph& graph,
            const BlockCountOptions& options, bool count_subgroups,
            std::vector<uint32_t> output_streams)
      : graph_(graph),
        options_(options),
        counts_subgroups_(count_subgroups),
        output_streams_(std::move(output_streams)),
        flow_(graph.flow) {
    if (options.count_branches) split_edges(find_branch_edges(analyzed, graph));
    values_.assign(flow_.vertex_count, CounterPlan::kZero);
    if (options.trip_counts && options.placement == Placement::Minimal) {
      cut_out(graph.constant_loops);
    }
    if (!options.trip_counts || options.counting != Counting::Private) return;
    for (const TripCount& trip : find_trip_counts(analyzed, graph)) {
      uint64_t& weight = flow_.weights[trip.segment];
      if (weight <= flow_.weights[trip.behind]) continue;
      weight = flow_.weights[trip.behind];
      trips_.emplace(trip.segment, trip);
    }
  }

  void make() {
    const bool minimal = options_.placement == Placement::Minimal;
    FlowPlacement placement = minimal ? place_minimal(flow_) : FlowPlacement{everything(), {}};
    sort_by_kind(placement.counted, Counter::What::Executions);
    for (const uint32_t vertex : placement.counted) add_counter(vertex);
    if (counts_subgroups_) count_subgroups();
    count_outputs();
    for (const FlowEquation& equation : placement.derived) derive(equation);
    if (counts_subgroups_) derive_subgroups();
    if (!minimal) add_balances();
    map_blocks();
    map_branches();
    plan_.counter_count = static_cast<uint32_t>(counters_.size());
  }

  CounterPlacement take() { return {std::move(counters_), std::move(plan_)}; }

 private:
  bool is_edge(uint32_t vertex) const { return vertex >= graph_.segments.size(); }
  const BranchEdge& edge_of(uint32_t vertex) const {
    return edges_[vertex - graph_.segments.size()];
  }
  uint32_t block_of(uint32_t vertex) const {
    return is_edge(vertex) ? edge_of(vertex).block : graph_.segments[vertex].block;
  }

  // Replaces each edge by a vertex of its own between its ends.
  void split_edges(std::vector<BranchEdge> edges) {
    edges_ = std::move(edges);
    for (const BranchEdge& edge : edges_) {
      middles_.emplace(std::pair(edge.from, edge.to), flow_.vertex_count++);
      flow_.weights.push_back(kEdgeCost *
                              std::max(flow_.weights[edge.from], flow_.weights[edge.to]));
    }
    std::vector<FlowGraph::Edge> halves;
    for (FlowGraph::Edge& edge : flow_.edges) {
      const auto middle = middles_.find({edge.from, edge.to});
      if (middle == middles_.end()) continue;
      halves.push_back({middle->second, edge.to});
      edge.to = middle->second;
    }
    flow_.edges.insert(flow_.edges.end(), halves.begin(), halves.end());
  }

  // Makes each loop a component of the flow graph by itself, closed by an edge from the test to the
  // header. Its counts are multiples of the count of the block before it.
  void cut_out(std::span<const ConstantLoop> loops) {
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> targets;  // of edges that enter or leave one
    for (const ConstantLoop& loop : loops) {
      const auto middle = middles_.find({loop.test, loop.exit});
      const uint32_t last = middle == middles_.end() ? loop.test : middle->second;
      targets[{loop.before, loop.header}] = loop.exit;
      targets[{last, loop.exit}] = loop.header;
      flow_.known.push_back({loop.header, {loop.before}, loop.executions});
      if (loop.latch == loop.test) continue;
      flow_.known.push_back({loop.latch, {loop.before}, loop.executions - 1});
    }
    if (targets.empty()) return;
    for (FlowGraph::Edge& edge : flow_.edges) {
      const auto target = targets.find({edge.from, edge.to});
      if (target != targets.end()) edge.to = target->second;
    }
  }

  // Where code at the end adds up counts in workgroups, it finds those of a kind side by side
  // (WorkgroupFlush): those of at most 1, which are flags, come last.
  void sort_by_kind(std::vector<uint32_t>& counted, Counter::What what) const {
    if (options_.driver.workgroup_bytes == 0) return;
    std::ranges::stable_sort(counted, {}, [&](uint32_t vertex) {
      const uint32_t segment = is_edge(vertex) ? edge_of(vertex).from : vertex;
      return segment != graph_.entry_segment && graph_.segments[segment].bound == 1 &&
             !(what == Counter::What::Executions && trips_.contains(vertex));
    });
  }

  void add_counter(uint32_t vertex) {
    values_[vertex] = static_cast<uint32_t>(counters_.size());
    if (is_edge(vertex)) return add_edge_counter(edge_of(vertex));
    const uint32_t segment = vertex;
    Counter& counter = counters_.emplace_back(at(segment, Counter::What::Executions));
    if (const auto trip = trips_.find(segment); trip != trips_.end()) {
      counter.trip = trip->second;
      counter.insert_at = trip->second.insert_at;
    }
  }

  void add_edge_counter(const BranchEdge& edge) {
    Counter& counter = counters_.emplace_back(at(edge.from, Counter::What::Branch));
    counter.insert_at = edge.insert_at;
    counter.edge = edge;
  }

  Counter at(uint32_t segment, Counter::What what) const {
    return {segment, what, graph_.segments[segment].insert_at, {}, 0, {}};
  }

  void add_terms(const std::vector<uint32_t>& vertices, int32_t factor) {
    for (const uint32_t vertex : vertices) plan_.terms.push_back({values_[vertex], factor});
  }

  template <typename AddTerms>
  CounterPlan::Sum sum(AddTerms&& add) {
    const auto begin = static_cast<uint32_t>(plan_.terms.size());
    add();
    return {begin, static_cast<uint32_t>(plan_.terms.size())};
  }

  void derive(const FlowEquation& equation) {
    plan_.derived.push_back(sum([&] {
      const auto factor = static_cast<int32_t>(equation.factor);
      add_terms(equation.plus, factor);
      add_terms(equation.minus, -factor);
    }));
    values_[equation.vertex] = static_cast<uint32_t>(counters_.size() + plan_.derived.size() - 1);
  }

  std::vector<uint32_t> everything() const {
    std::vector<uint32_t> all;
    for (uint32_t s = 0; s < graph_.segments.size(); ++s) {
      if (graph_.segments[s].runs) all.push_back(s);
    }
    for (uint32_t v = static_cast<uint32_t>(graph_.segments.size()); v < flow_.vertex_count; ++v) {
      all.push_back(v);
    }
    return all;
  }

  void add_balances() {
    for (const FlowBalance& balance : flow_balances(flow_)) add_balance(balance);
    for (const FlowGraph::Known& known : flow_.known) {
      if (!known.addends.empty()) add_balance({known.addends, {known.vertex}});
    }
  }

  void add_balance(const FlowBalance& balance) {
    CounterPlan::Balance result;
    result.inflow = sum([&] { add_terms(balance.inflow, 1); });
    result.outflow = sum([&] { add_terms(balance.outflow, 1); });
    const auto& some = balance.outflow.empty() ? balance.inflow : balance.outflow;
    result.block = block_of(some.front());
    plan_.balances.push_back(result);
  }

  bool keeps_subgroups() const { return options_.placement == Placement::Minimal; }

  void count_subgroups() {
    subgroup_values_.assign(graph_.segments.size(), CounterPlan::kZero);
    std::vector<bool> is_known(graph_.segments.size());
    if (keeps_subgroups()) {
      for (const auto& entry : graph_.called_by_subgroups) is_known[entry.vertex] = true;
    }
    std::vector<uint32_t> counted;
    for (uint32_t s = 0; s < graph_.segments.size(); ++s) {
      const CfgSegment& segment = graph_.segments[s];
      if (!segment.runs || !segment.begins_block || is_known[s]) continue;
      if (keeps_subgroups() && segment.same_subgroups != CfgSegment::kNone) continue;
      counted.push_back(s);
    }
    sort_by_kind(counted, Counter::What::Subgroups);
    for (const uint32_t s : counted) {
      subgroup_values_[s] = static_cast<uint32_t>(counters_.size());
      counters_.push_back(at(s, Counter::What::Subgroups));
    }
  }

  void derive_subgroups() {
    if (keeps_subgroups()) {
      for (const auto& entry : graph_.called_by_subgroups) {
        std::vector<CounterPlan::Term> terms;
        for (const uint32_t caller : entry.addends) terms.push_back({subgroups_of(caller), 1});
        plan_.derived.push_back(
            sum([&] { plan_.terms.insert(plan_.terms.end(), terms.begin(), terms.end()); }));
        subgroup_values_[entry.vertex] =
            static_cast<uint32_t>(counters_.size() + plan_.derived.size() - 1);
      }
    }
    plan_.subgroup_values.assign(graph_.block_count, CounterPlan::kZero);
    for (uint32_t s = 0; s < graph_.segments.size(); ++s) {
      const CfgSegment& segment = graph_.segments[s];
      if (segment.runs && segment.begins_block)
        plan_.subgroup_values[segment.block] = subgroups_of(s);
    }
  }

  // Follows the segments with the same subgroups, and shortens the way for the next time.
  uint32_t subgroups_of(uint32_t segment) {
    uint32_t first = segment;
    while (subgroup_values_[first] == CounterPlan::kZero) {
      first = graph_.segments[first].same_subgroups;
    }
    const uint32_t value = subgroup_values_[first];
    for (uint32_t s = segment; s != first; s = graph_.segments[s].same_subgroups) {
      subgroup_values_[s] = value;
    }
    return value;
  }

  void count_outputs() {
    for (const uint32_t stream : output_streams_) {
      plan_.output_counters[stream] = static_cast<uint32_t>(counters_.size());
      counters_.push_back(at(graph_.entry_segment, Counter::What::Outputs));
      counters_.back().stream = stream;
    }
  }

  void map_blocks() {
    plan_.block_count = graph_.block_count;
    plan_.block_values.assign(graph_.block_count, CounterPlan::kZero);
    for (uint32_t s = 0; s < graph_.segments.size(); ++s) {
      if (!graph_.segments[s].begins_block) continue;
      plan_.block_values[graph_.segments[s].block] = values_[s];
    }
  }

  void map_branches() {
    for (size_t e = 0; e < edges_.size(); ++e) {
      plan_.branch_values.push_back(
          {edges_[e].block, edges_[e].target, values_[graph_.segments.size() + e]});
    }
  }

  const SegmentGraph& graph_;
  const BlockCountOptions& options_;
  bool counts_subgroups_;
  std::vector<uint32_t> output_streams_;
  FlowGraph flow_;  // its vertices are the segments, then the edges
  std::vector<BranchEdge> edges_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> middles_;  // vertices by their edges' segments
  std::unordered_map<uint32_t, TripCount> trips_;              // by segment
  std::vector<uint32_t> values_;                               // by vertex
  std::vector<uint32_t> subgroup_values_;                      // by segment; kZero if not known yet
  std::vector<Counter> counters_;
  CounterPlan plan_;
};

}  // namespace

CounterPlacement place_counters(const AnalyzedModule& analyzed, const SegmentGraph& graph,
                                const BlockCountOptions& options, bool count_subgroups,
                                std::vector<uint32_t> output_streams) {
  PlanMaker plan(analyzed, graph, options, count_subgroups, std::move(output_streams));
  plan.make();
  return plan.take();
}

}  // namespace tally::spirv
