// Workarounds for single drivers, one row each. The table in
// docs/reference/drivers.md is made from the rows.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace tally::counters {

struct PhysicalDevice;

// The needs of a driver. spirv/plan/options.h explains those that change the code that counts.
struct DriverProfile {
  bool adds_up_in_workgroups = false;
  bool adds_up_push_constants = false;  // LayoutRules::guard
  bool counts_invocations = false;      // InvocationQueries
  bool drops_overdraw = false;
  bool hangs_in_subgroup_traces = false;
  bool hangs_on_discards = false;
  bool keeps_draws_apart = false;
  bool limits_nesting = false;
  bool loses_clock_bits = false;
  bool masks_branches = false;
  bool prefers_small_code = false;
};

struct Workaround {
  bool DriverProfile::*flag;
  std::string_view name;  // of the flag
  VkDriverId driver;
  std::string_view driver_name;
  uint32_t from = 0;    // the first version of Mesa with it, as an API version; 0: all have it
  uint32_t before = 0;  // the first version of Mesa without it, as an API version; 0: all have it
  bool (*also)(const PhysicalDevice& gpu) = nullptr;  // what has to hold besides
  std::string_view seen;                              // the versions that it was seen on
  std::string_view driver_does;
  std::string_view layer_does;
  std::string_view reproduction;  // a command, or the tests that fail without it
  std::string_view goes;          // when the row can go
};

std::span<const Workaround> workarounds();
DriverProfile driver_profile(const PhysicalDevice& gpu);
// The stages whose shaders may add up their counts with subgroup operations.
VkShaderStageFlags subgroup_counting_stages(const PhysicalDevice& gpu);

}  // namespace tally::counters
