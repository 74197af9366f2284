#include "catalogue/hidden_extensions.h"

#include <fmt/format.h>

#include <algorithm>

namespace tally::catalogue {
namespace {

constexpr HiddenExtension kExtensions[] = {
    {.name = "VK_AMDX_shader_enqueue",
     .reason = "shaders of execution graphs start each other",
     .features = {{{1000134000, 2}}},
     .commands = {"vkCmdDispatchGraphAMDX", "vkCmdDispatchGraphIndirectAMDX",
                  "vkCmdDispatchGraphIndirectCountAMDX", "vkCmdInitializeGraphScratchMemoryAMDX",
                  "vkCreateExecutionGraphPipelinesAMDX"}},
    {.name = "VK_ARM_data_graph",
     .reason = "data graphs have no basic blocks",
     .features = {{{1000507006, 5}}},
     .commands = {"vkBindDataGraphPipelineSessionMemoryARM", "vkCmdDispatchDataGraphARM",
                  "vkCreateDataGraphPipelineSessionARM", "vkCreateDataGraphPipelinesARM",
                  "vkDestroyDataGraphPipelineSessionARM"}},
    {.name = "VK_ARM_data_graph_instruction_set_tosa", .reason = "it needs VK_ARM_data_graph"},
    {.name = "VK_ARM_data_graph_optical_flow",
     .reason = "it needs VK_ARM_data_graph",
     .features = {{{1000631000, 1}}}},
    {.name = "VK_HUAWEI_cluster_culling_shader",
     .reason = "the instrumentation does not know the cluster culling stage",
     .features = {{{1000404000, 2}, {1000404002, 1}}},
     .commands = {"vkCmdDrawClusterHUAWEI", "vkCmdDrawClusterIndirectHUAWEI"}},
    {.name = "VK_HUAWEI_invocation_mask",
     .reason = "a mask decides which rays a trace generates",
     .features = {{{1000370000, 1}}},
     .commands = {"vkCmdBindInvocationMaskHUAWEI"}},
    {.name = "VK_HUAWEI_subpass_shading",
     .reason = "compute shaders run over the area of a subpass, in workgroups that the host does "
               "not know",
     .features = {{{1000369001, 1}}},
     .commands = {"vkCmdSubpassShadingHUAWEI"}},
    {.name = "VK_KHR_pipeline_binary",
     .reason = "pipelines that are created from binaries have no SPIR-V",
     .features = {{{1000483000, 1}}},
     .commands = {"vkCreatePipelineBinariesKHR", "vkDestroyPipelineBinaryKHR",
                  "vkGetPipelineBinaryDataKHR", "vkGetPipelineKeyKHR",
                  "vkReleaseCapturedPipelineDataKHR"}},
    {.name = "VK_NVX_binary_import",
     .reason = "kernels contain no SPIR-V",
     .commands = {"vkCmdCuLaunchKernelNVX", "vkCreateCuFunctionNVX", "vkCreateCuModuleNVX",
                  "vkDestroyCuFunctionNVX", "vkDestroyCuModuleNVX"}},
    {.name = "VK_NV_cuda_kernel_launch",
     .reason = "kernels contain no SPIR-V",
     .features = {{{1000307003, 1}}},
     .commands = {"vkCmdCudaLaunchKernelNV", "vkCreateCudaFunctionNV", "vkCreateCudaModuleNV",
                  "vkDestroyCudaFunctionNV", "vkDestroyCudaModuleNV"}},
    {.name = "VK_NV_device_generated_commands",
     .reason = "the GPU binds shader groups of the application's own pipelines",
     .features = {{{1000277007, 1}}},
     .commands = {"vkCmdBindPipelineShaderGroupNV", "vkCmdExecuteGeneratedCommandsNV",
                  "vkCmdPreprocessGeneratedCommandsNV", "vkCreateIndirectCommandsLayoutNV",
                  "vkDestroyIndirectCommandsLayoutNV"}},
    {.name = "VK_NV_device_generated_commands_compute",
     .reason = "the GPU binds pipelines of the application by their address",
     .features = {{{1000428000, 3}}},
     .commands = {"vkCmdUpdatePipelineIndirectBufferNV"}},
    {.name = "VK_NV_ray_tracing",
     .reason = "only pipelines of VK_KHR_ray_tracing_pipeline are instrumented",
     .commands = {"vkBindAccelerationStructureMemoryNV", "vkCmdBuildAccelerationStructureNV",
                  "vkCmdCopyAccelerationStructureNV", "vkCmdTraceRaysNV",
                  "vkCmdWriteAccelerationStructuresPropertiesNV", "vkCompileDeferredNV",
                  "vkCreateAccelerationStructureNV", "vkCreateRayTracingPipelinesNV",
                  "vkDestroyAccelerationStructureNV"}},
    {.name = "VK_QCOM_data_graph_model",
     .reason = "it needs VK_ARM_data_graph",
     .features = {{{1000629000, 1}}}},
    {.name = "VK_QCOM_tile_shading",
     .reason = "commands run once for each tile, and the host does not know the tiles",
     .features = {{{1000309000, 14}}},
     .commands = {"vkCmdBeginPerTileExecutionQCOM", "vkCmdDispatchTileQCOM",
                  "vkCmdEndPerTileExecutionQCOM"}},
};
static_assert(std::ranges::is_sorted(kExtensions, {}, &HiddenExtension::name));

bool has_command(const HiddenExtension& extension, std::string_view name) {
  return !name.empty() && std::ranges::find(extension.commands, name) != extension.commands.end();
}

}  // namespace

std::span<const HiddenExtension> hidden_extensions() { return kExtensions; }

const HiddenExtension* find_hidden_extension(std::string_view name) {
  const auto* found = std::ranges::lower_bound(kExtensions, name, {}, &HiddenExtension::name);
  return found != std::end(kExtensions) && found->name == name ? found : nullptr;
}

bool is_hidden_command(std::string_view name) {
  return std::ranges::any_of(kExtensions, [&](const auto& one) { return has_command(one, name); });
}

bool has_command(const EnabledHidden& enabled, std::string_view name) {
  return std::ranges::any_of(enabled, [&](const auto* one) { return has_command(*one, name); });
}

std::string describe_uncounted(const EnabledHidden& enabled) {
  std::string text = "what these extensions run is not counted: ";
  for (const HiddenExtension* extension : enabled) {
    if (extension != enabled.front()) text += ", ";
    text += fmt::format("{} ({})", extension->name, extension->reason);
  }
  return text;
}

}  // namespace tally::catalogue
