#include "spirv/analysis/substitution.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace tally::spirv {
namespace {

using spv::Decoration;
using spv::ExecutionMode;
using spv::ExecutionModel;
using spv::Op;
using spv::StorageClass;

// Bounds what a hostile module can make of its types.
constexpr size_t kMaxText = 4096;
constexpr uint32_t kMaxDepth = 16;
constexpr uint32_t kMaxMembers = 4096;

// Types as messages name them, in the words of GLSL. Equal types have equal texts.
class TypeTexts {
 public:
  explicit TypeTexts(const Module& module) : module_(module) {}

  std::string of(uint32_t type) const {
    std::string text;
    append(text, type, 0);
    return text;
  }

  // The layout of a member's matrices in memory.
  std::string layout_of_member(uint32_t block, uint32_t member) const {
    const auto stride = module_.member_decoration(block, member, Decoration::MatrixStride);
    if (!stride) return {};
    const bool is_row_major =
        module_.member_decoration(block, member, Decoration::RowMajor).has_value();
    return fmt::format(" ({}, stride {})", is_row_major ? "row-major" : "column-major", *stride);
  }

 private:
  void append(std::string& text, uint32_t id, uint32_t depth) const {
    const auto type = module_.definition(id);
    if (!type || depth > kMaxDepth || text.size() > kMaxText) {
      text += "?";
      return;
    }
    switch (type->opcode()) {
      case Op::OpTypeBool:
        text += "bool";
        return;
      case Op::OpTypeInt:
        text += fmt::format("{}{}", type->operand(1) != 0 ? "int" : "uint",
                            bits_text(type->operand(0)));
        return;
      case Op::OpTypeFloat:
        text += fmt::format("float{}", bits_text(type->operand(0)));
        return;
      case Op::OpTypeVector:
        append(text, type->operand(0), depth + 1);
        text += fmt::format("x{}", type->operand(1));
        return;
      case Op::OpTypeMatrix:
        append(text, type->operand(0), depth + 1);
        text += fmt::format("x{}", type->operand(1));
        return;
      case Op::OpTypeArray:
        append(text, type->operand(0), depth + 1);
        text += fmt::format("[{}]", length_text(type->operand(1))) + stride_text(id);
        return;
      case Op::OpTypeRuntimeArray:
        append(text, type->operand(0), depth + 1);
        text += "[]" + stride_text(id);
        return;
      case Op::OpTypeStruct:
        append_struct(text, *type, depth);
        return;
      case Op::OpTypePointer:
        text += "pointer";
        return;
      default:
        text += opcode_name(type->opcode());
    }
  }

  void append_struct(std::string& text, const Instruction& type, uint32_t depth) const {
    text += "{";
    for (uint32_t m = 0; m < type.operand_count() && text.size() <= kMaxText; ++m) {
      if (m != 0) text += "; ";
      if (const auto offset = module_.member_decoration(type.result_id(), m, Decoration::Offset)) {
        text += fmt::format("{}: ", *offset);
      }
      append(text, type.operand(m), depth + 1);
      text += layout_of_member(type.result_id(), m);
    }
    text += "}";
  }

  static std::string bits_text(uint32_t bits) { return bits == 32 ? "" : std::to_string(bits); }

  std::string stride_text(uint32_t array) const {
    const auto stride = module_.decoration(array, Decoration::ArrayStride);
    return stride ? fmt::format(" (stride {})", *stride) : std::string();
  }

  std::string length_text(uint32_t id) const {
    if (const auto spec = module_.decoration(id, Decoration::SpecId))
      return fmt::format("constant {}", *spec);
    if (module_.is_specialization_constant(id)) return "specialized";
    return std::to_string(module_.constant_value(id).value_or(0));
  }

  const Module& module_;
};

// A descriptor as a pipeline's layout knows it, and what the shader finds in it.
struct Descriptor {
  std::string kind;
  std::string count;                        // of an array
  std::map<uint32_t, std::string> members;  // of a block, by offset
};

using Slot = std::tuple<uint32_t, uint32_t, uint32_t>;  // location, component, index
using Slots = std::map<Slot, std::string>;              // its type

// The things that an entry point takes from its pipeline and gives to it.
struct Interface {
  Slots inputs, outputs;
  std::map<std::pair<uint32_t, uint32_t>, Descriptor> descriptors;  // by set and binding
  std::map<uint32_t, std::string> push_constants;                   // by offset
  std::map<uint32_t, std::string> constants;                        // types by SpecId
  std::string workgroup;
  std::set<std::string> modes;
  std::set<uint32_t> capabilities;
  std::set<std::string> extensions;
};

class InterfaceReader {
 public:
  explicit InterfaceReader(const EntryPointOf& shader)
      : module_(shader.module), entry_(shader.entry), texts_(shader.module) {}

