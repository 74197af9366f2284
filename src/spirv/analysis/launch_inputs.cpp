#include "spirv/analysis/launch_inputs.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace tally::spirv {
namespace {

using spv::Op;
using spv::StorageClass;

bool in_range(Op opcode, Op first, Op last) { return opcode >= first && opcode <= last; }

// The length of a cooperative matrix follows from its type.
bool is_constant_opcode(Op opcode) {
  return opcode == newer::OpCooperativeMatrixLengthKHR ||
         opcode == Op::OpCooperativeMatrixLengthNV ||
         in_range(opcode, Op::OpConstantTrue, Op::OpConstantNull) ||
         in_range(opcode, Op::OpSpecConstantTrue, Op::OpSpecConstantOp);
}

// True if the result follows from the operands that are ids. Pointers are never among these.
bool is_computed(Op opcode) {
  return in_range(opcode, Op::OpVectorExtractDynamic, Op::OpTranspose) ||
         in_range(opcode, Op::OpConvertFToU, Op::OpQuantizeToF16) || opcode == Op::OpBitcast ||
         in_range(opcode, Op::OpSNegate, Op::OpSMulExtended) ||
         in_range(opcode, Op::OpAny, Op::OpFUnordGreaterThanEqual) ||
         in_range(opcode, Op::OpShiftRightLogical, Op::OpBitCount) || opcode == Op::OpCopyLogical ||
         in_range(opcode, Op::OpSDot, Op::OpSUDotAccSat);
}

// Of GLSL.std.450, but for those that write to a pointer or interpolate.
bool is_computed_by_glsl(uint32_t instruction) {
  constexpr uint32_t kModf = 35, kFrexp = 51, kInterpolateAtCentroid = 76,
                     kInterpolateAtOffset = 78;
  return instruction != kModf && instruction != kFrexp &&
         (instruction < kInterpolateAtCentroid || instruction > kInterpolateAtOffset);
}

bool is_access_chain(Op opcode) {
  return opcode == Op::OpAccessChain || opcode == Op::OpInBoundsAccessChain ||
         opcode == Op::OpCopyObject;
}

// Asks for what follows from a descriptor alone: its first operand is the image, or a pointer to
// the block of the buffer.
bool is_size_query(Op opcode) {
  return opcode == Op::OpImageQuerySize || opcode == Op::OpImageQuerySizeLod ||
         opcode == Op::OpImageQueryLevels || opcode == Op::OpImageQuerySamples ||
         opcode == Op::OpArrayLength;
}

// From an image to the pointer that it was loaded from.
bool is_image_step(Op opcode) {
  return opcode == Op::OpLoad || opcode == Op::OpImage || opcode == Op::OpSampledImage;
}

// SPV_NV_push_constant_bank: several blocks have the same offsets.
constexpr auto kPushConstantBanks = static_cast<spv::Capability>(5423);

// Variables that no other invocation sees.
bool is_own(StorageClass storage) {
  return storage == StorageClass::Function || storage == StorageClass::Private;
}

class LaunchSlice {
 public:
  LaunchSlice(const Module& module, const EntryPoint& entry)
      : module_(module), functions_(module.reachable_functions(entry.function_id)) {}

  std::optional<LaunchInputs> find() {
    for (const uint32_t f : functions_) {
      if (module_.calls().is_called_by_matrices(f)) return std::nullopt;
      read(module_.functions()[f]);
    }
    for (const auto& [pointer, store] : stores_) add_store(pointer, store);
    while (known_ && !work_.empty()) {
      const uint32_t id = work_.back();
      work_.pop_back();
      follow(id);
    }
    if (!known_) return std::nullopt;
    merge_ranges();
    std::ranges::sort(inputs_.sizes);
    inputs_.sizes.erase(std::unique(inputs_.sizes.begin(), inputs_.sizes.end()),
                        inputs_.sizes.end());
    return std::move(inputs_);
  }

 private:
  // The product of stores through a parameter, or of returned values, and of calls can be large.
  static constexpr size_t kMaxSteps = size_t{1} << 20;

  void want(uint32_t id) {
    if (wanted_.insert(id).second) work_.push_back(id);
  }
  void give_up() { known_ = false; }

