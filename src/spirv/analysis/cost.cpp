#include "spirv/analysis/cost.h"

#include <algorithm>

#include "spirv/ir/newer_enums.h"

namespace tally::spirv {
namespace {

using catalogue::Number;

constexpr Number kNumbers[] = {
    Number::Instructions,
    Number::Fma,
    Number::Float16,
    Number::Float32,
    Number::Float64,
    Number::Int8,
    Number::Int16,
    Number::Int32,
    Number::Int64,
    Number::Division,
    Number::Logic,
    Number::Conversion,
    Number::SpecialFunction,
    Number::Derivative,
    Number::Move,
    Number::Address,
    Number::LocalLoads,
    Number::LocalStores,
    Number::BufferLoads,
    Number::BufferBytesLoaded,
    Number::BufferStores,
    Number::BufferBytesStored,
    Number::UniformLoads,
    Number::UniformBytesLoaded,
    Number::SharedLoads,
    Number::SharedBytesLoaded,
    Number::SharedStores,
    Number::SharedBytesStored,
    Number::Atomics,
    Number::TextureSamples,
    Number::TextureGathers,
    Number::TextureFetches,
    Number::ImageLoads,
    Number::ImageStores,
    Number::ResourceQueries,
    Number::VaryingLoads,
    Number::VaryingStores,
    Number::Interpolations,
    Number::Emits,
    Number::ControlFlow,
    Number::Barriers,
    Number::SubgroupOperations,
    Number::RayTraversals,
    Number::RayAccesses,
    Number::MatrixMultiplyAdds,
    Number::MatrixOperations,
    Number::OtherInstructions,
};
static_assert(std::size(kNumbers) == kCostClassCount);

}  // namespace

catalogue::Number counter_of(CostClass cost) { return kNumbers[static_cast<size_t>(cost)]; }

std::optional<CostClass> cost_class_of(catalogue::Number number) {
  const auto* found = std::ranges::find(kNumbers, number);
  if (found == std::end(kNumbers)) return std::nullopt;
  return static_cast<CostClass>(found - kNumbers);
}

InstructionMix& InstructionMix::operator+=(const InstructionMix& other) {
  for (size_t index = 0; index < kCostClassCount; ++index) {
    add(static_cast<CostClass>(index), other.counts_[index]);
  }
  return *this;
}

InstructionMix cost_of(const Module& module, const Instruction& instruction) {
  return CostModel(module).cost_of(instruction);
}

bool is_executed(const Module& module, const Instruction& instruction) {
  const CostRule rule = opcode_layout(instruction.opcode()).cost;
  if (rule != CostRule::ExtInst) return rule != CostRule::None;
  const ExtInstSet set = module.ext_inst_set(instruction.operand(0));
  return set != ExtInstSet::NonSemantic && set != ExtInstSet::ShaderDebugInfo100 &&
         set != ExtInstSet::OpenClDebugInfo100;
}

CostModel::CostModel(const Module& module) : module_(&module), types_(module) {
  for (const uint32_t index : module.decorations()) {
    const Instruction decoration = module.instruction(index);
    if (decoration.opcode() == spv::Op::OpDecorate &&
        decoration.operand(1) == static_cast<uint32_t>(spv::Decoration::BufferBlock)) {
      buffer_blocks_.insert(decoration.operand(0));
    }
  }
  if (buffer_blocks_.empty()) return;
  const size_t end =
      module.functions().empty() ? module.instruction_count() : module.functions().front().begin;
  for (size_t index = 0; index < end; ++index) {
    const Instruction type = module.instruction(index);
    const bool is_array =
        type.opcode() == spv::Op::OpTypeArray || type.opcode() == spv::Op::OpTypeRuntimeArray;
    if (is_array && buffer_blocks_.contains(type.operand(0))) {
      buffer_blocks_.insert(type.result_id());
    }
  }
}

void CostModel::add(const Instruction& instruction, InstructionMix& mix) const {
  if (!is_executed(*module_, instruction)) return;
  mix.add(CostClass::Instruction);
  switch (opcode_layout(instruction.opcode()).cost) {
    case CostRule::None:
      return;
    case CostRule::ExtInst:
      return add_ext_inst(instruction, mix);
    case CostRule::Arithmetic: {
      const TypeShape& shape = value_shape(instruction);
      return add_arithmetic(shape, shape.components, mix);
    }
    case CostRule::Comparison: {
      const TypeShape& shape = types_.shape_of(instruction.operand(0));
      return add_arithmetic(shape, shape.components, mix);
    }
    case CostRule::Division:
      return add_by_component(instruction, CostClass::Division, mix);
    case CostRule::Product:
      return add_product(instruction, mix);
    case CostRule::IntegerDot:
      return add_integer_dot(instruction, mix);
    case CostRule::Logic:
      return add_by_component(instruction, CostClass::Logic, mix);
    case CostRule::Conversion:
      return add_by_component(instruction, CostClass::Conversion, mix);
    case CostRule::Derivative:
      return add_by_component(instruction, CostClass::Derivative, mix);
    case CostRule::Move:
      return add_by_component(instruction, CostClass::Move, mix);
    case CostRule::Address:
      return mix.add(CostClass::Address);
    case CostRule::Load:
      return add_load(memory_of(instruction.operand(0)), types_.shape(instruction.type_id()), mix);
    case CostRule::Store: {
      const bool is_vector = instruction.opcode() == newer::OpCooperativeVectorStoreNV;
      const uint32_t object = instruction.operand(is_vector ? 2 : 1);
      return add_store(memory_of(instruction.operand(0)), types_.shape_of(object), mix);
    }
    case CostRule::CopyMemory:
      return add_copy(instruction, mix);
    case CostRule::TensorRead:
      return add_load(Memory::Buffer, types_.shape(instruction.type_id()), mix);
    case CostRule::TensorWrite:
      return add_store(Memory::Buffer, types_.shape_of(instruction.operand(2)), mix);
    case CostRule::BuiltIn:
      return mix.add(CostClass::VaryingLoad);
    case CostRule::Atomic:
      return mix.add(CostClass::Atomic);
    case CostRule::TextureSample:
      return mix.add(CostClass::TextureSample);
    case CostRule::TextureGather:
      return mix.add(CostClass::TextureGather);
    case CostRule::TextureFetch:
      return mix.add(CostClass::TextureFetch);
    case CostRule::ImageLoad:
      return mix.add(CostClass::ImageLoad);
    case CostRule::ImageStore:
      return mix.add(CostClass::ImageStore);
    case CostRule::ResourceQuery:
      return mix.add(CostClass::ResourceQuery);
    case CostRule::Emit:
      return mix.add(CostClass::Emit);
    case CostRule::ControlFlow:
      return mix.add(CostClass::ControlFlow);
    case CostRule::Barrier:
      return mix.add(CostClass::Barrier);
    case CostRule::Subgroup:
      return add_by_component(instruction, CostClass::Subgroup, mix);
    case CostRule::SubgroupVote:
      return mix.add(CostClass::Subgroup);
    case CostRule::RayTraversal:
      return mix.add(CostClass::RayTraversal);
    case CostRule::RayAccess:
      return mix.add(CostClass::RayAccess);
    case CostRule::MatrixMulAdd:
      return add_matrix(instruction, mix);
    case CostRule::Matrix:
      return mix.add(CostClass::Matrix);
    case CostRule::Other:
      return mix.add(CostClass::Other);
  }
}

bool CostModel::depends_on_specialization(const Instruction& instruction) const {
  const auto is_specialized = [&](size_t operand) {
    return module_->is_specialization_constant(instruction.operand(operand));
  };
  const spv::Op opcode = instruction.opcode();
  if (opcode == spv::Op::OpCopyMemorySized) return is_specialized(2);
  if (opcode == newer::OpCooperativeVectorMatrixMulNV) {
    return is_specialized(5) || is_specialized(6);
  }
  if (opcode == newer::OpCooperativeVectorMatrixMulAddNV) {
    return is_specialized(8) || is_specialized(9);
  }
  return false;
}

// The shape that determines the cost of an operation: its result's, or its operand's if the
// result is a pair (carry, borrow, extended product).
const TypeShape& CostModel::value_shape(const Instruction& instruction) const {
  const TypeShape& result = types_.shape(instruction.type_id());
  if (result.kind != TypeShape::Kind::Composite) return result;
  return types_.shape_of(instruction.operand(0));
}

void CostModel::add_arithmetic(const TypeShape& shape, uint64_t count, InstructionMix& mix) const {
  switch (shape.kind) {
    case TypeShape::Kind::Float:
      return mix.add(shape.width <= 16   ? CostClass::Float16
                     : shape.width <= 32 ? CostClass::Float32
                                         : CostClass::Float64,
                     count);
    case TypeShape::Kind::Int:
    case TypeShape::Kind::Pointer:
      return mix.add(shape.width <= 8    ? CostClass::Int8
                     : shape.width <= 16 ? CostClass::Int16
                     : shape.width <= 32 ? CostClass::Int32
                                         : CostClass::Int64,
                     count);
    case TypeShape::Kind::Bool:
      return mix.add(CostClass::Logic, count);
    case TypeShape::Kind::CooperativeMatrix:
      return mix.add(CostClass::Matrix);
    case TypeShape::Kind::None:
    case TypeShape::Kind::Composite:
      return mix.add(CostClass::Other);
  }
}

void CostModel::add_by_component(const Instruction& instruction, CostClass cost,
                                 InstructionMix& mix) const {
  const TypeShape& shape = types_.shape(instruction.type_id());
  // OpAny and OpAll read every component.
  const bool is_reduction =
      instruction.opcode() == spv::Op::OpAny || instruction.opcode() == spv::Op::OpAll;
  if (is_reduction) return mix.add(cost, types_.shape_of(instruction.operand(0)).components);
  const bool is_matrix =
      shape.kind == TypeShape::Kind::CooperativeMatrix && cost != CostClass::Move;
  if (is_matrix) return mix.add(CostClass::Matrix);
  mix.add(cost, shape.components);
}

void CostModel::add_product(const Instruction& instruction, InstructionMix& mix) const {
  const TypeShape& left = types_.shape_of(instruction.operand(0));
  const TypeShape& right = types_.shape_of(instruction.operand(1));
  switch (instruction.opcode()) {
    case spv::Op::OpMatrixTimesMatrix:
      return mix.add(CostClass::Fma, left.components * right.columns);
    case spv::Op::OpVectorTimesMatrix:
      return mix.add(CostClass::Fma, right.components);
    default:
      if (left.kind == TypeShape::Kind::CooperativeMatrix) return mix.add(CostClass::Matrix);
      return mix.add(CostClass::Fma, left.components);
  }
}

// Multiply-adds of integers: a packed 32-bit operand has four components.
void CostModel::add_integer_dot(const Instruction& instruction, InstructionMix& mix) const {
  const TypeShape& operand = types_.shape_of(instruction.operand(0));
  const bool is_packed = operand.components == 1 && operand.width == 32;
  if (is_packed) return mix.add(CostClass::Int8, 4);
  add_arithmetic(operand, operand.components, mix);
}

void CostModel::add_matrix(const Instruction& instruction, InstructionMix& mix) const {
  const auto constant = [&](size_t operand) {
    return std::min<uint64_t>(module_->constant_value(instruction.operand(operand)).value_or(1),
                              0xffffffff);
  };
  const spv::Op opcode = instruction.opcode();
  const auto add_products = [&](uint64_t rows, uint64_t columns, uint64_t depth) {
    const uint64_t area = rows * columns;
    const bool overflows = depth != 0 && area > ~uint64_t{0} / depth;
    mix.add(CostClass::MatrixMultiplyAdd, overflows ? ~uint64_t{0} : area * depth);
  };
  if (opcode == newer::OpCooperativeVectorMatrixMulNV) {
    return add_products(constant(5), constant(6), 1);
  }
  if (opcode == newer::OpCooperativeVectorMatrixMulAddNV) {
    return add_products(constant(8), constant(9), 1);
  }
  if (opcode == newer::OpCooperativeVectorOuterProductAccumulateNV) {
    return add_products(types_.shape_of(instruction.operand(2)).components,
                        types_.shape_of(instruction.operand(3)).components, 1);
  }
  const TypeShape& a = types_.shape_of(instruction.operand(0));
  const TypeShape& b = types_.shape_of(instruction.operand(1));
  add_products(a.rows, a.columns, b.columns);
}

}  // namespace tally::spirv
