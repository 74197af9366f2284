// A device of the application, found by its dispatch key. Where the application enabled no feature
// of the layer, only vkGetDeviceProcAddr and vkDestroyDevice are intercepted.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <mutex>
#include <unordered_map>

#include "counters/base/device_table.h"
#include "counters/base/messages.h"
#include "counters/base/options.h"
#include "counters/base/physical_device.h"
#include "counters/features/performance/lock.h"
#include "counters/layer/device_creation.h"
#include "counters/recording/device_state.h"
#include "counters/shaders/program.h"

namespace tally::counters {

// An instance of the application, found by its dispatch key.

class Instance {
 public:
  struct Versions {
    uint32_t application = 0;  // the application's apiVersion; 0: none
    uint32_t raised = 0;       // the version that the driver gets
  };
  Instance(VkInstance handle, const vk::NextInstance& next_instance, Versions versions,
           const Options& options);

  VkInstance handle() const { return handle_; }
  const InstanceTable& next() const { return next_; }
  const vk::NextInstance& next_instance() const { return next_instance_; }
  uint32_t application_version() const { return versions_.application; }
  const Options& options() const { return options_; }
  Messages& messages() { return messages_; }
  const std::vector<Metric>& metrics() const { return metrics_; }

  // Asks the driver at the first call. The reference is valid while the instance exists.
  const PhysicalDevice& inspect(VkPhysicalDevice handle);

 private:
  VkInstance handle_;
  vk::NextInstance next_instance_;
  InstanceTable next_;
  Versions versions_;
  Options options_;
  Messages messages_;
  std::vector<Metric> metrics_;
  std::mutex mutex_;  // guards physical_devices_
  std::unordered_map<VkPhysicalDevice, std::unique_ptr<PhysicalDevice>> physical_devices_;
};

// The instance of an instance or physical device; null for a foreign handle.
Instance* find_instance(const void* dispatchable_handle);
void add_instance(std::unique_ptr<Instance> instance);
std::unique_ptr<Instance> take_instance(VkInstance handle);

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
