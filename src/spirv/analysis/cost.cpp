#include "spirv/analysis/cost.h"

#include <spirv/unified1/GLSL.std.450.h>

#include <algorithm>

#include "spirv/ir/opcode.h"

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
  const size_t end = module.declarations_end();
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

void CostModel::add_compiled(const Instruction& instruction, Residue residue,
                             InstructionMix& mix) const {
  if (residue == Residue::All) return add(instruction, mix);
  if (residue == Residue::Nothing) return;
  const TypeShape& shape = value_shape(instruction);
  mix.add(CostClass::Instruction);
  const bool is_float32 = shape.kind == TypeShape::Kind::Float && shape.width == 32;
  if (residue == Residue::MultiplyAdd && is_float32)
    return mix.add(CostClass::Fma, shape.components);
  add_arithmetic(shape, shape.components, mix);
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

// The costs of loads and stores, by the kind of memory and the number of bytes.

void CostModel::add_copy(const Instruction& instruction, InstructionMix& mix) const {
  TypeShape shape;
  if (instruction.opcode() == spv::Op::OpCopyMemorySized) {
    shape.bytes = module_->constant_value(instruction.operand(2)).value_or(0);
  } else if (const auto type = module_->definition(module_->type_of(instruction.operand(0)));
             type && type->opcode() == spv::Op::OpTypePointer) {
    shape = types_.shape(type->operand(1));
  }
  add_load(memory_of(instruction.operand(1)), shape, mix);
  add_store(memory_of(instruction.operand(0)), shape, mix);
}

CostModel::Memory CostModel::memory_of(uint32_t pointer) const {
  const std::optional<Instruction> type = module_->definition(module_->type_of(pointer));
  const bool is_pointer = type && (type->opcode() == spv::Op::OpTypePointer ||
                                   type->opcode() == newer::OpTypeUntypedPointerKHR);
  if (!is_pointer) return Memory::None;
  switch (static_cast<spv::StorageClass>(type->operand(0))) {
    case spv::StorageClass::Function:
    case spv::StorageClass::Private:
      return Memory::Local;
    case spv::StorageClass::Uniform:
      return is_buffer_block(pointer) ? Memory::Buffer : Memory::Uniform;
    case spv::StorageClass::PushConstant:
      return Memory::Uniform;
    case spv::StorageClass::StorageBuffer:
    case spv::StorageClass::PhysicalStorageBuffer:
    case spv::StorageClass::ShaderRecordBufferKHR:
    case spv::StorageClass::CrossWorkgroup:
    case spv::StorageClass::AtomicCounter:
    case spv::StorageClass::Generic:
      return Memory::Buffer;
    case spv::StorageClass::Workgroup:
    case spv::StorageClass::TaskPayloadWorkgroupEXT:
      return Memory::Shared;
    case spv::StorageClass::Input:
    case spv::StorageClass::Output:
      return Memory::Varying;
    case spv::StorageClass::UniformConstant:
    case spv::StorageClass::Image:
      return Memory::Descriptor;
    case spv::StorageClass::CallableDataKHR:
    case spv::StorageClass::IncomingCallableDataKHR:
    case spv::StorageClass::RayPayloadKHR:
    case spv::StorageClass::IncomingRayPayloadKHR:
    case spv::StorageClass::HitAttributeKHR:
    case spv::StorageClass::HitObjectAttributeNV:
      return Memory::Ray;
    default:
      break;
  }
  switch (type->operand(0)) {
    case static_cast<uint32_t>(newer::StorageClassTileImageEXT):
      return Memory::Tile;
    case static_cast<uint32_t>(newer::StorageClassNodePayloadAMDX):
      return Memory::Buffer;
    case static_cast<uint32_t>(newer::StorageClassHitObjectAttributeEXT):
      return Memory::Ray;
    default:
      return Memory::None;
  }
}

// Follows a pointer of storage class Uniform to its variable, in so many steps as real modules
// take.
bool CostModel::is_buffer_block(uint32_t pointer) const {
  if (buffer_blocks_.empty()) return false;
  for (int step = 0; step < 64; ++step) {
    const std::optional<Instruction> source = module_->definition(pointer);
    if (!source) return false;
    if (source->opcode() != spv::Op::OpVariable) {
      pointer = source->operand(0);
      continue;
    }
    const std::optional<Instruction> type = module_->definition(source->type_id());
    return type && buffer_blocks_.contains(type->operand(1));
  }
  return false;
}

void CostModel::add_load(Memory memory, const TypeShape& shape, InstructionMix& mix) const {
  const bool is_matrix = shape.kind == TypeShape::Kind::CooperativeMatrix;
  switch (memory) {
    case Memory::None:
      return mix.add(CostClass::Other);
    case Memory::Local:
      return mix.add(CostClass::LocalLoad, is_matrix ? 1 : shape.components);
    case Memory::Buffer:
      mix.add(CostClass::BufferLoad);
      return mix.add(CostClass::BufferBytesLoaded, shape.bytes);
    case Memory::Uniform:
      mix.add(CostClass::UniformLoad);
      return mix.add(CostClass::UniformBytesLoaded, shape.bytes);
    case Memory::Shared:
      mix.add(CostClass::SharedLoad);
      return mix.add(CostClass::SharedBytesLoaded, shape.bytes);
    case Memory::Varying:
      return mix.add(CostClass::VaryingLoad, shape.components);
    case Memory::Descriptor:
      return mix.add(CostClass::Address);
    case Memory::Ray:
      return mix.add(CostClass::RayAccess);
    case Memory::Tile:
      return mix.add(CostClass::ImageLoad);
  }
}

void CostModel::add_store(Memory memory, const TypeShape& shape, InstructionMix& mix) const {
  switch (memory) {
    case Memory::Local:
      return mix.add(CostClass::LocalStore, shape.components);
    case Memory::Buffer:
      mix.add(CostClass::BufferStore);
      return mix.add(CostClass::BufferBytesStored, shape.bytes);
    case Memory::Shared:
      mix.add(CostClass::SharedStore);
      return mix.add(CostClass::SharedBytesStored, shape.bytes);
    case Memory::Varying:
      return mix.add(CostClass::VaryingStore, shape.components);
    case Memory::Ray:
      return mix.add(CostClass::RayAccess);
    case Memory::Tile:
      return mix.add(CostClass::ImageStore);
    case Memory::None:
    case Memory::Uniform:
    case Memory::Descriptor:
      return mix.add(CostClass::Other);
  }
}

// The costs of extended instructions.

void CostModel::add_ext_inst(const Instruction& instruction, InstructionMix& mix) const {
  switch (module_->ext_inst_set(instruction.operand(0))) {
    case ExtInstSet::Glsl450:
      return add_glsl(instruction, mix);
    case ExtInstSet::AmdShaderBallot:
      return add_by_component(instruction, CostClass::Subgroup, mix);
    case ExtInstSet::AmdTrinaryMinMax: {
      const TypeShape& shape = types_.shape(instruction.type_id());
      return add_arithmetic(shape, shape.components, mix);
    }
    case ExtInstSet::AmdExplicitVertexParameter:
      return add_by_component(instruction, CostClass::Interpolation, mix);
    default:
      return mix.add(CostClass::Other);
  }
}

// Functions that are short sequences of other operations cost what a simple compiler emits for
// them.
void CostModel::add_glsl(const Instruction& instruction, InstructionMix& mix) const {
  const TypeShape& result = types_.shape(instruction.type_id());
  const TypeShape& operand = types_.shape_of(instruction.operand(2));
  const TypeShape& shape = result.kind == TypeShape::Kind::Composite ? operand : result;
  const uint64_t n = shape.components;
  switch (static_cast<GLSLstd450>(instruction.operand(1))) {
    case GLSLstd450Round:
    case GLSLstd450RoundEven:
    case GLSLstd450Trunc:
    case GLSLstd450FAbs:
    case GLSLstd450SAbs:
    case GLSLstd450FSign:
    case GLSLstd450SSign:
    case GLSLstd450Floor:
    case GLSLstd450Ceil:
    case GLSLstd450Fract:
    case GLSLstd450Radians:
    case GLSLstd450Degrees:
    case GLSLstd450Modf:
    case GLSLstd450ModfStruct:
    case GLSLstd450FMin:
    case GLSLstd450UMin:
    case GLSLstd450SMin:
    case GLSLstd450FMax:
    case GLSLstd450UMax:
    case GLSLstd450SMax:
    case GLSLstd450FClamp:
    case GLSLstd450UClamp:
    case GLSLstd450SClamp:
    case GLSLstd450IMix:
    case GLSLstd450Step:
    case GLSLstd450Frexp:
    case GLSLstd450FrexpStruct:
    case GLSLstd450Ldexp:
    case GLSLstd450FindILsb:
    case GLSLstd450FindSMsb:
    case GLSLstd450FindUMsb:
    case GLSLstd450NMin:
    case GLSLstd450NMax:
    case GLSLstd450NClamp:
      return add_arithmetic(shape, n, mix);
    case GLSLstd450Sin:
    case GLSLstd450Cos:
    case GLSLstd450Tan:
    case GLSLstd450Asin:
    case GLSLstd450Acos:
    case GLSLstd450Atan:
    case GLSLstd450Sinh:
    case GLSLstd450Cosh:
    case GLSLstd450Tanh:
    case GLSLstd450Asinh:
    case GLSLstd450Acosh:
    case GLSLstd450Atanh:
    case GLSLstd450Atan2:
    case GLSLstd450Pow:
    case GLSLstd450Exp:
    case GLSLstd450Log:
    case GLSLstd450Exp2:
    case GLSLstd450Log2:
    case GLSLstd450Sqrt:
    case GLSLstd450InverseSqrt:
      return mix.add(CostClass::SpecialFunction, n);
    case GLSLstd450PackSnorm4x8:
    case GLSLstd450PackUnorm4x8:
    case GLSLstd450PackSnorm2x16:
    case GLSLstd450PackUnorm2x16:
    case GLSLstd450PackHalf2x16:
      return mix.add(CostClass::Conversion, operand.components);
    case GLSLstd450UnpackSnorm4x8:
    case GLSLstd450UnpackUnorm4x8:
    case GLSLstd450UnpackSnorm2x16:
    case GLSLstd450UnpackUnorm2x16:
    case GLSLstd450UnpackHalf2x16:
      return mix.add(CostClass::Conversion, n);
    case GLSLstd450PackDouble2x32:
    case GLSLstd450UnpackDouble2x32:
      return mix.add(CostClass::Move, 2);
    case GLSLstd450Fma:
      return mix.add(CostClass::Fma, n);
    case GLSLstd450FMix:  // x + (y - x) * a
      add_arithmetic(shape, n, mix);
      return mix.add(CostClass::Fma, n);
    case GLSLstd450SmoothStep:  // t = clamp((x - low) / (high - low)); t * t * (3 - 2 * t)
      add_arithmetic(shape, 6 * n, mix);
      mix.add(CostClass::Division, n);
      return mix.add(CostClass::Fma, n);
    case GLSLstd450Determinant:
    case GLSLstd450MatrixInverse:  // elimination: about the cube of its order
      return mix.add(CostClass::Fma, operand.components * operand.columns);
    case GLSLstd450Distance:
      add_arithmetic(operand, operand.components, mix);
      [[fallthrough]];
    case GLSLstd450Length:
      mix.add(CostClass::Fma, operand.components);
      return mix.add(CostClass::SpecialFunction);
    case GLSLstd450Normalize:  // x * inversesqrt(dot(x, x))
      mix.add(CostClass::Fma, n);
      mix.add(CostClass::SpecialFunction);
      return add_arithmetic(shape, n, mix);
    case GLSLstd450Cross:
      add_arithmetic(shape, n, mix);
      return mix.add(CostClass::Fma, n);
    case GLSLstd450FaceForward:  // dot(nref, i) < 0 ? n : -n
      mix.add(CostClass::Fma, n);
      return mix.add(CostClass::Logic, n);
    case GLSLstd450Reflect:  // i - 2 * dot(n, i) * n
      add_arithmetic(shape, 1, mix);
      return mix.add(CostClass::Fma, 2 * n);
    case GLSLstd450Refract:  // as reflect, with eta, a square root and a branch by its sign
      add_arithmetic(shape, n + 3, mix);
      mix.add(CostClass::Fma, 2 * n + 1);
      mix.add(CostClass::SpecialFunction);
      return mix.add(CostClass::Logic, n);
    case GLSLstd450InterpolateAtCentroid:
    case GLSLstd450InterpolateAtSample:
    case GLSLstd450InterpolateAtOffset:
      return mix.add(CostClass::Interpolation, n);
    default:
      return mix.add(CostClass::Other);
  }
}

}  // namespace tally::spirv
