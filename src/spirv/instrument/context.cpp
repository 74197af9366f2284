#include "spirv/instrument/context.h"

#include <algorithm>
#include <bit>

#include "catalogue/catalogue.h"

namespace tally::spirv {
namespace {

using spv::BuiltIn;
using spv::Op;
using spv::StorageClass;

bool is_boolean(BuiltIn builtin) { return builtin == BuiltIn::HelperInvocation; }

using spv::BuiltIn;
using spv::ExecutionModel;

constexpr ShardTerm kVertexTerms[] = {{BuiltIn::VertexIndex, 1, 0, 5, 1},
                                      {BuiltIn::InstanceIndex, 1, 0, 0, 1}};
constexpr ShardTerm kPrimitiveTerms[] = {{BuiltIn::PrimitiveId, 1, 0, 2, 1}};
// Unlike SampleId, FragCoord does not cause sample shading. Its other components would take
// registers.
constexpr ShardTerm kFragmentTerms[] = {{BuiltIn::FragCoord, 4, 0, 3, 1}};
// Uniform in a workgroup, so that a scalar unit can compute it.
constexpr ShardTerm kWorkgroupTerms[] = {{BuiltIn::WorkgroupId, 3, 0, 0, 1},
                                         {BuiltIn::WorkgroupId, 3, 1, 0, 1},
                                         {BuiltIn::WorkgroupId, 3, 2, 0, 1}};
// NVIDIA's driver computes the other components with divisions.
constexpr ShardTerm kMeshTerms[] = {{BuiltIn::WorkgroupId, 3, 0, 0, 1}};
constexpr ShardTerm kLaunchTerms[] = {{BuiltIn::LaunchIdKHR, 3, 0, 3, 1},
                                      {BuiltIn::LaunchIdKHR, 3, 1, 2, 7}};

constexpr StageTraits kStages[] = {
    {ExecutionModel::Vertex, false, false, kVertexTerms},
    {ExecutionModel::TessellationControl, false, false, kPrimitiveTerms},
    {ExecutionModel::TessellationEvaluation, false, false, kPrimitiveTerms},
    {ExecutionModel::Geometry, false, false, kPrimitiveTerms},
    {ExecutionModel::Fragment, true, true, kFragmentTerms},
    {ExecutionModel::GLCompute, false, true, kWorkgroupTerms},
    {ExecutionModel::TaskEXT, false, true, kMeshTerms},
    {ExecutionModel::MeshEXT, false, true, kMeshTerms, false, true},
    {ExecutionModel::RayGenerationKHR, false, true, kLaunchTerms, true},
    {ExecutionModel::IntersectionKHR, false, true, kLaunchTerms, true},
    {ExecutionModel::AnyHitKHR, false, true, kLaunchTerms, true},
    {ExecutionModel::ClosestHitKHR, false, true, kLaunchTerms, true},
    {ExecutionModel::MissKHR, false, true, kLaunchTerms, true},
    {ExecutionModel::CallableKHR, false, true, kLaunchTerms, true},
};

}  // namespace

const char* stage_name(ExecutionModel model) {
  const catalogue::Stage* stage = catalogue::find_stage_of_model(static_cast<uint32_t>(model));
  return stage == nullptr ? "unknown" : stage->name;
}

const StageTraits* find_stage(ExecutionModel model) {
  const auto stage = std::ranges::find(kStages, model, &StageTraits::model);
  return stage == std::end(kStages) ? nullptr : stage;
}

using spv::Op;

PhysicalMemory::PhysicalMemory(PassContext& context)
    : editor_(context.editor),
      scope_(editor_.constant_u32(
          word(context.vulkan_memory_model ? spv::Scope::QueueFamily : spv::Scope::Device))),
      use_int64_(context.use_int64),
      relaxed_(editor_.constant_u32(word(spv::MemorySemanticsMask::MaskNone))) {}

uint32_t PhysicalMemory::add(InstructionBuilder& code, uint32_t type, uint32_t pointer,
                             uint32_t value) const {
  return code.emit(Op::OpAtomicIAdd, type, {pointer, scope_, relaxed_, value});
}

uint32_t PhysicalMemory::advance_64(InstructionBuilder& code, uint32_t address,
                                    uint32_t bytes) const {
  const uint32_t u64 = editor_.type_int(64);
  const uint32_t from = code.emit(Op::OpBitcast, u64, {address});
  const uint32_t distance = code.emit(Op::OpUConvert, u64, {bytes});
  const uint32_t sum = code.emit(Op::OpIAdd, u64, {from, distance});
  return code.emit(Op::OpBitcast, editor_.type_vector(editor_.type_int(32), 2), {sum});
}

uint32_t PhysicalMemory::advance(InstructionBuilder& code, uint32_t address, uint32_t bytes) const {
  const uint32_t u32 = editor_.type_int(32);
  if (use_int64_) return advance_64(code, address, bytes);
  const uint32_t low = code.emit(Op::OpCompositeExtract, u32, {address, 0});
  const uint32_t high = code.emit(Op::OpCompositeExtract, u32, {address, 1});
  const uint32_t sum = code.emit(Op::OpIAdd, u32, {low, bytes});
  const uint32_t overflows = code.emit(Op::OpULessThan, editor_.type_bool(), {sum, low});
  const uint32_t carry =
      code.emit(Op::OpSelect, u32, {overflows, editor_.constant_u32(1), editor_.constant_u32(0)});
  const uint32_t sum_high = code.emit(Op::OpIAdd, u32, {high, carry});
  return code.emit(Op::OpCompositeConstruct, editor_.type_vector(u32, 2), {sum, sum_high});
}

bool Builtins::is_float(BuiltIn builtin) { return builtin == BuiltIn::FragCoord; }

std::optional<BuiltinVariable> find_builtin(const Module& module, const EntryPoint& entry,
                                            StorageClass storage, BuiltIn builtin) {
  for (const uint32_t variable : entry.interface) {
    const auto definition = module.definition(variable);
    if (!definition || definition->opcode() != Op::OpVariable) continue;
    if (definition->operand(0) != word(storage)) continue;
    const auto pointer = module.definition(definition->type_id());
    if (!pointer || pointer->opcode() != Op::OpTypePointer) continue;
    const uint32_t type = pointer->operand(1);
    if (module.decoration(variable, spv::Decoration::BuiltIn) == word(builtin)) {
      return BuiltinVariable{builtin, variable, type, std::nullopt};
    }
    const auto block = module.definition(type);
    if (!block || block->opcode() != Op::OpTypeStruct) continue;
    for (uint32_t member = 0; member < block->operand_count(); ++member) {
      if (module.member_decoration(type, member, spv::Decoration::BuiltIn) == word(builtin)) {
        return BuiltinVariable{builtin, variable, block->operand(member), member};
      }
    }
  }
  return std::nullopt;
}

Builtins::Input Builtins::create(BuiltIn builtin, uint32_t size) {
  Editor& editor = context_.editor;
  uint32_t type = is_boolean(builtin) ? editor.type_bool()
                  : is_float(builtin) ? editor.type_float(32)
                                      : editor.type_int(32);
  if (size > 1) type = editor.type_vector(type, size);
  if (builtin == BuiltIn::SampleMask) type = editor.new_array(type, editor.constant_u32(1));
  const uint32_t variable = editor.new_global_variable(
      editor.type_pointer(StorageClass::Input, type), StorageClass::Input);
  editor.decorate(variable, spv::Decoration::BuiltIn, {word(builtin)});
  const bool interpolated = is_float(builtin) || is_boolean(builtin);
  if (context_.entry.model == spv::ExecutionModel::Fragment && !interpolated) {
    editor.decorate(variable, spv::Decoration::Flat);
  }
  editor.add_to_interface(context_.entry, variable);
  return {builtin, variable, type, std::nullopt};
}

const Builtins::Input& Builtins::input(BuiltIn builtin, uint32_t size) {
  const auto known = std::ranges::find(inputs_, builtin, &Input::builtin);
  if (known != inputs_.end()) return *known;
  const auto found = find_builtin(context_.module(), context_.entry, StorageClass::Input, builtin);
  inputs_.push_back(found ? *found : create(builtin, size));
  if (found && builtin != BuiltIn::SampleMask && !fits(builtin, size, found->type)) {
    status_ = Error{"it declares a built-in with an invalid type"};
  }
  return inputs_.back();
}

bool Builtins::fits(BuiltIn builtin, uint32_t size, uint32_t type) const {
  auto definition = context_.module().definition(type);
  if (size > 1) {
    if (!definition || definition->opcode() != Op::OpTypeVector) return false;
    if (definition->operand(1) < size) return false;
    definition = context_.module().definition(definition->operand(0));
  }
  if (!definition) return false;
  if (is_boolean(builtin)) return definition->opcode() == Op::OpTypeBool;
  const Op opcode = is_float(builtin) ? Op::OpTypeFloat : Op::OpTypeInt;
  return definition->opcode() == opcode && definition->operand(0) == 32;
}

uint32_t Builtins::load(InstructionBuilder& code, const Input& input) {
  Editor& editor = context_.editor;
  uint32_t pointer = input.variable;
  if (input.member) {
    pointer = code.access_chain(editor.type_pointer(StorageClass::Input, input.type), pointer,
                                {editor.constant_u32(*input.member)});
  }
  return code.load(input.type, pointer);
}

uint32_t Builtins::load_component(InstructionBuilder& code, const Input& input, uint32_t size,
                                  uint32_t component, uint32_t* type) {
  Editor& editor = context_.editor;
  const uint32_t value = load(code, input);
  *type = input.type;
  if (const auto vector = context_.module().definition(input.type);
      vector && vector->opcode() == Op::OpTypeVector) {
    *type = vector->operand(0);
  } else if (size > 1) {
    *type = is_float(input.builtin) ? editor.type_float(32) : editor.type_int(32);
  } else {
    return value;
  }
  return code.emit(Op::OpCompositeExtract, *type, {value, component});
}

uint32_t Builtins::number(InstructionBuilder& code, BuiltIn builtin, uint32_t size,
                          uint32_t component) {
  uint32_t type = 0;
  const Input from = input(builtin, size);
  const uint32_t value = load_component(code, from, size, component, &type);
  const uint32_t u32 = context_.editor.type_int(32);
  if (is_float(builtin)) return code.emit(Op::OpConvertFToU, u32, {value});
  return type == u32 ? value : code.emit(Op::OpBitcast, u32, {value});
}

// The last bit of a float between 2^n and 2^(n + 1) is worth 2^(n - 23), so adding 2^(23 + shift)
// shifts the number into the lowest bits.
uint32_t Builtins::shifted(InstructionBuilder& code, const ShardTerm& term) {
  Editor& editor = context_.editor;
  uint32_t type = 0;
  const Input from = input(term.builtin, term.size);
  const uint32_t value = load_component(code, from, term.size, term.component, &type);
  const auto power = std::bit_cast<uint32_t>(static_cast<float>(1u << (23 + term.shift)));
  const uint32_t added = code.emit(Op::OpBitcast, type, {editor.constant_u32(power)});
  return code.emit(Op::OpBitcast, editor.type_int(32),
                   {code.emit(Op::OpFAdd, type, {value, added})});
}

uint32_t Builtins::lanes_below(InstructionBuilder& code) {
  return load(code, input(BuiltIn::SubgroupLtMask, 4));
}

uint32_t Builtins::is_helper(InstructionBuilder& code) {
  return load(code, input(BuiltIn::HelperInvocation, 1));
}

uint32_t Builtins::sample_mask(InstructionBuilder& code) {
  Editor& editor = context_.editor;
  const uint32_t u32 = editor.type_int(32);
  const Input from = input(BuiltIn::SampleMask, 1);
  const auto definition = context_.module().definition(from.type);
  const bool is_array = !definition || definition->opcode() == Op::OpTypeArray;
  const uint32_t type = !definition ? u32 : is_array ? definition->operand(0) : from.type;
  if (definition && !fits(BuiltIn::SampleMask, 1, type))
    status_ = Error{"its SampleMask is not an array of 32-bit integers"};
  std::vector<uint32_t> operands = {from.variable};
  if (from.member) operands.push_back(editor.constant_u32(*from.member));
  if (is_array) operands.push_back(editor.constant_u32(0));
  uint32_t pointer = from.variable;
  if (operands.size() > 1) {
    pointer =
        code.emit(Op::OpAccessChain, editor.type_pointer(StorageClass::Input, type), operands);
  }
  const uint32_t value = code.load(type, pointer);
  return type == u32 ? value : code.emit(Op::OpBitcast, u32, {value});
}

uint32_t HelperMask::is_live(InstructionBuilder& code) const {
  if (!context_.stage.has_helpers) return 0;
  const uint32_t boolean = context_.editor.type_bool();
  const uint32_t helper = context_.demotes ? code.emit(Op::OpIsHelperInvocationEXT, boolean, {})
                                           : builtins_.is_helper(code);
  return code.emit(Op::OpLogicalNot, boolean, {helper});
}

}  // namespace tally::spirv
