// Queues. Each submission also signals a timeline semaphore of the layer, and a present ends the
// frame. When the application learns that work has completed, the layer first sends its
// measurements, because the application may exit soon afterwards; if it waits often, the layer
// leaves them to its own thread (Device::report_waited_for).
#include <algorithm>
#include <span>

#include "capture/entry/entry.h"
#include "vk/chain.h"
#include "vk/own_call.h"

namespace tally::capture {
namespace {

// The data that the capture needs from arrays of VkSubmitInfo and VkSubmitInfo2.
struct SubmitContents {
  std::vector<VkCommandBuffer> buffers;
  std::vector<SubmittedBatch> batches;
  std::vector<std::pair<VkSemaphore, uint64_t>> signals;  // with the timeline semaphore value

  void add(const VkSubmitInfo& info) {
    buffers.insert(buffers.end(), info.pCommandBuffers,
                   info.pCommandBuffers + info.commandBufferCount);
    const auto* timeline = vk::find_in_chain<VkTimelineSemaphoreSubmitInfo>(
        info.pNext, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
    if (!timeline || !timeline->pSignalSemaphoreValues) return;
    const uint32_t count = std::min(info.signalSemaphoreCount, timeline->signalSemaphoreValueCount);
    for (uint32_t i = 0; i < count; ++i) {
      signals.emplace_back(info.pSignalSemaphores[i], timeline->pSignalSemaphoreValues[i]);
    }
  }
  void add(const VkSubmitInfo2& info) {
    for (uint32_t i = 0; i < info.commandBufferInfoCount; ++i) {
      buffers.push_back(info.pCommandBufferInfos[i].commandBuffer);
    }
    for (uint32_t i = 0; i < info.signalSemaphoreInfoCount; ++i) {
      signals.emplace_back(info.pSignalSemaphoreInfos[i].semaphore,
                           info.pSignalSemaphoreInfos[i].value);
    }
  }
};

// True if the application marks the submission as the last one of a frame.
bool marks_frame_end(const void* chain) {
  const auto* boundary =
      vk::find_in_chain<VkFrameBoundaryEXT>(chain, VK_STRUCTURE_TYPE_FRAME_BOUNDARY_EXT);
  return boundary && (boundary->flags & VK_FRAME_BOUNDARY_FRAME_END_BIT_EXT) != 0;
}

// Copies of chains without VkFrameBoundaryEXT, for drivers that lack the extension.
class UnmarkedChains {
 public:
  template <typename Info>
  void remove_from(Info& info) {
    if (!vk::find_in_chain<VkFrameBoundaryEXT>(info.pNext, VK_STRUCTURE_TYPE_FRAME_BOUNDARY_EXT)) {
      return;
    }
    vk::ChainCopy& copy = copies_.emplace_back(info.pNext);
    copy.remove(VK_STRUCTURE_TYPE_FRAME_BOUNDARY_EXT);
    info.pNext = copy.head();
  }

 private:
  std::vector<vk::ChainCopy> copies_;
};

// The infos of a submission with other command buffers in place of the application's, or without
// frame boundaries.
struct ReplacedInfos {
  template <typename Info>
  void unmark(std::span<const Info> infos) {
    std::vector<Info>& used = copies(infos);
    for (Info& info : used) unmarked.remove_from(info);
  }

  void replace(std::span<const VkSubmitInfo> infos, std::span<const VkCommandBuffer> buffers) {
    copies(infos);
    for (VkSubmitInfo& info : plain) {
      info.pCommandBuffers = buffers.data();
      buffers = buffers.subspan(info.commandBufferCount);
    }
  }
  void replace(std::span<const VkSubmitInfo2> infos, std::span<const VkCommandBuffer> buffers) {
    copies(infos);
    buffer_infos.reserve(buffers.size());  // pointers into it stay valid
    size_t next = 0;
    for (VkSubmitInfo2& info : extended) {
      const VkCommandBufferSubmitInfo* given = info.pCommandBufferInfos;
      info.pCommandBufferInfos = buffer_infos.data() + next;
      for (uint32_t i = 0; i < info.commandBufferInfoCount; ++i) {
        buffer_infos.push_back(given[i]);
        buffer_infos.back().commandBuffer = buffers[next++];
      }
    }
  }
  const VkSubmitInfo* get(const VkSubmitInfo* infos) const {
    return plain.empty() ? infos : plain.data();
  }
  const VkSubmitInfo2* get(const VkSubmitInfo2* infos) const {
    return extended.empty() ? infos : extended.data();
  }

