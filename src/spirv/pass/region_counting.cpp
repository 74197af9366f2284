#include "spirv/pass/region_counting.h"

#include <algorithm>
#include <iterator>

#include "probe/region.h"

namespace tally::spirv {
namespace {

using catalogue::Number;
using probe::RegionWord;
using spv::Op;
using spv::StorageClass;

constexpr uint32_t kNowhere = ~0u;
constexpr uint32_t kNever = 0x7fffffff;

bool is_discard(Op opcode) {
  return opcode == Op::OpKill || opcode == Op::OpTerminateInvocation ||
         opcode == Op::OpDemoteToHelperInvocation;
}

}  // namespace

RegionCounting::RegionCounting(PassContext& context, Builtins& builtins, Liveness& liveness,
                               const AddressWords& words)
    : context_(context),
      editor_(context.editor),
      builtins_(builtins),
      liveness_(liveness),
      words_(words),
      subgroup_(editor_),
      together_(context.use_subgroups && context.options.counting != Counting::Lane),
      boolean_(editor_.type_bool()),
      u32_(editor_.type_int(32)),
      uvec2_(editor_.type_vector(u32_, 2)),
      begin_function_(editor_.new_id()),
      flush_function_(editor_.new_id()) {
  // struct { uint words[]; } of a fixed length: no pointer arithmetic, no length is asked for.
  const uint32_t array = editor_.new_array(u32_, constant(probe::kRegionAccumulators));
  editor_.decorate(array, spv::Decoration::ArrayStride, {4});
  const uint32_t block = editor_.new_struct({array});
  editor_.decorate(block, spv::Decoration::Block);
  editor_.decorate_member(block, 0, spv::Decoration::Offset, {0});
  words_pointer_type_ = editor_.type_pointer(StorageClass::PhysicalStorageBuffer, block);
  if (context.options.regions->primitives) primitives_.emplace(context, builtins);
}

Status RegionCounting::plan() {
  const auto map = BlockMap::build(context_.module(), context_.entry.model, context_.entry.name);
  if (!map) return map.error();
  BlockCountOptions options = context_.options;
  options.placement = Placement::Minimal;
  options.trip_counts = false;
  CounterPlacement placed = place_counters(context_.module(), context_.graph, options, false, {});
  counters_ = std::move(placed.counters);
  for (const Counter& counter : counters_) {
    const bool every_invocation = counter.segment == context_.graph.entry_segment;
    counter_variables_.push_back(every_invocation ? kEveryInvocation : new_variable());
  }
  region_ = new_variable();
  values_.push_back({.accumulator = accumulator_of(Number::FragmentInvocations), .constant = 1});
  values_.push_back({.accumulator = accumulator_of(Number::CoveredSamples), .of_samples = true});
  if (together_) {
    first_lane_ = new_variable();
    helpers_ = new_variable();
    add_variable_value(Number::FragmentSubgroups, first_lane_);
    add_variable_value(Number::HelperInvocations, helpers_);
    if (context_.options.regions->subgroup_clock) {
      clock_ = new_variable();
      add_variable_value(Number::ShaderClock, clock_);
    }
  }
  const bool discards = std::ranges::any_of(context_.graph.ways_out, [&](const WayOut& way) {
    return is_discard(context_.module().instruction(way.instruction).opcode());
  });
  if (discards) {
    discarded_ = new_variable();
    add_variable_value(Number::DiscardedInvocations, discarded_);
  }
  std::ranges::move(class_values(placed.plan, *map, counter_variables_),
                    std::back_inserter(values_));
  return {};
}

uint32_t RegionCounting::new_variable() {
  const uint32_t variable = editor_.new_global_variable(
      editor_.type_pointer(StorageClass::Private, u32_), StorageClass::Private, constant(0));
  editor_.add_to_interface(context_.entry, variable);
  variables_.push_back(variable);
  return static_cast<uint32_t>(variables_.size() - 1);
}

void RegionCounting::add_variable_value(Number number, uint32_t variable) {
  values_.push_back({.accumulator = accumulator_of(number), .terms = {{variable, 1}}});
}

void RegionCounting::begin(Code& code) { code.call(editor_.type_void(), begin_function_); }

// What no counter of the pass is made of is not worked out.
void RegionCounting::note_beginning(Code& code, uint32_t header, uint32_t block) {
  using enum Number;
  const uint32_t wanted = load_block_word(code, block, word(RegionWord::Wanted));
  const uint32_t region = find_region(code, block);
  code.store(variables_[region_], region);
  if (first_lane_ != kNone) {
    code.if_then(is_wanted(code, wanted, {FragmentSubgroups, HelperInvocations, ShaderClock}),
                 [&] { note_lanes(code); });
  }
  if (primitives_) {
    code.if_then(is_wanted(code, wanted, {FragmentPrimitives}),
                 [&] { note_primitive(code, header, block, region); });
  }
  if (clock_ == kNone) return;
  code.if_then(is_wanted(code, wanted, {ShaderClock}),
               [&] { code.store(variables_[clock_], read_clock(code)); });
}

void RegionCounting::note_primitive(Code& code, uint32_t header, uint32_t block, uint32_t region) {
  const auto load = [&](RegionWord index) { return load_block_word(code, block, word(index)); };
  const uint32_t exists = compare(code, Op::OpINotEqual, region, constant(kNowhere));
  code.if_then(both(code, liveness_.is_live(code), exists), [&] {
    const uint32_t tables =
        code.emit(Op::OpCompositeConstruct, uvec2_,
                  {load(RegionWord::PrimitivesLow), load(RegionWord::PrimitivesHigh)});
    primitives_->insert(code,
                        {.tables = tables,
                         .slots_log2 = load(RegionWord::PrimitiveSlotsLog2),
                         .limit = load(RegionWord::PrimitiveLimit),
                         .region = region,
                         .draw = load_block_word(code, header, word(RegionWord::Draw)),
                         .counter = accumulator_pointer(
                             code, region_address(code, load_accumulators(code, block), region),
                             constant(accumulator_of(Number::FragmentPrimitives)))});
  });
}

// Of the lane that stands for its subgroup; 0 for the others.
void RegionCounting::stop_clock(Code& code) {
  const uint32_t ticks =
      binary(code, Op::OpISub, read_clock(code), code.load(u32_, variables_[clock_]));
  code.store(variables_[clock_],
             binary(code, Op::OpIMul, ticks, code.load(u32_, variables_[first_lane_])));
}

uint32_t RegionCounting::is_wanted(Code& code, uint32_t wanted,
                                   std::initializer_list<Number> some) {
  uint32_t bits = 0;
  for (const Number number : some) bits |= 1u << accumulator_of(number);
  return compare(code, Op::OpINotEqual, binary(code, Op::OpBitwiseAnd, wanted, constant(bits)),
                 constant(0));
}

void RegionCounting::note_lanes(Code& code) {
  const uint32_t live = liveness_.is_live(code);
  const uint32_t lowest = subgroup_.is_lowest(code, subgroup_.ballot(code, live), live);
  const uint32_t helper = code.emit(Op::OpLogicalNot, boolean_, {live});
  const uint32_t helpers = subgroup_.bit_count(code, subgroup_.ballot(code, helper));
  code.store(variables_[first_lane_],
             code.emit(Op::OpSelect, u32_, {lowest, constant(1), constant(0)}));
  code.store(variables_[helpers_], code.emit(Op::OpSelect, u32_, {lowest, helpers, constant(0)}));
}

// The low word: differences are modulo 2^32.
uint32_t RegionCounting::read_clock(Code& code) {
  editor_.add_capability(spv::Capability::ShaderClockKHR);
  editor_.add_extension("SPV_KHR_shader_clock");
  const uint32_t clock =
      code.emit(Op::OpReadClockKHR, uvec2_, {constant(word(spv::Scope::Subgroup))});
  return code.emit(Op::OpCompositeExtract, u32_, {clock, 0});
}

void RegionCounting::count(Code& code, uint32_t counter) {
  if (counter_variables_[counter] == kEveryInvocation) return;
  const uint32_t variable = variables_[counter_variables_[counter]];
  code.store(variable, binary(code, Op::OpIAdd, code.load(u32_, variable), constant(1)));
}

void RegionCounting::leave(Code& code, const WayOut& way) {
  if (is_discard(context_.module().instruction(way.instruction).opcode())) {
    code.store(variables_[discarded_], constant(1));
  }
  code.call(editor_.type_void(), flush_function_);
}

// void name() { if (the pass is captured) body(the draw's header, the pass's block); }
template <typename Body>
void RegionCounting::add_function(uint32_t id, std::string_view name, Body&& body) {
  const uint32_t none = editor_.type_void();
  editor_.name(id, name);
  Code code = editor_.new_code();
  code.emit_as(id, Op::OpFunction, none, std::vector<uint32_t>{0, editor_.type_function(none)});
  code.label(code.new_id());
  const uint32_t address = words_.load(code, AddressWords::Word::Region);
  code.if_then(words_.is_set(code, address), [&] {
    const uint32_t header = code.emit(Op::OpBitcast, words_pointer_type_, {address});
    if (!primitives_) {
      body(code, header, header);
      return;
    }
    const uint32_t low = load_block_word(code, header, word(RegionWord::BlockLow));
    const uint32_t high = load_block_word(code, header, word(RegionWord::BlockHigh));
    const uint32_t block = code.emit(Op::OpCompositeConstruct, uvec2_, {low, high});
    body(code, header, code.emit(Op::OpBitcast, words_pointer_type_, {block}));
  });
  code.emit(Op::OpReturn);
  code.emit(Op::OpFunctionEnd);
  context_.add_function(code);
}

void RegionCounting::finish() {
  add_function(
      begin_function_, "tally.begin_region",
      [&](Code& code, uint32_t header, uint32_t block) { note_beginning(code, header, block); });
  add_function(flush_function_, "tally.flush_region",
               [&](Code& code, uint32_t, uint32_t block) { flush(code, block); });
}

uint32_t RegionCounting::binary(Code& code, Op op, uint32_t a, uint32_t b) const {
  return code.emit(op, u32_, {a, b});
}
uint32_t RegionCounting::compare(Code& code, Op op, uint32_t a, uint32_t b) const {
  return code.emit(op, boolean_, {a, b});
}
uint32_t RegionCounting::both(Code& code, uint32_t a, uint32_t b) const {
  return code.emit(Op::OpLogicalAnd, boolean_, {a, b});
}

uint32_t RegionCounting::load_block_word(Code& code, uint32_t block, uint32_t index) {
  const uint32_t pointer_type = editor_.type_pointer(StorageClass::PhysicalStorageBuffer, u32_);
  const uint32_t pointer = code.access_chain(pointer_type, block, {constant(0), constant(index)});
  return code.load(u32_, pointer, {word(spv::MemoryAccessMask::Aligned), 4});
}

uint32_t RegionCounting::layer(Code& code, uint32_t block) {
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
      compare(code, Op::OpINotEqual, load_block_word(code, block, word(RegionWord::Multiview)),
              constant(0));
  return code.emit(Op::OpSelect, u32_, {multiview, view, layer == 0 ? constant(0) : layer});
}

// Index of the region, layers included; kNowhere outside of the render area, where nothing may be
// drawn, and nothing of ours may be overwritten.
uint32_t RegionCounting::find_region(Code& code, uint32_t block) {
  const auto load = [&](RegionWord index) { return load_block_word(code, block, word(index)); };
  const auto index = [&](uint32_t component, RegionWord offset, RegionWord log2) {
    const uint32_t pixel = builtins_.number(code, spv::BuiltIn::FragCoord, 4, component);
    return binary(code, Op::OpShiftRightLogical, binary(code, Op::OpISub, pixel, load(offset)),
                  load(log2));
  };
  const uint32_t column = index(0, RegionWord::OffsetX, RegionWord::WidthLog2);
  const uint32_t row = index(1, RegionWord::OffsetY, RegionWord::HeightLog2);
  const uint32_t columns = load(RegionWord::Columns);
  const uint32_t rows = load(RegionWord::Rows);
  uint32_t exists = both(code, compare(code, Op::OpULessThan, column, columns),
                         compare(code, Op::OpULessThan, row, rows));
  uint32_t line = row;
  if (const uint32_t own_layer = layer(code, block); own_layer != 0) {
    exists =
        both(code, exists, compare(code, Op::OpULessThan, own_layer, load(RegionWord::Layers)));
    line = binary(code, Op::OpIAdd, binary(code, Op::OpIMul, own_layer, rows), row);
  }
  const uint32_t region = binary(code, Op::OpIAdd, binary(code, Op::OpIMul, line, columns), column);
  return code.emit(Op::OpSelect, u32_, {exists, region, constant(kNowhere)});
}

uint32_t RegionCounting::load_accumulators(Code& code, uint32_t block) {
  return code.emit(Op::OpCompositeConstruct, uvec2_,
                   {load_block_word(code, block, word(RegionWord::AccumulatorsLow)),
                    load_block_word(code, block, word(RegionWord::AccumulatorsHigh))});
}

void RegionCounting::flush(Code& code, uint32_t block) {
  const uint32_t wanted = load_block_word(code, block, word(RegionWord::Wanted));
  if (clock_ != kNone) {
    code.if_then(is_wanted(code, wanted, {Number::ShaderClock}), [&] { stop_clock(code); });
  }
  // Primitives were counted when they were inserted.
  Place place;
  place.wanted = binary(code, Op::OpBitwiseAnd, wanted,
                        constant(~(1u << accumulator_of(Number::FragmentPrimitives))));
  code.if_then(compare(code, Op::OpINotEqual, place.wanted, constant(0)), [&] {
    place.region = code.load(u32_, variables_[region_]);
    place.live = both(code, liveness_.is_live(code),
                      compare(code, Op::OpINotEqual, place.region, constant(kNowhere)));
    place.address = load_accumulators(code, block);
    if (together_) {
      add_together(code, place);
    } else {
      code.if_then(place.live, [&] { add_alone(code, place); });
    }
  });
}

uint32_t RegionCounting::own_value(Code& code, const RegionValue& value) {
  if (value.of_samples) {
    return code.emit(Op::OpBitCount, u32_, {builtins_.sample_mask(code)});
  }
  uint32_t sum = value.constant == 0 ? 0 : constant(value.constant);
  for (const RegionValue::Term& term : value.terms) {
    sum = add_term(code, sum, code.load(u32_, variables_[term.variable]), term.factor);
  }
  return sum;
}

template <typename Body>
void RegionCounting::if_wanted(Code& code, const Place& place, const RegionValue& value,
                               Body&& body) {
  const uint32_t bit =
      binary(code, Op::OpBitwiseAnd, place.wanted, constant(1u << value.accumulator));
  code.if_then(compare(code, Op::OpINotEqual, bit, constant(0)), body);
}

void RegionCounting::add_alone(Code& code, const Place& place) {
  const uint32_t address = region_address(code, place.address, place.region);
  for (const RegionValue& value : values_) {
    if_wanted(code, place, value,
              [&] { add(code, address, constant(value.accumulator), own_value(code, value)); });
  }
}

// The lanes of one region add up and share the writing; then those of the next, until none is left.
// Mostly there is one. All lanes of the subgroup take part until the end, since which lanes a
// branch leaves is not the same thing everywhere where lanes are discarded.
//
// do { ... } while: where a driver runs what no lane wants with an empty mask (llvmpipe), a loop
// that asks first runs twice.
void RegionCounting::add_together(Code& code, const Place& place) {
  const uint32_t before = *code.last_label();
  const uint32_t header = code.new_id();
  const uint32_t body = code.new_id();
  const uint32_t next = code.new_id();
  const uint32_t after = code.new_id();
  const uint32_t still_pending = code.new_id();
  code.branch(header);
  code.label(header);
  const uint32_t pending = code.phi(boolean_, {{place.live, before}, {still_pending, next}});
  code.loop_merge(after, next);
  code.branch(body);
  code.label(body);
  const uint32_t own = code.emit(Op::OpSelect, u32_, {pending, place.region, constant(kNowhere)});
  const uint32_t region = subgroup_.minimum(code, own);
  add_of_region(code, place, region, both(code, pending, compare(code, Op::OpIEqual, own, region)));
  code.branch(next);
  code.label(next);
  const uint32_t not_mine = compare(code, Op::OpINotEqual, own, region);
  code.emit_as(still_pending, Op::OpLogicalAnd, boolean_, std::vector<uint32_t>{pending, not_mine});
  code.branch_if(subgroup_.any(code, still_pending), header, after);
  code.label(after);
}

void RegionCounting::add_of_region(Code& code, const Place& place, uint32_t region, uint32_t mine) {
  const uint32_t ballot = subgroup_.ballot(code, mine);
  const uint32_t lanes = subgroup_.bit_count(code, ballot);
  // Some drivers run a discarded lane on, as nobody's: it votes in no ballot.
  const uint32_t writes = both(code, mine, compare(code, Op::OpINotEqual, lanes, constant(0)));
  const uint32_t rank =
      code.emit(Op::OpSelect, u32_, {writes, subgroup_.bits_below(code, ballot), constant(kNever)});
  const std::vector<uint32_t> sums = sum_variables(code, place, mine);
  std::vector<uint32_t> totals;
  for (const RegionValue& value : values_) {
    if (value.of_samples) {
      totals.push_back(sum_if_wanted(code, place, 1u << value.accumulator, [&] {
        return code.emit(Op::OpSelect, u32_, {mine, own_value(code, value), constant(0)});
      }));
      continue;
    }
    uint32_t total =
        value.constant == 0 ? 0 : binary(code, Op::OpIMul, lanes, constant(value.constant));
    for (const RegionValue::Term& term : value.terms) {
      total = add_term(code, total, sums[term.variable], term.factor);
    }
    totals.push_back(total);
  }
  share_out(code, place, region_address(code, place.address, region), lanes, rank, totals);
}

// Of each variable, over the lanes of the region; 0 where no counter of the pass is made of it.
std::vector<uint32_t> RegionCounting::sum_variables(Code& code, const Place& place, uint32_t mine) {
  std::vector<uint32_t> used_by(variables_.size());
  for (const RegionValue& value : values_) {
    for (const RegionValue::Term& term : value.terms) {
      used_by[term.variable] |= 1u << value.accumulator;
    }
  }
  std::vector<uint32_t> sums;
  for (size_t i = 0; i < variables_.size(); ++i) {
    sums.push_back(sum_if_wanted(code, place, used_by[i], [&] {
      return code.emit(Op::OpSelect, u32_, {mine, code.load(u32_, variables_[i]), constant(0)});
    }));
  }
  return sums;
}

template <typename OfLane>
uint32_t RegionCounting::sum_if_wanted(Code& code, const Place& place, uint32_t accumulators,
                                       OfLane&& of_lane) {
  if (accumulators == 0) return constant(0);
  const uint32_t wanted =
      compare(code, Op::OpINotEqual,
              binary(code, Op::OpBitwiseAnd, place.wanted, constant(accumulators)), constant(0));
  const uint32_t before = code.new_id();
  code.branch(before);
  code.label(before);
  uint32_t sum = 0;
  uint32_t inside = 0;
  code.if_then(
      wanted, [&] { sum = subgroup_.sum(code, of_lane()); }, &inside);
  return code.phi(u32_, {{sum, inside}, {constant(0), before}});
}

// for (t = rank; wanted >> t != 0; t += lanes) if (wanted >> t & 1) add(t, total of t);
void RegionCounting::share_out(Code& code, const Place& place, uint32_t address, uint32_t lanes,
                               uint32_t rank, std::span<const uint32_t> totals) {
  const uint32_t before = *code.last_label();
  const uint32_t header = code.new_id();
  const uint32_t body = code.new_id();
  const uint32_t next = code.new_id();
  const uint32_t after = code.new_id();
  const uint32_t next_turn = code.new_id();
  code.branch(header);
  code.label(header);
  const uint32_t turn = code.phi(u32_, {{rank, before}, {next_turn, next}});
  const uint32_t exists =
      compare(code, Op::OpULessThan, turn, constant(probe::kRegionAccumulators));
  const uint32_t shift = binary(code, Op::OpBitwiseAnd, turn, constant(31));
  const uint32_t left = binary(code, Op::OpShiftRightLogical, place.wanted, shift);
  const uint32_t goes_on = both(code, exists, compare(code, Op::OpINotEqual, left, constant(0)));
  code.loop_merge(after, next);
  code.branch_if(goes_on, body, after);
  code.label(body);
  uint32_t total = constant(0);
  for (size_t i = 0; i < totals.size(); ++i) {
    const uint32_t is_it = compare(code, Op::OpIEqual, turn, constant(values_[i].accumulator));
    total = code.emit(Op::OpSelect, u32_, {is_it, totals[i], total});
  }
  const uint32_t wanted = binary(code, Op::OpBitwiseAnd, left, constant(1));
  code.if_then(compare(code, Op::OpINotEqual, wanted, constant(0)),
               [&] { add(code, address, shift, total); });
  code.branch(next);
  code.label(next);
  code.emit_as(next_turn, Op::OpIAdd, u32_, std::vector<uint32_t>{turn, lanes});
  code.branch(header);
  code.label(after);
}

uint32_t RegionCounting::add_term(Code& code, uint32_t sum, uint32_t value, uint32_t factor) {
  if (factor != 1) value = binary(code, Op::OpIMul, value, constant(factor));
  return sum == 0 ? value : binary(code, Op::OpIAdd, sum, value);
}

uint32_t RegionCounting::region_address(Code& code, uint32_t first, uint32_t region) {
  const uint32_t low = code.emit(Op::OpCompositeExtract, u32_, {first, 0});
  const uint32_t high = code.emit(Op::OpCompositeExtract, u32_, {first, 1});
  const uint32_t bytes = binary(code, Op::OpIMul, region, constant(probe::kRegionAccumulatorBytes));
  const uint32_t sum = binary(code, Op::OpIAdd, low, bytes);
  const uint32_t overflows = compare(code, Op::OpULessThan, sum, low);
  const uint32_t carry = code.emit(Op::OpSelect, u32_, {overflows, constant(1), constant(0)});
  return code.emit(Op::OpCompositeConstruct, uvec2_, {sum, binary(code, Op::OpIAdd, high, carry)});
}

uint32_t RegionCounting::accumulator_pointer(Code& code, uint32_t address, uint32_t accumulator) {
  const uint32_t block = code.emit(Op::OpBitcast, words_pointer_type_, {address});
  const uint32_t pointer_type = editor_.type_pointer(StorageClass::PhysicalStorageBuffer, u32_);
  return code.access_chain(pointer_type, block, {constant(0), accumulator});
}

void RegionCounting::add(Code& code, uint32_t address, uint32_t accumulator, uint32_t value) {
  const uint32_t pointer = accumulator_pointer(code, address, accumulator);
  const auto scope = context_.vulkan_memory_model ? spv::Scope::QueueFamily : spv::Scope::Device;
  code.emit(
      Op::OpAtomicIAdd, u32_,
      {pointer, constant(word(scope)), constant(word(spv::MemorySemanticsMask::MaskNone)), value});
}

}  // namespace tally::spirv
