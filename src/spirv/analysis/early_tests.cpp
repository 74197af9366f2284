#include "spirv/analysis/early_tests.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "spirv/analysis/loops.h"

namespace tally::spirv {
namespace {

using spv::Op;
using spv::StorageClass;

// Memory that is private to the invocation.
bool is_own_memory(const Module& module, uint32_t pointer) {
  const auto type = module.definition(module.type_of(pointer));
  if (!type || type->opcode() != Op::OpTypePointer) return false;
  switch (static_cast<StorageClass>(type->operand(0))) {
    case StorageClass::Function:
    case StorageClass::Private:
    case StorageClass::Output:
      return true;
    default:
      return false;
  }
}

constexpr bool is_between(Op opcode, Op first, Op last) {
  return opcode >= first && opcode <= last;
}

bool is_atomic_write(Op opcode) {
  return is_between(opcode, Op::OpAtomicStore, Op::OpAtomicXor) ||
         is_between(opcode, Op::OpAtomicFlagTestAndSet, Op::OpAtomicFlagClear);
}

// Instructions of extensions that have no side effects. All others may have some.
bool is_harmless_extension(Op opcode) {
  return is_between(opcode, Op::OpSDot, Op::OpSUDotAccSat) ||
         is_between(opcode, Op::OpRayQueryInitializeKHR, Op::OpRayQueryGetIntersectionTypeKHR) ||
         is_between(opcode, Op::OpRayQueryGetRayTMinKHR,
                    Op::OpRayQueryGetIntersectionWorldToObjectKHR) ||
         opcode == Op::OpReadClockKHR || opcode == Op::OpIsHelperInvocationEXT;
}

}  // namespace

bool has_side_effect(const Module& module, const Instruction& instruction) {
  const Op opcode = instruction.opcode();
  switch (opcode) {
    case Op::OpStore:
    case Op::OpCopyMemory:
    case Op::OpCopyMemorySized:
      return !is_own_memory(module, instruction.operand(0));
    case Op::OpImageWrite:
    case Op::OpImageTexelPointer:
      return true;
    default:
      break;
  }
  if (is_discard(opcode)) return false;
  if (is_atomic_write(opcode)) return true;
  constexpr Op kLastOfCore = Op::OpCopyLogical;
  return opcode > kLastOfCore && !is_harmless_extension(opcode);
}

namespace {

// The variable that a pointer leads to; its own id if it is none.
uint32_t variable_of(const Module& module, uint32_t pointer) {
  auto at = module.definition(pointer);
  while (at && (at->opcode() == Op::OpAccessChain || at->opcode() == Op::OpInBoundsAccessChain ||
                at->opcode() == Op::OpCopyObject)) {
    pointer = at->operand(0);
    at = module.definition(pointer);
  }
  return pointer;
}

bool is_in(const Module& module, uint32_t pointer, StorageClass storage) {
  const auto type = module.definition(module.type_of(pointer));
  return type && type->opcode() == Op::OpTypePointer &&
         static_cast<StorageClass>(type->operand(0)) == storage;
}

class Effects {
 public:
  Effects(const Module& module, const EntryPoint& entry)
      : module_(module), functions_(module.reachable_functions(entry.function_id)) {}

  bool any() const {
    return any_instruction([&](const Instruction& instruction) {
      if (has_side_effect(module_, instruction)) return true;
      const Op opcode = instruction.opcode();
      const bool stores = opcode == Op::OpStore || opcode == Op::OpCopyMemory;
      if (!stores || !is_in(module_, instruction.operand(0), StorageClass::Output)) return false;
      return opcode == Op::OpCopyMemory ? is_filled(instruction.operand(1))
                                        : is_defined(instruction.operand(1));
    });
  }

 private:
  template <typename Condition>
  bool any_instruction(Condition condition) const {
    return std::ranges::any_of(functions_, [&](uint32_t f) {
      const Function& function = module_.functions()[f];
      for (uint32_t i = function.begin; i < function.end; ++i) {
        if (condition(module_.instruction(i))) return true;
      }
      return false;
    });
  }

  bool is_defined(uint32_t value) const {
    const auto definition = module_.definition(value);
    if (!definition || definition->opcode() == Op::OpUndef) return false;
    return definition->opcode() != Op::OpLoad || is_filled(definition->operand(0));
  }

