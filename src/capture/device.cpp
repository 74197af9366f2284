#include "capture/device.h"

#include <algorithm>
#include <shared_mutex>
#include <utility>

#include "base/log.h"
#include "store/clock.h"

namespace tally::capture {
namespace {

vk::HandleMap<void*, std::shared_ptr<Device>>& devices() {
  static auto* map = new vk::HandleMap<void*, std::shared_ptr<Device>>;  // outlives every thread
  return *map;
}

// Locked (shared) by calls that do not come from the application code that uses the device. Once
// the lock is available after a device was removed from the map, no other thread uses that device.
std::shared_mutex& outside_users() {
  static auto* mutex = new std::shared_mutex;  // outlives every thread
  return *mutex;
}

// Incremented whenever command buffers are freed. The caches of all threads are then out of date.
std::atomic<uint64_t> command_buffers_freed = 1;

struct CommandBufferCache {
  VkCommandBuffer handle = VK_NULL_HANDLE;
  uint64_t freed = 0;
  CommandBuffer* state = nullptr;
};
thread_local CommandBufferCache cache __attribute__((tls_model("initial-exec")));

constexpr auto kReportTimeout = std::chrono::seconds(5);

}  // namespace

CommandBuffer* find_command_buffer(VkCommandBuffer handle) {
  const uint64_t freed = command_buffers_freed.load(std::memory_order_acquire);
  if (cache.handle == handle && cache.freed == freed) return cache.state;
  const std::shared_ptr<Device> device = Device::find(handle);
  if (!device) return nullptr;
  CommandBuffer* const state = device->find_command_buffer(handle);
  if (state) cache = {handle, freed, state};
  return state;
}

Device::Device(std::shared_ptr<Instance> instance, std::shared_ptr<StreamConnection> connection,
               VkDevice handle, const vk::NextDevice& next, DeviceSetup setup)
    : instance_(std::move(instance)),
      next_(next),
      families_(std::move(setup.families)),
      uncounted_(std::move(setup.uncounted)),
      context_(std::move(connection), handle, next, std::move(setup.regions),
               setup.dynamic_rendering),
      reporter_(context_.connection(), context_.shaders(), context_.regions(),
                std::move(setup.description), std::move(setup.metrics)) {
  context_.follow_images(instance_->table(), setup.physical_device);
  reporter_.announce_device();
}

Device::~Device() {
  stop(std::chrono::milliseconds::max());
  command_buffers_freed.fetch_add(1, std::memory_order_release);
  for (const auto& queue : queues_.values()) queues_.take(queue->handle);
  for (const auto& buffer : command_buffers_.values()) buffer->reset();
  context_.destroy_all();
}

void Device::add_queue(VkQueue handle, uint32_t family, uint32_t position) {
  if (handle == VK_NULL_HANDLE || queues_.find(handle) || family >= families_.size()) return;
  const VkQueueFamilyProperties& properties = families_[family];
  auto queue = std::make_shared<Queue>(connection().new_id(), handle, properties.timestampValidBits,
                                       context_, reporter_);
  reporter_.announce_queue({queue->id(), reporter_.device(), family, position,
                            properties.queueFlags, properties.timestampValidBits},
                           *queue);
  queues_.insert(handle, std::move(queue));
}

void Device::add_pool(VkCommandPool handle, const VkCommandPoolCreateInfo& info) {
  auto pool = std::make_shared<CommandPool>();
  pool->handle = handle;
  pool->protected_memory = (info.flags & VK_COMMAND_POOL_CREATE_PROTECTED_BIT) != 0;
  if (info.queueFamilyIndex < families_.size()) {
    pool->queue_flags = families_[info.queueFamilyIndex].queueFlags;
    pool->timestamp_bits = families_[info.queueFamilyIndex].timestampValidBits;
  }
  pools_.insert(handle, std::move(pool));
}

void Device::add_command_buffers(const VkCommandBufferAllocateInfo& info,
                                 const VkCommandBuffer* buffers) {
  const std::shared_ptr<CommandPool> pool = pools_.find(info.commandPool);
  if (!pool) return;
  for (uint32_t i = 0; i < info.commandBufferCount; ++i) {
    command_buffers_.insert(buffers[i], std::make_shared<CommandBuffer>(
                                            context_, buffers[i],
                                            info.level == VK_COMMAND_BUFFER_LEVEL_PRIMARY, *pool));
    pool->buffers.push_back(buffers[i]);
  }
}

Device::CommandBuffers Device::take_command_buffers(VkCommandPool handle, uint32_t count,
                                                    const VkCommandBuffer* buffers) {
  const std::shared_ptr<CommandPool> pool = pools_.find(handle);
  CommandBuffers taken;
  for (uint32_t i = 0; i < count; ++i) {
    if (buffers[i] == VK_NULL_HANDLE) continue;
    taken.push_back(command_buffers_.take(buffers[i]));
    if (pool) std::erase(pool->buffers, buffers[i]);
  }
  command_buffers_freed.fetch_add(1, std::memory_order_release);
  return taken;
}

Device::CommandBuffers Device::take_pool(VkCommandPool handle) {
  CommandBuffers taken;
  const std::shared_ptr<CommandPool> pool = pools_.take(handle);
  if (!pool) return taken;
  for (const VkCommandBuffer buffer : pool->buffers) taken.push_back(command_buffers_.take(buffer));
  command_buffers_freed.fetch_add(1, std::memory_order_release);
  return taken;
}

std::unique_ptr<Submission> Device::before_submit(Queue& queue,
                                                  std::vector<VkCommandBuffer>& buffers) {
  const Frames::Frame frame = frames().current();
  auto submission = std::make_unique<Submission>();
  submission->captured = measures() && frame.captured;
  submission->frame = frame;
  ContentsUse use{frame.number, submission->captured};
  for (const VkCommandBuffer handle : buffers) {
    const CommandBuffer* buffer = find_command_buffer(handle);
    if (!buffer || !buffer->contents()) continue;
    const auto& recording = buffer->contents()->executed_recording(submission->captured);
    if (recording && !recording->empty()) submission->add(recording);
  }
  await_earlier(*submission);
  for (const VkCommandBuffer handle : buffers) {
    CommandBuffer* buffer = find_command_buffer(handle);
    if (buffer && buffer->contents()) buffer->contents()->submit(use);
  }
  frames().saw_lag(use.lag);
  if (!submission->captured) return nullptr;
  submission->not_recorded = use.not_recorded;
  if (use.not_recorded != 0) {
    connection().message(store::Severity::Warning,
                         "command buffers that were recorded long before a captured frame, and "
                         "used once before, ran in it: their commands are not counted");
  }
  if (submission->executions.empty() && use.not_recorded == 0) return nullptr;
  submission->queue = queue.id();
  submission->timestamp_bits = queue.timestamp_bits;
  submission->number = next_submission_.fetch_add(1, std::memory_order_relaxed);
  submission->time_ns = store::monotonic_ns();
  submission->label = queue.with_labels([](const LabelStack& all) { return all.innermost(); });
  await_uncaptured(queue, *submission);
  submission->for_each_recording(
      [](Recording& recording, uint32_t runs) { recording.before_submit(runs); });
  for (VkCommandBuffer& handle : buffers) {
    const CommandBuffer* buffer = find_command_buffer(handle);
    if (!buffer || buffer->counting() == handle) continue;
    handle = buffer->counting();
    submission->executes_copies = true;
  }
  return submission;
}

// Executions of a recording with simultaneous use that belong to no submission may still run on
// this queue. Their counts must not become part of this submission's.
void Device::await_uncaptured(Queue& queue, const Submission& submission) {
  if (std::ranges::none_of(submission.executions, [](const Execution& execution) {
        return execution.recording->may_run_uncaptured();
      })) {
    return;
  }
  PendingSubmission item;
  item.submission = std::make_unique<Submission>();
  item.submission->captured = false;
  queue.submission_reader.add(std::move(item));
  queue.submission_reader.wait_for(
      [](const PendingSubmission& one) { return one.submission && !one.submission->captured; },
      kReportTimeout);
}

// A recording without simultaneous use has completed before it is submitted again. Its values are
// read first, so that each submission gets its own values. A recording with values by region is
// always waited for because the next execution overwrites them, and so is one that is executed
// outside of captured frames. Where frames between are not captured, executions of several frames
// do not add up either.
void Device::await_earlier(const Submission& submission) {
  for (const Execution& execution : submission.executions) {
    const Recording* recording = execution.recording.get();
    if (recording->pending() == 0) continue;
    const bool may_overlap =
        recording->simultaneous() && !recording->has_regions() && submission.captured;
    if (may_overlap && !context_.copies()) continue;
    const auto executes_it = [&](const PendingSubmission& item) {
      return item.submission &&
             !(may_overlap && item.submission->frame.number == submission.frame.number) &&
             std::any_of(
                 item.submission->executions.begin(), item.submission->executions.end(),
                 [&](const Execution& other) { return other.recording.get() == recording; });
    };
    for (const auto& queue : queues_.values()) {
      queue->submission_reader.wait_for(executes_it, kReportTimeout);
    }
  }
}

void Device::after_submit(Queue& queue, std::unique_ptr<Submission> submission, VkResult result,
                          PendingSubmission item) {
  if (!submission) return;
  if (result != VK_SUCCESS) {
    submission->for_each_recording(
        [](Recording& recording, uint32_t runs) { recording.submit_failed(runs); });
    return;
  }
  item.commands = submission->commands();
  if (connection().receiving()) connection().count_submitted(item.commands);
  item.submission = std::move(submission);
  queue.submission_reader.add(std::move(item));
}

void Device::end_frame(Queue& queue, bool by_present) {
  const int64_t now = store::monotonic_ns();
  const Frames::Frame ended = frames().end(now, connection().orders());
  if (stopped() || !connection().receiving()) return;
  if (ended.dropped) connection().count_dropped_frame();
  if (!ended.captured) return;
  PendingSubmission item;
  item.frame_end = FrameEnd{ended, now, by_present};
  queue.submission_reader.add(std::move(item));
}

void Device::report_completed(const SubmissionReader::Matches& matches) {
  if (stopped() || !connection().receiving()) return;
  for (const auto& queue : queues_.values())
    queue->submission_reader.wait_for(matches, kReportTimeout);
  connection().flush();
}

void Device::report_queue_completed(Queue& queue) {
  if (stopped() || !connection().receiving()) return;
  queue.submission_reader.wait_for([](const PendingSubmission&) { return true; }, kReportTimeout);
  connection().flush();
}

void Device::report_all_completed(std::chrono::milliseconds patience) {
  const std::shared_lock lock(outside_users());
  const auto end = std::chrono::steady_clock::now() + patience;
  for (const auto& device : all()) {
    for (const auto& queue : device->queues_.values()) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          end - std::chrono::steady_clock::now());
      queue->submission_reader.wait_for([](const PendingSubmission&) { return true; },
                                        std::max(left, std::chrono::milliseconds(0)));
    }
  }
}

