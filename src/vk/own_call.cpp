#include "vk/own_call.h"

#include <utility>

namespace tally::vk {
namespace {

constinit thread_local OwnFailure last;

}  // namespace

VkResult own(const char* command, VkResult result) {
  if (result < 0) last = {result, command};
  return result;
}

OwnFailure take_own_failure() { return std::exchange(last, {}); }

OwnFailure take_own_failure(VkResult result) {
  return last.result == result ? take_own_failure() : OwnFailure{result};
}

std::string OwnFailure::text() const {
  if (!what) return result_name(result);
  return std::string(what) + " failed with " + result_name(result);
}

std::vector<VkExtensionProperties> list_extensions(PFN_vkEnumerateDeviceExtensionProperties next,
                                                   VkPhysicalDevice device) {
  constexpr int kAttempts = 3;
  std::vector<VkExtensionProperties> extensions;
  VkResult result = VK_INCOMPLETE;
  for (int failures = 0; result != VK_SUCCESS && failures < kAttempts;) {
    uint32_t count = 0;
    result = next(device, nullptr, &count, nullptr);
    extensions.resize(count);
    if (result == VK_SUCCESS) result = next(device, nullptr, &count, extensions.data());
    if (own("vkEnumerateDeviceExtensionProperties", result) < 0) ++failures;
    extensions.resize(result < 0 ? 0 : count);
  }
  return extensions;
}

std::string result_name(VkResult result) {
  switch (result) {
#define TALLY_NAME(name) \
  case name:             \
    return #name;
    TALLY_NAME(VK_ERROR_OUT_OF_HOST_MEMORY)
    TALLY_NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    TALLY_NAME(VK_ERROR_INITIALIZATION_FAILED)
    TALLY_NAME(VK_ERROR_DEVICE_LOST)
    TALLY_NAME(VK_ERROR_MEMORY_MAP_FAILED)
    TALLY_NAME(VK_ERROR_EXTENSION_NOT_PRESENT)
    TALLY_NAME(VK_ERROR_FEATURE_NOT_PRESENT)
    TALLY_NAME(VK_ERROR_TOO_MANY_OBJECTS)
    TALLY_NAME(VK_ERROR_FRAGMENTED_POOL)
    TALLY_NAME(VK_ERROR_OUT_OF_POOL_MEMORY)
    TALLY_NAME(VK_ERROR_FRAGMENTATION)
    TALLY_NAME(VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS)
    TALLY_NAME(VK_ERROR_UNKNOWN)
#undef TALLY_NAME
    default:
      return "VkResult " + std::to_string(static_cast<int>(result));
  }
}

}  // namespace tally::vk
