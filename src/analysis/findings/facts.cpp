#include "analysis/findings/facts.h"

#include <map>
#include <set>
#include <span>
#include <spirv/unified1/spirv.hpp11>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "analysis/model/counts.h"
#include "analysis/model/names.h"
#include "spirv/analysis/block_map.h"
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

namespace {

using spirv::SiteSlot;
using spv::Op;

// Adds the lines of one variant.
void add_memory_lines(uint32_t variant, const ShaderCode& code,
                      const std::map<uint32_t, MemoryLine>& sites, std::vector<MemoryLine>& lines) {
  std::vector<uint32_t> offsets;
  for (const auto& [offset, values] : sites) offsets.push_back(offset);
  const spirv::MemoryAccesses accesses(code.module);
  std::map<std::tuple<uint32_t, uint32_t, std::string, std::string>, size_t> known;
  for (const spirv::SitePlace& place : site_places(code.module, code.map, offsets)) {
    const auto access = accesses.find(code.module.instruction(place.instruction));
    if (!access) continue;
    MemoryLine line = sites.at(place.word_offset);
    line.variant = variant, line.block = place.block, line.location = place.location;
    line.resource = resource_text(code.module, *access);
    line.access = access_text(access->kind);
    size_t at = lines.size();
    if (line.location) {
      at = known
               .try_emplace({line.location->file, line.location->line, line.resource, line.access},
                            at)
               .first->second;
    }
    if (at == lines.size()) {
      lines.push_back(std::move(line));
      continue;
    }
    lines[at].bytes = saturating_sum(lines[at].bytes, line.bytes);
    lines[at].subgroups = saturating_sum(lines[at].subgroups, line.subgroups);
    lines[at].sectors = saturating_sum(lines[at].sectors, line.sectors);
    lines[at].extra_passes = saturating_sum(lines[at].extra_passes, line.extra_passes);
    lines[at].texels = saturating_sum(lines[at].texels, line.texels);
  }
}

// Numbers of values in a block: equal numbers are equal values.
class NumberedValues {
 public:
  explicit NumberedValues(const spirv::Module& module) : module_(module) {}

  uint32_t number(uint32_t id) const {
    const auto found = numbers_.find(id);
    return found == numbers_.end() ? id : found->second;
  }

  void visit(const spirv::Instruction& at) {
    if (at.opcode() == Op::OpStore) ++stores_[root(at.operand(0))];
    if (at.opcode() == Op::OpFunctionCall) ++calls_;
    if (at.result_id() == 0) return;
    std::vector<uint32_t> key = {static_cast<uint32_t>(at.opcode()), at.type_id()};
    if (at.opcode() == Op::OpLoad) {
      const uint32_t variable = root(at.operand(0));
      if (!is_local(variable)) return;
      key.insert(key.end(), {number(at.operand(0)), stores_[variable], calls_});
    } else if (is_pure(at.opcode())) {
      spirv::for_each_operand(at, [&](uint32_t operand, bool is_id) {
        key.push_back(is_id ? number(operand) : operand);
      });
    } else {
      return;
    }
    numbers_[at.result_id()] = known_.try_emplace(std::move(key), at.result_id()).first->second;
  }

 private:
  // Instructions that only compute: arithmetic, conversions, parts of composites, pointers.
  static bool is_pure(Op opcode) {
    return opcode == Op::OpAccessChain || opcode == Op::OpInBoundsAccessChain ||
           (opcode >= Op::OpVectorExtractDynamic && opcode <= Op::OpTranspose) ||
           (opcode >= Op::OpConvertFToU && opcode <= Op::OpBitcast) ||
           (opcode >= Op::OpSNegate && opcode <= Op::OpBitCount);
  }

  uint32_t root(uint32_t pointer) const {
    while (module_.opcode_of(pointer) == Op::OpAccessChain ||
           module_.opcode_of(pointer) == Op::OpInBoundsAccessChain)
      pointer = module_.definition(pointer)->operand(0);
    return pointer;
  }

