#include "counters/objects/heap_layouts.h"

namespace tally::counters {

HeapLayouts::HeapLayouts(const LayoutRules& rules, const DeviceTable& next)
    : rules_(rules), next_(next), enabled_(rules.push_data_size != 0 && next.CmdPushDataEXT) {}

std::shared_ptr<PipelineLayout> HeapLayouts::find(PushReads reads, bool all_slots) const {
  if (!enabled_) return nullptr;
  LayoutRules rules = rules_.with_heaps();
  const auto begin = [&] {
    return all_slots ? rules.reserved_offset() : rules.block_address_offset();
  };
  const uint32_t bytes = rules.push_data_size - begin();
  uint32_t end = rules.push_data_size;
  while (end >= bytes && (reads.fixed & PushReads::mask(end - bytes, end)) != 0) end -= 8;
  bool moves_blocks = false;
  if (end < bytes) {
    end = 0;
  } else {
    rules.push_constant_size = end;
    moves_blocks = reads.block_end > begin();
  }
  // Whatever else those shaders read that have the usual place makes no difference.
  if (end == rules.push_data_size) reads = {moves_blocks ? UINT32_MAX : 0, 0};
  const std::lock_guard lock(mutex_);
  std::shared_ptr<PipelineLayout>& layout = layouts_[{reads, all_slots}];
  if (!layout) {
    layout = std::make_shared<PipelineLayout>(reads, end, moves_blocks, rules_, next_);
  }
  return layout;
}

}  // namespace tally::counters
