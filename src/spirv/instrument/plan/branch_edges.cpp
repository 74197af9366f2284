#include "spirv/instrument/plan/branch_edges.h"

#include <algorithm>
#include <set>
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

}  // namespace tally::spirv