  Interface read() {
    find_used();
    const size_t globals = module_.declarations_end();
    for (size_t i = 0; i < globals; ++i) {
      const Instruction instruction = module_.instruction(i);
      if (instruction.opcode() == Op::OpVariable && used_.contains(instruction.result_id()))
        add_variable(instruction);
      if (instruction.opcode() == Op::OpCapability)
        interface_.capabilities.insert(instruction.operand(0));
      if (instruction.opcode() == Op::OpExtension)
        interface_.extensions.insert(instruction.string(0));
    }
    for (const Module::DeclaredConstant& constant : module_.declared_constants()) {
      interface_.constants.emplace(constant.spec_id,
                                   texts_.of(module_.instruction(constant.instruction).type_id()));
    }
    read_modes();
    return std::move(interface_);
  }

 private:
  // The ids that the functions below the entry point name.
  void find_used() {
    for (const uint32_t f : module_.reachable_functions(entry_.function_id)) {
      const Function& function = module_.functions()[f];
      for (uint32_t i = function.begin; i < function.end; ++i) {
        for_each_operand(module_.instruction(i), [&](uint32_t operand, bool is_id) {
          if (is_id) used_.insert(operand);
        });
      }
    }
  }

  void add_variable(const Instruction& variable) {
    const auto pointer = module_.definition(variable.type_id());
    if (!pointer || pointer->opcode() != Op::OpTypePointer) return;
    const uint32_t id = variable.result_id(), type = pointer->operand(1);
    switch (const auto storage = static_cast<StorageClass>(variable.operand(0))) {
      case StorageClass::Input:
      case StorageClass::Output:
        add_slots(storage == StorageClass::Input ? interface_.inputs : interface_.outputs, id, type,
                  storage);
        return;
      case StorageClass::UniformConstant:
      case StorageClass::Uniform:
      case StorageClass::StorageBuffer:
        add_descriptor(id, type, storage);
        return;
      case StorageClass::PushConstant:
        add_members(type, interface_.push_constants);
        return;
      default:
        return;
    }
  }

  // True if the variable has an element for each vertex.
  bool is_arrayed(uint32_t variable, StorageClass storage) const {
    if (module_.decoration(variable, Decoration::Patch)) return false;
    const bool is_input = storage == StorageClass::Input;
    switch (entry_.model) {
      case ExecutionModel::TessellationControl:
        return true;
      case ExecutionModel::TessellationEvaluation:
      case ExecutionModel::Geometry:
        return is_input;
      case ExecutionModel::MeshEXT:
      case ExecutionModel::MeshNV:
        return !is_input;
      default:
        return false;
    }
  }

  void add_slots(Slots& slots, uint32_t variable, uint32_t type, StorageClass storage) {
    if (module_.decoration(variable, Decoration::BuiltIn)) return;
    auto definition = module_.definition(type);
    if (definition && definition->opcode() == Op::OpTypeArray && is_arrayed(variable, storage)) {
      type = definition->operand(0);
      definition = module_.definition(type);
    }
    uint32_t location = module_.decoration(variable, Decoration::Location).value_or(0);
    const uint32_t component = module_.decoration(variable, Decoration::Component).value_or(0);
    const uint32_t index = module_.decoration(variable, Decoration::Index).value_or(0);
    if (!definition || definition->opcode() != Op::OpTypeStruct) {
      slots.emplace(Slot{location, component, index}, texts_.of(type));
      return;
    }
    for (uint32_t m = 0; m < definition->operand_count() && m < kMaxMembers; ++m) {
      if (module_.member_decoration(type, m, Decoration::BuiltIn)) continue;
      location = module_.member_decoration(type, m, Decoration::Location).value_or(location);
      const uint32_t member = definition->operand(m);
      slots.emplace(
          Slot{location,
               module_.member_decoration(type, m, Decoration::Component).value_or(component),
               index},
          texts_.of(member));
      location += locations_of(member, 0);
    }
  }

