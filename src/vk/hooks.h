// The table of functions that a layer intercepts, sorted by name. vkGet*ProcAddr searches it.
#pragma once

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

namespace tally::vk {

struct Hook {
  std::string_view name;
  PFN_vkVoidFunction function;
  uint32_t condition;  // the layer's own bits: when the function is offered
};

// A row that maps a Vulkan name to `function`, cast to the type that vkGet*ProcAddr returns.
template <typename Function>
Hook hook(std::string_view name, Function* function, uint32_t condition = 0) {
  return {name, reinterpret_cast<PFN_vkVoidFunction>(function), condition};
}

inline const Hook* find_hook(std::span<const Hook> sorted, std::string_view name) {
  const auto found =
      std::lower_bound(sorted.begin(), sorted.end(), name,
                       [](const Hook& row, std::string_view wanted) { return row.name < wanted; });
  return found != sorted.end() && found->name == name ? &*found : nullptr;
}

// Whether the names are strictly ascending; for tests.
inline bool hooks_are_sorted(std::span<const Hook> hooks) {
  return std::adjacent_find(hooks.begin(), hooks.end(), [](const Hook& a, const Hook& b) {
           return !(a.name < b.name);
         }) == hooks.end();
}

}  // namespace tally::vk
