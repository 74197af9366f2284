#include "spirv/analysis/loop_bounds.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "spirv/analysis/induction.h"
#include "spirv/analysis/interface.h"

namespace tally::spirv {
namespace {

using spv::Op;

constexpr size_t kMaxSpine = 64;               // blocks of a loop that are looked at, from each end
constexpr uint32_t kMaxSteps = 256;            // of a loop that is run here
constexpr uint64_t kMaxInvocations = 1 << 16;  // of a workgroup, far beyond what devices have

// A loop goes on while `value` is less than `limit` (direction -1), greater (1), or other (0).
struct Test {
  uint32_t value;  // ids
  uint32_t limit;
  int direction;
  bool or_equal;  // with direction 0: equal, instead of not equal
  bool is_signed = false;
};

// The range of values that a number may have.
struct Range {
  uint32_t low, high;
};

struct Induction {
  uint32_t id;                 // an OpPhi or a variable
  ConstantStep step;           // to the value that is tested next
  bool steps;                  // before the first test
  std::optional<Range> first;  // of the value that is tested first
};

// How often a test lets a loop go on.
struct Passes {
  uint32_t at_most = kUnbounded;
  bool exactly = false;
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

bool holds(const Test& test, uint32_t value, uint32_t limit) {
  const int64_t one = extend(value, test.is_signed), other = extend(limit, test.is_signed);
  if (one == other) return test.or_equal;
  if (test.direction == 0) return !test.or_equal;
  return (one < other) == (test.direction < 0);
}

// Where values are added, and less or more is asked for. `first` is empty if it is not known.
uint32_t passes_of_sums(const Test& test, const Induction& induction, uint32_t limit_value,
                        std::optional<uint32_t> first_value) {
  const bool descends = test.direction > 0;
  int64_t low = test.is_signed ? std::numeric_limits<int32_t>::min() : 0;
  int64_t high = low + std::numeric_limits<uint32_t>::max();
  int64_t step = extend(induction.step.number, true);
  int64_t limit = extend(limit_value, test.is_signed);
  if (descends) {  // the same with negative numbers
    std::swap(low, high);
    for (int64_t* number : {&low, &high, &step, &limit}) *number = -*number;
  }
  if (test.or_equal) ++limit;
  // The next value may wrap around.
  if (step <= 0 || limit - 1 + step > high) return kUnbounded;
  int64_t first = low;
  if (first_value) first = extend(*first_value, test.is_signed) * (descends ? -1 : 1);
  const int64_t result = std::max<int64_t>(0, (limit - first + step - 1) / step);
  return result < kUnbounded ? static_cast<uint32_t>(result) : kUnbounded;
}

Passes passes(const Test& test, const Induction& induction, uint32_t limit) {
  if (test.direction != 0 && induction.step.operation == Op::OpIAdd) {
    const auto from = [&](std::optional<uint32_t> first) {
      return passes_of_sums(test, induction, limit, first);
    };
    if (!induction.first) return {from(std::nullopt)};
    const uint32_t one = from(induction.first->low), other = from(induction.first->high);
    return {std::max(one, other), one == other};
  }
  if (!induction.first || induction.first->low != induction.first->high) return {};
  uint32_t value = induction.first->low;
  for (uint32_t count = 0; count < kMaxSteps; ++count) {
    if (!holds(test, value, limit)) return {count, true};
    value = induction.step.apply(value);
  }
  return {};
}

class FunctionBounds {
 public:
  FunctionBounds(const AnalyzedModule& analyzed, const EntryPoint& entry, uint32_t function)
      : analyzed_(analyzed),
        module_(analyzed.module()),
        workgroup_(workgroup_size(module_, entry)),
        function_(function),
        cfg_(*analyzed.cfg(function)) {}

  std::vector<LoopBound> find() {
    std::vector<std::vector<uint32_t>> successors;
    for (uint32_t block = 0; block < cfg_.blocks().size(); ++block) {
      const auto next = cfg_.successors(block);
      successors.emplace_back(next.begin(), next.end());
    }
    std::vector<LoopBound> bounds;
    std::vector<Loop> loops = find_loops(successors, 0);
    if (!loops.empty()) origins_.emplace(module_, module_.functions()[function_]);
    for (Loop& loop : loops) bounds.push_back(bound_of(std::move(loop)));
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
      if (!stores) stores = stores_in(loop);
      for (const Test& way : {*test, turned_around(*test)}) {
        auto induction = phi_induction(loop, way.value);
        if (!induction) induction = variable_induction(loop, *stores, spine, block, way.value);
        if (induction) add(bound, way, *induction, *stores, block == only_exit ? block : kNone);
      }
    }
    return bound;
  }