  // The pointer leads to memory of the application, or to a variable that something is stored in.
  bool is_filled(uint32_t pointer) const {
    if (!is_own_memory(module_, pointer)) return true;
    const uint32_t id = variable_of(module_, pointer);
    const auto variable = module_.definition(id);
    if (!variable || variable->opcode() != Op::OpVariable) return true;  // a parameter
    if (variable->operand_count() > 1) return true;                      // an initializer
    return any_instruction([&](const Instruction& instruction) {
      switch (instruction.opcode()) {
        case Op::OpStore:
        case Op::OpCopyMemory:
          return variable_of(module_, instruction.operand(0)) == id;
        case Op::OpFunctionCall:  // behind the function
          return std::ranges::any_of(instruction.operands().subspan(1), [&](uint32_t argument) {
            return variable_of(module_, argument) == id;
          });
        default:
          return false;
      }
    });
  }

  const Module& module_;
  const std::vector<uint32_t> functions_;
};

}  // namespace

bool has_effect(const Module& module, const EntryPoint& entry) {
  return Effects(module, entry).any();
}

namespace {

using spv::Op;

class Discards {
 public:
  Discards(const AnalyzedModule& analyzed, const EntryPoint& entry)
      : analyzed_(analyzed),
        module_(analyzed.module()),
        functions_(module_.reachable_functions(entry.function_id)),
        discards_(module_.functions().size()) {}

  bool in_loop() {
    std::vector<uint32_t> found;
    for (const uint32_t f : functions_) {
      if (has_discard(module_.functions()[f])) found.push_back(f);
    }
    if (found.empty()) return false;
    mark_callers(std::move(found));
    return std::ranges::any_of(functions_, [&](uint32_t f) { return in_loop_of(f); });
  }

 private:
  bool has_discard(const Function& function) const {
    for (uint32_t i = function.begin; i < function.end; ++i) {
      if (is_discard(module_.instruction(i).opcode())) return true;
    }
    return false;
  }

  // Marks functions and their direct and indirect callers.
  void mark_callers(std::vector<uint32_t> work) {
    std::vector<std::vector<uint32_t>> callers(discards_.size());
    for (const uint32_t f : functions_) {
      for (const uint32_t callee : module_.calls().callees(f)) callers[callee].push_back(f);
    }
    for (const uint32_t f : work) discards_[f] = true;
    while (!work.empty()) {
      const uint32_t f = work.back();
      work.pop_back();
      for (const uint32_t caller : callers[f]) {
        if (!discards_[caller]) work.push_back(caller);
        discards_[caller] = true;
      }
    }
  }

  bool in_loop_of(uint32_t f) const {
    if (!discards_[f]) return false;
    const Result<Cfg>& cfg = analyzed_.cfg(f);
    if (!cfg) return false;
    const std::vector<bool> in_loops = blocks_in_loops(*cfg);
    for (uint32_t block = 0; block < in_loops.size(); ++block) {
      if (in_loops[block] && block_discards(cfg->blocks()[block])) return true;
    }
    return false;
  }

  bool block_discards(const CfgBlock& block) const {
    for (uint32_t i = block.begin; i < block.end; ++i) {
      const Instruction instruction = module_.instruction(i);
      if (is_discard(instruction.opcode())) return true;
      if (instruction.opcode() != Op::OpFunctionCall) continue;
      const uint32_t callee = module_.function_index(instruction.operand(0));
      if (callee != kNone && discards_[callee]) return true;
    }
    return false;
  }

