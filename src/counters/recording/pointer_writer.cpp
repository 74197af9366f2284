#include "counters/recording/pointer_writer.h"

namespace tally::counters {

bool PointerWriter::write(VkPipelineBindPoint point, const BoundState::Bound& bound,
                          const SlotPointers& pointers) {
  state_.bound.invalidate_pointer();
  const PipelineLayout& layout = *bound.pipeline->layout;
  const uint64_t region = region_pointer(bound);
  if (layout.path() == AddressPath::Descriptor) {
    return write_descriptor(point, layout, pointers[0], region);
  }
  return push(bound, pointers, region);
}

// In the order of the push constants (LayoutRules).
bool PointerWriter::push(const BoundState::Bound& bound, const SlotPointers& pointers,
                         uint64_t region) {
  constexpr size_t kOthers = kAddressSlots - kPipelineSlots;
  const LayoutRules& rules = state_.device.objects.layout_rules;
  const PipelineLayout& layout = *bound.pipeline->layout;
  std::array<uint64_t, kAddressSlots + 2> words{};
  for (size_t i = 0; i < kOthers; ++i) words[i] = pointers[kAddressSlots - 1 - i];
  size_t used = kOthers;
  if (layout.moves_blocks()) {
    words[used] = state_.bound.copy_push_data(state_.device.memory.context);
    if (words[used] == 0) return false;
  }
  if (layout.has_heaps()) ++used;
  const size_t slots = used;
  for (size_t i = 0; i < rules.address_slots; ++i) words[used++] = pointers[i];
  if (rules.region_slot) words[used++] = region;
  size_t first = slots;
  uint32_t offset = layout.slot_offset();
  if (bound.pipeline->shaders && !layout.covers_reserved()) {
    first = 0;
    offset = layout.reserved_offset();
  } else if (layout.moves_blocks()) {
    first = kOthers;
    offset = layout.block_address_offset();
  }
  const auto pushed = std::span(words).subspan(first, used - first);
  if (layout.has_heaps()) {
    state_.bound.overwrite_push_data(offset, offset + static_cast<uint32_t>(pushed.size_bytes()));
  }
  layout.push_pointers(state_.handle, offset, pushed);
  state_.bound.note_overwritten_constants();
  return true;
}

uint64_t PointerWriter::region_pointer(const BoundState::Bound& bound) {
  uint64_t pointer = 0;
  if (state_.status.has(RecordingStatus::kRegions) && counts_regions(bound.variant)) {
    state_.status.note(state_.regions->next_pointer(pointer));
  }
  return pointer;
}

// The outermost active feature owns the memory.
VkResult PointerWriter::next_words(WordPage& page, uint32_t& index) {
  if (state_.instrumentation.active()) return state_.instrumentation.next_words(page, index);
  return state_.status.has(RecordingStatus::kQueryShaders)
             ? state_.queries->next_words(page, index)
             : state_.regions->next_words(page, index);
}

bool PointerWriter::write_descriptor(VkPipelineBindPoint point, const PipelineLayout& layout,
                                     uint64_t record, uint64_t region) {
  WordPage page = state_.device.memory.words.null_word();
  uint32_t index = 0;
  if (record != 0 || region != 0) {
    const VkResult result = next_words(page, index);
    if (result != VK_SUCCESS) {
      state_.status.note(result);
      return false;
    }
    page.write(index, record, region);
    if (!state_.instrumentation.active() && state_.status.has(RecordingStatus::kQueryShaders)) {
      state_.queries->passes().add({page, index, record, region});
    }
  }
  const uint32_t dynamic_offset = page.dynamic_offset(index);
  state_.next.CmdBindDescriptorSets(state_.handle, point, layout.handle(), layout.reserved_set(), 1,
                                    &page.set, 1, &dynamic_offset);
  return true;
}

}  // namespace tally::counters
