// Deep copies of the create infos of pipelines and shader objects, for variants that are made
// later. Members that a driver ignores may be invalid and are left out, and so are those of no use
// to a variant: the modules of the stages (their SPIR-V is kept elsewhere), creation feedback,
// names.
#pragma once

#include <tally/vulkan_newer.h>
#include <vulkan/vulkan_core.h>

#include "counters/pipelines/pipeline_contents.h"
#include "vk/chain.h"

namespace tally::counters {

// Makes all pointers of `info` point to copies in `memory`. Returns whether the layer knows all
// structs of its chains.
bool keep(vk::CopyMemory& memory, VkComputePipelineCreateInfo& info);
// The chain of a stage or a shader object alone.
bool keep_shader_chain(vk::CopyMemory& memory, const void*& chain);
// Leaves out the code, its entry point and its constants (ShaderOrigin).
bool keep(vk::CopyMemory& memory, VkShaderCreateInfoEXT& info);
// `attachments`: those of the subpass, where the pipeline has a render pass object.
bool keep(vk::CopyMemory& memory, VkGraphicsPipelineCreateInfo& info,
          const KeptRenderPass* render_pass);

}  // namespace tally::counters
