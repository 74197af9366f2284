// Counting::Subgroup: each time a subgroup executes the segment, its lowest counting lane adds the
// number of lanes that count, or of those of them that take the edge.
#include "spirv/instrument/counting.h"

namespace tally::spirv {
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
