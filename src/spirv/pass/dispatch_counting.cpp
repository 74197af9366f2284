#include "spirv/pass/dispatch_counting.h"

#include <array>

namespace tally::spirv {
namespace {

using spv::BuiltIn;
using spv::ExecutionMode;
using spv::Op;

class DispatchFunction {
 public:
  explicit DispatchFunction(CountingTools& tools)
      : tools_(tools), editor_(tools.context.editor), u32_(editor_.type_int(32)) {}

  uint32_t make(uint32_t counter) {
    const uint32_t none = editor_.type_void();
    const uint32_t function = editor_.new_id();
    editor_.name(function, "tally.count_dispatch");
    Code code = editor_.new_code();
    code.emit_as(function, Op::OpFunction, none,
                 std::vector<uint32_t>{0, editor_.type_function(none)});
    code.label(code.new_id());
    code.if_then(is_first(code), [&] {
      const uint32_t address = tools_.record.load_address_word(code);
      code.if_then(tools_.record.is_set(code, address), [&] {
        const Wide all = invocations(code);
        const uint32_t shard = tools_.record.shard_address(code, address);
        tools_.record.add_wide(code, shard, counter, all.low, all.high);
      });
    });
    code.emit(Op::OpReturn);
    code.emit(Op::OpFunctionEnd);
    tools_.context.add_function(code);
    return function;
  }

 private:
  struct Wide {
    uint32_t low, high;
  };

  uint32_t is_first(Code& code) {
    uint32_t all = tools_.builtins.number(code, BuiltIn::LocalInvocationIndex, 1, 0);
    for (uint32_t i = 0; i < 3; ++i) {
      const uint32_t group = tools_.builtins.number(code, BuiltIn::WorkgroupId, 3, i);
      all = code.emit(Op::OpBitwiseOr, u32_, {all, group});
    }
    return code.emit(Op::OpIEqual, editor_.type_bool(), {all, editor_.constant_u32(0)});
  }

  Wide invocations(Code& code) {
    Wide product{editor_.constant_u32(1), editor_.constant_u32(0)};
    for (const uint32_t size : local_size(code)) multiply(code, product, size);
    for (uint32_t i = 0; i < 3; ++i) {
      multiply(code, product, tools_.builtins.number(code, BuiltIn::NumWorkgroups, 3, i));
    }
    return product;
  }

  void multiply(Code& code, Wide& product, uint32_t factor) {
    if (pair_ == 0) pair_ = editor_.new_struct({u32_, u32_});
    const uint32_t low = code.emit(Op::OpUMulExtended, pair_, {product.low, factor});
    const uint32_t high = code.emit(Op::OpIMul, u32_, {product.high, factor});
    const uint32_t carry = code.emit(Op::OpCompositeExtract, u32_, {low, 1});
    product = {code.emit(Op::OpCompositeExtract, u32_, {low, 0}),
               code.emit(Op::OpIAdd, u32_, {high, carry})};
  }

  // An object decorated as the size takes precedence over the execution mode.
  std::array<uint32_t, 3> local_size(Code& code) {
    const Module& module = tools_.context.module();
    for (const uint32_t index : module.decorations()) {
      const Instruction decoration = module.instruction(index);
      if (decoration.opcode() != Op::OpDecorate || decoration.operand_count() < 3 ||
          decoration.operand(1) != word(spv::Decoration::BuiltIn) ||
          decoration.operand(2) != word(BuiltIn::WorkgroupSize)) {
        continue;
      }
      std::array<uint32_t, 3> size{};
      for (uint32_t i = 0; i < 3; ++i) size[i] = component(code, decoration.operand(0), i);
      return size;
    }
    return size_of_mode(code);
  }

  uint32_t component(Code& code, uint32_t vector, uint32_t index) {
    const Module& module = tools_.context.module();
    const auto type = module.definition(module.type_of(vector));
    const uint32_t scalar = type ? type->operand(0) : u32_;
    return as_u32(code, code.emit(Op::OpCompositeExtract, scalar, {vector, index}), scalar);
  }

  uint32_t as_u32(Code& code, uint32_t value, uint32_t type) {
    return type == u32_ ? value : code.emit(Op::OpBitcast, u32_, {value});
  }

  std::array<uint32_t, 3> size_of_mode(Code& code) {
    const Module& module = tools_.context.module();
    std::array<uint32_t, 3> size{};
    size.fill(editor_.constant_u32(1));
    for (const uint32_t i : module.execution_modes(tools_.context.entry)) {
      const Instruction mode = module.instruction(i);
      if (mode.operand_count() < 5) continue;
      const auto kind = static_cast<ExecutionMode>(mode.operand(1));
      for (uint32_t n = 0; n < 3; ++n) {
        const uint32_t operand = mode.operand(2 + n);
        if (kind == ExecutionMode::LocalSize) size[n] = editor_.constant_u32(operand);
        if (kind == ExecutionMode::LocalSizeId) {
          size[n] = as_u32(code, operand, module.type_of(operand));
        }
      }
    }
    return size;
  }

  CountingTools& tools_;
  Editor& editor_;
  uint32_t u32_;
  uint32_t pair_ = 0;
};

}  // namespace

bool counts_dispatches(const BlockCountOptions& options) {
  return options.whole_dispatches && options.stage == spv::ExecutionModel::GLCompute &&
         options.counting == Counting::Private;
}

uint32_t make_dispatch_function(CountingTools& tools, uint32_t counter) {
  return DispatchFunction(tools).make(counter);
}

}  // namespace tally::spirv
