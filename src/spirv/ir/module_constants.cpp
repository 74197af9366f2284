// Constants of a module, and their values as a pipeline specializes them.

#include <algorithm>
#include <array>
#include <utility>

#include "spirv/ir/module.h"

namespace tally::spirv {
namespace {

using spv::Op;

constexpr uint64_t low_bits(uint64_t value, uint32_t width) {
  return width >= 64 ? value : value & ((uint64_t{1} << width) - 1);
}

constexpr int64_t as_signed(uint64_t value, uint32_t width) {
  const uint32_t unused = 64 - std::clamp(width, 1u, 64u);
  return static_cast<int64_t>(value << unused) >> unused;
}

bool is_specialized(Op opcode) {
  return opcode == Op::OpSpecConstant || opcode == Op::OpSpecConstantTrue ||
         opcode == Op::OpSpecConstantFalse;
}

std::optional<uint64_t> unary(Op operation, uint64_t a, uint32_t width) {
  switch (operation) {
    case Op::OpUConvert:
      return a;
    case Op::OpSConvert:
      return static_cast<uint64_t>(as_signed(a, width));
    case Op::OpSNegate:
      return 0 - a;
    case Op::OpNot:
      return ~a;
    case Op::OpLogicalNot:
      return a == 0 ? 1 : 0;
    default:
      return std::nullopt;
  }
}

std::optional<uint64_t> quotient(Op operation, uint64_t a, uint64_t b, uint32_t width) {
  if (b == 0) return std::nullopt;
  if (operation == Op::OpUDiv) return a / b;
  if (operation == Op::OpUMod) return a % b;
  const int64_t one = as_signed(a, width), other = as_signed(b, width);
  if (other == -1) return operation == Op::OpSDiv ? 0 - a : 0;
  if (operation == Op::OpSDiv) return static_cast<uint64_t>(one / other);
  int64_t rest = one % other;
  const bool has_wrong_sign = rest != 0 && (rest < 0) != (other < 0);
  if (operation == Op::OpSMod && has_wrong_sign) rest += other;
  return static_cast<uint64_t>(rest);
}

std::optional<uint64_t> shifted(Op operation, uint64_t a, uint64_t by, uint32_t width) {
  if (by >= width) return std::nullopt;
  if (operation == Op::OpShiftLeftLogical) return a << by;
  if (operation == Op::OpShiftRightLogical) return a >> by;
  return static_cast<uint64_t>(as_signed(a, width) >> by);
}

// `width` is the operands' width.
std::optional<uint64_t> binary(Op operation, uint64_t a, uint64_t b, uint32_t width) {
  const int64_t one = as_signed(a, width), other = as_signed(b, width);
  switch (operation) {
    case Op::OpIAdd:
      return a + b;
    case Op::OpISub:
      return a - b;
    case Op::OpIMul:
      return a * b;
    case Op::OpUDiv:
    case Op::OpSDiv:
    case Op::OpUMod:
    case Op::OpSRem:
    case Op::OpSMod:
      return quotient(operation, a, b, width);
    case Op::OpShiftLeftLogical:
    case Op::OpShiftRightLogical:
    case Op::OpShiftRightArithmetic:
      return shifted(operation, a, b, width);
    case Op::OpBitwiseOr:
    case Op::OpLogicalOr:
      return a | b;
    case Op::OpBitwiseAnd:
    case Op::OpLogicalAnd:
      return a & b;
    case Op::OpBitwiseXor:
      return a ^ b;
    case Op::OpIEqual:
    case Op::OpLogicalEqual:
      return a == b;
    case Op::OpINotEqual:
    case Op::OpLogicalNotEqual:
      return a != b;
    case Op::OpULessThan:
      return a < b;
    case Op::OpULessThanEqual:
      return a <= b;
    case Op::OpUGreaterThan:
      return a > b;
    case Op::OpUGreaterThanEqual:
      return a >= b;
    case Op::OpSLessThan:
      return one < other;
    case Op::OpSLessThanEqual:
      return one <= other;
    case Op::OpSGreaterThan:
      return one > other;
    case Op::OpSGreaterThanEqual:
      return one >= other;
    default:
      return std::nullopt;
  }
}

// Computes OpSpecConstantOp of integers and booleans and of vectors of them. Values have the width
// of their type; its other bits are 0. An operand is defined before its use, so one pass is enough.
class ConstantFolder {
 public:
  explicit ConstantFolder(const Module& module) : module_(module) {}

