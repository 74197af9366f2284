#include "spirv/analysis/loop_bounds.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>

#include "spirv/analysis/induction.h"

namespace tally::spirv {
namespace {

using spv::Op;

constexpr size_t kMaxSpine = 64;     // blocks of a loop that are looked at, from each end
constexpr uint32_t kMaxSteps = 256;  // of a loop that is run here

// A loop goes on while `value` is less than `limit` (direction -1), greater (1), or other (0).
struct Test {
  uint32_t value;  // id
  uint32_t limit;
  int direction;
  bool or_equal;  // with direction 0: equal, instead of not equal
  bool is_signed = false;
};

struct Induction {
  std::optional<uint32_t> first;  // the value that is tested first, if it is a constant
  ConstantStep step;              // to the value that is tested next
};

// The test that a comparison makes, without its operands.
std::optional<Test> test_of(Op comparison) {
  switch (comparison) {
    case Op::OpIEqual:
      return Test{.direction = 0, .or_equal = true};
    case Op::OpINotEqual:
      return Test{.direction = 0, .or_equal = false};
    case Op::OpULessThan:
      return Test{.direction = -1, .or_equal = false};
    case Op::OpSLessThan:
      return Test{.direction = -1, .or_equal = false, .is_signed = true};
    case Op::OpULessThanEqual:
      return Test{.direction = -1, .or_equal = true};
    case Op::OpSLessThanEqual:
      return Test{.direction = -1, .or_equal = true, .is_signed = true};
    case Op::OpUGreaterThan:
      return Test{.direction = 1, .or_equal = false};
    case Op::OpSGreaterThan:
      return Test{.direction = 1, .or_equal = false, .is_signed = true};
    case Op::OpUGreaterThanEqual:
      return Test{.direction = 1, .or_equal = true};
    case Op::OpSGreaterThanEqual:
      return Test{.direction = 1, .or_equal = true, .is_signed = true};
    default:
      return std::nullopt;
  }
}

int64_t extend(uint32_t value, bool is_signed) {
  return is_signed ? int64_t{static_cast<int32_t>(value)} : int64_t{value};
}

bool holds(const Test& test, uint32_t value) {
  const int64_t one = extend(value, test.is_signed), other = extend(test.limit, test.is_signed);
  if (one == other) return test.or_equal;
  if (test.direction == 0) return !test.or_equal;
  return (one < other) == (test.direction < 0);
}

// How often the test lets the loop go on: at most, and exactly if the first value is known. Where
// values are added, and less or more is asked for.
uint32_t passes_of_sums(const Test& test, const Induction& induction) {
  const bool descends = test.direction > 0;
  int64_t low = test.is_signed ? std::numeric_limits<int32_t>::min() : 0;
  int64_t high = low + std::numeric_limits<uint32_t>::max();
  int64_t step = extend(induction.step.number, true);
  int64_t limit = extend(test.limit, test.is_signed);
  if (descends) {  // the same with negative numbers
    std::swap(low, high);
    for (int64_t* number : {&low, &high, &step, &limit}) *number = -*number;
  }
  if (test.or_equal) ++limit;
  // What passes must not wrap around in the next step.
  if (step <= 0 || limit - 1 + step > high) return kUnbounded;
  int64_t first = low;
  if (induction.first) first = extend(*induction.first, test.is_signed) * (descends ? -1 : 1);
  const int64_t result = std::max<int64_t>(0, (limit - first + step - 1) / step);
  return result < kUnbounded ? static_cast<uint32_t>(result) : kUnbounded;
}

uint32_t passes(const Test& test, const Induction& induction) {
  if (test.direction != 0 && induction.step.operation == Op::OpIAdd) {
    return passes_of_sums(test, induction);
  }
  if (!induction.first) return kUnbounded;
  uint32_t value = *induction.first;
  for (uint32_t count = 0; count < kMaxSteps; ++count) {
    if (!holds(test, value)) return count;
    value = induction.step.apply(value);
  }
  return kUnbounded;
}

class FunctionBounds {
 public:
  FunctionBounds(const AnalyzedModule& analyzed, uint32_t function)
      : analyzed_(analyzed),
        module_(analyzed.module()),
        function_(function),
        cfg_(*analyzed.cfg(function)) {}

  std::vector<LoopBound> find() const {
    std::vector<std::vector<uint32_t>> successors;
    for (uint32_t block = 0; block < cfg_.blocks().size(); ++block) {
      const auto next = cfg_.successors(block);
      successors.emplace_back(next.begin(), next.end());
    }
    std::vector<LoopBound> bounds;
    for (Loop& loop : find_loops(successors, 0)) bounds.push_back(bound_of(std::move(loop)));
    return bounds;
  }

