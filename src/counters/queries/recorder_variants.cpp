// Commands that are recorded twice, for passes that count and for passes that take the time: the
// GPU leaves out one of them by a word that the host sets before each submission.
#include <algorithm>

#include "counters/layer/device.h"
#include "counters/queries/recorder.h"

namespace tally::counters {

bool QueryRecorder::waits() const {
  return times_apart_ != 0 && work_.ends.empty() && work_.timestamps.empty() &&
         work_.indices.empty() && std::ranges::all_of(work_.arguments, &QueryArguments::copied);
}

bool QueryRecorder::runs_twice() const {
  return times_apart_ != 0 && !conditioned_ && !defers_timestamps_ &&
         device_.instrumentation()->memory.conditions;
}

VkResult QueryRecorder::begin_variant(bool counting) {
  if (!condition_word_) {
    HostBlock word;
    const VkResult result = batches_.take_word(word);
    if (result != VK_SUCCESS) return result;
    condition_word_ = word;
    condition_words_.push_back(word);
  }
  constexpr VkConditionalRenderingFlagsEXT kInverted = VK_CONDITIONAL_RENDERING_INVERTED_BIT_EXT;
  const VkConditionalRenderingBeginInfoEXT condition{
      .sType = VK_STRUCTURE_TYPE_CONDITIONAL_RENDERING_BEGIN_INFO_EXT,
      .buffer = condition_word_->chunk->buffer(),
      .offset = condition_word_->offset,
      .flags = counting ? 0u : kInverted};
  device_.next().CmdBeginConditionalRenderingEXT(commands_, &condition);
  return VK_SUCCESS;
}

void QueryRecorder::end_variant() const { device_.next().CmdEndConditionalRenderingEXT(commands_); }

}  // namespace tally::counters
