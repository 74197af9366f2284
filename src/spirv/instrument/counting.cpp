#include "spirv/instrument/counting.h"

#include <algorithm>

#include "spirv/analysis/early_tests.h"

namespace tally::spirv {
namespace {

using spv::Op;
using spv::StorageClass;

// In longer shaders, the instructions that demoted invocations execute in vain may take longer than
// writing twice.
constexpr uint32_t kMaxInstructions = 100;

bool is_subgroup_operation(Op opcode) {
  return opcode >= Op::OpGroupNonUniformElect && opcode <= Op::OpGroupNonUniformQuadSwap;
}

bool allows(const Module& module, const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Op::OpIsHelperInvocationEXT:
    case Op::OpLoopMerge:
    case Op::OpUnreachable:  // a compiler may drop what leads there
      return false;
    case Op::OpExtInst:  // not debugPrintfEXT
      return module.ext_inst_set(instruction.operand(0)) != ExtInstSet::NonSemantic;
    default:
      return !is_subgroup_operation(instruction.opcode()) && !has_side_effect(module, instruction);
  }
}

bool has_builtin(const Module& module, const EntryPoint& entry, StorageClass storage,
                 spv::BuiltIn builtin) {
  return find_builtin(module, entry, storage, builtin).has_value();
}

}  // namespace

bool LateDemotions::are_possible(const AnalyzedModule& analyzed, const EntryPoint& entry,
                                 const SegmentGraph& graph, const BlockCountOptions& options) {
  if (options.counting != Counting::Private || options.count_subgroups || options.regions ||
      options.sites.any()) {
    return false;
  }
  const Module& module = analyzed.module();
  const auto returns = [&](const Exit& exit) { return is_return(module, exit); };
  if (std::ranges::none_of(graph.exits, is_demotion) ||
      std::ranges::none_of(graph.exits, returns)) {
    return false;
  }
  // Helper invocations may leave out loads. Pointers of the others have to be valid.
  if (module.has_capability(spv::Capability::PhysicalStorageBufferAddresses)) return false;
  if (has_builtin(module, entry, StorageClass::Input, spv::BuiltIn::HelperInvocation) ||
      has_builtin(module, entry, StorageClass::Output, spv::BuiltIn::SampleMask)) {
    return false;
  }
  uint32_t instructions = 0;
  for (const uint32_t f : module.reachable_functions(entry.function_id)) {
    const Function& function = module.functions()[f];
    instructions += function.end - function.begin;
    if (instructions > kMaxInstructions) return false;
    for (uint32_t i = function.begin; i < function.end; ++i) {
      if (!allows(module, module.instruction(i))) return false;
    }
  }
  return true;
}

LateDemotions::LateDemotions(PassContext& context) : editor_(context.editor) {
  demoted_ = editor_.new_private_variable(context.entry, editor_.type_bool(),
                                          editor_.constant_bool(false));
  editor_.name(demoted_, "tally.demoted");
}

void LateDemotions::note(InstructionBuilder& code) const {
  code.store(demoted_, editor_.constant_bool(true));
}

uint32_t LateDemotions::is_demoted(InstructionBuilder& code) const {
  return code.load(editor_.type_bool(), demoted_);
}

uint32_t LateDemotions::unless_demoted(InstructionBuilder& code, uint32_t value) const {
  return code.emit(Op::OpSelect, editor_.type_int(32),
                   {is_demoted(code), editor_.constant_u32(0), value});
}

// Counting::Lane: every lane adds 1 to the counter in memory each time it executes the segment, or
// takes the edge. Where the driver's compiler takes long for each instruction, a compute shader
// computes the address of its counters once.

namespace {

using spv::Op;

class LaneCounting : public CounterCode {
 public:
  LaneCounting(CountingTools tools, std::span<const Counter> counters)
      : tools_(tools),
        counters_(counters.begin(), counters.end()),
        function_(tools.context.editor.new_id()) {
    const PassContext& context = tools.context;
    if (!context.options.driver.prefers_small_code || !context.use_int64 ||
        context.entry.model != spv::ExecutionModel::GLCompute) {
      return;
    }
    Editor& editor = context.editor;
    address_ =
        editor.new_private_variable(context.entry, editor.type_int(64), editor.constant_u64(0));
  }

