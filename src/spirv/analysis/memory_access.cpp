#include "spirv/analysis/memory_access.h"

#include <algorithm>
#include <bit>

#include "spirv/ir/editor.h"

namespace tally::spirv {
namespace {

using spv::Decoration;
using spv::Op;
using spv::StorageClass;

bool is_atomic(Op opcode) {
  return (opcode >= Op::OpAtomicLoad && opcode <= Op::OpAtomicXor) ||
         opcode == Op::OpAtomicFAddEXT || opcode == Op::OpAtomicFMinEXT ||
         opcode == Op::OpAtomicFMaxEXT;
}

bool is_chain(Op opcode) {
  return opcode == Op::OpAccessChain || opcode == Op::OpInBoundsAccessChain ||
         opcode == Op::OpCopyObject;
}

// 0 for formats that the shader does not know.
uint32_t texel_bytes(spv::ImageFormat format) {
  using spv::ImageFormat;
  switch (format) {
    case ImageFormat::R8:
    case ImageFormat::R8Snorm:
    case ImageFormat::R8i:
    case ImageFormat::R8ui:
      return 1;
    case ImageFormat::Rg8:
    case ImageFormat::Rg8Snorm:
    case ImageFormat::Rg8i:
    case ImageFormat::Rg8ui:
    case ImageFormat::R16:
    case ImageFormat::R16f:
    case ImageFormat::R16Snorm:
    case ImageFormat::R16i:
    case ImageFormat::R16ui:
      return 2;
    case ImageFormat::Rgba16f:
    case ImageFormat::Rgba16:
    case ImageFormat::Rgba16Snorm:
    case ImageFormat::Rgba16i:
    case ImageFormat::Rgba16ui:
    case ImageFormat::Rg32f:
    case ImageFormat::Rg32i:
    case ImageFormat::Rg32ui:
    case ImageFormat::R64ui:
    case ImageFormat::R64i:
      return 8;
    case ImageFormat::Rgba32f:
    case ImageFormat::Rgba32i:
    case ImageFormat::Rgba32ui:
      return 16;
    case ImageFormat::Unknown:
      return 0;
    default:
      return 4;
  }
}

// The alignment among the memory operands of a load or store, which begin with the operand `mask`.
uint32_t promised_alignment(const Instruction& instruction, size_t mask) {
  if (instruction.operand_count() < mask + 2) return 1;
  const bool is_aligned =
      (instruction.operand(mask) & static_cast<uint32_t>(spv::MemoryAccessMask::Aligned)) != 0;
  return is_aligned ? std::max(instruction.operand(mask + 1), 1u) : 1;
}

bool is_array(Op opcode) { return opcode == Op::OpTypeArray || opcode == Op::OpTypeRuntimeArray; }

}  // namespace

bool MemoryAccess::is_in_one(uint32_t unit) const {
  if (!std::has_single_bit(extent) || extent > unit) return false;
  if (variable == 0) return alignment % extent == 0;
  return base % extent == 0 &&
         std::ranges::all_of(steps, [&](const Step& step) { return step.stride % extent == 0; });
}

MemoryAccesses::MemoryAccesses(const Module& module) : module_(module) {
  const size_t end = module.declarations_end();
  for (size_t i = 0; i < end; ++i) add_size(module.instruction(i));
}

// Types stand before those that they are part of.
void MemoryAccesses::add_size(const Instruction& type) {
  const auto part = [&](uint32_t id, uint32_t count) {
    const auto found = sizes_.find(id);
    if (found == sizes_.end()) return;
    sizes_[type.result_id()] = {found->second.bytes * count, found->second.alignment};
  };
  switch (type.opcode()) {
    case Op::OpTypeBool:
      sizes_[type.result_id()] = {4, 4};
      break;
    case Op::OpTypeInt:
    case Op::OpTypeFloat:
      if (type.operand(0) < 8) break;  // floats of 4 and 6 bits have no address
      sizes_[type.result_id()] = {type.operand(0) / 8, type.operand(0) / 8};
      break;
    case Op::OpTypeVector:
    case Op::OpTypeMatrix:
      part(type.operand(0), type.operand(1));
      break;
    case Op::OpTypeArray:
      if (const auto length = constant(type.operand(1))) part(type.operand(0), *length);
      break;
    case Op::OpTypePointer:
      if (static_cast<StorageClass>(type.operand(0)) == StorageClass::PhysicalStorageBuffer) {
        sizes_[type.result_id()] = {8, 8};
      }
      break;
    case Op::OpTypeStruct: {
      Size size;
      for (const uint32_t member : type.operands()) {
        const auto found = sizes_.find(member);
        if (found == sizes_.end()) return;
        const auto [bytes, alignment] = found->second;
        size.bytes = (size.bytes + alignment - 1) / alignment * alignment + bytes;
        size.alignment = std::max(size.alignment, alignment);
      }
      size.bytes = (size.bytes + size.alignment - 1) / size.alignment * size.alignment;
      sizes_[type.result_id()] = size;
      break;
    }
    default:
      break;
  }
}

uint32_t MemoryAccesses::size_of(uint32_t type) const {
  const auto found = sizes_.find(type);
  return found == sizes_.end() ? 0 : found->second.bytes;
}

std::optional<uint32_t> MemoryAccesses::constant(uint32_t id) const {
  const auto value = module_.fixed_value(id);
  if (!value) return std::nullopt;
  return static_cast<uint32_t>(*value);
}

bool MemoryAccesses::add_step(uint32_t index, uint32_t stride, MemoryAccess& access) const {
  if (stride == 0) return false;
  if (const auto value = constant(index)) {
    access.base += *value * stride;
    return true;
  }
  const auto type = module_.definition(module_.type_of(index));
  if (!type || type->opcode() != Op::OpTypeInt || type->operand(0) != 32) return false;
  access.steps.push_back({index, stride});
  return true;
}

bool MemoryAccesses::step_into_struct(Place& place, const Instruction& type, uint32_t index,
                                      MemoryAccess& access) const {
  const auto member = constant(index);
  if (!member || *member >= type.operand_count()) return false;
  const uint32_t id = type.result_id();
  if (const auto offset = module_.member_decoration(id, *member, Decoration::Offset)) {
    access.base += *offset;
  } else {
    uint32_t bytes = 0;
    for (uint32_t m = 0; m <= *member; ++m) {
      const auto found = sizes_.find(type.operand(m));
      if (found == sizes_.end()) return false;
      const auto [size, alignment] = found->second;
      bytes = (bytes + alignment - 1) / alignment * alignment;
      if (m < *member) bytes += size;
    }
    access.base += bytes;
  }
  const auto stride = module_.member_decoration(id, *member, Decoration::MatrixStride);
  place = {type.operand(*member), stride.value_or(0),
           module_.member_decoration(id, *member, Decoration::RowMajor).has_value()};
  return true;
}

bool MemoryAccesses::step(Place& place, uint32_t index, MemoryAccess& access) const {
  const auto type = module_.definition(place.type);
  if (!type) return false;
  if (type->opcode() == Op::OpTypeStruct) return step_into_struct(place, *type, index, access);
  uint32_t stride = 0;
  if (is_array(type->opcode())) {
    stride =
        module_.decoration(place.type, Decoration::ArrayStride).value_or(size_of(type->operand(0)));
  } else if (type->opcode() == Op::OpTypeMatrix) {
    const auto column = module_.definition(type->operand(0));
    const uint32_t tight =
        place.row_major && column ? size_of(column->operand(0)) : size_of(type->operand(0));
    stride = place.row_major || place.matrix_stride == 0 ? tight : place.matrix_stride;
    place.in_matrix = true;
  } else if (type->opcode() == Op::OpTypeVector) {
    const bool is_row = place.in_matrix && place.row_major;
    stride = is_row ? place.matrix_stride : size_of(type->operand(0));
  } else {
    return false;
  }
  place.type = type->operand(0);
  return add_step(index, stride, access);
}

bool MemoryAccesses::set_extent(const Place& place, MemoryAccess& access) const {
  const auto type = module_.definition(place.type);
  if (!type) return false;
  access.bytes = access.extent = size_of(place.type);
  switch (type->opcode()) {
    case Op::OpTypeBool:
    case Op::OpTypeInt:
    case Op::OpTypeFloat:
    case Op::OpTypePointer:
      return access.bytes != 0;
    case Op::OpTypeVector:
      return access.bytes != 0 && !(place.in_matrix && place.row_major);
    case Op::OpTypeMatrix: {
      if (place.matrix_stride == 0) return access.bytes != 0;
      const auto column = module_.definition(type->operand(0));
      if (!column) return false;
      const uint32_t scalar = size_of(column->operand(0));
      const uint32_t columns = type->operand(1), rows = column->operand(1);
      const uint32_t lines = place.row_major ? rows : columns;
      access.extent = (lines - 1) * place.matrix_stride + access.bytes / lines;
      return scalar != 0;
    }
    default:
      return false;
  }
}

// `chains`: from the value to the root.
bool MemoryAccesses::walk(const std::vector<Instruction>& chains, uint32_t root,
                          MemoryAccess& access) const {
  const auto pointer = module_.definition(module_.type_of(root));
  if (!pointer || pointer->opcode() != Op::OpTypePointer) return false;
  Place place{pointer->operand(1)};
  const bool is_block = access.variable != 0 && access.storage != StorageClass::Workgroup;
  const auto block = module_.definition(place.type);
  bool in_array = is_block && block && is_array(block->opcode());
  for (size_t c = chains.size(); c-- > 0;) {
    for (size_t i = 1; i < chains[c].operand_count(); ++i) {
      if (in_array) {
        access.element = chains[c].operand(i);
        const auto index = module_.definition(module_.type_of(access.element));
        if (!index || index->opcode() != Op::OpTypeInt || index->operand(0) != 32) return false;
        place.type = module_.definition(place.type)->operand(0);
        in_array = false;
      } else if (!step(place, chains[c].operand(i), access)) {
        return false;
      }
    }
  }
  return set_extent(place, access);
}

// From a pointer to an image or to a combined image and sampler, which may be in an array.
bool MemoryAccesses::walk_image(uint32_t pointer, MemoryAccess& access) const {
  if (is_chain(module_.opcode_of(pointer))) {
    const Instruction chain = *module_.definition(pointer);
    if (chain.operand_count() != 2) return false;
    pointer = chain.operand(0), access.element = chain.operand(1);
    const auto index = module_.definition(module_.type_of(access.element));
    if (!index || index->opcode() != Op::OpTypeInt || index->operand(0) != 32) return false;
  }
  if (module_.opcode_of(pointer) != Op::OpVariable) return false;
  access.variable = pointer;
  access.storage = StorageClass::UniformConstant;
  auto type = module_.definition(module_.type_of(pointer));
  if (type && type->opcode() == Op::OpTypePointer) type = module_.definition(type->operand(1));
  if (type && is_array(type->opcode())) type = module_.definition(type->operand(0));
  if (type && type->opcode() == Op::OpTypeSampledImage) type = module_.definition(type->operand(0));
  if (!type || type->opcode() != Op::OpTypeImage) return false;
  // The coordinate of an input attachment is relative to the fragment.
  if (type->operand(1) == static_cast<uint32_t>(spv::Dim::SubpassData)) return false;
  access.bytes = texel_bytes(static_cast<spv::ImageFormat>(type->operand(6)));
  const auto coordinates = module_.definition(module_.type_of(access.coordinate));
  if (!coordinates) return false;
  const bool is_vector = coordinates->opcode() == Op::OpTypeVector;
  access.dimensions = is_vector ? coordinates->operand(1) : 1;
  const auto scalar = is_vector ? module_.definition(coordinates->operand(0)) : coordinates;
  return scalar && scalar->opcode() == Op::OpTypeInt && scalar->operand(0) == 32;
}

std::optional<MemoryAccess> MemoryAccesses::find_texel(const Instruction& instruction) const {
  MemoryAccess access;
  access.coordinate = instruction.operand(1);
  uint32_t pointer = instruction.operand(0);
  if (instruction.opcode() == Op::OpImageWrite) access.kind = MemoryAccess::Kind::Store;
  if (instruction.opcode() == Op::OpImageTexelPointer) {
    access.kind = MemoryAccess::Kind::Atomic;
  } else {
    while (module_.opcode_of(pointer) == Op::OpImage ||
           module_.opcode_of(pointer) == Op::OpSampledImage)
      pointer = module_.definition(pointer)->operand(0);
    if (module_.opcode_of(pointer) != Op::OpLoad) return std::nullopt;
    pointer = module_.definition(pointer)->operand(0);
  }
  if (!walk_image(pointer, access)) return std::nullopt;
  return access;
}

std::optional<MemoryAccess> MemoryAccesses::find(const Instruction& instruction) const {
  MemoryAccess access;
  const Op opcode = instruction.opcode();
  if (opcode == Op::OpImageRead || opcode == Op::OpImageWrite || opcode == Op::OpImageFetch)
    return find_texel(instruction);
  if (is_atomic(opcode) && module_.opcode_of(instruction.operand(0)) == Op::OpImageTexelPointer)
    return find_texel(*module_.definition(instruction.operand(0)));
  if (opcode == Op::OpStore) {
    access.kind = MemoryAccess::Kind::Store;
  } else if (is_atomic(opcode)) {
    access.kind = MemoryAccess::Kind::Atomic;
  } else if (opcode != Op::OpLoad) {
    return std::nullopt;
  }
  access.pointer = instruction.operand(0);
  const auto type = module_.definition(module_.type_of(access.pointer));
  if (!type || type->opcode() != Op::OpTypePointer) return std::nullopt;
  access.storage = static_cast<StorageClass>(type->operand(0));
  uint32_t root = access.pointer;
  std::vector<Instruction> chains;
  while (is_chain(module_.opcode_of(root))) {
    chains.push_back(*module_.definition(root));
    root = chains.back().operand(0);
  }
  switch (access.storage) {
    case StorageClass::StorageBuffer:
    case StorageClass::Uniform:
    case StorageClass::Workgroup:
      if (module_.opcode_of(root) != Op::OpVariable) return std::nullopt;
      access.variable = root;
      break;
    case StorageClass::PhysicalStorageBuffer:
      access.alignment = promised_alignment(instruction, opcode == Op::OpStore ? 2 : 1);
      break;
    default:
      return std::nullopt;
  }
  if (!walk(chains, root, access)) return std::nullopt;
  if (is_atomic(opcode)) access.alignment = access.extent;
  return access;
}

std::optional<uint64_t> workgroup_bytes(const Module& module, const EntryPoint& entry) {
  if (module.has_capability(spv::Capability::WorkgroupMemoryExplicitLayoutKHR)) return std::nullopt;
  const MemoryAccesses accesses(module);
  uint64_t bytes = 0;
  for (const uint32_t variable : referenced_variables(module, entry.function_id)) {
    const auto pointer = module.definition(module.type_of(variable));
    if (!pointer || pointer->opcode() != spv::Op::OpTypePointer) continue;
    if (pointer->operand(0) != static_cast<uint32_t>(spv::StorageClass::Workgroup)) continue;
    bytes += accesses.size_of(pointer->operand(1));
  }
  return bytes;
}

}  // namespace tally::spirv
