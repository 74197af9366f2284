#include "spirv/instrument/record_writer.h"

#include <vector>

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
      uvec2_(editor_.type_vector(u32_, 2)),
      counters_(counters),
      counter_type_(editor_.type_int(context.use_int64 ? 64 : 32)) {
  first_byte_ = editor_.new_spec_constant_u32(0);
  stride_bytes_ =
      editor_.new_spec_constant_u32(probe::counter_bytes(probe::shard_stride(counters)));
}

// struct { counter c[counters]; } in physical memory; a counter is one 64-bit or two 32-bit words.
uint32_t RecordWriter::counters_pointer_type() {
  if (counters_pointer_type_ != 0) return counters_pointer_type_;
  const uint32_t words = context_.use_int64 ? 1 : 2;
  const uint32_t array = editor_.new_array(counter_type_, editor_.constant_u32(counters_ * words));
  editor_.decorate(array, Decoration::ArrayStride, {probe::kCounterBytes / words});
  const uint32_t block = editor_.new_struct({array});
  editor_.decorate_member(block, 0, Decoration::Offset, {0});
  return counters_pointer_type_ = new_pointer_type(block);
}

// struct { counter c0, c1 ...; }: lavapipe lowers the index of an array to more instructions.
uint32_t RecordWriter::members_pointer_type() {
  if (members_pointer_type_ != 0) return members_pointer_type_;
  const uint32_t block = editor_.new_struct(std::vector<uint32_t>(counters_, counter_type_));
  for (uint32_t i = 0; i < counters_; ++i) {
    editor_.decorate_member(block, i, Decoration::Offset, {i * probe::kCounterBytes});
  }
  return members_pointer_type_ = new_pointer_type(block);
}

uint32_t RecordWriter::new_pointer_type(uint32_t block) {
  editor_.name(block, "tally.counters");
  editor_.decorate(block, Decoration::Block);
  return editor_.type_pointer(StorageClass::PhysicalStorageBuffer, block);
}

RecordPointer RecordWriter::load_record_pointer(InstructionBuilder& code) {
  const uint32_t tagged = pointers_.load(code, TaggedRecordPointers::Kind::Record);
  return {tagged, draw_index_ != nullptr ? draw_index_->read(code, tagged) : 0};
}

RecordPointer RecordWriter::load_in_entry_point(InstructionBuilder& code) {
  const uint32_t tagged = pointers_.load(code, TaggedRecordPointers::Kind::Record);
  return {tagged, draw_index_ != nullptr ? draw_index_->read_in_entry_point(code, tagged) : 0};
}

// (log2 S + 23) / 16, since log2 S is at most 8.
uint32_t RecordWriter::opaque_one(InstructionBuilder& code) {
  static_assert(probe::kMaxShardsLog2 + 23 < 32);
  const uint32_t word = pointers_.load(code, TaggedRecordPointers::Kind::Record);
  const uint32_t shards_log2 = emit(code, Op::OpBitwiseAnd, pointers_.low_word(code, word),
                                    editor_.constant_u32(probe::kShardsLog2Mask));
  const uint32_t sum = code.emit(Op::OpIAdd, u32_, {shards_log2, editor_.constant_u32(23)});
  return code.emit(Op::OpShiftRightLogical, u32_, {sum, editor_.constant_u32(4)});
}

// True if the stage's additions are spread over the shards.
bool RecordWriter::has_shards() const {
  const bool one_thread =
      context_.options.driver.prefers_small_code && !context_.stage.lanes_are_invocations;
  return context_.options.max_shards_log2 != 0 && !one_thread;
}

// Reading the instance index costs NVIDIA's driver and hardware time in each draw.
bool RecordWriter::follows_from_sm() const {
  const auto reads_instance = [&] {
    return find_builtin(context_.module(), context_.entry, StorageClass::Input,
                        spv::BuiltIn::InstanceIndex)
        .has_value();
  };
  return context_.options.sm_builtins && context_.stage.model == spv::ExecutionModel::Vertex &&
         draw_index_ == nullptr && !reads_instance();
}

