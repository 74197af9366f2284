// The layout of shaders: a pipeline layout of the application, or with descriptor
// heaps the push data that they leave free (heap_layouts.h).
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>

#include "counters/objects/pipeline_layout.h"

namespace tally::counters {

struct ObjectState;
struct ShaderCode;

// The push data that a shader reads: as push constants, and where mappings of its create info's
// chain read there. All of it if that is not known.
PushReads push_reads(const ShaderCode* code, VkShaderStageFlagBits stage, const char* entry_point,
                     const void* chain);

// The layout of a pipeline that is being created: the application's layout, or
// its heaps' layout. Info is Vk{Graphics,Compute}PipelineCreateInfo or
// VkRayTracingPipelineCreateInfoKHR.
template <typename Info>
std::shared_ptr<PipelineLayout> layout_of(ObjectState& state, const Info& info);

}  // namespace tally::counters