  void fold(const Instruction& constant) {
    fold(constant, static_cast<Op>(constant.operand(0)), constant.operands().subspan(1));
  }

  // An instruction of a function.
  void compute(const Instruction& instruction) {
    fold(instruction, instruction.opcode(), instruction.operands());
  }

  std::unordered_map<uint32_t, uint64_t> scalars() const {
    std::unordered_map<uint32_t, uint64_t> scalars;
    for (const auto& [id, value] : values_) {
      if (value.size == 1) scalars.emplace(id, value.numbers[0]);
    }
    return scalars;
  }

 private:
  static constexpr uint32_t kMaxComponents = 4;
  struct Type {
    uint32_t width;  // of a component; 1 for booleans
    uint32_t components;
  };
  struct Value {
    uint32_t size = 0;
    std::array<uint64_t, kMaxComponents> numbers{};
  };

  using Operands = std::span<const uint32_t>;

  static Value scalar_value(uint64_t number) { return {1, {number}}; }

  void fold(const Instruction& result, Op operation, Operands operands) {
    const std::optional<Type> type = type_of(result.type_id());
    if (!type) return;
    std::optional<Value> value = evaluate(operation, operands, *type);
    if (!value || value->size != type->components) return;
    for (uint64_t& number : value->numbers) number = low_bits(number, type->width);
    values_.emplace(result.result_id(), *value);
  }

  std::optional<Type> type_of(uint32_t id) const {
    auto type = module_.definition(id);
    uint32_t components = 1;
    if (type && type->opcode() == Op::OpTypeVector) {
      components = type->operand(1);
      type = module_.definition(type->operand(0));
    }
    if (!type || components == 0 || components > kMaxComponents) return std::nullopt;
    if (type->opcode() == Op::OpTypeBool) return Type{1, components};
    if (type->opcode() != Op::OpTypeInt || type->operand(0) == 0 || type->operand(0) > 64) {
      return std::nullopt;
    }
    return Type{type->operand(0), components};
  }

  std::optional<uint64_t> scalar_of(uint32_t id) const {
    if (const auto known = values_.find(id); known != values_.end()) {
      return known->second.size == 1 ? std::optional(known->second.numbers[0]) : std::nullopt;
    }
    const auto constant = module_.definition(id);
    const auto type = constant ? type_of(constant->type_id()) : std::nullopt;
    if (!type || type->components != 1) return std::nullopt;
    switch (constant->opcode()) {
      case Op::OpConstantTrue:
      case Op::OpSpecConstantTrue:
        return 1;
      case Op::OpConstantFalse:
      case Op::OpSpecConstantFalse:
      case Op::OpConstantNull:
        return 0;
      case Op::OpConstant:
      case Op::OpSpecConstant:
        return low_bits(constant->operand(0) | uint64_t{constant->operand(1)} << 32, type->width);
      default:
        return std::nullopt;
    }
  }

  std::optional<Value> value_of(uint32_t id) const {
    if (const auto known = values_.find(id); known != values_.end()) return known->second;
    if (const auto scalar = scalar_of(id)) return scalar_value(*scalar);
    const auto constant = module_.definition(id);
    const auto type = constant ? type_of(constant->type_id()) : std::nullopt;
    if (!type) return std::nullopt;
    Value value{type->components};
    if (constant->opcode() == Op::OpConstantNull) return value;
    if (!is_composite(constant->opcode()) || constant->operand_count() != value.size) {
      return std::nullopt;
    }
    for (uint32_t i = 0; i < value.size; ++i) {
      const auto component = scalar_of(constant->operand(i));
      if (!component) return std::nullopt;
      value.numbers[i] = *component;
    }
    return value;
  }

  static bool is_composite(Op opcode) {
    return opcode == Op::OpConstantComposite || opcode == Op::OpSpecConstantComposite;
  }

  std::optional<Value> evaluate(Op operation, Operands operands, const Type& type) const {
    switch (operation) {
      case Op::OpCompositeExtract:
        return operands.size() < 2 ? std::nullopt : extracted(operands);
      case Op::OpCompositeInsert:
        return operands.size() != 3 ? std::nullopt : inserted(operands);
      case Op::OpVectorShuffle:
        return operands.size() < 2 ? std::nullopt : shuffled(operands, type);
      case Op::OpSelect:
        return operands.size() != 3 ? std::nullopt : selected(operands, type);
      default:
        return operands.empty() ? std::nullopt : computed(operation, operands, type);
    }
  }