  std::vector<VkSubmitInfo>& copies(std::span<const VkSubmitInfo> infos) {
    if (plain.empty()) plain.assign(infos.begin(), infos.end());
    return plain;
  }
  std::vector<VkSubmitInfo2>& copies(std::span<const VkSubmitInfo2> infos) {
    if (extended.empty()) extended.assign(infos.begin(), infos.end());
    return extended;
  }

  std::vector<VkSubmitInfo> plain;
  std::vector<VkSubmitInfo2> extended;
  std::vector<VkCommandBufferSubmitInfo> buffer_infos;
  UnmarkedChains unmarked;
};

// `call(next layer, count, infos)` submits.
template <typename Info, typename Call>
VkResult submit(VkQueue handle, uint32_t count, const Info* infos, VkFence fence,
                Call call) noexcept {
  const std::shared_ptr<Device> device = Device::find(handle);
  if (!device) return VK_ERROR_DEVICE_LOST;
  std::shared_ptr<Queue> queue;
  SubmitContents contents;
  SubmittedParts submitted;
  ReplacedInfos replaced;
  uint64_t value = 0;
  VkResult result = VK_SUCCESS;
  vk::guarded_void(
      [&] {
        queue = device->queue(handle);
        const Boundaries& boundaries = device->boundaries();
        for (uint32_t i = 0; i < count; ++i) {
          contents.add(infos[i]);
          contents.batches.push_back(
              {contents.buffers.size(), boundaries.enabled && marks_frame_end(infos[i].pNext)});
        }
        if (boundaries.enabled && !boundaries.native) replaced.unmark(std::span(infos, count));
        if (queue) submitted = device->before_submit(*queue, contents.batches, contents.buffers);
        if (submitted.executes_copies) {
          replaced.replace(std::span(infos, count), contents.buffers);
        }
      },
      [&](VkResult) {
        // The application's submission runs as it is.
        replaced = {};
        if (submitted.parts.empty()) return;
        vk::guarded_void([&] {
          for (const SubmittedParts::Part& part : submitted.parts) {
            if (!part.submission) continue;
            part.submission->for_each_recording(
                [](Recording& recording, uint32_t runs) { recording.execution_lost(runs); });
          }
          device->connection().message(store::Severity::Error,
                                       "a submission is not captured: out of memory");
        });
        submitted = {};
      });
  {
    const ReasonCollector reasons(ReasonCollector::kRegions);
    const auto submit = [&](std::span<const Info> batches) {
      return result = call(device->table(), static_cast<uint32_t>(batches.size()), batches.data());
    };
    const std::span batches(replaced.get(infos), count);
    if (submitted.captures() && queue->submission_reader.timeline().exists()) {
      value = queue->submission_reader.timeline().signal([&](VkSemaphore semaphore, uint64_t next) {
        const vk::SignalledBatches<Info> all(batches, semaphore, next);
        return submit({all.data(), all.count()});
      });
    } else {
      submit(batches);
    }
    vk::guarded_void([&] {
      if (!reasons.text().empty()) {
        device->connection().message(store::Severity::Warning, reasons.text());
      }
    });
  }
  vk::guarded_void([&] {
    if (!queue) return;
    PendingSubmission item;
    item.value = value;
    item.application_fence = fence;
    item.timeline_signals = std::move(contents.signals);
    device->after_submit(*queue, std::move(submitted), result, item);
  });
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL QueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos,
                                           VkFence fence) {
  return submit(queue, count, infos, fence,
                [&](const DeviceTable& next, uint32_t all, const VkSubmitInfo* batches) {
                  return next.QueueSubmit(queue, all, batches, fence);
                });
}

VKAPI_ATTR VkResult VKAPI_CALL QueueSubmit2(VkQueue queue, uint32_t count,
                                            const VkSubmitInfo2* infos, VkFence fence) {
  return submit(queue, count, infos, fence,
                [&](const DeviceTable& next, uint32_t all, const VkSubmitInfo2* batches) {
                  return next.QueueSubmit2(queue, all, batches, fence);
                });
}

// Ends a frame for each mark. The command buffers of a submission are elsewhere.
void end_marked_frames(Device& device, VkQueue handle, uint32_t marks) {
  const auto queue = marks != 0 ? device.queue(handle) : nullptr;
  if (!queue || !device.frames().ends_at_boundary()) return;
  for (uint32_t i = 0; i < marks; ++i) device.end_frame(*queue, store::FrameEnd::Boundary);
}

VKAPI_ATTR VkResult VKAPI_CALL QueueBindSparse(VkQueue handle, uint32_t count,
                                               const VkBindSparseInfo* infos, VkFence fence) {
  return vk::guarded([&] {
    const auto device = Device::find(handle);
    const Boundaries& boundaries = device->boundaries();
    std::vector<VkBindSparseInfo> copies;
    UnmarkedChains unmarked;
    uint32_t marks = 0;
    for (uint32_t i = 0; boundaries.enabled && i < count; ++i) {
      if (marks_frame_end(infos[i].pNext)) ++marks;
    }
    vk::guarded_void(
        [&] {
          if (!boundaries.enabled || boundaries.native) return;
          copies.assign(infos, infos + count);
          for (VkBindSparseInfo& info : copies) unmarked.remove_from(info);
        },
        [&](VkResult) { copies.clear(); });
    const VkResult result = device->table().QueueBindSparse(
        handle, count, copies.empty() ? infos : copies.data(), fence);
    if (result == VK_SUCCESS) {
      vk::guarded_void([&] { end_marked_frames(*device, handle, marks); });
    }
    return result;
  });
}

VKAPI_ATTR VkResult VKAPI_CALL QueuePresentKHR(VkQueue handle, const VkPresentInfoKHR* info) {
  return vk::guarded([&] {
    const auto device = Device::find(handle);
    const Boundaries& boundaries = device->boundaries();
    VkPresentInfoKHR used = *info;
    UnmarkedChains unmarked;
    const bool marked = boundaries.enabled && marks_frame_end(info->pNext);
    vk::guarded_void([&] {
      if (boundaries.enabled && !boundaries.native) unmarked.remove_from(used);
    });
    const VkResult result = device->table().QueuePresentKHR(handle, &used);
    vk::guarded_void([&] {
      if (marked) return end_marked_frames(*device, handle, 1);
      const auto queue = device->queue(handle);
      if (queue && device->frames().ends_at_present()) {
        device->end_frame(*queue, store::FrameEnd::Present);
      }
    });
    return result;
  });
}

VKAPI_ATTR VkResult VKAPI_CALL QueueWaitIdle(VkQueue handle) {
  return vk::guarded([&] {
    const auto device = Device::find(handle);
    const VkResult result = device->table().QueueWaitIdle(handle);
    const auto queue = device->queue(handle);
    if (result != VK_SUCCESS || !queue) return result;
    device->end_frame_at_wait(FrameUnit::QueueIdle);
    device->report_queue_completed(*queue);
    return result;
  });
}

VKAPI_ATTR VkResult VKAPI_CALL DeviceWaitIdle(VkDevice handle) {
  return vk::guarded([&] {
    const auto device = Device::find(handle);
    const VkResult result = device->table().DeviceWaitIdle(handle);
    if (result != VK_SUCCESS) return result;
    device->end_frame_at_wait(FrameUnit::QueueIdle);
    device->report_completed([](const PendingSubmission&) { return true; });
    return result;
  });
}

VKAPI_ATTR VkResult VKAPI_CALL WaitForFences(VkDevice handle, uint32_t count, const VkFence* fences,
                                             VkBool32 all, uint64_t timeout) {
  return vk::guarded([&] {
    const auto device = Device::find(handle);
    const VkResult result = device->table().WaitForFences(handle, count, fences, all, timeout);
    if (result != VK_SUCCESS) return result;
    device->end_frame_at_wait(FrameUnit::Fence);
    std::vector<VkFence> signalled;
    for (uint32_t i = 0; i < count; ++i) {
      const bool known = all == VK_TRUE || count == 1;
      if (known || device->table().GetFenceStatus(handle, fences[i]) == VK_SUCCESS) {
        signalled.push_back(fences[i]);
      }
    }
    device->report_waited_for([&](const PendingSubmission& item) {
      return item.application_fence != VK_NULL_HANDLE &&
             std::find(signalled.begin(), signalled.end(), item.application_fence) !=
                 signalled.end();
    });
    return result;
  });
}

VKAPI_ATTR VkResult VKAPI_CALL GetFenceStatus(VkDevice handle, VkFence fence) {
  return vk::guarded([&] {
    const auto device = Device::find(handle);
    const VkResult result = device->table().GetFenceStatus(handle, fence);
    if (result != VK_SUCCESS) return result;
    device->end_frame_at_wait(FrameUnit::Fence);
    device->report_waited_for(
        [&](const PendingSubmission& item) { return item.application_fence == fence; });
    return result;
  });
}

// True if the item's submission signals the semaphore with at most this value.
bool signals(const PendingSubmission& item, VkSemaphore semaphore, uint64_t value) {
  return std::any_of(item.timeline_signals.begin(), item.timeline_signals.end(),
                     [&](const std::pair<VkSemaphore, uint64_t>& signal) {
                       return signal.first == semaphore && signal.second <= value;
                     });
}

VKAPI_ATTR VkResult VKAPI_CALL WaitSemaphores(VkDevice handle, const VkSemaphoreWaitInfo* info,
                                              uint64_t timeout) {
  return vk::guarded([&] {
    const auto device = Device::find(handle);
    const VkResult result = device->table().WaitSemaphores(handle, info, timeout);
    const bool all = (info->flags & VK_SEMAPHORE_WAIT_ANY_BIT) == 0 || info->semaphoreCount == 1;
    if (result == VK_SUCCESS) device->end_frame_at_wait(FrameUnit::Fence);
    if (result != VK_SUCCESS || !all) return result;
    device->report_waited_for([&](const PendingSubmission& item) {
      for (uint32_t i = 0; i < info->semaphoreCount; ++i) {
        if (signals(item, info->pSemaphores[i], info->pValues[i])) return true;
      }
      return false;
    });
    return result;
  });
}

VKAPI_ATTR VkResult VKAPI_CALL GetSemaphoreCounterValue(VkDevice handle, VkSemaphore semaphore,
                                                        uint64_t* value) {
  return vk::guarded([&] {
    const auto device = Device::find(handle);
    const VkResult result = device->table().GetSemaphoreCounterValue(handle, semaphore, value);
    if (result == VK_SUCCESS) {
      device->report_waited_for(
          [&](const PendingSubmission& item) { return signals(item, semaphore, *value); });
    }
    return result;
  });
}

VKAPI_ATTR void VKAPI_CALL GetDeviceQueue(VkDevice handle, uint32_t family, uint32_t index,
                                          VkQueue* queue) {
  vk::guarded_void([&] {
    const auto device = Device::find(handle);
    device->table().GetDeviceQueue(handle, family, index, queue);
    vk::guarded_void([&] { device->add_queue(*queue, family, index); });
  });
}

VKAPI_ATTR void VKAPI_CALL GetDeviceQueue2(VkDevice handle, const VkDeviceQueueInfo2* info,
                                           VkQueue* queue) {
  vk::guarded_void([&] {
    const auto device = Device::find(handle);
    device->table().GetDeviceQueue2(handle, info, queue);
    vk::guarded_void([&] { device->add_queue(*queue, info->queueFamilyIndex, info->queueIndex); });
  });
}

}  // namespace

std::span<const DeviceHook> queue_hooks() {
#define TALLY_ROW(name, suffix) device_hook<&DeviceTable::name>("vk" #name suffix, name)
  static const DeviceHook rows[] = {
      TALLY_ROW(QueueSubmit, ""),
      TALLY_ROW(QueueSubmit2, ""),
      TALLY_ROW(QueueSubmit2, "KHR"),
      TALLY_ROW(QueueBindSparse, ""),
      TALLY_ROW(QueuePresentKHR, ""),
      TALLY_ROW(QueueWaitIdle, ""),
      TALLY_ROW(DeviceWaitIdle, ""),
      TALLY_ROW(WaitForFences, ""),
      TALLY_ROW(GetFenceStatus, ""),
      TALLY_ROW(WaitSemaphores, ""),
      TALLY_ROW(WaitSemaphores, "KHR"),
      TALLY_ROW(GetSemaphoreCounterValue, ""),
      TALLY_ROW(GetSemaphoreCounterValue, "KHR"),
      TALLY_ROW(GetDeviceQueue, ""),
      TALLY_ROW(GetDeviceQueue2, ""),
  };
#undef TALLY_ROW
  return rows;
}

}  // namespace tally::capture
