// An instance of the application, found by its dispatch key.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <mutex>
#include <unordered_map>

#include "counters/base/device_table.h"
#include "counters/base/messages.h"
#include "counters/base/options.h"
#include "counters/base/physical_device.h"
#include "counters/shader/metrics.h"

namespace tally::counters {

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

  // Inspected at the first call. The reference is valid while the instance exists.
  const PhysicalDevice& physical_device(VkPhysicalDevice handle);

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

}  // namespace tally::counters