  uint32_t locations_of(uint32_t id, uint32_t depth) const {
    const auto type = module_.definition(id);
    if (!type || depth > kMaxDepth) return 1;
    switch (type->opcode()) {
      case Op::OpTypeVector: {
        const auto component = module_.definition(type->operand(0));
        return component && component->operand(0) == 64 && type->operand(1) > 2 ? 2 : 1;
      }
      case Op::OpTypeMatrix:
        return type->operand(1) * locations_of(type->operand(0), depth + 1);
      case Op::OpTypeArray:
        return static_cast<uint32_t>(module_.constant_value(type->operand(1)).value_or(1)) *
               locations_of(type->operand(0), depth + 1);
      default:
        return 1;
    }
  }

  void add_descriptor(uint32_t variable, uint32_t type, StorageClass storage) {
    const auto binding = module_.decoration(variable, Decoration::Binding);
    if (!binding) return;
    const uint32_t set = module_.decoration(variable, Decoration::DescriptorSet).value_or(0);
    // Several variables may name one binding, in different ways.
    Descriptor& descriptor = interface_.descriptors[{set, *binding}];
    auto definition = module_.definition(type);
    if (definition && (definition->opcode() == Op::OpTypeArray ||
                       definition->opcode() == Op::OpTypeRuntimeArray)) {
      const auto length = definition->opcode() == Op::OpTypeArray
                              ? module_.constant_value(definition->operand(1))
                              : std::nullopt;
      descriptor.count = length ? fmt::format("[{}]", *length) : "[]";
      type = definition->operand(0);
      definition = module_.definition(type);
    }
    if (!definition) return;
    descriptor.kind = kind_of(*definition, storage);
    if (definition->opcode() == Op::OpTypeStruct) add_members(type, descriptor.members);
  }

  std::string kind_of(const Instruction& type, StorageClass storage) const {
    switch (type.opcode()) {
      case Op::OpTypeSampler:
        return "sampler";
      case Op::OpTypeSampledImage: {
        const auto image = module_.definition(type.operand(0));
        return "combined image sampler" + (image ? image_text(*image) : std::string());
      }
      case Op::OpTypeImage:
        return image_kind(type) + image_text(type);
      case Op::OpTypeAccelerationStructureKHR:
        return "acceleration structure";
      case Op::OpTypeStruct:
        return storage == StorageClass::StorageBuffer ||
                       module_.decoration(type.result_id(), Decoration::BufferBlock)
                   ? "storage buffer"
                   : "uniform buffer";
      default:
        return std::string(opcode_name(type.opcode()));
    }
  }

  static std::string image_kind(const Instruction& image) {
    const bool is_storage = image.operand(5) == 2;
    switch (static_cast<spv::Dim>(image.operand(1))) {
      case spv::Dim::Buffer:
        return is_storage ? "storage texel buffer" : "uniform texel buffer";
      case spv::Dim::SubpassData:
        return "input attachment";
      default:
        return is_storage ? "storage image" : "sampled image";
    }
  }

  std::string image_text(const Instruction& image) const {
    const Enumerant* dimension = find_enumerant("Dim", image.operand(1));
    return fmt::format(" ({} {}{}{})", texts_.of(image.operand(0)),
                       dimension ? dimension->name : "?", image.operand(3) != 0 ? " array" : "",
                       image.operand(4) != 0 ? " multisampled" : "");
  }

  void add_members(uint32_t block, std::map<uint32_t, std::string>& members) const {
    const auto type = module_.definition(block);
    if (!type || type->opcode() != Op::OpTypeStruct) return;
    for (uint32_t m = 0; m < type->operand_count() && m < kMaxMembers; ++m) {
      members.emplace(module_.member_decoration(block, m, Decoration::Offset).value_or(0),
                      texts_.of(type->operand(m)) + texts_.layout_of_member(block, m));
    }
  }

