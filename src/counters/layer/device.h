// A device of the application. Every device has one, found by dispatch key; but only where the
// application enabled the feature is anything but vkGetDeviceProcAddr and vkDestroyDevice
// intercepted.
#pragma once

#include <vulkan/vulkan_core.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "counters/instrumentation/object.h"
#include "counters/instrumentation/shard_table.h"
#include "counters/layer/device_creation.h"
#include "counters/layer/instance.h"
#include "counters/layer/object_names.h"
#include "counters/memory/record_pool.h"
#include "counters/memory/word_pool.h"
#include "counters/objects/command_buffer.h"
#include "counters/objects/command_buffer_cache.h"
#include "counters/objects/pipeline.h"
#include "counters/objects/pipeline_layout.h"
#include "counters/objects/render_passes.h"
#include "counters/objects/submission.h"
#include "counters/performance/lock.h"
#include "counters/queries/state.h"
#include "counters/regions/state.h"
#include "counters/shader/instrumenter.h"
#include "vk/handle_map.h"

namespace tally::counters {

// A VkCommandPool: whom its command buffers belong to.
struct CommandPool {
  bool is_protected = false;
  std::vector<VkCommandBuffer> buffers;  // guarded by the application, as the pool is
};

// Everything that exists only where shader instrumentation or counters by region are enabled.
struct InstrumentationState {
  InstrumentationState(const MemoryContext& memory_context, const LayoutRules& rules,
                       const InstrumenterOptions& instrumenter_options,
                       const ShardTable& shard_table);

  MemoryContext memory;
  MemoryContext host_memory;  // the same, where the host writes
  std::mutex queue_mutex;     // only taken when the records' memory needs the queue
  LayoutRules layout_rules;
  const ShardTable shards;
  FencePool fences;
  ShaderCodeStore codes;
  Instrumenter instrumenter;
  RecordPool records;
  RecordPool host_pages;
  WordPool words;
  bool blocks = false;  // shader instrumentation is enabled
  // Null where counters by region are not enabled.
  std::unique_ptr<RegionState> regions;
  // Null where no query is emulated.
  std::unique_ptr<QueryState> queries;

  vk::HandleMap<VkShaderModule, std::shared_ptr<const ShaderCode>> shader_modules;
  vk::HandleMap<VkPipelineLayout, std::shared_ptr<PipelineLayout>> layouts;
  vk::HandleMap<VkPipeline, std::shared_ptr<Pipeline>> pipelines;
  vk::HandleMap<VkRenderPass, RenderPassShape> render_passes;  // for regions and queries
  vk::HandleMap<VkCommandPool, std::shared_ptr<CommandPool>> command_pools;
  vk::HandleMap<VkCommandBuffer, std::shared_ptr<CommandBuffer>> command_buffers;
  vk::HandleMap<VkShaderInstrumentationARM, std::shared_ptr<Instrumentation>> objects;
  vk::HandleMap<VkDeferredOperationKHR, std::shared_ptr<void>>
      deferred;  // what a pending operation points to
  ObjectNames names;

  // Set once there is a layout for which updates of constants need a second look.
  std::atomic<bool> constants_matter = false;

  // Whether our copies run on a queue that the application may also use.
  bool shares_queue() const { return memory.mode == RecordMemory::Device; }

  // Objects that were destroyed while in use wait here until they are not. Null: only look who may
  // go.
  void destroy_later(std::shared_ptr<Instrumentation> object);

 private:
  std::mutex deferred_mutex_;
  std::vector<std::shared_ptr<Instrumentation>> deferred_;
};

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

  // The application enabled VK_ARM_shader_instrumentation, and the driver has it not itself.
  bool extension_enabled() const { return extension_enabled_; }
  // Null where none of our features is enabled.
  InstrumentationState* instrumentation() const { return instrumentation_; }
  RegionState* regions() const {
    return instrumentation_ ? instrumentation_->regions.get() : nullptr;
  }
  QueryState* queries() const {
    return instrumentation_ ? instrumentation_->queries.get() : nullptr;
  }
  // Null where VK_KHR_performance_query is not enabled, or the driver's alone.
  ProfilingLock* profiling_lock() const { return profiling_lock_.get(); }
  // Destroys everything of ours on the device, which is about to go.
  void release_objects();

 private:
  DriverLock driver_lock() const;
  std::unique_ptr<InstrumentationState> make_instrumentation_state(const DeviceCreation& creation);
  PFN_vkGetCalibratedTimestampsEXT calibration(const DeviceCreation& creation) const;
  std::unique_ptr<DeviceClock> make_clock(const MemoryContext& memory,
                                          const DeviceCreation& creation) const;

  VkDevice handle_;
  Instance& instance_;
  const PhysicalDevice& gpu_;
  vk::NextDevice next_device_;
  DeviceTable next_;
  bool extension_enabled_;
  std::unique_ptr<InstrumentationState> owned_instrumentation_;
  // The same. Stays set while the state is destroyed, since command buffers that the application
  // has left behind ask the device for it to give their memory back.
  InstrumentationState* instrumentation_ = nullptr;
  std::unique_ptr<ProfilingLock> profiling_lock_;
};

// The device of a device, queue or command buffer; null for a foreign handle.
Device* find_device(const void* dispatchable_handle);
void add_device(std::unique_ptr<Device> device);
std::unique_ptr<Device> take_device(VkDevice handle);

}  // namespace tally::counters
