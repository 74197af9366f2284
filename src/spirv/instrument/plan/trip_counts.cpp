#include "spirv/instrument/plan/trip_counts.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace tally::spirv {
namespace {

using spv::Op;

constexpr size_t kMaxBlocks = 256;  // larger loops are skipped

// x such that odd * x is 1 modulo 2^32, by Newton's iteration: each step doubles the correct bits.
uint32_t inverse_of(uint32_t odd) {
  uint32_t x = odd;
  for (int i = 0; i < 4; ++i) x *= 2 - odd * x;
  return x;
}

class FunctionTrips {
 public:
  FunctionTrips(const Module& module, const SegmentGraph& graph, const Function& function,
                const Cfg& cfg)
      : module_(module), graph_(graph), function_(function), cfg_(cfg) {}

  // `segments` are those of the function.
  void find(std::span<const CfgSegment> segments, uint32_t first_segment,
            std::vector<TripCount>& trips) {
    if (!has_loops()) return;
    map_blocks(segments, first_segment);
    find_variables();
    for (uint32_t block = 0; block < cfg_.blocks().size(); ++block) {
      if (cfg_.blocks()[block].merge != MergeKind::Loop || !runs(block)) continue;
      if (const auto loop = find_loop(block)) look_at(*loop, trips);
    }
  }

 private:
  struct Loop {
    uint32_t header, before, behind;  // blocks
    std::vector<uint32_t> blocks;
  };
  struct Store {
    uint32_t instruction, variable, value;
  };
  struct Block {
    uint32_t segment = kNone;  // the first of the block
    bool cut = false;          // the block has several segments
    std::vector<Store> stores;
  };
  struct Step {
    uint32_t from;  // id of the other summand
    uint32_t inverse;
  };

  bool has_loops() const {
    for (uint32_t i = function_.begin; i < function_.end; ++i) {
      if (module_.instruction(i).opcode() == Op::OpLoopMerge) return true;
    }
    return false;
  }

  void map_blocks(std::span<const CfgSegment> segments, uint32_t first_segment) {
    first_segment_ = first_segment;
    told_.assign(segments.size(), false);
    blocks_.resize(cfg_.blocks().size());
    found_in_.assign(cfg_.blocks().size(), kNone);
    for (uint32_t s = 0; s < segments.size(); ++s) {
      Block& block = blocks_[segments[s].block - segments[0].block];
      if (segments[s].begins_block) {
        block.segment = first_segment + s;
      } else {
        block.cut = true;
      }
    }
  }

  bool runs(uint32_t block) const { return graph_.segments[blocks_[block].segment].runs; }
  uint32_t insert_at(uint32_t block) const {
    return graph_.segments[blocks_[block].segment].insert_at;
  }

  // --- variables used only by loads and stores

  bool is_number(uint32_t type) const {
    const auto definition = module_.definition(type);
    return definition && definition->opcode() == Op::OpTypeInt && definition->operand(0) == 32;
  }
  bool is_relaxed(uint32_t id) const {
    return module_.decoration(id, spv::Decoration::RelaxedPrecision).has_value();
  }

  void add_variable(const Instruction& instruction) {
    const auto pointer = module_.definition(instruction.type_id());
    if (!pointer || !is_number(pointer->operand(1)) || is_relaxed(instruction.result_id())) return;
    variables_.emplace(instruction.result_id(), pointer->operand(1));
  }

  void find_variables() {
    for (uint32_t i = function_.begin; i < function_.end; ++i) {
      const Instruction instruction = module_.instruction(i);
      if (instruction.opcode() == Op::OpVariable) {
        add_variable(instruction);
      } else {
        look_for_other_uses(instruction);
      }
    }
    for (uint32_t b = 0; b < blocks_.size(); ++b) {
      for (uint32_t i = cfg_.blocks()[b].begin; i < cfg_.blocks()[b].end; ++i) {
        const Instruction store = module_.instruction(i);
        if (store.opcode() != Op::OpStore || !variables_.contains(store.operand(0))) continue;
        blocks_[b].stores.push_back({i, store.operand(0), store.operand(1)});
      }
    }
  }