  const AnalyzedModule& analyzed_;
  const Module& module_;
  std::vector<uint32_t> functions_;
  std::vector<bool> discards_;  // by function: it or one of its callees discards
};

}  // namespace

bool is_discard(Op opcode) {
  return opcode == Op::OpKill || opcode == Op::OpTerminateInvocation ||
         opcode == Op::OpDemoteToHelperInvocation;
}

bool discards_in_loop(const AnalyzedModule& analyzed, const EntryPoint& entry) {
  return Discards(analyzed, entry).in_loop();
}

namespace {

using spv::BuiltIn;
using spv::ExecutionMode;
using spv::Op;
using spv::StorageClass;

// Execution modes that determine when the tests are done, or that order fragments.
bool settles_tests(ExecutionMode mode) {
  switch (mode) {
    case ExecutionMode::EarlyFragmentTests:
    case ExecutionMode::EarlyAndLateFragmentTestsAMD:
    case ExecutionMode::PostDepthCoverage:
    case ExecutionMode::DepthReplacing:
    case ExecutionMode::StencilRefReplacingEXT:
    case ExecutionMode::PixelInterlockOrderedEXT:
    case ExecutionMode::PixelInterlockUnorderedEXT:
    case ExecutionMode::SampleInterlockOrderedEXT:
    case ExecutionMode::SampleInterlockUnorderedEXT:
    case ExecutionMode::ShadingRateInterlockOrderedEXT:
    case ExecutionMode::ShadingRateInterlockUnorderedEXT:
      return true;
    default:
      return false;
  }
}

template <typename Condition>
bool any_mode(const Module& module, const EntryPoint& entry, Condition condition) {
  return std::ranges::any_of(module.execution_modes(entry), [&](uint32_t mode) {
    return condition(static_cast<ExecutionMode>(module.instruction(mode).operand(1)));
  });
}

bool is_read_by_tests(std::optional<uint32_t> builtin) {
  if (!builtin) return false;
  switch (static_cast<BuiltIn>(*builtin)) {
    case BuiltIn::FragDepth:
    case BuiltIn::SampleMask:
    case BuiltIn::FragStencilRefEXT:
      return true;
    default:
      return false;
  }
}

bool outputs_are_read_by_tests(const Module& module, const EntryPoint& entry) {
  for (const uint32_t id : entry.interface) {
    const auto variable = module.definition(id);
    if (!variable || variable->operand(0) != static_cast<uint32_t>(StorageClass::Output)) continue;
    if (is_read_by_tests(module.decoration(id, spv::Decoration::BuiltIn))) return true;
    const auto pointer = module.definition(variable->type_id());
    const auto type = pointer ? module.definition(pointer->operand(1)) : std::nullopt;
    if (!type || type->opcode() != Op::OpTypeStruct) continue;
    for (uint32_t member = 0; member < type->operand_count(); ++member) {
      if (is_read_by_tests(
              module.member_decoration(type->result_id(), member, spv::Decoration::BuiltIn))) {
        return true;
      }
    }
  }
  return false;
}

// The blocks of a function of a fixed module that may run: a branch has one target if constants
// decide its condition. `ALPHA_TEST && alpha < limit` is false if the constant is, also where it
// was compiled to branches and a phi.
class ExecutedBlocks {
 public:
  ExecutedBlocks(const Module& module, const Cfg& cfg)
      : module_(module), cfg_(cfg), found_(cfg.blocks().size()) {
    found_[0] = true;
    for (int i = 0; i < kMaxRounds && !settled_; ++i) settled_ = !follow_branches();
  }
  // Also true if the branches are too many to follow.
  bool contains(uint32_t label_id) const { return !settled_ || found_[cfg_.block_of(label_id)]; }

 private:
  // Blocks stand behind those that dominate them, so few rounds find all that a compiler writes.
  static constexpr int kMaxRounds = 16;

  // True if it finds a way between blocks: it may make a value unknown.
  bool follow_branches() {
    const size_t before = ways_.size();
    values_.clear();
    for (uint32_t block = 0; block < found_.size(); ++block) {
      if (!found_[block]) continue;
      find_values(block);
      const auto only = only_target_of(block);
      for (const uint32_t next : cfg_.successors(block)) {
        if (only && cfg_.blocks()[next].label_id != *only) continue;
        ways_.emplace(block, next);
        found_[next] = true;
      }
    }
    return ways_.size() != before;
  }

  std::optional<uint32_t> only_target_of(uint32_t block) const {
    const Instruction terminator = module_.instruction(cfg_.blocks()[block].end - 1);
    const auto only = only_target(module_, terminator);
    if (only || terminator.opcode() != Op::OpBranchConditional) return only;
    const auto condition = value(terminator.operand(0));
    if (!condition) return std::nullopt;
    return terminator.operand(*condition != 0 ? 1 : 2);
  }

  void find_values(uint32_t block) {
    for (uint32_t i = cfg_.blocks()[block].begin; i < cfg_.blocks()[block].end; ++i) {
      const Instruction instruction = module_.instruction(i);
      std::optional<uint64_t> found;
      switch (instruction.opcode()) {
        case Op::OpLogicalAnd:
          found = decided_by(0, instruction);
          break;
        case Op::OpLogicalOr:
          found = decided_by(1, instruction);
          break;
        case Op::OpPhi:
          found = value_in(block, instruction);
          break;
        default:
          break;
      }
      if (found) values_.emplace(instruction.result_id(), *found);
    }
  }

