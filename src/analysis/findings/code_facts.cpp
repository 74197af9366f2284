#include "analysis/findings/code_facts.h"

#include <spirv/unified1/spirv.hpp11>

#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "spirv/analysis/cost.h"
#include "spirv/analysis/early_tests.h"
#include "spirv/ir/opcode.h"

namespace tally::analysis {
namespace {

using spirv::Instruction;
using spirv::Module;

bool computes(const spirv::InstructionMix& mix) {
  using spirv::CostClass;
  constexpr CostClass kClasses[] = {
      CostClass::Fma,   CostClass::Float16,  CostClass::Float32,    CostClass::Float64,
      CostClass::Int8,  CostClass::Int16,    CostClass::Int32,      CostClass::Int64,
      CostClass::Logic, CostClass::Division, CostClass::Conversion, CostClass::SpecialFunction};
  for (const CostClass cost : kClasses) {
    if (mix[cost] != 0) return true;
  }
  return false;
}

// Values that are the same in every invocation of a command, by id.
class UniformValues {
 public:
  UniformValues(const Module& module, const spirv::BlockMap& map)
      : module_(module), costs_(module) {
    find_stores(map);
  }

  std::vector<uint32_t> instructions(const spirv::BlockMap& map) {
    std::vector<uint32_t> found;
    for (const spirv::Block& block : map.blocks()) {
      for_each(block, [&](uint32_t index, const Instruction& instruction) {
        if (instruction.opcode() == spv::Op::OpStore) return note_store(instruction);
        const uint32_t result = instruction.result_id();
        if (result == 0 || !is_uniform_result(instruction)) return;
        values_.insert(result);
        if (depends_on_more_than_constants(instruction) && computes(costs_.cost_of(instruction)))
          found.push_back(index);
      });
    }
    return found;
  }

 private:
  template <typename Visit>
  void for_each(const spirv::Block& block, const Visit& visit) const {
    for (uint32_t i = module_.definition_index(block.label_id); i < module_.instruction_count();
         ++i) {
      if (module_.word_offset(i) >= block.word_end) break;
      visit(i, module_.instruction(i));
    }
  }

  template <typename Visit>
  static void for_each_id(const Instruction& instruction, const Visit& visit) {
    spirv::for_each_operand(instruction, [&](uint32_t operand, bool is_id) {
      if (is_id) visit(operand);
    });
  }

  bool is_local(uint32_t id) const {
    const auto definition = module_.definition(id);
    return definition && definition->opcode() == spv::Op::OpVariable &&
           static_cast<spv::StorageClass>(definition->word(3)) == spv::StorageClass::Function;
  }

  // Counts the stores to each local variable. One that is used in any other way than by loads and
  // stores of the whole of it may change anywhere.
  void find_stores(const spirv::BlockMap& map) {
    for (const spirv::Block& block : map.blocks()) {
      for_each(block, [&](uint32_t, const Instruction& instruction) {
        const spv::Op opcode = instruction.opcode();
        if (opcode == spv::Op::OpStore) ++stores_[instruction.word(1)];
        if (opcode == spv::Op::OpLoad || opcode == spv::Op::OpStore ||
            opcode == spv::Op::OpVariable)
          return;
        for_each_id(instruction, [&](uint32_t id) {
          if (is_local(id)) stores_[id] += 2;
        });
      });
    }
  }

  void note_store(const Instruction& store) {
    const uint32_t variable = store.word(1);
    if (is_local(variable) && stores_[variable] == 1 && is_uniform(store.word(2)))
      variables_.insert(variable);
  }

  bool is_constant(uint32_t id) const {
    const spv::Op opcode = module_.opcode_of(id);
    return (opcode >= spv::Op::OpConstantTrue && opcode <= spv::Op::OpSpecConstantOp) ||
           opcode == spv::Op::OpUndef || opcode == spv::Op::OpExtInstImport;
  }
  bool is_uniform(uint32_t id) const { return is_constant(id) || values_.contains(id); }

  // A pointer into memory that no invocation of the command changes, at a uniform place.
  bool points_to_uniform(uint32_t pointer) const {
    if (variables_.contains(pointer)) return true;
    const auto definition = module_.definition(pointer);
    if (!definition) return false;
    if (definition->opcode() == spv::Op::OpVariable) {
      const auto storage = static_cast<spv::StorageClass>(definition->word(3));
      if (storage == spv::StorageClass::PushConstant) return true;
      return storage == spv::StorageClass::Uniform && !is_storage_buffer(pointer);
    }
    return values_.contains(pointer);
  }

