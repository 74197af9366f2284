#include "analysis/source/line_marks.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "analysis/model/names.h"
#include "base/settings.h"
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

namespace {

using spirv::BlockRange;
using spirv::Module;

constexpr std::string_view kDirective = "#line ";
// The extension that allows file names in directives, which the text no longer has.
constexpr std::string_view kDirectiveExtension =
    "#extension GL_GOOGLE_cpp_style_line_directive : require";

enum class LineKind { Empty, Open, Close, Loop, Switch, Label, Declaration, Statement };

// "vec4 colour;" but not "return;"
bool is_declaration(std::string_view line) {
  if (!line.ends_with(';') || line.find_first_of("=(+-") != std::string_view::npos) return false;
  return line.find(' ') != std::string_view::npos && !line.starts_with("return ");
}

LineKind kind_of(std::string_view line) {
  if (line.empty() || line.starts_with("[[") || line.starts_with("#")) return LineKind::Empty;
  if (line == "{") return LineKind::Open;
  if (line.starts_with("}")) return LineKind::Close;
  if (line.starts_with("for (") || line.starts_with("while (") || line == "do")
    return LineKind::Loop;
  if (line.starts_with("switch (")) return LineKind::Switch;
  if (line == "else" || line.starts_with("case ") || line == "default:") return LineKind::Label;
  return is_declaration(line) ? LineKind::Declaration : LineKind::Statement;
}

class MarkReader {
 public:
  explicit MarkReader(const Module& module)
      : module_(module),
        blocks_(module.blocks()),
        times_seen_(module.instruction_count()),
        loop_entry_(blocks_.size()),
        loop_line_(blocks_.size()),
        loop_end_(blocks_.size()) {
    lines_.line_of.resize(module.instruction_count());
    block_of_.resize(module.instruction_count(), spirv::kNone);
    for (uint32_t b = 0; b < blocks_.size(); ++b)
      std::fill(block_of_.begin() + blocks_[b].begin, block_of_.begin() + blocks_[b].end, b);
  }

  GlslLines run(const std::string& glsl) {
    for (const std::string& line : lines_of_text(glsl)) {
      if (line.starts_with(kDirective)) {
        read_directive(std::string_view(line).substr(kDirective.size()));
      } else if (line != kDirectiveExtension) {
        lines_.text.push_back(line);
        read_line(trimmed(line));
      }
    }
    for (uint32_t block = 0; block < blocks_.size(); ++block) assign_rest(block);
    assign_loop_parts();
    assign_loop_entries();
    return std::move(lines_);
  }

 private:
  uint32_t here() const { return static_cast<uint32_t>(lines_.text.size()); }
  bool in_function() const { return !scopes_.empty(); }

  void read_directive(std::string_view rest) {
    uint32_t mark = 0;
    std::from_chars(rest.data(), rest.data() + rest.size(), mark);
    const bool is_known =
        mark != 0 && mark <= block_of_.size() && block_of_[mark - 1] != spirv::kNone;
    current_ = spirv::kNone;
    // In front of a function stands the line of its first instruction.
    if (!is_known || !in_function()) return;
    current_ = mark - 1;
    last_ = current_;
    last_block_ = block_of_[current_];
    ++times_seen_[current_];
  }

  void read_line(std::string_view line) {
    switch (kind_of(line)) {
      case LineKind::Empty:
      case LineKind::Declaration:
        return;
      case LineKind::Open:
        scopes_.push_back(std::exchange(opening_, spirv::kNone));
        current_ = spirv::kNone;
        return;
      case LineKind::Close:
        return close(line);
      case LineKind::Loop:
        return open_loop();
      case LineKind::Switch:
        if (last_ != spirv::kNone && module_.instruction(last_).opcode() == spv::Op::OpSwitch)
          lines_.line_of[last_] = here();
        break;
      case LineKind::Label:
        break;
      case LineKind::Statement:
        if (current_ != spirv::kNone && lines_.line_of[current_] == 0)
          lines_.line_of[current_] = here();
        return;
    }
    current_ = spirv::kNone;
  }

  void close(std::string_view line) {
    if (scopes_.empty()) return;
    const uint32_t loop = scopes_.back();
    scopes_.pop_back();
    if (loop != spirv::kNone && line.starts_with("} while (")) loop_end_[loop] = here();
    const bool ends_function = scopes_.empty();
    if (ends_function && current_ != spirv::kNone && lines_.line_of[current_] == 0 &&
        module_.instruction(current_).opcode() == spv::Op::OpReturn) {
      lines_.line_of[current_] = here();
    }
    current_ = spirv::kNone;
    if (ends_function) last_ = last_block_ = spirv::kNone;
  }

  // The loop is the one that the last block leads to.
  void open_loop() {
    current_ = spirv::kNone;
    const uint32_t header = next_header();
    if (header == spirv::kNone) return;
    loop_line_[header] = here();
    loop_entry_[header] = last_block_;
    opening_ = header;
    const auto condition = condition_blocks(module_, header);
    last_block_ = condition.empty() ? header : condition.back();
  }