  void read_modes() {
    for (const uint32_t i : module_.execution_modes(entry_)) {
      const Instruction mode = module_.instruction(i);
      switch (const auto kind = static_cast<ExecutionMode>(mode.operand(1))) {
        case ExecutionMode::LocalSize:
        case ExecutionMode::LocalSizeId:
          add_workgroup(mode, kind == ExecutionMode::LocalSizeId);
          break;
        // They change what the shader does, not what it stands in for.
        case ExecutionMode::EarlyFragmentTests:
        case ExecutionMode::DepthReplacing:
        case ExecutionMode::DepthGreater:
        case ExecutionMode::DepthLess:
        case ExecutionMode::DepthUnchanged:
          break;
        default:
          add_mode(mode);
      }
    }
    add_workgroup_constant();
  }

  void add_mode(const Instruction& mode) {
    const Enumerant* known = find_enumerant("ExecutionMode", mode.operand(1));
    std::string text = known ? std::string(known->name) : std::to_string(mode.operand(1));
    if (mode.opcode() == Op::OpExecutionMode) {
      for (size_t n = 2; n < std::min<size_t>(mode.operand_count(), 8); ++n)
        text += fmt::format(" {}", mode.operand(n));
    }
    interface_.modes.insert(std::move(text));
  }

  std::string size_text(uint32_t id) const {
    if (const auto spec = module_.decoration(id, Decoration::SpecId))
      return fmt::format("(constant {})", *spec);
    return std::to_string(module_.constant_value(id).value_or(0));
  }

  void add_workgroup(const Instruction& mode, bool has_ids) {
    for (size_t n = 2; n < 5; ++n) {
      interface_.workgroup += n == 2 ? "" : "x";
      interface_.workgroup +=
          has_ids ? size_text(mode.operand(n)) : std::to_string(mode.operand(n));
    }
  }

  // The built-in constant counts more than the mode.
  void add_workgroup_constant() {
    for (const uint32_t i : module_.decorations()) {
      const Instruction decoration = module_.instruction(i);
      if (decoration.opcode() != Op::OpDecorate ||
          decoration.operand(1) != static_cast<uint32_t>(Decoration::BuiltIn) ||
          decoration.operand(2) != static_cast<uint32_t>(spv::BuiltIn::WorkgroupSize)) {
        continue;
      }
      const auto size = module_.definition(decoration.operand(0));
      if (!size || size->operand_count() != 3) return;
      interface_.workgroup = fmt::format("{}x{}x{}", size_text(size->operand(0)),
                                         size_text(size->operand(1)), size_text(size->operand(2)));
      return;
    }
  }

