#include "counters/layer/instance.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.h"

namespace tally::counters {
namespace {

struct Instances {
  std::mutex mutex;
  std::unordered_map<void*, std::unique_ptr<Instance>> by_key;
};

// Leaked on purpose: applications call Vulkan from static destructors.
Instances& instances() {
  static auto* all = new Instances;
  return *all;
}

}  // namespace

Instance::Instance(VkInstance handle, const vk::NextInstance& next_instance, Versions versions,
                   const Options& options)
    : handle_(handle),
      next_instance_(next_instance),
      versions_(versions),
      options_(options),
      metrics_(block_metrics({.subgroups = options.count_subgroups,
                              .branches = options.count_branches,
                              .static_costs = options.static_costs})) {
  next_.load([&](const char* name) { return next_instance.get_instance_proc_addr(handle, name); });
}

const PhysicalDevice& Instance::physical_device(VkPhysicalDevice handle) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<PhysicalDevice>& slot = physical_devices_[handle];
  if (!slot) {
    slot = std::make_unique<PhysicalDevice>(
        inspect_physical_device(next_, handle, versions_.raised, options_.force_emulation));
    slot->primitives_asked_for = options_.region_primitives != 0;
    if (!slot->native && !slot->missing.empty()) {
      log(LogLevel::Info, "{}: no shader instrumentation, the device lacks {}",
          slot->properties.deviceName, fmt::join(slot->missing, ", "));
    }
  }
  return *slot;
}

Instance* find_instance(const void* dispatchable_handle) {
  const std::lock_guard lock(instances().mutex);
  const auto found = instances().by_key.find(vk::dispatch_key(dispatchable_handle));
  return found == instances().by_key.end() ? nullptr : found->second.get();
}

void add_instance(std::unique_ptr<Instance> instance) {
  const std::lock_guard lock(instances().mutex);
  void* key = vk::dispatch_key(instance->handle());
  instances().by_key[key] = std::move(instance);
}

std::unique_ptr<Instance> take_instance(VkInstance handle) {
  const std::lock_guard lock(instances().mutex);
  const auto found = instances().by_key.find(vk::dispatch_key(handle));
  if (found == instances().by_key.end()) return nullptr;
  std::unique_ptr<Instance> instance = std::move(found->second);
  instances().by_key.erase(found);
  return instance;
}

}  // namespace tally::counters
