// The number of a draw among those whose records stand in a row (probe/record.h): what instrumented
// code of the vertex and the fragment stage finds its own record by.
//
// The vertex stage has it in the high half of its instance index, where the address word says so;
// else it is 0. The fragment stage gets it from the vertex stage.
#pragma once

#include "spirv/instrument/builtins.h"
#include "spirv/instrument/physical_memory.h"
#include "spirv/instrument/tagged_record_pointers.h"

namespace tally::spirv {

class PackedDrawIndex {
 public:
  // The options say that draws have numbers.
  PackedDrawIndex(PassContext& context, Builtins& builtins, const TaggedRecordPointers& words);

  // Where the entry point begins.
  void begin(InstructionBuilder& code);
  // The address word of the draw's own record, from that of the record of number 0.
  uint32_t own_word(InstructionBuilder& code, uint32_t record_pointer);

 private:
  uint32_t number(InstructionBuilder& code, uint32_t record_pointer);

  PassContext& context_;
  Editor& editor_;
  Builtins& builtins_;
  const TaggedRecordPointers& words_;
  PhysicalMemory memory_;
  uint32_t u32_;
  uint32_t variable_ = 0;  // that goes from stage to stage, if one does
};

}  // namespace tally::spirv