uint32_t RecordWriter::shard_terms(InstructionBuilder& code) {
  if (follows_from_sm()) {
    editor_.add_capability(spv::Capability::ShaderSMBuiltinsNV);
    editor_.add_extension("SPV_NV_shader_sm_builtins");
    return builtins_.number(code, spv::BuiltIn::SMIDNV, 1, 0);
  }
  uint32_t sum = 0;
  for (const ShardTerm& term : context_.stage.shard_terms) {
    const bool is_float = Builtins::is_float(term.builtin);
    uint32_t value = is_float ? builtins_.shifted(code, term)
                              : builtins_.number(code, term.builtin, term.size, term.component);
    const auto apply = [&](Op opcode, uint32_t number, uint32_t neutral) {
      if (number != neutral) value = emit(code, opcode, value, editor_.constant_u32(number));
    };
    if (!is_float) apply(Op::OpShiftRightLogical, term.shift, 0);
    apply(Op::OpIMul, term.factor, 1);
    sum = sum == 0 ? value : emit(code, Op::OpIAdd, sum, value);
  }
  return sum;
}

uint32_t RecordWriter::shard(InstructionBuilder& code, uint32_t shards_log2) {
  const uint32_t shards =
      code.emit(Op::OpShiftLeftLogical, u32_, {editor_.constant_u32(1), shards_log2});
  const uint32_t mask = code.emit(Op::OpISub, u32_, {shards, editor_.constant_u32(1)});
  return emit(code, Op::OpBitwiseAnd, shard_terms(code), mask);
}

uint32_t RecordWriter::record_type() { return context_.use_int64 ? editor_.type_int(64) : uvec2_; }

// The record pointer without its tags.
uint32_t RecordWriter::record_address(InstructionBuilder& code, uint32_t tagged) {
  constexpr uint64_t kAddressMask = ~(probe::kRecordAlignment - 1);
  if (context_.use_int64) {
    return code.emit(Op::OpBitwiseAnd, record_type(),
                     {pointers_.as_u64(code, tagged), editor_.constant_u64(kAddressMask)});
  }
  const uint32_t low = code.emit(Op::OpCompositeExtract, u32_, {tagged, 0});
  const uint32_t high = code.emit(Op::OpCompositeExtract, u32_, {tagged, 1});
  const uint32_t mask = editor_.constant_u32(static_cast<uint32_t>(kAddressMask));
  const uint32_t address = emit(code, Op::OpBitwiseAnd, low, mask);
  return code.emit(Op::OpCompositeConstruct, uvec2_, {address, high});
}

// The shard's number.
uint32_t RecordWriter::shard_of(InstructionBuilder& code, const RecordPointer& record_pointer) {
  static_assert(probe::kRecordAlignment > (probe::kNumberedDraws | probe::kShardsLog2Mask));
  const uint32_t low = pointers_.low_word(code, record_pointer.tagged);
  const uint32_t mask = editor_.constant_u32(probe::kShardsLog2Mask);
  return shard(code, emit(code, Op::OpBitwiseAnd, low, mask));
}

ShardAddress RecordWriter::shard_address(InstructionBuilder& code,
                                         const RecordPointer& record_pointer) {
  uint32_t bytes = first_byte_.id;
  if (has_shards()) {
    const uint32_t earlier =
        emit(code, Op::OpIMul, shard_of(code, record_pointer), stride_bytes_.id);
    bytes = emit(code, Op::OpIAdd, earlier, bytes);
  }
  if (record_pointer.draw_bytes != 0) {
    bytes = emit(code, Op::OpIAdd, record_pointer.draw_bytes, bytes);
  }
  return {record_address(code, record_pointer.tagged), bytes};
}

ShardAddress RecordWriter::advance(InstructionBuilder& code, const ShardAddress& from,
                                   uint32_t counters) {
  const uint32_t size = editor_.constant_u32(probe::kCounterBytes);
  const uint32_t distance = emit(code, Op::OpIMul, counters, size);
  return {from.record, emit(code, Op::OpIAdd, from.bytes, distance)};
}

void RecordWriter::add(InstructionBuilder& code, const ShardAddress& shard, uint32_t counter,
                       uint32_t value) {
  if (add_function_ == 0) make_add_function();
  code.call(editor_.type_void(), add_function_, {shard.record, shard.bytes, counter, value});
}

void RecordWriter::add_always(InstructionBuilder& code, const ShardAddress& shard, uint32_t counter,
                              uint32_t value) {
  add_at(code, counters_pointer(code, shard), counter, value);
}

void RecordWriter::add_at(InstructionBuilder& code, uint32_t pointer, uint32_t counter,
                          uint32_t value) {
  if (context_.use_int64) {
    emit_add_64(code, pointer, counter, value);
  } else {
    emit_add_32(code, pointer, counter, value);
  }
}

