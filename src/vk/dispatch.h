// Tables of the next layer's functions. A layer lists the functions it calls, as rows of a macro,
// and gets a struct with one member each, so a table holds only what is used:
//
//   #define MY_DEVICE_FUNCTIONS(X) X(DestroyDevice, "") X(CmdDrawIndirectCount, "KHR")
//   TALLY_VK_TABLE(DeviceTable, MY_DEVICE_FUNCTIONS)
//
// The second column is the suffix under which older devices have the function ("" for none).
#pragma once

#include <vulkan/vk_layer.h>

#include <string>

namespace tally::vk {

// What the loader stores first in every dispatchable handle: the same for an instance and its
// physical devices, and for a device, its queues and its command buffers.
inline void* dispatch_key(const void* dispatchable_handle) {
  return *static_cast<void* const*>(dispatchable_handle);
}

// Makes `object`, which the layer itself got from below, dispatchable by the loader like its
// `parent`.
inline void copy_dispatch_key(const void* parent, void* object) {
  *static_cast<void**>(object) = dispatch_key(parent);
}

// `get(name)` is tried with the plain name, then with the suffix.
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

// The way down, taken from the loader's struct in a create info's chain. Taking it moves the struct
// on for the next layer.
struct NextInstance {
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
  PFN_GetPhysicalDeviceProcAddr get_physical_device_proc_addr = nullptr;  // may be null
};
struct NextDevice {
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
  PFN_vkGetDeviceProcAddr get_device_proc_addr = nullptr;
  PFN_vkSetDeviceLoaderData set_device_loader_data =
      nullptr;  // for dispatchable objects that the layer creates
};

// Members are null when the loader's struct is missing.
NextInstance take_next_instance(const VkInstanceCreateInfo& create_info);
NextDevice take_next_device(const VkDeviceCreateInfo& create_info);

}  // namespace tally::vk
