#include "spirv/instrument/small_flush.h"

#include <algorithm>
#include <vector>

namespace tally::spirv {
namespace {

using spv::Op;
using Kind = PrivateSlot::Kind;

class SmallFlush {
 public:
  SmallFlush(InstructionBuilder& code, const CountingTools& tools,
             std::span<const PrivateSlot> slots, std::span<const uint32_t> variables)
      : code_(code),
        tools_(tools),
        editor_(tools.context.editor),
        slots_(slots),
        variables_(variables),
        subgroup_(editor_),
        u32_(editor_.type_int(32)) {}

  void emit() {
    code_.label(code_.new_id());
    const RecordPointer record_pointer = tools_.record.load_record_pointer(code_);
    code_.if_then(tools_.record.is_set(code_, record_pointer), [&] {
      counters_ =
          tools_.record.counters_pointer(code_, tools_.record.shard_address(code_, record_pointer));
      if (sums_up()) {
        add_together();
      } else {
        add_alone();
      }
    });
    code_.emit(Op::OpReturn);
  }

 private:
  bool sums_up() const {
    const auto is_certain = [](const PrivateSlot& slot) {
      return slot.kind == Kind::EveryInvocation || slot.kind == Kind::EverySubgroup;
    };
    return tools_.context.use_subgroups && std::ranges::any_of(slots_, is_certain);
  }

  // The small counts are the bytes of a word, so that one sum adds all of them.
  void add_together() {
    std::vector<uint32_t> small;
    uint32_t word = 0;
    for (uint32_t counter = 0; counter < slots_.size(); ++counter) {
      const PrivateSlot& slot = slots_[counter];
      if (slot.kind == Kind::Number) {
        add(counter, load(slot));
      } else if (slot.kind != Kind::EverySubgroup) {
        const uint32_t own = slot.kind == Kind::Flag ? flag(slot) : constant(1);
        const auto shift = static_cast<uint32_t>(8 * small.size());
        const uint32_t byte = shift == 0 ? own : emit(Op::OpShiftLeftLogical, own, constant(shift));
        word = word == 0 ? byte : emit(Op::OpBitwiseOr, word, byte);
        small.push_back(counter);
      }
    }
    const uint32_t sums = word == 0 ? 0 : subgroup_.sum(code_, word);
    code_.if_then(subgroup_.elect(code_), [&] {
      for (uint32_t i = 0; i < small.size(); ++i) {
        const uint32_t rest = i == 0 ? sums : emit(Op::OpShiftRightLogical, sums, constant(8 * i));
        const bool last = i + 1 == small.size();
        add(small[i], last ? rest : emit(Op::OpBitwiseAnd, rest, constant(0xff)));
      }
      for (uint32_t counter = 0; counter < slots_.size(); ++counter) {
        if (slots_[counter].kind == Kind::EverySubgroup) add(counter, constant(1));
      }
    });
  }

  void add_alone() {
    for (uint32_t counter = 0; counter < slots_.size(); ++counter) {
      const PrivateSlot& slot = slots_[counter];
      if (slot.kind == Kind::Number) {
        add(counter, load(slot));
      } else if (slot.kind == Kind::Flag) {
        const uint32_t is_set =
            code_.emit(Op::OpINotEqual, editor_.type_bool(), {masked(slot), constant(0)});
        code_.if_then(is_set, [&] { add(counter, constant(1)); });
      } else {
        add(counter, constant(1));
      }
    }
  }

  uint32_t emit(Op opcode, uint32_t one, uint32_t other) {
    return code_.emit(opcode, u32_, {one, other});
  }

  void add(uint32_t counter, uint32_t value) {
    tools_.record.add_at(code_, counters_, constant(counter), value);
  }

  uint32_t load(const PrivateSlot& slot) { return code_.load(u32_, variables_[slot.variable]); }

  uint32_t masked(const PrivateSlot& slot) {
    return code_.emit(Op::OpBitwiseAnd, u32_, {load(slot), constant(1u << slot.bit)});
  }

  // 0 or 1.
  uint32_t flag(const PrivateSlot& slot) {
    const uint32_t word = load(slot);
    const uint32_t moved =
        slot.bit == 0 ? word
                      : code_.emit(Op::OpShiftRightLogical, u32_, {word, constant(slot.bit)});
    return code_.emit(Op::OpBitwiseAnd, u32_, {moved, constant(1)});
  }

  uint32_t constant(uint32_t value) { return editor_.constant_u32(value); }

  InstructionBuilder& code_;
  const CountingTools& tools_;
  Editor& editor_;
  std::span<const PrivateSlot> slots_;
  std::span<const uint32_t> variables_;
  SubgroupCode subgroup_;
  uint32_t u32_;
  uint32_t counters_ = 0;  // a pointer
};

}  // namespace

void emit_small_flush(InstructionBuilder& code, const CountingTools& tools,
                      std::span<const PrivateSlot> slots, std::span<const uint32_t> variables) {
  SmallFlush(code, tools, slots, variables).emit();
}

}  // namespace tally::spirv
