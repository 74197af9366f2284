#include "counters/queries/copyable_buffer.h"

namespace tally::counters {

CopyableBuffer::CopyableBuffer(const VkBufferCreateInfo& info, bool queries)
    : info_(info), chain_(queries ? info.pNext : nullptr) {
  constexpr uint64_t kBound =
      VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_BUFFER_BIT_EXT | VK_BUFFER_USAGE_INDEX_BUFFER_BIT;
  constexpr uint64_t kCopied = VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT |
                               VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_COUNTER_BUFFER_BIT_EXT |
                               VK_BUFFER_USAGE_INDEX_BUFFER_BIT;
  if (!queries) return;
  // If the struct is present, the driver ignores VkBufferCreateInfo::usage.
  auto* newer = chain_.find<VkBufferUsageFlags2CreateInfoKHR>(
      VK_STRUCTURE_TYPE_BUFFER_USAGE_FLAGS_2_CREATE_INFO_KHR);
  if (newer && (newer->usage & kCopied) != 0) {
    newer->usage |= VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
  } else if (!newer && (info_.usage & kCopied) != 0) {
    info_.usage |= VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
  }
  is_bound_ = ((newer ? newer->usage : info_.usage) & kBound) != 0;
  info_.pNext = chain_.head();
}

}  // namespace tally::counters