  // Notes what the function stores, passes and returns. Wants its conditions.
  void read(const Function& function) {
    for (uint32_t i = function.begin; i < function.end; ++i) {
      const Instruction instruction = module_.instruction(i);
      switch (instruction.opcode()) {
        case Op::OpFunctionParameter:
          parameters_[function.id].push_back(instruction.result_id());
          break;
        case Op::OpFunctionCall:
          calls_.push_back(i);
          break;
        case Op::OpReturnValue:
          returned_[function.id].push_back(instruction.operand(0));
          break;
        case Op::OpBranchConditional:
        case Op::OpSwitch:
          want(instruction.operand(0));
          break;
        case Op::OpStore:
          stores_.emplace_back(instruction.operand(0), instruction.operand(1));
          break;
        case Op::OpLoad:
          break;
        default:
          if (!is_access_chain(instruction.opcode())) note_escapes(instruction);
      }
    }
  }

  // Any other instruction may write to the variables to which its operands point.
  void note_escapes(const Instruction& instruction) {
    const bool extended = instruction.opcode() == Op::OpExtInst;
    if (extended && is_debug_information(module_.ext_inst_set(instruction.operand(0)))) return;
    for_each_operand(instruction, [&](uint32_t operand, bool is_id) {
      if ((is_id || extended) && storage_of(operand)) escaped_.push_back(operand);
    });
  }

  // The storage class of a pointer; empty for other ids.
  std::optional<StorageClass> storage_of(uint32_t id) const {
    const auto type = module_.definition(module_.type_of(id));
    if (!type || type->opcode() != Op::OpTypePointer) return std::nullopt;
    return static_cast<StorageClass>(type->operand(0));
  }

  // Calls visit(variable) for each variable to which the pointer may point, or that may hold the
  // image. Returns false if that is not known. `chain(id)` gets the indices on the way.
  template <typename Visit, typename Chain>
  bool for_each_root(uint32_t start, const Visit& visit, const Chain& chain) {
    const bool is_pointer = storage_of(start).has_value();
    std::vector<uint32_t> open{start};
    std::unordered_set<uint32_t> seen{start};
    while (!open.empty()) {
      const auto definition = module_.definition(open.back());
      open.pop_back();
      if (!definition || ++steps_ > kMaxSteps) return false;
      const auto go_to = [&](uint32_t id) {
        if (seen.insert(id).second) open.push_back(id);
      };
      if (definition->opcode() == Op::OpVariable) {
        visit(*definition);
      } else if (is_access_chain(definition->opcode())) {
        for (size_t n = 1; n < definition->operand_count(); ++n) chain(definition->operand(n));
        go_to(definition->operand(0));
      } else if (definition->opcode() == Op::OpFunctionParameter) {
        const std::vector<uint32_t>& arguments = arguments_of(definition->result_id());
        steps_ += arguments.size();
        for (const uint32_t argument : arguments) go_to(argument);
      } else if (!is_pointer && is_image_step(definition->opcode())) {
        go_to(definition->operand(0));
      } else {
        return false;
      }
    }
    return true;
  }

  const std::vector<uint32_t>& arguments_of(uint32_t parameter) {
    if (arguments_.empty()) {
      for (const uint32_t call : calls_) {
        const Instruction instruction = module_.instruction(call);
        const std::vector<uint32_t>& parameters = parameters_[instruction.operand(0)];
        for (size_t n = 0; n < parameters.size(); ++n) {
          arguments_[parameters[n]].push_back(instruction.operand(n + 1));
        }
      }
    }
    return arguments_[parameter];
  }

  void add_store(uint32_t pointer, uint32_t value) {
    const auto storage = storage_of(pointer);
    if (!storage || !is_own(*storage)) return;
    std::vector<uint32_t> values{value};
    std::vector<uint32_t> variables;
    const bool known = for_each_root(
        pointer, [&](const Instruction& variable) { variables.push_back(variable.result_id()); },
        [&](uint32_t index) { values.push_back(index); });
    if (!known) return give_up();
    for (const uint32_t variable : variables) {
      std::vector<uint32_t>& stored = stored_[variable];
      stored.insert(stored.end(), values.begin(), values.end());
    }
  }

