#include "spirv/instrument/small_flush.h"

#include <algorithm>

#include "spirv/analysis/workgroup_size.h"

namespace tally::spirv {
namespace {

using spv::Op;
using Kind = PrivateSlot::Kind;

class SmallFlush {
 public:
  SmallFlush(InstructionBuilder& code, const CountingTools& tools,
             std::span<const PrivateSlot> slots, std::span<const uint32_t> variables)
      : code_(code),
        tools_(tools),
        editor_(tools.context.editor),
        slots_(slots),
        variables_(variables),
        subgroup_(editor_),
        u32_(editor_.type_int(32)),
        lanes_share_(can_share()) {}

  void emit() {
    const RecordPointer record_pointer = tools_.context.flushes_in_entry_point()
                                             ? tools_.record.load_in_entry_point(code_)
                                             : tools_.record.load_record_pointer(code_);
    is_set_ = tools_.record.is_set(code_, record_pointer);
    const auto find_counters = [&] {
      shard_ = tools_.record.shard_address(code_, record_pointer);
      if (!lanes_share_) counters_ = tools_.record.members_pointer(code_, shard_);
    };
    if (sums_up()) {
      find_counters();
      add_together();
    } else {
      code_.if_then(is_set_, [&] {
        find_counters();
        add_alone();
      });
    }
  }

 private:
  bool sums_up() const {
    const auto is_certain = [](const PrivateSlot& slot) {
      return slot.kind == Kind::EveryInvocation || slot.kind == Kind::EverySubgroup;
    };
    return tools_.context.use_subgroups && std::ranges::any_of(slots_, is_certain);
  }

  static bool is_small(const PrivateSlot& slot) {
    return slot.kind == Kind::Flag || slot.kind == Kind::EveryInvocation || slot.of_samples;
  }

  void add_together() {
    add_numbers();
    if (lanes_share_) return add_shared();
    const uint32_t sums = small_sums();
    const uint32_t adds = code_.emit(Op::OpLogicalAnd, editor_.type_bool(), {is_set_, is_first()});
    code_.if_then(adds, [&] {
      for (uint32_t counter = 0; counter < slots_.size(); ++counter) {
        if (slots_[counter].kind == Kind::EverySubgroup) add_one(counter);
        if (is_small(slots_[counter])) add(counter, byte(sums, counter));
      }
    });
  }

  // Lane i adds counter i.
  void add_shared() {
    const uint32_t sums = small_sums();
    const uint32_t lane = tools_.builtins.lane(code_);
    const uint32_t has_counter = code_.emit(Op::OpULessThan, editor_.type_bool(),
                                            {lane, constant(static_cast<uint32_t>(slots_.size()))});
    code_.if_then(code_.emit(Op::OpLogicalAnd, editor_.type_bool(), {is_set_, has_counter}), [&] {
      const uint32_t bit = emit(Op::OpIMul, lane, constant(small_bit(1)));
      const uint32_t count =
          emit(Op::OpBitwiseAnd, emit(Op::OpShiftRightLogical, sums, bit), constant(0xff));
      tools_.record.add_always(code_, shard_, lane, count);
    });
  }

  // True if each subgroup has a lane for each counter, and all counts are small. Subgroups are full
  // if the rows of the workgroup fill them.
  bool can_share() const {
    if (!sums_up() || !keeps_all_lanes() || slots_.size() < 2 ||
        !std::ranges::all_of(slots_, is_small)) {
      return false;
    }
    const PassContext& context = tools_.context;
    const uint32_t width =
        workgroup_size(context.module(), context.entry).value_or(WorkgroupSize{})[0];
    return width != 0 && width % kMaxLanesOfSmallCode == 0;
  }

  // True if the lanes that end here are all that began.
  bool all_end_here() const {
    return tools_.context.flushes_in_place() && !tools_.context.places.in_loop &&
           !tools_.context.stage.repacks;
  }
  // ... the lowest of them lane 0.
  bool keeps_all_lanes() const { return all_end_here() && !tools_.context.stage.has_helpers; }

  // True if the lane is the lowest active one. llvmpipe elects a lane in a loop over the lanes; to
  // read a value of the lowest lane, it needs such a loop only before 25.0.
  uint32_t is_first() {
    const bool is_lane_0 = keeps_all_lanes();
    if (!is_lane_0 && tools_.context.options.driver.masks_branches) return subgroup_.elect(code_);
    const uint32_t lane = tools_.builtins.lane(code_);
    const uint32_t first = is_lane_0 ? constant(0) : subgroup_.of_lowest(code_, lane);
    return code_.emit(Op::OpIEqual, editor_.type_bool(), {lane, first});
  }

