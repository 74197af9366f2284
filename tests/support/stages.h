// Maps Vulkan shader stages to SPIR-V execution models.
#pragma once

#include <vulkan/vulkan_core.h>

#include <spirv/unified1/spirv.hpp11>

namespace tally::test {

// Throws std::invalid_argument for stages that no test runs.
spv::ExecutionModel execution_model(VkShaderStageFlagBits stage);

}  // namespace tally::test
