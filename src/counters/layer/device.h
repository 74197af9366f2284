// A device of the application, found by its dispatch key. Where the application enabled no feature
// of the layer, only vkGetDeviceProcAddr and vkDestroyDevice are intercepted.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>

#include "counters/layer/device_creation.h"
#include "counters/layer/instance.h"
#include "counters/performance/lock.h"
#include "counters/recording/device_state.h"

namespace tally::counters {

class Device {
 public:
  Device(VkDevice handle, Instance& instance, const PhysicalDevice& gpu,
         const DeviceCreation& creation, const vk::NextDevice& next_device);

  VkDevice handle() const { return handle_; }
  Instance& instance() const { return instance_; }
  const PhysicalDevice& gpu() const { return gpu_; }
  const DeviceTable& next() const { return next_; }
  const vk::NextDevice& next_device() const { return next_device_; }
  Messages& messages() const { return instance_.messages(); }
  uint64_t handle_bits() const { return vk::handle_bits(handle_); }

  // True if the application enabled VK_ARM_shader_instrumentation and the driver lacks it.
  bool extension_enabled() const { return extension_enabled_; }
  // Null where no feature of the layer is enabled.
  DeviceState* state() const { return state_.get(); }
  RegionState* regions() const { return state_ ? state_->regions.get() : nullptr; }
  QueryState* queries() const { return state_ ? state_->queries.get() : nullptr; }
  // Null where VK_KHR_performance_query is not enabled, or is the driver's.
  ProfilingLock* profiling_lock() const { return profiling_lock_.get(); }
  // Destroys all objects of the layer. Call before the driver's vkDestroyDevice.
  void release_objects() { state_.reset(); }

 private:
  DriverLock driver_lock() const;
  std::unique_ptr<DeviceState> make_state(const DeviceCreation& creation);
  MemoryContext make_memory_context(const DeviceCreation& creation) const;
  PFN_vkGetCalibratedTimestampsEXT calibration(const DeviceCreation& creation) const;
  std::unique_ptr<DeviceClock> make_clock(const MemoryContext& memory, const PushOffsets& offsets,
                                          const DeviceCreation& creation) const;

  VkDevice handle_;
  Instance& instance_;
  const PhysicalDevice& gpu_;
  vk::NextDevice next_device_;
  DeviceTable next_;
  bool extension_enabled_;
  std::unique_ptr<DeviceState> state_;
  std::unique_ptr<ProfilingLock> profiling_lock_;
};

// The device of a device, queue or command buffer; null for a foreign handle.
Device* find_device(const void* dispatchable_handle);
void add_device(std::unique_ptr<Device> device);
std::unique_ptr<Device> take_device(VkDevice handle);

}  // namespace tally::counters
