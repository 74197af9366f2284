// Reads the create infos of pipelines. With pipeline libraries, or without rasterization, drivers
// ignore many pointers of VkGraphicsPipelineCreateInfo, which may then be invalid.
#pragma once

#include <vulkan/vulkan_core.h>

#include <optional>
#include <span>

#include "counters/objects/draw_facts.h"
#include "counters/objects/render_passes.h"

namespace tally::counters {

// The subsets of the graphics pipeline that this create info itself provides.
VkGraphicsPipelineLibraryFlagsEXT subsets_of(const VkGraphicsPipelineCreateInfo& info);

bool is_dynamic(const VkGraphicsPipelineCreateInfo& info, VkDynamicState state);

// True if the pipeline is linked from libraries.
bool has_libraries(const void* chain);

// The shader stages; none for a library without shaders or a pipeline that is only linked.
std::span<const VkPipelineShaderStageCreateInfo> stages_of(
    const VkGraphicsPipelineCreateInfo& info);

// True if this create info rules out rasterization: the driver then ignores the state after it.
bool never_rasterizes(const VkGraphicsPipelineCreateInfo& info);

// The attachments whose state the driver reads. `render_pass`: null for dynamic rendering.
KeptRenderPass::Use attachments_of(const VkGraphicsPipelineCreateInfo& info,
                                   const KeptRenderPass* render_pass);

// The same for compute pipelines.
inline std::span<const VkPipelineShaderStageCreateInfo> stages_of(
    const VkComputePipelineCreateInfo& info) {
  return {&info.stage, 1};
}
// ... and ray-tracing pipelines.
inline std::span<const VkPipelineShaderStageCreateInfo> stages_of(
    const VkRayTracingPipelineCreateInfoKHR& info) {
  return {info.pStages, info.stageCount};
}

// The state that this create info provides. Libraries provide the rest.
struct StatedFacts {
  DrawFacts facts;
  SampleFacts samples;
  VkGraphicsPipelineLibraryFlagsEXT subsets = 0;  // the subsets that are provided
};
// `attachments`: nothing where they are not known.
StatedFacts facts_of(const VkGraphicsPipelineCreateInfo& info,
                     std::optional<KeptRenderPass::Use> attachments);
// Adds the subsets that a library provides.
void add_library(StatedFacts& stated, const StatedFacts& library);

// True if alpha to coverage is enabled. Nothing if that is dynamic state, or known only once this
// library is linked. `stated`: of the pipeline with its libraries.
std::optional<bool> alpha_to_coverage_of(const VkGraphicsPipelineCreateInfo& info,
                                         const StatedFacts& stated);
inline std::optional<bool> alpha_to_coverage_of(const VkComputePipelineCreateInfo&,
                                                const StatedFacts&) {
  return false;
}

// True if draws may use a packed draw index: a complete pipeline with vertex and fragment stages
// alone and no attributes with instance rate.
bool may_number_draws(const VkGraphicsPipelineCreateInfo& info);
inline bool may_number_draws(const VkComputePipelineCreateInfo&) { return false; }

// The vertex stream that is rasterized.
inline constexpr uint32_t kNoStream = ~0u;
uint32_t rasterized_stream_of(const VkGraphicsPipelineCreateInfo& info);
inline uint32_t rasterized_stream_of(const VkComputePipelineCreateInfo&) { return 0; }

// True if a driver reads the render pass object: not where only a library's vertex input is
// described.
bool uses_render_pass(const VkGraphicsPipelineCreateInfo& info);

// The render pass object, or the views of dynamic rendering.
VkRenderPass render_pass_of(const VkGraphicsPipelineCreateInfo& info);
uint32_t view_mask_of(const VkGraphicsPipelineCreateInfo& info);
inline VkRenderPass render_pass_of(const VkComputePipelineCreateInfo&) { return VK_NULL_HANDLE; }
inline uint32_t view_mask_of(const VkComputePipelineCreateInfo&) { return 0; }

}  // namespace tally::counters
