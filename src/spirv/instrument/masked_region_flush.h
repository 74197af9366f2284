// The flush of counters by region for drivers that execute both sides of every branch with a mask
// (llvmpipe before 25.0). There an access to memory is a loop over the lanes, which is short only
// for lanes that are masked out, and the only branch is the one back to the start of a loop. So:
//
// - One lane loads the words of the block and passes them on, and the same lane does all additions.
// - A loop over the enabled counters replaces a branch for each possible counter.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "spirv/instrument/counting.h"
#include "spirv/instrument/region_place.h"
#include "spirv/instrument/region_values.h"

namespace tally::spirv {

class MaskedRegionFlush {
 public:
  // `own` emits the code for the lane's value of a counter.
  using OwnValue = std::function<uint32_t(InstructionBuilder&, const RegionValue&)>;

  MaskedRegionFlush(PassContext& context, HelperMask& helper_mask, RegionPlace& place,
                    std::span<const RegionValue> values, OwnValue own);

  void emit(InstructionBuilder& code, uint32_t block);

 private:
  static constexpr uint32_t kWords = 8;  // from RegionWord::AccumulatorsLow to Multiview
  // Computed once.
  struct Place {
    uint32_t wanted = 0;   // bit mask of the enabled counters of this shader
    uint32_t region = 0;   // of the lane
    uint32_t address = 0;  // of the accumulators of region 0
    uint32_t can_add = 0;  // boolean: this is the lane that adds, and a counter is enabled
    uint32_t pending = 0;  // boolean: the lane counts and lies in a region
  };

  void load_words(InstructionBuilder& code, uint32_t block, uint32_t first);
  RegionPlace::Pair load_pair(InstructionBuilder& code, uint32_t block, probe::RegionWord index);
  uint32_t loaded(probe::RegionWord index) const;
  void add_by_region(InstructionBuilder& code, const Place& place);
  void add_in_turn(InstructionBuilder& code, const Place& place, uint32_t region, uint32_t mine);
  uint32_t chosen(InstructionBuilder& code, uint32_t bit);

  uint32_t constant(uint32_t value) const { return editor_.constant_u32(value); }
  uint32_t binary(InstructionBuilder& code, spv::Op op, uint32_t a, uint32_t b) const {
    return code.emit(op, u32_, {a, b});
  }
  uint32_t compare(InstructionBuilder& code, spv::Op op, uint32_t a, uint32_t b) const {
    return code.emit(op, boolean_, {a, b});
  }
  uint32_t both(InstructionBuilder& code, uint32_t a, uint32_t b) const {
    return code.emit(spv::Op::OpLogicalAnd, boolean_, {a, b});
  }
  uint32_t select(InstructionBuilder& code, uint32_t condition, uint32_t yes, uint32_t no) const {
    return code.emit(spv::Op::OpSelect, u32_, {condition, yes, no});
  }

  Editor& editor_;
  HelperMask& helper_mask_;
  RegionPlace& place_;
  std::span<const RegionValue> values_;
  OwnValue own_;
  SubgroupCode subgroup_;
  std::vector<uint32_t> words_;  // ids
  uint32_t boolean_, u32_;
  bool int64_;  // the device has 64-bit integers
};

}  // namespace tally::spirv
