#include "spirv/instrument/region_counting.h"

#include <algorithm>
#include <iterator>

#include "probe/region.h"
#include "spirv/analysis/discards.h"
#include "spirv/instrument/masked_region_flush.h"

namespace tally::spirv {
namespace {

using catalogue::Number;
using probe::RegionWord;
using spv::Op;
using spv::StorageClass;

}  // namespace

RegionCounting::RegionCounting(PassContext& context, Builtins& builtins, HelperMask& helper_mask,
                               const TaggedRecordPointers& pointers)
    : context_(context),
      editor_(context.editor),
      builtins_(builtins),
      helper_mask_(helper_mask),
      pointers_(pointers),
      subgroup_(editor_),
      place_(context, builtins),
      together_(context.use_subgroups && context.options.counting != Counting::Lane),
      masked_(together_ && context.options.driver.masks_branches &&
              !context.options.regions->primitives),
      boolean_(editor_.type_bool()),
      u32_(editor_.type_int(32)),
      uvec2_(editor_.type_vector(u32_, 2)),
      begin_function_(editor_.new_id()),
      flush_function_(editor_.new_id()) {
  if (context.options.regions->primitives) primitives_.emplace(context, builtins);
}

Status RegionCounting::plan() {
  const Result<BlockMap>& map = context_.analyzed.block_map(context_.entry);
  if (!map) return map.error();
  BlockCountOptions options = context_.options;
  options.placement = Placement::Minimal;
  options.trip_counts = false;
  CounterPlacement placed = place_counters(context_.analyzed, context_.graph, options, false, {});
  counters_ = std::move(placed.counters);
  for (const Counter& counter : counters_) {
    const bool every_invocation = counter.segment == context_.graph.entry_segment;
    counter_variables_.push_back(every_invocation ? kEveryInvocation : new_variable());
  }
  if (!masked_) region_ = new_variable();
  values_.push_back({.accumulator = accumulator_of(Number::FragmentInvocations), .constant = 1});
  values_.push_back({.accumulator = accumulator_of(Number::CoveredSamples), .of_samples = true});
  if (together_) {
    first_lane_ = new_variable();
    if (!masked_) helpers_ = new_variable();
    add_variable_value(Number::FragmentSubgroups, first_lane_);
    if (!masked_) add_variable_value(Number::HelperInvocations, helpers_);
    if (context_.options.regions->subgroup_clock) {
      clock_ = new_variable();
      add_variable_value(Number::ShaderClock, clock_);
    }
  }
  const bool discards = std::ranges::any_of(context_.graph.exits, [&](const Exit& exit) {
    return is_discard(context_.module().instruction(exit.instruction).opcode());
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

void RegionCounting::begin(InstructionBuilder& code) {
  code.call(editor_.type_void(), begin_function_);
}

// Computes only the inputs of enabled counters, unless that would take as long.
void RegionCounting::note_beginning(InstructionBuilder& code, uint32_t header, uint32_t block) {
  using enum Number;
  if (masked_) {
    note_lanes(code);
    if (clock_ != kNone) code.store(variables_[clock_], read_clock(code));
    return;
  }
  const uint32_t wanted = place_.load(code, block, RegionWord::Wanted);
  const uint32_t region =
      place_.find(code, [&](RegionWord index) { return place_.load(code, block, index); });
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

void RegionCounting::note_primitive(InstructionBuilder& code, uint32_t header, uint32_t block,
                                    uint32_t region) {
  const auto load = [&](RegionWord index) { return place_.load(code, block, index); };
  const uint32_t exists = compare(code, Op::OpINotEqual, region, constant(RegionPlace::kNowhere));
  code.if_then(both(code, helper_mask_.is_live(code), exists), [&] {
    const uint32_t tables =
        code.emit(Op::OpCompositeConstruct, uvec2_,
                  {load(RegionWord::PrimitivesLow), load(RegionWord::PrimitivesHigh)});
    primitives_->insert(code,
                        {.tables = tables,
                         .slots_log2 = load(RegionWord::PrimitiveSlotsLog2),
                         .limit = load(RegionWord::PrimitiveLimit),
                         .region = region,
                         .draw = place_.load(code, header, RegionWord::Draw),
                         .counter = place_.accumulator(
                             code, place_.advance(code, place_.accumulators(code, block), region),
                             accumulator_of(Number::FragmentPrimitives))});
  });
}

// The clock difference in the lane that represents its subgroup; 0 in the others.
void RegionCounting::stop_clock(InstructionBuilder& code) {
  const uint32_t ticks =
      binary(code, Op::OpISub, read_clock(code), code.load(u32_, variables_[clock_]));
  code.store(variables_[clock_],
             binary(code, Op::OpIMul, ticks, code.load(u32_, variables_[first_lane_])));
}

uint32_t RegionCounting::is_wanted(InstructionBuilder& code, uint32_t wanted,
                                   std::initializer_list<Number> some) {
  uint32_t bits = 0;
  for (const Number number : some) bits |= 1u << accumulator_of(number);
  return compare(code, Op::OpINotEqual, binary(code, Op::OpBitwiseAnd, wanted, constant(bits)),
                 constant(0));
}

void RegionCounting::note_lanes(InstructionBuilder& code) {
  const uint32_t live = helper_mask_.is_live(code);
  const uint32_t lowest = subgroup_.is_lowest(code, subgroup_.ballot(code, live), live);
  uint32_t helpers = 0;
  if (helpers_ != kNone) {
    const uint32_t helper = code.emit(Op::OpLogicalNot, boolean_, {live});
    helpers = subgroup_.bit_count(code, subgroup_.ballot(code, helper));
  }
  const auto of_lowest = [&](uint32_t value) {
    return code.emit(Op::OpSelect, u32_, {lowest, value, constant(0)});
  };
  code.store(variables_[first_lane_], of_lowest(constant(1)));
  if (helpers_ != kNone) code.store(variables_[helpers_], of_lowest(helpers));
}

// The low word suffices, because differences are modulo 2^32.
uint32_t RegionCounting::read_clock(InstructionBuilder& code) {
  editor_.add_capability(spv::Capability::ShaderClockKHR);
  editor_.add_extension("SPV_KHR_shader_clock");
  const uint32_t clock =
      code.emit(Op::OpReadClockKHR, uvec2_, {constant(word(spv::Scope::Subgroup))});
  return code.emit(Op::OpCompositeExtract, u32_, {clock, 0});
}

void RegionCounting::count(InstructionBuilder& code, uint32_t counter) {
  if (counter_variables_[counter] == kEveryInvocation) return;
  const uint32_t variable = variables_[counter_variables_[counter]];
  code.store(variable, binary(code, Op::OpIAdd, code.load(u32_, variable), constant(1)));
}

void RegionCounting::leave(InstructionBuilder& code, const Exit& exit) {
  if (is_discard(context_.module().instruction(exit.instruction).opcode())) {
    code.store(variables_[discarded_], constant(1));
  }
  code.call(editor_.type_void(), flush_function_);
}

// void name() { if (the region pointer is set) body(header of the draw, block of the pass); }
template <typename Body>
void RegionCounting::add_function(uint32_t id, std::string_view name, Body&& body) {
  const uint32_t none = editor_.type_void();
  editor_.name(id, name);
  InstructionBuilder code = editor_.new_code();
  code.emit_as(id, Op::OpFunction, none, std::vector<uint32_t>{0, editor_.type_function(none)});
  code.label(code.new_id());
  const uint32_t address = pointers_.load(code, TaggedRecordPointers::Kind::Region);
  code.if_then(pointers_.is_set(code, address), [&] {
    const uint32_t header = code.emit(Op::OpBitcast, place_.block_type(), {address});
    if (!primitives_) {
      body(code, header, header);
      return;
    }
    const uint32_t low = place_.load(code, header, RegionWord::BlockLow);
    const uint32_t high = place_.load(code, header, RegionWord::BlockHigh);
    const uint32_t block = code.emit(Op::OpCompositeConstruct, uvec2_, {low, high});
    body(code, header, code.emit(Op::OpBitcast, place_.block_type(), {block}));
  });
  code.emit(Op::OpReturn);
  code.emit(Op::OpFunctionEnd);
  context_.add_function(code);
}

void RegionCounting::finish() {
  add_function(begin_function_, "tally.begin_region",
               [&](InstructionBuilder& code, uint32_t header, uint32_t block) {
                 note_beginning(code, header, block);
               });
  add_function(flush_function_, "tally.flush_region",
               [&](InstructionBuilder& code, uint32_t, uint32_t block) { flush(code, block); });
}

uint32_t RegionCounting::binary(InstructionBuilder& code, Op op, uint32_t a, uint32_t b) const {
  return code.emit(op, u32_, {a, b});
}
uint32_t RegionCounting::compare(InstructionBuilder& code, Op op, uint32_t a, uint32_t b) const {
  return code.emit(op, boolean_, {a, b});
}
uint32_t RegionCounting::both(InstructionBuilder& code, uint32_t a, uint32_t b) const {
  return code.emit(Op::OpLogicalAnd, boolean_, {a, b});
}

void RegionCounting::flush(InstructionBuilder& code, uint32_t block) {
  if (masked_) {
    if (clock_ != kNone) stop_clock(code);
    MaskedRegionFlush(
        context_, helper_mask_, place_, values_,
        [&](InstructionBuilder& at, const RegionValue& value) { return own_value(at, value); })
        .emit(code, block);
    return;
  }
  const uint32_t wanted = place_.load(code, block, RegionWord::Wanted);
  if (clock_ != kNone) {
    code.if_then(is_wanted(code, wanted, {Number::ShaderClock}), [&] { stop_clock(code); });
  }
  Place place;
  uint32_t ours = 0;
  for (const RegionValue& value : values_) ours |= 1u << value.accumulator;
  place.wanted = binary(code, Op::OpBitwiseAnd, wanted, constant(ours));
  code.if_then(compare(code, Op::OpINotEqual, place.wanted, constant(0)), [&] {
    place.region = code.load(u32_, variables_[region_]);
    place.live =
        both(code, helper_mask_.is_live(code),
             compare(code, Op::OpINotEqual, place.region, constant(RegionPlace::kNowhere)));
    place.address = place_.accumulators(code, block);
    if (together_) {
      add_together(code, place);
    } else {
      code.if_then(place.live, [&] { add_alone(code, place); });
    }
  });
}

uint32_t RegionCounting::own_value(InstructionBuilder& code, const RegionValue& value) {
  if (value.of_samples) {
    return code.emit(Op::OpBitCount, u32_, {builtins_.sample_mask(code)});
  }
  uint32_t sum = value.constant == 0 ? 0 : constant(value.constant);
  for (const RegionValue::Term& term : value.terms) {
    uint32_t part = code.load(u32_, variables_[term.variable]);
    if (term.factor != 1) part = binary(code, Op::OpIMul, part, constant(term.factor));
    sum = sum == 0 ? part : binary(code, Op::OpIAdd, sum, part);
  }
  return sum;
}

template <typename Body>
void RegionCounting::if_wanted(InstructionBuilder& code, const Place& place,
                               const RegionValue& value, Body&& body) {
  const uint32_t bit =
      binary(code, Op::OpBitwiseAnd, place.wanted, constant(1u << value.accumulator));
  code.if_then(compare(code, Op::OpINotEqual, bit, constant(0)), body);
}

void RegionCounting::add_alone(InstructionBuilder& code, const Place& place) {
  const uint32_t address = place_.advance(code, place.address, place.region);
  for (const RegionValue& value : values_) {
    if_wanted(code, place, value,
              [&] { place_.add(code, address, value.accumulator, own_value(code, value)); });
  }
}

// Loops over the regions of the subgroup's lanes, usually one: the lanes of a region sum, and the
// lowest of them writes. All lanes of the subgroup stay in the loop to the end, because drivers
// differ in which lanes are active after a branch if some were discarded.
//
// The test is at the end because llvmpipe executes one more masked iteration of a loop that tests
// at the start.
void RegionCounting::add_together(InstructionBuilder& code, const Place& place) {
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
  const uint32_t own =
      code.emit(Op::OpSelect, u32_, {pending, place.region, constant(RegionPlace::kNowhere)});
  const uint32_t region = subgroup_.minimum(code, own);
  add_of_region(code, place, region, both(code, pending, compare(code, Op::OpIEqual, own, region)));
  code.branch(next);
  code.label(next);
  const uint32_t not_mine = compare(code, Op::OpINotEqual, own, region);
  code.emit_as(still_pending, Op::OpLogicalAnd, boolean_, std::vector<uint32_t>{pending, not_mine});
  code.branch_if(subgroup_.any(code, still_pending), header, after);
  code.label(after);
}

// A disabled counter costs a uniform branch.
void RegionCounting::add_of_region(InstructionBuilder& code, const Place& place, uint32_t region,
                                   uint32_t mine) {
  const uint32_t ballot = subgroup_.ballot(code, mine);
  const uint32_t lanes = subgroup_.bit_count(code, ballot);
  // On some drivers a discarded lane keeps running but takes part in no ballot.
  const uint32_t writes = both(code, subgroup_.is_lowest(code, ballot, mine),
                               compare(code, Op::OpINotEqual, lanes, constant(0)));
  const uint32_t address = place_.advance(code, place.address, region);
  for (const RegionValue& value : values_) {
    if_wanted(code, place, value, [&] {
      const uint32_t sum = sum_of_lanes(code, value, mine, lanes);
      code.if_then(writes, [&] { place_.add(code, address, value.accumulator, sum); });
    });
  }
}

uint32_t RegionCounting::sum_of_lanes(InstructionBuilder& code, const RegionValue& value,
                                      uint32_t mine, uint32_t lanes) {
  if (value.terms.empty() && !value.of_samples) {
    return binary(code, Op::OpIMul, lanes, constant(value.constant));
  }
  return subgroup_.sum(code,
                       code.emit(Op::OpSelect, u32_, {mine, own_value(code, value), constant(0)}));
}

}  // namespace tally::spirv
