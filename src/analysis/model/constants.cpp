#include "analysis/model/constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "analysis/model/names.h"
#include "base/hash.h"
#include "spirv/ir/module.h"

namespace tally::analysis {
namespace {

using spirv::Module;
using spv::Op;

// One specialization constant of a module.
struct DeclaredConstant {
  uint32_t spec_id = 0;
  std::string name;
  uint32_t width = 32;  // bits; 1: a boolean
  bool is_float = false, is_signed = false;
  uint64_t default_bits = 0;
};

uint64_t cut(const DeclaredConstant& constant, uint64_t bits) {
  if (constant.width == 1) return bits != 0 ? 1 : 0;
  return constant.width >= 64 ? bits : bits & ((uint64_t{1} << constant.width) - 1);
}

// Names of shaders are keys of snapshots: they must not depend on the locale, or on a library's way
// to round.
std::string value_text(const DeclaredConstant& constant, uint64_t bits) {
  if (constant.width == 1) return bits != 0 ? "true" : "false";
  if (constant.is_float && constant.width == 32) {
    return fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  if (constant.is_float && constant.width == 64) {
    return fmt::format("{}", std::bit_cast<double>(bits));
  }
  if (constant.is_float) return fmt::format("0x{:0{}x}", bits, constant.width / 4);
  if (!constant.is_signed || constant.width == 0) return fmt::format("{}", bits);
  const uint32_t unused = 64 - std::min(constant.width, 64u);
  return fmt::format("{}", static_cast<int64_t>(bits << unused) >> unused);
}

std::vector<DeclaredConstant> declared_by(const Module& module) {
  std::vector<DeclaredConstant> declared;
  for (const auto& [index, spec_id] : module.declared_constants()) {
    const spirv::Instruction instruction = module.instruction(index);
    DeclaredConstant constant{.spec_id = spec_id, .name = module.name_of(instruction.result_id())};
    if (constant.name.empty()) constant.name = std::to_string(spec_id);
    const auto type = module.definition(instruction.type_id());
    if (instruction.opcode() != Op::OpSpecConstant) {
      constant.width = 1;
      constant.default_bits = instruction.opcode() == Op::OpSpecConstantTrue ? 1 : 0;
    } else if (type) {
      constant.width = type->operand(0);
      constant.is_float = type->opcode() == Op::OpTypeFloat;
      constant.is_signed = type->opcode() == Op::OpTypeInt && type->operand(1) != 0;
      constant.default_bits =
          cut(constant, instruction.operand(0) | uint64_t{instruction.operand(1)} << 32);
    }
    declared.push_back(std::move(constant));
  }
  return declared;
}

// The constants of a shader whose values are not the defaults: positions in the list of those that
// the module declares, and values. Ascending.
using OwnValues = std::map<size_t, uint64_t>;

// A name may have it, so it is short. The hash covers the rest.
std::string shortened(std::string text) {
  constexpr size_t kMaxText = 160;
  if (text.size() <= kMaxText) return text;
  const Hash128 hash = hash_bytes(std::as_bytes(std::span(text)));
  return text.substr(0, text.rfind(',', kMaxText)) + ", ... " + short_hash(to_string(hash));
}

template <typename Chosen>
std::string constants_text(const std::vector<DeclaredConstant>& declared, const OwnValues& values,
                           Chosen chosen) {
  std::string text;
  for (const auto& [position, bits] : values) {
    if (!chosen(position)) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", declared[position].name,
                        value_text(declared[position], bits));
  }
  return shortened(std::move(text));
}

// The positions at which some shaders have other values than others.
std::set<size_t> differences(const std::vector<const OwnValues*>& shaders) {
  struct Seen {
    uint64_t bits;
    size_t shaders = 0;
    bool same = true;
  };
  std::map<size_t, Seen> seen;
  for (const OwnValues* values : shaders) {
    for (const auto& [position, bits] : *values) {
      Seen& at = seen.try_emplace(position, Seen{bits}).first->second;
      ++at.shaders;
      at.same &= at.bits == bits;
    }
  }
  std::set<size_t> positions;
  for (const auto& [position, at] : seen) {
    if (!at.same || at.shaders != shaders.size()) positions.insert(position);
  }
  return positions;
}

// Describes the shaders of one module.
void describe_module(const Model& model, const std::vector<uint32_t>& shaders,
                     const std::vector<DeclaredConstant>& declared, ShaderConstants& result) {
  std::map<uint32_t, size_t> position_of;  // by SpecId
  for (size_t i = 0; i < declared.size(); ++i) position_of.emplace(declared[i].spec_id, i);
  using EntryPoint = std::tuple<store::RowId, uint32_t, std::string>;
  std::map<EntryPoint, std::vector<uint32_t>> entry_points;
  std::map<uint32_t, OwnValues> values;  // by shader
  for (const uint32_t shader : shaders) {
    const store::ShaderRow& row = model.shaders[shader];
    entry_points[{row.device, row.stage, row.entry_point}].push_back(shader);
    OwnValues& own = values[shader];
    for (const SpecializationConstant& given : row.constants) {
      const auto position = position_of.find(given.id);
      if (position == position_of.end()) continue;
      const DeclaredConstant& constant = declared[position->second];
      const uint64_t bits = cut(constant, given.bits);
      if (bits != constant.default_bits) own.emplace(position->second, bits);
    }
    result.specialized[shader] = constants_text(declared, own, [](size_t) { return true; });
  }
  for (const auto& [entry_point, alike] : entry_points) {
    std::vector<const OwnValues*> of_all;
    for (const uint32_t shader : alike) of_all.push_back(&values[shader]);
    const std::set<size_t> differing = differences(of_all);
    for (const uint32_t shader : alike) {
      result.distinguishing[shader] =
          constants_text(declared, values[shader], [&](size_t i) { return differing.contains(i); });
    }
  }
}

}  // namespace

ShaderConstants describe_constants(const Model& model) {
  ShaderConstants result;
  result.specialized.resize(model.shaders.size());
  result.distinguishing.resize(model.shaders.size());
  std::map<store::RowId, std::vector<uint32_t>> of_modules;
  std::set<store::RowId> specialized;
  for (uint32_t shader = 0; shader < model.shaders.size(); ++shader) {
    const store::ShaderRow& row = model.shaders[shader];
    if (!row.module) continue;
    of_modules[*row.module].push_back(shader);
    if (!row.constants.empty()) specialized.insert(*row.module);
  }
  for (const store::RowId module : specialized) {
    const auto words = model.reader.spirv(module);
    const auto parsed = words ? Module::parse(*words) : Result<Module>(words.error());
    if (parsed) describe_module(model, of_modules[module], declared_by(*parsed), result);
  }
  return result;
}

}  // namespace tally::analysis
