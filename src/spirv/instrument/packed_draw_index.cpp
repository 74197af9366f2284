#include "spirv/instrument/packed_draw_index.h"

#include "probe/record.h"

namespace tally::spirv {

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

}  // namespace tally::spirv
