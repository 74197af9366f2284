#include "spirv/instrument/tagged_record_pointers.h"

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
  } else if (Status status = pointers.make_push_constant(); !status) {
    return status.error();
  }
  return pointers;
}

TaggedRecordPointers::TaggedRecordPointers(PassContext& context)
    : editor_(context.editor),
      context_(context),
      u32_(editor_.type_int(32)),
      two_(context.options.regions.has_value()),
      wide_(context.options.driver.prefers_small_code && context.use_int64 && !two_),
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
  const auto member =
      moves_push_constants(context_.module(), context_.entry, address)
          ? move_push_constants(editor_, context_.entry, type, address.push_constant_offset,
                                *address.block_address)
          : add_push_constant(editor_, context_.entry, type, address.push_constant_offset);
  if (!member) return member.error();
  variable_ = member->variable;
  member_ = member->member;
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

}  // namespace tally::spirv
