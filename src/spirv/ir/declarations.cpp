#include "spirv/ir/declarations.h"

#include <algorithm>

namespace tally::spirv {
namespace {

// FNV-1a over words.
uint64_t hash_of(spv::Op opcode, uint32_t type, std::span<const uint32_t> operands) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&hash](uint32_t word) { hash = (hash ^ word) * 0x100000001b3; };
  mix(static_cast<uint32_t>(opcode));
  mix(type);
  for (const uint32_t word : operands) mix(word);
  return hash;
}

bool is_shared(const Module& module, const Instruction& instruction) {
  switch (instruction.opcode()) {
    case spv::Op::OpTypeVoid:
    case spv::Op::OpTypeBool:
    case spv::Op::OpTypeInt:
    case spv::Op::OpTypeFloat:
    case spv::Op::OpTypeVector:
    case spv::Op::OpTypeMatrix:
    case spv::Op::OpTypeFunction:
      return true;
    case spv::Op::OpTypePointer:
    case spv::Op::OpConstantTrue:
    case spv::Op::OpConstantFalse:
    case spv::Op::OpConstant:
    case spv::Op::OpConstantNull:
    case spv::Op::OpConstantComposite:
      return module.decorations_of(instruction.result_id()).empty();
    default:
      return false;
  }
}

}  // namespace

Declarations::Declarations(const Module& module) {
  const size_t end =
      module.functions().empty() ? module.instruction_count() : module.functions().front().begin;
  for (size_t index = 0; index < end; ++index) {
    const Instruction instruction = module.instruction(index);
    if (!is_shared(module, instruction)) continue;
    add(instruction.result_id(), instruction.opcode(), instruction.type_id(),
        instruction.operands());
  }
}

uint32_t Declarations::find(spv::Op opcode, uint32_t type,
                            std::span<const uint32_t> operands) const {
  const auto [begin, end] = entries_.equal_range(hash_of(opcode, type, operands));
  for (auto at = begin; at != end; ++at) {
    const std::span<const uint32_t> key =
        std::span(key_words_).subspan(at->second.first_word, at->second.word_count);
    if (key[0] == static_cast<uint32_t>(opcode) && key[1] == type &&
        std::ranges::equal(key.subspan(2), operands)) {
      return at->second.id;
    }
  }
  return 0;
}

void Declarations::add(uint32_t id, spv::Op opcode, uint32_t type,
                       std::span<const uint32_t> operands) {
  const auto first = static_cast<uint32_t>(key_words_.size());
  key_words_.push_back(static_cast<uint32_t>(opcode));
  key_words_.push_back(type);
  key_words_.insert(key_words_.end(), operands.begin(), operands.end());
  entries_.emplace(hash_of(opcode, type, operands),
                   Entry{id, first, static_cast<uint32_t>(operands.size() + 2)});
}

}  // namespace tally::spirv
