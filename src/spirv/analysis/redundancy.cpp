#include "spirv/analysis/redundancy.h"

#include <spirv/unified1/GLSL.std.450.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "spirv/ir/opcode.h"

namespace tally::spirv {
namespace {

using spv::Op;

// The effect of an instruction, as far as the analysis knows it.
enum class Effect : uint8_t {
  None,    // it is not executed
  Pure,    // it depends on its operands alone
  Reads,   // as Pure, but it also reads memory that others may write
  Load,    // OpLoad
  Store,   // OpStore
  Layout,  // it leaves no instruction behind
  Other,   // it may do anything
};

struct KeyHash {
  size_t operator()(const std::vector<uint32_t>& key) const {
    uint64_t hash = key.size();
    for (const uint32_t word : key) hash = hash_combine(hash, word);
    return static_cast<size_t>(hash);
  }
};

// Memory that a shader cannot write.
bool is_read_only(spv::StorageClass storage) {
  return storage == spv::StorageClass::Input || storage == spv::StorageClass::UniformConstant ||
         storage == spv::StorageClass::PushConstant;
}

class FunctionAnalysis {
 public:
  FunctionAnalysis(const Module& module, const Function& function, std::vector<Residue>& residues)
      : module_(module), function_(function), residues_(residues) {}

  // Values that are constants once loops are unrolled.
  void note_constants(std::unordered_set<uint32_t> ids) { constants_ = std::move(ids); }

  // After run().
  void fuse_products() {
    std::unordered_map<uint32_t, uint32_t> uses;
    for (const uint32_t index : live_) {
      for_each_operand(module_.instruction(index), [&](uint32_t word, bool is_id) {
        if (is_id) ++uses[leader(word)];
      });
    }
    for (const BlockRange& block : module_.blocks_of(function_)) {
      for (uint32_t i = block.begin; i < block.end; ++i) fuse(i, block, uses);
    }
  }

  void run() {
    for (const BlockRange& block : module_.blocks_of(function_)) number_values(block);
    find_live();
    for (const BlockRange& block : module_.blocks_of(function_)) {
      for (uint32_t i = block.begin; i < block.end; ++i) {
        const Effect effect = effect_of(module_.instruction(i));
        if (effect == Effect::Layout) residues_[i] = Residue::Nothing;
        const bool used = live_.contains(i) || targets_.contains(i);
        if (is_removable(effect) && !used) residues_[i] = Residue::Nothing;
      }
    }
  }

 private:
  void fuse(uint32_t index, const BlockRange& block,
            const std::unordered_map<uint32_t, uint32_t>& uses) {
    const Instruction sum = module_.instruction(index);
    const bool adds = sum.opcode() == Op::OpFAdd || sum.opcode() == Op::OpFSub;
    if (!adds || residues_[index] != Residue::All || is_precise(sum.result_id())) return;
    for (const size_t operand : {size_t{0}, size_t{1}}) {
      const uint32_t id = leader(sum.operand(operand));
      const uint32_t product = module_.definition_index(id);
      if (product == kNone || product < block.begin || product >= block.end) continue;
      const Op opcode = module_.instruction(product).opcode();
      const bool multiplies = opcode == Op::OpFMul || opcode == Op::OpVectorTimesScalar;
      const auto used = uses.find(id);
      if (!multiplies || residues_[product] != Residue::All || used == uses.end() ||
          used->second != 1 || is_precise(id))
        continue;
      residues_[product] = Residue::Nothing;
      residues_[index] = Residue::MultiplyAdd;
      return;
    }
  }

  bool is_precise(uint32_t id) const {
    return std::ranges::any_of(module_.decorations_of(id), [&](uint32_t decoration) {
      return module_.instruction(decoration).operand(1) ==
             static_cast<uint32_t>(spv::Decoration::NoContraction);
    });
  }

  // A pointer's variable, and where that is.
  struct Place {
    uint32_t variable = 0;  // 0: not known
    spv::StorageClass storage = spv::StorageClass::Max;

    bool is_local() const { return variable != 0 && storage == spv::StorageClass::Function; }
  };

