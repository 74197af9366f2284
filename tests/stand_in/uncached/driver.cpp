// A stand-in for a driver of a GPU on a bus: the host can map all memory that the driver below lets
// it map, and caches none of it.
#include <algorithm>
#include <memory>
#include <span>

#include "stand_in/driver.h"

namespace tally::test::uncached {
namespace {

void hide_caches(VkPhysicalDeviceMemoryProperties& memory) {
  for (VkMemoryType& type : std::span(memory.memoryTypes).first(memory.memoryTypeCount)) {
    type.propertyFlags &= ~VkMemoryPropertyFlags{VK_MEMORY_PROPERTY_HOST_CACHED_BIT};
  }
}

VKAPI_ATTR void VKAPI_CALL get_memory(VkPhysicalDevice gpu,
                                      VkPhysicalDeviceMemoryProperties* memory) {
  instance_of(gpu).next.GetPhysicalDeviceMemoryProperties(gpu, memory);
  hide_caches(*memory);
}

VKAPI_ATTR void VKAPI_CALL get_memory_2(VkPhysicalDevice gpu,
                                        VkPhysicalDeviceMemoryProperties2* memory) {
  instance_of(gpu).next.GetPhysicalDeviceMemoryProperties2(gpu, memory);
  hide_caches(memory->memoryProperties);
}

}  // namespace

const Driver& driver() {
  static const auto* all = new Driver{
      .extensions = {},
      .structs = {},
      .add_features = [](VkPhysicalDeviceFeatures2&) {},
      .add_properties = nullptr,
      .make_device = [] { return std::make_unique<Device>(); },
      .hooks = vk::HookTable({
          vk::hook("vkGetPhysicalDeviceMemoryProperties", get_memory),
          vk::hook("vkGetPhysicalDeviceMemoryProperties2", get_memory_2),
          vk::hook("vkGetPhysicalDeviceMemoryProperties2KHR", get_memory_2),
      }),
  };
  return *all;
}

}  // namespace tally::test::uncached
