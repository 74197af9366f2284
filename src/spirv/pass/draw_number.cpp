#include "spirv/pass/draw_number.h"

#include "probe/record.h"

namespace tally::spirv {

using spv::Decoration;
using spv::Op;
using spv::StorageClass;

DrawNumber::DrawNumber(PassContext& context, Builtins& builtins, const AddressWords& words)
    : context_(context),
      editor_(context.editor),
      builtins_(builtins),
      words_(words),
      memory_(context),
      u32_(editor_.type_int(32)) {
  const std::optional<uint32_t> location = context.options.draw_numbers->location;
  if (!location) return;
  const bool reads = context.entry.model == spv::ExecutionModel::Fragment;
  const StorageClass storage = reads ? StorageClass::Input : StorageClass::Output;
  variable_ = editor_.new_global_variable(editor_.type_pointer(storage, u32_), storage);
  editor_.name(variable_, "tally.draw_number");
  editor_.decorate(variable_, Decoration::Location, {*location});
  editor_.decorate(variable_, Decoration::Flat);
  editor_.add_to_interface(context.entry, variable_);
}

void DrawNumber::begin(Code& code) {
  if (context_.entry.model != spv::ExecutionModel::Vertex || variable_ == 0) return;
  code.store(variable_, number(code, words_.load(code, AddressWords::Word::Record)));
}

uint32_t DrawNumber::own_word(Code& code, uint32_t address_word) {
  static_assert(probe::kRecordAlignment > (probe::kNumberedDraws | probe::kShardsLog2Mask));
  const uint32_t stride = editor_.constant_u32(static_cast<uint32_t>(probe::kRecordAlignment));
  const uint32_t bytes = code.emit(Op::OpIMul, u32_, {number(code, address_word), stride});
  return memory_.advance(code, address_word, bytes);
}

uint32_t DrawNumber::number(Code& code, uint32_t address_word) {
  if (context_.entry.model == spv::ExecutionModel::Fragment) return code.load(u32_, variable_);
  const uint32_t numbered = words_.has_numbered_draws(code, address_word);
  const uint32_t index = builtins_.number(code, spv::BuiltIn::InstanceIndex, 1, 0);
  const uint32_t high = code.emit(Op::OpShiftRightLogical, u32_,
                                  {index, editor_.constant_u32(probe::kDrawNumberShift)});
  return code.emit(Op::OpSelect, u32_, {numbered, high, editor_.constant_u32(0)});
}

}  // namespace tally::spirv
