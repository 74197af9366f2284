#include "spirv/pass/region_counting.h"

#include <algorithm>

#include "probe/region.h"

namespace tally::spirv {
namespace {

using catalogue::Number;
using probe::RegionWord;
using spv::Op;
using spv::StorageClass;

// Of which instruction classes a counter is the sum.
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

// The counter's accumulator: its place among the region counters.
uint32_t accumulator_of(Number number) {
  const auto all = catalogue::counters_of(catalogue::Scope::Region);
  const auto found = std::ranges::find(all, number, &catalogue::Counter::number);
  return static_cast<uint32_t>(found - all.begin());
}

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
}

Status RegionCounting::plan() {
  const auto map = BlockMap::build(context_.module(), context_.entry.model, context_.entry.name);
  if (!map) return map.error();
  BlockCountOptions options = context_.options;
  options.placement = Placement::Minimal;
  options.entry_count_known = false;
  CounterPlacement placed = place_counters(context_.graph, options, false, {});
  counters_ = std::move(placed.counters);
  for (const Counter& counter : counters_) {
    const bool every_invocation = counter.segment == context_.graph.entry_segment;
    counter_variables_.push_back(every_invocation ? kNone : new_variable());
  }
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
  add_class_values(placed.plan, *map);
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

void RegionCounting::add_class_values(const CounterPlan& plan, const BlockMap& map) {
  const auto factors = plan.factors();
  for (const ClassCounter& counter : class_counters()) {
    std::vector<uint32_t> sums(plan.counter_count);
    for (uint32_t block = 0; block < map.blocks().size(); ++block) {
      const uint32_t executions = plan.block_values[block];
      if (executions >= factors.size()) continue;  // never executed
      uint32_t cost = 0;
      for (const CostClass cost_class : counter.classes) {
        cost += static_cast<uint32_t>(map.blocks()[block].mix[cost_class]);
      }
      for (uint32_t i = 0; i < sums.size(); ++i) sums[i] += cost * factors[executions][i];
    }
    Value value{.accumulator = accumulator_of(counter.number)};
    for (uint32_t i = 0; i < sums.size(); ++i) {
      if (sums[i] == 0) continue;
      if (counter_variables_[i] == kNone) {
        value.constant += sums[i];
      } else {
        value.terms.push_back({counter_variables_[i], sums[i]});
      }
    }
    if (value.constant != 0 || !value.terms.empty()) values_.push_back(std::move(value));
  }
}

void RegionCounting::begin(Code& code) {
  if (first_lane_ != kNone) code.call(editor_.type_void(), begin_function_);
}

// What no counter of the pass is made of is not worked out.
void RegionCounting::note_beginning(Code& code, uint32_t block) {
  using enum Number;
  const uint32_t wanted = load_block_word(code, block, word(RegionWord::Wanted));
  code.if_then(is_wanted(code, wanted, {FragmentSubgroups, HelperInvocations, ShaderClock}),
               [&] { note_lanes(code); });
  if (clock_ == kNone) return;
  code.if_then(is_wanted(code, wanted, {ShaderClock}),
               [&] { code.store(variables_[clock_], read_clock(code)); });
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
  if (counter_variables_[counter] == kNone) return;
  const uint32_t variable = variables_[counter_variables_[counter]];
  code.store(variable, binary(code, Op::OpIAdd, code.load(u32_, variable), constant(1)));
}

void RegionCounting::leave(Code& code, const WayOut& way) {
  if (is_discard(context_.module().instruction(way.instruction).opcode())) {
    code.store(variables_[discarded_], constant(1));
  }
  code.call(editor_.type_void(), flush_function_);
}

// void name() { if (the pass is captured) body(its block); }
template <typename Body>
void RegionCounting::add_function(uint32_t id, std::string_view name, Body&& body) {
  const uint32_t none = editor_.type_void();
  editor_.name(id, name);
  Code code = editor_.new_code();
  code.emit_as(id, Op::OpFunction, none, std::vector<uint32_t>{0, editor_.type_function(none)});
  code.label(code.new_id());
  const uint32_t address = words_.load(code, AddressWords::Word::Region);
  code.if_then(words_.is_set(code, address),
               [&] { body(code, code.emit(Op::OpBitcast, words_pointer_type_, {address})); });
  code.emit(Op::OpReturn);
  code.emit(Op::OpFunctionEnd);
  context_.add_function(code);
}

void RegionCounting::finish() {
  if (first_lane_ != kNone) {
    add_function(begin_function_, "tally.begin_region",
                 [&](Code& code, uint32_t block) { note_beginning(code, block); });
  }
  add_function(flush_function_, "tally.flush_region",
               [&](Code& code, uint32_t block) { flush(code, block); });
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

RegionCounting::Place RegionCounting::find_place(Code& code, uint32_t block) {
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
  Place place;
  // Outside of the render area nothing may be drawn; but nothing of ours may be overwritten.
  place.live = both(code, liveness_.is_live(code),
                    both(code, compare(code, Op::OpULessThan, column, columns),
                         compare(code, Op::OpULessThan, row, rows)));
  uint32_t line = row;
  if (const uint32_t own_layer = layer(code, block); own_layer != 0) {
    const uint32_t exists = compare(code, Op::OpULessThan, own_layer, load(RegionWord::Layers));
    place.live = both(code, place.live, exists);
    line = binary(code, Op::OpIAdd, binary(code, Op::OpIMul, own_layer, rows), row);
  }
  place.region = binary(code, Op::OpIAdd, binary(code, Op::OpIMul, line, columns), column);
  place.address =
      code.emit(Op::OpCompositeConstruct, uvec2_,
                {load(RegionWord::AccumulatorsLow), load(RegionWord::AccumulatorsHigh)});
  return place;
}

void RegionCounting::flush(Code& code, uint32_t block) {
  const uint32_t wanted = load_block_word(code, block, word(RegionWord::Wanted));
  if (clock_ != kNone) {
    code.if_then(is_wanted(code, wanted, {Number::ShaderClock}), [&] { stop_clock(code); });
  }
  code.if_then(compare(code, Op::OpINotEqual, wanted, constant(0)), [&] {
    Place place = find_place(code, block);
    place.wanted = wanted;
    if (together_) {
      add_together(code, place);
    } else {
      code.if_then(place.live, [&] { add_alone(code, place); });
    }
  });
}

uint32_t RegionCounting::own_value(Code& code, const Value& value) {
  if (value.of_samples) {
    return code.emit(Op::OpBitCount, u32_, {builtins_.sample_mask(code)});
  }
  uint32_t sum = value.constant == 0 ? 0 : constant(value.constant);
  for (const Value::Term& term : value.terms) {
    uint32_t part = code.load(u32_, variables_[term.variable]);
    if (term.factor != 1) part = binary(code, Op::OpIMul, part, constant(term.factor));
    sum = sum == 0 ? part : binary(code, Op::OpIAdd, sum, part);
  }
  return sum;
}

template <typename Body>
void RegionCounting::if_wanted(Code& code, const Place& place, const Value& value, Body&& body) {
  const uint32_t bit =
      binary(code, Op::OpBitwiseAnd, place.wanted, constant(1u << value.accumulator));
  code.if_then(compare(code, Op::OpINotEqual, bit, constant(0)), body);
}

void RegionCounting::add_alone(Code& code, const Place& place) {
  const uint32_t address = region_address(code, place, place.region);
  for (const Value& value : values_) {
    if_wanted(code, place, value,
              [&] { add(code, address, value.accumulator, own_value(code, value)); });
  }
}

// The lanes of one region add up, and the lowest of them writes; then those of the next, until none
// is left. Mostly there is one. All lanes of the subgroup take part until the end, since which
// lanes a branch leaves is not the same thing everywhere where lanes are discarded.
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
  const uint32_t any = subgroup_.any(code, pending);
  code.loop_merge(after, next);
  code.branch_if(any, body, after);
  code.label(body);
  const uint32_t nowhere = constant(~0u);
  const uint32_t own = code.emit(Op::OpSelect, u32_, {pending, place.region, nowhere});
  const uint32_t region = subgroup_.minimum(code, own);
  const uint32_t mine = both(code, pending, compare(code, Op::OpIEqual, own, region));
  const uint32_t ballot = subgroup_.ballot(code, mine);
  const uint32_t lanes = subgroup_.bit_count(code, ballot);
  const uint32_t writes = subgroup_.is_lowest(code, ballot, mine);
  const uint32_t address = region_address(code, place, region);
  for (const Value& value : values_) {
    if_wanted(code, place, value, [&] {
      uint32_t sum = 0;
      if (value.terms.empty() && !value.of_samples) {
        sum = binary(code, Op::OpIMul, lanes, constant(value.constant));
      } else {
        sum = subgroup_.sum(
            code, code.emit(Op::OpSelect, u32_, {mine, own_value(code, value), constant(0)}));
      }
      code.if_then(writes, [&] { add(code, address, value.accumulator, sum); });
    });
  }
  code.branch(next);
  code.label(next);
  const uint32_t not_mine = compare(code, Op::OpINotEqual, own, region);
  code.emit_as(still_pending, Op::OpLogicalAnd, boolean_, std::vector<uint32_t>{pending, not_mine});
  code.branch(header);
  code.label(after);
}

uint32_t RegionCounting::region_address(Code& code, const Place& place, uint32_t region) {
  const uint32_t low = code.emit(Op::OpCompositeExtract, u32_, {place.address, 0});
  const uint32_t high = code.emit(Op::OpCompositeExtract, u32_, {place.address, 1});
  const uint32_t bytes = binary(code, Op::OpIMul, region, constant(probe::kRegionAccumulatorBytes));
  const uint32_t sum = binary(code, Op::OpIAdd, low, bytes);
  const uint32_t overflows = compare(code, Op::OpULessThan, sum, low);
  const uint32_t carry = code.emit(Op::OpSelect, u32_, {overflows, constant(1), constant(0)});
  return code.emit(Op::OpCompositeConstruct, uvec2_, {sum, binary(code, Op::OpIAdd, high, carry)});
}

void RegionCounting::add(Code& code, uint32_t address, uint32_t accumulator, uint32_t value) {
  const uint32_t block = code.emit(Op::OpBitcast, words_pointer_type_, {address});
  const uint32_t pointer_type = editor_.type_pointer(StorageClass::PhysicalStorageBuffer, u32_);
  const uint32_t pointer =
      code.access_chain(pointer_type, block, {constant(0), constant(accumulator)});
  const auto scope = context_.vulkan_memory_model ? spv::Scope::QueueFamily : spv::Scope::Device;
  code.emit(
      Op::OpAtomicIAdd, u32_,
      {pointer, constant(word(scope)), constant(word(spv::MemorySemanticsMask::MaskNone)), value});
}

}  // namespace tally::spirv
