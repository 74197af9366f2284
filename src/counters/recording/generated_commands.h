// Commands that the device generates (VK_EXT_device_generated_commands). An execution without an
// execution set runs what is bound, so it runs the bound variant and counts like a draw. One with a
// set runs a set of variants (execution_set.h). Commands that the application preprocessed itself
// are preprocessed again. Emulated queries know what the shaders count, but not the arguments.
#pragma once

#include <vulkan/vulkan_core.h>

#include <tally/vulkan_generated.h>

#include "counters/recording/command_buffer.h"

namespace tally::counters {

// Records the execution.
void execute_generated_commands(CommandBuffer& commands, VkBool32 preprocessed,
                                const VkGeneratedCommandsInfoEXT& info);

// The needs of the plain pipeline or shaders, or of any variant of them.
void find_generated_requirements(const ObjectState& state,
                                 const VkGeneratedCommandsMemoryRequirementsInfoEXT& info,
                                 VkMemoryRequirements2& requirements);

}  // namespace tally::counters
