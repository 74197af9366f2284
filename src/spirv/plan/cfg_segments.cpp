#include "spirv/plan/cfg_segments.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "spirv/analysis/loop_bounds.h"
#include "spirv/ir/module.h"

namespace tally::spirv {
namespace {

using spv::Op;

constexpr uint64_t kCertain = 1 << 12;  // the weight of code that runs once for each call
constexpr uint32_t kLog2LoopTrips = 3;  // an estimate

bool is_return(Op opcode) { return opcode == Op::OpReturn || opcode == Op::OpReturnValue; }

Exit::Kind exit_kind(Op opcode) {
  if (opcode == Op::OpDemoteToHelperInvocation) return Exit::Kind::Demote;
  if (opcode == Op::OpReportIntersectionKHR) return Exit::Kind::MayEnd;
  return Exit::Kind::End;
}

class Builder {
 public:
  Builder(const AnalyzedModule& analyzed, const EntryPoint& entry, SegmentGraph& graph)
      : analyzed_(analyzed),
        module_(analyzed.module()),
        entry_(entry),
        graph_(graph),
        parts_(module_.functions().size()) {}

  Status build() {
    reachable_ = module_.reachable_functions(entry_.function_id);
    if (reachable_.empty()) return Error{"the entry point's function is missing"};
    for (const uint32_t f : reachable_) {
      if (module_.functions()[f].block_count == 0) return Error{"one of its functions has no body"};
      const Result<Cfg>& cfg = analyzed_.cfg(f);
      if (!cfg) return cfg.error();
      parts_[f].cfg = &*cfg;
      parts_[f].first_block = graph_.block_count;
      graph_.block_count += module_.functions()[f].block_count;
    }
    TALLY_TRY(leave_out());
    find_calls();
    TALLY_TRY(sort_callers_first());
    for (auto f = order_.rbegin(); f != order_.rend(); ++f) find_whether_it_returns(*f);
    for (const uint32_t f : order_) cut(f);
    for (const uint32_t f : order_) connect(f);
    mark_running();
    for (const uint32_t f : order_) bound(f);
    for (const uint32_t f : order_) weigh(f);
    finish_flow();
    keep_subgroups();
    return {};
  }

 private:
  // Functions called by cooperative matrix instructions have blocks but no segments. A call of such
  // a function is treated as an ordinary instruction, so it must return.
  Status leave_out() {
    for (const uint32_t f : reachable_) {
      parts_[f].left_out = module_.calls().is_called_by_matrices(f);
      if (!parts_[f].left_out) continue;
      if (function(f).id == entry_.function_id)
        return Error{"a cooperative matrix instruction calls its entry point"};
      graph_.left_out.push_back(f);
      bool comes_back = true;
      for_each_instruction(f, [&](uint32_t, Op opcode) { comes_back &= !ends_invocation(opcode); });
      if (!comes_back)
        return Error{
            "a function called by a cooperative matrix instruction may end the invocation"};
    }
    std::erase_if(reachable_, [&](uint32_t f) { return parts_[f].left_out; });
    return {};
  }

  struct Call {
    uint32_t instruction;
    uint32_t callee;
  };
  // A block is split after an instruction.
  struct Cut {
    uint32_t before, after;  // segments
    uint32_t instruction;
  };
  // One function.
  struct Part {
    const Cfg* cfg = nullptr;
    uint32_t first_block = 0;  // in the public numbering
    std::vector<Call> calls;   // in blocks that can be reached
    uint32_t sites = 0;        // number of calls of this function
    bool may_not_return = false;
    bool left_out = false;
    bool branches = false;  // or calls a function that does
    uint32_t first_segment = 0, end_segment = 0;
    std::vector<uint32_t> block_segments;  // first segment of each block
    uint32_t return_to = 0;                // the segment after a return
    uint32_t abort_to = 0;                 // the segment after the end of the invocation
    bool inlined = false;                  // flow enters from and returns to the only call site
    std::vector<Cut> cuts;
    std::vector<uint32_t> callers;  // running segments that call it
    uint64_t frequency = 0;
  };

  const Function& function(uint32_t f) const { return module_.functions()[f]; }
  uint32_t callee_of(const Instruction& call) const {
    return module_.function_index(call.operand(0));
  }

