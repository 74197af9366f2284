// Tables of the next layer's functions. A layer lists the functions it calls as rows of a macro and
// gets a struct with one member for each, so a table holds only functions that are used:
//
//   #define MY_DEVICE_FUNCTIONS(X) X(DestroyDevice, "") X(CmdDrawIndirectCount, "KHR")
//   TALLY_VK_TABLE(DeviceTable, MY_DEVICE_FUNCTIONS)
//
// The second column is the suffix of the function's name on older devices ("" for none).
#pragma once

#include <vulkan/vk_layer.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tally::vk {

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

}  // namespace tally::vk
