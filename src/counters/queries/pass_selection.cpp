#include "counters/queries/pass_selection.h"

namespace tally::counters {

void PassSelection::reset() {
  condition_.reset();
  conditions_.clear();
  pointers_.clear();
}

VkResult PassSelection::begin_variant(bool counting) {
  if (!condition_) {
    HostBlock word;
    const VkResult result = batches_.take_word(word);
    if (result != VK_SUCCESS) return result;
    condition_ = word;
    conditions_.push_back(word);
  }
  constexpr VkConditionalRenderingFlagsEXT kInverted = VK_CONDITIONAL_RENDERING_INVERTED_BIT_EXT;
  const VkConditionalRenderingBeginInfoEXT condition{
      .sType = VK_STRUCTURE_TYPE_CONDITIONAL_RENDERING_BEGIN_INFO_EXT,
      .buffer = condition_->chunk->buffer(),
      .offset = condition_->offset,
      .flags = counting ? 0u : kInverted};
  context_.next.CmdBeginConditionalRenderingEXT(context_.commands, &condition);
  return VK_SUCCESS;
}

void PassSelection::end_variant() const {
  context_.next.CmdEndConditionalRenderingEXT(context_.commands);
}

// Only performance queries have several passes.
void PassSelection::add(const DescriptorPointers& pointers) {
  if (context_.state.emulated.performance) pointers_.push_back(pointers);
}

void PassSelection::follow(const PassSelection& executed) {
  conditions_.insert(conditions_.end(), executed.conditions_.begin(), executed.conditions_.end());
  pointers_.insert(pointers_.end(), executed.pointers_.begin(), executed.pointers_.end());
  batches_.follow(executed.batches_);
}

void PassSelection::select(uint32_t pass) const {
  batches_.set_pass(pass);
  const bool counts = pass == 0;
  const uint32_t condition = counts ? 1 : 0;
  for (const HostBlock& word : conditions_) word.write(0, &condition, sizeof condition);
  for (const DescriptorPointers& one : pointers_) {
    one.page.write(one.index, counts ? one.record : 0, one.region);
  }
}

}  // namespace tally::counters
