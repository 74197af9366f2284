#include "counters/shader/validator.h"

#include <spirv-tools/libspirv.h>
#include <vulkan/vulkan_core.h>

#include <memory>

namespace tally::counters {
namespace {

spv_target_env environment(uint32_t vulkan_version) {
  if (vulkan_version >= VK_API_VERSION_1_3) return SPV_ENV_VULKAN_1_3;
  if (vulkan_version >= VK_API_VERSION_1_2) return SPV_ENV_VULKAN_1_2;
  return SPV_ENV_VULKAN_1_1_SPIRV_1_4;
}

}  // namespace

Status validate_spirv(std::span<const uint32_t> words, uint32_t vulkan_version) {
  const std::unique_ptr<spv_context_t, decltype(&spvContextDestroy)> context(
      spvContextCreate(environment(vulkan_version)), spvContextDestroy);
  const std::unique_ptr<spv_validator_options_t, decltype(&spvValidatorOptionsDestroy)> options(
      spvValidatorOptionsCreate(), spvValidatorOptionsDestroy);
  // Device features allow these. The target environment does not tell.
  spvValidatorOptionsSetScalarBlockLayout(options.get(), true);
  spvValidatorOptionsSetUniformBufferStandardLayout(options.get(), true);
  spvValidatorOptionsSetAllowLocalSizeId(options.get(), true);
  spv_const_binary_t binary{words.data(), words.size()};
  spv_diagnostic diagnostic = nullptr;
  const spv_result_t result =
      spvValidateWithOptions(context.get(), options.get(), &binary, &diagnostic);
  const std::unique_ptr<spv_diagnostic_t, decltype(&spvDiagnosticDestroy)> owner(
      diagnostic, spvDiagnosticDestroy);
  if (result == SPV_SUCCESS) return {};
  return Error{diagnostic && diagnostic->error ? diagnostic->error : "spirv-val gives no reason"};
}

}  // namespace tally::counters
