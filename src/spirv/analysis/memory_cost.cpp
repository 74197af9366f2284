// The costs of loads and stores, by the kind of memory and the number of bytes.

#include "spirv/analysis/cost.h"
#include "spirv/ir/newer_enums.h"

namespace tally::spirv {

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

}  // namespace tally::spirv