  void begin(InstructionBuilder& code) override {
    if (address_ == 0) return;
    Editor& editor = tools_.context.editor;
    const uint32_t u64 = editor.type_int(64);
    const RecordPointer pointer = tools_.record.load_in_entry_point(code);
    const ShardAddress shard = tools_.record.shard_address(code, pointer);
    const uint32_t bytes = code.emit(Op::OpUConvert, u64, {shard.bytes});
    const uint32_t address = code.emit(Op::OpIAdd, u64, {shard.record, bytes});
    const uint32_t is_set = tools_.record.is_set(code, pointer);
    code.store(address_, code.emit(Op::OpSelect, u64, {is_set, address, editor.constant_u64(0)}));
  }

  void count(InstructionBuilder& code, uint32_t counter) override {
    Editor& editor = tools_.context.editor;
    const uint32_t number = editor.constant_u32(counter);
    if (!counters_[counter].edge) return void(code.call(editor.type_void(), function_, {number}));
    if (if_function_ == 0) if_function_ = editor.new_id();
    const uint32_t taken = is_taken(code, editor, *counters_[counter].edge);
    code.call(editor.type_void(), if_function_, {number, taken});
  }

  void leave(InstructionBuilder&, const Exit&) override {}

  void finish() override {
    make_function(function_, false);
    if (if_function_ != 0) make_function(if_function_, true);
  }

 private:
  // void count(uint counter), or void count_if(uint counter, bool condition)
  void make_function(uint32_t function, bool has_condition) {
    Editor& editor = tools_.context.editor;
    const uint32_t none = editor.type_void();
    const uint32_t u32 = editor.type_int(32);
    editor.name(function, has_condition ? "tally.count_if" : "tally.count");
    InstructionBuilder code = editor.new_code();
    code.emit_as(function, Op::OpFunction, none,
                 std::vector<uint32_t>{
                     0, has_condition ? editor.type_function(none, {u32, editor.type_bool()})
                                      : editor.type_function(none, {u32})});
    const uint32_t counter = code.emit(Op::OpFunctionParameter, u32, {});
    const uint32_t condition =
        has_condition ? code.emit(Op::OpFunctionParameter, editor.type_bool(), {}) : 0;
    code.label(code.new_id());
    // The address of the counters if that is known, else the record pointer.
    const uint32_t address = address_ == 0 ? 0 : code.load(editor.type_int(64), address_);
    const RecordPointer record =
        address_ == 0 ? tools_.record.load_record_pointer(code) : RecordPointer();
    uint32_t wanted = address_ == 0 ? tools_.record.is_set(code, record)
                                    : code.emit(Op::OpINotEqual, editor.type_bool(),
                                                {address, editor.constant_u64(0)});
    if (const uint32_t live = tools_.helper_mask.is_live(code); live != 0) {
      wanted = code.emit(Op::OpLogicalAnd, editor.type_bool(), {wanted, live});
    }
    if (has_condition) {
      wanted = code.emit(Op::OpLogicalAnd, editor.type_bool(), {wanted, condition});
    }
    code.if_then(wanted, [&] {
      if (address_ != 0) {
        const ShardAddress shard{address, editor.constant_u32(0)};
        tools_.record.add_wide(code, shard, counter, editor.constant_u64(1));
      } else {
        const ShardAddress shard = tools_.record.shard_address(code, record);
        tools_.record.add(code, shard, counter, editor.constant_u32(1));
      }
    });
    code.emit(Op::OpReturn);
    code.emit(Op::OpFunctionEnd);
    tools_.context.add_function(code);
  }

  CountingTools tools_;
  std::vector<Counter> counters_;
  uint32_t address_ = 0;  // a variable: of the counters, 0 if there is no record
  uint32_t function_;
  uint32_t if_function_ = 0;  // 0 if it is not needed
};

}  // namespace

std::unique_ptr<CounterCode> make_lane_counting(CountingTools tools,
                                                std::span<const Counter> counters) {
  return std::make_unique<LaneCounting>(tools, counters);
}

using spv::GroupOperation;
using spv::Op;

SubgroupCode::SubgroupCode(Editor& editor)
    : editor_(editor),
      boolean_(editor.type_bool()),
      u32_(editor.type_int(32)),
      uvec4_(editor.type_vector(u32_, 4)),
      scope_(editor.constant_u32(word(spv::Scope::Subgroup))) {}

uint32_t SubgroupCode::ballot(InstructionBuilder& code, uint32_t live) {
  editor_.add_capability(spv::Capability::GroupNonUniformBallot);
  const uint32_t condition = live != 0 ? live : editor_.constant_bool(true);
  return code.emit(Op::OpGroupNonUniformBallot, uvec4_, {scope_, condition});
}

