#include "spirv/instrument/record_writer.h"

#include <algorithm>
#include <vector>

#include "probe/record.h"
#include "spirv/instrument/push_constant.h"

namespace tally::spirv {

using spv::Decoration;
using spv::Op;
using spv::StorageClass;

bool moves_push_constants(const Module& module, const EntryPoint& entry,
                          const AddressSource& address) {
  return address.kind == AddressSource::Kind::PushConstant && address.block_address &&
         push_constants_extend_beyond(module, entry, *address.block_address);
}

Result<TaggedRecordPointers> TaggedRecordPointers::make(PassContext& context) {
  TaggedRecordPointers pointers(context);
  if (context.options.address.kind == AddressSource::Kind::UniformBuffer) {
    pointers.make_uniform_buffer();
  } else
    TALLY_TRY(pointers.make_push_constant());
  return pointers;
}

TaggedRecordPointers::TaggedRecordPointers(PassContext& context)
    : editor_(context.editor),
      context_(context),
      u32_(editor_.type_int(32)),
      two_(context.options.regions || context.options.sites.memory_lanes != 0),
      wide_(context.options.driver.prefers_small_code && context.use_int64 &&
            !context.options.regions),
      type_(wide_ ? editor_.type_int(64) : editor_.type_vector(u32_, 2)) {}

uint32_t TaggedRecordPointers::new_pointers_struct() const {
  const uint32_t type = two_ ? editor_.new_struct({type_, type_}) : editor_.new_struct({type_});
  editor_.decorate_member(type, 0, Decoration::Offset, {0});
  if (two_) editor_.decorate_member(type, 1, Decoration::Offset, {8});
  return type;
}

Status TaggedRecordPointers::make_push_constant() {
  const AddressSource& address = context_.options.address;
  const uint32_t type = two_ ? new_pointers_struct() : type_;
  const auto member = TALLY_TRY(
      moves_push_constants(context_.module(), context_.entry, address)
          ? move_push_constants(editor_, context_.entry, type, address.push_constant_offset,
                                *address.block_address)
          : add_push_constant(editor_, context_.entry, type, address.push_constant_offset));
  variable_ = member.variable;
  member_ = member.member;
  return {};
}

void TaggedRecordPointers::make_uniform_buffer() {
  const uint32_t block = new_pointers_struct();
  editor_.decorate(block, Decoration::Block);
  storage_ = StorageClass::Uniform;
  variable_ = editor_.new_global_variable(editor_.type_pointer(storage_, block), storage_);
  editor_.decorate(variable_, Decoration::DescriptorSet, {context_.options.address.set});
  editor_.decorate(variable_, Decoration::Binding, {context_.options.address.binding});
  editor_.add_to_interface(context_.entry, variable_);
}

uint32_t TaggedRecordPointers::load(InstructionBuilder& code, Kind kind) const {
  const uint32_t pointer_type = editor_.type_pointer(storage_, type_);
  const uint32_t index = editor_.constant_u32(word(kind));
  uint32_t pointer = 0;
  if (storage_ == StorageClass::Uniform) {
    pointer = code.access_chain(pointer_type, variable_, {index});
  } else if (two_) {
    pointer = code.access_chain(pointer_type, variable_, {editor_.constant_u32(member_), index});
  } else {
    pointer = code.access_chain(pointer_type, variable_, {editor_.constant_u32(member_)});
  }
  return code.load(type_, pointer);
}

uint32_t TaggedRecordPointers::low_word(InstructionBuilder& code, uint32_t pointer) const {
  return wide_ ? code.emit(Op::OpUConvert, u32_, {pointer})
               : code.emit(Op::OpCompositeExtract, u32_, {pointer, 0});
}

uint32_t TaggedRecordPointers::as_u64(InstructionBuilder& code, uint32_t pointer) const {
  return wide_ ? pointer : code.emit(Op::OpBitcast, editor_.type_int(64), {pointer});
}

uint32_t TaggedRecordPointers::as_words(InstructionBuilder& code, uint32_t pointer) const {
  return wide_ ? code.emit(Op::OpBitcast, editor_.type_vector(u32_, 2), {pointer}) : pointer;
}

uint32_t TaggedRecordPointers::is_set(InstructionBuilder& code, uint32_t record_pointer) const {
  if (context_.options.driver.prefers_small_code && context_.use_int64) {
    return code.emit(Op::OpINotEqual, editor_.type_bool(),
                     {as_u64(code, record_pointer), editor_.constant_u64(0)});
  }
  const uint32_t low = code.emit(Op::OpCompositeExtract, u32_, {record_pointer, 0});
  const uint32_t high = code.emit(Op::OpCompositeExtract, u32_, {record_pointer, 1});
  const uint32_t any = code.emit(Op::OpBitwiseOr, u32_, {low, high});
  return code.emit(Op::OpINotEqual, editor_.type_bool(), {any, editor_.constant_u32(0)});
}

uint32_t TaggedRecordPointers::numbered_draws(InstructionBuilder& code,
                                              uint32_t record_pointer) const {
  return code.emit(Op::OpBitwiseAnd, u32_,
                   {low_word(code, record_pointer), editor_.constant_u32(probe::kNumberedDraws)});
}

using spv::Decoration;
using spv::Op;
using spv::StorageClass;

PackedDrawIndex::PackedDrawIndex(PassContext& context, Builtins& builtins,
                                 const TaggedRecordPointers& pointers)
    : context_(context),
      editor_(context.editor),
      builtins_(builtins),
      pointers_(pointers),
      u32_(editor_.type_int(32)) {
  const std::optional<uint32_t> location = context.options.packed_draw_indices->location;
  if (!location) return;
  const bool reads = context.entry.model == spv::ExecutionModel::Fragment;
  const StorageClass storage = reads ? StorageClass::Input : StorageClass::Output;
  variable_ = editor_.new_global_variable(editor_.type_pointer(storage, u32_), storage);
  editor_.name(variable_, "tally.packed_draw_index");
  editor_.decorate(variable_, Decoration::Location, {*location});
  editor_.decorate(variable_, Decoration::Flat);
  editor_.add_to_interface(context.entry, variable_);
}

void PackedDrawIndex::begin(InstructionBuilder& code) {
  if (context_.entry.model != spv::ExecutionModel::Vertex || variable_ == 0) return;
  at_start_ = read(code, pointers_.load(code, TaggedRecordPointers::Kind::Record));
  code.store(variable_, at_start_);
}

uint32_t PackedDrawIndex::read(InstructionBuilder& code, uint32_t record_pointer) {
  if (context_.entry.model == spv::ExecutionModel::Fragment) return code.load(u32_, variable_);
  static_assert(probe::kRecordAlignment == 2 * probe::kNumberedDraws);
  const uint32_t tag = pointers_.numbered_draws(code, record_pointer);
  const uint32_t index = builtins_.number(code, spv::BuiltIn::InstanceIndex, 1, 0);
  const uint32_t high = code.emit(Op::OpShiftRightLogical, u32_,
                                  {index, editor_.constant_u32(probe::kPackedDrawIndexShift)});
  const uint32_t half = code.emit(Op::OpIMul, u32_, {high, tag});
  return code.emit(Op::OpIAdd, u32_, {half, half});
}

namespace {

using spv::BuiltIn;
using spv::Op;

bool holds_instance_index(uint32_t builtin) {
  return builtin == word(BuiltIn::InstanceIndex) || builtin == word(BuiltIn::BaseInstance);
}

// The variables that contain a packed draw index, ascending.
Result<std::vector<uint32_t>> find_variables(const Module& module) {
  if (module.decorates_in_groups()) return Error{"it has decoration groups"};
  std::vector<uint32_t> variables;
  for (const uint32_t index : module.decorations()) {
    const Instruction decoration = module.instruction(index);
    const bool of_member = decoration.opcode() == Op::OpMemberDecorate;
    if (!of_member && decoration.opcode() != Op::OpDecorate) continue;
    if (decoration.operand(of_member ? 2 : 1) != word(spv::Decoration::BuiltIn)) continue;
    if (!holds_instance_index(decoration.operand(of_member ? 3 : 2))) continue;
    if (of_member) return Error{"its instance index is a member of a block"};
    variables.push_back(decoration.operand(0));
  }
  return variables;
}

// The operands of an instruction that may be pointers. May include literals, masks and scopes that
// look like one of the variables; the shader is then refused although it could be supported.
std::span<const uint32_t> pointers(const Module& module, const Instruction& instruction) {
  const std::span<const uint32_t> operands = instruction.operands();
  switch (instruction.opcode()) {
    case Op::OpLoad:
      return operands.first(std::min<size_t>(1, operands.size()));
    case Op::OpStore:
    case Op::OpCopyMemory:
      return operands.first(std::min<size_t>(2, operands.size()));
    case Op::OpExtInst:
      if (is_debug_information(module.ext_inst_set(instruction.operand(0)))) return {};
      return operands.subspan(std::min<size_t>(2, operands.size()));
    case Op::OpLine:
    case Op::OpFunction:
    case Op::OpVectorShuffle:
    case Op::OpCompositeExtract:
    case Op::OpCompositeInsert:
    case Op::OpLoopMerge:
    case Op::OpSelectionMerge:
    case Op::OpBranchConditional:
    case Op::OpSwitch:
      return {};
    default:
      return operands;
  }
}

class InstanceIndex {
 public:
  InstanceIndex(PassContext& context, const TaggedRecordPointers& pointers)
      : context_(context),
        editor_(context.editor),
        pointers_(pointers),
        u32_(editor_.type_int(32)) {}

