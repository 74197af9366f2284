// Counting::Private: an invocation counts in private variables, which drivers keep in registers,
// and adds them to memory once, before it ends (flush_code.h).
//
// - The first segment of the entry point needs no variable: each invocation executes it once.
// - A segment that is executed at most once needs one bit of a 32-bit variable.
// - Every other counter is a 32-bit variable. The increment is in a further variable whose value
// the
//   compiler cannot know: NVIDIA's compiler turns a conditional addition of the constant 1 into
//   three instructions (add, select, move), and of an unknown value into two.
#include <algorithm>
#include <optional>

#include "spirv/instrument/output_counting.h"
#include "spirv/instrument/small_flush.h"

namespace tally::spirv {
namespace {

using spv::Op;
using spv::StorageClass;

constexpr uint32_t kFlagsPerWord = 32;
// Total number of stores that clear the variables at all exits. If there would be more, a function
// clears them.
constexpr size_t kMaxStores = 4096;

class PrivateCounting : public CounterCode {
 public:
  PrivateCounting(CountingTools tools, std::span<const Counter> counters)
      : tools_(tools),
        u32_(editor().type_int(32)),
        zero_(editor().constant_u32(0)),
        flush_(editor().new_id()),
        flushes_in_between_(static_cast<size_t>(
            std::ranges::count(tools.context.graph.exits, Exit::Kind::MayEnd, &Exit::kind))) {
    for (const Counter& counter : counters) {
      counters_.push_back(counter);
      add_slot(counter);
    }
  }

  void begin(InstructionBuilder& code) override {
    if (one_ != 0) code.store(one_, tools_.record.opaque_one(code));
  }

  void count(InstructionBuilder& code, uint32_t counter) override {
    const PrivateSlot& slot = slots_[counter];
    if (slot.kind == PrivateSlot::Kind::EveryInvocation ||
        slot.kind == PrivateSlot::Kind::EverySubgroup) {
      return;
    }
    if (counters_[counter].what == Counter::What::Outputs) {
      if (counter == first_output_) outputs_->begin(code);
      return;
    }
    const uint32_t variable = variables_[slot.variable];
    const uint32_t old = code.load(u32_, variable);
    uint32_t value = 0;
    if (slot.kind == PrivateSlot::Kind::Flag) {
      value = code.emit(Op::OpBitwiseOr, u32_, {old, flag(code, counters_[counter], slot.bit)});
    } else {
      value = code.emit(Op::OpIAdd, u32_, {old, executions(code, counters_[counter])});
    }
    code.store(variable, value);
  }

  void leave(InstructionBuilder& code, const Exit& exit) override {
    if (outputs_) outputs_->leave(code, exit);
    if (slots_.empty()) return;
    code.call(editor().type_void(), flush_);
    if (exit.kind != Exit::Kind::MayEnd) return;
    // The invocation may continue and flush again.
    if (variables_.size() * flushes_in_between_ <= kMaxStores) {
      clear_variables(code);
    } else {
      if (clear_ == 0) clear_ = editor().new_id();
      code.call(editor().type_void(), clear_);
    }
  }

  void finish() override {
    if (outputs_) outputs_->insert();
    if (slots_.empty()) return;
    const uint32_t none = editor().type_void();
    editor().name(flush_, "tally.flush");
    InstructionBuilder code = editor().new_code();
    code.emit_as(flush_, Op::OpFunction, none,
                 std::vector<uint32_t>{0, editor().type_function(none)});
    if (tools_.context.options.driver.prefers_small_code && !tools_.record.may_be_mixed() &&
        slots_.size() <= kFewCounters) {
      emit_small_flush(code, tools_, slots_, variables_);
    } else {
      FlushCode(tools_, slots_, variables_).emit(code);
    }
    code.emit(Op::OpFunctionEnd);
    tools_.context.add_function(code);
    if (first_lane_ != 0) make_first_lane_function();
    if (clear_ != 0) make_clear_function();
  }

 private:
  Editor& editor() const { return tools_.context.editor; }

  void add_slot(const Counter& counter) {
    const SegmentGraph& graph = tools_.context.graph;
    const bool of_outputs = counter.what == Counter::What::Outputs;
    const bool of_subgroups = counter.what == Counter::What::Subgroups;
    const bool of_branch = counter.what == Counter::What::Branch;
    const bool always = counter.segment == graph.entry_segment && !of_outputs && !of_branch;
    PrivateSlot slot;
    if (always && !of_subgroups && !may_flush_twice()) {
      slot.kind = PrivateSlot::Kind::EveryInvocation;
    } else if (always && of_subgroups && ends_as_it_begins()) {
      slot.kind = PrivateSlot::Kind::EverySubgroup;
    } else if (graph.segments[counter.segment].once && !of_outputs) {
      slot.kind = PrivateSlot::Kind::Flag;
      slot.bit = flags_++ % kFlagsPerWord;
      if (slot.bit == 0) flag_word_ = new_counter();
      slot.variable = flag_word_;
    } else {
      slot.variable = new_counter();
      if ((counter.what == Counter::What::Executions || of_branch) && !counter.trip && one_ == 0) {
        one_ = new_private_variable();
      }
    }
    if (counter.what == Counter::What::Outputs) {
      if (!outputs_) {
        outputs_.emplace(tools_);
        first_output_ = slots_.size();
      }
      outputs_->add_stream(counter.stream, variables_[slot.variable]);
    }
    slots_.push_back(slot);
  }

  bool may_flush_twice() const { return flushes_in_between_ != 0; }

  // Whether the lanes that end together also began together.
  bool ends_as_it_begins() const {
    const SegmentGraph& graph = tools_.context.graph;
    return !tools_.context.stage.repacks && graph.segments.size() == 1 && graph.exits.size() == 1 &&
           !may_flush_twice();
  }

