// What may be read of a pipeline's create info. In VkGraphicsPipelineCreateInfo, with pipeline
// libraries, and with rasterization off, many of its pointers are ignored by the driver and may
// point anywhere.
#pragma once

#include <vulkan/vulkan_core.h>

#include <span>

#include "counters/objects/draw_facts.h"

namespace tally::counters {

// Its stages; none for a library of other state, and none for a pipeline that is only linked.
std::span<const VkPipelineShaderStageCreateInfo> stages_of(
    const VkGraphicsPipelineCreateInfo& info);

// Whether the fragment's alpha may decide over its coverage. True where this create info cannot
// tell.
bool may_cover_by_alpha(const VkGraphicsPipelineCreateInfo& info);

// The same for compute pipelines, which are simple.
inline std::span<const VkPipelineShaderStageCreateInfo> stages_of(
    const VkComputePipelineCreateInfo& info) {
  return {&info.stage, 1};
}
inline bool may_cover_by_alpha(const VkComputePipelineCreateInfo&) { return false; }

// How its vertices become primitives, as far as this create info itself says; and what of that is
// for a library to say.
struct StatedFacts {
  DrawFacts facts;
  VkGraphicsPipelineLibraryFlagsEXT subsets = 0;  // those that are described
};
StatedFacts facts_of(const VkGraphicsPipelineCreateInfo& info);
// Takes over from a library what is not stated.
void add_library(StatedFacts& stated, const StatedFacts& library);

// Whether its draws may be given another instance index, which its shaders know of: a whole
// pipeline without stages between vertices and fragments, and no attributes that go by instance.
bool may_number_draws(const VkGraphicsPipelineCreateInfo& info);
inline bool may_number_draws(const VkComputePipelineCreateInfo&) { return false; }

// The vertex stream that is rasterized.
inline constexpr uint32_t kNoStream = ~0u;
uint32_t rasterized_stream_of(const VkGraphicsPipelineCreateInfo& info);
inline uint32_t rasterized_stream_of(const VkComputePipelineCreateInfo&) { return 0; }

// The render pass object, or the views of dynamic rendering.
VkRenderPass render_pass_of(const VkGraphicsPipelineCreateInfo& info);
uint32_t view_mask_of(const VkGraphicsPipelineCreateInfo& info);
inline VkRenderPass render_pass_of(const VkComputePipelineCreateInfo&) { return VK_NULL_HANDLE; }
inline uint32_t view_mask_of(const VkComputePipelineCreateInfo&) { return 0; }

}  // namespace tally::counters