  void add_numbers() {
    const auto is_number = [](const PrivateSlot& slot) {
      return slot.kind == Kind::Number && !slot.of_samples;
    };
    if (std::ranges::none_of(slots_, is_number)) return;
    code_.if_then(is_set_, [&] {
      for (uint32_t counter = 0; counter < slots_.size(); ++counter) {
        if (is_number(slots_[counter])) add(counter, load(slots_[counter]));
      }
    });
  }

  // The sums of the small counts, each in a byte; 0 if there are none.
  uint32_t small_sums() {
    if (std::ranges::none_of(slots_, is_small)) return 0;
    uint32_t flags = 0;
    uint32_t every_invocation = 0;
    for (uint32_t counter = 0; counter < slots_.size(); ++counter) {
      const PrivateSlot& slot = slots_[counter];
      if (is_small(slot)) last_small_ = counter;
      if (slot.kind == Kind::Flag && flags == 0) flags = load(slot);
      if (slot.kind == Kind::EveryInvocation) every_invocation |= 1u << small_bit(counter);
    }
    // The word of the flags begins with those bits.
    uint32_t word = flags != 0 ? flags : constant(every_invocation);
    for (uint32_t counter = 0; counter < slots_.size(); ++counter) {
      if (!slots_[counter].of_samples) continue;
      const uint32_t bit = constant(small_bit(counter));
      word = emit(Op::OpBitwiseOr, word, emit(Op::OpShiftLeftLogical, load(slots_[counter]), bit));
    }
    return sum(word);
  }

  uint32_t sum(uint32_t word) {
    const PassContext& context = tools_.context;
    const bool only_helpers_are_inactive =
        all_end_here() && context.stage.has_helpers && !context.demotes;
    if (!only_helpers_are_inactive || !context.options.driver.shuffles_inactive_lanes) {
      return subgroup_.sum(code_, word);
    }
    const uint32_t live = tools_.helper_mask.is_live(code_);
    return subgroup_.sum_of_8(code_, code_.emit(Op::OpSelect, u32_, {live, word, constant(0)}));
  }

  uint32_t byte(uint32_t sums, uint32_t counter) {
    const uint32_t bit = small_bit(counter);
    const uint32_t rest = bit == 0 ? sums : emit(Op::OpShiftRightLogical, sums, constant(bit));
    return counter == last_small_ ? rest : emit(Op::OpBitwiseAnd, rest, constant(0xff));
  }

  void add_alone() {
    for (uint32_t counter = 0; counter < slots_.size(); ++counter) {
      const PrivateSlot& slot = slots_[counter];
      if (slot.kind == Kind::Number) {
        add(counter, load(slot));
      } else if (slot.kind == Kind::Flag) {
        const uint32_t is_set =
            code_.emit(Op::OpINotEqual, editor_.type_bool(), {masked(slot), constant(0)});
        code_.if_then(is_set, [&] { add_one(counter); });
      } else {
        add_one(counter);
      }
    }
  }

  uint32_t emit(Op opcode, uint32_t one, uint32_t other) {
    return code_.emit(opcode, u32_, {one, other});
  }

  void add(uint32_t counter, uint32_t value) {
    tools_.record.add_to_member(code_, counters_, counter, value);
  }

  void add_one(uint32_t counter) { tools_.record.add_one_to_member(code_, counters_, counter); }

  uint32_t load(const PrivateSlot& slot) { return code_.load(u32_, variables_[slot.variable]); }

  uint32_t masked(const PrivateSlot& slot) {
    return code_.emit(Op::OpBitwiseAnd, u32_, {load(slot), constant(1u << slot.bit)});
  }

  uint32_t constant(uint32_t value) { return editor_.constant_u32(value); }

  InstructionBuilder& code_;
  const CountingTools& tools_;
  Editor& editor_;
  std::span<const PrivateSlot> slots_;
  std::span<const uint32_t> variables_;
  SubgroupCode subgroup_;
  uint32_t u32_;
  bool lanes_share_;  // each adds one of the sums
  ShardAddress shard_{};
  uint32_t is_set_ = 0;      // whether the draw counts
  uint32_t counters_ = 0;    // a pointer
  uint32_t last_small_ = 0;  // the last counter that the sums include
};

}  // namespace

void emit_small_flush(InstructionBuilder& code, const CountingTools& tools,
                      std::span<const PrivateSlot> slots, std::span<const uint32_t> variables) {
  SmallFlush(code, tools, slots, variables).emit();
}

}  // namespace tally::spirv