  // The value of an AND (`deciding`: 0) or OR (1), which one operand decides if it has that value.
  std::optional<uint64_t> decided_by(uint64_t deciding, const Instruction& conditions) const {
    const auto first = value(conditions.operand(0)), second = value(conditions.operand(1));
    if (first == deciding || second == deciding) return deciding;
    return first && second ? std::optional(1 - deciding) : std::nullopt;
  }

  // The value of a phi, by the ways into its block.
  std::optional<uint64_t> value_in(uint32_t block, const Instruction& phi) const {
    std::optional<uint64_t> result;
    for (size_t i = 0; i + 1 < phi.operand_count(); i += 2) {
      if (!ways_.contains({cfg_.block_of(phi.operand(i + 1)), block})) continue;
      const auto incoming = value(phi.operand(i));
      if (!incoming || (result && *result != *incoming)) return std::nullopt;
      result = incoming;
    }
    return result;
  }

  std::optional<uint64_t> value(uint32_t id) const {
    if (const auto fixed = module_.fixed_value(id)) return fixed;
    const auto found = values_.find(id);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }

  const Module& module_;
  const Cfg& cfg_;
  bool settled_ = false;
  std::vector<bool> found_;
  std::set<std::pair<uint32_t, uint32_t>> ways_;   // between blocks
  std::unordered_map<uint32_t, uint64_t> values_;  // of ids that are not constants, in this round
};

// The code of an entry point that may run.
class ExecutedCode {
 public:
  ExecutedCode(const AnalyzedModule& analyzed, const EntryPoint& entry)
      : analyzed_(analyzed),
        module_(analyzed.module()),
        entry_(module_.function_index(entry.function_id)) {}

  template <typename Condition>
  bool any(Condition condition) const {
    std::vector<bool> found(module_.functions().size());
    std::vector<uint32_t> work = {entry_};
    while (!work.empty()) {
      const uint32_t f = work.back();
      work.pop_back();
      if (f == kNone || found[f]) continue;
      found[f] = true;
      for (const BlockRange& block : blocks_of(f)) {
        for (uint32_t i = block.begin; i < block.end; ++i) {
          const Instruction instruction = module_.instruction(i);
          if (condition(instruction)) return true;
          const CalledFunctions called = called_functions(instruction);
          for (const uint32_t id : {called.first, called.second}) {
            if (id != 0) work.push_back(module_.function_index(id));
          }
        }
      }
    }
    return false;
  }

 private:
  // The blocks that may run; all of them if the graph cannot be built.
  std::vector<BlockRange> blocks_of(uint32_t f) const {
    const auto all = module_.blocks_of(module_.functions()[f]);
    std::vector<BlockRange> blocks(all.begin(), all.end());
    if (!module_.is_fixed() || blocks.empty()) return blocks;
    const Result<Cfg>& cfg = analyzed_.cfg(f);
    if (!cfg) return blocks;
    const ExecutedBlocks executed(module_, *cfg);
    std::erase_if(blocks,
                  [&](const BlockRange& block) { return !executed.contains(block.label_id); });
    return blocks;
  }

  const AnalyzedModule& analyzed_;
  const Module& module_;
  const uint32_t entry_;
};

}  // namespace

bool may_test_early(const AnalyzedModule& analyzed, const EntryPoint& entry) {
  const Module& module = analyzed.module();
  if (entry.model != spv::ExecutionModel::Fragment) return false;
  if (any_mode(module, entry, settles_tests) || outputs_are_read_by_tests(module, entry))
    return false;
  return !ExecutedCode(analyzed, entry).any([&](const Instruction& instruction) {
    return ends_invocation(instruction.opcode()) || has_side_effect(module, instruction);
  });
}

bool declares_early_tests(const Module& module, const EntryPoint& entry) {
  const auto declares = [&](ExecutionMode wanted) {
    return any_mode(module, entry, [&](ExecutionMode mode) { return mode == wanted; });
  };
  return declares(ExecutionMode::EarlyFragmentTests) &&
         !declares(ExecutionMode::EarlyAndLateFragmentTestsAMD);
}

}  // namespace tally::spirv
