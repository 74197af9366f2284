#include "analysis/findings/memory_facts.h"

#include <map>
#include <set>
#include <tuple>

#include "analysis/model/counts.h"
#include "analysis/model/names.h"
#include "spirv/analysis/block_map.h"
#include "spirv/ir/opcode.h"

namespace tally::analysis {
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
    line.is_shared = access->storage == spv::StorageClass::Workgroup;
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
  if (!status) return status.error();
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