  uint32_t next_header() const {
    if (last_block_ == spirv::kNone) return spirv::kNone;
    const spirv::Instruction end = module_.instruction(blocks_[last_block_].end - 1);
    uint32_t found = spirv::kNone;
    for (const uint32_t label : spirv::branch_targets(module_, end)) {
      const uint32_t target = block_of_label(module_, label);
      if (target == spirv::kNone || target == found || loop_line_[target] != 0 ||
          loop_merge_label(module_, blocks_[target]) == 0) {
        continue;
      }
      if (found != spirv::kNone) return spirv::kNone;
      found = target;
    }
    return found;
  }

  bool is_repeated(const BlockRange& block) const {
    return std::any_of(times_seen_.begin() + block.begin, times_seen_.begin() + block.end,
                       [](uint32_t times) { return times > 1; });
  }

  // The instructions of a block that have no line of their own.
  void assign_rest(uint32_t index) {
    const BlockRange& block = blocks_[index];
    auto& line_of = lines_.line_of;
    if (is_repeated(block)) {
      std::fill(line_of.begin() + block.begin, line_of.begin() + block.end, 0);
      return;
    }
    const std::vector<uint32_t> first_use = first_uses(block);
    uint32_t next = 0;
    for (uint32_t i = block.end; i-- > block.begin;) {
      if (line_of[i] == 0) {
        const uint32_t use = first_use[i - block.begin];
        line_of[i] = use == spirv::kNone || line_of[use] == 0 ? next : line_of[use];
      } else {
        next = line_of[i];
      }
    }
    uint32_t previous = 0;
    for (uint32_t i = block.begin; i < block.end; ++i) {
      if (line_of[i] == 0) line_of[i] = previous;
      previous = line_of[i];
    }
  }

  // Indexed by instruction of the block: the first that has its result as an operand. A literal may
  // look like an id; the instruction then belongs to another line of its block.
  std::vector<uint32_t> first_uses(const BlockRange& block) const {
    std::vector<uint32_t> uses(block.end - block.begin, spirv::kNone);
    std::unordered_map<uint32_t, uint32_t> results;
    for (uint32_t i = block.begin; i < block.end; ++i) {
      const spirv::Instruction instruction = module_.instruction(i);
      for (const uint32_t operand : instruction.operands()) {
        const auto found = results.find(operand);
        if (found == results.end()) continue;
        uint32_t& use = uses[found->second - block.begin];
        if (use == spirv::kNone) use = i;
      }
      if (instruction.result_id() != 0) results[instruction.result_id()] = i;
    }
    return uses;
  }

  void assign_loop_parts() {
    for (uint32_t header = 0; header < blocks_.size(); ++header) {
      if (loop_line_[header] == 0) continue;
      for (const uint32_t block : condition_blocks(module_, header))
        assign_if_without_lines(block, loop_line_[header]);
      const uint32_t part = block_of_label(module_, loop_continue_label(module_, blocks_[header]));
      if (part == spirv::kNone) continue;
      assign_if_without_lines(part,
                              loop_end_[header] != 0 ? loop_end_[header] : loop_line_[header]);
    }
  }

  // After the parts of all loops: a block before a loop may be the condition of another.
  void assign_loop_entries() {
    for (uint32_t header = 0; header < blocks_.size(); ++header) {
      if (loop_line_[header] != 0 && !is_repeated(blocks_[loop_entry_[header]]))
        assign_if_without_lines(loop_entry_[header], loop_line_[header]);
    }
  }

  void assign_if_without_lines(uint32_t index, uint32_t line) {
    const auto begin = lines_.line_of.begin() + blocks_[index].begin;
    const auto end = lines_.line_of.begin() + blocks_[index].end;
    if (std::all_of(begin, end, [](uint32_t l) { return l == 0; })) std::fill(begin, end, line);
  }

  const Module& module_;
  std::span<const BlockRange> blocks_;
  GlslLines lines_;
  std::vector<uint32_t> block_of_;              // by instruction
  std::vector<uint32_t> times_seen_;            // by instruction: directives that name it
  std::vector<uint32_t> loop_entry_;            // by header: the block before the loop
  std::vector<uint32_t> loop_line_, loop_end_;  // by header: the lines of `for` and `} while`
  std::vector<uint32_t> scopes_;                // open braces: the loop's header, or spirv::kNone
  uint32_t opening_ = spirv::kNone;             // the loop whose brace comes next
  uint32_t current_ = spirv::kNone;             // the instruction whose mark is in effect
  uint32_t last_ = spirv::kNone;                // the last mark of the function
  uint32_t last_block_ = spirv::kNone;  // its block, or the condition of a loop that began after it
};

}  // namespace

GlslLines read_marks(const Module& module, const std::string& glsl) {
  return MarkReader(module).run(glsl);
}

}  // namespace tally::analysis
