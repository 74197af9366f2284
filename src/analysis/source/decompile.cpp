#include "analysis/source/decompile.h"

#include <fmt/format.h>
#include <spirv-tools/libspirv.h>
#include <spirv_cross_c.h>

#include <memory>

namespace tally::analysis {
namespace {

constexpr size_t kMaxWords = 1 << 20;
constexpr unsigned kGlslVersion = 460;

struct Destroyer {
  void operator()(spvc_context context) const { spvc_context_destroy(context); }
};
using Context = std::unique_ptr<spvc_context_s, Destroyer>;

std::string first_line(const char* text) {
  const std::string all = text == nullptr ? "" : text;
  return all.substr(0, all.find('\n'));
}

Error error_of(const Context& context) {
  const std::string message = first_line(spvc_context_get_last_error_string(context.get()));
  return Error{message.empty() ? "no reason given" : message};
}

spvc_result set_options(spvc_compiler compiler) {
  spvc_compiler_options options = nullptr;
  spvc_result result = spvc_compiler_create_compiler_options(compiler, &options);
  const auto set = [&](spvc_compiler_option option, unsigned value) {
    if (result == SPVC_SUCCESS) result = spvc_compiler_options_set_uint(options, option, value);
  };
  set(SPVC_COMPILER_OPTION_GLSL_VERSION, kGlslVersion);
  set(SPVC_COMPILER_OPTION_GLSL_ES, 0);
  set(SPVC_COMPILER_OPTION_GLSL_VULKAN_SEMANTICS, 1);
  set(SPVC_COMPILER_OPTION_EMIT_LINE_DIRECTIVES, 1);
  if (result != SPVC_SUCCESS) return result;
  return spvc_compiler_install_compiler_options(compiler, options);
}

}  // namespace

Status check_decompilable(std::span<const uint32_t> words) {
  if (words.size() > kMaxWords) return Error{"the module is too large"};
  spv_context context = spvContextCreate(SPV_ENV_UNIVERSAL_1_6);
  spv_validator_options options = spvValidatorOptionsCreate();
  // Layouts of blocks depend on the device's features, which a module does not say.
  spvValidatorOptionsSetSkipBlockLayout(options, true);
  spv_const_binary_t binary{words.data(), words.size()};
  spv_diagnostic diagnostic = nullptr;
  const spv_result_t result = spvValidateWithOptions(context, options, &binary, &diagnostic);
  const std::string reason = diagnostic == nullptr ? "" : first_line(diagnostic->error);
  spvDiagnosticDestroy(diagnostic);
  spvValidatorOptionsDestroy(options);
  spvContextDestroy(context);
  if (result == SPV_SUCCESS) return {};
  return Error{fmt::format("SPIRV-Tools does not accept the module: {}", reason)};
}

Result<std::string> decompile(std::span<const uint32_t> words, const spirv::EntryPoint& entry) {
  spvc_context made = nullptr;
  if (spvc_context_create(&made) != SPVC_SUCCESS) return Error{"out of memory"};
  const Context context(made);
  spvc_parsed_ir parsed = nullptr;
  spvc_compiler compiler = nullptr;
  const char* text = nullptr;
  const bool done =
      spvc_context_parse_spirv(context.get(), words.data(), words.size(), &parsed) ==
          SPVC_SUCCESS &&
      spvc_context_create_compiler(context.get(), SPVC_BACKEND_GLSL, parsed,
                                   SPVC_CAPTURE_MODE_TAKE_OWNERSHIP, &compiler) == SPVC_SUCCESS &&
      spvc_compiler_set_entry_point(compiler, entry.name.c_str(),
                                    static_cast<SpvExecutionModel>(entry.model)) == SPVC_SUCCESS &&
      set_options(compiler) == SPVC_SUCCESS &&
      spvc_compiler_compile(compiler, &text) == SPVC_SUCCESS;
  if (!done || text == nullptr) return error_of(context);
  return std::string(text);
}

}  // namespace tally::analysis
