// What we know of every SPIR-V opcode without looking at a module: its layout.
#pragma once

#include <cstdint>
#include <spirv/unified1/spirv.hpp11>

namespace tally::spirv {

// Where an instruction's type and result ids stand, and how short it may be. An opcode that we do
// not know has known == false, no ids and a minimum of one word.
struct OpcodeLayout {
  bool known = false;
  bool has_type = false;
  bool has_result = false;
  uint8_t min_words = 1;
};

OpcodeLayout opcode_layout(spv::Op opcode);

// Ends a block: branches, returns, kills, and the calls that do not come back.
bool is_terminator(spv::Op opcode);

// OpLine, OpNoLine and OpNop may stand anywhere and do nothing.
bool is_line(spv::Op opcode);

}  // namespace tally::spirv
