// Counting::Subgroup: each time a subgroup executes the segment, its lowest counting lane adds the
// number of lanes that count.
#include "spirv/instrument/counting.h"

namespace tally::spirv {
namespace {

using spv::Op;

class SubgroupCounting : public CounterCode {
 public:
  SubgroupCounting(CountingTools tools, std::span<const Counter> counters)
      : tools_(tools), counters_(counters.begin(), counters.end()), subgroup_(editor()) {}

  void count(InstructionBuilder& code, uint32_t counter) override {
    uint32_t& function = functions_[counters_[counter].what == Counter::What::Subgroups];
    if (function == 0) function = editor().new_id();
    code.call(editor().type_void(), function, {editor().constant_u32(counter)});
  }

  void leave(InstructionBuilder&, const Exit&) override {}

  void finish() override {
    if (functions_[0] != 0) make_function(functions_[0], false);
    if (functions_[1] != 0) make_function(functions_[1], true);
  }

 private:
  Editor& editor() const { return tools_.context.editor; }

  // 0 if they never are.
  uint32_t is_mixed(InstructionBuilder& code, uint32_t record_pointer) {
    if (!tools_.record.may_be_mixed()) return 0;
    const uint32_t low =
        code.emit(Op::OpCompositeExtract, editor().type_int(32), {record_pointer, 0});
    return code.emit(Op::OpLogicalNot, editor().type_bool(), {subgroup_.all_equal(code, low)});
  }

  // Whether the lane adds. If the lanes belong to different draws, every live lane does.
  uint32_t own_or(InstructionBuilder& code, uint32_t mixed, uint32_t live, uint32_t is_lowest) {
    const uint32_t boolean = editor().type_bool();
    const uint32_t own = live == 0 ? mixed : code.emit(Op::OpLogicalAnd, boolean, {mixed, live});
    return code.emit(Op::OpLogicalOr, boolean, {own, is_lowest});
  }

  // void count(uint counter)
  void make_function(uint32_t function, bool of_subgroups) {
    const uint32_t none = editor().type_void();
    const uint32_t u32 = editor().type_int(32);
    editor().name(function, of_subgroups ? "tally.count_subgroup" : "tally.count");
    InstructionBuilder code = editor().new_code();
    code.emit_as(function, Op::OpFunction, none,
                 std::vector<uint32_t>{0, editor().type_function(none, {u32})});
    const uint32_t counter = code.emit(Op::OpFunctionParameter, u32, {});
    code.label(code.new_id());
    const uint32_t address = tools_.record.load_record_pointer(code);
    code.if_then(tools_.record.is_set(code, address), [&] {
      const uint32_t live = tools_.helper_mask.is_live(code);
      const uint32_t ballot = subgroup_.ballot(code, live);
      uint32_t lanes = editor().constant_u32(1);
      uint32_t adds = subgroup_.is_lowest(code, ballot, live);
      if (!of_subgroups) {
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
  uint32_t functions_[2] = {};  // of executions, of subgroups
};

}  // namespace

std::unique_ptr<CounterCode> make_subgroup_counting(CountingTools tools,
                                                    std::span<const Counter> counters) {
  return std::make_unique<SubgroupCounting>(tools, counters);
}

}  // namespace tally::spirv