  static bool is_removable(Effect effect) {
    return effect == Effect::Pure || effect == Effect::Reads || effect == Effect::Load ||
           effect == Effect::Store;
  }

  Effect effect_of(const Instruction& instruction) const {
    if (!is_executed(module_, instruction)) return Effect::None;
    const Op opcode = instruction.opcode();
    if (opcode == Op::OpLoad || opcode == Op::OpStore) {
      const bool is_load = opcode == Op::OpLoad;
      const uint32_t access = instruction.operand(is_load ? 1 : 2);
      if (access & static_cast<uint32_t>(spv::MemoryAccessMask::Volatile)) return Effect::Other;
      return is_load ? Effect::Load : Effect::Store;
    }
    if (opcode == Op::OpBranch || opcode == Op::OpReturn || opcode == Op::OpReturnValue ||
        opcode == Op::OpFunctionCall)
      return Effect::Layout;
    if (instruction.result_id() == 0) return Effect::Other;
    switch (opcode_layout(opcode).cost) {
      case CostRule::Arithmetic:
      case CostRule::Comparison:
      case CostRule::Division:
      case CostRule::Product:
      case CostRule::IntegerDot:
      case CostRule::Logic:
      case CostRule::Conversion:
      case CostRule::Derivative:
      case CostRule::Move:
      case CostRule::Address:
        return Effect::Pure;
      case CostRule::TextureSample:
      case CostRule::TextureGather:
      case CostRule::TextureFetch:
      case CostRule::ImageLoad:
      case CostRule::ResourceQuery:
        return Effect::Reads;
      case CostRule::ExtInst:
        return effect_of_extended(instruction);
      default:
        return Effect::Other;
    }
  }

  // Modf and Frexp write through a pointer.
  Effect effect_of_extended(const Instruction& instruction) const {
    if (module_.ext_inst_set(instruction.operand(0)) != ExtInstSet::Glsl450) return Effect::Other;
    const uint32_t number = instruction.operand(1);
    return number == GLSLstd450Modf || number == GLSLstd450Frexp ? Effect::Other : Effect::Pure;
  }

  uint32_t leader(uint32_t id) const {
    const auto found = leaders_.find(id);
    return found == leaders_.end() ? id : found->second;
  }

  Place place_of(uint32_t pointer) const {
    for (int step = 0; step < 64; ++step) {
      const auto definition = module_.definition(pointer);
      if (!definition) return {};
      switch (definition->opcode()) {
        case Op::OpVariable:
          return {pointer, static_cast<spv::StorageClass>(definition->operand(0))};
        case Op::OpAccessChain:
        case Op::OpInBoundsAccessChain:
        case Op::OpCopyObject:
          pointer = definition->operand(0);
          break;
        default:
          return {};
      }
    }
    return {};
  }

  // Changes whenever the memory that a pointer points to may have been written.
  uint32_t version_of(const Place& place) const {
    if (place.is_local()) {
      const auto found = versions_.find(place.variable);
      return std::max(unknown_store_, found == versions_.end() ? 0 : found->second);
    }
    return place.variable != 0 && is_read_only(place.storage) ? 0 : external_;
  }

  // A pointer that is not followed to its variable may point to any.
  void note_store(const Place& place) {
    const uint32_t version = ++last_version_;
    if (place.is_local()) {
      versions_[place.variable] = version;
    } else {
      external_ = version;
      if (place.variable == 0) unknown_store_ = version;
    }
  }

  void note_unknown_effects(const Instruction& instruction) {
    external_ = ++last_version_;
    for_each_operand(instruction, [&](uint32_t word, bool is_id) {
      if (!is_id || !is_pointer(word)) return;
      note_store(place_of(word));
    });
  }

  bool is_pointer(uint32_t id) const {
    return module_.opcode_of(module_.type_of(id)) == Op::OpTypePointer;
  }