  template <typename Visit>  // visit(instruction index, opcode) for all reachable code
  void for_each_instruction(uint32_t f, Visit&& visit) const {
    for (const CfgBlock& block : parts_[f].cfg->blocks()) {
      if (!block.reachable) continue;
      for (uint32_t i = block.begin + 1; i < block.end; ++i) {
        visit(i, module_.instruction(i).opcode());
      }
    }
  }

  void find_calls() {
    for (const uint32_t f : reachable_) {
      for_each_instruction(f, [&](uint32_t i, Op opcode) {
        if (opcode != Op::OpFunctionCall) return;
        const uint32_t callee = callee_of(module_.instruction(i));
        if (callee == kNone || parts_[callee].left_out) return;
        parts_[f].calls.push_back({i, callee});
        ++parts_[callee].sites;
      });
    }
  }

  // A topological order of the call graph (Kahn's algorithm).
  Status sort_callers_first() {
    std::vector<uint32_t> waiting(parts_.size());
    for (const uint32_t f : reachable_) waiting[f] = parts_[f].sites;
    // Functions called only from unreachable code also come first; they never run.
    for (const uint32_t f : reachable_) {
      if (waiting[f] == 0) order_.push_back(f);
    }
    for (size_t next = 0; next < order_.size(); ++next) {
      for (const Call& call : parts_[order_[next]].calls) {
        if (--waiting[call.callee] == 0) order_.push_back(call.callee);
      }
    }
    if (order_.size() != reachable_.size()) return Error{"a function calls itself"};
    return {};
  }

  void find_whether_it_returns(uint32_t f) {
    bool& may_not_return = parts_[f].may_not_return;
    for_each_instruction(f, [&](uint32_t i, Op opcode) {
      if (ends_invocation(opcode)) may_not_return = true;
      if (opcode != Op::OpFunctionCall) return;
      const uint32_t callee = callee_of(module_.instruction(i));
      if (callee != kNone && parts_[callee].may_not_return) may_not_return = true;
    });
  }

  bool cuts(const Instruction& instruction) const {
    if (ends_invocation_inside_block(instruction.opcode())) return true;
    if (instruction.opcode() != Op::OpFunctionCall) return false;
    const uint32_t callee = callee_of(instruction);
    return callee != kNone && parts_[callee].may_not_return;
  }

  uint32_t add_segment(uint32_t f, uint32_t block, uint32_t insert_at, bool begins_block) {
    CfgSegment segment{};
    segment.function = f;
    segment.block = parts_[f].first_block + block;
    segment.insert_at = insert_at;
    segment.begins_block = begins_block;
    graph_.segments.push_back(segment);
    return static_cast<uint32_t>(graph_.segments.size() - 1);
  }

  void cut(uint32_t f) {
    Part& part = parts_[f];
    part.first_segment = static_cast<uint32_t>(graph_.segments.size());
    const auto ranges = module_.blocks_of(function(f));
    for (uint32_t b = 0; b < ranges.size(); ++b) {
      const CfgBlock& block = part.cfg->blocks()[b];
      uint32_t segment = add_segment(f, b, first_insertion(module_, ranges[b]), true);
      part.block_segments.push_back(segment);
      if (!block.reachable) continue;
      for (uint32_t i = block.begin + 1; i < block.end; ++i) {
        const Instruction instruction = module_.instruction(i);
        if (cuts(instruction) && i + 1 < block.end) {
          const uint32_t after = add_segment(f, b, i + 1, false);
          part.cuts.push_back({segment, after, i});
          segment = after;
        }
        const Op opcode = instruction.opcode();
        const bool leaves = is_return(opcode) && function(f).id == entry_.function_id;
        if (leaves || ends_invocation(opcode)) {
          graph_.exits.push_back({i, exit_kind(opcode)});
        }
      }
    }
    part.end_segment = static_cast<uint32_t>(graph_.segments.size());
    calls_of_.resize(part.end_segment);
    for (const Call& call : part.calls)
      calls_of_[segment_at(f, call.instruction)].push_back(call.callee);
    part.return_to = part.abort_to = part.first_segment;
  }

  // The segment that contains an instruction.
  uint32_t segment_at(uint32_t f, uint32_t instruction) const {
    const auto first = graph_.segments.begin() + parts_[f].first_segment;
    const auto end = graph_.segments.begin() + parts_[f].end_segment;
    const auto after = std::upper_bound(
        first, end, instruction, [](uint32_t i, const CfgSegment& s) { return i < s.insert_at; });
    return static_cast<uint32_t>(after - graph_.segments.begin() - 1);
  }

