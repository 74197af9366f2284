// State that the command buffers of a device share during recording. Thread-safe.
#pragma once

#include <vulkan/vulkan_core.h>

#include <atomic>
#include <memory>
#include <optional>

#include "capture/emit/frames.h"
#include "capture/emit/live_totals.h"
#include "capture/emit/stream_connection.h"
#include "capture/readback/host_memory.h"
#include "capture/recording/command_list.h"
#include "capture/recording/execution_sets.h"
#include "capture/recording/images.h"
#include "capture/recording/passes.h"
#include "capture/recording/region_capture.h"
#include "capture/recording/shader_objects.h"
#include "capture/recording/shaders.h"
#include "capture/recording/timestamps.h"
#include "capture/tables.h"
#include "vk/dispatch.h"

namespace tally::capture {

class RecordingContext {
 public:
  RecordingContext(std::shared_ptr<StreamConnection> connection, VkDevice handle,
                   const vk::NextDevice& next, RegionSetup regions, bool dynamic_rendering,
                   bool marks_frames);

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
  HostMemory& host_memory() { return host_memory_; }
  const RegionCapture& regions() const { return regions_; }
  // Null if passes are not captured by region.
  Images* images() { return images_ ? &*images_ : nullptr; }
  Frames& frames() { return frames_; }

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
  // The next layer's. Loaded if there may be counting copies.
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
  TimestampPools timestamps_;
  HostMemory host_memory_;
  const RegionCapture regions_;
  const bool dynamic_rendering_;
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