// void add(record, uint bytes, uint counter, uint value) {
//   if (value != 0) (record + bytes)->c[counter] += value;
// }
void RecordWriter::make_add_function() {
  static_assert(probe::kCounterBytes == 8);
  const uint32_t none = editor_.type_void();
  add_function_ = editor_.new_id();
  editor_.name(add_function_, "tally.add");
  const uint32_t type = editor_.type_function(none, {record_type(), u32_, u32_, u32_});
  InstructionBuilder code = editor_.new_code();
  code.emit_as(add_function_, Op::OpFunction, none, std::vector<uint32_t>{0, type});
  ShardAddress shard{};
  shard.record = code.emit(Op::OpFunctionParameter, record_type(), {});
  shard.bytes = code.emit(Op::OpFunctionParameter, u32_, {});
  const uint32_t counter = code.emit(Op::OpFunctionParameter, u32_, {});
  const uint32_t value = code.emit(Op::OpFunctionParameter, u32_, {});
  code.label(code.new_id());
  const uint32_t needed = code.emit(Op::OpINotEqual, boolean_, {value, editor_.constant_u32(0)});
  code.if_then(needed, [&] { add_always(code, shard, counter, value); });
  code.emit(Op::OpReturn);
  code.emit(Op::OpFunctionEnd);
  context_.add_function(code);
}

uint32_t RecordWriter::counters_pointer(InstructionBuilder& code, const ShardAddress& address) {
  return pointer_at(code, address, counters_pointer_type());
}

uint32_t RecordWriter::members_pointer(InstructionBuilder& code, const ShardAddress& address) {
  return pointer_at(code, address,
                    context_.use_int64 ? members_pointer_type() : counters_pointer_type());
}

void RecordWriter::add_to_member(InstructionBuilder& code, uint32_t pointer, uint32_t counter,
                                 uint32_t value) {
  if (context_.use_int64) {
    add_word_to_member(code, pointer, counter, code.emit(Op::OpUConvert, counter_type_, {value}));
  } else {
    emit_add_32(code, pointer, editor_.constant_u32(counter), value);
  }
}

void RecordWriter::add_one_to_member(InstructionBuilder& code, uint32_t pointer, uint32_t counter) {
  if (context_.use_int64) {
    add_word_to_member(code, pointer, counter, editor_.constant_u64(1));
  } else {
    emit_add_32(code, pointer, editor_.constant_u32(counter), editor_.constant_u32(1));
  }
}

void RecordWriter::add_word_to_member(InstructionBuilder& code, uint32_t pointer, uint32_t counter,
                                      uint32_t word) {
  const uint32_t type = editor_.type_pointer(StorageClass::PhysicalStorageBuffer, counter_type_);
  memory_.add(code, counter_type_,
              code.access_chain(type, pointer, {editor_.constant_u32(counter)}), word);
}

uint32_t RecordWriter::pointer_at(InstructionBuilder& code, const ShardAddress& address,
                                  uint32_t type) {
  if (!context_.use_int64) {
    const uint32_t sum = memory_.advance(code, address.record, address.bytes);
    return code.emit(Op::OpBitcast, type, {sum});
  }
  const uint32_t bytes = code.emit(Op::OpUConvert, record_type(), {address.bytes});
  const uint32_t sum = code.emit(Op::OpIAdd, record_type(), {address.record, bytes});
  return code.emit(Op::OpConvertUToPtr, type, {sum});
}

uint32_t RecordWriter::word_pointer(InstructionBuilder& code, uint32_t pointer, uint32_t index) {
  const uint32_t type = editor_.type_pointer(StorageClass::PhysicalStorageBuffer, counter_type_);
  return code.access_chain(type, pointer, {editor_.constant_u32(0), index});
}

void RecordWriter::emit_add_64(InstructionBuilder& code, uint32_t pointer, uint32_t counter,
                               uint32_t value) {
  const uint32_t number = code.emit(Op::OpUConvert, counter_type_, {value});
  memory_.add(code, counter_type_, word_pointer(code, pointer, counter), number);
}

void RecordWriter::emit_add_32(InstructionBuilder& code, uint32_t pointer, uint32_t counter,
                               uint32_t value) {
  const uint32_t one = editor_.constant_u32(1);
  const uint32_t low = emit(code, Op::OpShiftLeftLogical, counter, one);
  const uint32_t old = memory_.add(code, u32_, word_pointer(code, pointer, low), value);
  const uint32_t sum = emit(code, Op::OpIAdd, old, value);
  const uint32_t overflows = code.emit(Op::OpULessThan, boolean_, {sum, old});
  code.if_then(overflows, [&] {
    const uint32_t high = emit(code, Op::OpBitwiseOr, low, one);
    memory_.add(code, u32_, word_pointer(code, pointer, high), one);
  });
}

}  // namespace tally::spirv
