// The tagged pointers that instrumented code reads: to its record, and after it to the region
// block, in a push constant or at the start of a uniform buffer.
#pragma once

#include "base/status.h"
#include "spirv/instrument/context.h"

namespace tally::spirv {

class TaggedRecordPointers {
 public:
  // The record of the block counts, and the block of the region counters (probe/region.h).
  enum class Kind : uint32_t { Record, Region };

  // Has both pointers if the pass counts by region.
  static Result<TaggedRecordPointers> make(PassContext& context);

  // A pointer as two 32-bit words, and whether it is set.
  uint32_t load(InstructionBuilder& code, Kind kind) const;
  uint32_t is_set(InstructionBuilder& code, uint32_t record_pointer) const;
  // Whether the upper 16 bits of the instance index hold the packed draw index.
  uint32_t has_packed_draw_indices(InstructionBuilder& code, uint32_t record_pointer) const;

 private:
  explicit TaggedRecordPointers(PassContext& context);
  Status make_push_constant();
  void make_uniform_buffer();
  uint32_t new_pointers_struct() const;

  Editor& editor_;
  const PassContext& context_;
  uint32_t u32_, uvec2_;
  bool two_;
  uint32_t variable_ = 0;
  uint32_t member_ = 0;
  spv::StorageClass storage_ = spv::StorageClass::PushConstant;
};

}  // namespace tally::spirv
