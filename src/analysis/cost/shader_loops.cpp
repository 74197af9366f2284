#include "analysis/cost/shader_loops.h"

#include <algorithm>

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

}  // namespace

ShaderLoops::ShaderLoops(const ShaderCode& code) : of_callers_(code.map.functions().size()) {
  for (const spirv::Block& block : code.map.blocks()) function_of_.push_back(block.function);
  for (uint32_t f = 0; f < code.map.functions().size(); ++f) find_loops(code, f);
  find_callers(code);
}

void ShaderLoops::find_loops(const ShaderCode& code, uint32_t function) {
  const spirv::MappedFunction& mapped = code.map.functions()[function];
  const uint32_t index = code.module.function_index(mapped.id);
  if (index == kNone || !mapped.is_countable) return;
  const auto cfg = spirv::Cfg::build(code.module, code.module.functions()[index]);
  if (!cfg || cfg->blocks().size() != mapped.block_count) return;
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

}  // namespace tally::analysis