 private:
  // The stores of a loop in a variable.
  struct Stores {
    uint32_t count = 0;
    uint32_t block = kNone;  // of the last one
    const VariableStore* last = nullptr;
  };
  using StoresByVariable = std::unordered_map<uint32_t, Stores>;

  LoopBound bound_of(Loop found) const {
    LoopBound bound{std::move(found)};
    const Loop& loop = bound.loop;
    if (loop.has_other_entries) return bound;
    const uint32_t only_exit = only_block_that_leaves(loop);
    std::optional<StoresByVariable> stores;
    const std::vector<uint32_t> spine = find_spine(loop);
    for (const uint32_t block : spine) {
      const auto test = test_at(loop, block);
      if (!test) continue;
      auto induction = phi_induction(loop, test->value);
      if (!induction) {
        if (!stores) stores = stores_in(loop);
        induction = variable_induction(loop, *stores, spine, block, test->value);
      }
      if (!induction) continue;
      const uint32_t often = passes(*test, *induction);
      if (often >= kUnbounded - 1) continue;
      bound.executions = std::min(bound.executions, often + 1);
      if (induction->first && block == only_exit) bound.constant = frame_of(loop, block);
    }
    return bound;
  }

  StoresByVariable stores_in(const Loop& loop) const {
    StoresByVariable stores;
    for (const uint32_t block : loop.vertices) {
      for (const VariableStore& store : variables().stores(block)) {
        Stores& of = stores[store.variable];
        of = {of.count + 1, block, &store};
      }
    }
    return stores;
  }

  const IntegerVariables& variables() const { return analyzed_.integer_variables(function_); }

  // The only block of the loop from which control may leave it, or kNone.
  uint32_t only_block_that_leaves(const Loop& loop) const {
    uint32_t result = kNone;
    for (const uint32_t block : loop.vertices) {
      const bool stays = std::ranges::all_of(cfg_.successors(block),
                                             [&](uint32_t next) { return contains(loop, next); });
      if (stays) continue;
      if (result != kNone) return kNone;
      result = block;
    }
    return result;
  }

  std::optional<LoopBound::Constant> frame_of(const Loop& loop, uint32_t test) const {
    const uint32_t before = only_one(cfg_.predecessors(loop.header), loop, false);
    const uint32_t latch = only_one(cfg_.predecessors(loop.header), loop, true);
    const uint32_t exit = only_one(cfg_.successors(test), loop, false);
    if (before == kNone || cfg_.successors(before).size() != 1) return std::nullopt;
    if (latch == kNone || next_in(loop, latch) != loop.header) return std::nullopt;
    return LoopBound::Constant{before, exit, test, latch};
  }

  static bool contains(const Loop& loop, uint32_t block) {
    return std::ranges::binary_search(loop.vertices, block);
  }

  // The only block inside or outside of the loop among `blocks`, or kNone.
  static uint32_t only_one(std::span<const uint32_t> blocks, const Loop& loop, bool inside) {
    uint32_t result = kNone;
    for (const uint32_t block : blocks) {
      if (contains(loop, block) != inside) continue;
      if (result != kNone) return kNone;
      result = block;
    }
    return result;
  }
  uint32_t next_in(const Loop& loop, uint32_t block) const {
    return only_one(cfg_.successors(block), loop, true);
  }

  // Blocks that are executed exactly once in each iteration that another follows: those from the
  // header to the first branch in the loop, and those from the last junction back to the header. In
  // this order.
  std::vector<uint32_t> find_spine(const Loop& loop) const {
    std::vector<uint32_t> blocks{loop.header};
    while (blocks.size() < kMaxSpine) {
      const uint32_t next = next_in(loop, blocks.back());
      if (next == loop.header) return blocks;
      if (next == kNone || cfg_.predecessors(next).size() != 1) break;
      blocks.push_back(next);
    }
    std::vector<uint32_t> backwards;
    uint32_t after = loop.header;
    uint32_t block = only_one(cfg_.predecessors(loop.header), loop, true);
    while (block != kNone && next_in(loop, block) == after && backwards.size() < kMaxSpine) {
      backwards.push_back(block);
      if (cfg_.predecessors(block).size() != 1) break;
      after = block;
      block = cfg_.predecessors(block)[0];
    }
    blocks.insert(blocks.end(), backwards.rbegin(), backwards.rend());
    return blocks;
  }

  // --- the test

  std::optional<uint32_t> constant(uint32_t id) const {
    const Op opcode = module_.opcode_of(id);
    if (opcode == Op::OpConstantNull) return 0;
    if (opcode != Op::OpConstant || !is_int32(module_, module_.type_of(id))) return std::nullopt;
    return static_cast<uint32_t>(module_.constant_value(id).value_or(0));
  }

