// Which block of a shader counts its invocations: the first of its entry point.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tally::capture {

struct EntryBlock {
  VkShaderStageFlagBits stage{};
  std::string entry_point;
  uint32_t block = 0;
};

// Of all entry points of the six classic stages; none of SPIR-V that cannot be read.
std::vector<EntryBlock> entry_blocks(std::span<const uint32_t> words);

std::optional<uint32_t> entry_block_of(std::span<const EntryBlock> blocks,
                                       VkShaderStageFlagBits stage, const std::string& entry_point);

}  // namespace tally::capture
