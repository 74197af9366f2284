#include "spirv/instrument/region_counting.h"

#include <algorithm>
#include <iterator>

#include "probe/region.h"
#include "spirv/analysis/early_tests.h"

namespace tally::spirv {

using spv::Op;
using spv::StorageClass;

PrimitiveSet::PrimitiveSet(PassContext& context, Builtins& builtins)
    : WordCode(context.editor),
      context_(context),
      builtins_(builtins),
      u64_(editor_.type_int(64)),
      memory_(context),
      scope_(memory_.scope()),
      relaxed_(memory_.relaxed()) {
  editor_.add_capability(spv::Capability::Int64);
  editor_.add_capability(spv::Capability::Int64Atomics);
  const uint32_t array = editor_.new_runtime_array(u64_);
  editor_.decorate(array, spv::Decoration::ArrayStride, {8});
  const uint32_t block = editor_.new_struct({array});
  editor_.decorate(block, spv::Decoration::Block);
  editor_.decorate_member(block, 0, spv::Decoration::Offset, {0});
  slots_type_ = editor_.type_pointer(StorageClass::PhysicalStorageBuffer, block);
  slot_pointer_ = editor_.type_pointer(StorageClass::PhysicalStorageBuffer, u64_);
}

// 0 if the preceding stages do not write PrimitiveId.
uint32_t PrimitiveSet::primitive(InstructionBuilder& code) {
  if (!context_.options.regions->primitive_ids) return constant(0);
  editor_.add_capability(spv::Capability::Geometry);
  return builtins_.number(code, spv::BuiltIn::PrimitiveId, 1, 0);
}

uint32_t PrimitiveSet::first_slot(InstructionBuilder& code, uint32_t primitive, uint32_t draw) {
  const uint32_t a = binary(code, Op::OpIMul, primitive, constant(0x9e3779b1));
  const uint32_t b = binary(code, Op::OpIMul, draw, constant(0x85ebca77));
  uint32_t hash = binary(code, Op::OpBitwiseXor, a, b);
  for (const uint32_t multiplier : {0x2c1b3c6du, 0x297a2d39u}) {
    const uint32_t high = binary(code, Op::OpShiftRightLogical, hash, constant(16));
    hash = binary(code, Op::OpBitwiseXor, hash, high);
    hash = binary(code, Op::OpIMul, hash, constant(multiplier));
  }
  return binary(code, Op::OpBitwiseXor, hash,
                binary(code, Op::OpShiftRightLogical, hash, constant(16)));
}

// do { found = slot[i]; if (!found) found = claim; } while (found is another key); i = i + 1 ...
void PrimitiveSet::insert(InstructionBuilder& code, const Place& place) {
  const uint32_t id = primitive(code);
  const uint32_t uvec2 = editor_.type_vector(u32_, 2);
  const uint32_t pair = code.emit(Op::OpCompositeConstruct, uvec2, {id, place.draw});
  const uint32_t key = code.emit(Op::OpBitcast, u64_, {pair});
  const uint32_t slots = binary(code, Op::OpShiftLeftLogical, constant(1), place.slots_log2);
  const uint32_t mask = binary(code, Op::OpISub, slots, constant(1));
  const uint32_t base = binary(code, Op::OpIMul, place.region, slots);
  const uint32_t table = code.emit(Op::OpBitcast, slots_type_, {place.tables});
  const uint32_t first = first_slot(code, id, place.draw);
  code.repeat(u32_, constant(0), [&](uint32_t turn) {
    const uint32_t in_table =
        binary(code, Op::OpBitwiseAnd, binary(code, Op::OpIAdd, first, turn), mask);
    const uint32_t index = binary(code, Op::OpIAdd, base, in_table);
    const uint32_t slot = code.access_chain(slot_pointer_, table, {constant(0), index});
    const uint32_t found = try_slot(code, place, slot, key);
    const uint32_t other =
        code.emit(Op::OpLogicalAnd, boolean_,
                  {compare(code, Op::OpINotEqual, found, key),
                   compare(code, Op::OpINotEqual, found, editor_.constant_u64(0))});
    const uint32_t next = binary(code, Op::OpIAdd, turn, constant(1));
    const uint32_t more = compare(code, Op::OpULessThan, next, slots);
    return InstructionBuilder::Turn{next, code.emit(Op::OpLogicalAnd, boolean_, {other, more})};
  });
}

// The old content of the slot; 0 if the key was inserted or exceeds the limit.
uint32_t PrimitiveSet::try_slot(InstructionBuilder& code, const Place& place, uint32_t slot,
                                uint32_t key) {
  const uint32_t seen = code.emit(Op::OpAtomicLoad, u64_, {slot, scope_, relaxed_});
  const uint32_t is_empty = compare(code, Op::OpIEqual, seen, editor_.constant_u64(0));
  const uint32_t before = code.new_id();
  code.branch(before);
  code.label(before);
  uint32_t claimed = 0;
  const uint32_t inside = code.new_id();
  const uint32_t end = code.new_id();
  const uint32_t after = code.new_id();
  code.selection_merge(after);
  code.branch_if(is_empty, inside, after);
  code.label(inside);
  claimed = claim(code, place, slot, key);
  code.branch(end);
  code.label(end);
  code.branch(after);
  code.label(after);
  return code.phi(u64_, {{claimed, end}, {seen, before}});
}

// Once the limit is reached, the slot is only read, by exchanging 0 for 0: another invocation may
// have inserted the same key. A key beyond the limit makes the counter exceed the limit.
uint32_t PrimitiveSet::claim(InstructionBuilder& code, const Place& place, uint32_t slot,
                             uint32_t key) {
  const uint32_t none = editor_.constant_u64(0);
  const uint32_t count = code.emit(Op::OpAtomicLoad, u32_, {place.counter, scope_, relaxed_});
  const uint32_t has_room = compare(code, Op::OpULessThan, count, place.limit);
  const uint32_t value = code.emit(Op::OpSelect, u64_, {has_room, key, none});
  const uint32_t found =
      code.emit(Op::OpAtomicCompareExchange, u64_, {slot, scope_, relaxed_, relaxed_, value, none});
  const uint32_t was_empty = compare(code, Op::OpIEqual, found, none);
  const uint32_t counts = compare(code, Op::OpULessThanEqual, count, place.limit);
  code.if_then(code.emit(Op::OpLogicalAnd, boolean_, {was_empty, counts}),
               [&] { memory_.add(code, u32_, place.counter, constant(1)); });
  return found;
}

namespace {

using catalogue::Number;
using probe::RegionWord;
using spv::Op;

}  // namespace

RegionCounting::RegionCounting(PassContext& context, Builtins& builtins, HelperMask& helper_mask,
                               const TaggedRecordPointers& pointers)
    : WordCode(context.editor),
      context_(context),
      builtins_(builtins),
      helper_mask_(helper_mask),
      pointers_(pointers),
      subgroup_(editor_),
      place_(context, builtins),
      together_(context.use_subgroups && context.options.counting != Counting::Lane),
      masked_(together_ && context.options.driver.masks_branches &&
              !context.options.regions->primitives),
      uvec2_(editor_.type_vector(u32_, 2)),
      begin_function_(editor_.new_id()),
      flush_function_(editor_.new_id()) {
  if (context.options.regions->primitives) primitives_.emplace(context, builtins);
}

Status RegionCounting::plan() {
  values_.push_back({.accumulator = accumulator_of(Number::FragmentInvocations), .constant = 1});
  if (only_invocations()) return {};
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
  if (!masked_) {
    wanted_ = new_variable();
    address_ = {new_variable(), new_variable()};
  }
  values_.push_back({.accumulator = accumulator_of(Number::CoveredSamples), .of_samples = true});
  if (together_) {
    add_byte_value(Number::FragmentSubgroups, kFirstLane);
    if (!masked_) add_byte_value(Number::HelperInvocations, kHelpers);
    if (context_.options.regions->subgroup_clock) {
      clock_ = new_variable();
      values_.push_back(
          {.accumulator = accumulator_of(Number::ShaderClock), .terms = {{clock_, 1}}});
    }
  }
  const bool discards = std::ranges::any_of(context_.graph.exits, [&](const Exit& exit) {
    return is_discard(context_.module().instruction(exit.instruction).opcode());
  });
  if (discards) {
    discarded_ = new_variable();
    add_byte_value(Number::DiscardedInvocations, kDiscarded);
  }
  std::ranges::move(class_values(placed.plan, *map, counter_variables_),
                    std::back_inserter(values_));
  return {};
}

uint32_t RegionCounting::new_variable() {
  variables_.push_back(editor_.new_private_variable(context_.entry, u32_, constant(0)));
  return static_cast<uint32_t>(variables_.size() - 1);
}

void RegionCounting::add_byte_value(Number number, Byte byte) {
  if (bytes_ == kNone) bytes_ = new_variable();
  values_.push_back({.accumulator = accumulator_of(number), .terms = {{bytes_, 1}}, .byte = byte});
}

void RegionCounting::begin(InstructionBuilder& code) {
  code.call(editor_.type_void(), begin_function_);
}

// Computes only the inputs of enabled counters, unless that would take as long.
void RegionCounting::note_beginning(InstructionBuilder& code, uint32_t header, uint32_t block) {
  using enum Number;
  if (masked_) {
    note_lanes(code);
    if (clock_ != kNone) code.store(variables_[clock_], subgroup_.clock(code));
    return;
  }
  const uint32_t wanted = place_.load(code, block, RegionWord::Wanted);
  const uint32_t region = find_region(code, block);
  const RegionFlush::Place place = locate(code, block, region, wanted);
  code.store(variables_[wanted_], place.wanted);
  for (const uint32_t half : {0, 1}) {
    code.store(variables_[address_[half]],
               code.emit(Op::OpCompositeExtract, u32_, {place.address, half}));
  }
  if (together_) {
    code.if_then(is_wanted(code, wanted, {FragmentSubgroups, HelperInvocations, ShaderClock}),
                 [&] { note_lanes(code); });
  }
  if (primitives_) {
    code.if_then(is_wanted(code, wanted, {FragmentPrimitives}),
                 [&] { note_primitive(code, header, block, region, place.address); });
  }
  if (clock_ == kNone) return;
  code.if_then(is_wanted(code, wanted, {ShaderClock}),
               [&] { code.store(variables_[clock_], subgroup_.clock(code)); });
}

uint32_t RegionCounting::find_region(InstructionBuilder& code, uint32_t block) {
  return place_.find(code, [&](RegionWord index) { return place_.load(code, block, index); });
}

RegionFlush::Place RegionCounting::locate(InstructionBuilder& code, uint32_t block, uint32_t region,
                                          uint32_t wanted) {
  RegionFlush::Place place;
  place.address = place_.advance(code, place_.accumulators(code, block), region);
  const uint32_t exists = compare(code, Op::OpINotEqual, region, constant(RegionPlace::kNowhere));
  place.wanted = code.emit(Op::OpSelect, u32_, {exists, wanted, constant(0)});
  if (together_) {
    const uint32_t alone =
        code.emit(Op::OpSelect, u32_,
                  {subgroup_.all_equal(code, region), constant(0), constant(RegionFlush::kAlone)});
    place.wanted = binary(code, Op::OpBitwiseOr, place.wanted, alone);
  }
  return place;
}

void RegionCounting::note_primitive(InstructionBuilder& code, uint32_t header, uint32_t block,
                                    uint32_t region, uint32_t address) {
  const auto load = [&](RegionWord index) { return place_.load(code, block, index); };
  const uint32_t exists = compare(code, Op::OpINotEqual, region, constant(RegionPlace::kNowhere));
  code.if_then(both(code, helper_mask_.is_live(code), exists), [&] {
    const uint32_t tables =
        code.emit(Op::OpCompositeConstruct, uvec2_,
                  {load(RegionWord::PrimitivesLow), load(RegionWord::PrimitivesHigh)});
    primitives_->insert(code, {.tables = tables,
                               .slots_log2 = load(RegionWord::PrimitiveSlotsLog2),
                               .limit = load(RegionWord::PrimitiveLimit),
                               .region = region,
                               .draw = place_.load(code, header, RegionWord::Draw),
                               .counter = place_.accumulator(
                                   code, address, accumulator_of(Number::FragmentPrimitives))});
  });
}

// The clock difference in the lane that represents its subgroup; 0 in the others.
void RegionCounting::stop_clock(InstructionBuilder& code) {
  const uint32_t ticks =
      binary(code, Op::OpISub, subgroup_.clock(code), code.load(u32_, variables_[clock_]));
  const uint32_t first_lane =
      binary(code, Op::OpBitwiseAnd, code.load(u32_, variables_[bytes_]), constant(1));
  code.store(variables_[clock_], binary(code, Op::OpIMul, ticks, first_lane));
}

uint32_t RegionCounting::is_wanted(InstructionBuilder& code, uint32_t wanted,
                                   std::initializer_list<Number> some) {
  uint32_t bits = 0;
  for (const Number number : some) bits |= 1u << accumulator_of(number);
  return has_bits(code, wanted, bits);
}

uint32_t RegionCounting::has_bits(InstructionBuilder& code, uint32_t value, uint32_t bits) {
  return compare(code, Op::OpINotEqual, binary(code, Op::OpBitwiseAnd, value, constant(bits)),
                 constant(0));
}

void RegionCounting::note_lanes(InstructionBuilder& code) {
  const uint32_t live = helper_mask_.is_live(code);
  const uint32_t lowest = subgroup_.is_lowest(code, subgroup_.ballot(code, live), live);
  uint32_t bytes = constant(1u << 8 * kFirstLane);
  if (!masked_) {
    const uint32_t helper = code.emit(Op::OpLogicalNot, boolean_, {live});
    const uint32_t helpers = subgroup_.bit_count(code, subgroup_.ballot(code, helper));
    bytes = binary(code, Op::OpBitwiseOr, bytes,
                   binary(code, Op::OpShiftLeftLogical, helpers, constant(8 * kHelpers)));
  }
  code.store(variables_[bytes_], code.emit(Op::OpSelect, u32_, {lowest, bytes, constant(0)}));
}

void RegionCounting::count(InstructionBuilder& code, uint32_t counter) {
  if (counter_variables_[counter] == kEveryInvocation) return;
  const uint32_t variable = variables_[counter_variables_[counter]];
  code.store(variable, binary(code, Op::OpIAdd, code.load(u32_, variable), constant(1)));
}

void RegionCounting::leave(InstructionBuilder& code, const Exit& exit) {
  if (only_invocations()) return;
  if (is_discard(context_.module().instruction(exit.instruction).opcode())) {
    code.store(variables_[discarded_], constant(1u << 8 * kDiscarded));
  }
  code.call(editor_.type_void(), flush_function_);
}

// void name() { if (the pass counts) body(header of the draw, block); }
template <typename Body>
void RegionCounting::add_function(uint32_t id, std::string_view name, Body&& body) {
  const uint32_t none = editor_.type_void();
  editor_.name(id, name);
  InstructionBuilder code = editor_.new_code();
  code.emit_as(id, Op::OpFunction, none, std::vector<uint32_t>{0, editor_.type_function(none)});
  code.label(code.new_id());
  const uint32_t pointer = pointers_.load(code, TaggedRecordPointers::Kind::Region);
  const uint32_t low = code.emit(Op::OpCompositeExtract, u32_, {pointer, 0});
  const uint32_t high = code.emit(Op::OpCompositeExtract, u32_, {pointer, 1});
  code.if_then(has_bits(code, low, probe::kRegionCounts), [&] {
    const uint32_t untagged = binary(code, Op::OpBitwiseAnd, low, constant(~probe::kRegionTags));
    const uint32_t address = code.emit(Op::OpCompositeConstruct, uvec2_, {untagged, high});
    const uint32_t header = code.emit(Op::OpBitcast, place_.block_type(), {address});
    body(code, header, primitives_ ? find_block(code, low, address, header) : header);
  });
  code.emit(Op::OpReturn);
  code.emit(Op::OpFunctionEnd);
  context_.add_function(code);
}

uint32_t RegionCounting::find_block(InstructionBuilder& code, uint32_t tags, uint32_t address,
                                    uint32_t header) {
  const uint32_t before = *code.last_label();
  uint32_t named = 0;
  uint32_t inside = 0;
  code.if_then(
      has_bits(code, tags, probe::kRegionOfDraw),
      [&] {
        named = code.emit(Op::OpCompositeConstruct, uvec2_,
                          {place_.load(code, header, RegionWord::BlockLow),
                           place_.load(code, header, RegionWord::BlockHigh)});
      },
      &inside);
  const uint32_t found = code.phi(uvec2_, {{address, before}, {named, inside}});
  return code.emit(Op::OpBitcast, place_.block_type(), {found});
}

void RegionCounting::finish() {
  if (only_invocations()) {
    add_function(begin_function_, "tally.count_in_region",
                 [&](InstructionBuilder& code, uint32_t, uint32_t block) {
                   count_invocations(code, block);
                 });
    return;
  }
  add_function(begin_function_, "tally.begin_region",
               [&](InstructionBuilder& code, uint32_t header, uint32_t block) {
                 note_beginning(code, header, block);
               });
  add_function(flush_function_, "tally.flush_region",
               [&](InstructionBuilder& code, uint32_t, uint32_t block) { flush(code, block); });
}

// Here the lanes of a subgroup are still together, and nothing has to be kept until they end.
void RegionCounting::count_invocations(InstructionBuilder& code, uint32_t block) {
  if (masked_) return flush_masked(code, block);
  const uint32_t wanted = place_.load(code, block, RegionWord::Wanted);
  RegionFlush(context_, builtins_, helper_mask_, place_, values_, variables_, together_)
      .emit(code, locate(code, block, find_region(code, block), wanted));
}

void RegionCounting::flush_masked(InstructionBuilder& code, uint32_t block) {
  RegionFlush flush(context_, builtins_, helper_mask_, place_, values_, variables_, together_);
  MaskedRegionFlush(
      context_, helper_mask_, place_, values_,
      [&](InstructionBuilder& at, const RegionValue& value) { return flush.own_value(at, value); })
      .emit(code, block);
}

// One store at each discard: a module may have very many.
void RegionCounting::note_discard(InstructionBuilder& code) {
  const uint32_t bytes = code.load(u32_, variables_[bytes_]);
  const uint32_t discarded = code.load(u32_, variables_[discarded_]);
  code.store(variables_[bytes_], binary(code, Op::OpBitwiseOr, bytes, discarded));
}

void RegionCounting::flush(InstructionBuilder& code, uint32_t block) {
  if (discarded_ != kNone) note_discard(code);
  if (masked_) {
    if (clock_ != kNone) stop_clock(code);
    return flush_masked(code, block);
  }
  const auto load = [&](uint32_t index) { return code.load(u32_, variables_[index]); };
  const uint32_t wanted = load(wanted_);
  if (clock_ != kNone) {
    code.if_then(is_wanted(code, wanted, {Number::ShaderClock}), [&] { stop_clock(code); });
  }
  const uint32_t address =
      code.emit(Op::OpCompositeConstruct, uvec2_, {load(address_[0]), load(address_[1])});
  RegionFlush(context_, builtins_, helper_mask_, place_, values_, variables_, together_)
      .emit(code, {wanted, address});
}

}  // namespace tally::spirv
