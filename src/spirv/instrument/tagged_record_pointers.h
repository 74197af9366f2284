// Where instrumented code finds its address words: one, or two next to each other, in a push
// constant or at the start of a uniform buffer.
#pragma once

#include "base/status.h"
#include "spirv/instrument/context.h"

namespace tally::spirv {

class TaggedRecordPointers {
 public:
  // The block counts' record, and the block of the counters by region (probe/region.h).
  enum class Word : uint32_t { Record, Region };

  // With two words where the pass counts by region.
  static Result<TaggedRecordPointers> make(PassContext& context);

  // Two 32-bit words, and whether they are set at all.
  uint32_t load(InstructionBuilder& code, Word word) const;
  uint32_t is_set(InstructionBuilder& code, uint32_t record_pointer) const;
  // Whether the high half of the instance index is the number of the draw.
  uint32_t has_numbered_draws(InstructionBuilder& code, uint32_t record_pointer) const;

 private:
  explicit TaggedRecordPointers(PassContext& context);
  Status make_push_constant();
  void make_uniform_buffer();
  uint32_t new_words_struct() const;

  Editor& editor_;
  const PassContext& context_;
  uint32_t u32_, uvec2_;
  bool two_;
  uint32_t variable_ = 0;
  uint32_t member_ = 0;
  spv::StorageClass storage_ = spv::StorageClass::PushConstant;
};

}  // namespace tally::spirv
