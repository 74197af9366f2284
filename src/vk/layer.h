// Functions that every layer needs to answer the loader.
#pragma once

#include <vulkan/vk_layer.h>
#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/settings.h"
#include "catalogue/hidden_extensions.h"

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

// Tables of the next layer's functions. A layer lists the functions it calls as rows of a macro and
// gets a struct with one member for each, so a table holds only functions that are used:
//
//   #define MY_DEVICE_FUNCTIONS(X) X(DestroyDevice, "") X(CmdDrawIndirectCount, "KHR")
//   TALLY_VK_TABLE(DeviceTable, MY_DEVICE_FUNCTIONS)
//
// The second column is the suffix of the function's name on older devices ("" for none).

// The dispatch key that the loader stores at the start of every dispatchable handle. An instance
// and its physical devices share one key; so do a device, its queues and its command buffers.
inline void* dispatch_key(const void* dispatchable_handle) {
  return *static_cast<void* const*>(dispatchable_handle);
}

// Calls `get` with the plain name, then with the suffixed name.
template <typename Function, typename Get>
Function load_function(const Get& get, const char* name, const char* suffix) {
  PFN_vkVoidFunction found = get(name);
  if (!found && *suffix != '\0') found = get((std::string(name) + suffix).c_str());
  return reinterpret_cast<Function>(found);
}

#define TALLY_VK_TABLE_MEMBER(name, suffix) PFN_vk##name name = nullptr;
#define TALLY_VK_TABLE_LOAD(name, suffix) \
  name = ::tally::vk::load_function<PFN_vk##name>(get, "vk" #name, suffix);
#define TALLY_VK_TABLE(Table, ROWS) \
  struct Table {                    \
    ROWS(TALLY_VK_TABLE_MEMBER)     \
    template <typename Get>         \
    void load(const Get& get) {     \
      ROWS(TALLY_VK_TABLE_LOAD)     \
    }                               \
  };

// The next layer's entry points, taken from the loader's struct in the chain of a create info.
// Taking them advances the loader's struct to the layer after that.
struct NextInstance {
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
  PFN_GetPhysicalDeviceProcAddr get_physical_device_proc_addr = nullptr;  // may be null
};
struct NextDevice {
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
  PFN_vkGetDeviceProcAddr get_device_proc_addr = nullptr;
  // Initializes dispatchable objects that the layer creates.
  PFN_vkSetDeviceLoaderData set_device_loader_data = nullptr;
};

// Members are null if the loader's struct is missing.
NextInstance take_next_instance(const VkInstanceCreateInfo& create_info);
NextDevice take_next_device(const VkDeviceCreateInfo& create_info);

// Device functions that became core in Vulkan 1.1 and 1.2. A layer that raises an application's
// apiVersion to 1.2 must not return core functions above the version that the application
// requested. The same functions remain available under the names of enabled extensions.

// True if the function belongs to a core version above the application's. `application_version` may
// be 0.
bool is_newer_than(std::string_view name, uint32_t application_version);

// Hides the extensions of catalogue/hidden_extensions.h from an application, as if the driver
// lacked them.

// Removes them from what vkEnumerateDeviceExtensionProperties lists.
void hide_extensions(std::vector<VkExtensionProperties>& extensions);
// Sets their features to VK_FALSE.
void hide_features(VkPhysicalDeviceFeatures2& features);
// Those that the application enables.
catalogue::EnabledHidden enabled_hidden_extensions(const VkDeviceCreateInfo& info);

}  // namespace tally::vk