  Status hide(std::span<const uint32_t> variables) {
    if (variables.empty()) return {};
    const Module& module = context_.module();
    const auto is_one = [&](uint32_t id) { return std::ranges::binary_search(variables, id); };
    for (const uint32_t f : module.reachable_functions(context_.entry.function_id)) {
      const Function& function = module.functions()[f];
      for (uint32_t index = function.begin; index < function.end; ++index) {
        const Instruction instruction = module.instruction(index);
        if (std::ranges::none_of(pointers(module, instruction), is_one)) continue;
        TALLY_TRY(hide_in(index, instruction));
      }
    }
    if (mask_ != 0) make_mask_function();
    return {};
  }

 private:
  Status hide_in(uint32_t index, const Instruction& use) {
    if (use.opcode() != Op::OpLoad) {
      return Error{"it uses its instance index in other ways than loading it"};
    }
    const auto type = context_.module().definition(use.type_id());
    if (!type || type->opcode() != Op::OpTypeInt || type->operand(0) != 32) {
      return Error{"its instance index is not a 32-bit integer"};
    }
    if (mask_ == 0) mask_ = editor_.new_id();
    InstructionBuilder code = editor_.new_code();
    const uint32_t whole = code.emit(Op::OpLoad, use.type_id(), use.operands());
    const uint32_t mask = code.call(u32_, mask_);
    code.emit_as(use.result_id(), Op::OpBitwiseAnd, use.type_id(),
                 std::vector<uint32_t>{whole, mask});
    editor_.replace(index, code);
    return {};
  }

