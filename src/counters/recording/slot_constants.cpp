#include "counters/recording/slot_constants.h"

#include <algorithm>
#include <cstring>

namespace tally::counters {

void SlotConstants::keep(const PipelineLayout& layout, uint32_t offset, uint32_t size,
                         const void* values) {
  const uint32_t slot = layout.reserved_offset();
  const uint32_t begin = std::max(offset, slot);
  const uint32_t end =
      std::min<uint32_t>(offset + size, slot + static_cast<uint32_t>(bytes_.size()));
  if (begin >= end) return;
  std::memcpy(bytes_.data() + (begin - slot),
              static_cast<const std::byte*>(values) + (begin - offset), end - begin);
  begin_ = empty() ? begin : std::min(begin_, begin);
  end_ = std::max(end_, end);
}

void SlotConstants::restore(const PipelineLayout& layout, VkCommandBuffer commands) const {
  layout.push_application_bytes(commands, begin_, end_,
                                bytes_.data() + (begin_ - layout.reserved_offset()));
}

}  // namespace tally::counters
