// Facts that the layer reads from the SPIR-V of a module: the name of its source, and for each
// entry point the block that counts its invocations (its first block) and the static costs of its
// blocks.
#pragma once

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/specialization.h"
#include "capture/readback/block_costs.h"

namespace tally::capture {

struct EntryPointFacts {
  VkShaderStageFlagBits stage{};
  std::string name;
  uint32_t entry_block = 0;
  std::vector<BlockCost> costs;  // ascending blocks, each with at least one
  bool costs_depend_on_specialization = false;
};

struct ModuleFacts {
  std::vector<EntryPointFacts> entry_points;
  std::string source;              // the file that debug information names first
  std::vector<uint32_t> spec_ids;  // ascending

  bool costs_depend_on_specialization() const {
    return std::ranges::any_of(entry_points, &EntryPointFacts::costs_depend_on_specialization);
  }
  // Those that the module declares: others have no effect.
  Specialization declared(Specialization constants) const;

  // Null if there is none.
  const EntryPointFacts* find(VkShaderStageFlagBits stage, const std::string& name) const;
};

// The facts of the module as a pipeline specializes it. Returns empty facts for SPIR-V that cannot
// be read.
ModuleFacts module_facts(std::span<const uint32_t> words, const Specialization& constants = {});

}  // namespace tally::capture
