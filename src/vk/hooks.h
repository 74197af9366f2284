// The functions that a layer stands in front of: a short table sorted by name, searched by
// vkGet*ProcAddr.
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
  uint32_t condition;  // the layer's own bits: when the function is handed out
};

// A row: `function` under the Vulkan name `name`. The cast is what vkGet*ProcAddr's type asks for.
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

// For a test: names strictly ascending.
inline bool hooks_are_sorted(std::span<const Hook> hooks) {
  return std::adjacent_find(hooks.begin(), hooks.end(), [](const Hook& a, const Hook& b) {
           return !(a.name < b.name);
         }) == hooks.end();
}

}  // namespace tally::vk
