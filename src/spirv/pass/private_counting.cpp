// Counting::Private: an invocation counts in variables of its own, which drivers keep in registers,
// and adds them to memory once, before it ends. Where the stage has subgroup operations the lanes
// that end together add up first, and one of them writes.
//
// - The entry point's first segment needs no variable: it runs once in each invocation.
// - A segment that runs at most once is one bit of a word of 32; the lanes' bits are added by a
// ballot.
// - All others are 32-bit variables. Where one has come to 2^25 the sum of up to 128 lanes might
// not
//   fit into 32 bits, and each lane adds on its own.
#include "spirv/pass/counting.h"

namespace tally::spirv {
namespace {

using spv::Op;
using spv::StorageClass;

constexpr uint32_t kSumLimitLog2 = 25;
constexpr uint32_t kFlagsPerWord = 32;

class PrivateCounting : public CounterCode {
 public:
  PrivateCounting(CountingTools tools, std::span<const Counter> counters)
      : tools_(tools),
        u32_(editor().type_int(32)),
        boolean_(editor().type_bool()),
        zero_(editor().constant_u32(0)),
        flush_(editor().new_id()) {
    for (const Counter& counter : counters) add_slot(counter);
  }

  void count(Code& code, uint32_t counter) override {
    const Slot& slot = slots_[counter];
    if (slot.kind == Slot::Kind::EveryInvocation) return;
    const uint32_t variable = variables_[slot.variable];
    const uint32_t old = code.load(u32_, variable);
    uint32_t value = 0;
    if (slot.kind == Slot::Kind::Flag) {
      const uint32_t bit = editor().constant_u32(1u << slot.bit);
      value = code.emit(Op::OpBitwiseOr, u32_, {old, bit});
    } else {
      const uint32_t one = editor().constant_u32(1);
      value = code.emit(Op::OpIAdd, u32_, {old, slot.of_subgroups ? is_first(code) : one});
    }
    code.store(variable, value);
  }

  void leave(Code& code, WayOut::Kind kind) override {
    code.call(editor().type_void(), flush_);
    if (kind != WayOut::Kind::MayEnd) return;
    // The invocation may go on, and flush again.
    for (const uint32_t variable : variables_) code.store(variable, zero_);
  }

  void finish() override {
    const uint32_t none = editor().type_void();
    editor().name(flush_, "tally.flush");
    Code code = editor().new_code();
    code.emit_as(flush_, Op::OpFunction, none,
                 std::vector<uint32_t>{0, editor().type_function(none)});
    code.label(code.new_id());
    const uint32_t address = tools_.record.load_address_word(code);
    code.if_then(tools_.record.is_set(code, address), [&] { emit_flush(code, address); });
    code.emit(Op::OpReturn);
    code.emit(Op::OpFunctionEnd);
    editor().append_function(code);
    if (first_lane_ != 0) make_first_lane_function();
  }

 private:
  struct Slot {
    enum class Kind { EveryInvocation, Flag, Number };
    Kind kind = Kind::Number;
    bool of_subgroups = false;
    size_t variable = 0;  // index into variables_
    uint32_t bit = 0;     // of a flag
  };
  // What the lanes of a subgroup know of each other when they flush.
  struct Lanes {
    uint32_t live = 0;    // 0: all
    uint32_t ballot = 0;  // of the live ones; 0: no subgroup operations
    uint32_t is_first = 0;
    uint32_t alone = 0;   // each lane adds on its own; 0: never
    uint32_t writes = 0;  // the lane writes; 0: always
  };

  Editor& editor() const { return tools_.context.editor; }

  void add_slot(const Counter& counter) {
    const SegmentGraph& graph = tools_.context.graph;
    const bool of_subgroups = counter.what == Counter::What::Subgroups;
    Slot slot;
    slot.of_subgroups = of_subgroups;
    if (counter.segment == graph.entry_segment && !of_subgroups && !may_flush_twice()) {
      slot.kind = Slot::Kind::EveryInvocation;
    } else if (graph.segments[counter.segment].once && !of_subgroups) {
      slot.kind = Slot::Kind::Flag;
      slot.bit = flags_++ % kFlagsPerWord;
      if (slot.bit == 0) flag_word_ = new_variable();
      slot.variable = flag_word_;
    } else {
      slot.variable = new_variable();
    }
    slots_.push_back(slot);
  }

  bool may_flush_twice() const {
    for (const WayOut& way : tools_.context.graph.ways_out) {
      if (way.kind == WayOut::Kind::MayEnd) return true;
    }
    return false;
  }

  size_t new_variable() {
    const uint32_t variable = editor().new_global_variable(
        editor().type_pointer(StorageClass::Private, u32_), StorageClass::Private, zero_);
    editor().add_to_interface(tools_.context.entry, variable);
    variables_.push_back(variable);
    return variables_.size() - 1;
  }

  SubgroupCode subgroup() const { return SubgroupCode(editor()); }

  // 1 in the lowest counting lane of the subgroup, 0 in the others.
  uint32_t is_first(Code& code) {
    if (first_lane_ == 0) first_lane_ = editor().new_id();
    return code.call(u32_, first_lane_);
  }

