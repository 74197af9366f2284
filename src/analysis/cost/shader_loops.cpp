#include "analysis/cost/shader_loops.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/cost/call_costs.h"
#include "analysis/model/counts.h"
#include "spirv/analysis/cfg.h"
#include "spirv/analysis/loops.h"

namespace tally::analysis {
namespace {

void append_new(std::vector<uint32_t>& list, const std::vector<uint32_t>& added) {
  for (const uint32_t element : added)
    if (std::ranges::find(list, element) == list.end()) list.push_back(element);
}

std::vector<std::vector<uint32_t>> successors_of(const spirv::Cfg& cfg) {
  std::vector<std::vector<uint32_t>> successors;
  for (uint32_t b = 0; b < cfg.blocks().size(); ++b)
    successors.emplace_back(cfg.successors(b).begin(), cfg.successors(b).end());
  return successors;
}

bool contains(const spirv::Loop& loop, uint32_t vertex) {
  return std::ranges::binary_search(loop.vertices, vertex);
}

// The block in which an iteration begins: after the test, if a test at the top ends the loop.
uint32_t body_of(const spirv::Loop& loop, const spirv::Cfg& cfg) {
  uint32_t at = loop.header;
  for (size_t step = 0; step < loop.vertices.size() && cfg.successors(at).size() == 1; ++step)
    at = cfg.successors(at)[0];
  const auto next = cfg.successors(at);
  if (next.size() != 2 || contains(loop, next[0]) == contains(loop, next[1])) return loop.header;
  const uint32_t body = contains(loop, next[0]) ? next[0] : next[1];
  return cfg.predecessors(body).size() == 1 ? body : loop.header;
}

uint64_t executions_of(const std::vector<uint32_t>& blocks, uint32_t variant,
                       const BlockTotals& totals) {
  uint64_t sum = 0;
  for (const uint32_t block : blocks) sum = saturating_sum(sum, totals.executions(variant, block));
  return sum;
}

// The control flow of a function; nullopt if its blocks are not those of the map.
std::optional<spirv::Cfg> cfg_of(const ShaderCode& code, uint32_t function) {
  const spirv::MappedFunction& mapped = code.map.functions()[function];
  const uint32_t index = code.module.function_index(mapped.id);
  if (index == kNone || !mapped.is_countable) return std::nullopt;
  auto cfg = spirv::Cfg::build(code.module, code.module.functions()[index]);
  if (!cfg || cfg->blocks().size() != mapped.block_count) return std::nullopt;
  return std::move(*cfg);
}

// The blocks that the header reaches before the merge block, in a function whose first block is
// `first`.
std::vector<uint32_t> blocks_of_loop(const spirv::Cfg& cfg, uint32_t first, uint32_t header) {
  const uint32_t merge = cfg.blocks()[header - first].merge_block;
  std::vector<bool> seen(cfg.blocks().size());
  std::vector<uint32_t> blocks = {header};
  seen[header - first] = true;
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (const uint32_t next : cfg.successors(blocks[i] - first)) {
      if (next == merge || seen[next]) continue;
      seen[next] = true;
      blocks.push_back(first + next);
    }
  }
  return blocks;
}

}  // namespace

ShaderLoops::ShaderLoops(const ShaderCode& code) : of_callers_(code.map.functions().size()) {
  for (const spirv::Block& block : code.map.blocks()) function_of_.push_back(block.function);
  for (uint32_t f = 0; f < code.map.functions().size(); ++f) find_loops(code, f);
  find_callers(code);
}