  // `exit`: the block of the test, if no other one leaves the loop.
  void add(LoopBound& bound, const Test& test, const Induction& induction,
           const StoresByVariable& stores, uint32_t exit) const {
    // A sum that repeats a value has had all its values, so the test would never leave the loop.
    const bool is_distinct = exit != kNone && induction.step.operation == Op::OpIAdd &&
                             induction.step.number != 0 && !induction.steps &&
                             is_unchanged(bound.loop, stores, test.limit);
    if (is_distinct) bound.distinct = induction.id;
    const auto limit = constant(test.limit);
    if (!limit) return;
    const Passes result = passes(test, induction, *limit);
    if (result.at_most >= kUnbounded - 1) return;
    bound.executions = std::min(bound.executions, result.at_most + 1);
    if (result.exactly && exit != kNone) bound.constant = frame_of(bound.loop, exit);
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

  std::optional<uint32_t> constant(uint32_t id) const { return fixed_int32(module_, id); }

  // The test at the end of the block, if one outcome leaves the loop.
  std::optional<Test> test_at(const Loop& loop, uint32_t block) const {
    const Instruction branch = module_.instruction(cfg_.blocks()[block].end - 1);
    if (branch.opcode() != Op::OpBranchConditional) return std::nullopt;
    const uint32_t next = next_in(loop, block);
    if (next == kNone || cfg_.successors(block).size() != 2) return std::nullopt;
    const auto comparison = module_.definition(branch.operand(0));
    auto test = comparison ? test_of(comparison->opcode()) : std::nullopt;
    if (!test) return std::nullopt;
    test->value = comparison->operand(0);
    test->limit = comparison->operand(1);
    if (cfg_.block_of(branch.operand(1)) != next) {  // goes on where the comparison is false
      test->direction = -test->direction;
      test->or_equal = !test->or_equal;
    }
    return test;
  }

  static Test turned_around(Test test) {
    std::swap(test.value, test.limit);
    test.direction = -test.direction;
    return test;
  }

  // True if `id` has the same value in each iteration.
  bool is_unchanged(const Loop& loop, const StoresByVariable& stores, uint32_t id) const {
    if (constant(id) || (is_fixed(id) && !is_in(loop, id))) return true;
    const uint32_t origin = origins_->of(id);
    if (is_relaxed(module_, id) || !is_fixed(origin)) return false;
    if (!is_in(loop, origin)) return true;
    const auto definition = module_.definition(origin);
    if (definition->opcode() != Op::OpLoad || definition->operand_count() != 1) return false;
    const uint32_t pointer = definition->operand(0);
    if (variables().type_of(pointer) != 0) return !stores.contains(pointer);
    return is_in_constant_memory(pointer);
  }

  // True if every use of `id` has the value that its definition computes.
  bool is_fixed(uint32_t id) const {
    const Op opcode = module_.opcode_of(id);
    return opcode != Op::OpNop && opcode != Op::OpUndef && !is_relaxed(module_, id);
  }

  // True if a block of the loop computes `id`.
  bool is_in(const Loop& loop, uint32_t id) const {
    const uint32_t index = module_.definition_index(id);
    const auto after = std::ranges::upper_bound(cfg_.blocks(), index, {}, &CfgBlock::begin);
    if (after == cfg_.blocks().begin()) return false;
    const auto block = after - 1;
    return index < block->end &&
           contains(loop, static_cast<uint32_t>(block - cfg_.blocks().begin()));
  }

  // `pointer`: to an input or a push constant, or to a member whose index is a constant.
  bool is_in_constant_memory(uint32_t pointer) const {
    const auto variable = module_.definition(origins_->of(pointer));
    if (!variable || variable->opcode() != Op::OpVariable) return false;
    const auto storage = static_cast<spv::StorageClass>(variable->operand(0));
    return storage == spv::StorageClass::PushConstant || storage == spv::StorageClass::Input;
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
    return induction_from(phi->result_id(), first, *step, value == again);
  }

  // `steps`: the first test comes after the first step.
  Induction induction_from(uint32_t id, uint32_t first, const ConstantStep& step,
                           bool steps) const {
    auto range = range_of(first);
    if (range && steps) {
      const bool is_one = range->low == range->high;
      const uint32_t stepped = step.apply(range->low);
      range = is_one ? std::optional(Range{stepped, stepped}) : std::nullopt;
    }
    return {id, step, steps, range};
  }

  // Constants, and numbers of the invocation in its workgroup.
  std::optional<Range> range_of(uint32_t id) const {
    if (const auto value = constant(id)) return Range{*value, *value};
    if (!workgroup_ || is_relaxed(module_, id)) return std::nullopt;
    const uint32_t origin = origins_->of(id);
    if (const auto value = constant(origin)) return Range{*value, *value};
    const auto definition = module_.definition(origin);
    if (!definition || is_relaxed(module_, origin)) return std::nullopt;
    switch (definition->opcode()) {
      case Op::OpCompositeExtract: {
        const auto vector = module_.definition(definition->operand(0));
        const bool is_loaded = vector && vector->opcode() == Op::OpLoad;
        return is_loaded ? range_of_input(vector->operand(0), definition->operand(1))
                         : std::nullopt;
      }
      case Op::OpLoad: {
        const auto member = module_.definition(definition->operand(0));
        if (!member || member->opcode() != Op::OpAccessChain)
          return range_of_input(definition->operand(0), std::nullopt);
        if (member->operand_count() != 2) return std::nullopt;
        const auto component = constant(member->operand(1));
        return component ? range_of_input(member->operand(0), component) : std::nullopt;
      }
      default:
        return std::nullopt;
    }
  }

  std::optional<Range> range_of_input(uint32_t variable, std::optional<uint32_t> component) const {
    const auto built_in = module_.decoration(variable, spv::Decoration::BuiltIn);
    if (!built_in) return std::nullopt;
    const WorkgroupSize& size = *workgroup_;
    const auto which = static_cast<spv::BuiltIn>(*built_in);
    uint64_t count = 0;
    if (which == spv::BuiltIn::LocalInvocationIndex && !component) {
      count = uint64_t{size[0]} * size[1] * size[2];
    } else if (which == spv::BuiltIn::LocalInvocationId && component && *component < size.size()) {
      count = size[*component];
    }
    if (count == 0 || count > kMaxInvocations) return std::nullopt;
    return Range{0, static_cast<uint32_t>(count - 1)};
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
    return induction_from(variable, first, *step, steps);
  }

  const AnalyzedModule& analyzed_;
  const Module& module_;
  std::optional<WorkgroupSize> workgroup_;
  uint32_t function_;
  const Cfg& cfg_;
  std::optional<Origins> origins_;  // if the function has loops
};

}  // namespace

std::vector<LoopBound> find_loop_bounds(const AnalyzedModule& analyzed, const EntryPoint& entry,
                                        uint32_t function) {
  return FunctionBounds(analyzed, entry, function).find();
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

namespace {

// Longer loops are not taken to be unrolled.
constexpr uint32_t kMaxTrips = 32, kMaxUnrolledInstructions = 2048;

bool is_short(const LoopBound& bound, const Cfg& cfg) {
  if (!bound.constant || bound.distinct == 0 || bound.executions > kMaxTrips) return false;
  uint32_t instructions = 0;
  for (const uint32_t b : bound.loop.vertices)
    instructions += cfg.blocks()[b].end - cfg.blocks()[b].begin;
  return instructions * bound.executions <= kMaxUnrolledInstructions;
}

// The counter, or its values where the loop loads them.
void add_values_of_counter(const Module& module, const Cfg& cfg, const LoopBound& bound,
                           std::unordered_set<uint32_t>& ids) {
  if (module.opcode_of(bound.distinct) != Op::OpVariable) ids.insert(bound.distinct);
  for (const uint32_t b : bound.loop.vertices) {
    const CfgBlock& block = cfg.blocks()[b];
    for (uint32_t i = block.begin; i < block.end; ++i) {
      const Instruction load = module.instruction(i);
      if (load.opcode() == Op::OpLoad && load.operand(0) == bound.distinct)
        ids.insert(load.result_id());
    }
  }
}

}  // namespace

GpuCompiler gpu_compiler(const Module& module, spv::ExecutionModel stage,
                         std::string_view entry_point) {
  GpuCompiler gpu;
  const AnalyzedModule analyzed(module);
  const EntryPoint* const entry = analyzed.module().find_entry_point(stage, entry_point);
  if (entry == nullptr) return gpu;
  for (const uint32_t function : module.reachable_functions(entry->function_id)) {
    const auto& cfg = analyzed.cfg(function);
    if (!cfg) continue;
    for (const LoopBound& bound : find_loop_bounds(analyzed, *entry, function)) {
      if (is_short(bound, *cfg)) add_values_of_counter(module, *cfg, bound, gpu.counters);
    }
  }
  return gpu;
}

}  // namespace tally::spirv