  // Before SPIR-V 1.3 a storage buffer was a variable of storage class Uniform too.
  bool is_storage_buffer(uint32_t variable) const {
    const auto pointer = module_.definition(module_.type_of(variable));
    uint32_t type = pointer ? pointer->word(3) : 0;
    while (module_.opcode_of(type) == spv::Op::OpTypeArray ||
           module_.opcode_of(type) == spv::Op::OpTypeRuntimeArray)
      type = module_.definition(type)->word(2);
    return module_.decoration(type, spv::Decoration::BufferBlock).has_value();
  }

  bool is_uniform_result(const Instruction& instruction) const {
    switch (instruction.opcode()) {
      case spv::Op::OpLoad:
        return points_to_uniform(instruction.word(3));
      case spv::Op::OpAccessChain:
      case spv::Op::OpInBoundsAccessChain:
        if (!points_to_uniform(instruction.word(3)) || is_local(instruction.word(3))) return false;
        for (uint32_t i = 4; i < instruction.word_count(); ++i) {
          if (!is_uniform(instruction.word(i))) return false;
        }
        return true;
      case spv::Op::OpPhi:
      case spv::Op::OpFunctionCall:
      case spv::Op::OpVariable:
      case spv::Op::OpLabel:
        return false;
      default:
        break;
    }
    const spirv::InstructionMix mix = costs_.cost_of(instruction);
    if (!computes(mix) && mix[spirv::CostClass::Move] == 0) return false;
    bool uniform = true;
    for_each_id(instruction, [&](uint32_t id) { uniform = uniform && is_uniform(id); });
    return uniform;
  }

  bool depends_on_more_than_constants(const Instruction& instruction) const {
    bool found = false;
    for_each_id(instruction, [&](uint32_t id) { found = found || values_.contains(id); });
    return found;
  }

  const Module& module_;
  const spirv::CostModel costs_;
  std::unordered_map<uint32_t, uint32_t> stores_;  // to local variables
  std::unordered_set<uint32_t> values_;
  std::unordered_set<uint32_t> variables_;  // local ones that hold a uniform value
};

bool is_debug(const spirv::Module& module, const spirv::Instruction& at) {
  switch (at.opcode()) {
    case spv::Op::OpName:
    case spv::Op::OpMemberName:
    case spv::Op::OpSource:
    case spv::Op::OpSourceContinued:
    case spv::Op::OpSourceExtension:
    case spv::Op::OpString:
    case spv::Op::OpModuleProcessed:
    case spv::Op::OpExtension:
      return true;
    case spv::Op::OpExtInst:
      return module.ext_inst_set(at.operand(0)) != spirv::ExtInstSet::Glsl450;
    case spv::Op::OpExtInstImport:
      return module.ext_inst_set(at.result_id()) != spirv::ExtInstSet::Glsl450;
    default:
      return spirv::is_line(at.opcode());
  }
}

}  // namespace

bool discards(const spirv::Module& module, const spirv::Block& block) {
  for (uint32_t i = module.definition_index(block.label_id);
       i < module.instruction_count() && module.word_offset(i) < block.word_end; ++i) {
    if (spirv::is_discard(module.instruction(i).opcode())) return true;
  }
  return false;
}

Hash128 code_hash(const spirv::Module& module) {
  std::map<uint32_t, uint32_t> numbers;
  std::vector<uint32_t> words;
  const auto renumbered = [&](uint32_t id) {
    return numbers.emplace(id, static_cast<uint32_t>(numbers.size())).first->second;
  };
  for (uint32_t i = 0; i < module.instruction_count(); ++i) {
    const spirv::Instruction at = module.instruction(i);
    if (is_debug(module, at)) continue;
    words.push_back(at.words()[0]);
    if (at.type_id() != 0) words.push_back(renumbered(at.type_id()));
    if (at.result_id() != 0) words.push_back(renumbered(at.result_id()));
    spirv::for_each_operand(at, [&](uint32_t operand, bool is_id) {
      words.push_back(is_id ? renumbered(operand) : operand);
    });
  }
  return hash_bytes(std::as_bytes(std::span(words)));
}

std::vector<uint32_t> uniform_instructions(const spirv::Module& module,
                                           const spirv::BlockMap& map) {
  return UniformValues(module, map).instructions(map);
}

}  // namespace tally::analysis
