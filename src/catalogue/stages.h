// The shader stages, each once. Everything else that asks about a stage begins here.
#pragma once

#include <cstdint>
#include <span>

namespace tally::catalogue {

struct Stage {
  uint32_t bit;              // VkShaderStageFlagBits
  uint32_t execution_model;  // spv::ExecutionModel
  const char* name;          // "tessellation control"
  const char* short_name;    // in the columns of tables
};

// Ascending by bit.
std::span<const Stage> stages();

// Null for what is no stage here.
const Stage* find_stage(uint32_t bit);
const Stage* find_stage_of_model(uint32_t execution_model);

}  // namespace tally::catalogue