void Device::set_name(VkObjectType type, uint64_t handle, const char* name) {
  std::shared_ptr<InternedObject> thing;
  switch (type) {
    case VK_OBJECT_TYPE_PIPELINE:
      thing = shaders().pipeline((VkPipeline)handle);
      break;
    case VK_OBJECT_TYPE_SHADER_MODULE:
      thing = shaders().module((VkShaderModule)handle);
      break;
    case VK_OBJECT_TYPE_RENDER_PASS:
      thing = passes().find((VkRenderPass)handle);
      break;
    case VK_OBJECT_TYPE_FRAMEBUFFER:
      thing = passes().find((VkFramebuffer)handle);
      break;
    case VK_OBJECT_TYPE_QUEUE:
      thing = queues_.find(reinterpret_cast<VkQueue>(handle));
      break;
    case VK_OBJECT_TYPE_COMMAND_BUFFER:
      if (CommandBuffer* buffer = find_command_buffer(reinterpret_cast<VkCommandBuffer>(handle))) {
        thing = buffer->object();
      }
      break;
    default:
      break;
  }
  if (!thing) return;
  if (name) shaders().select_named(*thing, name, connection().settings().shader_pattern);
  connection().name_changed(std::move(thing), name ? name : "");
}

void Device::stop(std::chrono::milliseconds patience) {
  if (context_.stop()) return;
  for (const auto& queue : queues_.values()) queue->submission_reader.stop(patience);
  reporter_.report_rest();
}

void Device::stop_all(std::chrono::milliseconds patience) {
  const std::shared_lock lock(outside_users());
  for (const auto& device : all()) {
    device->stop(patience);
    device->connection().send_end();
  }
}

std::shared_ptr<Device> Device::find(const void* dispatchable_handle) {
  return devices().find(vk::dispatch_key(dispatchable_handle));
}

void Device::add(std::shared_ptr<Device> device) {
  void* const key = vk::dispatch_key(device->handle());
  devices().insert(key, std::move(device));
}

std::shared_ptr<Device> Device::take(VkDevice handle) {
  auto device = devices().take(vk::dispatch_key(handle));
  const std::unique_lock nobody_else(outside_users());
  return device;
}

std::vector<std::shared_ptr<Device>> Device::all() { return devices().values(); }

}  // namespace tally::capture
