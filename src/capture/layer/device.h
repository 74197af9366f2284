// A captured device. It owns the state that the parts of the layer share.
#pragma once

#include <vulkan/vulkan_core.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "capture/layer/instance.h"
#include "capture/read/submission_reader.h"
#include "capture/record/command_buffer.h"
#include "capture/record/recording.h"
#include "capture/record/recording_context.h"
#include "catalogue/hidden_extensions.h"
#include "vk/handles.h"

namespace tally::capture {

class Reporter;

// How the application uses VK_EXT_frame_boundary, which the layer offers everywhere.
struct Boundaries {
  bool enabled = false;  // the extension
  bool feature = false;
  bool native = false;  // the driver has it, too
};

// Whose pipelines have statistics of the driver's compiler (VK_KHR_pipeline_executable_properties).
struct StatisticsSetup {
  bool asked = false;    // those that the application asks for: it enables the feature
  bool all = false;      // all; the layer enables the feature, unless the application does
  bool missing = false;  // all are wanted, and the driver gives none
};

// How a device is captured. Determined before the device is created.
struct DeviceSetup {
  VkPhysicalDevice physical_device = VK_NULL_HANDLE;
  stream::Device description;
  MetricLayout metrics;
  std::vector<VkQueueFamilyProperties> families;
  RegionSetup regions;
  bool dynamic_rendering = false;       // the application enabled it
  bool add_timeline_extension = false;  // enable VK_KHR_timeline_semaphore, not only the feature
  TimestampRules timestamps;
  LaunchRules launch_rules;
  StatisticsSetup statistics;
  catalogue::EnabledHidden uncounted;
  Boundaries boundaries;

  void refuse_regions(std::string reason) {
    regions = {};
    regions.reason = std::move(reason);
    description.region_counters.clear();
  }
};

struct Queue : InternedObject {
  Queue(Id new_id, VkQueue vulkan_handle, uint32_t bits, const RecordingContext& context,
        Reporter& reporter)
      : InternedObject(stream::Named::Queue, new_id),
        handle(vulkan_handle),
        timestamp_bits(bits),
        submission_reader(context.handle(), context.table(), vulkan_handle, reporter) {}
  const VkQueue handle;
  const uint32_t timestamp_bits;
  // Several threads may use a queue that synchronizes itself.
  template <typename Use>
  auto with_labels(const Use& use) {
    const std::lock_guard lock(labels_mutex_);
    return use(labels_);
  }
  // Where frames end at labels: those that are open, of command buffers too.
  template <typename Use>
  auto with_frame_labels(const Use& use) {
    const std::lock_guard lock(labels_mutex_);
    return use(frame_labels_);
  }
  bool ends_frame(const PartEnd& end);
  void leave_open(const std::vector<bool>& labels);
  SubmissionReader submission_reader;

 private:
  std::mutex labels_mutex_;
  LabelStack labels_;
  FrameLabels frame_labels_;
};

// One info of a submission.
struct SubmittedBatch {
  size_t end = 0;           // of its command buffers among those of the call
  bool ends_frame = false;  // the application marks it as the last one of a frame
};

class Device {
  // A part of a submission, before it is known what is captured.
  struct PlannedPart {
    SubmittedParts::Part part;
    std::vector<std::pair<const Contents*, const RecordedPart*>> executed;
  };
  struct Plan {
    std::vector<PlannedPart> parts = std::vector<PlannedPart>(1);
    std::vector<std::pair<size_t, size_t>> of_buffers;  // first and last part of each
  };

 public:
  Device(std::shared_ptr<Instance> instance, std::shared_ptr<StreamConnection> connection,
         VkDevice handle, const vk::NextDevice& next, DeviceSetup setup);
  ~Device();  // call it before the driver destroys the device; the device must be idle
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  VkDevice handle() const { return context_.handle(); }
  const DeviceTable& table() const { return context_.table(); }
  PFN_vkGetDeviceProcAddr next_get_device_proc_addr() const { return next_.get_device_proc_addr; }
  uint32_t application_version() const { return instance_->application_version(); }
  bool sets_names() const { return instance_->sets_names(); }
  // The newest one that the application's Vulkan takes.
  uint32_t max_spirv_version() const { return max_spirv_version_; }
  RecordingContext& context() { return context_; }
  StreamConnection& connection() { return context_.connection(); }
  ShaderRegistry& shaders() { return context_.shaders(); }
  ShaderObjectRegistry& shader_objects() { return context_.shader_objects(); }
  ExecutionSets& execution_sets() { return context_.execution_sets(); }
  PassRegistry& passes() { return context_.passes(); }
  const RegionCapture& regions() const { return context_.regions(); }
  const StatisticsSetup& statistics() const { return statistics_; }
  Images* images() { return context_.images(); }
  // Null if the sizes of descriptors never matter.
  DescriptorSizes* descriptor_sizes() {
    return context_.shares_counts() ? &context_.descriptor_sizes() : nullptr;
  }
  Frames& frames() { return context_.frames(); }
  // True if what is submitted now is measured.
  bool measures() const { return !stopped() && context_.measures(); }
  // True if the application may call the command: not where its extension is hidden.
  bool offers(std::string_view command) const {
    return !catalogue::is_hidden_command(command) || catalogue::has_command(uncounted_, command);
  }

