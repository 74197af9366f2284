#include "spirv/ir/decoration_groups.h"

#include <algorithm>

#include "spirv/ir/instruction_builder.h"

namespace tally::spirv {
namespace {

using spv::Op;

// The expansion is the product of decorations and targets.
constexpr size_t kMaxUngroupedWords = size_t{1} << 24;

class Writer {
 public:
  explicit Writer(const Module& module) : module_(module) {}

  Result<std::vector<uint32_t>> write() {
    const auto header = module_.words().first(kHeaderWords);
    words_.assign(header.begin(), header.end());
    for (uint32_t index = 0; index < module_.instruction_count(); ++index) {
      if (Status status = add(module_.instruction(index)); !status) return status.error();
    }
    return std::move(words_);
  }

 private:
  Status add(const Instruction& instruction) {
    switch (instruction.opcode()) {
      case Op::OpDecorationGroup:
        return {};
      case Op::OpGroupDecorate:
        return decorate(instruction);
      case Op::OpGroupMemberDecorate:
        return decorate_members(instruction);
      case Op::OpName:
      case Op::OpDecorate:
      case Op::OpDecorateId:
      case Op::OpDecorateString:
        if (is_group(instruction.operand(0))) return {};
        break;
      default:
        break;
    }
    words_.insert(words_.end(), instruction.words().begin(), instruction.words().end());
    return {};
  }

  bool is_group(uint32_t id) const { return module_.opcode_of(id) == Op::OpDecorationGroup; }

  Status decorate(const Instruction& group) {
    for (size_t i = 1; i < group.operand_count(); ++i) {
      const uint32_t target[] = {group.operand(i)};
      if (Status status = write_out(group.operand(0), target); !status) return status;
    }
    return {};
  }

  Status decorate_members(const Instruction& group) {
    for (size_t i = 1; i + 1 < group.operand_count(); i += 2) {
      const uint32_t target[] = {group.operand(i), group.operand(i + 1)};
      if (Status status = write_out(group.operand(0), target); !status) return status;
    }
    return {};
  }

  // Writes the group's decorations for an id or for a member of a struct.
  Status write_out(uint32_t group, std::span<const uint32_t> target) {
    for (const uint32_t index : module_.decorations_of(group)) {
      const Instruction decoration = module_.instruction(index);
      const auto opcode = opcode_for(decoration.opcode(), target.size() == 2);
      if (!opcode)
        return Error{"SPIR-V: a decoration group has a decoration that members cannot have"};
      std::vector<uint32_t> operands(target.begin(), target.end());
      const auto what = decoration.operands().subspan(1);
      operands.insert(operands.end(), what.begin(), what.end());
      if (operands.size() >= kMaxInstructionWords ||
          words_.size() + operands.size() >= kMaxUngroupedWords) {
        return Error{"SPIR-V: the decoration groups are too large"};
      }
      append_instruction(words_, *opcode, operands);
    }
    return {};
  }

  static std::optional<Op> opcode_for(Op opcode, bool of_member) {
    if (!of_member) return opcode;
    if (opcode == Op::OpDecorate) return Op::OpMemberDecorate;
    if (opcode == Op::OpDecorateString) return Op::OpMemberDecorateString;
    return std::nullopt;
  }

  const Module& module_;
  std::vector<uint32_t> words_;
};

}  // namespace

Result<Module> parse_without_groups(std::span<const uint32_t> words) {
  auto module = Module::parse(words);
  if (!module || !module->decorates_in_groups()) return module;
  const auto written = Writer(*module).write();
  if (!written) return written.error();
  return Module::parse(*written);
}

}  // namespace tally::spirv
