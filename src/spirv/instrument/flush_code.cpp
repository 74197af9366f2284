#include "spirv/instrument/flush_code.h"

#include <algorithm>
#include <map>

#include "probe/record.h"
#include "spirv/analysis/interface.h"

namespace tally::spirv {
namespace {

using spv::Op;
using Kind = PrivateSlot::Kind;

constexpr uint32_t kSumLimitLog2 = 25;
// More than the distance of any draw's record.
constexpr uint32_t kNoDraw = 0x10000;
static_assert(probe::kMaxPackedDrawIndex * probe::kRecordAlignment < kNoDraw);
// Counters processed at a time: more need more registers, fewer need more atomics.
constexpr size_t kShared = 32;
constexpr uint32_t kPacked = 4;     // flags summed at a time; a byte holds the sum of 128 lanes
constexpr uint32_t kSmallPack = 2;  // ... if there are at least this many
constexpr uint32_t kPacksPerWord = 32 / kPacked;
// Counters in one sector of memory. Adding a zero there costs less than a branch.
constexpr size_t kTogether = 4;

}  // namespace

FlushCode::FlushCode(CountingTools tools, std::span<const PrivateSlot> slots,
                     std::span<const uint32_t> variables)
    : WordCode(tools.context.editor),
      tools_(tools),
      slots_(slots),
      variables_(variables),
      subgroup_(editor_),
      packs_(variables.size() * kPacksPerWord) {
  for (const PrivateSlot& slot : slots) {
    if (slot.kind == Kind::Flag) ++pack_of(slot).flags;
  }
}

FlushCode::Pack& FlushCode::pack_of(const PrivateSlot& slot) {
  return packs_[slot.variable * kPacksPerWord + slot.bit / kPacked];
}

void FlushCode::emit(InstructionBuilder& code) {
  const RecordPointer record_pointer = tools_.load_record(code);
  const uint32_t is_set = tools_.record.is_set(code, record_pointer);
  const uint32_t live = tools_.helper_mask.is_live(code);
  load_values(code, live);
  if (tools_.context.use_subgroups) {
    begin_together(code, record_pointer, is_set, live);
    add_together(code, record_pointer);
  } else {
    code.if_then(is_set, [&] { add_alone(code, record_pointer, live); });
  }
}

void FlushCode::load_values(InstructionBuilder& code, uint32_t live) {
  for (const uint32_t variable : variables_) {
    const uint32_t value = code.load(u32_, variable);
    values_.push_back(live == 0 ? value : select(code, live, value, constant(0)));
  }
}

void FlushCode::add_alone(InstructionBuilder& code, const RecordPointer& record_pointer,
                          uint32_t live) {
  const auto add = [&] {
    const ShardAddress shard = tools_.record.shard_address(code, record_pointer);
    for (uint32_t counter = 0; counter < slots_.size(); ++counter) {
      tools_.record.add(code, shard, constant(counter), own(code, slots_[counter]));
    }
  };
  if (live == 0) {
    add();
  } else {
    code.if_then(live, add);
  }
}

void FlushCode::add_together(InstructionBuilder& code, const RecordPointer& record_pointer) {
  const ShardAddress shard = tools_.record.shard_address(code, record_pointer);
  for (size_t first = 0; first < slots_.size(); first += kShared) {
    const auto batch = slots_.subspan(first, std::min(kShared, slots_.size() - first));
    const auto add = [&] {
      if (first != 0) rank_again(code);
      std::vector<uint32_t> sums;
      for (const PrivateSlot& slot : batch) sums.push_back(sum(code, slot));
      add_shared_out(code, shard, static_cast<uint32_t>(first), sums);
    };
    const uint32_t some = first == 0 ? 0 : counts_some(code, batch);
    if (some == 0) {
      add();
    } else {
      code.if_then(subgroup_.any(code, some), add);
    }
  }
}

// True if this lane counted something in the batch; 0 if some lane of a subgroup always does.
uint32_t FlushCode::counts_some(InstructionBuilder& code, std::span<const PrivateSlot> batch) {
  std::map<size_t, uint32_t> masks;  // by variable
  for (const PrivateSlot& slot : batch) {
    if (slot.kind != Kind::Flag && slot.kind != Kind::Number) return 0;
    masks[slot.variable] |= slot.kind == Kind::Flag ? 1u << slot.bit : ~0u;
  }
  uint32_t all = 0;
  for (const auto& [variable, mask] : masks) {
    uint32_t value = values_[variable];
    if (mask != ~0u) value = code.emit(Op::OpBitwiseAnd, u32_, {value, constant(mask)});
    all = all == 0 ? value : code.emit(Op::OpBitwiseOr, u32_, {all, value});
  }
  return code.emit(Op::OpINotEqual, boolean_, {all, constant(0)});
}

void FlushCode::begin_together(InstructionBuilder& code, const RecordPointer& record_pointer,
                               uint32_t is_set, uint32_t live) {
  live_ = live;
  counts_ = live == 0 ? is_set : both(code, is_set, live);
  const uint32_t lanes = rank_lanes(code);
  below_ = rank_;
  alone_ = counts_alone(code, record_pointer);
  take_part(code, lanes);
}

void FlushCode::rank_again(InstructionBuilder& code) {
  ranked_again_ = true;
  for (Pack& pack : packs_) pack.sums = 0;
  take_part(code, rank_lanes(code));
}

// Returns the number of lanes.
uint32_t FlushCode::rank_lanes(InstructionBuilder& code) {
  const uint32_t ballot = subgroup_.ballot(code, live_);
  const uint32_t lanes = subgroup_.bit_count(code, ballot);
  if (slots_.size() == 1 && !tools_.context.stage.repacks) {
    // In this form, Mesa's compiler for AMD sees that a single lane adds.
    is_first_ = code.emit(Op::OpIEqual, boolean_,
                          {tools_.builtins.lane(code), subgroup_.lowest(code, ballot)});
  } else {
    rank_ = subgroup_.bits_below(code, ballot);
  }
  return lanes;
}

void FlushCode::take_part(InstructionBuilder& code, uint32_t lanes) {
  lanes_ = lanes;
  if (alone_ != 0) {
    lanes_ = select(code, alone_, constant(1), lanes_);
    if (rank_ != 0) rank_ = select(code, alone_, constant(0), rank_);
  }
  takes_part_ = counts_;
  if (!tools_.context.stage.has_helpers) return;
  // On some drivers a discarded lane keeps running: it is not a helper, but takes part in no
  // ballot.
  const uint32_t somebody = code.emit(Op::OpINotEqual, boolean_, {lanes, constant(0)});
  takes_part_ = both(code, takes_part_, somebody);
}

// True if the lane is the lowest of the lanes that count.
uint32_t FlushCode::is_first(InstructionBuilder& code) {
  if (is_first_ == 0) is_first_ = code.emit(Op::OpIEqual, boolean_, {below_, constant(0)});
  return is_first_;
}

// 1 if the lane that was the first at the beginning is among these lanes, 0 otherwise.
uint32_t FlushCode::with_first(InstructionBuilder& code) {
  const uint32_t first = live_ == 0 ? is_first(code) : both(code, live_, is_first(code));
  return subgroup_.bit_count(code, subgroup_.ballot(code, first));
}

// True if each lane adds its own counts; 0 if that never happens. One vote covers both cases: a
// lane with a large count votes with a value that differs from all others and from all draw
// indices.
uint32_t FlushCode::counts_alone(InstructionBuilder& code, const RecordPointer& record_pointer) {
  const uint32_t too_large = is_too_large(code);
  if (!tools_.record.may_be_mixed()) return too_large == 0 ? 0 : subgroup_.any(code, too_large);
  uint32_t says = record_pointer.draw_bytes;
  if (too_large != 0) {
    const uint32_t lane = tools_.builtins.lane(code);
    const uint32_t own = code.emit(Op::OpBitwiseOr, u32_, {lane, constant(kNoDraw)});
    says = select(code, too_large, own, says);
  }
  return code.emit(Op::OpLogicalNot, boolean_, {subgroup_.all_equal(code, says)});
}

// True if a count of the lane is so large that a sum could overflow; 0 if none can be.
uint32_t FlushCode::is_too_large(InstructionBuilder& code) {
  uint32_t all = 0;
  for (const PrivateSlot& slot : slots_) {
    if (slot.kind != Kind::Number || slot.bound < 1u << kSumLimitLog2) continue;
    const uint32_t value = values_[slot.variable];
    all = all == 0 ? value : code.emit(Op::OpBitwiseOr, u32_, {all, value});
  }
  if (all == 0) return 0;
  return code.emit(Op::OpUGreaterThanEqual, boolean_, {all, constant(1u << kSumLimitLog2)});
}

// if (takes_part && rank < sums.size()) {
//   t = rank;
//   do add(first + t, sums[t]); while ((t += lanes) < sums.size());
// }
//
// There usually are more lanes than sums, so the loop runs once. The test is at the end because
// llvmpipe executes one more masked iteration of a loop that tests at the start.
void FlushCode::add_shared_out(InstructionBuilder& code, const ShardAddress& shard, uint32_t first,
                               std::span<const uint32_t> sums) {
  code.if_then(both(code, has_turn(code, sums.size()), takes_part_), [&] {
    if (sums.size() == 1) {
      tools_.record.add_always(code, shard, constant(first), sums[0]);
    } else {
      add_in_turns(code, shard, first, sums);
    }
  });
}

// True if the lane adds one of the sums.
uint32_t FlushCode::has_turn(InstructionBuilder& code, size_t sums) {
  if (rank_ != 0) {
    const uint32_t count = constant(static_cast<uint32_t>(sums));
    return code.emit(Op::OpULessThan, boolean_, {rank_, count});
  }
  const uint32_t first = is_first(code);
  return alone_ == 0 ? first : code.emit(Op::OpLogicalOr, boolean_, {first, alone_});
}

void FlushCode::add_in_turns(InstructionBuilder& code, const ShardAddress& shard, uint32_t first,
                             std::span<const uint32_t> sums) {
  const uint32_t count = constant(static_cast<uint32_t>(sums.size()));
  code.repeat(u32_, rank_, [&](uint32_t turn) {
    add_turn(code, shard, first, sums, turn);
    const uint32_t next = code.emit(Op::OpIAdd, u32_, {turn, lanes_});
    return InstructionBuilder::Turn{next, code.emit(Op::OpULessThan, boolean_, {next, count})};
  });
}

void FlushCode::add_turn(InstructionBuilder& code, const ShardAddress& shard, uint32_t first,
                         std::span<const uint32_t> sums, uint32_t turn) {
  const uint32_t value = choose(code, sums, turn);
  const ShardAddress own = tools_.record.advance(code, shard, turn);
  if (sums.size() <= kTogether || tools_.context.stage.adds_zeros) {
    tools_.record.add_always(code, own, constant(first), value);
  } else {
    tools_.record.add(code, own, constant(first), value);
  }
}

uint32_t FlushCode::choose(InstructionBuilder& code, std::span<const uint32_t> values,
                           uint32_t index) {
  uint32_t value = values[0];
  for (uint32_t i = 1; i < values.size(); ++i) {
    const uint32_t is_it = code.emit(Op::OpIEqual, boolean_, {index, constant(i)});
    value = select(code, is_it, values[i], value);
  }
  return value;
}

uint32_t FlushCode::sum(InstructionBuilder& code, const PrivateSlot& slot) {
  const uint32_t together = sum_of_lanes(code, slot);
  if (alone_ == 0 || slot.kind == Kind::EveryInvocation)
    return together;  // the number of lanes is the sum
  return select(code, alone_, own(code, slot), together);
}

uint32_t FlushCode::sum_of_lanes(InstructionBuilder& code, const PrivateSlot& slot) {
  switch (slot.kind) {
    case Kind::EveryInvocation:
      return lanes_;
    case Kind::EverySubgroup:
      return ranked_again_ ? with_first(code) : constant(1);
    case Kind::Flag:
      return sum_of_flags(code, slot);
    case Kind::Number:
      break;
  }
  return subgroup_.sum(code, values_[slot.variable]);
}

uint32_t FlushCode::sum_of_flags(InstructionBuilder& code, const PrivateSlot& slot) {
  if (pack_of(slot).flags <= kSmallPack) {
    return subgroup_.bit_count(code, subgroup_.ballot(code, flag(code, slot)));
  }
  const uint32_t sums = packed_flags(code, slot);
  return code.emit(Op::OpBitFieldUExtract, u32_,
                   {sums, constant(slot.bit % kPacked * 8), constant(8)});
}

// Spreads four bits to four bytes and sums them over the subgroup.
uint32_t FlushCode::packed_flags(InstructionBuilder& code, const PrivateSlot& slot) {
  Pack& pack = pack_of(slot);
  if (pack.sums != 0) return pack.sums;
  const uint32_t first_bit = slot.bit - slot.bit % kPacked;
  const uint32_t bits = code.emit(Op::OpBitFieldUExtract, u32_,
                                  {values_[slot.variable], constant(first_bit), constant(kPacked)});
  const uint32_t copies = code.emit(Op::OpIMul, u32_, {bits, constant(0x00204081)});
  const uint32_t bytes = code.emit(Op::OpBitwiseAnd, u32_, {copies, constant(0x01010101)});
  pack.sums = subgroup_.sum(code, bytes);
  return pack.sums;
}

uint32_t FlushCode::flag(InstructionBuilder& code, const PrivateSlot& slot) {
  const uint32_t bit =
      code.emit(Op::OpBitwiseAnd, u32_, {values_[slot.variable], constant(1u << slot.bit)});
  return code.emit(Op::OpINotEqual, boolean_, {bit, constant(0)});
}

// The count of this lane alone.
uint32_t FlushCode::own(InstructionBuilder& code, const PrivateSlot& slot) {
  switch (slot.kind) {
    case Kind::EveryInvocation:
      return constant(1);
    case Kind::EverySubgroup:
      return select(code, is_first(code), constant(1), constant(0));
    case Kind::Flag:
      return code.emit(Op::OpBitFieldUExtract, u32_,
                       {values_[slot.variable], constant(slot.bit), constant(1)});
    case Kind::Number:
      break;
  }
  return values_[slot.variable];
}

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
    const RecordPointer record_pointer = tools_.load_record(code_);
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
    return slot.kind == Kind::Flag || slot.kind == Kind::EveryInvocation || is_small_number(slot);
  }

  // True if the sum of the lanes fits into a byte.
  static bool is_small_number(const PrivateSlot& slot) {
    constexpr uint32_t kBound = ((1u << small_bit(1)) - 1) / kMaxLanesOfSmallCode;
    return slot.kind == Kind::Number && (slot.of_samples || slot.bound <= kBound);
  }

  void add_together() {
    if (lanes_share_) return add_shared();
    const std::vector<uint32_t> totals = number_sums();
    const uint32_t sums = small_sums();
    const uint32_t adds = code_.emit(Op::OpLogicalAnd, editor_.type_bool(), {is_set_, is_first()});
    code_.if_then(adds, [&] {
      for (uint32_t counter = 0; counter < slots_.size(); ++counter) {
        if (slots_[counter].kind == Kind::EverySubgroup) add_one(counter);
        if (is_small(slots_[counter])) add(counter, byte(sums, counter));
        if (is_number(slots_[counter]) && !totals.empty()) {
          tools_.record.add_word_to_member(code_, counters_, counter, totals[counter]);
        }
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

  // True if the lanes that end here are all that began, the lowest of them lane 0.
  bool keeps_all_lanes() const {
    return tools_.context.flushes_in_place() && !tools_.context.places.in_loop &&
           !tools_.context.stage.repacks && !tools_.context.stage.has_helpers;
  }

  // True if the lane is the lowest active one. llvmpipe elects a lane in a loop over the lanes; to
  // read a value of the lowest lane, it needs such a loop only before 25.0.
  uint32_t is_first() {
    const bool is_lane_0 = keeps_all_lanes();
    if (!is_lane_0 && tools_.context.options.driver.masks_branches) return subgroup_.elect(code_);
    const uint32_t lane = tools_.builtins.lane(code_);
    const uint32_t first = is_lane_0 ? constant(0) : subgroup_.of_lowest(code_, lane);
    return code_.emit(Op::OpIEqual, editor_.type_bool(), {lane, first});
  }

  static bool is_number(const PrivateSlot& slot) {
    return slot.kind == Kind::Number && !is_small(slot);
  }

  // The 64-bit sums of the numbers that are not small, by counter. Where the device has no such
  // sums, each lane adds its own number here, and the result is empty.
  std::vector<uint32_t> number_sums() {
    std::vector<uint32_t> sums;
    if (std::ranges::none_of(slots_, is_number)) return sums;
    if (tools_.context.sums_wide()) {
      for (const PrivateSlot& slot : slots_) {
        sums.push_back(is_number(slot) ? subgroup_.sum_of_wide(code_, wide(load(slot))) : 0);
      }
      return sums;
    }
    code_.if_then(is_set_, [&] {
      for (uint32_t counter = 0; counter < slots_.size(); ++counter) {
        if (is_number(slots_[counter])) add(counter, load(slots_[counter]));
      }
    });
    return sums;
  }

  uint32_t wide(uint32_t value) {
    return code_.emit(Op::OpUConvert, editor_.type_int(64), {value});
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
      if (!is_small_number(slots_[counter])) continue;
      const uint32_t bit = constant(small_bit(counter));
      word = emit(Op::OpBitwiseOr, word, emit(Op::OpShiftLeftLogical, load(slots_[counter]), bit));
    }
    return subgroup_.sum(code_, word);
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