  void follow(uint32_t id) {
    const auto definition = module_.definition(id);
    if (!definition) return give_up();
    const Op opcode = definition->opcode();
    if (is_constant_opcode(opcode)) {
      // Its parts may be undefined.
      if (opcode != Op::OpConstantComposite && opcode != Op::OpSpecConstantComposite) return;
      for (size_t n = 0; n < definition->operand_count(); ++n) want(definition->operand(n));
      return;
    }
    if (opcode == Op::OpLoad) return follow_load(definition->operand(0));
    if (opcode == Op::OpFunctionParameter) {
      for (const uint32_t argument : arguments_of(id)) want(argument);
      return;
    }
    if (opcode == Op::OpFunctionCall) {
      const std::vector<uint32_t>& values = returned_[definition->operand(0)];
      if ((steps_ += values.size()) > kMaxSteps) return give_up();
      for (const uint32_t value : values) want(value);
      return;
    }
    if (opcode == Op::OpExtInst) {
      if (module_.ext_inst_set(definition->operand(0)) != ExtInstSet::Glsl450 ||
          !is_computed_by_glsl(definition->operand(1))) {
        return give_up();
      }
      for (size_t n = 2; n < definition->operand_count(); ++n) want(definition->operand(n));
      return;
    }
    if (opcode == Op::OpPhi) {
      for (size_t n = 0; n < definition->operand_count(); n += 2) want(definition->operand(n));
      return;
    }
    if (is_size_query(opcode)) return follow_size_query(*definition);
    if (!is_computed(opcode)) return give_up();
    for_each_operand(*definition, [&](uint32_t operand, bool is_id) {
      if (is_id) want(operand);
    });
  }

  void follow_size_query(const Instruction& query) {
    const bool known = for_each_root(
        query.operand(0),
        [&](const Instruction& variable) {
          const uint32_t id = variable.result_id();
          const auto set = module_.decoration(id, spv::Decoration::DescriptorSet);
          const auto binding = module_.decoration(id, spv::Decoration::Binding);
          if (!set || !binding) return give_up();
          inputs_.sizes.push_back({*set, *binding});
        },
        [&](uint32_t index) { want(index); });
    if (!known) return give_up();
    if (query.opcode() == Op::OpImageQuerySizeLod) want(query.operand(1));
  }

  void follow_load(uint32_t pointer) {
    std::vector<uint32_t> indices;
    bool reads_push_constants = false;
    const bool known = for_each_root(
        pointer,
        [&](const Instruction& variable) {
          if (static_cast<StorageClass>(variable.operand(0)) == StorageClass::PushConstant) {
            reads_push_constants = true;
          } else {
            follow_variable(variable);
          }
        },
        [&](uint32_t index) { indices.push_back(index); });
    if (!known) return give_up();
    for (const uint32_t index : indices) want(index);
    if (!reads_push_constants) return;
    if (module_.has_capability(kPushConstantBanks)) return give_up();
    inputs_.push_constants.push_back(range_of(pointer));
  }

  void follow_variable(const Instruction& variable) {
    const uint32_t id = variable.result_id();
    const auto storage = static_cast<StorageClass>(variable.operand(0));
    if (storage == StorageClass::Input) return follow_input(id);
    if (!is_own(storage) || has_escaped(id)) return give_up();
    if (!wanted_.insert(id).second) return;
    const bool has_initializer = variable.operand_count() > 1;
    if (has_initializer) want(variable.operand(1));
    const std::vector<uint32_t>& stored = stored_[id];
    if (!has_initializer && stored.empty()) return give_up();  // undefined
    for (const uint32_t value : stored) want(value);
  }

  bool has_escaped(uint32_t variable) {
    if (!escaped_.empty()) {
      for (const uint32_t pointer : std::exchange(escaped_, {})) {
        const auto storage = storage_of(pointer);
        if (!storage || !is_own(*storage)) continue;
        const bool known = for_each_root(
            pointer, [&](const Instruction& root) { escaped_variables_.insert(root.result_id()); },
            [](uint32_t) {});
        if (!known) give_up();
      }
    }
    return escaped_variables_.contains(variable);
  }

  void follow_input(uint32_t variable) {
    const auto builtin = module_.decoration(variable, spv::Decoration::BuiltIn);
    if (!builtin) return give_up();
    switch (static_cast<spv::BuiltIn>(*builtin)) {
      case spv::BuiltIn::NumWorkgroups:
      case spv::BuiltIn::WorkgroupSize:
      case spv::BuiltIn::WorkgroupId:
      case spv::BuiltIn::LocalInvocationId:
      case spv::BuiltIn::GlobalInvocationId:
      case spv::BuiltIn::LocalInvocationIndex:
        return;
      case spv::BuiltIn::SubgroupSize:
      case spv::BuiltIn::NumSubgroups:
      case spv::BuiltIn::SubgroupId:
      case spv::BuiltIn::SubgroupLocalInvocationId:
        inputs_.subgroups = true;
        return;
      default:
        return give_up();
    }
  }

