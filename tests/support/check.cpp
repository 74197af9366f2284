#include "support/check.h"

namespace tally::test {

void check(VkResult result, std::source_location where) {
  if (result == VK_SUCCESS) return;
  throw VulkanError(result, std::string(where.file_name()) + ":" + std::to_string(where.line()) +
                                ": VkResult " + std::to_string(result));
}

}  // namespace tally::test
