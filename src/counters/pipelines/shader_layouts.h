// The SPIR-V of the application's shader stages, wherever they have it from.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>

#include "counters/base/messages.h"
#include "counters/layouts/pipeline_layout.h"
#include "counters/shaders/instrumenter.h"

namespace tally::counters {

struct ObjectState;
struct Pipeline;

// The id of messages about what runs uninstrumented.
inline constexpr const char* kUninstrumentedNotice = "TALLY-uninstrumented-shader";

// Alpha to coverage is dynamic state, and all draws of an execution set have the same variants.
void notice_late_tests(Messages& messages, VkObjectType type, uint64_t object);

// Null if it is not known.
std::shared_ptr<const ShaderCode> find_code(ObjectState& state,
                                            const VkPipelineShaderStageCreateInfo& stage);

// The layout of shaders: a pipeline layout of the application, or with descriptor
// heaps the push data that they leave free (HeapLayouts).

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

// Why no pipeline of this layout can count; null if it can. "" if there is nothing to count.
template <typename Info>  // Vk{Graphics,Compute}PipelineCreateInfo
const char* reason_against_counting(const ObjectState& state, const Info& info,
                                    const PipelineLayout* layout);

// True if there is no such reason. Reports it otherwise.
template <typename Info>
bool can_count(ObjectState& state, const Info& info, const Pipeline& pipeline);

}  // namespace tally::counters