uint32_t SubgroupCode::bit_count(InstructionBuilder& code, uint32_t ballot) {
  return code.emit(Op::OpGroupNonUniformBallotBitCount, u32_,
                   {scope_, word(GroupOperation::Reduce), ballot});
}

uint32_t SubgroupCode::bits_below(InstructionBuilder& code, uint32_t ballot) {
  return code.emit(Op::OpGroupNonUniformBallotBitCount, u32_,
                   {scope_, word(GroupOperation::ExclusiveScan), ballot});
}

uint32_t SubgroupCode::lowest(InstructionBuilder& code, uint32_t ballot) {
  return code.emit(Op::OpGroupNonUniformBallotFindLSB, u32_, {scope_, ballot});
}

uint32_t SubgroupCode::is_lowest(InstructionBuilder& code, uint32_t ballot, uint32_t live) {
  const uint32_t below = bits_below(code, ballot);
  const uint32_t lowest = code.emit(Op::OpIEqual, boolean_, {below, editor_.constant_u32(0)});
  return live == 0 ? lowest : code.emit(Op::OpLogicalAnd, boolean_, {lowest, live});
}

uint32_t SubgroupCode::elect(InstructionBuilder& code) {
  return code.emit(Op::OpGroupNonUniformElect, boolean_, {scope_});
}

uint32_t SubgroupCode::of_lowest(InstructionBuilder& code, uint32_t value) {
  editor_.add_capability(spv::Capability::GroupNonUniformBallot);
  return code.emit(Op::OpGroupNonUniformBroadcastFirst, u32_, {scope_, value});
}

uint32_t SubgroupCode::any(InstructionBuilder& code, uint32_t condition) {
  editor_.add_capability(spv::Capability::GroupNonUniformVote);
  return code.emit(Op::OpGroupNonUniformAny, boolean_, {scope_, condition});
}

uint32_t SubgroupCode::all_equal(InstructionBuilder& code, uint32_t value) {
  editor_.add_capability(spv::Capability::GroupNonUniformVote);
  return code.emit(Op::OpGroupNonUniformAllEqual, boolean_, {scope_, value});
}

uint32_t SubgroupCode::sum(InstructionBuilder& code, uint32_t value) {
  editor_.add_capability(spv::Capability::GroupNonUniformArithmetic);
  return code.emit(Op::OpGroupNonUniformIAdd, u32_, {scope_, word(GroupOperation::Reduce), value});
}

uint32_t SubgroupCode::sum_of_wide(InstructionBuilder& code, uint32_t value) {
  editor_.add_capability(spv::Capability::GroupNonUniformArithmetic);
  return code.emit(Op::OpGroupNonUniformIAdd, editor_.type_int(64),
                   {scope_, word(GroupOperation::Reduce), value});
}

uint32_t SubgroupCode::minimum(InstructionBuilder& code, uint32_t value) {
  editor_.add_capability(spv::Capability::GroupNonUniformArithmetic);
  return code.emit(Op::OpGroupNonUniformUMin, u32_, {scope_, word(GroupOperation::Reduce), value});
}

uint32_t SubgroupCode::bits_of_some(InstructionBuilder& code, uint32_t value) {
  editor_.add_capability(spv::Capability::GroupNonUniformArithmetic);
  return code.emit(Op::OpGroupNonUniformBitwiseOr, u32_,
                   {scope_, word(GroupOperation::Reduce), value});
}

uint32_t SubgroupCode::clock(InstructionBuilder& code) {
  editor_.add_capability(spv::Capability::ShaderClockKHR);
  editor_.add_extension("SPV_KHR_shader_clock");
  const uint32_t clock = code.emit(Op::OpReadClockKHR, editor_.type_vector(u32_, 2), {scope_});
  return code.emit(Op::OpCompositeExtract, u32_, {clock, 0});
}

// Counting::Subgroup: each time a subgroup executes the segment, its lowest counting lane adds the
// number of lanes that count, or of those of them that take the edge.

namespace {

using spv::Op;

class SubgroupCounting : public CounterCode {
 public:
  SubgroupCounting(CountingTools tools, std::span<const Counter> counters)
      : tools_(tools), counters_(counters.begin(), counters.end()), subgroup_(editor()) {}