  void edge(uint32_t from, uint32_t to) { graph_.flow.edges.push_back({from, to}); }
  void local_edge(uint32_t from, uint32_t to) {
    local_successors_.resize(graph_.segments.size());
    local_successors_[from].push_back(to);
  }

  void connect(uint32_t f) {
    const Part& part = parts_[f];
    for (const Cut& cut : part.cuts) connect_cut(f, cut);
    for (uint32_t b = 0; b < part.cfg->blocks().size(); ++b) {
      const CfgBlock& block = part.cfg->blocks()[b];
      if (!block.reachable) continue;
      const uint32_t last = segment_at(f, block.end - 1);
      const auto only = only_target(module_, module_.instruction(block.end - 1));
      for (const uint32_t next : part.cfg->successors(b)) {
        if (only && part.cfg->blocks()[next].label_id != *only) continue;
        local_edge(last, part.block_segments[next]);
        if (!is_undefined(f, next)) edge(last, part.block_segments[next]);
      }
      if (is_return(block.terminator)) edge(last, part.return_to);
      if (ends_invocation(block.terminator)) edge(last, part.abort_to);
    }
  }

  // True if entering the block always leads to its OpUnreachable.
  bool is_undefined(uint32_t f, uint32_t block) const {
    const CfgBlock& b = parts_[f].cfg->blocks()[block];
    return b.terminator == Op::OpUnreachable &&
           segment_at(f, b.end - 1) == parts_[f].block_segments[block];
  }

  void connect_cut(uint32_t f, const Cut& cut) {
    const Instruction instruction = module_.instruction(cut.instruction);
    const Op opcode = instruction.opcode();
    local_edge(cut.before, cut.after);
    const bool goes_on = opcode == Op::OpFunctionCall || opcode == Op::OpReportIntersectionKHR;
    const bool undefined_after = leads_to_unreachable(f, cut.after);
    if (opcode == Op::OpFunctionCall && parts_[callee_of(instruction)].sites == 1) {
      Part& callee = parts_[callee_of(instruction)];
      callee.inlined = true;
      callee.return_to = cut.after;
      callee.abort_to = parts_[f].abort_to;
      edge(cut.before, callee.first_segment);
      return;
    }
    edge(cut.before, parts_[f].abort_to);
    if (goes_on && !undefined_after) edge(cut.before, cut.after);
  }

  bool leads_to_unreachable(uint32_t f, uint32_t segment) const {
    const uint32_t block = graph_.segments[segment].block - parts_[f].first_block;
    const CfgBlock& b = parts_[f].cfg->blocks()[block];
    return b.terminator == Op::OpUnreachable && segment_at(f, b.end - 1) == segment;
  }

  void mark_running() {
    std::vector<std::vector<uint32_t>> successors(graph_.segments.size());
    for (const auto& e : graph_.flow.edges) successors[e.from].push_back(e.to);
    const uint32_t main = module_.function_index(entry_.function_id);
    graph_.entry_segment = parts_[main].first_segment;
    std::vector<uint32_t> work{graph_.entry_segment};
    graph_.segments[graph_.entry_segment].runs = true;
    const auto visit = [&](uint32_t segment) {
      if (std::exchange(graph_.segments[segment].runs, true)) return;
      work.push_back(segment);
    };
    while (!work.empty()) {
      const uint32_t segment = work.back();
      work.pop_back();
      for (const uint32_t next : successors[segment]) visit(next);
      for (const uint32_t callee : calls_of_[segment]) {
        parts_[callee].callers.push_back(segment);
        if (!parts_[callee].inlined) visit(parts_[callee].first_segment);
      }
    }
    std::erase_if(graph_.flow.edges, [&](const FlowGraph::Edge& e) {
      return !graph_.segments[e.from].runs || !graph_.segments[e.to].runs;
    });
  }

