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
// The size of the field that sums one flag in a word.
constexpr uint32_t kFieldBits = 16;
constexpr uint64_t kMaxInvocations = (1u << kFieldBits) - 1;
// Variables that a subgroup skips together if it counted nothing in them.
constexpr size_t kSkipped = 16;
// Counters that lanes share out at a time.
constexpr size_t kSharedOut = 32;
constexpr uint32_t kVolatileAccess = word(spv::MemoryAccessMask::Volatile);

// 0 where it is not known.
uint64_t invocations_of(const PassContext& context) {
  const auto size = workgroup_size(context.module(), context.entry).value_or(WorkgroupSize{});
  return uint64_t{size[0]} * size[1] * size[2];
}

bool has_variable(const PrivateSlot& slot) {
  return slot.kind == PrivateSlot::Kind::Flag || slot.kind == PrivateSlot::Kind::Number;
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
  if (invocations <= kSubgroupLanes || invocations > kMaxInvocations) return false;
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
      totals_(variables.size()),
      users_(variables.size()) {
  for (const PrivateSlot& slot : slots) {
    if (has_variable(slot)) users_[slot.variable] = &slot;
  }
  counts_ends_ = barriers_of(tools.context.module()) != Barriers::None;
  const size_t words = variables.size() + (counts_ends_ ? 1 : 0);
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
  const uint32_t word = pointer(code, variables_.size());
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
  const uint32_t word = pointer(code, variables_.size());
  const uint32_t ended = code.load(u64_, word, {kVolatileAccess});
  code.store(word, wide(code, Op::OpIAdd, ended, editor_.constant_u64(1)), {kVolatileAccess});
  is_first_ = compare(code, Op::OpIEqual, ended, editor_.constant_u64(0));
  return compare(code, Op::OpIEqual, ended, editor_.constant_u64(last));
}

// if (last && counts) record += totals;
void WorkgroupFlush::emit(InstructionBuilder& code) {
  const RecordPointer record_pointer = tools_.load_record(code);
  const uint32_t is_last = end_subgroup(code);
  for (size_t first = 0; first < variables_.size(); first += kSkipped) {
    add_sums(code, first, std::min(kSkipped, variables_.size() - first));
  }
  code.if_then(both(code, is_last, tools_.record.is_set(code, record_pointer)), [&] {
    const ShardAddress shard = tools_.record.shard_address(code, record_pointer);
    for (size_t first = 0; first < slots_.size(); first += kSharedOut) {
      add_totals(code, shard, first, std::min(kSharedOut, slots_.size() - first));
    }
  });
}

uint32_t WorkgroupFlush::pointer(InstructionBuilder& code, size_t variable) {
  const uint32_t type = editor_.type_pointer(spv::StorageClass::Workgroup, u64_);
  return code.access_chain(type, words_, {constant(static_cast<uint32_t>(variable))});
}

// The sum of the subgroup's lanes, as a word.
uint32_t WorkgroupFlush::sum(InstructionBuilder& code, size_t variable) {
  const uint32_t value = code.load(u32_, variables_[variable]);
  const PrivateSlot& slot = *users_[variable];
  if (slot.kind == PrivateSlot::Kind::Flag) return spread(code, subgroup_.sum(code, value));
  if (slot.bound < kNarrowBound) {
    return code.emit(Op::OpUConvert, u64_, {subgroup_.sum(code, value)});
  }
  return subgroup_.sum_of_wide(code, code.emit(Op::OpUConvert, u64_, {value}));
}

// The four bytes of a word, as fields of 16 bits.
uint32_t WorkgroupFlush::spread(InstructionBuilder& code, uint32_t bytes) {
  uint32_t word = code.emit(Op::OpUConvert, u64_, {bytes});
  const auto step = [&](uint32_t distance, uint64_t mask) {
    const uint32_t moved = wide(code, Op::OpShiftLeftLogical, word, constant(distance));
    word = wide(code, Op::OpBitwiseAnd, wide(code, Op::OpBitwiseOr, word, moved),
                editor_.constant_u64(mask));
  };
  step(16, 0x0000ffff0000ffff);
  step(8, 0x00ff00ff00ff00ff);
  return word;
}

// words[variable] = sum + (first ? 0 : words[variable]); returned
uint32_t WorkgroupFlush::add_sum(InstructionBuilder& code, size_t variable) {
  const uint32_t word = pointer(code, variable);
  const uint32_t earlier =
      code.emit(Op::OpSelect, u64_, {is_first_, editor_.constant_u64(0), code.load(u64_, word)});
  const uint32_t total = wide(code, Op::OpIAdd, earlier, sum(code, variable));
  code.store(word, total);
  return total;
}

void WorkgroupFlush::add_sums(InstructionBuilder& code, size_t first, size_t count) {
  if (first == 0) {
    for (size_t i = 0; i < count; ++i) totals_[i] = add_sum(code, i);
    return;
  }
  // Lanes that counted nothing add nothing.
  uint32_t all = code.load(u32_, variables_[first]);
  for (size_t i = first + 1; i < first + count; ++i) {
    all = binary(code, Op::OpBitwiseOr, all, code.load(u32_, variables_[i]));
  }
  const uint32_t some = compare(code, Op::OpINotEqual, all, constant(0));
  code.if_then(code.emit(Op::OpLogicalOr, boolean_, {some, is_first_}), [&] {
    for (size_t i = first; i < first + count; ++i) add_sum(code, i);
  });
}

// The count of the workgroup: 64 bits.
uint32_t WorkgroupFlush::total(InstructionBuilder& code, const PrivateSlot& slot) {
  constexpr uint32_t kFlagBits = small_bit(1);
  switch (slot.kind) {
    case PrivateSlot::Kind::EveryInvocation:
      return editor_.constant_u64(invocations_);
    case PrivateSlot::Kind::EverySubgroup:
      return editor_.constant_u64((invocations_ + kSubgroupLanes - 1) / kSubgroupLanes);
    default:
      break;
  }
  uint32_t& word = totals_[slot.variable];
  if (word == 0) word = code.load(u64_, pointer(code, slot.variable));
  if (slot.kind == PrivateSlot::Kind::Number) return word;
  const uint32_t shift = constant(slot.bit / kFlagBits * kFieldBits);
  return wide(code, Op::OpBitwiseAnd, wide(code, Op::OpShiftRightLogical, word, shift),
              editor_.constant_u64(kMaxInvocations));
}

// i = lane;
// if (i < lanes && i < count) do record[first + i] += totals[first + i]; while ((i += lanes) <
// count);
void WorkgroupFlush::add_totals(InstructionBuilder& code, const ShardAddress& shard, size_t first,
                                size_t count) {
  // Those that all subgroups have.
  const uint32_t lanes = (invocations_ - 1) % kSubgroupLanes + 1;
  std::vector<uint32_t> totals;
  for (const PrivateSlot& slot : slots_.subspan(first, count)) totals.push_back(total(code, slot));
  const auto add = [&](uint32_t index) {
    uint32_t value = totals[0];
    for (uint32_t i = 1; i < count; ++i) {
      const uint32_t is_it = compare(code, Op::OpIEqual, index, constant(i));
      value = code.emit(Op::OpSelect, u64_, {is_it, totals[i], value});
    }
    const uint32_t counter =
        binary(code, Op::OpIAdd, index, constant(static_cast<uint32_t>(first)));
    tools_.record.add_wide(code, shard, counter, value);
  };
  const uint32_t end = constant(static_cast<uint32_t>(count));
  const uint32_t lane = tools_.builtins.lane(code);
  const uint32_t adding = constant(std::min(lanes, static_cast<uint32_t>(count)));
  code.if_then(compare(code, Op::OpULessThan, lane, adding), [&] {
    if (count <= lanes) return add(lane);
    code.repeat(u32_, lane, [&](uint32_t index) {
      add(index);
      const uint32_t next = binary(code, Op::OpIAdd, index, constant(lanes));
      return InstructionBuilder::Turn{next, compare(code, Op::OpULessThan, next, end)};
    });
  });
}

}  // namespace tally::spirv