  // The test at the end of the block, if one outcome leaves the loop.
  std::optional<Test> test_at(const Loop& loop, uint32_t block) const {
    const Instruction branch = module_.instruction(cfg_.blocks()[block].end - 1);
    if (branch.opcode() != Op::OpBranchConditional) return std::nullopt;
    const uint32_t next = next_in(loop, block);
    if (next == kNone || cfg_.successors(block).size() != 2) return std::nullopt;
    const auto comparison = module_.definition(branch.operand(0));
    auto test = comparison ? test_of(comparison->opcode()) : std::nullopt;
    if (!test) return std::nullopt;
    const auto limit = constant(comparison->operand(1)), other = constant(comparison->operand(0));
    if (!limit && !other) return std::nullopt;
    test->value = comparison->operand(limit ? 0 : 1);
    test->limit = limit ? *limit : *other;
    if (!limit) test->direction = -test->direction;
    if (cfg_.block_of(branch.operand(1)) != next) {  // goes on where the comparison is false
      test->direction = -test->direction;
      test->or_equal = !test->or_equal;
    }
    return test;
  }

  // --- the induction variable

  // `value`: an OpPhi of the header, or the value that it has in the next iteration.
  std::optional<Induction> phi_induction(const Loop& loop, uint32_t value) const {
    const auto sum = constant_step(module_, value);
    const auto phi = module_.definition(sum ? sum->from : value);
    if (!phi || phi->opcode() != Op::OpPhi || phi->operand_count() != 4) return std::nullopt;
    const CfgBlock& header = cfg_.blocks()[loop.header];
    const uint32_t index = module_.definition_index(phi->result_id());
    if (index < header.begin || index >= header.end || is_relaxed(module_, phi->result_id())) {
      return std::nullopt;
    }
    const uint32_t back = cfg_.block_of(phi->operand(3));
    const bool swapped = back == kNone || !contains(loop, back);
    const uint32_t first = phi->operand(swapped ? 2 : 0), again = phi->operand(swapped ? 0 : 2);
    const auto step = constant_step(module_, again);
    if (!step || step->from != phi->result_id() || (sum && value != again)) return std::nullopt;
    return induction_from(first, *step, value == again);
  }

  // `steps`: the first test comes after the first step.
  Induction induction_from(uint32_t first, const ConstantStep& step, bool steps) const {
    auto value = constant(first);
    if (value && steps) value = step.apply(*value);
    return {value, step};
  }

  // `value`: loaded in `block` from a variable that the loop stores once, on the spine.
  std::optional<Induction> variable_induction(const Loop& loop, const StoresByVariable& stores,
                                              std::span<const uint32_t> spine, uint32_t block,
                                              uint32_t value) const {
    const uint32_t variable = variables().loaded_from(module_, value, cfg_.blocks()[block]);
    const auto found = stores.find(variable);
    if (found == stores.end() || found->second.count != 1) return std::nullopt;
    const VariableStore* store = found->second.last;
    const uint32_t stored_in = found->second.block;
    const auto place = std::ranges::find(spine, stored_in);
    if (place == spine.end()) return std::nullopt;
    const auto step = constant_step(module_, store->value);
    if (!step ||
        variables().loaded_from(module_, step->from, cfg_.blocks()[stored_in]) != variable ||
        module_.definition_index(step->from) > store->instruction) {
      return std::nullopt;
    }
    const bool steps = stored_in == block ? store->instruction < module_.definition_index(value)
                                          : place < std::ranges::find(spine, block);
    const uint32_t before = only_one(cfg_.predecessors(loop.header), loop, false);
    const uint32_t first = before == kNone ? 0 : variables().last_value(variable, before);
    return induction_from(first, *step, steps);
  }

  const AnalyzedModule& analyzed_;
  const Module& module_;
  uint32_t function_;
  const Cfg& cfg_;
};

}  // namespace

std::vector<LoopBound> find_loop_bounds(const AnalyzedModule& analyzed, uint32_t function) {
  return FunctionBounds(analyzed, function).find();
}

std::vector<uint32_t> block_bounds(std::span<const LoopBound> loops, size_t block_count) {
  std::vector<uint32_t> bounds(block_count, 1), depths(block_count);
  for (const LoopBound& bound : loops) {
    for (const uint32_t block : bound.loop.vertices) {
      bounds[block] = product_of_bounds(bounds[block], bound.executions);
      // It may be in further loops.
      if (++depths[block] == kMaxLoopDepth) bounds[block] = kUnbounded;
    }
  }
  return bounds;
}

}  // namespace tally::spirv
