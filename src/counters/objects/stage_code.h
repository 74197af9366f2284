// The SPIR-V of the application's shader stages, wherever they have it from.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>

#include "counters/base/messages.h"
#include "counters/shader/shader_code.h"

namespace tally::counters {

struct ObjectState;

// The id of messages about what runs uninstrumented.
inline constexpr const char* kUninstrumentedNotice = "TALLY-uninstrumented-shader";

// Alpha to coverage is dynamic state, and all draws of an execution set have the same variants.
void notice_late_tests(Messages& messages, VkObjectType type, uint64_t object);

// Null if it is not known.
std::shared_ptr<const ShaderCode> find_code(ObjectState& state,
                                            const VkPipelineShaderStageCreateInfo& stage);

}  // namespace tally::counters