  // Finds the loops of a function, and bounds the executions of its segments. Callers come before.
  void bound(uint32_t f) {
    const Part& part = parts_[f];
    uint64_t calls = function(f).id == entry_.function_id ? 1 : 0;
    for (const uint32_t caller : part.callers) calls += graph_.segments[caller].bound;
    calls = std::min<uint64_t>(calls, kUnbounded);
    const std::vector<LoopBound> loops = find_loop_bounds(analyzed_, entry_, f);
    const std::vector<uint32_t> bounds = block_bounds(loops, part.cfg->blocks().size());
    std::vector<uint32_t> depths(part.cfg->blocks().size());
    for (const LoopBound& loop : loops) {
      add_constant_loop(f, loop);
      if (loop.distinct != 0)
        graph_.distinct.emplace(part.block_segments[loop.loop.header], loop.distinct);
      for (const uint32_t block : loop.loop.vertices) ++depths[block];
    }
    for (uint32_t s = part.first_segment; s < part.end_segment; ++s) {
      CfgSegment& segment = graph_.segments[s];
      const uint32_t block = segment.block - part.first_block;
      segment.loop_depth = depths[block];
      segment.bound = product_of_bounds(static_cast<uint32_t>(calls), bounds[block]);
    }
  }

  // Estimates the execution frequency of each segment.
  void weigh(uint32_t f) {
    Part& part = parts_[f];
    if (function(f).id == entry_.function_id) part.frequency = kCertain;
    std::sort(part.callers.begin(), part.callers.end());
    graph_.flow.weights.resize(graph_.segments.size());
    for (const uint32_t caller : part.callers) part.frequency += graph_.flow.weights[caller];

    const uint32_t count = part.end_segment - part.first_segment;
    std::vector<std::vector<uint32_t>> successors(count);
    local_successors_.resize(graph_.segments.size());
    for (uint32_t s = 0; s < count; ++s) {
      for (const uint32_t next : local_successors_[part.first_segment + s]) {
        successors[s].push_back(next - part.first_segment);
      }
    }
    const std::vector<uint64_t> chances = probabilities(successors, merges_of(part));
    for (uint32_t s = 0; s < count; ++s) {
      const uint32_t depth = graph_.segments[part.first_segment + s].loop_depth;
      const uint64_t base = std::min(part.frequency, uint64_t{1} << 40) * chances[s] / kCertain;
      const uint32_t shift = std::min(kLog2LoopTrips * depth, 20u);
      graph_.flow.weights[part.first_segment + s] = std::max<uint64_t>(base, 1) << shift;
    }
  }

  void add_constant_loop(uint32_t f, const LoopBound& loop) {
    constexpr uint32_t kLimit = std::numeric_limits<int32_t>::max();
    if (!loop.constant || loop.executions > kLimit) return;
    const Part& part = parts_[f];
    const auto is_whole = [&](uint32_t block) {
      const uint32_t segment = part.block_segments[block];
      return segment_at(f, part.cfg->blocks()[block].end - 1) == segment;
    };
    const auto segment_of = [&](uint32_t block) { return part.block_segments[block]; };
    const uint32_t before = segment_at(f, part.cfg->blocks()[loop.constant->before].end - 1);
    const uint32_t exit = segment_of(loop.constant->exit);
    if (!graph_.segments[before].runs || is_undefined(f, loop.constant->exit) ||
        !std::ranges::all_of(loop.loop.vertices, is_whole)) {
      return;
    }
    graph_.constant_loops.push_back({before, segment_of(loop.loop.header),
                                     segment_of(loop.constant->test),
                                     segment_of(loop.constant->latch), exit, loop.executions});
  }

  // For each segment of a function the merge segment of its selection, or kNone.
  std::vector<uint32_t> merges_of(const Part& part) const {
    std::vector<uint32_t> merges(part.end_segment - part.first_segment, kNone);
    for (const CfgBlock& block : part.cfg->blocks()) {
      if (block.merge_block == kNone) continue;
      const uint32_t last = segment_at(graph_.segments[part.first_segment].function, block.end - 1);
      merges[last - part.first_segment] =
          part.block_segments[block.merge_block] - part.first_segment;
    }
    return merges;
  }

