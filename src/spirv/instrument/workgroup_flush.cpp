#include <algorithm>

#include "probe/record.h"
#include "spirv/analysis/interface.h"
#include "spirv/analysis/memory_access.h"
#include "spirv/instrument/flush_code.h"

namespace tally::spirv {

using spv::Op;

namespace {

constexpr uint32_t kSubgroupLanes = kMaxLanesOfSmallCode;
// Below this bound, the sum of the lanes fits into 32 bits.
constexpr uint32_t kNarrowBound = UINT32_MAX / kSubgroupLanes;
// The sum of a flag is a field of a word: of a subgroup a byte, of a workgroup 16 bits.
constexpr uint32_t kByteBits = 8;
constexpr uint32_t kFieldBits = 16;
constexpr uint64_t kMaxInvocations = (1u << kFieldBits) - 1;
// With fewer, a workgroup of one subgroup has shorter code without words, and most counts are not
// 0.
constexpr size_t kManyCounters = 16;
// Words that a subgroup skips together, behind as many others, if it counted nothing in them. A
// rest of less than kSubgroupLanes belongs to those in front of it.
constexpr size_t kSkipped = 16;
constexpr uint32_t kVolatileAccess = word(spv::MemoryAccessMask::Volatile);

// 0 where it is not known.
uint64_t invocations_of(const PassContext& context) {
  const auto size = workgroup_size(context.module(), context.entry).value_or(WorkgroupSize{});
  return uint64_t{size[0]} * size[1] * size[2];
}

bool has_variable(const PrivateSlot& slot) {
  return slot.kind == PrivateSlot::Kind::Flag || slot.kind == PrivateSlot::Kind::Number;
}

// The number of the counter's word or field among all that there are.
size_t place_of(const PrivateSlot& slot) {
  if (slot.kind == PrivateSlot::Kind::Number) return slot.variable;
  return slot.variable * kFewCounters + slot.bit / small_bit(1);
}

}  // namespace

Barriers barriers_of(const Module& module) {
  constexpr auto kWorkgroup = static_cast<uint64_t>(spv::Scope::Workgroup);
  auto found = Barriers::None;
  for (uint32_t i = 0; i < module.instruction_count(); ++i) {
    const Instruction instruction = module.instruction(i);
    if (instruction.opcode() != Op::OpControlBarrier) continue;
    if (module.constant_value(instruction.operand(0)) != kWorkgroup) return Barriers::OfParts;
    found = Barriers::OfWorkgroups;
  }
  return found;
}

bool WorkgroupFlush::is_possible(const PassContext& context, size_t counters) {
  const DriverWorkarounds& driver = context.options.driver;
  if (driver.workgroup_bytes == 0 || context.entry.model != spv::ExecutionModel::GLCompute ||
      !context.sums_wide() || !context.flushes_in_place() || context.places.in_loop) {
    return false;
  }
  const uint64_t invocations = invocations_of(context);
  if (invocations == 0 || invocations > kMaxInvocations) return false;
  if (invocations <= kSubgroupLanes && counters < kManyCounters) return false;
  // Virtual subgroups have variables there, too, and the number of subgroups that have ended.
  constexpr uint64_t kOtherBytes = 16;
  const auto bytes = workgroup_bytes(context.module(), context.entry);
  return bytes && *bytes + kOtherBytes + counters * probe::kCounterBytes <= driver.workgroup_bytes;
}

WorkgroupFlush::WorkgroupFlush(const CountingTools& tools, std::span<const PrivateSlot> slots,
                               std::span<const uint32_t> variables)
    : WordCode(tools.context.editor),
      tools_(tools),
      slots_(slots),
      variables_(variables),
      subgroup_(editor_),
      u64_(editor_.type_int(64)),
      invocations_(static_cast<uint32_t>(invocations_of(tools.context))),
      is_alone_(invocations_ <= kSubgroupLanes),
      users_(variables.size()) {
  for (const PrivateSlot& slot : slots) {
    if (has_variable(slot)) users_[slot.variable] = &slot;
  }
  counts_ends_ = !is_alone_ && barriers_of(tools.context.module()) != Barriers::None;
  const size_t words = first_word() + variables.size();
  if (words == 0) return;
  constexpr auto kStorage = spv::StorageClass::Workgroup;
  const uint32_t array = editor_.new_array(u64_, constant(static_cast<uint32_t>(words)));
  words_ = editor_.new_global_variable(editor_.type_pointer(kStorage, array), kStorage);
  editor_.name(words_, "tally.sums");
  editor_.add_to_interface(tools_.context.entry, words_);
}

uint32_t WorkgroupFlush::subgroup(InstructionBuilder& code) {
  return tools_.builtins.number(code, spv::BuiltIn::SubgroupId, 1, 0);
}

// ended = subgroup == 0 ? 0 : ended;
void WorkgroupFlush::begin(InstructionBuilder& code) {
  if (!counts_ends_) return;
  const uint32_t word = pointer(code, constant(0));
  const uint32_t ended = code.load(u64_, word, {kVolatileAccess});
  const uint32_t is_first = compare(code, Op::OpIEqual, subgroup(code), constant(0));
  const uint32_t zero = editor_.constant_u64(0);
  code.store(word, code.emit(Op::OpSelect, u64_, {is_first, zero, ended}), {kVolatileAccess});
}

// True if this is the last subgroup to end. Sets is_first_.
uint32_t WorkgroupFlush::end_subgroup(InstructionBuilder& code) {
  const uint32_t last = (invocations_ - 1) / kSubgroupLanes;
  if (!counts_ends_) {
    const uint32_t number = subgroup(code);
    is_first_ = compare(code, Op::OpIEqual, number, constant(0));
    return compare(code, Op::OpIEqual, number, constant(last));
  }
  const uint32_t ended = code.load(u64_, pointer(code, constant(0)), {kVolatileAccess});
  is_first_ = compare(code, Op::OpIEqual, ended, editor_.constant_u64(0));
  return compare(code, Op::OpIEqual, ended, editor_.constant_u64(last));
}

// if (last && counts) record += totals;
void WorkgroupFlush::emit(InstructionBuilder& code) {
  const RecordPointer record_pointer = tools_.load_record(code);
  if (is_alone_) {
    code.if_then(tools_.record.is_set(code, record_pointer), [&] {
      clear_skipped(code);
      add_sums(code);
      add_totals(code, record_pointer);
    });
    return;
  }
  const uint32_t is_last = end_subgroup(code);
  add_sums(code);
  code.if_then(both(code, is_last, tools_.record.is_set(code, record_pointer)),
               [&] { add_totals(code, record_pointer); });
}

uint32_t WorkgroupFlush::pointer(InstructionBuilder& code, uint32_t index) {
  const uint32_t type = editor_.type_pointer(spv::StorageClass::Workgroup, u64_);
  return code.access_chain(type, words_, {index});
}

// Lanes that all subgroups have.
uint32_t WorkgroupFlush::lanes() const { return (invocations_ - 1) % kSubgroupLanes + 1; }

// for (i = lane; i < count && lane < lanes; i += lanes) body(i);
template <typename Body>
void WorkgroupFlush::share_out(InstructionBuilder& code, size_t count, Body&& body) {
  const auto end = static_cast<uint32_t>(count);
  const uint32_t lane = tools_.builtins.lane(code);
  code.if_then(compare(code, Op::OpULessThan, lane, constant(std::min(lanes(), end))), [&] {
    if (end <= lanes()) return body(lane);
    code.repeat(u32_, lane, [&](uint32_t index) {
      body(index);
      const uint32_t next = binary(code, Op::OpIAdd, index, constant(lanes()));
      return InstructionBuilder::Turn{next, compare(code, Op::OpULessThan, next, constant(end))};
    });
  });
}

// The words of variables that add_sums() may skip.
void WorkgroupFlush::clear_skipped(InstructionBuilder& code) {
  if (variables_.size() < kSkipped + kSubgroupLanes) return;
  share_out(code, variables_.size() - kSkipped, [&](uint32_t index) {
    const uint32_t word = binary(code, Op::OpIAdd, index, constant(uint32_t{kSkipped}));
    code.store(pointer(code, word), editor_.constant_u64(0));
  });
}

// The number that the subgroup adds to a word: 1 where ended subgroups are counted, otherwise the
// sum of its lanes.
uint32_t WorkgroupFlush::sum(InstructionBuilder& code, size_t at) {
  if (at < first_word()) return editor_.constant_u64(1);
  const size_t variable = at - first_word();
  const uint32_t value = code.load(u32_, variables_[variable]);
  const PrivateSlot& slot = *users_[variable];
  if (slot.kind == PrivateSlot::Kind::Flag || slot.bound < kNarrowBound) {
    const uint32_t word = code.emit(Op::OpUConvert, u64_, {subgroup_.sum(code, value)});
    return slot.kind == PrivateSlot::Kind::Flag && !is_alone_ ? spread(code, word) : word;
  }
  return subgroup_.sum_of_wide(code, code.emit(Op::OpUConvert, u64_, {value}));
}

// The four bytes of a word, as fields of 16 bits.
uint32_t WorkgroupFlush::spread(InstructionBuilder& code, uint32_t word) {
  const auto step = [&](uint32_t distance, uint64_t mask) {
    const uint32_t moved = wide(code, Op::OpShiftLeftLogical, word, constant(distance));
    word = wide(code, Op::OpBitwiseAnd, wide(code, Op::OpBitwiseOr, word, moved),
                editor_.constant_u64(mask));
  };
  step(16, 0x0000ffff0000ffff);
  step(8, 0x00ff00ff00ff00ff);
  return word;
}

// words[first + lane] = sum + (is_first ? 0 : words[first + lane]): each lane adds one word,
// because llvmpipe stores once for each lane, whether the addresses are equal or not.
void WorkgroupFlush::add_words(InstructionBuilder& code, size_t first, size_t count) {
  const uint32_t lane = tools_.builtins.lane(code);
  uint32_t value = sum(code, first);
  for (uint32_t i = 1; i < count; ++i) {
    const uint32_t is_it = compare(code, Op::OpIEqual, lane, constant(i));
    value = code.emit(Op::OpSelect, u64_, {is_it, sum(code, first + i), value});
  }
  const auto add = [&] {
    const uint32_t index = binary(code, Op::OpIAdd, lane, constant(static_cast<uint32_t>(first)));
    const uint32_t word = pointer(code, index);
    if (is_alone_) return code.store(word, value);
    const uint32_t earlier =
        code.emit(Op::OpSelect, u64_, {is_first_, editor_.constant_u64(0), code.load(u64_, word)});
    code.store(word, wide(code, Op::OpIAdd, earlier, value));
  };
  if (count == kSubgroupLanes) return add();
  code.if_then(compare(code, Op::OpULessThan, lane, constant(static_cast<uint32_t>(count))), add);
}

void WorkgroupFlush::add_sums(InstructionBuilder& code) {
  const size_t end = first_word() + variables_.size();
  for (size_t first = 0, last = 0; first < end; first = last) {
    last = end - first < kSkipped + kSubgroupLanes ? end : first + kSkipped;
    const auto add = [&] {
      for (size_t i = first; i < last; i += lanes()) {
        add_words(code, i, std::min<size_t>(lanes(), last - i));
      }
    };
    if (first == 0) {
      add();
    } else {
      code.if_then(counts_some(code, first - first_word(), last - first), add);
    }
  }
}

// True if a lane counted something in `count` variables, or the words are not yet set.
uint32_t WorkgroupFlush::counts_some(InstructionBuilder& code, size_t first, size_t count) {
  uint32_t all = code.load(u32_, variables_[first]);
  for (size_t i = first + 1; i < first + count; ++i) {
    all = binary(code, Op::OpBitwiseOr, all, code.load(u32_, variables_[i]));
  }
  // Not a vote, for which llvmpipe makes a loop.
  const uint32_t some =
      compare(code, Op::OpINotEqual, subgroup_.bits_of_some(code, all), constant(0));
  return is_alone_ ? some : code.emit(Op::OpLogicalOr, boolean_, {some, is_first_});
}

// The number of counters from the first on whose totals are in adjacent places.
size_t WorkgroupFlush::adjacent(size_t first) const {
  size_t end = first + 1;
  while (end < slots_.size() && has_variable(slots_[first]) &&
         slots_[end].kind == slots_[first].kind &&
         place_of(slots_[end]) == place_of(slots_[end - 1]) + 1) {
    ++end;
  }
  return end - first;
}

// Where the total of counter `index` is, one of those that are adjacent to `first`.
WorkgroupFlush::Field WorkgroupFlush::field(InstructionBuilder& code, size_t first,
                                            uint32_t index) {
  const PrivateSlot& slot = slots_[first];
  if (!has_variable(slot)) return {constant(0), constant(0), editor_.constant_u64(0)};
  const auto distance = static_cast<uint32_t>(place_of(slot) - first);
  const uint32_t place = binary(code, Op::OpIAdd, index, constant(distance));
  const auto word_of = [&](uint32_t variable) {
    return binary(code, Op::OpIAdd, variable, constant(static_cast<uint32_t>(first_word())));
  };
  if (slot.kind == PrivateSlot::Kind::Number) {
    return {word_of(place), constant(0), editor_.constant_u64(~uint64_t{0})};
  }
  static_assert(kFewCounters == 4);
  const uint32_t bits = is_alone_ ? kByteBits : kFieldBits;
  const uint32_t number = binary(code, Op::OpBitwiseAnd, place, constant(3));
  return {word_of(binary(code, Op::OpShiftRightLogical, place, constant(2))),
          binary(code, Op::OpIMul, number, constant(bits)),
          editor_.constant_u64((uint64_t{1} << bits) - 1)};
}

// The count of the workgroup: 64 bits.
uint32_t WorkgroupFlush::total(InstructionBuilder& code, uint32_t index) {
  Field at = field(code, 0, index);
  for (size_t first = adjacent(0); first < slots_.size(); first += adjacent(first)) {
    const Field next = field(code, first, index);
    const uint32_t is_before =
        compare(code, Op::OpULessThan, index, constant(static_cast<uint32_t>(first)));
    const auto choose = [&](uint32_t type, uint32_t earlier, uint32_t later) {
      return earlier == later ? later : code.emit(Op::OpSelect, type, {is_before, earlier, later});
    };
    at = {choose(u32_, at.word, next.word), choose(u32_, at.shift, next.shift),
          choose(u64_, at.mask, next.mask)};
  }
  uint32_t value = editor_.constant_u64(0);
  if (words_ != 0) {
    const uint32_t word = code.load(u64_, pointer(code, at.word));
    value =
        wide(code, Op::OpBitwiseAnd, wide(code, Op::OpShiftRightLogical, word, at.shift), at.mask);
  }
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (has_variable(slots_[i])) continue;
    const uint32_t is_it = compare(code, Op::OpIEqual, index, constant(static_cast<uint32_t>(i)));
    value = code.emit(Op::OpSelect, u64_, {is_it, count_without_variable(slots_[i]), value});
  }
  return value;
}

uint32_t WorkgroupFlush::count_without_variable(const PrivateSlot& slot) {
  const uint32_t subgroups = (invocations_ + kSubgroupLanes - 1) / kSubgroupLanes;
  return editor_.constant_u64(slot.kind == PrivateSlot::Kind::EveryInvocation ? invocations_
                                                                              : subgroups);
}

// record += totals
void WorkgroupFlush::add_totals(InstructionBuilder& code, const RecordPointer& record_pointer) {
  const ShardAddress shard = tools_.record.shard_address(code, record_pointer);
  share_out(code, slots_.size(), [&](uint32_t counter) {
    const uint32_t value = total(code, counter);
    const auto add = [&] { tools_.record.add_wide(code, shard, counter, value); };
    if (slots_.size() < kManyCounters) return add();
    code.if_then(compare(code, Op::OpINotEqual, value, editor_.constant_u64(0)), add);
  });
}

}  // namespace tally::spirv