  std::optional<Value> extracted(Operands operands) const {
    uint32_t from = operands[0];
    for (size_t i = 1; i < operands.size(); ++i) {
      const uint32_t index = operands[i];
      if (const auto vector = value_of(from); vector && i + 1 == operands.size()) {
        if (index >= vector->size) return std::nullopt;
        return scalar_value(vector->numbers[index]);
      }
      const auto composite = module_.definition(from);
      if (!composite || !is_composite(composite->opcode())) return std::nullopt;
      if (index >= composite->operand_count()) return std::nullopt;
      from = composite->operand(index);
    }
    return value_of(from);
  }

  std::optional<Value> inserted(Operands operands) const {
    const auto object = scalar_of(operands[0]);
    auto vector = value_of(operands[1]);
    const uint32_t index = operands[2];
    if (!object || !vector || index >= vector->size) return std::nullopt;
    vector->numbers[index] = *object;
    return vector;
  }

  std::optional<Value> shuffled(Operands operands, const Type& type) const {
    const auto one = value_of(operands[0]), other = value_of(operands[1]);
    if (!one || !other || operands.size() != 2 + type.components) return std::nullopt;
    Value result{type.components};
    for (uint32_t i = 0; i < result.size; ++i) {
      const uint32_t from = operands[2 + i];
      if (from >= one->size + other->size) return std::nullopt;
      result.numbers[i] = from < one->size ? one->numbers[from] : other->numbers[from - one->size];
    }
    return result;
  }

  std::optional<Value> selected(Operands operands, const Type& type) const {
    const auto condition = value_of(operands[0]);
    const auto one = value_of(operands[1]), other = value_of(operands[2]);
    if (!condition || !one || !other || one->size != type.components ||
        other->size != type.components ||
        (condition->size != 1 && condition->size != type.components)) {
      return std::nullopt;
    }
    Value result{type.components};
    for (uint32_t i = 0; i < result.size; ++i) {
      const uint64_t taken = condition->numbers[condition->size == 1 ? 0 : i];
      result.numbers[i] = taken != 0 ? one->numbers[i] : other->numbers[i];
    }
    return result;
  }

  std::optional<Value> computed(Op operation, Operands operands, const Type& type) const {
    const auto operand_type = type_of(module_.type_of(operands[0]));
    const auto one = value_of(operands[0]);
    if (!operand_type || !one || one->size != type.components) return std::nullopt;
    const auto other = operands.size() == 2 ? value_of(operands[1]) : std::optional(Value{});
    if (!other || (operands.size() == 2 && other->size != type.components)) return std::nullopt;
    Value result{type.components};
    for (uint32_t i = 0; i < result.size; ++i) {
      const auto number =
          operands.size() == 1 ? unary(operation, one->numbers[i], operand_type->width)
          : operands.size() == 2
              ? binary(operation, one->numbers[i], other->numbers[i], operand_type->width)
              : std::nullopt;
      if (!number) return std::nullopt;
      result.numbers[i] = *number;
    }
    return result;
  }

