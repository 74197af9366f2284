// Validates SPIR-V with the library of spirv-val.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"

namespace tally::counters {

// `vulkan_version`: the environment to check against (VK_API_VERSION_*).
Status validate_spirv(std::span<const uint32_t> words, uint32_t vulkan_version);

}  // namespace tally::counters