  // The bytes of the type in a block at most; 0: not known.
  uint64_t size_of(uint32_t id) const {
    const auto type = module_.definition(id);
    if (!type) return 0;
    switch (type->opcode()) {
      case Op::OpTypeInt:
      case Op::OpTypeFloat:
        return type->operand(0) / 8;
      case Op::OpTypeVector: {
        const auto component = module_.definition(type->operand(0));
        const bool is_number = component && (component->opcode() == Op::OpTypeInt ||
                                             component->opcode() == Op::OpTypeFloat);
        return is_number ? uint64_t{component->operand(0)} / 8 * type->operand(1) : 0;
      }
      case Op::OpTypeArray: {
        const auto length = module_.fixed_value(type->operand(1));
        const auto stride = module_.decoration(id, spv::Decoration::ArrayStride);
        return length && stride ? uint64_t{*length} * *stride : 0;
      }
      default:
        return 0;
    }
  }

  // The member of the block, or all of them.
  LaunchInputs::Range range_of(uint32_t pointer) const {
    const LaunchInputs::Range all{0, LaunchInputs::kToEnd};
    const auto chain = module_.definition(pointer);
    if (!chain || !is_access_chain(chain->opcode()) || chain->operand_count() < 2) return all;
    const auto variable = module_.definition(chain->operand(0));
    const auto member = module_.constant_value(chain->operand(1));
    if (!variable || variable->opcode() != Op::OpVariable || !member) return all;
    const auto type = module_.definition(variable->type_id());
    const uint32_t block = type ? type->operand(1) : 0;
    const auto members = module_.definition(block);
    if (!members || members->opcode() != Op::OpTypeStruct) return all;
    const auto offset_of = [&](size_t n) {
      return module_.member_decoration(block, static_cast<uint32_t>(n), spv::Decoration::Offset);
    };
    const auto begin = offset_of(*member);
    if (!begin || *begin == LaunchInputs::kToEnd) return all;
    const uint64_t size = size_of(members->operand(*member));
    uint32_t end = size == 0 || *begin + size > LaunchInputs::kToEnd
                       ? LaunchInputs::kToEnd
                       : *begin + static_cast<uint32_t>(size);
    for (size_t n = 0; n < members->operand_count(); ++n) {
      const auto other = offset_of(n);
      if (other && *other > *begin) end = std::min(end, *other);
    }
    return {*begin, end};
  }

  void merge_ranges() {
    std::vector<LaunchInputs::Range>& ranges = inputs_.push_constants;
    std::ranges::sort(ranges, {}, &LaunchInputs::Range::begin);
    std::vector<LaunchInputs::Range> merged;
    for (const LaunchInputs::Range& range : ranges) {
      if (!merged.empty() && range.begin <= merged.back().end) {
        merged.back().end = std::max(merged.back().end, range.end);
      } else {
        merged.push_back(range);
      }
    }
    ranges = std::move(merged);
  }

  const Module& module_;
  const std::vector<uint32_t> functions_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> parameters_, returned_;  // by function's id
  std::vector<uint32_t> calls_;                                                // instructions
  std::unordered_map<uint32_t, std::vector<uint32_t>> arguments_;              // by parameter
  std::vector<std::pair<uint32_t, uint32_t>> stores_;                          // pointer and value
  std::unordered_map<uint32_t, std::vector<uint32_t>> stored_;  // by variable: values, indices
  std::vector<uint32_t> escaped_;                               // pointers not looked at yet
  std::unordered_set<uint32_t> escaped_variables_;
  std::unordered_set<uint32_t> wanted_;
  std::vector<uint32_t> work_;
  bool known_ = true;
  size_t steps_ = 0;  // from pointers to variables, and from calls to returned values
  LaunchInputs inputs_;
};

}  // namespace

std::optional<LaunchInputs> launch_inputs(const Module& module, const EntryPoint& entry) {
  if (entry.model != spv::ExecutionModel::GLCompute) return std::nullopt;
  return LaunchSlice(module, entry).find();
}

}  // namespace tally::spirv