  const Module& module_;
  std::unordered_map<uint32_t, Value> values_;
};

}  // namespace

std::optional<uint64_t> Module::constant_value(uint32_t id) const {
  const std::optional<Instruction> constant = definition(id);
  if (!constant || opcode_of(constant->type_id()) != Op::OpTypeInt) return std::nullopt;
  switch (constant->opcode()) {
    case Op::OpConstant:
    case Op::OpSpecConstant:
      return constant->operand(0) | static_cast<uint64_t>(constant->operand(1)) << 32;
    case Op::OpConstantNull:
      return 0;
    case Op::OpSpecConstantOp: {
      const auto folded = folded_.find(id);
      return folded == folded_.end() ? std::nullopt : std::optional(folded->second);
    }
    default:
      return std::nullopt;
  }
}

std::optional<uint64_t> Module::fixed_value(uint32_t id) const {
  if (is_specialization_constant(id)) return std::nullopt;
  switch (opcode_of(id)) {
    case Op::OpConstantTrue:
    case Op::OpSpecConstantTrue:
      return 1;
    case Op::OpConstantFalse:
    case Op::OpSpecConstantFalse:
      return 0;
    default:
      break;
  }
  if (const auto value = constant_value(id)) return value;
  const auto folded = folded_.find(id);
  return folded == folded_.end() ? std::nullopt : std::optional(folded->second);
}

bool Module::is_specialization_constant(uint32_t id) const {
  if (is_fixed_) return false;
  const Op opcode = opcode_of(id);
  return is_specialized(opcode) || opcode == Op::OpSpecConstantOp ||
         opcode == Op::OpSpecConstantComposite;
}

std::vector<Module::DeclaredConstant> Module::declared_constants() const {
  std::unordered_map<uint32_t, uint32_t> in_groups;  // SpecIds, by id
  for (size_t index = 0; index < instruction_count() && !specialization_.empty(); ++index) {
    const Instruction group = instruction(index);
    if (group.opcode() == Op::OpFunction) break;
    if (group.opcode() != Op::OpGroupDecorate) continue;
    const auto spec_id = decoration(group.operand(0), spv::Decoration::SpecId);
    for (size_t i = 1; spec_id && i < group.operand_count(); ++i) {
      in_groups.emplace(group.operand(i), *spec_id);
    }
  }
  std::vector<DeclaredConstant> declared;
  for (const uint32_t index : specialization_) {
    const Instruction constant = instruction(index);
    if (!is_specialized(constant.opcode())) continue;
    auto spec_id = decoration(constant.result_id(), spv::Decoration::SpecId);
    const auto found = in_groups.find(constant.result_id());
    if (!spec_id && found != in_groups.end()) spec_id = found->second;
    if (spec_id) declared.push_back({index, *spec_id});
  }
  return declared;
}

Specialization Module::declared(const Specialization& constants) const {
  Specialization result;
  if (constants.empty()) return result;
  for (const DeclaredConstant& constant : declared_constants()) {
    const SpecializationConstant* given = find_constant(constants, constant.spec_id);
    if (given != nullptr) result.push_back(*given);
  }
  make_valid(result);
  return result;
}

Module Module::specialized(const Specialization& constants) const {
  Module copy = *this;
  if (constants.empty()) return copy;
  copy.set_defaults(constants);
  copy.fold_constants();
  return copy;
}

Module Module::fixed(const Specialization& constants) const {
  Module copy = *this;
  copy.set_defaults(constants);
  copy.is_fixed_ = true;
  copy.fold_constants();
  return copy;
}

void Module::set_defaults(const Specialization& constants) {
  if (constants.empty()) return;
  for (const DeclaredConstant& constant : declared_constants()) {
    const SpecializationConstant* given = find_constant(constants, constant.spec_id);
    if (given != nullptr) set_default(constant.instruction, given->bits);
  }
}

void Module::set_default(uint32_t index, uint64_t bits) {
  const uint32_t offset = offsets_[index];
  const Instruction constant = instruction(index);
  if (constant.opcode() != Op::OpSpecConstant) {
    const Op value = bits != 0 ? Op::OpSpecConstantTrue : Op::OpSpecConstantFalse;
    words_[offset] = (words_[offset] & ~uint32_t{spv::OpCodeMask}) | static_cast<uint32_t>(value);
    return;
  }
  const auto type = definition(constant.type_id());
  const bool is_number =
      type && (type->opcode() == Op::OpTypeInt || type->opcode() == Op::OpTypeFloat);
  if (!is_number || constant.operand_count() == 0) return;
  const uint32_t width = type->operand(0);
  // A literal is sign-extended if its type is signed.
  const bool is_signed = type->opcode() == Op::OpTypeInt && type->operand(1) != 0;
  const uint64_t literal =
      is_signed ? static_cast<uint64_t>(as_signed(bits, width)) : low_bits(bits, width);
  words_[offset + 3] = static_cast<uint32_t>(literal);
  if (constant.operand_count() > 1) words_[offset + 4] = static_cast<uint32_t>(literal >> 32);
}

void Module::fold_constants() {
  ConstantFolder folder(*this);
  for (const uint32_t index : specialization_) {
    const Instruction constant = instruction(index);
    if (constant.opcode() == Op::OpSpecConstantOp) folder.fold(constant);
  }
  for (uint32_t i = 0; is_fixed_ && i < functions_.size(); ++i) {
    for (uint32_t index = functions_[i].begin; index < functions_[i].end; ++index) {
      const Instruction result = instruction(index);
      const bool is_exact = result.result_id() != 0 &&
                            !decoration(result.result_id(), spv::Decoration::RelaxedPrecision);
      if (is_exact) folder.compute(result);
    }
  }
  folded_ = folder.scalars();
}

}  // namespace tally::spirv
