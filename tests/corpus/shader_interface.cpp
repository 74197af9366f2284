#include "corpus/shader_interface.h"

#include <algorithm>
#include <optional>

namespace tally::test {
namespace {

using spirv::Instruction;
using spirv::Module;
using spv::Op;

// Used for arrays without a length.
constexpr uint32_t kUnboundedLength = 8;

uint32_t array_length(const Module& module, const Instruction& array) {
  if (array.opcode() == Op::OpTypeRuntimeArray) return kUnboundedLength;
  const auto length = module.definition(array.operand(1));
  return length ? std::max(length->operand(0), 1u) : 1;
}

VkDescriptorType image_descriptor(const Instruction& image) {
  const auto dim = static_cast<spv::Dim>(image.operand(1));
  const bool storage = image.operand(5) == 2;
  if (dim == spv::Dim::SubpassData) return VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT;
  if (dim == spv::Dim::Buffer) {
    return storage ? VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER
                   : VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
  }
  return storage ? VK_DESCRIPTOR_TYPE_STORAGE_IMAGE : VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE;
}

// The descriptor type of a variable, from its storage class and its type.
std::optional<VkDescriptorType> descriptor_type(const Module& module, spv::StorageClass storage,
                                                const Instruction& type) {
  switch (type.opcode()) {
    case Op::OpTypeSampler:
      return VK_DESCRIPTOR_TYPE_SAMPLER;
    case Op::OpTypeSampledImage: {
      const auto image = module.definition(type.operand(0));
      const bool buffer = image && static_cast<spv::Dim>(image->operand(1)) == spv::Dim::Buffer;
      return buffer ? VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER
                    : VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
    }
    case Op::OpTypeImage:
      return image_descriptor(type);
    case Op::OpTypeAccelerationStructureKHR:
      return VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR;
    case Op::OpTypeStruct:
      if (storage == spv::StorageClass::StorageBuffer ||
          module.decoration(type.result_id(), spv::Decoration::BufferBlock)) {
        return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
      }
      return VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
    default:
      return std::nullopt;
  }
}

// A variable's id, and the definitions of its pointer type and pointee type.
struct Variable {
  uint32_t id;
  spv::StorageClass storage;
  Instruction type;
};

std::optional<Variable> variable_of(const Module& module, const Instruction& instruction) {
  if (instruction.opcode() != Op::OpVariable) return std::nullopt;
  const auto pointer = module.definition(instruction.type_id());
  if (!pointer) return std::nullopt;
  const auto type = module.definition(pointer->operand(1));
  if (!type) return std::nullopt;
  return Variable{instruction.result_id(), static_cast<spv::StorageClass>(instruction.operand(0)),
                  *type};
}

bool is_array(const Instruction& type) {
  return type.opcode() == Op::OpTypeArray || type.opcode() == Op::OpTypeRuntimeArray;
}

void add_descriptor(const Module& module, Variable variable, ShaderInterface& interface) {
  const auto set = module.decoration(variable.id, spv::Decoration::DescriptorSet);
  const auto binding = module.decoration(variable.id, spv::Decoration::Binding);
  if (!set || !binding) return;
  uint32_t count = 1;
  while (is_array(variable.type)) {
    count *= array_length(module, variable.type);
    const auto element = module.definition(variable.type.operand(0));
    if (!element) return;
    variable.type = *element;
  }
  const auto type = descriptor_type(module, variable.storage, variable.type);
  if (!type) return;
  if (*type == VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT) interface.needs_render_pass = true;
  interface.sets[*set].emplace(
      *binding, VkDescriptorSetLayoutBinding{*binding, *type, count, VK_SHADER_STAGE_ALL, nullptr});
}

// True if the variable is an array with one element per vertex of a primitive.
bool is_per_vertex_input(const Variable& variable, spv::ExecutionModel model) {
  return variable.storage == spv::StorageClass::Input && is_array(variable.type) &&
         (model == spv::ExecutionModel::Geometry ||
          model == spv::ExecutionModel::TessellationControl ||
          model == spv::ExecutionModel::TessellationEvaluation);
}

// Returns the variable as a varying, or nothing if it is a block or has a width or kind without a
// partner.
std::optional<Varying> varying_of(const Module& module, Variable variable,
                                  spv::ExecutionModel model) {
  if (is_per_vertex_input(variable, model)) {
    const auto element = module.definition(variable.type.operand(0));
    if (!element) return std::nullopt;
    variable.type = *element;
  }
  const auto location = module.decoration(variable.id, spv::Decoration::Location);
  const auto component = module.decoration(variable.id, spv::Decoration::Component);
  if (!location || component.value_or(0) != 0) return std::nullopt;
  Varying varying = {*location, Varying::Number::Float, 1, 1};
  while (is_array(variable.type) || variable.type.opcode() == Op::OpTypeMatrix ||
         variable.type.opcode() == Op::OpTypeVector) {
    if (is_array(variable.type)) varying.locations *= array_length(module, variable.type);
    if (variable.type.opcode() == Op::OpTypeMatrix) varying.locations *= variable.type.operand(1);
    if (variable.type.opcode() == Op::OpTypeVector) varying.components = variable.type.operand(1);
    const auto element = module.definition(variable.type.operand(0));
    if (!element) return std::nullopt;
    variable.type = *element;
  }
  if (variable.type.operand(0) != 32) return std::nullopt;
  if (variable.type.opcode() == Op::OpTypeInt) {
    varying.number = variable.type.operand(1) ? Varying::Number::Int : Varying::Number::Uint;
  } else if (variable.type.opcode() != Op::OpTypeFloat) {
    return std::nullopt;
  }
  return varying;
}

}  // namespace

ShaderInterface interface_of(const Module& module, const spirv::EntryPoint& entry) {
  ShaderInterface interface;
  for (size_t i = 0; i < module.instruction_count(); ++i) {
    const Instruction instruction = module.instruction(i);
    if (instruction.opcode() == Op::OpFunction) break;
    const auto variable = variable_of(module, instruction);
    if (variable) add_descriptor(module, *variable, interface);
  }
  for (const uint32_t id : entry.interface) {
    const auto instruction = module.definition(id);
    const auto variable = instruction ? variable_of(module, *instruction) : std::nullopt;
    const auto varying = variable ? varying_of(module, *variable, entry.model) : std::nullopt;
    if (!varying) continue;
    if (variable->storage == spv::StorageClass::Input) interface.inputs.push_back(*varying);
    if (variable->storage == spv::StorageClass::Output) interface.outputs.push_back(*varying);
  }
  return interface;
}

}  // namespace tally::test
