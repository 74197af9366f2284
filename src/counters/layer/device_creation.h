// The VkDeviceCreateInfo that the driver gets: without the layer's extensions and feature structs,
// and with the features and extensions that instrumentation needs. Says what the application has
// enabled of the layer.
#pragma once

#include <tally/vulkan_arm.h>
#include <tally/vulkan_newest.h>
#include <vulkan/vulkan_core.h>

#include <optional>
#include <vector>

#include "counters/base/options.h"
#include "counters/base/physical_device.h"
#include "counters/features/queries/pool.h"
#include "counters/layer/offered_extensions.h"
#include "counters/memory/chunk.h"
#include "vk/chain.h"
#include "vk/layer.h"

namespace tally::counters {

// A VkDeviceCreateInfo whose extensions, features and queues can be changed. Owns all copies that
// it points to; what is not changed still refers to the application's memory.

class CreateInfoCopy {
 public:
  explicit CreateInfoCopy(const VkDeviceCreateInfo& info);
  CreateInfoCopy(const CreateInfoCopy&) = delete;
  CreateInfoCopy& operator=(const CreateInfoCopy&) = delete;

  // Valid until the next change.
  const VkDeviceCreateInfo& info();

  bool has_extension(const char* name) const;
  void add_extension(const char* name);  // unless it is there
  void remove_extension(const char* name);

  template <typename T>
  T* find(VkStructureType type) {
    return chain_.find<T>(type);
  }
  template <typename T>
  const T* read(VkStructureType type) const {
    return vk::find_in_chain<T>(chain_.head(), type);
  }
  void remove(VkStructureType type) { chain_.remove(type); }

  // Enables a feature in the struct of this type; `set` adds the struct where there is none.
  template <typename Features, VkBool32 Features::*kMember>
  bool set_if_chained(VkStructureType type) {
    auto* features = find<Features>(type);
    if (features) features->*kMember = VK_TRUE;
    return features != nullptr;
  }
  template <typename Features, VkBool32 Features::*kMember>
  void set(VkStructureType type) {
    if (set_if_chained<Features, kMember>(type)) return;
    Features features{};
    features.sType = type;
    features.*kMember = VK_TRUE;
    chain_.add(features);
  }

  // Core features are in pEnabledFeatures or in VkPhysicalDeviceFeatures2, never in both. Null if
  // the application has neither.
  VkPhysicalDeviceFeatures* find_core_features();
  VkPhysicalDeviceFeatures& core_features();

  const std::vector<VkDeviceQueueCreateInfo>& queues() const { return queues_; }
  // Adds a queue to element `index` of queues().
  void add_queue(size_t index, float priority);

 private:
  VkDeviceCreateInfo info_;
  vk::ChainCopy chain_;
  std::vector<const char*> extensions_;
  VkPhysicalDeviceFeatures core_features_{};
  std::vector<VkDeviceQueueCreateInfo> queues_;
  std::vector<float> priorities_;  // of the queues that add_queue changed
};

class DeviceCreation {
 public:
  DeviceCreation(const VkDeviceCreateInfo& info, const PhysicalDevice& gpu, const Options& options);
  DeviceCreation(const DeviceCreation&) = delete;
  DeviceCreation& operator=(const DeviceCreation&) = delete;

  const VkDeviceCreateInfo& info() const { return info_; }
  const PhysicalDevice& gpu() const { return gpu_; }
  const Options& options() const { return options_; }

  // The application enabled VK_ARM_shader_instrumentation; and its feature.
  bool extension_enabled() const { return taken(Extension::Instrumentation).extension; }
  bool instrumentation_enabled() const { return taken(Extension::Instrumentation).feature; }
  // It enabled counters by region.
  bool regions_enabled() const { return taken(Extension::Regions).feature; }
  // It enabled VK_KHR_performance_query, and the layer has counters for it.
  bool performance_query_extension_enabled() const {
    return taken(Extension::PerformanceQuery).extension;
  }
  // Queries that the application enabled and the layer emulates.
  const EmulatedQueries& emulated_queries() const { return emulated_queries_; }
  bool anything_enabled() const {
    return instrumentation_enabled() || regions_enabled() || emulated_queries_.any();
  }
  // Extensions that the application enabled together with a feature of the layer, and whose
  // commands the layer cannot count.
  const catalogue::EnabledHidden& uncounted_extensions() const { return uncounted_; }
  // VK_SUCCESS, or the error of vkCreateDevice.
  VkResult refusal() const;

  bool has_extension(const char* name) const { return copy_.has_extension(name); }
  bool pipeline_libraries() const { return pipeline_libraries_; }
  bool shader_objects() const { return shader_objects_; }
  bool descriptor_heaps() const { return descriptor_heaps_; }
  // True if the layer may record conditional rendering itself.
  bool conditional_rendering() const {
    return emulated_queries_.performance && gpu_.conditional_rendering;
  }
  // True if the driver counts the samples that no shader can count.
  bool driver_counts_samples() const {
    return emulated_queries_.occlusion && gpu_.host_query_reset;
  }
  // True if vertex shaders read the number of their streaming multiprocessor instead of the
  // instance index. NVIDIA then shades a vertex once for several instances, as it does without the
  // layer. So emulated statistics equal the driver's own. Shader instrumentation and performance
  // queries count each instance.
  bool sm_builtins() const {
    return gpu_.sm_builtins && emulated_queries_.counts_shaders() && !instrumentation_enabled() &&
           !emulated_queries_.performance && !emulated_queries_.performance_intel;
  }
  // True if subgroup operations of the code that counts add up 64-bit numbers.
  bool wide_subgroups() const;
  // True if pipeline statistics queries of the driver may count draws.
  bool driver_counts_draws() const;
  // True if the driver gets the pipelines of the application when they are first bound.
  bool makes_pipelines_late() const;
  // True if the application has one queue.
  bool has_one_queue() const;
  // How many threads of the layer may compile pipelines while the application goes on.
  uint32_t compile_threads() const;
  RecordMemory record_memory() const { return record_memory_; }
  // The families of the application's queues, without duplicates.
  std::vector<uint32_t> queue_families() const;
  // The first queue that supports compute.
  std::optional<QueuePlace> compute_queue() const;
  // The queue for copies of records. The layer adds one if the family has one left.
  QueuePlace transfer_queue() const { return transfer_queue_; }

 private:
  // The application enabled an extension that the layer offers, and its feature.
  struct Taken {
    bool extension = false;
    bool feature = false;  // the first one of its struct; with the extension
  };
  const Taken& taken(Extension extension) const { return taken_[static_cast<size_t>(extension)]; }

  Taken take(const OfferedExtension& row);
  void take_queries();
  void take_core_queries(VkPhysicalDeviceFeatures& features);
  void enable_needs();
  bool add_transfer_queue();

  const PhysicalDevice& gpu_;
  const Options& options_;
  const OfferedQueries offered_;
  catalogue::EnabledHidden uncounted_;
  CreateInfoCopy copy_;
  VkDeviceCreateInfo info_;
  QueuePlace transfer_queue_;
  RecordMemory record_memory_ = RecordMemory::Host;
  std::vector<Taken> taken_;  // by Extension
  // An extension or feature is enabled that neither the layer nor the driver has.
  bool lacks_extension_ = false;
  bool lacks_feature_ = false;
  bool pipeline_libraries_ = false;
  bool shader_objects_ = false;
  bool descriptor_heaps_ = false;
  EmulatedQueries emulated_queries_;
};

}  // namespace tally::counters
