#include "counters/objects/heap_layouts.h"

namespace tally::counters {

HeapLayouts::HeapLayouts(const LayoutRules& rules, const DeviceTable& next) {
  if (rules.push_data_size == 0 || !next.CmdPushDataEXT) return;
  const LayoutRules heaps = rules.with_heaps();
  const uint32_t ends[] = {0, heaps.reserved_offset() + 1, heaps.slot_offset() + 1};
  for (size_t i = 0; i < layouts_.size(); ++i) {
    layouts_[i] = std::make_shared<PipelineLayout>(ends[i], rules, next);
  }
}

std::shared_ptr<PipelineLayout> HeapLayouts::find(uint32_t end) const {
  if (!layouts_[0]) return nullptr;
  if (end <= layouts_[0]->reserved_offset()) return layouts_[0];
  return end <= layouts_[0]->slot_offset() ? layouts_[1] : layouts_[2];
}

}  // namespace tally::counters
