// The index of a draw among those with contiguous records (probe/record.h), by which the vertex and
// fragment stages find their record.
//
// The vertex stage reads it from the upper 16 bits of its instance index if a tag of the record
// pointer says so; otherwise the index is 0. The code has it as the distance between the records of
// draw index 0 and of the draw, in bytes. The fragment stage gets that from the vertex stage.
#pragma once

#include "spirv/instrument/builtins.h"
#include "spirv/instrument/tagged_record_pointers.h"

namespace tally::spirv {

class PackedDrawIndex {
 public:
  // BlockCountOptions::packed_draw_indices is set.
  PackedDrawIndex(PassContext& context, Builtins& builtins, const TaggedRecordPointers& pointers);

  // At the start of the entry point.
  void begin(InstructionBuilder& code);
  // The distance, from the tagged pointer to the record of draw index 0.
  uint32_t read(InstructionBuilder& code, uint32_t record_pointer);
  // The same in the entry point.
  uint32_t read_in_entry_point(InstructionBuilder& code, uint32_t record_pointer) {
    return at_start_ != 0 ? at_start_ : read(code, record_pointer);
  }

 private:
  PassContext& context_;
  Editor& editor_;
  Builtins& builtins_;
  const TaggedRecordPointers& pointers_;
  uint32_t u32_;
  uint32_t variable_ = 0;  // the output or input that passes the distance, or 0
  uint32_t at_start_ = 0;  // the distance at the start of the entry point, or 0
};

}  // namespace tally::spirv