void ShaderLoops::find_loops(const ShaderCode& code, uint32_t function) {
  const spirv::MappedFunction& mapped = code.map.functions()[function];
  const auto cfg = cfg_of(code, function);
  if (!cfg) return;
  for (const spirv::Loop& loop : spirv::find_loops(successors_of(*cfg), 0)) {
    if (loop.has_other_entries) continue;
    FoundLoop found{.header = mapped.first_block + loop.header,
                    .body = mapped.first_block + body_of(loop, *cfg),
                    .entries = std::vector<uint32_t>(),
                    .back = std::vector<uint32_t>(),
                    .blocks = {}};
    for (const uint32_t before : cfg->predecessors(loop.header)) {
      Sum& sum = contains(loop, before) ? found.back : found.entries;
      if (cfg->successors(before).size() != 1) sum.reset();
      if (sum) sum->push_back(mapped.first_block + before);
    }
    for (const uint32_t vertex : loop.vertices) found.blocks.push_back(mapped.first_block + vertex);
    loops_.push_back(std::move(found));
  }
}

// Callers come before what they call.
void ShaderLoops::find_callers(const ShaderCode& code) {
  const ShaderCalls calls(code);
  for (auto call = calls.calls().rbegin(); call != calls.calls().rend(); ++call)
    append_new(of_callers_[call->callee], around(call->block));
}

std::vector<uint32_t> ShaderLoops::around_in_function(uint32_t block) const {
  std::vector<uint32_t> found;
  for (uint32_t l = 0; l < loops_.size(); ++l)
    if (std::ranges::binary_search(loops_[l].blocks, block)) found.push_back(l);
  return found;
}

std::vector<uint32_t> ShaderLoops::around(uint32_t block) const {
  std::vector<uint32_t> found = of_callers_[function_of_[block]];
  append_new(found, around_in_function(block));
  return found;
}

std::optional<ShaderLoops::Blocks> ShaderLoops::blocks(size_t loop) const {
  const FoundLoop& found = loops_[loop];
  if (found.entries) return Blocks{found.body, *found.entries, {}};
  if (found.back) return Blocks{found.body, {found.header}, *found.back};
  return std::nullopt;
}

std::optional<LoopCount> ShaderLoops::count(size_t loop, uint32_t variant,
                                            const BlockTotals& totals) const {
  const auto of = blocks(loop);
  if (!of) return std::nullopt;
  const uint64_t all = executions_of(of->entries, variant, totals);
  return LoopCount{.entries = all - std::min(all, executions_of(of->returns, variant, totals)),
                   .iterations = totals.executions(variant, of->body)};
}

ShaderParts::ShaderParts(const ShaderCode& code, std::vector<ShaderPart> parts)
    : code_(code),
      loops_(code),
      parts_(std::move(parts)),
      called_in_(code.map.functions().size()),
      of_function_(code.map.functions().size(), kNone),
      around_(code.map.blocks().size(), kNone),
      outside_(parts_.size(), kNone) {
  const ShaderCalls calls(code);
  order_ = calls.order();
  for (const ShaderCalls::Call& call : calls.calls()) called_in_[call.callee].push_back(call.block);
  std::vector<std::vector<uint32_t>> blocks(parts_.size());  // of loops
  std::map<uint32_t, std::optional<spirv::Cfg>> cfgs;        // by function
  for (uint32_t p = 0; p < parts_.size(); ++p) {
    const uint32_t block = parts_[p].block, function = function_of(block);
    if (!parts_[p].is_loop) {
      of_function_[function] = p;
      continue;
    }
    const auto [cfg, is_new] = cfgs.try_emplace(function);
    if (is_new) cfg->second = cfg_of(code, function);
    inner_first_.push_back(p);
    blocks[p] = {block};
    if (cfg->second)
      blocks[p] = blocks_of_loop(*cfg->second, code.map.functions()[function].first_block, block);
  }
  for (uint32_t b = 0; b < around_.size(); ++b) around_[b] = of_function_[function_of(b)];
  std::ranges::stable_sort(inner_first_, {}, [&](uint32_t p) { return blocks[p].size(); });
  for (auto p = inner_first_.rbegin(); p != inner_first_.rend(); ++p) {
    outside_[*p] = around_[parts_[*p].block];
    for (const uint32_t block : blocks[*p]) around_[block] = *p;
  }
}

