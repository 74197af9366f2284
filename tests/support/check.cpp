#include "support/check.h"

namespace tally::test {

void check(VkResult result, const char* file, int line) {
  if (result == VK_SUCCESS) return;
  throw VulkanError(result, std::string(file) + ":" + std::to_string(line) + ": VkResult " +
                                std::to_string(result));
}

}  // namespace tally::test