  uint32_t new_private_variable() {
    const uint32_t variable = editor().new_global_variable(
        editor().type_pointer(StorageClass::Private, u32_), StorageClass::Private, zero_);
    editor().add_to_interface(tools_.context.entry, variable);
    return variable;
  }

  size_t new_counter() {
    variables_.push_back(new_private_variable());
    return variables_.size() - 1;
  }

  // The bit, or 0 if the lane must not set it.
  uint32_t flag(InstructionBuilder& code, const Counter& counter, uint32_t bit) {
    if (counter.edge) return if_taken(code, *counter.edge, editor().constant_u32(1u << bit));
    if (counter.what != Counter::What::Subgroups) return editor().constant_u32(1u << bit);
    return code.emit(Op::OpShiftLeftLogical, u32_, {is_first(code), editor().constant_u32(bit)});
  }

  // The increment of a variable.
  uint32_t executions(InstructionBuilder& code, const Counter& counter) {
    if (counter.trip) return trips(code, *counter.trip);
    if (counter.what == Counter::What::Subgroups) return is_first(code);
    const uint32_t one = code.load(u32_, one_);
    return counter.edge ? if_taken(code, *counter.edge, one) : one;
  }

  uint32_t if_taken(InstructionBuilder& code, const BranchEdge& edge, uint32_t value) {
    return code.emit(Op::OpSelect, u32_, {is_taken(code, editor(), edge), value, zero_});
  }

  uint32_t trips(InstructionBuilder& code, const TripCount& trip) {
    const uint32_t last = trip.in_memory ? code.load(trip.type, trip.value) : trip.value;
    uint32_t count = code.emit(Op::OpISub, u32_, {last, trip.first});
    if (trip.inverse != 1) {
      count = code.emit(Op::OpIMul, u32_, {count, editor().constant_u32(trip.inverse)});
    }
    if (trip.in_memory) return count;
    return code.emit(Op::OpIAdd, u32_, {count, editor().constant_u32(1)});
  }

  SubgroupCode subgroup() const { return SubgroupCode(editor()); }

  // 1 in the lowest counting lane of the subgroup, 0 in the others.
  uint32_t is_first(InstructionBuilder& code) {
    if (first_lane_ == 0) first_lane_ = editor().new_id();
    return code.call(u32_, first_lane_);
  }

  void make_first_lane_function() {
    editor().name(first_lane_, "tally.is_first_lane");
    InstructionBuilder code = editor().new_code();
    code.emit_as(first_lane_, Op::OpFunction, u32_,
                 std::vector<uint32_t>{0, editor().type_function(u32_)});
    code.label(code.new_id());
    const uint32_t live = tools_.helper_mask.is_live(code);
    const uint32_t first = is_first(code, live);
    const uint32_t result = code.emit(Op::OpSelect, u32_, {first, editor().constant_u32(1), zero_});
    code.emit(Op::OpReturnValue, {result});
    code.emit(Op::OpFunctionEnd);
    tools_.context.add_function(code);
  }

  // Whether the lane is the lowest of the live ones. Without counting bits, which takes NVIDIA's
  // hardware four times as long, and without OpGroupNonUniformElect, which SwiftShader gets wrong
  // in loops.
  uint32_t is_first(InstructionBuilder& code, uint32_t live) {
    const uint32_t boolean = editor().type_bool();
    const uint32_t uvec4 = editor().type_vector(u32_, 4);
    const uint32_t ballot = subgroup().ballot(code, live);
    const uint32_t below =
        code.emit(Op::OpBitwiseAnd, uvec4, {ballot, tools_.builtins.lanes_below(code)});
    uint32_t any = 0;
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t word = code.emit(Op::OpCompositeExtract, u32_, {below, i});
      any = any == 0 ? word : code.emit(Op::OpBitwiseOr, u32_, {any, word});
    }
    const uint32_t none = code.emit(Op::OpIEqual, boolean, {any, zero_});
    return live == 0 ? none : code.emit(Op::OpLogicalAnd, boolean, {none, live});
  }

  void clear_variables(InstructionBuilder& code) {
    for (const uint32_t variable : variables_) code.store(variable, zero_);
  }

  void make_clear_function() {
    const uint32_t none = editor().type_void();
    editor().name(clear_, "tally.clear");
    InstructionBuilder code = editor().new_code();
    code.emit_as(clear_, Op::OpFunction, none,
                 std::vector<uint32_t>{0, editor().type_function(none)});
    code.label(code.new_id());
    clear_variables(code);
    code.emit(Op::OpReturn);
    code.emit(Op::OpFunctionEnd);
    tools_.context.add_function(code);
  }

  CountingTools tools_;
  uint32_t u32_, zero_;
  uint32_t flush_;
  size_t flushes_in_between_;       // number of exits after which the invocation may continue
  uint32_t clear_ = 0;              // the function, 0 if it is not needed
  uint32_t first_lane_ = 0;         // the function, 0 if it is not needed
  uint32_t one_ = 0;                // a variable, 0 if it is not needed
  std::vector<PrivateSlot> slots_;  // by counter
  std::vector<Counter> counters_;
  std::vector<uint32_t> variables_;  // of slots
  std::optional<OutputCounting> outputs_;
  size_t first_output_ = 0;
  uint32_t flags_ = 0;
  size_t flag_word_ = 0;  // index into variables_
};

}  // namespace

std::unique_ptr<CounterCode> make_private_counting(CountingTools tools,
                                                   std::span<const Counter> counters) {
  return std::make_unique<PrivateCounting>(tools, counters);
}

}  // namespace tally::spirv
