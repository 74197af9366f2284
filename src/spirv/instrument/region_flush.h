// The flush of counters by region: the lanes of a subgroup sum, and add to the accumulators of
// their region.
//
// - Lanes whose subgroup began in several regions, which is rare, each add their own values.
// - The accumulators of a region are one line of memory. Lane i adds the sum of accumulator i, so
//   all sums take one addition. Where there are fewer lanes, they take further turns.
// - Counters of instruction classes are sums over the same few variables: the subgroup sums the
//   variables, unless there are more of them than of such counters.
// - Small numbers are bytes of one variable, so one sum serves all.
// - A disabled counter costs a branch if it needs a sum of its own.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "spirv/instrument/counting.h"
#include "spirv/instrument/region_place.h"
#include "spirv/instrument/region_values.h"

namespace tally::spirv {

class RegionFlush {
 public:
  // `variables`: ids of the private variables that the values refer to. `together`: whether the
  // stage has subgroup operations.
  RegionFlush(PassContext& context, Builtins& builtins, HelperMask& helper_mask, RegionPlace& place,
              std::span<const RegionValue> values, std::span<const uint32_t> variables,
              bool together);

  // Where an invocation adds, as ids.
  struct Place {
    uint32_t wanted = 0;   // bit mask of the enabled counters, 0 outside of all regions; and kAlone
    uint32_t address = 0;  // of the accumulators of the invocation's region
  };
  // The subgroup began in several regions. No counter has this bit.
  static constexpr uint32_t kAlone = 1u << 31;
  void emit(InstructionBuilder& code, const Place& place);
  // The lane's value of a counter.
  uint32_t own_value(InstructionBuilder& code, const RegionValue& value);

 private:
  void add_alone(InstructionBuilder& code, uint32_t address);
  void add_together(InstructionBuilder& code, uint32_t address);
  uint32_t wanted_sum(InstructionBuilder& code, const RegionValue& value);
  void share_out(InstructionBuilder& code, uint32_t address, std::span<const uint32_t> sums);
  void rank_lanes(InstructionBuilder& code);
  // Sets sums_ of the variables where one of the counters is wanted, and to 0 elsewhere.
  void sum_variables(InstructionBuilder& code, std::span<const uint32_t> variables, uint32_t bits);
  uint32_t sum(InstructionBuilder& code, const RegionValue& value);
  uint32_t sum_of_lanes(InstructionBuilder& code, uint32_t own);
  // constant x `ones` + sum of factor x variable.
  uint32_t byte_of(InstructionBuilder& code, const RegionValue& value, uint32_t word);
  uint32_t combine(InstructionBuilder& code, const RegionValue& value, uint32_t ones,
                   const std::function<uint32_t(uint32_t)>& variable);
  bool uses_sums(const RegionValue& value) const {
    return value.byte || (value.of_blocks && !summed_.empty());
  }
  // True if its sum is an operation of the subgroup. Otherwise it follows from sums_ and lanes_.
  bool needs_lanes(const RegionValue& value) const {
    return (!value.terms.empty() || value.of_samples) && !uses_sums(value);
  }
  uint32_t is_wanted(InstructionBuilder& code, uint32_t bits);

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
  Builtins& builtins_;
  HelperMask& helper_mask_;
  RegionPlace& place_;
  std::span<const RegionValue> values_;
  std::span<const uint32_t> variables_;
  SubgroupCode subgroup_;
  bool together_;
  uint32_t boolean_, u32_;
  uint32_t accumulators_ = 0;  // up to the last one that the shader adds to
  // Indices of the block counters that the subgroup sums, and of the variable with bytes, if there
  // is one. The ids of the sums, by variable.
  std::vector<uint32_t> summed_, bytes_;
  std::vector<uint32_t> sums_;
  // Ids.
  uint32_t wanted_ = 0;  // Place::wanted
  uint32_t live_ = 0;    // boolean: the invocation counts
  uint32_t alone_ = 0;   // boolean: it adds its own values
  uint32_t lanes_ = 0;   // number of live lanes; 1 if alone
  uint32_t rank_ = 0;    // among the live lanes; 0 if alone
};

}  // namespace tally::spirv
