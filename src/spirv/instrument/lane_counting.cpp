// Counting::Lane: every lane adds 1 to the counter in memory each time it executes the segment, or
// takes the edge.
#include "spirv/instrument/counting.h"

namespace tally::spirv {
namespace {

using spv::Op;

class LaneCounting : public CounterCode {
 public:
  LaneCounting(CountingTools tools, std::span<const Counter> counters)
      : tools_(tools),
        counters_(counters.begin(), counters.end()),
        function_(tools.context.editor.new_id()) {}

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
    const RecordPointer address = tools_.record.load_record_pointer(code);
    uint32_t wanted = tools_.record.is_set(code, address);
    if (const uint32_t live = tools_.helper_mask.is_live(code); live != 0) {
      wanted = code.emit(Op::OpLogicalAnd, editor.type_bool(), {wanted, live});
    }
    if (has_condition) {
      wanted = code.emit(Op::OpLogicalAnd, editor.type_bool(), {wanted, condition});
    }
    code.if_then(wanted, [&] {
      const ShardAddress shard = tools_.record.shard_address(code, address);
      tools_.record.add(code, shard, counter, editor.constant_u32(1));
    });
    code.emit(Op::OpReturn);
    code.emit(Op::OpFunctionEnd);
    tools_.context.add_function(code);
  }

  CountingTools tools_;
  std::vector<Counter> counters_;
  uint32_t function_;
  uint32_t if_function_ = 0;  // 0 if it is not needed
};

}  // namespace

std::unique_ptr<CounterCode> make_lane_counting(CountingTools tools,
                                                std::span<const Counter> counters) {
  return std::make_unique<LaneCounting>(tools, counters);
}

}  // namespace tally::spirv