  bool is_local(uint32_t variable) const {
    const auto definition = module_.definition(variable);
    if (!definition || definition->opcode() != Op::OpVariable) return false;
    const auto storage = static_cast<spv::StorageClass>(definition->operand(0));
    return storage == spv::StorageClass::Function || storage == spv::StorageClass::Private ||
           storage == spv::StorageClass::Input || storage == spv::StorageClass::PushConstant;
  }

  const spirv::Module& module_;
  std::map<uint32_t, uint32_t> numbers_;
  std::map<std::vector<uint32_t>, uint32_t> known_;
  std::map<uint32_t, uint32_t> stores_;  // by variable
  uint32_t calls_ = 0;
};

// The bytes of an access, equal where they are certainly the same.
std::vector<uint32_t> place_of_access(const spirv::MemoryAccess& access,
                                      const NumberedValues& values) {
  std::vector<uint32_t> place = {access.variable, access.element, access.bytes, access.base};
  if (access.variable == 0) place[0] = values.number(access.pointer);
  if (access.element != 0) place[1] = values.number(access.element);
  if (access.coordinate != 0) place.push_back(values.number(access.coordinate));
  for (const auto& [index, stride] : access.steps) {
    place.insert(place.end(), {values.number(index), stride});
  }
  return place;
}

bool may_change_memory(Op opcode) {
  return opcode == Op::OpFunctionCall || opcode == Op::OpControlBarrier ||
         opcode == Op::OpMemoryBarrier || opcode == Op::OpCopyMemory;
}

}  // namespace

Result<std::vector<MemoryLine>> find_memory_lines(const Model& model, ShaderCodes& codes,
                                                  const Variants& variants,
                                                  const Progress& progress) {
  std::map<uint32_t, std::map<uint32_t, MemoryLine>> sites;  // by variant and site
  const Status status = visit_site_values(model, progress, [&](const SiteValue& v) {
    if (spirv::kind_of(v.slot) != spirv::SiteKind::Memory) return;
    const uint32_t variant = variants.of(model.commands[v.command].pipeline, v.shader);
    MemoryLine& line = sites[variant][spirv::word_offset_of(v.site)];
    const auto add = [&](SiteSlot slot, uint64_t& sum) {
      if (v.slot == slot) sum = saturating_sum(sum, v.value);
    };
    add(SiteSlot::RequestedBytes, line.bytes);
    add(SiteSlot::Subgroups, line.subgroups);
    add(SiteSlot::Sectors, line.sectors);
    add(SiteSlot::ExtraPasses, line.extra_passes);
    add(SiteSlot::Texels, line.texels);
  });
  TALLY_TRY(status);
  std::vector<MemoryLine> lines;
  for (const auto& [variant, of_variant] : sites) {
    const Result<ShaderCode>& code = codes.of(variants[variant].shader);
    if (code) add_memory_lines(variant, *code, of_variant, lines);
  }
  return lines;
}

std::vector<uint32_t> loads_of_stored(const spirv::Module& module, const spirv::Block& block,
                                      const spirv::MemoryAccesses& accesses) {
  std::vector<uint32_t> loads;
  NumberedValues values(module);
  std::set<std::vector<uint32_t>> stored;
  for (uint32_t i = module.definition_index(block.label_id);
       i < module.instruction_count() && module.word_offset(i) < block.word_end; ++i) {
    const spirv::Instruction at = module.instruction(i);
    if (may_change_memory(at.opcode())) stored.clear();
    const auto access = accesses.find(at);
    if (access && access->kind == spirv::MemoryAccess::Kind::Load) {
      if (stored.contains(place_of_access(*access, values))) loads.push_back(i);
    } else if (access) {
      // It may have changed any other place.
      const std::vector<uint32_t> place = place_of_access(*access, values);
      std::erase_if(stored, [&](const auto& other) { return other != place; });
      if (access->kind == spirv::MemoryAccess::Kind::Store) stored.insert(place);
    }
    values.visit(at);
  }
  return loads;
}

}  // namespace tally::analysis