  void add_queue(VkQueue handle, uint32_t family, uint32_t position);
  std::shared_ptr<Queue> queue(VkQueue handle) const { return queues_.find(handle); }

  void add_pool(VkCommandPool handle, const VkCommandPoolCreateInfo& info);
  std::shared_ptr<CommandPool> pool(VkCommandPool handle) const { return pools_.find(handle); }
  void add_command_buffers(const VkCommandBufferAllocateInfo& info, const VkCommandBuffer* buffers);
  // Removes them from the maps. The caller releases them after the driver has freed them.
  using CommandBuffers = std::vector<std::shared_ptr<CommandBuffer>>;
  CommandBuffers take_command_buffers(VkCommandPool pool, uint32_t count,
                                      const VkCommandBuffer* buffers);
  CommandBuffers take_pool(VkCommandPool pool);
  CommandBuffer* listed_command_buffer(VkCommandBuffer handle) const {
    return command_buffers_.find(handle).get();
  }

  const Boundaries& boundaries() const { return boundaries_; }

  // Call these before and after a submission. `before_submit` replaces command buffers by their
  // counting copies if a part of the submission is captured. It ends the frames of all parts but
  // the last one.
  SubmittedParts before_submit(Queue& queue, std::span<const SubmittedBatch> batches,
                               std::vector<VkCommandBuffer>& buffers);
  // `item`: with what the application can learn of the completion.
  void after_submit(Queue& queue, SubmittedParts submitted, VkResult result,
                    const PendingSubmission& item);
  void end_frame(Queue& queue, store::FrameEnd ended_by);
  // After the application has waited for the GPU. Call it before what has completed is reported.
  void end_frame_at_wait(FrameUnit kind);

  // Waits until the receiver has everything that matches and has completed, or until the wait times
  // out.
  void report_completed(
      const SubmissionReader::Matches& matches,
      std::chrono::milliseconds flush_patience = std::chrono::milliseconds::max());
  // The same for a thread that has waited for fences or semaphores, or has asked for their state.
  // After 20 ms it takes at most one part in 64 of the time while the layer's thread keeps up, and
  // it does not wait for a receiver that is behind: the layer's threads report later. A process
  // that is killed before that loses these values; they are counted as missing.
  void report_waited_for(const SubmissionReader::Matches& matches);
  void report_queue_completed(Queue& queue);
  // Waits until all submissions so far, on all devices, are reported, or until the wait times out.
  static void report_all_completed(std::chrono::milliseconds patience);

  void set_name(VkObjectType type, uint64_t handle, const char* name);

  // Reports what is complete and stops capturing because the process is exiting. The application
  // may continue to use the device.
  void stop(std::chrono::milliseconds patience);
  bool stopped() const { return context_.stopped(); }

  // Stops every device when the process exits. No device is destroyed during the call.
  static void stop_all(std::chrono::milliseconds patience);

  static std::shared_ptr<Device> find(const void* dispatchable_handle);
  static void add(std::shared_ptr<Device> device);
  static std::shared_ptr<Device> take(VkDevice handle);
  static std::vector<std::shared_ptr<Device>> all();

 private:
  Plan plan(Queue& queue, std::span<const SubmittedBatch> batches,
            const std::vector<VkCommandBuffer>& buffers);
  void use_contents(const Plan& plan, const std::vector<VkCommandBuffer>& buffers,
                    SubmittedParts& submitted, bool captured);
  void begin_submissions(Queue& queue, SubmittedParts& submitted);
  void report_end(Queue& queue, const FrameEnd& end);
  std::shared_ptr<CommandBuffer> take_command_buffer(VkCommandBuffer handle);
  void await_earlier(const Submission& submission);
  void await_uncaptured(Queue& queue, const Submission& submission);

  const std::shared_ptr<Instance> instance_;
  const vk::NextDevice next_;
  const std::vector<VkQueueFamilyProperties> families_;
  const catalogue::EnabledHidden uncounted_;
  const Boundaries boundaries_;
  const uint32_t max_spirv_version_;
  const StatisticsSetup statistics_;
  RecordingContext context_;
  const std::unique_ptr<Reporter> reporter_;
  std::atomic<int64_t> next_submission_ = 0;
  std::atomic<int64_t> reports_paid_until_ns_ = 0;  // of report_waited_for
  vk::HandleMap<VkQueue, std::shared_ptr<Queue>> queues_;
  vk::HandleMap<VkCommandPool, std::shared_ptr<CommandPool>> pools_;
  vk::HandleMap<VkCommandBuffer, std::shared_ptr<CommandBuffer>> command_buffers_;
};

// Returns the state of the command buffer. Returns null if the device is not captured.
CommandBuffer* find_command_buffer(VkCommandBuffer handle);
// Device::find for calls that are frequent: without a lock. The device lives as long as the call.
Device* find_device(VkDevice handle);

}  // namespace tally::capture
