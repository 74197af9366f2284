#include "catalogue/catalogue.h"
#include "spirv/instrument/region_counting.h"

#include <algorithm>
#include <utility>

namespace tally::spirv {

using probe::RegionWord;
using spv::Op;
using spv::StorageClass;

RegionPlace::RegionPlace(PassContext& context, Builtins& builtins)
    : WordCode(context.editor), context_(context), builtins_(builtins), memory_(context) {
  block_type_ = make_block_type(u32_, 4);
}

// struct { word words[n]; } needs neither pointer arithmetic nor OpArrayLength.
uint32_t RegionPlace::make_block_type(uint32_t word_type, uint32_t word_bytes) {
  const uint32_t words = probe::kRegionAccumulatorBytes / word_bytes;
  const uint32_t array = editor_.new_array(word_type, constant(words));
  editor_.decorate(array, spv::Decoration::ArrayStride, {word_bytes});
  const uint32_t block = editor_.new_struct({array});
  editor_.decorate(block, spv::Decoration::Block);
  editor_.decorate_member(block, 0, spv::Decoration::Offset, {0});
  return editor_.type_pointer(StorageClass::PhysicalStorageBuffer, block);
}

uint32_t RegionPlace::load(InstructionBuilder& code, uint32_t block, RegionWord index) const {
  const uint32_t pointer_type = editor_.type_pointer(StorageClass::PhysicalStorageBuffer, u32_);
  const uint32_t pointer =
      code.access_chain(pointer_type, block, {constant(0), constant(word(index))});
  return code.load(u32_, pointer, {word(spv::MemoryAccessMask::Aligned), 4});
}

RegionPlace::Pair RegionPlace::load_pair(InstructionBuilder& code, uint32_t block,
                                         RegionWord index) {
  const uint32_t u64 = editor_.type_int(64);
  if (pairs_type_ == 0) {
    editor_.add_capability(spv::Capability::Int64);
    pairs_type_ = make_block_type(u64, 8);
  }
  const uint32_t pairs = code.emit(Op::OpBitcast, pairs_type_, {block});
  const uint32_t pointer =
      code.access_chain(editor_.type_pointer(StorageClass::PhysicalStorageBuffer, u64), pairs,
                        {constant(0), constant(word(index) / 2)});
  const uint32_t both = code.load(u64, pointer, {word(spv::MemoryAccessMask::Aligned), 8});
  const uint32_t halves = code.emit(Op::OpBitcast, editor_.type_vector(u32_, 2), {both});
  return {.first = code.emit(Op::OpCompositeExtract, u32_, {halves, 0}),
          .second = code.emit(Op::OpCompositeExtract, u32_, {halves, 1})};
}

RegionPlace::Pair RegionPlace::split(InstructionBuilder& code, uint32_t pair) const {
  return {.first = binary(code, Op::OpBitwiseAnd, pair, constant(0xffff)),
          .second = binary(code, Op::OpShiftRightLogical, pair, constant(16))};
}

uint32_t RegionPlace::layer(InstructionBuilder& code, const Load& load) {
  const RegionOptions& options = *context_.options.regions;
  uint32_t layer = 0;
  if (options.layer_capability) {
    editor_.add_capability(*options.layer_capability);
    layer = builtins_.number(code, spv::BuiltIn::Layer, 1, 0);
  }
  if (!options.multiview) return layer;
  editor_.add_capability(spv::Capability::MultiView);
  editor_.add_extension("SPV_KHR_multiview", make_version(1, 3));
  const uint32_t view = builtins_.number(code, spv::BuiltIn::ViewIndex, 1, 0);
  const uint32_t multiview =
      compare(code, Op::OpINotEqual, load(RegionWord::Multiview), constant(0));
  return code.emit(Op::OpSelect, u32_, {multiview, view, layer == 0 ? constant(0) : layer});
}

uint32_t RegionPlace::find(InstructionBuilder& code, const Load& load) {
  const Pair offset = split(code, load(RegionWord::Offset));
  const Pair size_log2 = split(code, load(RegionWord::SizeLog2));
  const auto [columns, rows] = split(code, load(RegionWord::Regions));
  const auto index = [&](uint32_t component, uint32_t begin, uint32_t log2) {
    const uint32_t pixel = builtins_.number(code, spv::BuiltIn::FragCoord, 4, component);
    return binary(code, Op::OpShiftRightLogical, binary(code, Op::OpISub, pixel, begin), log2);
  };
  const uint32_t column = index(0, offset.first, size_log2.first);
  const uint32_t row = index(1, offset.second, size_log2.second);
  uint32_t exists = both(code, compare(code, Op::OpULessThan, column, columns),
                         compare(code, Op::OpULessThan, row, rows));
  uint32_t line = row;
  if (const uint32_t own_layer = layer(code, load); own_layer != 0) {
    const uint32_t layers = load(RegionWord::Layers);
    exists = both(code, exists, compare(code, Op::OpULessThan, own_layer, layers));
    line = binary(code, Op::OpIAdd, binary(code, Op::OpIMul, own_layer, rows), row);
  }
  const uint32_t region = binary(code, Op::OpIAdd, binary(code, Op::OpIMul, line, columns), column);
  return code.emit(Op::OpSelect, u32_, {exists, region, constant(kNowhere)});
}

uint32_t RegionPlace::accumulators(InstructionBuilder& code, uint32_t block) const {
  return code.emit(Op::OpCompositeConstruct, editor_.type_vector(u32_, 2),
                   {load(code, block, RegionWord::AccumulatorsLow),
                    load(code, block, RegionWord::AccumulatorsHigh)});
}

uint32_t RegionPlace::advance(InstructionBuilder& code, uint32_t accumulators,
                              uint32_t region) const {
  return memory_.advance(
      code, accumulators,
      binary(code, Op::OpIMul, region, constant(probe::kRegionAccumulatorBytes)));
}

uint32_t RegionPlace::accumulator(InstructionBuilder& code, uint32_t address,
                                  uint32_t index) const {
  const uint32_t block = code.emit(Op::OpBitcast, block_type_, {address});
  const uint32_t pointer_type = editor_.type_pointer(StorageClass::PhysicalStorageBuffer, u32_);
  return code.access_chain(pointer_type, block, {constant(0), constant(index)});
}

void RegionPlace::add(InstructionBuilder& code, uint32_t address, uint32_t index,
                      uint32_t value) const {
  memory_.add(code, u32_, accumulator(code, address, index), value);
}

void RegionPlace::add_to_chosen(InstructionBuilder& code, uint32_t address, uint32_t index,
                                uint32_t value) const {
  const uint32_t block = code.emit(Op::OpBitcast, block_type_, {address});
  const uint32_t pointer_type = editor_.type_pointer(StorageClass::PhysicalStorageBuffer, u32_);
  memory_.add(code, u32_, code.access_chain(pointer_type, block, {constant(0), index}), value);
}

namespace {

using catalogue::Number;

// The instruction classes that a counter sums.
struct ClassCounter {
  Number number;
  std::vector<CostClass> classes;
};

const std::vector<ClassCounter>& class_counters() {
  using enum CostClass;
  static const auto* all = new std::vector<ClassCounter>{
      {Number::FragmentInstructions, {Instruction}},
      {Number::FragmentFma, {Fma}},
      {Number::FragmentArithmetic,
       {Float16, Float32, Float64, Int8, Int16, Int32, Int64, Division, Logic, Derivative}},
      {Number::FragmentConversions, {Conversion}},
      {Number::FragmentSpecialFunctions, {SpecialFunction}},
      {Number::FragmentLoads, {BufferLoad, UniformLoad}},
      {Number::FragmentStores, {BufferStore}},
      {Number::FragmentBytesLoaded, {BufferBytesLoaded, UniformBytesLoaded}},
      {Number::FragmentBytesStored, {BufferBytesStored}},
      {Number::FragmentTexture, {TextureSample, TextureGather, TextureFetch}},
      {Number::FragmentImages, {ImageLoad, ImageStore}},
      {Number::FragmentAtomics, {Atomic}},
      {Number::FragmentVaryings, {VaryingLoad, VaryingStore, Interpolation}},
      {Number::FragmentControlFlow, {ControlFlow}},
  };
  return *all;
}

// For each block counter the number of instructions of the classes that one count stands for.
std::vector<uint32_t> factors_of(const ClassCounter& counter, const CounterPlan& plan,
                                 const BlockMap& map) {
  std::vector<uint32_t> weights(plan.value_count());
  for (uint32_t block = 0; block < map.blocks().size(); ++block) {
    const uint32_t executions = plan.block_values[block];
    if (executions >= weights.size()) continue;  // never executed
    for (const CostClass cost_class : counter.classes) {
      weights[executions] += static_cast<uint32_t>(map.blocks()[block].mix[cost_class]);
    }
  }
  return plan.factors(std::move(weights));
}

}  // namespace

uint32_t accumulator_of(Number number) {
  const auto all = catalogue::counters_of(catalogue::Scope::Region);
  const auto found = std::ranges::find(all, number, &catalogue::Counter::number);
  return static_cast<uint32_t>(found - all.begin());
}

std::vector<RegionValue> class_values(const CounterPlan& plan, const BlockMap& map,
                                      std::span<const uint32_t> variables) {
  std::vector<RegionValue> values;
  for (const ClassCounter& counter : class_counters()) {
    const std::vector<uint32_t> sums = factors_of(counter, plan, map);
    RegionValue value{.accumulator = accumulator_of(counter.number), .of_blocks = true};
    for (uint32_t i = 0; i < sums.size(); ++i) {
      if (sums[i] == 0) continue;
      if (variables[i] == kEveryInvocation) {
        value.constant += sums[i];
      } else {
        value.terms.push_back({variables[i], sums[i]});
      }
    }
    if (value.constant != 0 || !value.terms.empty()) values.push_back(std::move(value));
  }
  return values;
}

using spv::Op;

RegionFlush::RegionFlush(PassContext& context, Builtins& builtins, HelperMask& helper_mask,
                         RegionPlace& place, std::span<const RegionValue> values,
                         std::span<const uint32_t> variables, bool together)
    : WordCode(context.editor),
      builtins_(builtins),
      helper_mask_(helper_mask),
      place_(place),
      values_(values),
      variables_(variables),
      subgroup_(editor_),
      together_(together),
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

using probe::RegionWord;
using spv::Op;

namespace {

constexpr uint32_t kFirstWord = static_cast<uint32_t>(RegionWord::AccumulatorsLow);

}  // namespace

MaskedRegionFlush::MaskedRegionFlush(PassContext& context, HelperMask& helper_mask,
                                     RegionPlace& place, std::span<const RegionValue> values,
                                     OwnValue own)
    : WordCode(context.editor),
      helper_mask_(helper_mask),
      place_(place),
      values_(values),
      own_(std::move(own)),
      subgroup_(editor_),
      words_(context.options.regions->multiview ? kWords : kWords - 1),
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
