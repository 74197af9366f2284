#include "spirv/plan/trip_counts.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>

#include "spirv/analysis/induction.h"

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
  // The function must have a Cfg.
  FunctionTrips(const AnalyzedModule& analyzed, const SegmentGraph& graph, uint32_t function)
      : module_(analyzed.module()),
        graph_(graph),
        function_(module_.functions()[function]),
        cfg_(*analyzed.cfg(function)),
        variables_(analyzed.integer_variables(function)) {}

  // `segments` are those of the function.
  void find(std::span<const CfgSegment> segments, uint32_t first_segment,
            std::vector<TripCount>& trips) {
    map_blocks(segments, first_segment);
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
  struct Block {
    uint32_t segment = kNone;  // the first of the block
    bool cut = false;          // the block has several segments
  };
  struct Step {
    uint32_t from;  // id of the other summand
    bool descends;
    uint32_t shift, inverse;
  };

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

  // True if `id` has the same value wherever it is used.
  bool is_fixed(uint32_t id) const {
    return id != 0 && is_int32(module_, module_.type_of(id)) && !is_relaxed(module_, id) &&
           module_.opcode_of(id) != Op::OpUndef;
  }

  // The summands of `id` if one is a constant.
  std::optional<Step> step_to(uint32_t id) const {
    const auto sum = constant_step(module_, id);
    if (!sum || sum->operation != Op::OpIAdd || sum->number == 0) return std::nullopt;
    const bool descends = static_cast<int32_t>(sum->number) < 0;
    const uint32_t number = descends ? 0 - sum->number : sum->number;
    const auto shift = static_cast<uint32_t>(std::countr_zero(number));
    return Step{sum->from, descends, shift, inverse_of(number >> shift)};
  }

  void look_at(const Loop& loop, std::vector<TripCount>& trips) {
    std::unordered_map<uint32_t, uint32_t> stores;
    for (const uint32_t block : loop.blocks) {
      for (const VariableStore& store : variables_.stores(block)) ++stores[store.variable];
    }
    for (const uint32_t block : loop.blocks) {
      for (const VariableStore& store : variables_.stores(block)) {
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

  bool is_distinct(const Loop& loop, uint32_t value) const {
    const auto found = graph_.distinct.find(blocks_[loop.header].segment);
    return found != graph_.distinct.end() && found->second == value;
  }

  void add(const Loop& loop, TripCount trip, std::vector<TripCount>& trips) {
    if (trip.shift != 0 && !is_distinct(loop, trip.value)) return;
    auto told = told_[trip.segment - first_segment_];
    if (told) return;
    told = true;
    trip.behind = blocks_[loop.behind].segment;
    trip.insert_at = insert_at(loop.behind);
    trips.push_back(trip);
  }

  void look_at_store(const Loop& loop, uint32_t block, const VariableStore& store,
                     std::vector<TripCount>& trips) {
    const auto step = step_to(store.value);
    if (!step || !is_loaded_before(cfg_.blocks()[block], store, step->from)) return;
    const uint32_t first = variables_.last_value(store.variable, loop.before);
    if (!is_fixed(first)) return;
    add(loop,
        {.segment = blocks_[block].segment,
         .value = store.variable,
         .type = variables_.type_of(store.variable),
         .in_memory = true,
         .first = first,
         .descends = step->descends,
         .shift = step->shift,
         .inverse = step->inverse},
        trips);
  }

  // True if `id` is the variable's value in this execution of the block before the store.
  bool is_loaded_before(const CfgBlock& block, const VariableStore& store, uint32_t id) const {
    return variables_.loaded_from(module_, id, block) == store.variable &&
           module_.definition_index(id) < store.instruction;
  }

  void look_at_phi(const Loop& loop, const Instruction& phi, std::vector<TripCount>& trips) {
    if (phi.operand_count() != 4 || !is_int32(module_, phi.type_id()) ||
        is_relaxed(module_, phi.result_id())) {
      return;
    }
    const bool swapped = cfg_.block_of(phi.operand(1)) != loop.before;
    const uint32_t first = phi.operand(swapped ? 2 : 0);
    const uint32_t first_from = phi.operand(swapped ? 3 : 1);
    const uint32_t again = phi.operand(swapped ? 0 : 2);
    const auto step = step_to(again);
    if (cfg_.block_of(first_from) != loop.before || !is_fixed(first)) return;
    if (!step || step->from != phi.result_id()) return;
    add(loop,
        {.segment = blocks_[loop.header].segment,
         .value = phi.result_id(),
         .type = phi.type_id(),
         .in_memory = false,
         .first = first,
         .descends = step->descends,
         .shift = step->shift,
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
  std::vector<uint32_t> found_in_;  // by block: header of the last loop with it
  const IntegerVariables& variables_;
};

bool has_loops(const Cfg& cfg) {
  return std::ranges::count(cfg.blocks(), MergeKind::Loop, &CfgBlock::merge) != 0;
}

}  // namespace

std::vector<TripCount> find_trip_counts(const AnalyzedModule& analyzed, const SegmentGraph& graph) {
  std::vector<TripCount> trips;
  const std::span<const CfgSegment> all = graph.segments;
  for (uint32_t begin = 0; begin < all.size();) {
    uint32_t end = begin;
    while (end < all.size() && all[end].function == all[begin].function) ++end;
    const uint32_t function = all[begin].function;
    if (const Result<Cfg>& cfg = analyzed.cfg(function); cfg && has_loops(*cfg)) {
      FunctionTrips(analyzed, graph, function).find(all.subspan(begin, end - begin), begin, trips);
    }
    begin = end;
  }
  return trips;
}

}  // namespace tally::spirv
