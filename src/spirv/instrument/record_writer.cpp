#include "spirv/instrument/record_writer.h"

#include "probe/record.h"

namespace tally::spirv {
namespace {

using spv::Decoration;
using spv::Op;
using spv::StorageClass;

}  // namespace

RecordWriter::RecordWriter(PassContext& context, Builtins& builtins,
                           const TaggedRecordPointers& pointers, PackedDrawIndex* draw_index,
                           uint32_t counters)
    : context_(context),
      editor_(context.editor),
      builtins_(builtins),
      pointers_(pointers),
      draw_index_(draw_index),
      memory_(context),
      boolean_(editor_.type_bool()),
      u32_(editor_.type_int(32)),
      uvec2_(editor_.type_vector(u32_, 2)) {
  make_counters_type(counters);
  first_counter_ = editor_.new_spec_constant_u32(0);
  stride_ = editor_.new_spec_constant_u32(probe::shard_stride(counters));
  make_add_function();
}

// struct { counter c[counters]; } in physical memory; a counter is one 64-bit or two 32-bit words.
void RecordWriter::make_counters_type(uint32_t counters) {
  const uint32_t words = context_.use_int64 ? 1 : 2;
  counter_type_ = editor_.type_int(context_.use_int64 ? 64 : 32);
  const uint32_t array = editor_.new_array(counter_type_, editor_.constant_u32(counters * words));
  editor_.decorate(array, Decoration::ArrayStride, {probe::kCounterBytes / words});
  const uint32_t block = editor_.new_struct({array});
  editor_.decorate(block, Decoration::Block);
  editor_.decorate_member(block, 0, Decoration::Offset, {0});
  counters_pointer_type_ = editor_.type_pointer(StorageClass::PhysicalStorageBuffer, block);
}

uint32_t RecordWriter::load_record_pointer(InstructionBuilder& code) {
  const uint32_t word = pointers_.load(code, TaggedRecordPointers::Kind::Record);
  return draw_index_ != nullptr ? draw_index_->own_record_pointer(code, word) : word;
}

// (log2 S + 23) / 16, since log2 S is at most 8.
uint32_t RecordWriter::opaque_one(InstructionBuilder& code) {
  static_assert(probe::kMaxShardsLog2 + 23 < 32);
  const uint32_t word = pointers_.load(code, TaggedRecordPointers::Kind::Record);
  const uint32_t low = code.emit(Op::OpCompositeExtract, u32_, {word, 0});
  const uint32_t shards_log2 =
      code.emit(Op::OpBitwiseAnd, u32_, {low, editor_.constant_u32(probe::kShardsLog2Mask)});
  const uint32_t sum = code.emit(Op::OpIAdd, u32_, {shards_log2, editor_.constant_u32(23)});
  return code.emit(Op::OpShiftRightLogical, u32_, {sum, editor_.constant_u32(4)});
}

uint32_t RecordWriter::shard(InstructionBuilder& code, uint32_t shards_log2) {
  uint32_t sum = 0;
  for (const ShardTerm& term : context_.stage.shard_terms) {
    uint32_t value = builtins_.shifted(code, term.builtin, term.size, term.component, term.shift);
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

uint32_t RecordWriter::shard_address(InstructionBuilder& code, uint32_t record_pointer) {
  const auto constant = [&](uint32_t value) { return editor_.constant_u32(value); };
  const uint32_t low = code.emit(Op::OpCompositeExtract, u32_, {record_pointer, 0});
  const uint32_t high = code.emit(Op::OpCompositeExtract, u32_, {record_pointer, 1});
  const uint32_t record = code.emit(
      Op::OpBitwiseAnd, u32_, {low, constant(~static_cast<uint32_t>(probe::kRecordAlignment - 1))});
  uint32_t counters = first_counter_.id;
  if (context_.options.max_shards_log2 != 0) {
    const uint32_t shards_log2 =
        code.emit(Op::OpBitwiseAnd, u32_, {low, constant(probe::kShardsLog2Mask)});
    const uint32_t earlier = code.emit(Op::OpIMul, u32_, {shard(code, shards_log2), stride_.id});
    counters = code.emit(Op::OpIAdd, u32_, {counters, earlier});
  }
  const uint32_t bytes = code.emit(Op::OpShiftLeftLogical, u32_, {counters, constant(3)});
  const uint32_t first = code.emit(Op::OpCompositeConstruct, uvec2_, {record, high});
  return memory_.advance(code, first, bytes);
}

void RecordWriter::add(InstructionBuilder& code, uint32_t shard_address, uint32_t counter,
                       uint32_t value) {
  code.call(editor_.type_void(), add_function_, {shard_address, counter, value});
}

void RecordWriter::add_always(InstructionBuilder& code, uint32_t shard_address, uint32_t counter,
                              uint32_t value) {
  const uint32_t pointer = code.emit(Op::OpBitcast, counters_pointer_type_, {shard_address});
  if (context_.use_int64) {
    emit_add_64(code, pointer, counter, code.emit(Op::OpUConvert, counter_type_, {value}));
  } else {
    emit_add_32(code, pointer, counter, value);
  }
}

// void add(uvec2 shard, uint counter, uint value) { if (value != 0) shard->c[counter] += value; }
void RecordWriter::make_add_function() {
  static_assert(probe::kCounterBytes == 8);
  const uint32_t none = editor_.type_void();
  add_function_ = editor_.new_id();
  editor_.name(add_function_, "tally.add");
  const uint32_t type = editor_.type_function(none, {uvec2_, u32_, u32_});
  InstructionBuilder code = editor_.new_code();
  code.emit_as(add_function_, Op::OpFunction, none, std::vector<uint32_t>{0, type});
  const uint32_t shard = code.emit(Op::OpFunctionParameter, uvec2_, {});
  const uint32_t counter = code.emit(Op::OpFunctionParameter, u32_, {});
  const uint32_t value = code.emit(Op::OpFunctionParameter, u32_, {});
  code.label(code.new_id());
  const uint32_t needed = code.emit(Op::OpINotEqual, boolean_, {value, editor_.constant_u32(0)});
  code.if_then(needed, [&] { add_always(code, shard, counter, value); });
  code.emit(Op::OpReturn);
  code.emit(Op::OpFunctionEnd);
  context_.add_function(code);
}

uint32_t RecordWriter::counter_pointer(InstructionBuilder& code, uint32_t pointer, uint32_t index) {
  const uint32_t type = editor_.type_pointer(StorageClass::PhysicalStorageBuffer, counter_type_);
  return code.access_chain(type, pointer, {editor_.constant_u32(0), index});
}

void RecordWriter::emit_add_64(InstructionBuilder& code, uint32_t pointer, uint32_t counter,
                               uint32_t value) {
  memory_.add(code, counter_type_, counter_pointer(code, pointer, counter), value);
}

uint32_t RecordWriter::high_word(InstructionBuilder& code, uint32_t pointer, uint32_t counter) {
  const uint32_t one = editor_.constant_u32(1);
  const uint32_t low = code.emit(Op::OpShiftLeftLogical, u32_, {counter, one});
  return counter_pointer(code, pointer, code.emit(Op::OpBitwiseOr, u32_, {low, one}));
}

void RecordWriter::emit_add_32(InstructionBuilder& code, uint32_t pointer, uint32_t counter,
                               uint32_t value) {
  const uint32_t one = editor_.constant_u32(1);
  const uint32_t low_index = code.emit(Op::OpShiftLeftLogical, u32_, {counter, one});
  const uint32_t old = memory_.add(code, u32_, counter_pointer(code, pointer, low_index), value);
  const uint32_t sum = code.emit(Op::OpIAdd, u32_, {old, value});
  const uint32_t overflows = code.emit(Op::OpULessThan, boolean_, {sum, old});
  code.if_then(overflows, [&] { memory_.add(code, u32_, high_word(code, pointer, counter), one); });
}

}  // namespace tally::spirv
