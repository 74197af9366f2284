#include "capture/layer/device.h"

#include <algorithm>
#include <shared_mutex>

#include "capture/send/reporter.h"
#include "spirv/ir/module.h"
#include "store/stream/clock.h"
#include "vk/handles.h"

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

// The command buffers of all devices. Each one is also in its device's table.
vk::HandleIndex<VkCommandBuffer, CommandBuffer> indexed_command_buffers;
vk::HandleIndex<VkDevice, Device> indexed_devices;

constexpr auto kReportTimeout = std::chrono::seconds(5);

// The newest SPIR-V that a version of Vulkan takes.
uint32_t spirv_version_of(uint32_t api_version) {
  constexpr uint32_t kMinor[] = {0, 3, 5, 6};
  const uint32_t minor = VK_API_VERSION_MINOR(api_version);
  const bool is_newer = VK_API_VERSION_MAJOR(api_version) > 1 || minor >= std::size(kMinor);
  return spirv::make_version(1, is_newer ? kMinor[std::size(kMinor) - 1] : kMinor[minor]);
}

}  // namespace

CommandBuffer* find_command_buffer(VkCommandBuffer handle) {
  if (CommandBuffer* const near = indexed_command_buffers.find_near(handle)) return near;
  if (CommandBuffer* const far = indexed_command_buffers.find_far(handle)) return far;
  const std::shared_ptr<Device> device = Device::find(handle);
  return device ? device->listed_command_buffer(handle) : nullptr;
}

Device* find_device(VkDevice handle) {
  if (Device* const near = indexed_devices.find_near(handle)) return near;
  if (Device* const far = indexed_devices.find_far(handle)) return far;
  return Device::find(handle).get();
}

// True if a frame ends with what a command buffer has ended. Labels that it has begun are not
// open here.
bool Queue::ends_frame(const PartEnd& end) {
  if (!end.any()) return false;
  return with_frame_labels([&](FrameLabels& labels) {
    bool ends = false;
    for (uint32_t i = 0; i < end.begun_before; ++i) ends = labels.end() || ends;
    return ends || (end.outermost && !labels.inside());
  });
}

void Queue::leave_open(const std::vector<bool>& labels) {
  if (labels.empty()) return;
  with_frame_labels([&](FrameLabels& all) {
    for (const bool ends_frame : labels) all.begin(ends_frame);
  });
}

Device::Device(std::shared_ptr<Instance> instance, std::shared_ptr<StreamConnection> connection,
               VkDevice handle, const vk::NextDevice& next, DeviceSetup setup)
    : instance_(std::move(instance)),
      next_(next),
      families_(std::move(setup.families)),
      uncounted_(std::move(setup.uncounted)),
      boundaries_(setup.boundaries),
      max_spirv_version_(spirv_version_of(
          std::min(instance_->application_version(), setup.description.api_version))),
      statistics_(setup.statistics),
      context_(std::move(connection), handle, next, std::move(setup.regions),
               setup.dynamic_rendering, setup.boundaries.feature, setup.timestamps,
               setup.launch_rules),
      reporter_(std::make_unique<Reporter>(context_.connection(), context_.shaders(),
                                           context_.regions(), std::move(setup.description),
                                           std::move(setup.metrics))) {
  context_.follow_images(instance_->table(), setup.physical_device);
  reporter_->announce_device();
}

Device::~Device() {
  stop(std::chrono::milliseconds::max());
  for (const auto& queue : queues_.values()) queues_.take(queue->handle);
  for (const auto& buffer : command_buffers_.values()) {
    indexed_command_buffers.erase(buffer->handle());
    buffer->reset();
  }
  context_.destroy_all();
}

