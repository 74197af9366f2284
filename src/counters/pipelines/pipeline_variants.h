// Makes the variants of graphics and compute pipelines, when they are created or later. Info is
// VkGraphicsPipelineCreateInfo or VkComputePipelineCreateInfo.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <vector>

#include "counters/pipelines/variants.h"
#include "counters/shaders/instrumenter.h"

namespace tally::counters {

struct ObjectState;

// The driver's vkCreate*Pipelines.
VkResult create_pipelines(ObjectState& state, VkPipelineCache cache, uint32_t count,
                          const VkGraphicsPipelineCreateInfo* infos,
                          const VkAllocationCallbacks* allocator, VkPipeline* pipelines);
VkResult create_pipelines(ObjectState& state, VkPipelineCache cache, uint32_t count,
                          const VkComputePipelineCreateInfo* infos,
                          const VkAllocationCallbacks* allocator, VkPipeline* pipelines);

// Everything that the variants of a pipeline are made of.
template <typename Info>
struct VariantSource {
  Info info;  // without the flag of VK_ARM_shader_instrumentation
  std::vector<std::shared_ptr<const ShaderCode>> codes;  // of the stages; null: not known
  std::vector<std::shared_ptr<Pipeline>> libraries;      // null: not known
  // The render pass has views. Known where shaders count by region, or the driver counts draws.
  bool multiview = false;
};

// Points to the application's memory.
template <typename Info>
VariantSource<Info> variant_source(ObjectState& state, const Info& info);

// Which variants a pipeline may have.
struct VariantChoice {
  bool blocks = false;
  bool regions = false;

  bool has(Variant variant) const {
    return (!variant.blocks || blocks) && (!variant.regions || regions);
  }
};

// A maker with a copy of the source. Null if the layer cannot copy it: the source has a struct that
// it does not know, a stage whose SPIR-V it does not know, or an object that it cannot keep.
template <typename Info>
std::shared_ptr<VariantMaker> keep_source(ObjectState& state, const VariantSource<Info>& source,
                                          VariantChoice choice);

// Makes a variant while the pipeline is created. There is no variant if there is nothing to
// count. Returns VK_SUCCESS or VK_PIPELINE_COMPILE_REQUIRED: any other failure costs the counts,
// not the pipeline.
template <typename Info>
VkResult make_variant(ObjectState& state, VkPipelineCache cache, const VariantSource<Info>& source,
                      Variant variant, Pipeline& pipeline);

}  // namespace tally::counters
