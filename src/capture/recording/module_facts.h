// What the layer reads from the SPIR-V of a module: the name of its source, and for each entry
// point the block that counts its invocations (its first block) and the static costs of its blocks.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "capture/readback/block_costs.h"

namespace tally::capture {

struct EntryPointFacts {
  VkShaderStageFlagBits stage{};
  std::string name;
  uint32_t entry_block = 0;
  std::vector<BlockCost> costs;  // ascending blocks, each with at least one
};

struct ModuleFacts {
  std::vector<EntryPointFacts> entry_points;
  std::string source;  // the file that debug information names first

  // Null if there is none.
  const EntryPointFacts* find(VkShaderStageFlagBits stage, const std::string& name) const;
};

// Returns empty facts for SPIR-V that cannot be read.
ModuleFacts module_facts(std::span<const uint32_t> words);

}  // namespace tally::capture
