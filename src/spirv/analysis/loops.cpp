#include "spirv/analysis/loops.h"

#include <algorithm>

namespace tally::spirv {
namespace {

using Graph = std::vector<std::vector<uint32_t>>;
using Vertices = std::vector<uint32_t>;

// R. Tarjan: Depth-first search and linear graph algorithms. SIAM J. Comput. 1 (1972). Iterative
// instead of recursive, because a hostile module may nest deeply.
class ComponentFinder {
 public:
  ComponentFinder(const Graph& successors, const std::vector<uint32_t>& region_of)
      : successors_(successors),
        region_of_(region_of),
        index_(successors.size()),
        low_(successors.size()),
        on_stack_(successors.size()) {}

  // The strongly connected components of the vertices in the same region as `vertices`.
  std::vector<Vertices> find(const Vertices& vertices) {
    for (const uint32_t v : vertices) index_[v] = 0;
    components_.clear();
    for (const uint32_t v : vertices) {
      if (index_[v] == 0) visit(v);
    }
    return std::move(components_);
  }

 private:
  struct Frame {
    uint32_t vertex;
    size_t next_edge;
  };

  void enter(uint32_t v) {
    index_[v] = low_[v] = ++counter_;
    stack_.push_back(v);
    on_stack_[v] = true;
    frames_.push_back({v, 0});
  }

  void visit(uint32_t root) {
    enter(root);
    while (!frames_.empty()) {
      const uint32_t v = frames_.back().vertex;
      if (frames_.back().next_edge < successors_[v].size()) {
        const uint32_t w = successors_[v][frames_.back().next_edge++];
        if (region_of_[w] != region_of_[v]) continue;
        if (index_[w] == 0) {
          enter(w);
        } else if (on_stack_[w]) {
          low_[v] = std::min(low_[v], index_[w]);
        }
        continue;
      }
      frames_.pop_back();
      if (!frames_.empty()) {
        uint32_t& parent = low_[frames_.back().vertex];
        parent = std::min(parent, low_[v]);
      }
      if (low_[v] == index_[v]) pop_component(v);
    }
  }

  void pop_component(uint32_t root) {
    Vertices component;
    do {
      component.push_back(stack_.back());
      on_stack_[stack_.back()] = false;
      stack_.pop_back();
    } while (component.back() != root);
    std::sort(component.begin(), component.end());
    components_.push_back(std::move(component));
  }

  const Graph& successors_;
  const std::vector<uint32_t>& region_of_;
  std::vector<uint32_t> index_, low_;
  std::vector<bool> on_stack_;
  std::vector<uint32_t> stack_;
  std::vector<Frame> frames_;
  std::vector<Vertices> components_;
  uint32_t counter_ = 0;
};

bool is_loop(const Graph& successors, const Vertices& component) {
  if (component.size() > 1) return true;
  const Vertices& next = successors[component[0]];
  return std::find(next.begin(), next.end(), component[0]) != next.end();
}

// The vertices through which a loop is entered: its header, and others if it is irreducible.
Vertices entries_of(const Graph& predecessors, const Vertices& loop, uint32_t entry) {
  Vertices entries;
  for (const uint32_t v : loop) {
    const bool is_entered = v == entry || std::ranges::any_of(predecessors[v], [&](uint32_t p) {
                              return !std::ranges::binary_search(loop, p);
                            });
    if (is_entered) entries.push_back(v);
  }
  if (entries.empty()) entries.push_back(loop.front());  // it cannot be reached
  return entries;
}

}  // namespace

std::vector<Loop> find_loops(const Graph& successors, uint32_t entry) {
  const auto count = static_cast<uint32_t>(successors.size());
  Graph predecessors(count);
  Vertices all(count);
  for (uint32_t v = 0; v < count; ++v) {
    all[v] = v;
    for (const uint32_t w : successors[v]) predecessors[w].push_back(v);
  }

  constexpr uint32_t kHeader = ~0u;  // region of vertices in no remaining loop
  std::vector<Loop> loops;
  std::vector<uint32_t> depths(count);
  std::vector<uint32_t> regions(count);
  uint32_t region_count = 1;
  ComponentFinder finder(successors, regions);
  std::vector<Vertices> work{std::move(all)};
  while (!work.empty()) {
    const Vertices region = std::move(work.back());
    work.pop_back();
    for (Vertices& loop : finder.find(region)) {
      if (!is_loop(successors, loop)) continue;
      const Vertices entries = entries_of(predecessors, loop, entry);
      const uint32_t header = entries.front();
      const uint32_t id = region_count++;
      for (const uint32_t v : loop) {
        ++depths[v];
        regions[v] = id;
      }
      regions[header] = kHeader;
      loops.push_back({header, entries.size() > 1, loop});
      if (depths[header] == kMaxLoopDepth) continue;
      std::erase(loop, header);
      if (!loop.empty()) work.push_back(std::move(loop));
    }
  }
  return loops;
}

// A header inside of a loop is skipped, because its loop is part of the outer one, whose header
// comes first.
std::vector<bool> blocks_in_loops(const Cfg& cfg) {
  std::vector<bool> inside(cfg.blocks().size());
  std::vector<uint32_t> work;
  for (uint32_t header = 0; header < cfg.blocks().size(); ++header) {
    if (cfg.blocks()[header].merge != MergeKind::Loop || inside[header]) continue;
    inside[header] = true;
    work.push_back(header);
    while (!work.empty()) {
      const uint32_t block = work.back();
      work.pop_back();
      for (const uint32_t next : cfg.successors(block)) {
        if (next == cfg.blocks()[header].merge_block || inside[next]) continue;
        inside[next] = true;
        work.push_back(next);
      }
    }
  }
  return inside;
}

namespace {

using spv::Op;

constexpr uint32_t kRoot = kNone;

// The structured constructs of one function. A construct has the number of its header block;
// the cases of a switch are constructs of their own, numbered by their first block after all
// blocks.
class Nesting {
 public:
  explicit Nesting(const Cfg& cfg)
      : cfg_(cfg),
        count_(static_cast<uint32_t>(cfg.blocks().size())),
        around_(2 * count_, kRoot),
        known_(count_),
        returns_(2 * count_),
        depths_(count_) {}

