// Tells the shaders of the next command where their records are: writes tagged record pointers to
// the push constants or the reserved descriptor set of the pipeline's layout.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>

#include "counters/recording/command_state.h"

namespace tally::counters {

class PointerWriter {
 public:
  explicit PointerWriter(CommandState& state) : state_(state) {}

  // The pointers of the record's slots. The pointer to the region's accumulators is added. Fails
  // where memory for a pointer or for a copy of push data is needed; null pointers need none.
  bool write(VkPipelineBindPoint point, const BoundState::Bound& bound,
             const SlotPointers& pointers);
  // The shaders count nothing. Fails where there is no memory for a copy of push data.
  bool write_null(VkPipelineBindPoint point, const BoundState::Bound& bound) {
    return write(point, bound, {});
  }

 private:
  bool push(const BoundState::Bound& bound, const SlotPointers& pointers, uint64_t region);
  uint64_t region_pointer(const BoundState::Bound& bound);
  VkResult next_words(WordPage& page, uint32_t& index);
  bool write_descriptor(VkPipelineBindPoint point, const PipelineLayout& layout, uint64_t record,
                        uint64_t region);

  CommandState& state_;
};

}  // namespace tally::counters
