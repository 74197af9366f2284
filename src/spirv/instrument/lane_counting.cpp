// Counting::Lane: every lane adds 1 to the counter in memory each time it executes the segment.
#include "spirv/instrument/counting.h"

namespace tally::spirv {
namespace {

using spv::Op;

class LaneCounting : public CounterCode {
 public:
  explicit LaneCounting(CountingTools tools)
      : tools_(tools), function_(tools.context.editor.new_id()) {}

  void count(InstructionBuilder& code, uint32_t counter) override {
    Editor& editor = tools_.context.editor;
    code.call(editor.type_void(), function_, {editor.constant_u32(counter)});
  }

  void leave(InstructionBuilder&, const Exit&) override {}

  // void count(uint counter)
  void finish() override {
    Editor& editor = tools_.context.editor;
    const uint32_t none = editor.type_void();
    const uint32_t u32 = editor.type_int(32);
    editor.name(function_, "tally.count");
    InstructionBuilder code = editor.new_code();
    code.emit_as(function_, Op::OpFunction, none,
                 std::vector<uint32_t>{0, editor.type_function(none, {u32})});
    const uint32_t counter = code.emit(Op::OpFunctionParameter, u32, {});
    code.label(code.new_id());
    const uint32_t address = tools_.record.load_record_pointer(code);
    uint32_t wanted = tools_.record.is_set(code, address);
    if (const uint32_t live = tools_.helper_mask.is_live(code); live != 0) {
      wanted = code.emit(Op::OpLogicalAnd, editor.type_bool(), {wanted, live});
    }
    code.if_then(wanted, [&] {
      const uint32_t shard = tools_.record.shard_address(code, address);
      tools_.record.add(code, shard, counter, editor.constant_u32(1));
    });
    code.emit(Op::OpReturn);
    code.emit(Op::OpFunctionEnd);
    tools_.context.add_function(code);
  }

 private:
  CountingTools tools_;
  uint32_t function_;
};

}  // namespace

std::unique_ptr<CounterCode> make_lane_counting(CountingTools tools, std::span<const Counter>) {
  return std::make_unique<LaneCounting>(tools);
}

}  // namespace tally::spirv