  void count(InstructionBuilder& code, uint32_t counter) override {
    const auto& edge = counters_[counter].edge;
    const bool of_subgroups = counters_[counter].what == Counter::What::Subgroups;
    uint32_t& function = functions_[edge ? kLanesIf : of_subgroups ? kSubgroups : kLanes];
    if (function == 0) function = editor().new_id();
    const uint32_t number = editor().constant_u32(counter);
    if (edge) {
      code.call(editor().type_void(), function, {number, is_taken(code, editor(), *edge)});
    } else {
      code.call(editor().type_void(), function, {number});
    }
  }

  void leave(InstructionBuilder&, const Exit&) override {}

  void finish() override {
    for (const What what : {kLanes, kSubgroups, kLanesIf}) {
      if (functions_[what] != 0) make_function(functions_[what], what);
    }
  }

 private:
  // The value that a function adds: the lanes, one for the subgroup, or the lanes with a condition.
  enum What { kLanes, kSubgroups, kLanesIf };
  static constexpr const char* kNames[] = {"tally.count", "tally.count_subgroup", "tally.count_if"};

  Editor& editor() const { return tools_.context.editor; }

  // 0 if they never are.
  uint32_t is_mixed(InstructionBuilder& code, const RecordPointer& record_pointer) {
    if (!tools_.record.may_be_mixed()) return 0;
    const uint32_t same = subgroup_.all_equal(code, record_pointer.draw_bytes);
    return code.emit(Op::OpLogicalNot, editor().type_bool(), {same});
  }

  // True if the lane adds. If the lanes belong to different draws, every live lane does.
  uint32_t own_or(InstructionBuilder& code, uint32_t mixed, uint32_t live, uint32_t is_lowest) {
    const uint32_t boolean = editor().type_bool();
    const uint32_t own = live == 0 ? mixed : code.emit(Op::OpLogicalAnd, boolean, {mixed, live});
    return code.emit(Op::OpLogicalOr, boolean, {own, is_lowest});
  }

  // Both if there are two.
  uint32_t both(InstructionBuilder& code, uint32_t one, uint32_t other) {
    if (one == 0 || other == 0) return one == 0 ? other : one;
    return code.emit(Op::OpLogicalAnd, editor().type_bool(), {one, other});
  }

  uint32_t function_type(What what) {
    const uint32_t none = editor().type_void();
    const uint32_t u32 = editor().type_int(32);
    return what == kLanesIf ? editor().type_function(none, {u32, editor().type_bool()})
                            : editor().type_function(none, {u32});
  }

  // void count(uint counter), void count_subgroup(uint counter),
  // void count_if(uint counter, bool condition)
  void make_function(uint32_t function, What what) {
    const uint32_t none = editor().type_void();
    const uint32_t u32 = editor().type_int(32);
    editor().name(function, kNames[what]);
    InstructionBuilder code = editor().new_code();
    code.emit_as(function, Op::OpFunction, none, std::vector<uint32_t>{0, function_type(what)});
    const uint32_t counter = code.emit(Op::OpFunctionParameter, u32, {});
    const uint32_t condition =
        what == kLanesIf ? code.emit(Op::OpFunctionParameter, editor().type_bool(), {}) : 0;
    code.label(code.new_id());
    const RecordPointer address = tools_.record.load_record_pointer(code);
    code.if_then(tools_.record.is_set(code, address), [&] {
      const uint32_t live = both(code, tools_.helper_mask.is_live(code), condition);
      const uint32_t ballot = subgroup_.ballot(code, live);
      uint32_t lanes = editor().constant_u32(1);
      uint32_t adds = subgroup_.is_lowest(code, ballot, live);
      if (what != kSubgroups) {
        const uint32_t all = subgroup_.bit_count(code, ballot);
        const uint32_t mixed = is_mixed(code, address);
        lanes = mixed == 0 ? all : code.emit(Op::OpSelect, u32, {mixed, lanes, all});
        if (mixed != 0) adds = own_or(code, mixed, live, adds);
      }
      code.if_then(adds, [&] {
        tools_.record.add(code, tools_.record.shard_address(code, address), counter, lanes);
      });
    });
    code.emit(Op::OpReturn);
    code.emit(Op::OpFunctionEnd);
    tools_.context.add_function(code);
  }

  CountingTools tools_;
  std::vector<Counter> counters_;
  SubgroupCode subgroup_;
  uint32_t functions_[3] = {};  // by What; 0 if it is not needed
};

}  // namespace

std::unique_ptr<CounterCode> make_subgroup_counting(CountingTools tools,
                                                    std::span<const Counter> counters) {
  return std::make_unique<SubgroupCounting>(tools, counters);
}

}  // namespace tally::spirv