void Device::add_queue(VkQueue handle, uint32_t family, uint32_t position) {
  if (handle == VK_NULL_HANDLE || queues_.find(handle) || family >= families_.size()) return;
  const VkQueueFamilyProperties& properties = families_[family];
  auto queue = std::make_shared<Queue>(connection().new_id(), handle, properties.timestampValidBits,
                                       context_, *reporter_);
  reporter_->announce_queue({queue->id(), reporter_->device(), family, position,
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
    auto added = std::make_shared<CommandBuffer>(
        context_, buffers[i], info.level == VK_COMMAND_BUFFER_LEVEL_PRIMARY, *pool);
    CommandBuffer* const state = added.get();
    command_buffers_.insert(buffers[i], std::move(added));
    indexed_command_buffers.insert(buffers[i], state);
    pool->buffers.push_back(buffers[i]);
  }
}

std::shared_ptr<CommandBuffer> Device::take_command_buffer(VkCommandBuffer handle) {
  indexed_command_buffers.erase(handle);
  return command_buffers_.take(handle);
}

Device::CommandBuffers Device::take_command_buffers(VkCommandPool handle, uint32_t count,
                                                    const VkCommandBuffer* buffers) {
  const std::shared_ptr<CommandPool> pool = pools_.find(handle);
  CommandBuffers taken;
  for (uint32_t i = 0; i < count; ++i) {
    if (buffers[i] == VK_NULL_HANDLE) continue;
    taken.push_back(take_command_buffer(buffers[i]));
    if (pool) std::erase(pool->buffers, buffers[i]);
  }
  return taken;
}

Device::CommandBuffers Device::take_pool(VkCommandPool handle) {
  CommandBuffers taken;
  const std::shared_ptr<CommandPool> pool = pools_.take(handle);
  if (!pool) return taken;
  for (const VkCommandBuffer buffer : pool->buffers) taken.push_back(take_command_buffer(buffer));
  return taken;
}

// Divides a submission at the ends of frames. The last part may be without an end.
Device::Plan Device::plan(Queue& queue, std::span<const SubmittedBatch> batches,
                          const std::vector<VkCommandBuffer>& buffers) {
  Plan plan;
  std::vector<PlannedPart>& parts = plan.parts;
  parts.back().part.frame = frames().current();
  // The part that takes what is submitted next: a new one after the end of a frame.
  const auto next_part = [&]() -> PlannedPart& {
    SubmittedParts::Part& last = parts.back().part;
    if (!last.ended_by) return parts.back();
    last.end_ns = store::monotonic_ns();
    last.frame = frames().end(last.end_ns, connection().orders());
    parts.emplace_back().part.frame = frames().current();
    return parts.back();
  };
  const bool by_label = frames().unit() == FrameUnit::Label;
  size_t next = 0;
  for (const SubmittedBatch& batch : batches) {
    for (; next < batch.end; ++next) {
      const CommandBuffer* buffer = find_command_buffer(buffers[next]);
      const Contents* contents = buffer ? buffer->contents().get() : nullptr;
      if (contents && contents->holds_unrecorded()) next_part();
      size_t first = parts.size() - 1;
      for (size_t i = 0; contents && i < contents->parts().size(); ++i) {
        const RecordedPart& part = contents->parts()[i];
        const bool ends = by_label && queue.ends_frame(part.end);
        if (!ends && part.empty()) continue;
        PlannedPart& planned = next_part();
        planned.executed.emplace_back(contents, &part);
        if (ends) planned.part.ended_by = store::FrameEnd::Label;
        if (i == 0) first = parts.size() - 1;
      }
      if (by_label && contents) queue.leave_open(contents->left_open());
      plan.of_buffers.emplace_back(first, parts.size() - 1);
    }
    if (batch.ends_frame && frames().ends_at_boundary()) {
      next_part().part.ended_by = store::FrameEnd::Boundary;
    }
  }
  if (!buffers.empty() && frames().ends_at_submit()) {
    parts.back().part.ended_by = store::FrameEnd::Submit;
  }
  return plan;
}

SubmittedParts Device::before_submit(Queue& queue, std::span<const SubmittedBatch> batches,
                                     std::vector<VkCommandBuffer>& buffers) {
  Plan planned = plan(queue, batches, buffers);
  SubmittedParts submitted;
  const bool captured =
      measures() && std::ranges::any_of(planned.parts, [](const PlannedPart& one) {
        return one.part.frame.captured;
      });
  Submission* previous = nullptr;
  for (PlannedPart& one : planned.parts) {
    auto submission = std::make_unique<Submission>();
    submission->captured = captured && one.part.frame.captured;
    submission->frame = one.part.frame;
    submission->previous = std::exchange(previous, submission.get());
    for (const auto& [contents, part] : one.executed) {
      if (contents->executes_recordings(captured) && !part->empty()) {
        submission->add(part->recording);
      }
    }
    one.part.submission = std::move(submission);
    submitted.parts.push_back(std::move(one.part));
  }
  for (const SubmittedParts::Part& part : submitted.parts) await_earlier(*part.submission);
  use_contents(planned, buffers, submitted, captured);
  begin_submissions(queue, submitted);
  if (std::ranges::none_of(submitted.parts, [](const auto& part) { return !!part.submission; })) {
    return submitted;
  }
  for (VkCommandBuffer& handle : buffers) {
    const CommandBuffer* buffer = find_command_buffer(handle);
    if (!buffer || buffer->counting() == handle) continue;
    handle = buffer->counting();
    submitted.executes_copies = true;
  }
  return submitted;
}

// Commands that a command buffer in several frames has not recorded are missing from the first one
// of them that is captured.
void Device::use_contents(const Plan& plan, const std::vector<VkCommandBuffer>& buffers,
                          SubmittedParts& submitted, bool captured) {
  bool missing = false;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const CommandBuffer* buffer = find_command_buffer(buffers[i]);
    if (!buffer || !buffer->contents()) continue;
    const auto [first, last] = plan.of_buffers[i];
    ContentsUse use{submitted.parts[last].frame.number, captured};
    buffer->contents()->submit(use);
    frames().saw_lag(use.lag);
    for (size_t part = first; use.not_recorded != 0 && part <= last; ++part) {
      Submission& submission = *submitted.parts[part].submission;
      if (!submission.captured) continue;
      submission.not_recorded += std::exchange(use.not_recorded, 0);
      missing = true;
    }
  }
  if (!buffers.empty()) frames().use();
  if (!missing) return;
  connection().message(store::Severity::Warning,
                       "command buffers of a captured frame are not counted: they are submitted "
                       "once, and were recorded long before the frame");
}

