// All commands that are recorded into command buffers, and the next layer's functions for them. For
// command buffers that are recorded twice: a command that one of the two lacks
// would change what it draws.
#pragma once

#include <tally/vulkan_generated.h>
#include <vulkan/vulkan_core.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/base/frames.h"
#include "capture/base/sender.h"
#include "capture/base/tables.h"
#include "capture/record/descriptor_sizes.h"
#include "capture/record/host_memory.h"
#include "capture/record/images.h"
#include "capture/record/launch_counts.h"
#include "capture/record/passes.h"
#include "capture/record/region_capture.h"
#include "capture/record/shaders.h"
#include "capture/record/timestamps.h"
#include "capture/submit/live_totals.h"
#include "vk/layer.h"

namespace tally::capture {

// Indexes of the functions.
enum class Command : size_t {
#define TALLY_COMMAND(name, types) name,
#include "capture/record/command_list.inc"
#undef TALLY_COMMAND
  Count,
};

class CommandFunctions {
 public:
  template <typename Get>
  void load(const Get& get) {
#define TALLY_COMMAND(name, types) functions_[static_cast<size_t>(Command::name)] = get(#name);
#include "capture/record/command_list.inc"
#undef TALLY_COMMAND
  }

  PFN_vkVoidFunction operator[](Command command) const {
    return functions_[static_cast<size_t>(command)];
  }

 private:
  std::array<PFN_vkVoidFunction, static_cast<size_t>(Command::Count)> functions_{};
};

// Execution sets (VK_EXT_device_generated_commands), from which the GPU chooses pipelines or shader
// objects by index. A set stands for a pipeline of the capture that has the shaders of all entries.
// Thread-safe.

class ExecutionSets {
 public:
  ExecutionSets(StreamConnection& connection, const ShaderRegistry& pipelines,
                const ShaderObjectRegistry& shaders)
      : connection_(connection), pipelines_(pipelines), shaders_(shaders) {}

  void add(VkIndirectExecutionSetEXT handle, const VkIndirectExecutionSetCreateInfoEXT& info);
  void remove(VkIndirectExecutionSetEXT handle);
  void update(VkIndirectExecutionSetEXT handle,
              std::span<const VkWriteIndirectExecutionSetPipelineEXT> writes);
  void update(VkIndirectExecutionSetEXT handle,
              std::span<const VkWriteIndirectExecutionSetShaderEXT> writes);

  // The current entries of the set. Null if the set is unknown.
  std::shared_ptr<Pipeline> pipeline(VkIndirectExecutionSetEXT handle);

 private:
  struct Entry {
    std::vector<std::shared_ptr<Shader>> shaders;
    Hash128 hash;
    std::string not_instrumented, diagnostics;
  };
  struct Set {
    const char* noun;
    VkPipelineBindPoint bind_point;
    std::vector<Entry> entries;          // without shaders: not written, or not known
    std::shared_ptr<Pipeline> pipeline;  // of the entries; null: not made yet
  };

  Entry entry_of(VkPipeline handle) const;
  Entry entry_of(VkShaderEXT handle) const;
  template <typename Write, typename Handle>
  void write(VkIndirectExecutionSetEXT set, std::span<const Write> writes, Handle Write::*written);
  std::shared_ptr<Pipeline> make_pipeline(const Set& set, const Hash128& hash) const;

  StreamConnection& connection_;
  const ShaderRegistry& pipelines_;
  const ShaderObjectRegistry& shaders_;
  std::mutex mutex_;  // guards the members below
  std::unordered_map<VkIndirectExecutionSetEXT, Set> sets_;
  std::unordered_map<Hash128, std::shared_ptr<Pipeline>> made_;
};

// State that the command buffers of a device share during recording. Thread-safe.

class RecordingContext {
 public:
  RecordingContext(std::shared_ptr<StreamConnection> connection, VkDevice handle,
                   const vk::NextDevice& next, RegionSetup regions, bool dynamic_rendering,
                   bool marks_frames, TimestampRules timestamps, LaunchRules launch_rules);

