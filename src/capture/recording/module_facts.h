// What the layer reads from the SPIR-V of a module: the block that counts the invocations of a
// shader (the first block of its entry point), and the name of its source.
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

struct ModuleFacts {
  std::vector<EntryBlock> entry_blocks;  // of all entry points
  std::string source;                    // the file that debug information names first
};

// Returns empty facts for SPIR-V that cannot be read.
ModuleFacts module_facts(std::span<const uint32_t> words);

std::optional<uint32_t> entry_block_of(std::span<const EntryBlock> blocks,
                                       VkShaderStageFlagBits stage, const std::string& entry_point);

}  // namespace tally::capture
