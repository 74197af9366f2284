#include "spirv/analysis/source_info.h"

#include <fmt/format.h>
#include <spirv/unified1/NonSemanticShaderDebugInfo100.h>

#include <algorithm>

namespace tally::spirv {
namespace {

// Longer names are cut: many ids may share one string, and memory must stay proportional to the
// module.
constexpr size_t kNameLimit = 1024;

// Operands of an OpExtInst: set, instruction, then the arguments.
constexpr size_t kFirstArgument = 2;

bool has_debug_functions(ExtInstSet set) {
  return set == ExtInstSet::ShaderDebugInfo100 || set == ExtInstSet::OpenClDebugInfo100;
}

// glslang inserts comments about its options and "#line 1" before the text.
std::string_view without_preamble(std::string_view text) {
  std::string_view rest = text;
  while (rest.starts_with("// OpModuleProcessed")) {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) return text;
    rest.remove_prefix(end + 1);
  }
  constexpr std::string_view kLineOne = "#line 1\n";
  return rest.size() < text.size() && rest.starts_with(kLineOne) ? rest.substr(kLineOne.size())
                                                                 : text;
}

// glslang appends the parameter types to a function's name: "shade(vf4;".
std::string_view without_parameters(std::string_view name) {
  const size_t parameters = name.find('(');
  return parameters == 0 ? name : name.substr(0, parameters);
}

}  // namespace

SourceInfo::SourceInfo(const Module& module)
    : module_(&module), text_left_(module.words().size() * sizeof(uint32_t)) {
  const size_t end =
      module.functions().empty() ? module.instruction_count() : module.functions().front().begin;
  for (size_t index = 0; index < end; ++index) read(module.instruction(index));
  for (SourceFile& file : files_) {
    const std::string_view text = without_preamble(file.text);
    if (text.size() < file.text.size()) file.text = std::string(text);
  }
  read_definitions();
}

void SourceInfo::read(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case spv::Op::OpSource:
      return read_source(instruction);
    case spv::Op::OpSourceContinued:
      if (continued_file_ != kNone) add_text(continued_file_, instruction.string(0));
      return;
    case spv::Op::OpExtInst: {
      const ExtInstSet set = module_->ext_inst_set(instruction.operand(0));
      if (has_debug_functions(set)) read_debug(instruction, set);
      return;
    }
    default:
      return;
  }
}

// Language, version, and optionally file and text.
void SourceInfo::read_source(const Instruction& source) {
  continued_file_ = source.operand_count() > 2 ? add_file(source.operand(2)) : kNone;
  if (continued_file_ == kNone || source.operand_count() <= 3) return;
  const bool is_known = !files_[continued_file_].text.empty();
  if (is_known) {
    continued_file_ = kNone;
  } else {
    add_text(continued_file_, source.string(3));
  }
}

void SourceInfo::read_debug(const Instruction& instruction, ExtInstSet set) {
  const auto argument = [&](size_t index) { return instruction.operand(kFirstArgument + index); };
  switch (instruction.operand(1)) {
    case NonSemanticShaderDebugInfo100DebugSource: {
      const uint32_t file = add_file(argument(0));
      if (file != kNone) file_by_id_[instruction.result_id()] = file;
      continued_file_ = file != kNone && files_[file].text.empty() ? file : kNone;
      if (continued_file_ != kNone) add_text(file, string_of(argument(1), text_left_));
      return;
    }
    case NonSemanticShaderDebugInfo100DebugSourceContinued:
      if (continued_file_ != kNone) add_text(continued_file_, string_of(argument(0), text_left_));
      return;
    case NonSemanticShaderDebugInfo100DebugFunction: {
      const auto source_function = static_cast<uint32_t>(source_functions_.size());
      source_functions_.push_back(string_of(argument(0), kNameLimit));
      const auto file = file_by_id_.find(argument(2));
      function_files_.push_back(file == file_by_id_.end() ? kNone : file->second);
      function_by_debug_id_[instruction.result_id()] = source_function;
      // The older set has the function as an operand; the newer one has DebugFunctionDefinition.
      if (set == ExtInstSet::OpenClDebugInfo100) function_by_id_[argument(9)] = source_function;
      return;
    }
    default:
      return;
  }
}

// DebugFunctionDefinition is in the entry block of its function.
void SourceInfo::read_definitions() {
  if (function_by_debug_id_.empty()) return;
  for (const Function& function : module_->functions()) {
    if (function.block_count == 0) continue;
    const BlockRange& entry = module_->blocks_of(function).front();
    for (uint32_t index = entry.begin; index < entry.end; ++index) {
      const Instruction instruction = module_->instruction(index);
      const bool is_definition =
          instruction.opcode() == spv::Op::OpExtInst &&
          instruction.operand(1) == NonSemanticShaderDebugInfo100DebugFunctionDefinition &&
          module_->ext_inst_set(instruction.operand(0)) == ExtInstSet::ShaderDebugInfo100;
      if (!is_definition) continue;
      const auto found = function_by_debug_id_.find(instruction.operand(kFirstArgument));
      if (found != function_by_debug_id_.end()) function_by_id_[function.id] = found->second;
      break;
    }
  }
}