  // uint mask() { return (draw indices are packed) ? 0xffff : 0xffffffff; }
  void make_mask_function() {
    editor_.name(mask_, "tally.instance_mask");
    InstructionBuilder code = editor_.new_code();
    code.emit_as(mask_, Op::OpFunction, u32_, std::vector{0u, editor_.type_function(u32_)});
    code.label(code.new_id());
    const uint32_t tag =
        pointers_.numbered_draws(code, pointers_.load(code, TaggedRecordPointers::Kind::Record));
    const uint32_t packed =
        code.emit(Op::OpINotEqual, editor_.type_bool(), {tag, editor_.constant_u32(0)});
    const uint32_t low_half = editor_.constant_u32((1u << probe::kPackedDrawIndexShift) - 1);
    const uint32_t mask =
        code.emit(Op::OpSelect, u32_, {packed, low_half, editor_.constant_u32(~0u)});
    code.emit(Op::OpReturnValue, {mask});
    code.emit(Op::OpFunctionEnd);
    context_.add_function(code);
  }

  PassContext& context_;
  Editor& editor_;
  const TaggedRecordPointers& pointers_;
  uint32_t u32_;
  uint32_t mask_ = 0;  // the function, 0 if it is not needed
};

}  // namespace

Status hide_packed_draw_index(PassContext& context, const TaggedRecordPointers& pointers) {
  const auto variables = TALLY_TRY(find_variables(context.module()));
  return InstanceIndex(context, pointers).hide(variables);
}

namespace {

using spv::Decoration;
using spv::Op;
using spv::StorageClass;

}  // namespace

RecordWriter::RecordWriter(PassContext& context, Builtins& builtins,
                           const TaggedRecordPointers& pointers, PackedDrawIndex* draw_index,
                           const CounterPlan& plan)
    : context_(context),
      editor_(context.editor),
      builtins_(builtins),
      pointers_(pointers),
      draw_index_(draw_index),
      memory_(context),
      boolean_(editor_.type_bool()),
      u32_(editor_.type_int(32)),
      uvec2_(editor_.type_vector(u32_, 2)),
      counters_(plan.record_counters()),
      members_(plan.counter_count),
      counter_type_(editor_.type_int(context.use_int64 ? 64 : 32)) {
  first_byte_ = editor_.new_spec_constant_u32(0);
  stride_bytes_ =
      editor_.new_spec_constant_u32(probe::counter_bytes(probe::shard_stride(counters_)));
}

// struct { counter c[counters]; } in physical memory; a counter is one 64-bit or two 32-bit words.
uint32_t RecordWriter::counters_pointer_type() {
  if (counters_pointer_type_ != 0) return counters_pointer_type_;
  const uint32_t words = context_.use_int64 ? 1 : 2;
  return counters_pointer_type_ = array_pointer_type(counter_type_, probe::kCounterBytes / words);
}

// To all counters, as elements of so many bytes.
uint32_t RecordWriter::array_pointer_type(uint32_t type, uint32_t bytes) {
  const uint32_t count = counters_ * (probe::kCounterBytes / bytes);
  const uint32_t array = editor_.new_array(type, editor_.constant_u32(count));
  editor_.decorate(array, Decoration::ArrayStride, {bytes});
  const uint32_t block = editor_.new_struct({array});
  editor_.decorate_member(block, 0, Decoration::Offset, {0});
  return new_pointer_type(block);
}

// struct { counter c0, c1 ...; }: lavapipe lowers the index of an array to more instructions.
uint32_t RecordWriter::members_pointer_type() {
  if (members_pointer_type_ != 0) return members_pointer_type_;
  const uint32_t block = editor_.new_struct(std::vector<uint32_t>(members_, counter_type_));
  for (uint32_t i = 0; i < members_; ++i) {
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

ShardAddress RecordWriter::first_shard(InstructionBuilder& code,
                                       const RecordPointer& record_pointer) {
  uint32_t bytes = first_byte_.id;
  if (record_pointer.draw_bytes != 0) {
    bytes = emit(code, Op::OpIAdd, record_pointer.draw_bytes, bytes);
  }
  return {record_address(code, record_pointer.tagged), bytes};
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

void RecordWriter::add_wide(InstructionBuilder& code, const ShardAddress& shard, uint32_t counter,
                            uint32_t value) {
  const uint32_t pointer = counters_pointer(code, shard);
  memory_.add(code, counter_type_, word_pointer(code, pointer, counter), value);
}

void RecordWriter::raise(InstructionBuilder& code, const RecordPointer& record_pointer,
                         uint32_t counter, uint32_t value) {
  const uint32_t pointer = counters_pointer(code, first_shard(code, record_pointer));
  if (!context_.use_int64) {
    counter = emit(code, Op::OpShiftLeftLogical, counter, editor_.constant_u32(1));
  } else {
    value = code.emit(Op::OpUConvert, counter_type_, {value});
  }
  code.emit(Op::OpAtomicUMax, counter_type_,
            {word_pointer(code, pointer, counter), memory_.scope(), memory_.relaxed(), value});
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
