#include "analysis/model/disassembly.h"

#include <fmt/format.h>
#include <spirv-tools/libspirv.h>

#include <algorithm>
#include <string_view>

namespace tally::analysis {
namespace {

std::string text_of_module(const spirv::Module& module) {
  spv_context context = spvContextCreate(SPV_ENV_UNIVERSAL_1_6);
  spv_text text = nullptr;
  spv_diagnostic diagnostic = nullptr;
  const uint32_t options = SPV_BINARY_TO_TEXT_OPTION_NO_HEADER |
                           SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES |
                           SPV_BINARY_TO_TEXT_OPTION_INDENT;
  const spv_result_t result = spvBinaryToText(context, module.words().data(), module.words().size(),
                                              options, &text, &diagnostic);
  std::string out;
  if (result == SPV_SUCCESS && text != nullptr) out.assign(text->str, text->length);
  spvTextDestroy(text);
  spvDiagnosticDestroy(diagnostic);
  spvContextDestroy(context);
  return out;
}

// Splits the text by instruction. A line break inside a string literal does not end an instruction.
std::vector<std::string> split_instructions(std::string_view text) {
  std::vector<std::string> lines;
  std::string line;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n' && !quoted) {
      lines.push_back(std::move(line));
      line.clear();
      continue;
    }
    if (c == '\n') {
      line += "\\n";
      continue;
    }
    line += c;
    if (c == '"') quoted = !quoted;
    if (c == '\\' && quoted && i + 1 < text.size()) line += text[++i];
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string plain_text(const spirv::Instruction& instruction) {
  const auto opcode = static_cast<uint32_t>(instruction.opcode());
  std::string text;
  if (instruction.result_id() != 0) text = fmt::format("%{} = ", instruction.result_id());
  const std::string_view name = spvOpcodeString(opcode);
  text += name == "unknown" ? fmt::format("Op#{}", opcode) : fmt::format("Op{}", name);
  if (instruction.type_id() != 0) text += fmt::format(" %{}", instruction.type_id());
  for (const uint32_t operand : instruction.operands()) text += fmt::format(" {}", operand);
  return text;
}

}  // namespace

std::vector<std::string> disassemble(const spirv::Module& module) {
  std::vector<std::string> lines = split_instructions(text_of_module(module));
  if (lines.size() == module.instruction_count()) return lines;
  lines.clear();
  for (size_t i = 0; i < module.instruction_count(); ++i)
    lines.push_back(plain_text(module.instruction(i)));
  return lines;
}

}  // namespace tally::analysis
