// What stands for the pipeline layout of shaders: a layout of the application, or with descriptor
// heaps what its push data leave (heap_layouts.h).
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>

#include "counters/objects/pipeline_layout.h"

namespace tally::counters {

struct ObjectState;
struct ShaderCode;

// What a shader reads of push data: as push constants, and where mappings of its create info's
// chain read there. Everything where that is not known.
PushReads push_reads(const ShaderCode* code, VkShaderStageFlagBits stage, const char* entry_point,
                     const void* chain);

// What stands for the layout of a pipeline that is being created: the application's layout, or
// that of its heaps. Info is Vk{Graphics,Compute}PipelineCreateInfo or
// VkRayTracingPipelineCreateInfoKHR.
template <typename Info>
std::shared_ptr<PipelineLayout> layout_of(ObjectState& state, const Info& info);

}  // namespace tally::counters