  void make_first_lane_function() {
    editor().name(first_lane_, "tally.is_first_lane");
    Code code = editor().new_code();
    code.emit_as(first_lane_, Op::OpFunction, u32_,
                 std::vector<uint32_t>{0, editor().type_function(u32_)});
    code.label(code.new_id());
    const uint32_t live = tools_.liveness.is_live(code);
    SubgroupCode lanes = subgroup();
    const uint32_t first = lanes.is_lowest(code, lanes.ballot(code, live), live);
    const uint32_t result = code.emit(Op::OpSelect, u32_, {first, editor().constant_u32(1), zero_});
    code.emit(Op::OpReturnValue, {result});
    code.emit(Op::OpFunctionEnd);
    editor().append_function(code);
  }

  uint32_t select(Code& code, uint32_t condition, uint32_t yes, uint32_t no) {
    return code.emit(Op::OpSelect, u32_, {condition, yes, no});
  }

  void emit_flush(Code& code, uint32_t address) {
    // Loaded once; helpers have counted nothing.
    Lanes lanes;
    lanes.live = tools_.liveness.is_live(code);
    std::vector<uint32_t> values;
    for (const uint32_t variable : variables_) {
      const uint32_t value = code.load(u32_, variable);
      values.push_back(lanes.live == 0 ? value : select(code, lanes.live, value, zero_));
    }
    lanes.writes = lanes.live;
    if (tools_.context.use_subgroups) find_writer(code, lanes, values);
    const uint32_t shard = tools_.record.shard_address(code, address);
    for (uint32_t counter = 0; counter < slots_.size(); ++counter) {
      uint32_t sum = emit_sum(code, lanes, slots_[counter], values);
      if (lanes.writes != 0) sum = select(code, lanes.writes, sum, zero_);
      tools_.record.add(code, shard, editor().constant_u32(counter), sum);
    }
  }

  void find_writer(Code& code, Lanes& lanes, const std::vector<uint32_t>& values) {
    SubgroupCode operations = subgroup();
    lanes.ballot = operations.ballot(code, lanes.live);
    lanes.is_first = operations.is_lowest(code, lanes.ballot, lanes.live);
    lanes.writes = lanes.is_first;
    lanes.alone = emit_too_large(code, values);
    if (lanes.alone == 0) return;
    const uint32_t alone_and_live =
        lanes.live == 0 ? lanes.alone
                        : code.emit(Op::OpLogicalAnd, boolean_, {lanes.alone, lanes.live});
    lanes.writes = code.emit(Op::OpLogicalOr, boolean_, {lanes.is_first, alone_and_live});
  }

  // Whether some number of some lane is so large that sums might overflow; 0 if there are no
  // numbers.
  uint32_t emit_too_large(Code& code, const std::vector<uint32_t>& values) {
    uint32_t all = 0;
    for (const Slot& slot : slots_) {
      if (slot.kind != Slot::Kind::Number) continue;
      const uint32_t value = values[slot.variable];
      all = all == 0 ? value : code.emit(Op::OpBitwiseOr, u32_, {all, value});
    }
    if (all == 0) return 0;
    const uint32_t limit = editor().constant_u32(1u << kSumLimitLog2);
    return subgroup().any(code, code.emit(Op::OpUGreaterThanEqual, boolean_, {all, limit}));
  }

  // What the writing lane adds.
  uint32_t emit_sum(Code& code, const Lanes& lanes, const Slot& slot,
                    const std::vector<uint32_t>& values) {
    if (lanes.ballot == 0) return emit_own(code, slot, values);
    SubgroupCode operations = subgroup();
    uint32_t sum = 0;
    switch (slot.kind) {
      case Slot::Kind::EveryInvocation:
        sum = operations.bit_count(code, lanes.ballot);
        break;
      case Slot::Kind::Flag:
        sum = operations.bit_count(code, operations.ballot(code, emit_flag(code, slot, values)));
        break;
      case Slot::Kind::Number:
        sum = operations.sum(code, values[slot.variable]);
        break;
    }
    return lanes.alone == 0 ? sum : select(code, lanes.alone, emit_own(code, slot, values), sum);
  }

  uint32_t emit_flag(Code& code, const Slot& slot, const std::vector<uint32_t>& values) {
    const uint32_t bit = code.emit(Op::OpBitwiseAnd, u32_,
                                   {values[slot.variable], editor().constant_u32(1u << slot.bit)});
    return code.emit(Op::OpINotEqual, boolean_, {bit, zero_});
  }

  // What the lane itself has counted.
  uint32_t emit_own(Code& code, const Slot& slot, const std::vector<uint32_t>& values) {
    const uint32_t one = editor().constant_u32(1);
    switch (slot.kind) {
      case Slot::Kind::EveryInvocation:
        return one;
      case Slot::Kind::Flag:
        return select(code, emit_flag(code, slot, values), one, zero_);
      case Slot::Kind::Number:
        return values[slot.variable];
    }
    return zero_;
  }

  CountingTools tools_;
  uint32_t u32_, boolean_, zero_;
  uint32_t flush_;
  uint32_t first_lane_ = 0;          // the function, if it is needed
  std::vector<Slot> slots_;          // by counter
  std::vector<uint32_t> variables_;  // all
  uint32_t flags_ = 0;
  size_t flag_word_ = 0;  // index into variables_
};

}  // namespace

std::unique_ptr<CounterCode> make_private_counting(CountingTools tools,
                                                   std::span<const Counter> counters) {
  return std::make_unique<PrivateCounting>(tools, counters);
}

}  // namespace tally::spirv
