// Counting::Private: an invocation counts in private variables, which drivers keep in registers,
// and adds them to memory once, before it ends (flush_code.h).
//
// - The first segment of the entry point needs no variable: each invocation executes it once.
// - A segment that is executed at most once needs one bit of a 32-bit variable.
// - Every other counter is a 32-bit variable. The increment is in a further variable whose value
//   the compiler cannot know: NVIDIA's compiler turns a conditional addition of the constant 1 into
//   three instructions (add, select, move), and of an unknown value into two. Where the driver
//   prefers small code, the increment is a constant.
#include <algorithm>
#include <optional>

#include "spirv/instrument/flush_code.h"
#include "spirv/instrument/output_counting.h"

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
        flush_(tools.context.flushes_in_place() ? 0 : editor().new_id()),
        flushes_in_between_(static_cast<size_t>(
            std::ranges::count(tools.context.graph.exits, Exit::Kind::MayEnd, &Exit::kind))) {
    const DriverWorkarounds& driver = tools.context.options.driver;
    in_workgroup_ = WorkgroupFlush::is_possible(tools.context, counters.size());
    is_small_ = driver.prefers_small_code && !in_workgroup_ && !tools.record.may_be_mixed() &&
                counters.size() <= kFewCounters;
    is_local_ = tools.context.flushes_in_entry_point() && has_plain_start() &&
                std::ranges::all_of(counters, [&](const Counter& c) { return is_in_entry(c); });
    for (size_t i = 0; is_small_ && i < counters.size(); ++i) {
      if (counts_always(counters[i])) initial_flags_ |= 1u << small_bit(i);
    }
    for (const Counter& counter : counters) {
      counters_.push_back(counter);
      add_slot(counter);
    }
    declare_locals();
    if (in_workgroup_) workgroup_.emplace(tools_, slots_, variables_);
  }

  void begin(InstructionBuilder& code) override {
    if (one_variable_ != 0) code.store(one_variable_, tools_.record.opaque_one(code));
    if (workgroup_) workgroup_->begin(code);
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
      value = code.emit(Op::OpBitwiseOr, u32_,
                        {old, counted(code, flag(code, counters_[counter], slot.bit))});
    } else {
      value =
          code.emit(Op::OpIAdd, u32_, {old, counted(code, executions(code, counters_[counter]))});
    }
    code.store(variable, value);
  }

  void leave(InstructionBuilder& code, const Exit& exit) override {
    if (outputs_) outputs_->leave(code, exit);
    if (slots_.empty()) return;
    if (is_demotion(exit) && tools_.late_demotions != nullptr) return;
    if (tools_.context.flushes_in_place()) {
      flush(code);
    } else {
      code.call(editor().type_void(), flush_);
    }
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
    if (flush_ != 0) make_flush_function();
    if (first_lane_ != 0) make_first_lane_function();
    if (clear_ != 0) make_clear_function();
  }

 private:
  Editor& editor() const { return tools_.context.editor; }

  void flush(InstructionBuilder& code) {
    if (workgroup_) {
      workgroup_->emit(code);
    } else if (is_small_) {
      emit_small_flush(code, tools_, slots_, variables_);
    } else {
      FlushCode(tools_, slots_, variables_).emit(code);
    }
  }

  void make_flush_function() {
    const uint32_t none = editor().type_void();
    editor().name(flush_, "tally.flush");
    InstructionBuilder code = editor().new_code();
    code.emit_as(flush_, Op::OpFunction, none,
                 std::vector<uint32_t>{0, editor().type_function(none)});
    code.label(code.new_id());
    flush(code);
    code.emit(Op::OpReturn);
    code.emit(Op::OpFunctionEnd);
    tools_.context.add_function(code);
  }

  bool is_in_entry(const Counter& counter) const {
    const SegmentGraph& graph = tools_.context.graph;
    return counter.what != Counter::What::Outputs &&
           graph.segments[counter.segment].function == graph.segments[graph.entry_segment].function;
  }

  const Function& entry_function() const {
    const SegmentGraph& graph = tools_.context.graph;
    return tools_.context.module().functions()[graph.segments[graph.entry_segment].function];
  }

  // Validators take debug instructions before the first label for instructions before the
  // variables.
  bool has_plain_start() const {
    const Function& entry = entry_function();
    return tools_.context.module().blocks_of(entry)[0].begin == entry.begin + 1;
  }

  // Once in each invocation, so it needs no variable.
  bool counts_always(const Counter& counter) const {
    return is_entered_always(counter) && counter.what != Counter::What::Subgroups &&
           !may_flush_twice();
  }

  bool is_entered_always(const Counter& counter) const {
    return counter.segment == tools_.context.graph.entry_segment &&
           counter.what != Counter::What::Outputs && counter.what != Counter::What::Branch;
  }

  void add_slot(const Counter& counter) {
    const SegmentGraph& graph = tools_.context.graph;
    const bool of_outputs = counter.what == Counter::What::Outputs;
    const bool of_subgroups = counter.what == Counter::What::Subgroups;
    const bool of_branch = counter.what == Counter::What::Branch;
    PrivateSlot slot;
    if (counts_always(counter)) {
      slot.kind = PrivateSlot::Kind::EveryInvocation;
    } else if (is_entered_always(counter) && of_subgroups && ends_as_it_begins()) {
      slot.kind = PrivateSlot::Kind::EverySubgroup;
    } else if (graph.segments[counter.segment].bound == 1 && !of_outputs && !counter.trip) {
      slot.kind = PrivateSlot::Kind::Flag;
      slot.bit = is_small_       ? small_bit(slots_.size())
                 : in_workgroup_ ? WorkgroupFlush::flag_bit(flags_)
                                 : flags_ % kFlagsPerWord;
      const bool needs_word = flags_ == 0 || (!is_small_ && slot.bit == 0);
      if (needs_word) flag_word_ = new_counter(initial_flags_);
      ++flags_;
      slot.variable = flag_word_;
    } else {
      slot.variable = new_counter();
      slot.of_samples = of_outputs && tools_.context.stage.has_helpers;
      if (!of_outputs) slot.bound = graph.segments[counter.segment].bound;
      if ((counter.what == Counter::What::Executions || of_branch) && !counter.trip &&
          one_variable_ == 0 && !tools_.context.options.driver.prefers_small_code) {
        one_variable_ = new_variable(0);
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

  // True if the lanes that end together also began together.
  bool ends_as_it_begins() const {
    const SegmentGraph& graph = tools_.context.graph;
    return !tools_.context.stage.repacks && graph.segments.size() == 1 && graph.exits.size() == 1 &&
           !may_flush_twice();
  }

  // lavapipe optimises a shader twice, private variables only the second time. That takes longer
  // than with a variable of a function.
  uint32_t new_variable(uint32_t initial) {
    if (is_local_) return locals_.emplace_back(Local{editor().new_id(), initial}).variable;
    return editor().new_private_variable(tools_.context.entry, u32_,
                                         editor().constant_u32(initial));
  }

  // At the start of the entry point, before code is inserted there.
  void declare_locals() {
    if (locals_.empty()) return;
    const uint32_t type = editor().type_pointer(StorageClass::Function, u32_);
    InstructionBuilder code = editor().new_code();
    for (const Local& local : locals_) {
      code.emit_as(local.variable, Op::OpVariable, type,
                   std::vector<uint32_t>{word(StorageClass::Function),
                                         editor().constant_u32(local.initial)});
    }
    editor().insert_after(entry_function().begin + 1, code);
  }

  size_t new_counter(uint32_t initial = 0) {
    variables_.push_back(new_variable(initial));
    return variables_.size() - 1;
  }

  // The amount that an invocation adds: nothing once it was demoted.
  uint32_t counted(InstructionBuilder& code, uint32_t value) {
    return tools_.late_demotions == nullptr ? value
                                            : tools_.late_demotions->unless_demoted(code, value);
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
    const uint32_t one =
        one_variable_ != 0 ? code.load(u32_, one_variable_) : editor().constant_u32(1);
    return counter.edge ? if_taken(code, *counter.edge, one) : one;
  }

  uint32_t if_taken(InstructionBuilder& code, const BranchEdge& edge, uint32_t value) {
    return code.emit(Op::OpSelect, u32_, {is_taken(code, editor(), edge), value, zero_});
  }

  uint32_t trips(InstructionBuilder& code, const TripCount& trip) {
    const uint32_t last = trip.in_memory ? code.load(trip.type, trip.value) : trip.value;
    uint32_t count = trip.descends ? code.emit(Op::OpISub, u32_, {trip.first, last})
                                   : code.emit(Op::OpISub, u32_, {last, trip.first});
    const auto apply = [&](Op operation, uint32_t number) {
      count = code.emit(operation, u32_, {count, editor().constant_u32(number)});
    };
    if (trip.shift != 0) apply(Op::OpShiftRightLogical, trip.shift);
    if (trip.inverse != 1) {
      apply(Op::OpIMul, trip.inverse);
      if (trip.shift != 0) apply(Op::OpBitwiseAnd, ~0u >> trip.shift);
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

  // True if the lane is the lowest of the live ones. Without counting bits, which takes NVIDIA's
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
  uint32_t flush_;             // the function, 0 if it is not needed
  bool is_small_ = false;      // emit_small_flush, not FlushCode
  bool in_workgroup_ = false;  // WorkgroupFlush
  bool is_local_ = false;      // whether the variables are those of the entry point
  uint32_t initial_flags_ = 0;
  size_t flushes_in_between_;       // number of exits after which the invocation may continue
  uint32_t clear_ = 0;              // the function, 0 if it is not needed
  uint32_t first_lane_ = 0;         // the function, 0 if it is not needed
  uint32_t one_variable_ = 0;       // 0 if it is not needed
  std::vector<PrivateSlot> slots_;  // by counter
  std::vector<Counter> counters_;
  std::vector<uint32_t> variables_;  // of slots
  struct Local {
    uint32_t variable, initial;
  };
  std::vector<Local> locals_;  // not yet declared
  std::optional<WorkgroupFlush> workgroup_;
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