  // A literal may look like an id. Then one variable fewer is found.
  void look_for_other_uses(const Instruction& instruction) {
    const auto operands = instruction.operands();
    if (instruction.opcode() == Op::OpExtInst &&
        is_debug_information(module_.ext_inst_set(operands[0]))) {
      return;
    }
    size_t pointers = 0;
    if (instruction.opcode() == Op::OpLoad && operands.size() == 1) pointers = 1;
    if (instruction.opcode() == Op::OpStore && operands.size() == 2) pointers = 1;
    for (const uint32_t operand : operands.subspan(std::min(pointers, operands.size()))) {
      variables_.erase(operand);
    }
  }

  // --- loops

  // A loop with a single preheader and a single block after it, in which no invocation ends.
  std::optional<Loop> find_loop(uint32_t header) {
    Loop loop{header, kNone, cfg_.blocks()[header].merge_block, {header}};
    found_in_[header] = header;
    if (loop.behind == kNone || loop.behind == header || !runs(loop.behind)) return std::nullopt;
    for (size_t next = 0; next < loop.blocks.size(); ++next) {
      const uint32_t block = loop.blocks[next];
      const auto successors = cfg_.successors(block);
      if (successors.empty() || blocks_[block].cut) return std::nullopt;
      for (const uint32_t successor : successors) {
        if (successor == loop.behind || contains(loop, successor)) continue;
        if (loop.blocks.size() == kMaxBlocks) return std::nullopt;
        loop.blocks.push_back(successor);
        found_in_[successor] = header;
      }
    }
    return is_closed(loop) ? std::optional(loop) : std::nullopt;
  }

  // In the current loop.
  bool contains(const Loop& loop, uint32_t block) const { return found_in_[block] == loop.header; }

  bool is_closed(Loop& loop) const {
    for (const uint32_t block : loop.blocks) {
      for (const uint32_t from : cfg_.predecessors(block)) {
        if (!cfg_.blocks()[from].reachable || contains(loop, from)) continue;
        if (block != loop.header || loop.before != kNone) return false;
        loop.before = from;
      }
    }
    return loop.before != kNone &&
           std::ranges::all_of(cfg_.predecessors(loop.behind), [&](uint32_t from) {
             return !cfg_.blocks()[from].reachable || contains(loop, from);
           });
  }

  // --- steps

  bool is_constant(uint32_t id) const {
    const Op opcode = module_.opcode_of(id);
    return opcode == Op::OpConstant || opcode == Op::OpConstantNull || opcode == Op::OpSpecConstant;
  }

  std::optional<uint32_t> odd_constant(uint32_t id) const {
    if (module_.opcode_of(id) != Op::OpConstant) return std::nullopt;
    const auto value = module_.constant_value(id);
    return value && (*value & 1) ? std::optional(static_cast<uint32_t>(*value)) : std::nullopt;
  }

  // The summands of `id` if one is an odd constant.
  std::optional<Step> step_to(uint32_t id) const {
    const auto sum = module_.definition(id);
    if (!sum || !is_number(sum->type_id()) || is_relaxed(id)) return std::nullopt;
    const bool adds = sum->opcode() == Op::OpIAdd;
    if (!adds && sum->opcode() != Op::OpISub) return std::nullopt;
    if (const auto step = odd_constant(sum->operand(1))) {
      return Step{sum->operand(0), inverse_of(adds ? *step : 0 - *step)};
    }
    if (!adds) return std::nullopt;
    const auto step = odd_constant(sum->operand(0));
    return step ? std::optional(Step{sum->operand(1), inverse_of(*step)}) : std::nullopt;
  }

  void look_at(const Loop& loop, std::vector<TripCount>& trips) {
    std::unordered_map<uint32_t, uint32_t> stores;
    for (const uint32_t block : loop.blocks) {
      for (const Store& store : blocks_[block].stores) ++stores[store.variable];
    }
    for (const uint32_t block : loop.blocks) {
      for (const Store& store : blocks_[block].stores) {
        if (stores[store.variable] == 1) look_at_store(loop, block, store, trips);
      }
    }
    const BlockRange& range = module_.blocks_of(function_)[loop.header];
    for (uint32_t i = range.begin + 1; i < range.end; ++i) {
      const Instruction instruction = module_.instruction(i);
      if (instruction.opcode() != Op::OpPhi) break;
      look_at_phi(loop, instruction, trips);
    }
  }