// Drops the submissions of which nothing is captured. A part that is not captured is submitted with
// those that are.
void Device::begin_submissions(Queue& queue, SubmittedParts& submitted) {
  const auto is_captured = [](const auto& part) { return part.submission->captured; };
  const bool any = std::ranges::any_of(submitted.parts, is_captured);
  for (SubmittedParts::Part& part : submitted.parts) {
    Submission& submission = *part.submission;
    submission.previous = nullptr;
    if (!any || (submission.executions.empty() && submission.not_recorded == 0)) {
      part.submission.reset();
      continue;
    }
    submission.queue = queue.id();
    submission.timestamp_bits = queue.timestamp_bits;
    submission.number = next_submission_.fetch_add(1, std::memory_order_relaxed);
    submission.time_ns = store::monotonic_ns();
    submission.label = queue.with_labels([](const LabelStack& all) { return all.innermost(); });
    await_uncaptured(queue, submission);
    submission.for_each_recording(
        [](Recording& recording, uint32_t runs) { recording.before_submit(runs); });
  }
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

void Device::after_submit(Queue& queue, SubmittedParts submitted, VkResult result,
                          const PendingSubmission& item) {
  for (SubmittedParts::Part& part : submitted.parts) {
    if (part.submission && result != VK_SUCCESS) {
      part.submission->for_each_recording(
          [](Recording& recording, uint32_t runs) { recording.submit_failed(runs); });
    } else if (part.submission) {
      PendingSubmission pending;
      pending.value = item.value;
      pending.application_fence = item.application_fence;
      pending.timeline_signals = item.timeline_signals;
      if (part.submission->captured) pending.commands = part.submission->commands();
      if (connection().receiving()) connection().count_submitted(pending.commands);
      pending.submission = std::move(part.submission);
      queue.submission_reader.add(std::move(pending));
    }
    if (!part.ended_by) continue;
    if (&part != &submitted.parts.back()) {
      report_end(queue, {part.frame, part.end_ns, *part.ended_by});
    } else if (result == VK_SUCCESS) {
      end_frame(queue, *part.ended_by);
    }
  }
}

void Device::end_frame(Queue& queue, store::FrameEnd ended_by) {
  const int64_t now = store::monotonic_ns();
  report_end(queue, {frames().end(now, connection().orders()), now, ended_by});
}

void Device::report_end(Queue& queue, const FrameEnd& end) {
  if (stopped() || !connection().receiving()) return;
  if (end.frame.dropped) connection().count_dropped_frame();
  if (!end.frame.captured) return;
  PendingSubmission item;
  item.frame_end = end;
  queue.submission_reader.add(std::move(item));
}

void Device::end_frame_at_wait(FrameUnit kind) {
  if (!frames().ends_at_wait(kind)) return;
  const auto queues = queues_.values();
  if (queues.empty()) return;
  end_frame(*queues.front(),
            kind == FrameUnit::Fence ? store::FrameEnd::Fence : store::FrameEnd::QueueIdle);
}

void Device::report_completed(const SubmissionReader::Matches& matches,
                              std::chrono::milliseconds flush_patience) {
  if (stopped() || !connection().receiving()) return;
  for (const auto& queue : queues_.values())
    queue->submission_reader.wait_for(matches, kReportTimeout);
  connection().flush(flush_patience);
}

// A report delays the next one by 64 times its duration. Reports of the first 20 ms delay nothing.
void Device::report_waited_for(const SubmissionReader::Matches& matches) {
  constexpr int64_t kPrice = 64;
  constexpr int64_t kCreditNs = kPrice * 20'000'000;
  constexpr auto kFlushPatience = std::chrono::milliseconds(50);
  const int64_t begin = store::monotonic_ns();
  if (reports_paid_until_ns_.load(std::memory_order_relaxed) > begin + kCreditNs &&
      std::ranges::none_of(queues_.values(), [](const auto& queue) {
        return queue->submission_reader.is_behind();
      })) {
    return;
  }
  report_completed(matches, kFlushPatience);
  const int64_t price = kPrice * (store::monotonic_ns() - begin);
  const int64_t paid = std::max(reports_paid_until_ns_.load(std::memory_order_relaxed), begin);
  reports_paid_until_ns_.store(paid + price, std::memory_order_relaxed);
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
  if (type == VK_OBJECT_TYPE_SHADER_EXT && name) {
    shader_objects().select_named((VkShaderEXT)handle, name,
                                  connection().settings().shader_pattern);
  }
  if (!thing) return;
  if (name) shaders().select_named(*thing, name, connection().settings().shader_pattern);
  connection().name_changed(std::move(thing), name ? name : "");
}

void Device::stop(std::chrono::milliseconds patience) {
  if (context_.stop()) return;
  for (const auto& queue : queues_.values()) queue->submission_reader.stop(patience);
  reporter_->report_rest();
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
  indexed_devices.insert(device->handle(), device.get());
  devices().insert(key, std::move(device));
}

std::shared_ptr<Device> Device::take(VkDevice handle) {
  indexed_devices.erase(handle);
  auto device = devices().take(vk::dispatch_key(handle));
  const std::unique_lock nobody_else(outside_users());
  return device;
}

std::vector<std::shared_ptr<Device>> Device::all() { return devices().values(); }

}  // namespace tally::capture
