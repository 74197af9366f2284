// Calls of the next layer that a layer makes for itself. The application did not make them, so it
// does not get their errors: the layer goes on without what they would have made, and names the
// call in a message.
#pragma once

#include <vulkan/vulkan_core.h>

#include <chrono>
#include <exception>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/status.h"

// For TALLY_TRY, which returns each result but VK_SUCCESS.
namespace tally::tried {

inline bool has_failed(VkResult result) { return result != VK_SUCCESS; }
inline VkResult failure_of(VkResult result) { return result; }
inline void value_of(VkResult) {}

}  // namespace tally::tried

namespace tally::vk {

// Remembers a failure for this thread. Returns `result`: own("vkCreateFence",
// next.CreateFence(...)).
VkResult own(const char* command, VkResult result);
// The same for a call that makes an object: its handle is null after a failure.
template <typename Handle>
VkResult own(const char* command, VkResult result, Handle& handle) {
  if (result != VK_SUCCESS) handle = VK_NULL_HANDLE;
  return own(command, result);
}

// The failed call, for a message. Kept until the message can be sent.
struct OwnFailure {
  VkResult result = VK_SUCCESS;
  const char* what = nullptr;  // the call; null if it is not known

  // E.g. "vkCreateFence failed with VK_ERROR_OUT_OF_HOST_MEMORY".
  std::string text() const;
};

// The last failure of this thread; with `result`, only if it returned that. A later call does not
// return it again.
OwnFailure take_own_failure();
OwnFailure take_own_failure(VkResult result);

// Waits for work of the layer: `wait()` is the call `command`. Where the wait itself fails, calls
// `ask()` until it returns another result than VK_NOT_READY: what is submitted may still use the
// layer's memory. Returns VK_SUCCESS, VK_TIMEOUT, or an error that no other call can repair, such
// as a lost device.
template <typename Wait, typename Ask>
VkResult wait_for_own(const char* command, const Wait& wait, const Ask& ask, uint64_t timeout) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPause(1);
  const Clock::time_point begin = Clock::now();
  const VkResult result = wait();
  if (result >= 0 || result == VK_ERROR_DEVICE_LOST) return result;
  own(command, result);
  for (;;) {
    const VkResult status = ask();
    if (status != VK_NOT_READY) return status;
    const auto waited = std::chrono::nanoseconds(Clock::now() - begin).count();
    if (static_cast<uint64_t>(waited) >= timeout) return VK_TIMEOUT;
    std::this_thread::sleep_for(kPause);
  }
}

template <typename Table>
VkResult wait_for_own_fence(Table& next, VkDevice device, VkFence fence, uint64_t timeout) {
  return wait_for_own(
      "vkWaitForFences", [&] { return next.WaitForFences(device, 1, &fence, VK_TRUE, timeout); },
      [&] { return next.GetFenceStatus(device, fence); }, timeout);
}

// For a value of a timeline semaphore.
template <typename Table>
VkResult wait_for_own_value(Table& next, VkDevice device, VkSemaphore semaphore, uint64_t value,
                            uint64_t timeout) {
  const VkSemaphoreWaitInfo info{
      VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, nullptr, 0, 1, &semaphore, &value};
  const auto ask = [&] {
    uint64_t reached = 0;
    const VkResult result = next.GetSemaphoreCounterValue(device, semaphore, &reached);
    return result == VK_SUCCESS && reached < value ? VK_NOT_READY : result;
  };
  return wait_for_own(
      "vkWaitSemaphores", [&] { return next.WaitSemaphores(device, &info, timeout); }, ask,
      timeout);
}

// The extensions of a device. Tries again where the next layer refuses for want of memory; empty
// where they cannot be enumerated.
std::vector<VkExtensionProperties> list_extensions(PFN_vkEnumerateDeviceExtensionProperties next,
                                                   VkPhysicalDevice device);

// E.g. "VK_ERROR_OUT_OF_DEVICE_MEMORY"; "VkResult -1000174001" for rare ones.
std::string result_name(VkResult result);

// The boundary between C++ and the C ABI: no exception leaves a layer.

// Runs what reports a failure. Without memory, nothing is reported.
template <typename Report>
void try_to_report(Report&& run) noexcept {
  try {
    run();
  } catch (const std::exception&) {
  }
}

// Runs the body of an entry point that returns VkResult. Exceptions become error codes.
template <typename Body>
VkResult guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return VK_ERROR_OUT_OF_HOST_MEMORY;
  } catch (const std::exception& error) {
    try_to_report([&] { write_log(LogLevel::Error, error.what()); });
    return VK_ERROR_UNKNOWN;
  }
}

// Runs the body of an entry point that returns void. An exception is caught and passed to `failed`
// as a VkResult.
template <typename Body, typename Failed>
void guarded_void(Body&& body, Failed&& failed) noexcept {
  const VkResult result = guarded([&] {
    body();
    return VK_SUCCESS;
  });
  if (result != VK_SUCCESS) try_to_report([&] { failed(result); });
}

template <typename Body>
void guarded_void(Body&& body) noexcept {
  guarded_void(body, [](VkResult) { log_once(LogLevel::Error, "out of memory inside the layer"); });
}

}  // namespace tally::vk