uint32_t SourceInfo::add_file(uint32_t string_id) {
  const auto known = file_by_id_.find(string_id);
  if (known != file_by_id_.end()) return known->second;
  if (module_->opcode_of(string_id) != spv::Op::OpString) return kNone;
  std::string name = string_of(string_id, kNameLimit);
  if (name.starts_with("./")) name.erase(0, 2);
  const auto [found, is_new] =
      file_by_name_.try_emplace(name, static_cast<uint32_t>(files_.size()));
  if (is_new) files_.push_back({std::move(name), {}});
  file_by_id_[string_id] = found->second;
  return found->second;
}

void SourceInfo::add_text(uint32_t file, std::string_view text) {
  const std::string_view taken = text.substr(0, text_left_);
  files_[file].text += taken;
  text_left_ -= taken.size();
}

std::string SourceInfo::string_of(uint32_t string_id, size_t limit) const {
  const std::optional<Instruction> string = module_->definition(string_id);
  if (!string || string->opcode() != spv::Op::OpString) return {};
  return string->string(0, limit);
}

std::string SourceInfo::function_name(uint32_t function_id) const {
  const auto found = function_by_id_.find(function_id);
  if (found != function_by_id_.end() && !source_functions_[found->second].empty()) {
    return source_functions_[found->second];
  }
  std::string name(without_parameters(module_->name_of(function_id)));
  if (name.size() > kNameLimit) name.resize(kNameLimit);
  return name.empty() ? fmt::format("%{}", function_id) : name;
}

uint32_t SourceInfo::file_of_function(uint32_t function_id) const {
  const auto found = function_by_id_.find(function_id);
  return found == function_by_id_.end() ? kNone : function_files_[found->second];
}

uint32_t SourceInfo::function_of_scope(uint32_t scope) const {
  // Bounded, because the scopes of a hostile module may be cyclic.
  for (int depth = 0; depth < 256; ++depth) {
    const auto found = function_by_debug_id_.find(scope);
    if (found != function_by_debug_id_.end()) return found->second;
    const std::optional<Instruction> block = module_->definition(scope);
    if (!block || block->opcode() != spv::Op::OpExtInst) return kNone;
    switch (block->operand(1)) {
      case NonSemanticShaderDebugInfo100DebugLexicalBlock:
        scope = block->operand(kFirstArgument + 3);
        break;
      case NonSemanticShaderDebugInfo100DebugLexicalBlockDiscriminator:
        scope = block->operand(kFirstArgument + 2);
        break;
      default:
        return kNone;
    }
  }
  return kNone;
}

// --- LineCursor

void LineCursor::advance(const Instruction& instruction) {
  if (at_end_) {
    *this = LineCursor(*info_);
  }
  switch (instruction.opcode()) {
    case spv::Op::OpLine:
      return set_line(instruction);
    case spv::Op::OpNoLine:
      return withdraw(Origin::Line);
    case spv::Op::OpExtInst:
      return set_debug(instruction);
    case spv::Op::OpFunctionEnd:
      at_end_ = true;
      return;
    default:
      at_end_ = is_terminator(instruction.opcode());
  }
}

void LineCursor::withdraw(Origin origin) {
  if (origin_ != origin) return;
  place_.location.reset();
  origin_ = Origin::None;
}

void LineCursor::begin_line(Origin origin) {
  if (scope_ended_) place_ = {};
  scope_ended_ = false;
  place_.location.reset();
  origin_ = origin;
}

void LineCursor::set_line(const Instruction& line) {
  begin_line(Origin::Line);
  const uint32_t file = info_->file_of(line.operand(0));
  if (file == kNone || line.operand(1) == 0) return;
  place_.location = SourceLocation{file, line.operand(1), line.operand(2), line.operand(1)};
}

void LineCursor::set_debug(const Instruction& instruction) {
  const ExtInstSet set = info_->module().ext_inst_set(instruction.operand(0));
  if (!has_debug_functions(set)) return;
  switch (instruction.operand(1)) {
    case NonSemanticShaderDebugInfo100DebugScope:
      place_.source_function = info_->function_of_scope(instruction.operand(kFirstArgument));
      place_.inlined_at = instruction.operand(kFirstArgument + 1);
      scope_ended_ = false;
      return;
    case NonSemanticShaderDebugInfo100DebugNoScope:
      scope_ended_ = true;
      return;
    case NonSemanticShaderDebugInfo100DebugLine:
      return set_debug_line(instruction);
    case NonSemanticShaderDebugInfo100DebugNoLine:
      return withdraw(Origin::DebugLine);
    default:
      return;
  }
}

void LineCursor::set_debug_line(const Instruction& line) {
  begin_line(Origin::DebugLine);
  const auto number = [&](size_t argument) {
    const uint32_t id = line.operand(kFirstArgument + argument);
    return static_cast<uint32_t>(info_->module().constant_value(id).value_or(0));
  };
  const uint32_t file = info_->file_of(line.operand(kFirstArgument));
  const uint32_t first = number(1);
  if (file == kNone || first == 0) return;
  place_.location = SourceLocation{file, first, number(3), std::max(first, number(2))};
}

}  // namespace tally::spirv
