#include "spirv/instrument/counting.h"

namespace tally::spirv {

using spv::GroupOperation;
using spv::Op;

SubgroupCode::SubgroupCode(Editor& editor)
    : editor_(editor),
      boolean_(editor.type_bool()),
      u32_(editor.type_int(32)),
      uvec4_(editor.type_vector(u32_, 4)),
      scope_(editor.constant_u32(word(spv::Scope::Subgroup))) {}

uint32_t SubgroupCode::ballot(InstructionBuilder& code, uint32_t live) {
  editor_.add_capability(spv::Capability::GroupNonUniformBallot);
  const uint32_t condition = live != 0 ? live : editor_.constant_bool(true);
  return code.emit(Op::OpGroupNonUniformBallot, uvec4_, {scope_, condition});
}

uint32_t SubgroupCode::bit_count(InstructionBuilder& code, uint32_t ballot) {
  return code.emit(Op::OpGroupNonUniformBallotBitCount, u32_,
                   {scope_, word(GroupOperation::Reduce), ballot});
}

uint32_t SubgroupCode::bits_below(InstructionBuilder& code, uint32_t ballot) {
  return code.emit(Op::OpGroupNonUniformBallotBitCount, u32_,
                   {scope_, word(GroupOperation::ExclusiveScan), ballot});
}

uint32_t SubgroupCode::lowest(InstructionBuilder& code, uint32_t ballot) {
  return code.emit(Op::OpGroupNonUniformBallotFindLSB, u32_, {scope_, ballot});
}

uint32_t SubgroupCode::is_lowest(InstructionBuilder& code, uint32_t ballot, uint32_t live) {
  const uint32_t below = bits_below(code, ballot);
  const uint32_t lowest = code.emit(Op::OpIEqual, boolean_, {below, editor_.constant_u32(0)});
  return live == 0 ? lowest : code.emit(Op::OpLogicalAnd, boolean_, {lowest, live});
}

uint32_t SubgroupCode::elect(InstructionBuilder& code) {
  return code.emit(Op::OpGroupNonUniformElect, boolean_, {scope_});
}

uint32_t SubgroupCode::of_lowest(InstructionBuilder& code, uint32_t value) {
  editor_.add_capability(spv::Capability::GroupNonUniformBallot);
  return code.emit(Op::OpGroupNonUniformBroadcastFirst, u32_, {scope_, value});
}

uint32_t SubgroupCode::any(InstructionBuilder& code, uint32_t condition) {
  editor_.add_capability(spv::Capability::GroupNonUniformVote);
  return code.emit(Op::OpGroupNonUniformAny, boolean_, {scope_, condition});
}

uint32_t SubgroupCode::all_equal(InstructionBuilder& code, uint32_t value) {
  editor_.add_capability(spv::Capability::GroupNonUniformVote);
  return code.emit(Op::OpGroupNonUniformAllEqual, boolean_, {scope_, value});
}

uint32_t SubgroupCode::sum(InstructionBuilder& code, uint32_t value) {
  editor_.add_capability(spv::Capability::GroupNonUniformArithmetic);
  return code.emit(Op::OpGroupNonUniformIAdd, u32_, {scope_, word(GroupOperation::Reduce), value});
}

uint32_t SubgroupCode::sum_of_8(InstructionBuilder& code, uint32_t value) {
  editor_.add_capability(spv::Capability::GroupNonUniformShuffle);
  for (const uint32_t distance : {1, 2, 4}) {
    const uint32_t other = code.emit(Op::OpGroupNonUniformShuffleXor, u32_,
                                     {scope_, value, editor_.constant_u32(distance)});
    value = code.emit(Op::OpIAdd, u32_, {value, other});
  }
  return value;
}

uint32_t SubgroupCode::minimum(InstructionBuilder& code, uint32_t value) {
  editor_.add_capability(spv::Capability::GroupNonUniformArithmetic);
  return code.emit(Op::OpGroupNonUniformUMin, u32_, {scope_, word(GroupOperation::Reduce), value});
}

}  // namespace tally::spirv
