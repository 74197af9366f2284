// Defines every counter of Tally once: its name, meaning, unit and scopes. Every list of counters
// for a user or an API (metrics of shader instrumentation, counters by region, performance queries)
// is taken from this table, in the order of the table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/counter.h"

namespace tally::catalogue {

// All counters, in display order.
std::span<const Counter> counters();
// The counters of a scope, in display order. Scope::Block starts with `executions`, Scope::Region
// with `fragment_warps`; Scope::Branch is indexed by the target's number, Scope::Site by
// spirv::SiteSlot.
std::vector<const Counter*> counters_of(Scope scope);

const Counter& counter(Number number);
// Finds a counter by id; returns nullptr if there is none.
const Counter* find(std::string_view id);

std::string_view name_of(Unit unit);
// The unit of a counter in words.
std::string_view unit_of(const Counter& counter);
std::string_view name_of(Storage storage);
std::string_view name_of(Scope scope);

// The catalogue as a page: docs/reference/counters.md.

std::string markdown();

// The table of shader stages: the numbers and names that all other code uses.

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

// A VkPhysicalDeviceType as captures and `tally list` name it: "cpu", "discrete", "integrated",
// "virtual", "other".
const char* device_type_name(uint32_t type);

}  // namespace tally::catalogue
