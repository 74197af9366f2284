#include "spirv/ir/types.h"

#include <limits>

#include "spirv/ir/opcode.h"

namespace tally::spirv {
namespace {

constexpr uint64_t kMaxSize = std::numeric_limits<uint32_t>::max();

constexpr auto size_product = saturating_product<kMaxSize>;

TypeShape scalar(TypeShape::Kind kind, uint32_t width) {
  TypeShape shape;
  shape.kind = kind;
  shape.width = static_cast<uint8_t>(std::min(width, 255u));
  shape.bytes = (shape.width + 7u) / 8u;
  return shape;
}

}  // namespace

TypeTable::TypeTable(const Module& module) : module_(&module) {
  const size_t count =
      module.functions().empty() ? module.instruction_count() : module.functions().front().begin;
  shapes_.reserve(count);
  for (size_t index = 0; index < count; ++index) {
    shapes_.push_back(make(module.instruction(index)));
  }
}

const TypeShape& TypeTable::shape(uint32_t type_id) const {
  static constexpr TypeShape kNoType;
  const uint32_t index = module_->definition_index(type_id);
  return index < shapes_.size() ? shapes_[index] : kNoType;
}

// Finds only types declared before: a forward reference, which only a pointer may have, gives None.
TypeShape TypeTable::make(const Instruction& type) {
  using Kind = TypeShape::Kind;
  switch (type.opcode()) {
    case spv::Op::OpTypeBool:
      return scalar(Kind::Bool, 32);
    case spv::Op::OpTypeInt:
      return scalar(Kind::Int, type.operand(0));
    case spv::Op::OpTypeFloat:
      return scalar(Kind::Float, type.operand(0));
    case spv::Op::OpTypePointer:
      return scalar(Kind::Pointer, 64);
    case spv::Op::OpTypeVector:
      return repeated(shape(type.operand(0)), type.operand(1));
    case spv::Op::OpTypeMatrix: {
      const TypeShape& column = shape(type.operand(0));
      TypeShape matrix = repeated(column, type.operand(1));
      matrix.rows = column.components;
      matrix.columns = type.operand(1);
      return matrix;
    }
    case spv::Op::OpTypeArray:
      return repeated(shape(type.operand(0)), constant_or_one(type.operand(1)));
    case spv::Op::OpTypeStruct:
      return composite(type);
    case spv::Op::OpTypeCooperativeMatrixNV:
      return cooperative_matrix(type);
    default:
      break;
  }
  if (type.opcode() == newer::OpTypeUntypedPointerKHR) return scalar(Kind::Pointer, 64);
  if (type.opcode() == newer::OpTypeVectorIdEXT) {
    return repeated(shape(type.operand(0)), constant_or_one(type.operand(1)));
  }
  if (type.opcode() == newer::OpTypeCooperativeMatrixKHR) return cooperative_matrix(type);
  return {};
}

uint64_t TypeTable::constant_or_one(uint32_t id) {
  depends_on_specialization_ |= module_->is_specialization_constant(id);
  return std::min(module_->constant_value(id).value_or(1), kMaxSize);
}

TypeShape TypeTable::cooperative_matrix(const Instruction& type) {
  TypeShape matrix;
  matrix.kind = TypeShape::Kind::CooperativeMatrix;
  matrix.rows = constant_or_one(type.operand(2));
  matrix.columns = constant_or_one(type.operand(3));
  return matrix;
}

// Components of 4 or 6 bits are packed.
TypeShape TypeTable::repeated(TypeShape element, uint64_t count) const {
  const bool packed = element.components == 1 && element.width % 8 != 0;
  element.components = size_product(element.components, count);
  element.bytes =
      packed ? (size_product(element.width, count) + 7) / 8 : size_product(element.bytes, count);
  element.rows = element.components;
  element.columns = 1;
  return element;
}

TypeShape TypeTable::composite(const Instruction& type) const {
  TypeShape all;
  all.kind = TypeShape::Kind::Composite;
  all.components = 0;
  for (const uint32_t member : type.operands()) {
    const TypeShape& one = shape(member);
    all.components = saturating_sum<kMaxSize>(all.components, one.components);
    all.bytes = saturating_sum<kMaxSize>(all.bytes, one.bytes);
  }
  return all;
}

}  // namespace tally::spirv