  // For each vertex kCertain times the probability that it is reached. Assumes that loops run once
  // and that branches are equally likely, except that early returns are rare.
  static std::vector<uint64_t> probabilities(const std::vector<std::vector<uint32_t>>& successors,
                                             const std::vector<uint32_t>& merges) {
    const std::vector<uint32_t> order = reverse_postorder(successors);
    std::vector<uint32_t> rank(successors.size());
    for (uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
    std::vector<uint64_t> chances(successors.size());
    if (!chances.empty()) chances[0] = kCertain;
    for (const uint32_t v : order) {
      const auto share = [&](uint32_t w) -> uint64_t {
        return successors[w].empty() && w != merges[v] ? 1 : 15;
      };
      uint64_t shares = 0;
      for (const uint32_t w : successors[v]) shares += share(w);
      for (const uint32_t w : successors[v]) {
        if (rank[w] > rank[v]) chances[w] += chances[v] * share(w) / shares;
      }
    }
    return chances;
  }

  static std::vector<uint32_t> reverse_postorder(
      const std::vector<std::vector<uint32_t>>& successors) {
    std::vector<uint32_t> order;
    if (successors.empty()) return order;
    std::vector<bool> seen(successors.size());
    std::vector<std::pair<uint32_t, size_t>> stack{{0, 0}};
    seen[0] = true;
    while (!stack.empty()) {
      auto& [v, next] = stack.back();
      if (next == successors[v].size()) {
        order.push_back(v);
        stack.pop_back();
        continue;
      }
      const uint32_t w = successors[v][next++];
      if (seen[w]) continue;
      seen[w] = true;
      stack.emplace_back(w, 0);
    }
    std::reverse(order.begin(), order.end());
    return order;
  }

  void finish_flow() {
    FlowGraph& flow = graph_.flow;
    flow.vertex_count = static_cast<uint32_t>(graph_.segments.size());
    flow.weights[graph_.entry_segment] = 0;  // counting invocations is cheap
    for (const uint32_t f : order_) {
      const Part& part = parts_[f];
      if (part.inlined || part.callers.empty()) continue;
      flow.known.push_back({part.first_segment, part.callers});
    }
    std::sort(graph_.exits.begin(), graph_.exits.end(),
              [](const Exit& a, const Exit& b) { return a.instruction < b.instruction; });
  }

  // How many of a segment's calls are of functions that branch.
  size_t branching_calls(uint32_t segment) const {
    return static_cast<size_t>(std::ranges::count_if(
        calls_of_[segment], [&](uint32_t callee) { return parts_[callee].branches; }));
  }

  void keep_subgroups() {
    for (auto f = order_.rbegin(); f != order_.rend(); ++f) {
      Part& part = parts_[*f];
      part.branches =
          part.end_segment - part.first_segment != 1 || branching_calls(part.first_segment) != 0;
    }
    std::vector<uint32_t> in_degree(graph_.segments.size()), out_degree(graph_.segments.size());
    for (const FlowGraph::Edge& e : graph_.flow.edges) {
      ++out_degree[e.from];
      ++in_degree[e.to];
    }
    for (const FlowGraph::Edge& e : graph_.flow.edges) {
      const CfgSegment& from = graph_.segments[e.from];
      CfgSegment& to = graph_.segments[e.to];
      const bool enters = e.to == parts_[to.function].first_segment;
      if (enters || !from.begins_block || !to.begins_block) continue;
      if (out_degree[e.from] != 1 || in_degree[e.to] != 1 || branching_calls(e.from) != 0) continue;
      to.same_subgroups = e.from;
    }
    for (const FlowGraph::Known& entry : graph_.flow.known) {
      const bool branches = parts_[graph_.segments[entry.vertex].function].branches;
      const auto arrive_together = [&](uint32_t caller) {
        return graph_.segments[caller].begins_block &&
               branching_calls(caller) <= (branches ? 1 : 0);
      };
      if (std::ranges::all_of(entry.addends, arrive_together)) {
        graph_.called_by_subgroups.push_back(entry);
      }
    }
  }

  const AnalyzedModule& analyzed_;
  const Module& module_;
  const EntryPoint& entry_;
  SegmentGraph& graph_;
  std::vector<Part> parts_;                              // by index into the module's functions
  std::vector<uint32_t> reachable_;                      // without left_out
  std::vector<uint32_t> order_;                          // callers before callees
  std::vector<std::vector<uint32_t>> calls_of_;          // by segment: callees
  std::vector<std::vector<uint32_t>> local_successors_;  // within the function, without exits
};

}  // namespace

Result<SegmentGraph> SegmentGraph::build(const AnalyzedModule& analyzed, const EntryPoint& entry) {
  SegmentGraph graph;
  TALLY_TRY(Builder(analyzed, entry, graph).build());
  return graph;
}

}  // namespace tally::spirv
