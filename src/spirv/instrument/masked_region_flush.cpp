#include "spirv/instrument/masked_region_flush.h"

#include <utility>

namespace tally::spirv {

using probe::RegionWord;
using spv::Op;

namespace {

constexpr uint32_t kFirstWord = static_cast<uint32_t>(RegionWord::AccumulatorsLow);

}  // namespace

MaskedRegionFlush::MaskedRegionFlush(PassContext& context, HelperMask& helper_mask,
                                     RegionPlace& place, std::span<const RegionValue> values,
                                     OwnValue own)
    : editor_(context.editor),
      helper_mask_(helper_mask),
      place_(place),
      values_(values),
      own_(std::move(own)),
      subgroup_(editor_),
      words_(context.options.regions->multiview ? kWords : kWords - 1),
      boolean_(editor_.type_bool()),
      u32_(editor_.type_int(32)),
      int64_(context.options.int64) {}

void MaskedRegionFlush::emit(InstructionBuilder& code, uint32_t block) {
  const uint32_t live = helper_mask_.is_live(code);
  const uint32_t first = subgroup_.is_lowest(code, subgroup_.ballot(code, live), live);
  load_words(code, block, first);
  uint32_t ours = 0;
  for (const RegionValue& value : values_) ours |= 1u << value.accumulator;
  Place place;
  place.wanted = binary(code, Op::OpBitwiseAnd, loaded(RegionWord::Wanted), constant(ours));
  place.region = place_.find(code, [&](RegionWord index) { return loaded(index); });
  place.address =
      code.emit(Op::OpCompositeConstruct, editor_.type_vector(u32_, 2),
                {loaded(RegionWord::AccumulatorsLow), loaded(RegionWord::AccumulatorsHigh)});
  place.can_add = both(code, first, compare(code, Op::OpINotEqual, place.wanted, constant(0)));
  place.pending = both(
      code, live, compare(code, Op::OpINotEqual, place.region, constant(RegionPlace::kNowhere)));
  add_by_region(code, place);
}

// On these drivers the lanes outside of a triangle, and those demoted to helpers, are masked out,
// so the lowest live lane is the first active one. The address is for the lane that has loaded it.
void MaskedRegionFlush::load_words(InstructionBuilder& code, uint32_t block, uint32_t first) {
  const uint32_t before = *code.last_label();
  uint32_t inside = 0;
  uint32_t memory[kWords];
  code.if_then(
      first,
      [&] {
        for (uint32_t i = 0; i < kWords; i += 2) {
          const auto index = static_cast<RegionWord>(kFirstWord + i);
          const auto [low, high] = load_pair(code, block, index);
          memory[i] = low;
          memory[i + 1] = high;
        }
      },
      &inside);
  for (uint32_t i = 0; i < words_.size(); ++i) {
    words_[i] = code.phi(u32_, {{constant(0), before}, {memory[i], inside}});
  }
  editor_.add_capability(spv::Capability::GroupNonUniformBallot);
  const uint32_t scope = constant(static_cast<uint32_t>(spv::Scope::Subgroup));
  for (uint32_t i = static_cast<uint32_t>(RegionWord::Wanted) - kFirstWord; i < words_.size();
       ++i) {
    words_[i] = code.emit(Op::OpGroupNonUniformBroadcastFirst, u32_, {scope, words_[i]});
  }
}

RegionPlace::Pair MaskedRegionFlush::load_pair(InstructionBuilder& code, uint32_t block,
                                               RegionWord index) {
  if (int64_) return place_.load_pair(code, block, index);
  const auto next = static_cast<RegionWord>(static_cast<uint32_t>(index) + 1);
  return {place_.load(code, block, index), place_.load(code, block, next)};
}

uint32_t MaskedRegionFlush::loaded(RegionWord index) const {
  return words_[static_cast<uint32_t>(index) - kFirstWord];
}

// The regions of the subgroup's lanes, usually one.
void MaskedRegionFlush::add_by_region(InstructionBuilder& code, const Place& place) {
  code.repeat(boolean_, place.pending, [&](uint32_t pending) {
    const uint32_t own = select(code, pending, place.region, constant(RegionPlace::kNowhere));
    const uint32_t region = subgroup_.minimum(code, own);
    const uint32_t mine = both(code, pending, compare(code, Op::OpIEqual, own, region));
    add_in_turn(code, place, region, mine);
    const uint32_t rest = both(code, pending, compare(code, Op::OpINotEqual, own, region));
    return InstructionBuilder::Turn{rest, subgroup_.any(code, rest)};
  });
}

void MaskedRegionFlush::add_in_turn(InstructionBuilder& code, const Place& place, uint32_t region,
                                    uint32_t mine) {
  const uint32_t address = place_.advance(code, place.address, region);
  const uint32_t adds = both(
      code, place.can_add, compare(code, Op::OpINotEqual, region, constant(RegionPlace::kNowhere)));
  code.repeat(u32_, place.wanted, [&](uint32_t wanted) {
    const uint32_t rest =
        binary(code, Op::OpBitwiseAnd, wanted, binary(code, Op::OpISub, wanted, constant(1)));
    const uint32_t bit = binary(code, Op::OpBitwiseXor, wanted, rest);
    const uint32_t sum = subgroup_.sum(code, select(code, mine, chosen(code, bit), constant(0)));
    code.if_then(adds, [&] {
      const uint32_t accumulator =
          code.emit(Op::OpBitCount, u32_, {binary(code, Op::OpISub, bit, constant(1))});
      place_.add_to_chosen(code, address, accumulator, sum);
    });
    return InstructionBuilder::Turn{rest, compare(code, Op::OpINotEqual, rest, constant(0))};
  });
}

// The lane's value of the counter with this bit.
uint32_t MaskedRegionFlush::chosen(InstructionBuilder& code, uint32_t bit) {
  uint32_t result = constant(0);
  for (const RegionValue& value : values_) {
    const uint32_t is_it = compare(code, Op::OpIEqual, bit, constant(1u << value.accumulator));
    result = select(code, is_it, own_(code, value), result);
  }
  return result;
}

}  // namespace tally::spirv
