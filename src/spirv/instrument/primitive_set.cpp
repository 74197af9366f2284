#include "spirv/instrument/primitive_set.h"

namespace tally::spirv {

using spv::Op;
using spv::StorageClass;

PrimitiveSet::PrimitiveSet(PassContext& context, Builtins& builtins)
    : context_(context),
      editor_(context.editor),
      builtins_(builtins),
      boolean_(editor_.type_bool()),
      u32_(editor_.type_int(32)),
      u64_(editor_.type_int(64)),
      memory_(context),
      scope_(memory_.scope()),
      relaxed_(memory_.relaxed()) {
  editor_.add_capability(spv::Capability::Int64);
  editor_.add_capability(spv::Capability::Int64Atomics);
  const uint32_t array = editor_.new_runtime_array(u64_);
  editor_.decorate(array, spv::Decoration::ArrayStride, {8});
  const uint32_t block = editor_.new_struct({array});
  editor_.decorate(block, spv::Decoration::Block);
  editor_.decorate_member(block, 0, spv::Decoration::Offset, {0});
  slots_type_ = editor_.type_pointer(StorageClass::PhysicalStorageBuffer, block);
  slot_pointer_ = editor_.type_pointer(StorageClass::PhysicalStorageBuffer, u64_);
}

uint32_t PrimitiveSet::binary(InstructionBuilder& code, Op op, uint32_t a, uint32_t b) const {
  return code.emit(op, u32_, {a, b});
}
uint32_t PrimitiveSet::compare(InstructionBuilder& code, Op op, uint32_t a, uint32_t b) const {
  return code.emit(op, boolean_, {a, b});
}

// 0 if the preceding stages do not write PrimitiveId.
uint32_t PrimitiveSet::primitive(InstructionBuilder& code) {
  if (!context_.options.regions->primitive_ids) return constant(0);
  editor_.add_capability(spv::Capability::Geometry);
  return builtins_.number(code, spv::BuiltIn::PrimitiveId, 1, 0);
}

uint32_t PrimitiveSet::first_slot(InstructionBuilder& code, uint32_t primitive, uint32_t draw) {
  const uint32_t a = binary(code, Op::OpIMul, primitive, constant(0x9e3779b1));
  const uint32_t b = binary(code, Op::OpIMul, draw, constant(0x85ebca77));
  uint32_t hash = binary(code, Op::OpBitwiseXor, a, b);
  for (const uint32_t multiplier : {0x2c1b3c6du, 0x297a2d39u}) {
    const uint32_t high = binary(code, Op::OpShiftRightLogical, hash, constant(16));
    hash = binary(code, Op::OpBitwiseXor, hash, high);
    hash = binary(code, Op::OpIMul, hash, constant(multiplier));
  }
  return binary(code, Op::OpBitwiseXor, hash,
                binary(code, Op::OpShiftRightLogical, hash, constant(16)));
}

// do { found = slot[i]; if (!found) found = claim; } while (found is another key); i = i + 1 ...
void PrimitiveSet::insert(InstructionBuilder& code, const Place& place) {
  const uint32_t id = primitive(code);
  const uint32_t uvec2 = editor_.type_vector(u32_, 2);
  const uint32_t pair = code.emit(Op::OpCompositeConstruct, uvec2, {id, place.draw});
  const uint32_t key = code.emit(Op::OpBitcast, u64_, {pair});
  const uint32_t slots = binary(code, Op::OpShiftLeftLogical, constant(1), place.slots_log2);
  const uint32_t mask = binary(code, Op::OpISub, slots, constant(1));
  const uint32_t base = binary(code, Op::OpIMul, place.region, slots);
  const uint32_t table = code.emit(Op::OpBitcast, slots_type_, {place.tables});
  const uint32_t first = first_slot(code, id, place.draw);
  code.repeat(u32_, constant(0), [&](uint32_t turn) {
    const uint32_t in_table =
        binary(code, Op::OpBitwiseAnd, binary(code, Op::OpIAdd, first, turn), mask);
    const uint32_t index = binary(code, Op::OpIAdd, base, in_table);
    const uint32_t slot = code.access_chain(slot_pointer_, table, {constant(0), index});
    const uint32_t found = try_slot(code, place, slot, key);
    const uint32_t other =
        code.emit(Op::OpLogicalAnd, boolean_,
                  {compare(code, Op::OpINotEqual, found, key),
                   compare(code, Op::OpINotEqual, found, editor_.constant_u64(0))});
    const uint32_t next = binary(code, Op::OpIAdd, turn, constant(1));
    const uint32_t more = compare(code, Op::OpULessThan, next, slots);
    return InstructionBuilder::Turn{next, code.emit(Op::OpLogicalAnd, boolean_, {other, more})};
  });
}

// The old content of the slot; 0 if the key was inserted or exceeds the limit.
uint32_t PrimitiveSet::try_slot(InstructionBuilder& code, const Place& place, uint32_t slot,
                                uint32_t key) {
  const uint32_t seen = code.emit(Op::OpAtomicLoad, u64_, {slot, scope_, relaxed_});
  const uint32_t is_empty = compare(code, Op::OpIEqual, seen, editor_.constant_u64(0));
  const uint32_t before = code.new_id();
  code.branch(before);
  code.label(before);
  uint32_t claimed = 0;
  const uint32_t inside = code.new_id();
  const uint32_t end = code.new_id();
  const uint32_t after = code.new_id();
  code.selection_merge(after);
  code.branch_if(is_empty, inside, after);
  code.label(inside);
  claimed = claim(code, place, slot, key);
  code.branch(end);
  code.label(end);
  code.branch(after);
  code.label(after);
  return code.phi(u64_, {{claimed, end}, {seen, before}});
}

// Once the limit is reached, the slot is only read, by exchanging 0 for 0: another invocation may
// have inserted the same key. A key beyond the limit makes the counter exceed the limit.
uint32_t PrimitiveSet::claim(InstructionBuilder& code, const Place& place, uint32_t slot,
                             uint32_t key) {
  const uint32_t none = editor_.constant_u64(0);
  const uint32_t count = code.emit(Op::OpAtomicLoad, u32_, {place.counter, scope_, relaxed_});
  const uint32_t has_room = compare(code, Op::OpULessThan, count, place.limit);
  const uint32_t value = code.emit(Op::OpSelect, u64_, {has_room, key, none});
  const uint32_t found =
      code.emit(Op::OpAtomicCompareExchange, u64_, {slot, scope_, relaxed_, relaxed_, value, none});
  const uint32_t was_empty = compare(code, Op::OpIEqual, found, none);
  const uint32_t counts = compare(code, Op::OpULessThanEqual, count, place.limit);
  code.if_then(code.emit(Op::OpLogicalAnd, boolean_, {was_empty, counts}),
               [&] { memory_.add(code, u32_, place.counter, constant(1)); });
  return found;
}

}  // namespace tally::spirv
