// The number of a draw among those whose records stand in a row (probe/record.h): what instrumented
// code of the vertex and the fragment stage finds its own record by.
//
// The vertex stage has it in the high half of its instance index, where the address word says so;
// else it is 0. The fragment stage gets it from the vertex stage.
#pragma once

#include "spirv/pass/address_words.h"
#include "spirv/pass/builtins.h"
#include "spirv/pass/physical_memory.h"

namespace tally::spirv {

class DrawNumber {
 public:
  // The options say that draws have numbers.
  DrawNumber(PassContext& context, Builtins& builtins, const AddressWords& words);

  // Where the entry point begins.
  void begin(Code& code);
  // The address word of the draw's own record, from that of the record of number 0.
  uint32_t own_word(Code& code, uint32_t address_word);

 private:
  uint32_t number(Code& code, uint32_t address_word);

  PassContext& context_;
  Editor& editor_;
  Builtins& builtins_;
  const AddressWords& words_;
  PhysicalMemory memory_;
  uint32_t u32_;
  uint32_t variable_ = 0;  // that goes from stage to stage, if one does
};

}  // namespace tally::spirv
