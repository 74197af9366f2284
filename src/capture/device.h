// A device that is captured: what the parts of the layer share. Its members do the work.
#pragma once

#include <vulkan/vulkan_core.h>

#include <atomic>
#include <memory>
#include <vector>

#include "capture/emit/reporter.h"
#include "capture/instance.h"
#include "capture/readback/submission_reader.h"
#include "capture/recording/command_buffer.h"
#include "capture/recording/label_stack.h"
#include "capture/recording/recording_context.h"
#include "vk/handle_map.h"

namespace tally::capture {

// What a device is captured with; found out before it is created.
struct DeviceSetup {
  VkPhysicalDevice physical_device = VK_NULL_HANDLE;
  stream::Device description;
  std::vector<VkQueueFamilyProperties> families;
  RegionSetup regions;

  void refuse_regions(std::string reason) {
    regions = {};
    regions.reason = std::move(reason);
    description.region_counters.clear();
  }
};

struct Queue : InternedObject {
  Queue(Id new_id, VkQueue vulkan_handle, uint32_t bits, FencePool& fences, Reporter& reporter)
      : InternedObject(stream::Named::Queue, new_id),
        handle(vulkan_handle),
        timestamp_bits(bits),
        submission_reader(fences, reporter) {}
  const VkQueue handle;
  const uint32_t timestamp_bits;
  LabelStack labels;  // externally synchronised, as the queue is
  SubmissionReader submission_reader;
};

class Device {
 public:
  Device(std::shared_ptr<Instance> instance, std::shared_ptr<StreamConnection> connection,
         VkDevice handle, const vk::NextDevice& next, DeviceSetup setup);
  ~Device();  // before the driver's device goes; it is idle
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  VkDevice handle() const { return context_.handle(); }
  const DeviceTable& table() const { return context_.table(); }
  PFN_vkGetDeviceProcAddr next_get_device_proc_addr() const { return next_.get_device_proc_addr; }
  uint32_t application_version() const { return instance_->application_version(); }
  RecordingContext& context() { return context_; }
  StreamConnection& connection() { return context_.connection(); }
  ShaderRegistry& shaders() { return context_.shaders(); }
  PassRegistry& passes() { return context_.passes(); }
  const RegionCapture& regions() const { return context_.regions(); }
  Images* images() { return context_.images(); }
  Frames& frames() { return context_.frames(); }
  bool measures() const { return context_.measures(); }

  void add_queue(VkQueue handle, uint32_t family, uint32_t position);
  std::shared_ptr<Queue> queue(VkQueue handle) const { return queues_.find(handle); }

  void add_pool(VkCommandPool handle, const VkCommandPoolCreateInfo& info);
  std::shared_ptr<CommandPool> pool(VkCommandPool handle) const { return pools_.find(handle); }
  void add_command_buffers(const VkCommandBufferAllocateInfo& info, const VkCommandBuffer* buffers);
  // Taken out of the maps; to be let go once the driver has freed them.
  using CommandBuffers = std::vector<std::shared_ptr<CommandBuffer>>;
  CommandBuffers take_command_buffers(VkCommandPool pool, uint32_t count,
                                      const VkCommandBuffer* buffers);
  CommandBuffers take_pool(VkCommandPool pool);
  CommandBuffer* find_command_buffer(VkCommandBuffer handle) const {
    return command_buffers_.find(handle).get();
  }

  // Around a submission. `before_submit` gives null when nothing of it is captured.
  std::unique_ptr<Submission> before_submit(Queue& queue,
                                            const std::vector<VkCommandBuffer>& buffers);
  void after_submit(Queue& queue, std::unique_ptr<Submission> submission, VkResult result,
                    PendingSubmission item);
  // A frame ends: at a present, or behind a submission with command buffers where nothing is
  // presented.
  void end_frame(Queue& queue, bool by_present);

  // Everything matching that has completed is in the receiver's hands when this returns, unless
  // that takes too long.
  void settle(const SubmissionReader::Matches& matches);
  void settle_queue(Queue& queue);
  // What has been submitted to all devices so far is reported, unless that takes too long.
  static void settle_all(std::chrono::milliseconds patience);

  void set_name(VkObjectType type, uint64_t handle, const char* name);

  // The process ends: reports what is complete and stops watching; the application may go on.
  void stop(std::chrono::milliseconds patience);
  bool stopped() const { return context_.stopped(); }

  // At the process's exit, for every device; none of them is destroyed meanwhile.
  static void stop_all(std::chrono::milliseconds patience);

  static std::shared_ptr<Device> find(const void* dispatchable_handle);
  static void add(std::shared_ptr<Device> device);
  static std::shared_ptr<Device> take(VkDevice handle);
  static std::vector<std::shared_ptr<Device>> all();

 private:
  void await_earlier(const Submission& submission);

  const std::shared_ptr<Instance> instance_;
  const vk::NextDevice next_;
  const std::vector<VkQueueFamilyProperties> families_;
  RecordingContext context_;
  FencePool fences_;
  Reporter reporter_;
  std::atomic<int64_t> next_submission_ = 0;
  vk::HandleMap<VkQueue, std::shared_ptr<Queue>> queues_;
  vk::HandleMap<VkCommandPool, std::shared_ptr<CommandPool>> pools_;
  vk::HandleMap<VkCommandBuffer, std::shared_ptr<CommandBuffer>> command_buffers_;
};

// The command buffer's state through a cache of this thread's own; null when its device is not
// captured.
CommandBuffer* find_command_buffer(VkCommandBuffer handle);

}  // namespace tally::capture