  void number_values(const BlockRange& block) {
    values_.clear();
    for (uint32_t i = block.begin; i < block.end; ++i) {
      const Instruction instruction = module_.instruction(i);
      const Effect effect = effect_of(instruction);
      switch (effect) {
        case Effect::None:
          break;
        case Effect::Pure:
        case Effect::Reads:
          if (instruction.opcode() != Op::OpPhi) number_expression(i, instruction, effect);
          break;
        case Effect::Load:
          number_load(i, instruction);
          break;
        case Effect::Store:
          number_store(i, instruction);
          break;
        case Effect::Layout:
          if (instruction.opcode() == Op::OpFunctionCall) note_unknown_effects(instruction);
          break;
        case Effect::Other:
          note_unknown_effects(instruction);
          break;
      }
    }
  }

  void number_expression(uint32_t index, const Instruction& instruction, Effect effect) {
    const uint32_t id = instruction.result_id();
    if (const auto part = extracted(instruction)) return replace(index, id, *part);
    std::vector<uint32_t> key = {static_cast<uint32_t>(instruction.opcode()), instruction.type_id(),
                                 effect == Effect::Reads ? external_ : 0};
    bool constant = effect == Effect::Pure;
    for_each_operand(instruction, [&](uint32_t word, bool is_id) {
      key.push_back(is_id ? leader(word) : word);
      constant &=
          !is_id || is_constant(leader(word)) || module_.opcode_of(word) == Op::OpExtInstImport;
    });
    const bool divides = opcode_layout(instruction.opcode()).cost == CostRule::Division;
    if (divides && is_constant(leader(instruction.operand(1))))
      residues_[index] = Residue::Multiplication;
    if (constant) {
      constants_.insert(id);
      residues_[index] = Residue::Nothing;
    }
    const auto [found, is_new] = values_.try_emplace(std::move(key), id);
    if (!is_new) replace(index, id, found->second);
  }

  void number_load(uint32_t index, const Instruction& instruction) {
    const auto [found, is_new] = values_.try_emplace(
        load_key(instruction.type_id(), instruction.operand(0)), instruction.result_id());
    if (!is_new) replace(index, instruction.result_id(), found->second);
  }

  void number_store(uint32_t index, const Instruction& instruction) {
    const uint32_t pointer = instruction.operand(0), value = leader(instruction.operand(1));
    const Place place = place_of(pointer);
    note_store(place);
    if (place.is_local()) stores_[place.variable].push_back(index);
    values_[load_key(module_.type_of(instruction.operand(1)), pointer)] = value;
  }

  std::vector<uint32_t> load_key(uint32_t type, uint32_t pointer) const {
    return {static_cast<uint32_t>(Op::OpLoad), type, version_of(place_of(pointer)),
            leader(pointer)};
  }

  void replace(uint32_t index, uint32_t id, uint32_t by) {
    leaders_[id] = by;
    residues_[index] = Residue::Nothing;
  }

  bool is_constant(uint32_t id) const {
    const Op opcode = module_.opcode_of(id);
    return (opcode >= Op::OpConstantTrue && opcode <= Op::OpConstantNull) ||
           (opcode >= Op::OpSpecConstantTrue && opcode <= Op::OpSpecConstantOp) ||
           opcode == Op::OpUndef || constants_.contains(id);
  }

  // The value that an OpCompositeExtract takes out of what was put together before.
  std::optional<uint32_t> extracted(const Instruction& instruction) const {
    if (instruction.opcode() != Op::OpCompositeExtract || instruction.operand_count() != 2)
      return {};
    uint32_t composite = leader(instruction.operand(0)), part = instruction.operand(1);
    for (int step = 0; step < 64; ++step) {
      const auto from = module_.definition(composite);
      if (!from) return {};
      switch (from->opcode()) {
        case Op::OpCompositeConstruct:
        case Op::OpConstantComposite:
          return constituent(*from, part, instruction.type_id());
        case Op::OpCompositeInsert:
          if (from->operand(2) == part) {
            if (from->operand_count() != 3) return {};
            return leader(from->operand(0));
          }
          composite = leader(from->operand(1));
          break;
        case Op::OpVectorShuffle: {
          const uint32_t first = components_of(from->operand(0));
          const uint32_t chosen = from->operand(2 + part);
          composite = leader(from->operand(chosen < first ? 0 : 1));
          part = chosen < first ? chosen : chosen - first;
          break;
        }
        default:
          return {};
      }
    }
    return {};
  }

