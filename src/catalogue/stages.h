// The table of shader stages: the numbers and names that all other code uses.
#pragma once

#include <cstdint>
#include <span>

namespace tally::catalogue {

struct Stage {
  uint32_t bit;              // VkShaderStageFlagBits
  uint32_t execution_model;  // spv::ExecutionModel
  const char* name;          // "tessellation control"
  const char* short_name;    // in the columns of tables
  const char* extension;     // of GLSL files: "tesc"
};

// Ascending by bit.
std::span<const Stage> stages();

// Null for an unknown stage.
const Stage* find_stage(uint32_t bit);
const Stage* find_stage_of_model(uint32_t execution_model);

}  // namespace tally::catalogue
