#include "analysis/source/spirv_tools.h"

#include <fmt/format.h>
#include <spirv-tools/libspirv.h>

#include <memory>

#include "spirv/ir/module.h"

namespace tally::analysis {
namespace {

struct ContextEnd {
  void operator()(spv_context context) const { spvContextDestroy(context); }
};
using ToolsContext = std::unique_ptr<spv_context_t, ContextEnd>;

struct DiagnosticEnd {
  void operator()(spv_diagnostic diagnostic) const { spvDiagnosticDestroy(diagnostic); }
};
using Diagnostic = std::unique_ptr<spv_diagnostic_t, DiagnosticEnd>;

std::string text_of(const Diagnostic& diagnostic) {
  const std::string all = diagnostic && diagnostic->error ? diagnostic->error : "no reason given";
  return all.substr(0, all.find('\n'));
}

spv_target_env environment_of(std::span<const uint32_t> words) {
  const uint32_t version = words.size() > 1 ? words[1] : 0;
  if (version <= spirv::make_version(1, 0)) return SPV_ENV_VULKAN_1_0;
  if (version <= spirv::make_version(1, 3)) return SPV_ENV_VULKAN_1_1;
  if (version <= spirv::make_version(1, 4)) return SPV_ENV_VULKAN_1_1_SPIRV_1_4;
  if (version <= spirv::make_version(1, 5)) return SPV_ENV_VULKAN_1_2;
  return SPV_ENV_VULKAN_1_3;
}

// "; Version: 1.3", as the text of a disassembler begins; else the newest.
spv_target_env environment_of(std::string_view text) {
  constexpr std::string_view kVersion = "; Version: 1.";
  const size_t found = text.find(kVersion);
  const char minor = found == text.npos || found + kVersion.size() >= text.size()
                         ? '6'
                         : text[found + kVersion.size()];
  switch (minor) {
    case '0':
      return SPV_ENV_UNIVERSAL_1_0;
    case '1':
      return SPV_ENV_UNIVERSAL_1_1;
    case '2':
      return SPV_ENV_UNIVERSAL_1_2;
    case '3':
      return SPV_ENV_UNIVERSAL_1_3;
    case '4':
      return SPV_ENV_UNIVERSAL_1_4;
    case '5':
      return SPV_ENV_UNIVERSAL_1_5;
    default:
      return SPV_ENV_UNIVERSAL_1_6;
  }
}

}  // namespace

Result<std::vector<uint32_t>> assemble_spirv(std::string_view text) {
  const ToolsContext context(spvContextCreate(environment_of(text)));
  spv_binary made = nullptr;
  spv_diagnostic problem = nullptr;
  const spv_result_t result =
      spvTextToBinaryWithOptions(context.get(), text.data(), text.size(),
                                 SPV_TEXT_TO_BINARY_OPTION_PRESERVE_NUMERIC_IDS, &made, &problem);
  const Diagnostic diagnostic(problem);
  if (result != SPV_SUCCESS) {
    const size_t line = diagnostic ? diagnostic->position.line + 1 : 0;
    return Error{fmt::format("line {}: {}", line, text_of(diagnostic))};
  }
  std::vector<uint32_t> words(made->code, made->code + made->wordCount);
  spvBinaryDestroy(made);
  return words;
}

Result<std::string> disassemble_spirv(std::span<const uint32_t> words) {
  const ToolsContext context(spvContextCreate(SPV_ENV_UNIVERSAL_1_6));
  spv_text made = nullptr;
  spv_diagnostic problem = nullptr;
  const spv_result_t result = spvBinaryToText(context.get(), words.data(), words.size(),
                                              SPV_BINARY_TO_TEXT_OPTION_INDENT, &made, &problem);
  const Diagnostic diagnostic(problem);
  if (result != SPV_SUCCESS)
    return Error{"SPIRV-Tools cannot read the module: " + text_of(diagnostic)};
  std::string text(made->str, made->length);
  spvTextDestroy(made);
  return text;
}

Status validate_spirv(std::span<const uint32_t> words) {
  const ToolsContext context(spvContextCreate(environment_of(words)));
  spv_validator_options options = spvValidatorOptionsCreate();
  spvValidatorOptionsSetSkipBlockLayout(options, true);
  spv_const_binary_t binary{words.data(), words.size()};
  spv_diagnostic problem = nullptr;
  const spv_result_t result = spvValidateWithOptions(context.get(), options, &binary, &problem);
  const Diagnostic diagnostic(problem);
  spvValidatorOptionsDestroy(options);
  if (result == SPV_SUCCESS) return {};
  return Error{text_of(diagnostic)};
}

}  // namespace tally::analysis
