// Checks of Vulkan results in tests. A failure throws an exception, which GoogleTest reports as the
// test's failure.
#pragma once

#include <vulkan/vulkan.h>

#include <stdexcept>
#include <string>

namespace tally::test {

// A Vulkan call that a test relies on failed.
class VulkanError : public std::runtime_error {
 public:
  VulkanError(VkResult result, const std::string& message)
      : std::runtime_error(message), result_(result) {}
  VkResult result() const { return result_; }

 private:
  VkResult result_;
};

// Throws VulkanError unless `result` is VK_SUCCESS. (std::source_location would also give the
// location, but clang 14 lacks it.)
void check(VkResult result, const char* file = __builtin_FILE(), int line = __builtin_LINE());

}  // namespace tally::test