  // Tracks images if passes are captured by region.
  void follow_images(const InstanceTable& table, VkPhysicalDevice physical_device);
  // Call this before the driver destroys the device.
  void destroy_all();

  VkDevice handle() const { return handle_; }
  const DeviceTable& table() const { return table_; }
  StreamConnection& connection() { return *connection_; }
  ShaderRegistry& shaders() { return shaders_; }
  ShaderObjectRegistry& shader_objects() { return shader_objects_; }
  ExecutionSets& execution_sets() { return execution_sets_; }
  PassRegistry& passes() { return passes_; }
  TimestampPools& timestamps() { return timestamps_; }
  PassSamples& pass_samples() { return pass_samples_; }
  HostMemory& host_memory() { return host_memory_; }
  const RegionCapture& regions() const { return regions_; }
  // Null if passes are not captured by region.
  Images* images() { return images_ ? &*images_ : nullptr; }
  DescriptorSizes& descriptor_sizes() { return descriptor_sizes_; }
  // True if dispatches may share counts: then the sizes of descriptors can matter.
  bool shares_counts() const { return launch_rules_.enabled; }
  const LaunchRules& launch_rules() const { return launch_rules_; }
  // True once they do.
  bool follows_sets() const { return launch_rules_.enabled && shaders_.query_sizes(); }
  Frames& frames() { return frames_; }
  // True if a dispatch may get the counts of an earlier one with the same inputs.
  bool shares_counts(const Launches& launches) const {
    return launch_rules_.enabled && (launch_rules_.subgroups || !launches.uses_subgroups());
  }

  // True if commands recorded now are measured, for the receiver or for the live counters. Does not
  // change once the capture has stopped: other threads may still record while exit() destroys what
  // the driver compiles with, and pipelines in another variant might have to be compiled.
  bool measures() const {
    if (stopped()) return stays_measured_.load(std::memory_order_relaxed);
    return connection_->receiving() || LiveTotals::instance().requested();
  }
  // True if they may be measured later.
  bool may_measure() const {
    if (stopped()) return stays_measured_.load(std::memory_order_relaxed);
    return connection_->receiving() || connection_->settings().live_counters;
  }
  // True if render passes may be suspended.
  bool may_suspend() const { return dynamic_rendering_; }
  int64_t next_recording() { return next_recording_.fetch_add(1, std::memory_order_relaxed); }

  // True if command buffers that may be submitted again get a counting copy: not all frames are
  // captured, and every command that the application records is known.
  bool copies() const { return copies_.load(std::memory_order_relaxed); }
  void stop_copies() { copies_.store(false, std::memory_order_relaxed); }
  // The next layer's. Loaded if there may be counting copies, or commands are timed.
  const CommandFunctions& commands() const { return commands_; }
  // Makes a command buffer that the layer allocated usable by the next layer.
  bool initialize(VkCommandBuffer buffer) const {
    return set_loader_data_ && set_loader_data_(handle_, buffer) == VK_SUCCESS;
  }

  // Stops the capture. Returns whether it was already stopped.
  bool stop() {
    stays_measured_.store(measures(), std::memory_order_relaxed);
    return stopped_.exchange(true);
  }
  bool stopped() const { return stopped_.load(std::memory_order_acquire); }

 private:
  const std::shared_ptr<StreamConnection> connection_;
  const VkDevice handle_;
  DeviceTable table_;
  ShaderRegistry shaders_;
  ShaderObjectRegistry shader_objects_;
  ExecutionSets execution_sets_;
  PassRegistry passes_;
  DescriptorSizes descriptor_sizes_;
  TimestampPools timestamps_;
  PassSamples pass_samples_;
  HostMemory host_memory_;
  const RegionCapture regions_;
  const bool dynamic_rendering_;
  const LaunchRules launch_rules_;
  std::optional<Images> images_;
  Frames frames_;
  std::atomic<int64_t> next_recording_ = 1;
  std::atomic<bool> stopped_ = false;
  std::atomic<bool> stays_measured_ = false;  // set before stopped_
  const PFN_vkSetDeviceLoaderData set_loader_data_;
  CommandFunctions commands_;
  std::atomic<bool> copies_;
};

}  // namespace tally::capture
