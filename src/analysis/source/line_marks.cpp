#include "analysis/source/line_marks.h"

#include <algorithm>
#include <cstring>

#include "spirv/analysis/cfg.h"

namespace tally::analysis {
namespace {

using spirv::BlockRange;
using spirv::Instruction;
using spirv::Module;

bool is_debug(const Module& module, const Instruction& instruction) {
  switch (instruction.opcode()) {
    case spv::Op::OpLine:
    case spv::Op::OpNoLine:
    case spv::Op::OpSource:
    case spv::Op::OpSourceContinued:
    case spv::Op::OpSourceExtension:
      return true;
    case spv::Op::OpExtInst: {
      const spirv::ExtInstSet set = module.ext_inst_set(instruction.operand(0));
      return set == spirv::ExtInstSet::ShaderDebugInfo100 ||
             set == spirv::ExtInstSet::OpenClDebugInfo100;
    }
    default:
      return false;
  }
}

bool makes_no_code(spv::Op opcode) {
  switch (opcode) {
    case spv::Op::OpLabel:
    case spv::Op::OpPhi:
    case spv::Op::OpVariable:
    case spv::Op::OpNop:
    case spv::Op::OpUndef:
    case spv::Op::OpSelectionMerge:
    case spv::Op::OpLoopMerge:
      return true;
    default:
      return false;
  }
}

bool is_merge(spv::Op opcode) {
  return opcode == spv::Op::OpSelectionMerge || opcode == spv::Op::OpLoopMerge;
}

// OpString precedes names, decorations, types and everything after them.
bool precedes_strings(spv::Op opcode) {
  switch (opcode) {
    case spv::Op::OpCapability:
    case spv::Op::OpExtension:
    case spv::Op::OpExtInstImport:
    case spv::Op::OpMemoryModel:
    case spv::Op::OpEntryPoint:
    case spv::Op::OpExecutionMode:
    case spv::Op::OpExecutionModeId:
      return true;
    default:
      return false;
  }
}

Instruction terminator_of(const Module& module, const BlockRange& block) {
  return module.instruction(block.end - 1);
}

const Instruction loop_merge_of(const Module& module, const BlockRange& block) {
  if (block.end < block.begin + 3) return {};
  const Instruction merge = module.instruction(block.end - 2);
  return merge.opcode() == spv::Op::OpLoopMerge ? merge : Instruction();
}

// True if the block leads to `label` or, if a condition holds, to another block.
bool may_leave_to(const Module& module, const BlockRange& block, uint32_t label) {
  const Instruction end = terminator_of(module, block);
  return end.opcode() == spv::Op::OpBranchConditional &&
         (end.operand(1) == label || end.operand(2) == label);
}

void append_string_instruction(std::vector<uint32_t>& words, uint32_t id, const std::string& text) {
  const size_t count = text.size() / sizeof(uint32_t) + 1;
  words.push_back(static_cast<uint32_t>(count + 2) << spv::WordCountShift |
                  static_cast<uint32_t>(spv::Op::OpString));
  words.push_back(id);
  words.resize(words.size() + count);
  std::memcpy(words.data() + words.size() - count, text.data(), text.size());
}

}  // namespace

uint32_t block_of_label(const Module& module, uint32_t label_id) {
  const uint32_t index = module.definition_index(label_id);
  const auto blocks = module.blocks();
  const auto found = std::ranges::lower_bound(blocks, index, {}, &BlockRange::begin);
  const bool is_block = found != blocks.end() && found->label_id == label_id;
  return is_block ? static_cast<uint32_t>(found - blocks.begin()) : spirv::kNone;
}

uint32_t loop_merge_label(const Module& module, const BlockRange& block) {
  const Instruction merge = loop_merge_of(module, block);
  return merge.word_count() == 0 ? 0 : merge.operand(0);
}

uint32_t loop_continue_label(const Module& module, const BlockRange& block) {
  const Instruction merge = loop_merge_of(module, block);
  return merge.word_count() == 0 ? 0 : merge.operand(1);
}

std::vector<uint32_t> condition_blocks(const Module& module, uint32_t header) {
  const BlockRange& block = module.blocks()[header];
  const uint32_t merge = loop_merge_label(module, block);
  if (merge == 0) return {};
  if (may_leave_to(module, block, merge)) return {header};
  const Instruction end = terminator_of(module, block);
  if (end.opcode() != spv::Op::OpBranch) return {};
  const uint32_t next = block_of_label(module, end.operand(0));
  if (next == spirv::kNone || !may_leave_to(module, module.blocks()[next], merge)) return {};
  return {header, next};
}

std::vector<bool> markable(const Module& module) {
  std::vector<bool> marks(module.instruction_count());
  for (const BlockRange& block : module.blocks()) {
    for (uint32_t i = block.begin; i < block.end; ++i) {
      const Instruction instruction = module.instruction(i);
      marks[i] = !makes_no_code(instruction.opcode()) && !is_debug(module, instruction);
    }
  }
  for (uint32_t header = 0; header < module.blocks().size(); ++header) {
    for (const uint32_t index : condition_blocks(module, header)) {
      const BlockRange& block = module.blocks()[index];
      std::fill(marks.begin() + block.begin, marks.begin() + block.end, false);
    }
  }
  return marks;
}

std::vector<uint32_t> with_lines(const Module& module, const std::string& file,
                                 std::span<const uint32_t> lines) {
  const std::span<const uint32_t> original = module.words();
  std::vector<uint32_t> words(original.begin(), original.begin() + spirv::kHeaderWords);
  const uint32_t file_id = words[3]++;
  const auto add_line = [&](uint32_t line) {
    words.insert(words.end(), {4u << spv::WordCountShift | static_cast<uint32_t>(spv::Op::OpLine),
                               file_id, line, 0});
  };
  bool has_file = false, in_line = false;
  for (size_t i = 0; i < module.instruction_count(); ++i) {
    const Instruction instruction = module.instruction(i);
    if (!has_file && !precedes_strings(instruction.opcode())) {
      append_string_instruction(words, file_id, file);
      has_file = true;
    }
    if (is_debug(module, instruction)) continue;
    const spv::Op opcode = instruction.opcode();
    // Nothing may come between a merge instruction and the terminator.
    const bool after_merge = i > 0 && is_merge(module.instruction(i - 1).opcode());
    const uint32_t line = is_merge(opcode) && i + 1 < lines.size() ? lines[i + 1] : lines[i];
    if (line != 0 && !after_merge) {
      add_line(line);
      in_line = true;
    } else if (line == 0 && in_line && !after_merge) {
      words.push_back(1u << spv::WordCountShift | static_cast<uint32_t>(spv::Op::OpNoLine));
      in_line = false;
    }
    if (spirv::is_terminator(opcode)) in_line = false;
    words.insert(words.end(), instruction.words().begin(), instruction.words().end());
  }
  return words;
}

}  // namespace tally::analysis
