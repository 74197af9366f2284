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

}  // namespace tally::spirv
