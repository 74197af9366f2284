#include "spirv/instrument/region_place.h"

namespace tally::spirv {

using probe::RegionWord;
using spv::Op;
using spv::StorageClass;

RegionPlace::RegionPlace(PassContext& context, Builtins& builtins)
    : context_(context),
      editor_(context.editor),
      builtins_(builtins),
      memory_(context),
      boolean_(editor_.type_bool()),
      u32_(editor_.type_int(32)) {
  block_type_ = make_block_type(u32_, 4);
}

// struct { word words[n]; } needs neither pointer arithmetic nor OpArrayLength.
uint32_t RegionPlace::make_block_type(uint32_t word_type, uint32_t word_bytes) {
  const uint32_t words = probe::kRegionAccumulatorBytes / word_bytes;
  const uint32_t array = editor_.new_array(word_type, constant(words));
  editor_.decorate(array, spv::Decoration::ArrayStride, {word_bytes});
  const uint32_t block = editor_.new_struct({array});
  editor_.decorate(block, spv::Decoration::Block);
  editor_.decorate_member(block, 0, spv::Decoration::Offset, {0});
  return editor_.type_pointer(StorageClass::PhysicalStorageBuffer, block);
}

uint32_t RegionPlace::binary(InstructionBuilder& code, Op op, uint32_t a, uint32_t b) const {
  return code.emit(op, u32_, {a, b});
}
uint32_t RegionPlace::compare(InstructionBuilder& code, Op op, uint32_t a, uint32_t b) const {
  return code.emit(op, boolean_, {a, b});
}
uint32_t RegionPlace::both(InstructionBuilder& code, uint32_t a, uint32_t b) const {
  return code.emit(Op::OpLogicalAnd, boolean_, {a, b});
}

uint32_t RegionPlace::load(InstructionBuilder& code, uint32_t block, RegionWord index) const {
  const uint32_t pointer_type = editor_.type_pointer(StorageClass::PhysicalStorageBuffer, u32_);
  const uint32_t pointer =
      code.access_chain(pointer_type, block, {constant(0), constant(word(index))});
  return code.load(u32_, pointer, {word(spv::MemoryAccessMask::Aligned), 4});
}

RegionPlace::Pair RegionPlace::load_pair(InstructionBuilder& code, uint32_t block,
                                         RegionWord index) {
  const uint32_t u64 = editor_.type_int(64);
  if (pairs_type_ == 0) {
    editor_.add_capability(spv::Capability::Int64);
    pairs_type_ = make_block_type(u64, 8);
  }
  const uint32_t pairs = code.emit(Op::OpBitcast, pairs_type_, {block});
  const uint32_t pointer =
      code.access_chain(editor_.type_pointer(StorageClass::PhysicalStorageBuffer, u64), pairs,
                        {constant(0), constant(word(index) / 2)});
  const uint32_t both = code.load(u64, pointer, {word(spv::MemoryAccessMask::Aligned), 8});
  const uint32_t halves = code.emit(Op::OpBitcast, editor_.type_vector(u32_, 2), {both});
  return {.first = code.emit(Op::OpCompositeExtract, u32_, {halves, 0}),
          .second = code.emit(Op::OpCompositeExtract, u32_, {halves, 1})};
}

RegionPlace::Pair RegionPlace::split(InstructionBuilder& code, uint32_t pair) const {
  return {.first = binary(code, Op::OpBitwiseAnd, pair, constant(0xffff)),
          .second = binary(code, Op::OpShiftRightLogical, pair, constant(16))};
}

uint32_t RegionPlace::layer(InstructionBuilder& code, const Load& load) {
  const RegionOptions& options = *context_.options.regions;
  uint32_t layer = 0;
  if (options.layer_capability) {
    editor_.add_capability(*options.layer_capability);
    layer = builtins_.number(code, spv::BuiltIn::Layer, 1, 0);
  }
  if (!options.multiview) return layer;
  editor_.add_capability(spv::Capability::MultiView);
  editor_.add_extension("SPV_KHR_multiview", make_version(1, 3));
  const uint32_t view = builtins_.number(code, spv::BuiltIn::ViewIndex, 1, 0);
  const uint32_t multiview =
      compare(code, Op::OpINotEqual, load(RegionWord::Multiview), constant(0));
  return code.emit(Op::OpSelect, u32_, {multiview, view, layer == 0 ? constant(0) : layer});
}

uint32_t RegionPlace::find(InstructionBuilder& code, const Load& load) {
  const Pair offset = split(code, load(RegionWord::Offset));
  const Pair size_log2 = split(code, load(RegionWord::SizeLog2));
  const auto [columns, rows] = split(code, load(RegionWord::Regions));
  const auto index = [&](uint32_t component, uint32_t begin, uint32_t log2) {
    const uint32_t pixel = builtins_.number(code, spv::BuiltIn::FragCoord, 4, component);
    return binary(code, Op::OpShiftRightLogical, binary(code, Op::OpISub, pixel, begin), log2);
  };
  const uint32_t column = index(0, offset.first, size_log2.first);
  const uint32_t row = index(1, offset.second, size_log2.second);
  uint32_t exists = both(code, compare(code, Op::OpULessThan, column, columns),
                         compare(code, Op::OpULessThan, row, rows));
  uint32_t line = row;
  if (const uint32_t own_layer = layer(code, load); own_layer != 0) {
    const uint32_t layers = load(RegionWord::Layers);
    exists = both(code, exists, compare(code, Op::OpULessThan, own_layer, layers));
    line = binary(code, Op::OpIAdd, binary(code, Op::OpIMul, own_layer, rows), row);
  }
  const uint32_t region = binary(code, Op::OpIAdd, binary(code, Op::OpIMul, line, columns), column);
  return code.emit(Op::OpSelect, u32_, {exists, region, constant(kNowhere)});
}

uint32_t RegionPlace::accumulators(InstructionBuilder& code, uint32_t block) const {
  return code.emit(Op::OpCompositeConstruct, editor_.type_vector(u32_, 2),
                   {load(code, block, RegionWord::AccumulatorsLow),
                    load(code, block, RegionWord::AccumulatorsHigh)});
}

uint32_t RegionPlace::advance(InstructionBuilder& code, uint32_t accumulators,
                              uint32_t region) const {
  return memory_.advance(
      code, accumulators,
      binary(code, Op::OpIMul, region, constant(probe::kRegionAccumulatorBytes)));
}

uint32_t RegionPlace::accumulator(InstructionBuilder& code, uint32_t address,
                                  uint32_t index) const {
  const uint32_t block = code.emit(Op::OpBitcast, block_type_, {address});
  const uint32_t pointer_type = editor_.type_pointer(StorageClass::PhysicalStorageBuffer, u32_);
  return code.access_chain(pointer_type, block, {constant(0), constant(index)});
}

void RegionPlace::add(InstructionBuilder& code, uint32_t address, uint32_t index,
                      uint32_t value) const {
  memory_.add(code, u32_, accumulator(code, address, index), value);
}

void RegionPlace::add_to_chosen(InstructionBuilder& code, uint32_t address, uint32_t index,
                                uint32_t value) const {
  const uint32_t block = code.emit(Op::OpBitcast, block_type_, {address});
  const uint32_t pointer_type = editor_.type_pointer(StorageClass::PhysicalStorageBuffer, u32_);
  memory_.add(code, u32_, code.access_chain(pointer_type, block, {constant(0), index}), value);
}

}  // namespace tally::spirv