  const Module& module_;
  const EntryPoint& entry_;
  const TypeTexts texts_;
  std::set<uint32_t> used_;
  Interface interface_;
};

std::string slot_text(const Slot& slot) {
  const auto& [location, component, index] = slot;
  std::string text = fmt::format("location {}", location);
  if (component != 0) text += fmt::format(", component {}", component);
  if (index != 0) text += fmt::format(", index {}", index);
  return text;
}

std::string input_difference(const Slots& original, const Slots& replacement) {
  for (const auto& [slot, type] : replacement) {
    const auto found = original.find(slot);
    if (found == original.end()) {
      return fmt::format("it reads the input at {} ({}), which the original does not read",
                         slot_text(slot), type);
    }
    if (found->second != type) {
      return fmt::format("the input at {} is {}, in the original {}", slot_text(slot), type,
                         found->second);
    }
  }
  return {};
}

std::string output_difference(const Slots& original, const Slots& replacement) {
  for (const auto& [slot, type] : original) {
    const auto found = replacement.find(slot);
    if (found == replacement.end()) {
      return fmt::format("it does not write the output at {} ({}), which the original writes",
                         slot_text(slot), type);
    }
    if (found->second != type) {
      return fmt::format("the output at {} is {}, in the original {}", slot_text(slot),
                         found->second, type);
    }
  }
  for (const auto& [slot, type] : replacement) {
    if (!original.contains(slot)) {
      return fmt::format("it writes the output at {} ({}), which the original does not write",
                         slot_text(slot), type);
    }
  }
  return {};
}

using Members = std::map<uint32_t, std::string>;

std::string member_difference(const std::string& block, const Members& original,
                              const Members& replacement) {
  for (const auto& [offset, type] : replacement) {
    const auto found = original.find(offset);
    if (found == original.end()) {
      return fmt::format("{} has a member at byte {} ({}), which the original does not have", block,
                         offset, type);
    }
    if (found->second != type) {
      return fmt::format("the member of {} at byte {} is {}, in the original {}", block, offset,
                         type, found->second);
    }
  }
  return {};
}

std::string descriptor_difference(const Interface& original, const Interface& replacement) {
  for (const auto& [place, descriptor] : replacement.descriptors) {
    const std::string text = fmt::format("set {}, binding {}", place.first, place.second);
    const auto found = original.descriptors.find(place);
    if (found == original.descriptors.end()) {
      return fmt::format("it uses {} ({}), which the original does not use", text, descriptor.kind);
    }
    const Descriptor& other = found->second;
    if (descriptor.kind != other.kind || descriptor.count != other.count) {
      return fmt::format("{} is a {}{}, in the original a {}{}", text, descriptor.kind,
                         descriptor.count, other.kind, other.count);
    }
    if (std::string difference = member_difference(text, other.members, descriptor.members);
        !difference.empty()) {
      return difference;
    }
  }
  return {};
}

std::string constant_difference(const Members& original, const Members& replacement) {
  for (const auto& [id, type] : original) {
    const auto found = replacement.find(id);
    if (found == replacement.end())
      return fmt::format("it lacks specialization constant {} ({})", id, type);
    if (found->second != type) {
      return fmt::format("specialization constant {} is {}, in the original {}", id, found->second,
                         type);
    }
  }
  return {};
}

std::string mode_difference(const Interface& original, const Interface& replacement) {
  if (original.workgroup != replacement.workgroup) {
    return fmt::format("its workgroup is {}, the original's {}", replacement.workgroup,
                       original.workgroup);
  }
  for (const std::string& mode : replacement.modes) {
    if (!original.modes.contains(mode))
      return fmt::format("it has the execution mode {}, which the original does not have", mode);
  }
  for (const std::string& mode : original.modes) {
    if (!replacement.modes.contains(mode))
      return fmt::format("it lacks the execution mode {} of the original", mode);
  }
  return {};
}

// Those that need no feature of the device.
constexpr std::array kFreeCapabilities = {
    spv::Capability::Matrix,           spv::Capability::Shader,
    spv::Capability::Sampled1D,        spv::Capability::Image1D,
    spv::Capability::ImageQuery,       spv::Capability::SampledBuffer,
    spv::Capability::ImageBuffer,      spv::Capability::InputAttachment,
    spv::Capability::DerivativeControl};

std::string requirement_difference(const Interface& original, const Interface& replacement) {
  for (const uint32_t capability : replacement.capabilities) {
    const bool is_free = std::ranges::any_of(kFreeCapabilities, [&](spv::Capability free) {
      return static_cast<uint32_t>(free) == capability;
    });
    if (is_free || original.capabilities.contains(capability)) continue;
    const Enumerant* known = find_enumerant("Capability", capability);
    return fmt::format("it needs the capability {}, which the original does not declare",
                       known ? std::string(known->name) : std::to_string(capability));
  }
  for (const std::string& extension : replacement.extensions) {
    if (!original.extensions.contains(extension))
      return fmt::format("it needs the extension {}, which the original does not declare",
                         extension);
  }
  return {};
}

std::string version_text(uint32_t version) {
  return fmt::format("{}.{}", version >> 16 & 0xff, version >> 8 & 0xff);
}

}  // namespace

std::string why_not_interchangeable(const EntryPointOf& original, const EntryPointOf& replacement,
                                    uint32_t max_version) {
  const uint32_t newest = std::max(max_version, original.module.version());
  if (replacement.module.version() > newest) {
    return fmt::format("it is SPIR-V {}; the application's Vulkan and the original allow {}",
                       version_text(replacement.module.version()), version_text(newest));
  }
  if (original.module.decorates_in_groups() || replacement.module.decorates_in_groups())
    return "decoration groups are not compared";
  const Interface before = InterfaceReader(original).read();
  const Interface after = InterfaceReader(replacement).read();
  std::string reason = input_difference(before.inputs, after.inputs);
  if (reason.empty()) reason = output_difference(before.outputs, after.outputs);
  if (reason.empty()) reason = descriptor_difference(before, after);
  if (reason.empty()) {
    reason =
        member_difference("the push-constant block", before.push_constants, after.push_constants);
  }
  if (reason.empty()) reason = constant_difference(before.constants, after.constants);
  if (reason.empty()) reason = mode_difference(before, after);
  if (reason.empty()) reason = requirement_difference(before, after);
  return reason;
}

}  // namespace tally::spirv
