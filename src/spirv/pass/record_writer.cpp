#include "spirv/pass/record_writer.h"

#include "probe/record.h"

namespace tally::spirv {
namespace {

using spv::Decoration;
using spv::Op;
using spv::StorageClass;

}  // namespace

RecordWriter::RecordWriter(PassContext& context, Builtins& builtins, const AddressWords& words,
                           uint32_t stride)
    : context_(context),
      editor_(context.editor),
      builtins_(builtins),
      words_(words),
      memory_(context),
      stride_(stride),
      boolean_(editor_.type_bool()),
      u32_(editor_.type_int(32)),
      uvec2_(editor_.type_vector(u32_, 2)) {
  make_counters_type();
  first_counter_ = editor_.new_spec_constant_u32(0);
  make_add_function();
}

// struct { counter c[stride]; }, behind a physical pointer; a counter is one 64-bit word or two
// of 32.
void RecordWriter::make_counters_type() {
  const uint32_t words = context_.use_int64 ? 1 : 2;
  counter_type_ = editor_.type_int(context_.use_int64 ? 64 : 32);
  const uint32_t array = editor_.new_array(counter_type_, editor_.constant_u32(stride_ * words));
  editor_.decorate(array, Decoration::ArrayStride, {probe::kCounterBytes / words});
  const uint32_t block = editor_.new_struct({array});
  editor_.decorate(block, Decoration::Block);
  editor_.decorate_member(block, 0, Decoration::Offset, {0});
  counters_pointer_type_ = editor_.type_pointer(StorageClass::PhysicalStorageBuffer, block);
}

uint32_t RecordWriter::shard(Code& code, uint32_t shards_log2) {
  uint32_t sum = 0;
  for (const ShardTerm& term : context_.stage.shard_terms) {
    uint32_t value = builtins_.number(code, term.builtin, term.size, term.component);
    if (term.shift != 0) {
      value = code.emit(Op::OpShiftRightLogical, u32_, {value, editor_.constant_u32(term.shift)});
    }
    if (term.factor != 1) {
      value = code.emit(Op::OpIMul, u32_, {value, editor_.constant_u32(term.factor)});
    }
    sum = sum == 0 ? value : code.emit(Op::OpIAdd, u32_, {sum, value});
  }
  const uint32_t shards =
      code.emit(Op::OpShiftLeftLogical, u32_, {editor_.constant_u32(1), shards_log2});
  const uint32_t mask = code.emit(Op::OpISub, u32_, {shards, editor_.constant_u32(1)});
  return code.emit(Op::OpBitwiseAnd, u32_, {sum, mask});
}

uint32_t RecordWriter::shard_address(Code& code, uint32_t address_word) {
  const auto constant = [&](uint32_t value) { return editor_.constant_u32(value); };
  const uint32_t low = code.emit(Op::OpCompositeExtract, u32_, {address_word, 0});
  const uint32_t high = code.emit(Op::OpCompositeExtract, u32_, {address_word, 1});
  const uint32_t shards_log2 =
      code.emit(Op::OpBitwiseAnd, u32_, {low, constant(probe::kShardsLog2Mask)});
  const uint32_t record = code.emit(
      Op::OpBitwiseAnd, u32_, {low, constant(~static_cast<uint32_t>(probe::kRecordAlignment - 1))});
  uint32_t counters = code.emit(Op::OpShiftLeftLogical, u32_, {first_counter_.id, shards_log2});
  if (context_.options.max_shards_log2 != 0) {
    const uint32_t earlier =
        code.emit(Op::OpIMul, u32_, {shard(code, shards_log2), constant(stride_)});
    counters = code.emit(Op::OpIAdd, u32_, {counters, earlier});
  }
  const uint32_t bytes = code.emit(Op::OpShiftLeftLogical, u32_, {counters, constant(3)});
  const uint32_t first = code.emit(Op::OpCompositeConstruct, uvec2_, {record, high});
  return memory_.advance(code, first, bytes);
}

void RecordWriter::add(Code& code, uint32_t shard_address, uint32_t counter, uint32_t value) {
  code.call(editor_.type_void(), add_function_, {shard_address, counter, value});
}

void RecordWriter::add_wide(Code& code, uint32_t shard_address, uint32_t counter, uint32_t low,
                            uint32_t high) {
  const uint32_t pointer = code.emit(Op::OpBitcast, counters_pointer_type_, {shard_address});
  const uint32_t index = editor_.constant_u32(counter);
  if (context_.use_int64) {
    const uint32_t words = code.emit(Op::OpCompositeConstruct, uvec2_, {low, high});
    const uint32_t wide = code.emit(Op::OpBitcast, counter_type_, {words});
    memory_.add(code, counter_type_, counter_pointer(code, pointer, index), wide);
  } else {
    emit_add_32(code, pointer, index, low);
    memory_.add(code, u32_, counter_pointer(code, pointer, editor_.constant_u32(2 * counter + 1)),
                high);
  }
}

// void add(uvec2 shard, uint counter, uint value) { if (value != 0) shard->c[counter] += value; }
void RecordWriter::make_add_function() {
  static_assert(probe::kCounterBytes == 8);
  const uint32_t none = editor_.type_void();
  add_function_ = editor_.new_id();
  editor_.name(add_function_, "tally.add");
  const uint32_t type = editor_.type_function(none, {uvec2_, u32_, u32_});
  Code code = editor_.new_code();
  code.emit_as(add_function_, Op::OpFunction, none, std::vector<uint32_t>{0, type});
  const uint32_t shard = code.emit(Op::OpFunctionParameter, uvec2_, {});
  const uint32_t counter = code.emit(Op::OpFunctionParameter, u32_, {});
  const uint32_t value = code.emit(Op::OpFunctionParameter, u32_, {});
  code.label(code.new_id());
  const uint32_t needed = code.emit(Op::OpINotEqual, boolean_, {value, editor_.constant_u32(0)});
  code.if_then(needed, [&] {
    const uint32_t pointer = code.emit(Op::OpBitcast, counters_pointer_type_, {shard});
    if (context_.use_int64) {
      emit_add_64(code, pointer, counter, value);
    } else {
      emit_add_32(code, pointer, counter, value);
    }
  });
  code.emit(Op::OpReturn);
  code.emit(Op::OpFunctionEnd);
  context_.add_function(code);
}

uint32_t RecordWriter::counter_pointer(Code& code, uint32_t pointer, uint32_t index) {
  const uint32_t type = editor_.type_pointer(StorageClass::PhysicalStorageBuffer, counter_type_);
  return code.access_chain(type, pointer, {editor_.constant_u32(0), index});
}

void RecordWriter::emit_add_64(Code& code, uint32_t pointer, uint32_t counter, uint32_t value) {
  const uint32_t target = counter_pointer(code, pointer, counter);
  const uint32_t wide = code.emit(Op::OpUConvert, counter_type_, {value});
  memory_.add(code, counter_type_, target, wide);
}

void RecordWriter::emit_add_32(Code& code, uint32_t pointer, uint32_t counter, uint32_t value) {
  const uint32_t one = editor_.constant_u32(1);
  const uint32_t low_index = code.emit(Op::OpShiftLeftLogical, u32_, {counter, one});
  const uint32_t low = counter_pointer(code, pointer, low_index);
  const uint32_t old = memory_.add(code, u32_, low, value);
  const uint32_t sum = code.emit(Op::OpIAdd, u32_, {old, value});
  const uint32_t overflows = code.emit(Op::OpULessThan, boolean_, {sum, old});
  code.if_then(overflows, [&] {
    const uint32_t high_index = code.emit(Op::OpBitwiseOr, u32_, {low_index, one});
    const uint32_t high = counter_pointer(code, pointer, high_index);
    memory_.add(code, u32_, high, one);
  });
}

}  // namespace tally::spirv