  // Indexed by block.
  const std::vector<uint32_t>& find() {
    if (cfg_.blocks().empty()) return depths_;
    find_constructs();
    find_returns();
    find_depths();
    return depths_;
  }

 private:
  bool is_header(uint32_t block) const { return cfg_.blocks()[block].merge_block != kNone; }
  bool is_switch(uint32_t block) const {
    return is_header(block) && cfg_.blocks()[block].terminator == Op::OpSwitch;
  }
  uint32_t case_of(uint32_t first_block) const { return count_ + first_block; }

  // Finds the innermost construct of each block, in breadth-first order. A merge block belongs to
  // the enclosing construct.
  void find_constructs() {
    const auto reach = [&](uint32_t block, uint32_t construct) {
      if (known_[block]) return;
      known_[block] = true;
      around_[block] = construct;
      order_.push_back(block);
    };
    reach(0, kRoot);
    for (size_t next = 0; next < order_.size(); ++next) {
      const uint32_t block = order_[next];
      const bool header = is_header(block);
      if (header) reach(cfg_.blocks()[block].merge_block, around_[block]);
      for (const uint32_t target : cfg_.successors(block)) {
        if (is_switch(block) && !known_[target]) {
          around_[case_of(target)] = block;
          reach(target, case_of(target));
        } else {
          reach(target, header ? block : around_[block]);
        }
      }
    }
  }

  void find_returns() {
    for (const uint32_t block : order_) {
      const Op end = cfg_.blocks()[block].terminator;
      if (end != Op::OpReturn && end != Op::OpReturnValue) continue;
      for (uint32_t c = around_[block]; c != kRoot && !returns_[c]; c = around_[c]) {
        returns_[c] = true;
      }
    }
  }

  // How much deeper the code behind a construct gets that contains a return.
  uint32_t predicates(uint32_t header) const {
    if (!is_switch(header)) return returns_[header];
    return static_cast<uint32_t>(std::ranges::count_if(
        cfg_.successors(header), [&](uint32_t target) { return returns_[case_of(target)]; }));
  }

  // A return in a loop breaks out of the loop, so only the code after the loop is nested. A switch
  // is an `if` for each case, in an order that the compiler chooses: a case may stand behind all
  // the others that return.
  void find_depths() {
    std::vector<bool> in_loop(count_);
    std::vector<bool> has_depth(count_);
    has_depth[0] = true;
    for (const uint32_t block : order_) {
      const uint32_t header_around = header_of(around_[block]);
      in_loop[block] = header_around != kRoot && (in_loop[header_around] || is_loop(header_around));
      const auto give = [&](uint32_t target, uint32_t depth) {
        if (!has_depth[target]) depths_[target] = depth;
        has_depth[target] = true;
      };
      const bool header = is_header(block);
      const uint32_t behind = header && !in_loop[block] ? predicates(block) : 0;
      if (header) give(cfg_.blocks()[block].merge_block, depths_[block] + behind);
      for (const uint32_t target : cfg_.successors(block)) {
        const uint32_t others =
            is_switch(block) ? behind - (behind > 0 && returns_[case_of(target)]) : 0;
        give(target, depths_[block] + header + others);
      }
    }
  }

  uint32_t header_of(uint32_t construct) const {
    return construct == kRoot || construct < count_ ? construct : around_[construct];
  }

  bool is_loop(uint32_t header) const { return cfg_.blocks()[header].merge == MergeKind::Loop; }

  const Cfg& cfg_;
  uint32_t count_;                // of blocks
  std::vector<uint32_t> around_;  // by block and by case: the innermost construct around it
  std::vector<bool> known_;
  std::vector<bool> returns_;  // by construct: whether it contains a return
  std::vector<uint32_t> depths_;
  std::vector<uint32_t> order_;
};

}  // namespace

uint32_t nested_conditionals(const AnalyzedModule& analyzed, const EntryPoint& entry) {
  const Module& module = analyzed.module();
  const std::vector<uint32_t> order =
      module.calls().callees_first(module.function_index(entry.function_id));
  std::vector<uint32_t> depths(module.functions().size());
  for (const uint32_t f : order) {
    const Result<Cfg>& cfg = analyzed.cfg(f);
    if (!cfg) return 0;
    const std::vector<uint32_t> blocks = Nesting(*cfg).find();
    for (uint32_t b = 0; b < blocks.size(); ++b) {
      depths[f] = std::max(depths[f], blocks[b]);
      for (uint32_t i = cfg->blocks()[b].begin; i < cfg->blocks()[b].end; ++i) {
        const Instruction call = module.instruction(i);
        if (call.opcode() != Op::OpFunctionCall) continue;
        const uint32_t callee = module.function_index(call.operand(0));
        if (callee != kNone) depths[f] = std::max(depths[f], blocks[b] + depths[callee]);
      }
    }
  }
  return order.empty() ? 0 : depths[order.back()];
}

}  // namespace tally::spirv
