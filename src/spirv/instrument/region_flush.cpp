#include "spirv/instrument/region_flush.h"

#include <algorithm>

namespace tally::spirv {

using spv::Op;

RegionFlush::RegionFlush(PassContext& context, Builtins& builtins, HelperMask& helper_mask,
                         RegionPlace& place, std::span<const RegionValue> values,
                         std::span<const uint32_t> variables, bool together)
    : editor_(context.editor),
      builtins_(builtins),
      helper_mask_(helper_mask),
      place_(place),
      values_(values),
      variables_(variables),
      subgroup_(editor_),
      together_(together),
      boolean_(editor_.type_bool()),
      u32_(editor_.type_int(32)),
      sums_(variables.size()) {
  size_t of_blocks = 0;
  std::vector<bool> is_summed(variables.size());
  for (const RegionValue& value : values_) {
    accumulators_ = std::max(accumulators_, value.accumulator + 1);
    if (value.byte) bytes_ = {value.terms.front().variable};
    if (!value.of_blocks || value.terms.empty()) continue;
    ++of_blocks;
    for (const RegionValue::Term& term : value.terms) {
      if (!is_summed[term.variable]) summed_.push_back(term.variable);
      is_summed[term.variable] = true;
    }
  }
  if (summed_.size() > of_blocks) summed_.clear();
}

void RegionFlush::emit(InstructionBuilder& code, const Place& place) {
  uint32_t ours = 0;
  for (const RegionValue& value : values_) ours |= 1u << value.accumulator;
  wanted_ = place.wanted;
  code.if_then(is_wanted(code, ours), [&] {
    live_ = helper_mask_.is_live(code);
    if (together_) {
      add_together(code, place.address);
    } else {
      code.if_then(live_, [&] { add_alone(code, place.address); });
    }
  });
}

void RegionFlush::add_alone(InstructionBuilder& code, uint32_t address) {
  for (const RegionValue& value : values_) {
    code.if_then(is_wanted(code, 1u << value.accumulator),
                 [&] { place_.add(code, address, value.accumulator, own_value(code, value)); });
  }
}

void RegionFlush::add_together(InstructionBuilder& code, uint32_t address) {
  rank_lanes(code);
  uint32_t of_blocks = 0, of_bytes = 0;
  for (const RegionValue& value : values_) {
    if (uses_sums(value)) (value.byte ? of_bytes : of_blocks) |= 1u << value.accumulator;
  }
  sum_variables(code, summed_, of_blocks);
  sum_variables(code, bytes_, of_bytes);
  if (values_.size() == 1) {
    const uint32_t all = sum(code, values_.front());
    const uint32_t adds = both(code, live_, compare(code, Op::OpIEqual, rank_, constant(0)));
    code.if_then(adds, [&] { place_.add(code, address, values_.front().accumulator, all); });
    return;
  }
  std::vector<uint32_t> sums;  // 0: computed where it is added
  for (const RegionValue& value : values_) {
    sums.push_back(needs_lanes(value) ? wanted_sum(code, value) : 0);
  }
  share_out(code, address, sums);
}

// The sum over the subgroup, or 0 if nobody wants it.
uint32_t RegionFlush::wanted_sum(InstructionBuilder& code, const RegionValue& value) {
  const uint32_t before = *code.last_label();
  uint32_t inside = 0;
  uint32_t all = 0;
  code.if_then(
      is_wanted(code, 1u << value.accumulator), [&] { all = sum(code, value); }, &inside);
  return code.phi(u32_, {{constant(0), before}, {all, inside}});
}

// Each lane adds the sum of the counter that has its rank. Where the subgroup has fewer live lanes
// than there are counters, it takes further turns: the next lanes_ counters, and so on.
void RegionFlush::share_out(InstructionBuilder& code, uint32_t address,
                            std::span<const uint32_t> sums) {
  const uint32_t step =
      select(code, compare(code, Op::OpIEqual, lanes_, constant(0)), constant(1), lanes_);
  code.repeat(u32_, constant(0), [&](uint32_t first) {
    const uint32_t mine = binary(code, Op::OpIAdd, first, rank_);
    uint32_t value = constant(0);
    for (size_t i = 0; i < values_.size(); ++i) {
      const uint32_t all = sums[i] != 0 ? sums[i] : sum(code, values_[i]);
      value = select(code, compare(code, Op::OpIEqual, mine, constant(values_[i].accumulator)), all,
                     value);
    }
    const uint32_t bit = binary(code, Op::OpBitwiseAnd,
                                binary(code, Op::OpShiftRightLogical, wanted_,
                                       binary(code, Op::OpBitwiseAnd, mine, constant(31))),
                                constant(1));
    const uint32_t adds = both(code, compare(code, Op::OpINotEqual, bit, constant(0)),
                               compare(code, Op::OpINotEqual, value, constant(0)));
    code.if_then(both(code, live_, adds),
                 [&] { place_.add_to_chosen(code, address, mine, value); });
    const uint32_t next = binary(code, Op::OpIAdd, first, step);
    return InstructionBuilder::Turn{next,
                                    compare(code, Op::OpULessThan, next, constant(accumulators_))};
  });
}

void RegionFlush::rank_lanes(InstructionBuilder& code) {
  alone_ = is_wanted(code, kAlone);
  const uint32_t ballot = subgroup_.ballot(code, live_);
  const uint32_t all = subgroup_.bit_count(code, ballot);
  // On some drivers a discarded lane keeps running but takes part in no ballot.
  live_ = both(code, live_, compare(code, Op::OpINotEqual, all, constant(0)));
  lanes_ = select(code, alone_, constant(1), all);
  rank_ = select(code, alone_, constant(0), subgroup_.bits_below(code, ballot));
}

void RegionFlush::sum_variables(InstructionBuilder& code, std::span<const uint32_t> variables,
                                uint32_t bits) {
  if (variables.empty()) return;
  const uint32_t before = *code.last_label();
  uint32_t inside = 0;
  code.if_then(
      is_wanted(code, bits),
      [&] {
        for (const uint32_t variable : variables) {
          sums_[variable] = sum_of_lanes(code, code.load(u32_, variables_[variable]));
        }
      },
      &inside);
  for (const uint32_t variable : variables) {
    sums_[variable] = code.phi(u32_, {{constant(0), before}, {sums_[variable], inside}});
  }
}

// The lane's own value if it adds alone.
uint32_t RegionFlush::sum(InstructionBuilder& code, const RegionValue& value) {
  if (value.terms.empty() && !value.of_samples) return combine(code, value, lanes_, {});
  if (value.byte) return byte_of(code, value, sums_[value.terms.front().variable]);
  if (!uses_sums(value)) return sum_of_lanes(code, own_value(code, value));
  return combine(code, value, lanes_, [&](uint32_t variable) { return sums_[variable]; });
}

uint32_t RegionFlush::sum_of_lanes(InstructionBuilder& code, uint32_t own) {
  const uint32_t all = subgroup_.sum(code, select(code, live_, own, constant(0)));
  return select(code, alone_, own, all);
}

uint32_t RegionFlush::own_value(InstructionBuilder& code, const RegionValue& value) {
  if (value.of_samples) {
    return code.emit(Op::OpBitCount, u32_, {builtins_.sample_mask(code)});
  }
  if (value.byte) {
    return byte_of(code, value, code.load(u32_, variables_[value.terms.front().variable]));
  }
  return combine(code, value, constant(1),
                 [&](uint32_t variable) { return code.load(u32_, variables_[variable]); });
}

// The sum over a subgroup is at most its number of lanes, so no byte of a sum overflows.
uint32_t RegionFlush::byte_of(InstructionBuilder& code, const RegionValue& value, uint32_t word) {
  const uint32_t shifted =
      *value.byte == 0 ? word
                       : binary(code, Op::OpShiftRightLogical, word, constant(8 * *value.byte));
  return binary(code, Op::OpBitwiseAnd, shifted, constant(0xff));
}

uint32_t RegionFlush::combine(InstructionBuilder& code, const RegionValue& value, uint32_t ones,
                              const std::function<uint32_t(uint32_t)>& variable) {
  uint32_t sum = 0;
  const auto add = [&](uint32_t number, uint32_t factor) {
    if (factor != 1) number = binary(code, Op::OpIMul, number, constant(factor));
    sum = sum == 0 ? number : binary(code, Op::OpIAdd, sum, number);
  };
  if (value.constant != 0) add(ones, value.constant);
  for (const RegionValue::Term& term : value.terms) add(variable(term.variable), term.factor);
  return sum;
}

uint32_t RegionFlush::is_wanted(InstructionBuilder& code, uint32_t bits) {
  const uint32_t some = binary(code, Op::OpBitwiseAnd, wanted_, constant(bits));
  return compare(code, Op::OpINotEqual, some, constant(0));
}

}  // namespace tally::spirv