template <typename Give>
void ShaderParts::divide(uint32_t function, uint64_t amount, uint32_t variant,
                         const BlockTotals& totals, const Give& give) const {
  if (amount == 0) return;
  uint64_t calls = 0, before = 0;
  for (const uint32_t block : called_in_[function])
    calls = saturating_sum(calls, totals.executions(variant, block));
  for (const uint32_t block : called_in_[function]) {
    const uint64_t after = saturating_sum(before, totals.executions(variant, block));
    if (after == before) continue;
    give(block, share_of(amount, before, after, calls));
    before = after;
  }
}

std::vector<ShaderParts::Cost> ShaderParts::costs(uint32_t variant, const BlockTotals& totals,
                                                  size_t metric) const {
  const auto add = [](uint64_t& sum, uint64_t value) { sum = saturating_sum(sum, value); };
  std::vector<Cost> costs(parts_.size());
  // Functions that are no part pass these on to their callers.
  std::vector<uint64_t> self(of_function_.size()), all(of_function_.size());
  for (uint32_t b = 0; b < around_.size(); ++b)
    add(around_[b] == kNone ? self[function_of(b)] : costs[around_[b]].self,
        totals.value(variant, b, metric));
  for (const uint32_t f : order_) {
    divide(f, self[f], variant, totals, [&](uint32_t block, uint64_t share) {
      const uint32_t part = around_[block];
      add(part == kNone ? self[function_of(block)] : costs[part].self, share);
    });
  }
  for (Cost& cost : costs) cost.all = cost.self;
  for (const uint32_t f : order_) {
    for (const uint32_t loop : inner_first_) {
      if (function_of(parts_[loop].block) != f) continue;
      add(outside_[loop] == kNone ? all[f] : costs[outside_[loop]].all, costs[loop].all);
    }
    const uint64_t amount = of_function_[f] == kNone ? all[f] : costs[of_function_[f]].all;
    divide(f, amount, variant, totals, [&](uint32_t block, uint64_t share) {
      const uint32_t part = around_[block];
      add(part == kNone ? all[function_of(block)] : costs[part].all, share);
    });
  }
  for (uint32_t p = 0; p < parts_.size(); ++p) {
    if (!parts_[p].is_loop) costs[p].runs = totals.executions(variant, parts_[p].block);
  }
  for (size_t l = 0; l < loops_.size(); ++l) {
    const auto part = std::ranges::find_if(
        parts_, [&](const ShaderPart& of) { return of.is_loop && of.block == loops_.header(l); });
    if (part == parts_.end()) continue;
    if (const auto count = loops_.count(l, variant, totals))
      costs[static_cast<size_t>(part - parts_.begin())].runs = count->entries;
  }
  return costs;
}

std::vector<std::string> ShaderParts::divided(uint32_t variant, const BlockTotals& totals) const {
  std::vector<std::string> names;
  std::vector<std::set<uint32_t>> parts(of_function_.size());  // that have a share of a function
  for (auto f = order_.rbegin(); f != order_.rend(); ++f) {
    const spirv::MappedFunction& mapped = code_.map.functions()[*f];
    if (of_function_[*f] != kNone) continue;
    for (const uint32_t block : called_in_[*f]) {
      if (totals.executions(variant, block) == 0) continue;
      const uint32_t part = around_[block];
      if (part != kNone) parts[*f].insert(part);
      if (part == kNone) parts[*f].merge(std::set(parts[function_of(block)]));
    }
    const uint64_t calls = totals.executions(variant, mapped.first_block);
    bool is_even = true;
    for (uint32_t b = mapped.first_block; b < mapped.first_block + mapped.block_count; ++b) {
      const uint64_t executions = totals.executions(variant, b);
      is_even = is_even && (executions == 0 || executions == calls);
    }
    if (parts[*f].size() > 1 && !is_even) names.push_back(mapped.name);
  }
  return names;
}

}  // namespace tally::analysis
