// The boundary between C++ and the C ABI: no exception leaves a layer.
#pragma once

#include <vulkan/vulkan_core.h>

#include <exception>
#include <new>

#include "base/log.h"

namespace tally::vk {

// Runs the body of an entry point that returns VkResult. Exceptions become error codes.
template <typename Body>
VkResult guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return VK_ERROR_OUT_OF_HOST_MEMORY;
  } catch (const std::exception& error) {
    write_log(LogLevel::Error, error.what());
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
  if (result != VK_SUCCESS) failed(result);
}

template <typename Body>
void guarded_void(Body&& body) noexcept {
  guarded_void(body, [](VkResult) { log_once(LogLevel::Error, "out of memory inside the layer"); });
}

}  // namespace tally::vk
