// Functions that every layer needs to answer the loader.
#pragma once

#include <vulkan/vk_layer.h>
#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/settings.h"

namespace tally::vk {

// Implements vkNegotiateLoaderLayerInterfaceVersion for interface version 2.
VkResult negotiate(VkNegotiateLayerInterface* interface,
                   PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                   PFN_vkGetDeviceProcAddr get_device_proc_addr,
                   PFN_GetPhysicalDeviceProcAddr get_physical_device_proc_addr);

// The values that the application sets for this layer through VK_EXT_layer_settings, as text by
// key. The elements of an array are joined with commas.
Settings::Values api_settings(const VkInstanceCreateInfo& create_info, std::string_view layer_name);

// Implements Vulkan's two-call idiom: stores only the count if `target` is null, and returns
// VK_INCOMPLETE if it is too small.
template <typename T>
VkResult write_array(std::span<const T> source, uint32_t* count, T* target) {
  if (!target) {
    *count = static_cast<uint32_t>(source.size());
    return VK_SUCCESS;
  }
  const uint32_t written = *count < source.size() ? *count : static_cast<uint32_t>(source.size());
  for (uint32_t i = 0; i < written; ++i) target[i] = source[i];
  *count = written;
  return written < source.size() ? VK_INCOMPLETE : VK_SUCCESS;
}

// The functions that a layer stands in front of: a table sorted by name, searched by
// vkGet*ProcAddr. Every layer has its own conditions under which a function is handed out.

template <typename Condition>
struct BasicHook {
  std::string_view name;
  PFN_vkVoidFunction function;
  Condition condition;
};

// A row: `function` under the Vulkan name `name`. The cast is what vkGet*ProcAddr's type asks for.
template <typename Condition, typename Function>
BasicHook<Condition> basic_hook(std::string_view name, Function* function, Condition condition) {
  return {name, reinterpret_cast<PFN_vkVoidFunction>(function), condition};
}

template <typename Condition>
class BasicHookTable {
 public:
  using Row = BasicHook<Condition>;

  explicit BasicHookTable(std::vector<Row> rows) : rows_(std::move(rows)) {
    std::ranges::sort(rows_, {}, &Row::name);
  }

  // Null where the layer does not stand in front of the function.
  const Row* find(std::string_view name) const {
    const auto found = std::ranges::lower_bound(rows_, name, {}, &Row::name);
    return found != rows_.end() && found->name == name ? &*found : nullptr;
  }

  // In ascending order of names.
  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }

  // For a test: find() sees only one of two rows of a name.
  bool has_each_name_once() const {
    return std::ranges::adjacent_find(rows_, {}, &Row::name) == rows_.end();
  }

 private:
  std::vector<Row> rows_;
};

// With bits of the layer's own as the condition.
using Hook = BasicHook<uint32_t>;
using HookTable = BasicHookTable<uint32_t>;

template <typename Function>
Hook hook(std::string_view name, Function* function, uint32_t condition = 0) {
  return basic_hook(name, function, condition);
}

}  // namespace tally::vk