  // None where a constituent is a vector whose components are counted one by one.
  std::optional<uint32_t> constituent(const Instruction& construct, uint32_t part,
                                      uint32_t type) const {
    if (part >= construct.operand_count()) return {};
    for (uint32_t n = 0; n <= part; ++n) {
      if (module_.type_of(construct.operand(n)) != type &&
          module_.opcode_of(construct.type_id()) == Op::OpTypeVector)
        return {};
    }
    return leader(construct.operand(part));
  }

  uint32_t components_of(uint32_t vector) const {
    const auto type = module_.definition(module_.type_of(vector));
    return type && type->opcode() == Op::OpTypeVector ? type->operand(1) : 0;
  }

  void find_live() {
    for (const BlockRange& block : module_.blocks_of(function_)) {
      for (uint32_t i = block.begin; i < block.end; ++i) {
        const Instruction instruction = module_.instruction(i);
        const Effect effect = effect_of(instruction);
        const bool writes_elsewhere =
            effect == Effect::Store && !place_of(instruction.operand(0)).is_local();
        if (effect == Effect::Layout || effect == Effect::Other || writes_elsewhere) keep(i);
      }
    }
    while (!open_.empty()) {
      const uint32_t index = open_.back();
      open_.pop_back();
      visit_live(module_.instruction(index));
    }
  }

  void keep(uint32_t index) {
    if (live_.insert(index).second) open_.push_back(index);
  }

  // The operands of a live instruction are live. A store uses its variable without reading it.
  void visit_live(const Instruction& instruction) {
    const bool is_store = instruction.opcode() == Op::OpStore;
    size_t n = 0;
    for_each_operand(instruction, [&](uint32_t word, bool is_id) {
      const bool is_target = is_store && n++ == 0;
      if (is_id) use(leader(word), !is_target);
    });
  }

  void use(uint32_t id, bool reads) {
    const uint32_t index = module_.definition_index(id);
    if (index == kNone || index < function_.begin || index >= function_.end) return;
    const Instruction definition = module_.instruction(index);
    if (definition.opcode() != Op::OpVariable) {
      const bool is_chain = is_pointer(id) && definition.opcode() != Op::OpPhi;
      if (is_chain && !reads) {  // the indices of a store's target
        if (!targets_.insert(index).second) return;
        for_each_operand(definition, [&, first = true](uint32_t word, bool is_id) mutable {
          const bool is_base = std::exchange(first, false);
          if (is_id) use(leader(word), !is_base);
        });
        return;
      }
      return keep(index);
    }
    if (!reads || !read_.insert(id).second) return;
    const auto stores = stores_.find(id);
    if (stores == stores_.end()) return;
    for (const uint32_t store : stores->second) keep(store);
  }

  const Module& module_;
  const Function& function_;
  std::vector<Residue>& residues_;

  std::unordered_map<uint32_t, uint32_t> leaders_;  // by id: the first id with its value
  std::unordered_set<uint32_t> constants_;          // ids of what is computed of constants
  // The ids with the values of the current block, by opcode, type and operands.
  std::unordered_map<std::vector<uint32_t>, uint32_t, KeyHash> values_;
  std::unordered_map<uint32_t, uint32_t> versions_;  // of a function's variable
  uint32_t last_version_ = 0, external_ = 0, unknown_store_ = 0;

  std::unordered_map<uint32_t, std::vector<uint32_t>> stores_;  // by variable: instructions
  std::unordered_set<uint32_t> live_;                           // instructions
  std::unordered_set<uint32_t> targets_;                        // addresses that are stored to
  std::unordered_set<uint32_t> read_;                           // variables
  std::vector<uint32_t> open_;
};

}  // namespace

std::vector<Residue> residues_of_instructions(const Module& module,
                                              std::span<const uint32_t> functions,
                                              const GpuCompiler* gpu) {
  std::vector<Residue> residues(module.instruction_count());
  for (const uint32_t index : functions) {
    FunctionAnalysis analysis(module, module.functions()[index], residues);
    if (gpu != nullptr) analysis.note_constants(gpu->counters);
    analysis.run();
    if (gpu != nullptr) analysis.fuse_products();
  }
  return residues;
}

}  // namespace tally::spirv
