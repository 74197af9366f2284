// Inspects a device before its creation, and changes its create info so that its shaders can be
// instrumented.
#pragma once

#include <vulkan/vulkan_core.h>

#include <vector>

#include "capture/layer/device.h"
#include "capture/layer/instance.h"
#include "vk/chain.h"

namespace tally::capture {

// Describes the device. If the device cannot be captured, `description.not_captured` gives the
// reason.
DeviceSetup inspect_device(const Instance& instance, VkPhysicalDevice physical_device,
                           const VkDeviceCreateInfo& info, Id id);

// True if extensions whose shaders cannot be counted are hidden on this device: the setting asks
// for it, the layer has a receiver or keeps live totals, and the device can be captured.
bool hides_extensions(const Instance& instance, VkPhysicalDevice device);

// True if the layer offers VK_EXT_frame_boundary where the driver lacks it: it has a receiver, and
// the device can be captured.
bool adds_boundaries(const Instance& instance, VkPhysicalDevice device);

// The application's create info, to be changed.
class ChangedDeviceInfo {
 public:
  explicit ChangedDeviceInfo(const VkDeviceCreateInfo& info);
  ChangedDeviceInfo(const ChangedDeviceInfo&) = delete;
  ChangedDeviceInfo& operator=(const ChangedDeviceInfo&) = delete;

  // Enables what the layer uses: VK_ARM_shader_instrumentation, timeline semaphores, the reset of
  // queries by the host, and what statistics and counting by region need.
  void enable_counters(const DeviceSetup& setup);
  // Leaves out VK_EXT_frame_boundary.
  void remove_boundaries();
  // Valid until the next change.
  const VkDeviceCreateInfo* get();

 private:
  // VK_KHR_pipeline_executable_properties.
  void enable_statistics();
  // Sets the feature in the struct of the chain that has it, or adds the struct of its own.
  template <typename Own>
  void enable(VkBool32 Own::*own, VkStructureType own_type,
              VkBool32 VkPhysicalDeviceVulkan12Features::*core);

  VkDeviceCreateInfo info_;
  vk::ChainCopy chain_;
  std::vector<const char*> extensions_;
};

}  // namespace tally::capture