  void add(const Loop& loop, TripCount trip, std::vector<TripCount>& trips) {
    auto told = told_[trip.segment - first_segment_];
    if (told) return;
    told = true;
    trip.behind = blocks_[loop.behind].segment;
    trip.insert_at = insert_at(loop.behind);
    trips.push_back(trip);
  }

  void look_at_store(const Loop& loop, uint32_t block, const Store& store,
                     std::vector<TripCount>& trips) {
    const auto step = step_to(store.value);
    if (!step || !is_loaded_before(cfg_.blocks()[block], store, step->from)) return;
    const auto first = value_before(loop, store.variable);
    if (!first) return;
    add(loop,
        {.segment = blocks_[block].segment,
         .value = store.variable,
         .type = variables_.at(store.variable),
         .in_memory = true,
         .first = *first,
         .inverse = step->inverse},
        trips);
  }

  // Whether `id` is the variable's value in this execution of the block before the store.
  bool is_loaded_before(const CfgBlock& block, const Store& store, uint32_t id) const {
    const uint32_t index = module_.definition_index(id);
    if (index <= block.begin || index >= store.instruction || is_relaxed(id)) return false;
    const Instruction load = module_.instruction(index);
    return load.opcode() == Op::OpLoad && load.operand(0) == store.variable;
  }

  // The constant that the variable holds on entry to the loop.
  std::optional<uint32_t> value_before(const Loop& loop, uint32_t variable) const {
    std::optional<uint32_t> value;
    for (const Store& store : blocks_[loop.before].stores) {
      if (store.variable == variable) value = store.value;
    }
    return value && is_constant(*value) ? value : std::nullopt;
  }

  void look_at_phi(const Loop& loop, const Instruction& phi, std::vector<TripCount>& trips) {
    if (phi.operand_count() != 4 || !is_number(phi.type_id()) || is_relaxed(phi.result_id())) {
      return;
    }
    const bool swapped = cfg_.block_of(phi.operand(1)) != loop.before;
    const uint32_t first = phi.operand(swapped ? 2 : 0);
    const uint32_t first_from = phi.operand(swapped ? 3 : 1);
    const uint32_t again = phi.operand(swapped ? 0 : 2);
    const auto step = step_to(again);
    if (cfg_.block_of(first_from) != loop.before || !is_constant(first)) return;
    if (!step || step->from != phi.result_id()) return;
    add(loop,
        {.segment = blocks_[loop.header].segment,
         .value = phi.result_id(),
         .type = phi.type_id(),
         .in_memory = false,
         .first = first,
         .inverse = step->inverse},
        trips);
  }

  const Module& module_;
  const SegmentGraph& graph_;
  const Function& function_;
  const Cfg& cfg_;
  uint32_t first_segment_ = 0;
  std::vector<bool> told_;  // by segment of the function
  std::vector<Block> blocks_;
  std::vector<uint32_t> found_in_;                    // by block: header of the last loop with it
  std::unordered_map<uint32_t, uint32_t> variables_;  // to types
};

}  // namespace

std::vector<TripCount> find_trip_counts(const AnalyzedModule& analyzed, const SegmentGraph& graph) {
  std::vector<TripCount> trips;
  const std::span<const CfgSegment> all = graph.segments;
  for (uint32_t begin = 0; begin < all.size();) {
    uint32_t end = begin;
    while (end < all.size() && all[end].function == all[begin].function) ++end;
    const uint32_t function = all[begin].function;
    if (const Result<Cfg>& cfg = analyzed.cfg(function)) {
      const Module& module = analyzed.module();
      FunctionTrips(module, graph, module.functions()[function], *cfg)
          .find(all.subspan(begin, end - begin), begin, trips);
    }
    begin = end;
  }
  return trips;
}

}  // namespace tally::spirv
