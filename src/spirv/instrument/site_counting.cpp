#include "spirv/instrument/site_counting.h"

#include <spirv/unified1/GLSL.std.450.h>

#include "spirv/instrument/counting.h"

namespace tally::spirv {

using spv::Op;

SiteCounting::SiteCounting(CountingTools tools, SitePlan sites)
    : WordCode(tools.context.editor),
      tools_(tools),
      subgroup_(editor_),
      sites_(std::move(sites)),
      none_(editor_.type_void()) {
  for (size_t i = 0; i < sites_.loops.size(); ++i) {
    lengths_.push_back(editor_.new_private_variable(tools_.context.entry, u32_, constant(0)));
    editor_.name(lengths_.back(), "tally.run");
  }
  if (!sites_.memory.empty()) memory_.emplace(tools_, sites_);
  if (sites_.clocks.empty()) return;
  const auto variable = [&](const char* name) {
    const uint32_t id = editor_.new_private_variable(tools_.context.entry, u32_, constant(0));
    editor_.name(id, name);
    return id;
  };
  timed_ = variable("tally.timed"), now_ = variable("tally.now");
  for (size_t i = 0; i < sites_.clocks.size(); ++i) starts_.push_back(variable("tally.start"));
  begin_clock_ = editor_.new_id(), clock_now_ = editor_.new_id();
  end_clock_ = editor_.new_id();
}

void SiteCounting::begin(InstructionBuilder& code) {
  if (begin_clock_ != 0) code.call(none_, begin_clock_);
  if (memory_) memory_->begin(code);
}

void SiteCounting::insert() {
  for (size_t i = 0; i < sites_.loops.size(); ++i) insert_loop(i);
  for (const ValueSite& site : sites_.values) insert_value(site);
  for (size_t i = 0; i < sites_.clocks.size(); ++i) insert_clock(i);
  if (memory_) memory_->insert();
}

void SiteCounting::insert_clock(size_t number) {
  const ClockSite& site = sites_.clocks[number];
  for (const uint32_t at : site.begins) {
    InstructionBuilder code = editor_.new_code();
    code.store(starts_[number], code.call(u32_, clock_now_));
    editor_.insert_before(at, code);
  }
  for (const uint32_t at : site.ends) {
    InstructionBuilder code = editor_.new_code();
    end_clock(code, number);
    editor_.insert_before(at, code);
  }
}

void SiteCounting::insert_loop(size_t number) {
  const LoopSite& loop = sites_.loops[number];
  InstructionBuilder begin = editor_.new_code();
  uint32_t one = constant(1);
  if (loop.unless != 0) {
    const uint32_t zero = constant(0);
    one = loop.leaves_if ? select(begin, loop.unless, zero, one)
                         : select(begin, loop.unless, one, zero);
  }
  const uint32_t old = begin.load(u32_, lengths_[number]);
  begin.store(lengths_[number], binary(begin, Op::OpIAdd, old, one));
  editor_.insert_before(loop.begin, begin);

  InstructionBuilder end = editor_.new_code();
  end_run(end, number);
  editor_.insert_before(loop.end, end);
  for (const uint32_t leaves : loop.returns) {
    InstructionBuilder code = editor_.new_code();
    end_run(code, number);
    editor_.insert_before(leaves, code);
  }
}

void SiteCounting::end_run(InstructionBuilder& code, size_t number) {
  if (end_run_ == 0) end_run_ = editor_.new_id();
  const uint32_t length = code.load(u32_, lengths_[number]);
  code.call(none_, end_run_, {constant(sites_.loops[number].first_counter), length});
  code.store(lengths_[number], constant(0));
}

// Loops that are left by a return have ended before it. A reported intersection may end the
// invocation, but mostly does not.
void SiteCounting::leave(InstructionBuilder& code, const Exit& exit) {
  const bool is_end = is_return(module(), exit);
  if (is_end && !starts_.empty()) end_clock(code, 0);
  if (is_end && memory_) memory_->leave(code);
  if (lengths_.empty() || exit.kind == Exit::Kind::MayEnd || is_end) return;
  if (end_all_runs_ == 0) end_all_runs_ = editor_.new_id();
  code.call(none_, end_all_runs_);
}

void SiteCounting::insert_value(const ValueSite& site) {
  Kinds results;
  uint32_t zero = 0, negative = 0, beyond = 0;
  const auto either_of = [&](InstructionBuilder& code, uint32_t& all, uint32_t one) {
    all = all == 0 ? one : compare(code, Op::OpLogicalOr, all, one);
  };
  for (const uint32_t index : site.instructions) {
    const Instruction instruction = module().instruction(index);
    const CheckedValues checked = checked_values(module(), instruction);
    InstructionBuilder code = editor_.new_code();
    if (checked.divisor) either_of(code, zero, is_zero(code, instruction.operand(1)));
    if (checked.is_positive) either_of(code, negative, is_negative(code, instruction.operand(2)));
    if (checked.indices) either_of(code, beyond, is_out_of_range(code, instruction));
    if (checked.result) {
      const Kinds kinds = kinds_of(code, instruction.result_id(), instruction.type_id());
      results = results.nan == 0 ? kinds : either(code, results, kinds);
    }
    if (index == site.instructions.back()) {
      if (zero != 0) count_if(code, zero, site.zero_division);
      if (negative != 0) count_if(code, negative, site.negative);
      if (beyond != 0) count_if(code, beyond, site.out_of_range);
      if (results.nan != 0) count_results(code, results, site.result);
    }
    editor_.insert_after(index, code);
  }
}

void SiteCounting::count_if(InstructionBuilder& code, uint32_t condition, uint32_t counter) {
  if (count_if_ == 0) count_if_ = editor_.new_id();
  code.call(none_, count_if_, {condition, constant(counter)});
}

void SiteCounting::count_results(InstructionBuilder& code, const Kinds& kinds, uint32_t counter) {
  if (count_results_ == 0) count_results_ = editor_.new_id();
  code.call(none_, count_results_, {kinds.nan, kinds.infinite, kinds.denormal, constant(counter)});
}

uint32_t SiteCounting::is_zero(InstructionBuilder& code, uint32_t value) {
  const Components of = *components_of(module().type_of(value));
  const std::vector<uint32_t> words(of.width == 64 ? 2 : 1);
  const uint32_t zero = splat(code, of.scalar, editor_.constant(of.scalar, words), of.count);
  return any(code,
             code.emit(of.is_float ? Op::OpFOrdEqual : Op::OpIEqual, type_of(boolean_, of.count),
                       {value, zero}),
             of.count);
}

uint32_t SiteCounting::is_negative(InstructionBuilder& code, uint32_t value) {
  const Components of = *components_of(module().type_of(value));
  const std::vector<uint32_t> words(of.width == 64 ? 2 : 1);
  const uint32_t zero = splat(code, of.scalar, editor_.constant(of.scalar, words), of.count);
  return any(code, code.emit(Op::OpFOrdLessThan, type_of(boolean_, of.count), {value, zero}),
             of.count);
}

// A negative index is a large one.
uint32_t SiteCounting::is_out_of_range(InstructionBuilder& code, const Instruction& instruction) {
  uint32_t result = 0;
  for (const CheckedIndex& checked : checked_indices(module(), instruction)) {
    const uint32_t length = checked.length != 0 ? checked.length : constant(checked.count);
    const uint32_t beyond = compare(code, Op::OpUGreaterThanEqual, checked.index, length);
    result = result == 0 ? beyond : compare(code, Op::OpLogicalOr, result, beyond);
  }
  return result;
}

std::optional<SiteCounting::Components> SiteCounting::components_of(uint32_t type_id) const {
  Components components{type_id};
  auto type = module().definition(type_id);
  if (type && type->opcode() == Op::OpTypeVector) {
    components.scalar = type->operand(0);
    components.count = type->operand(1);
    type = module().definition(components.scalar);
  }
  if (!type || (type->opcode() != Op::OpTypeInt && type->opcode() != Op::OpTypeFloat)) {
    return std::nullopt;
  }
  components.is_float = type->opcode() == Op::OpTypeFloat;
  components.width = type->operand(0);
  return components;
}

uint32_t SiteCounting::type_of(uint32_t scalar, uint32_t count) const {
  return count == 1 ? scalar : editor_.type_vector(scalar, count);
}

uint32_t SiteCounting::splat(InstructionBuilder& code, uint32_t scalar, uint32_t value,
                             uint32_t count) const {
  if (count == 1) return value;
  return code.emit(Op::OpCompositeConstruct, type_of(scalar, count),
                   std::vector<uint32_t>(count, value));
}

uint32_t SiteCounting::any(InstructionBuilder& code, uint32_t booleans, uint32_t count) const {
  return count == 1 ? booleans : code.emit(Op::OpAny, boolean_, {booleans});
}

SiteCounting::Kinds SiteCounting::either(InstructionBuilder& code, const Kinds& a,
                                         const Kinds& b) const {
  const auto either_of = [&](uint32_t one, uint32_t other) {
    return compare(code, Op::OpLogicalOr, one, other);
  };
  return {either_of(a.nan, b.nan), either_of(a.infinite, b.infinite),
          either_of(a.denormal, b.denormal)};
}

// Looks at bits: a compiler may assume that there are no NaNs.
SiteCounting::Kinds SiteCounting::kinds_of(InstructionBuilder& code, uint32_t value,
                                           uint32_t type_id) {
  const auto kinds_of_vector = [&](uint32_t part, const Components& components) {
    return components.width == 64 ? kinds_of_doubles(code, part, components)
                                  : kinds_of_words(code, part, components);
  };
  if (const auto components = components_of(type_id)) return kinds_of_vector(value, *components);
  // A matrix.
  const Instruction type = *module().definition(type_id);
  const Components rows = *components_of(type.operand(0));
  Kinds kinds;
  for (uint32_t column = 0; column < type.operand(1); ++column) {
    const uint32_t part = code.emit(Op::OpCompositeExtract, type.operand(0), {value, column});
    const Kinds of_column = kinds_of_vector(part, rows);
    kinds = column == 0 ? of_column : either(code, kinds, of_column);
  }
  return kinds;
}

SiteCounting::Kinds SiteCounting::kinds_of_words(InstructionBuilder& code, uint32_t value,
                                                 const Components& components) {
  const uint32_t count = components.count;
  const uint32_t words = type_of(u32_, count);
  const uint32_t booleans = type_of(boolean_, count);
  const auto constants = [&](uint32_t number) {
    return splat(code, u32_, constant(number), count);
  };
  const auto test = [&](Op opcode, uint32_t a, uint32_t b) {
    return any(code, code.emit(opcode, booleans, {a, b}), count);
  };
  const bool is_half = components.width == 16;
  if (is_half) {
    value = code.emit(Op::OpFConvert, type_of(editor_.type_float(32), count), {value});
  }
  const uint32_t bits = code.emit(Op::OpBitcast, words, {value});
  const uint32_t magnitude = code.emit(Op::OpBitwiseAnd, words, {bits, constants(0x7fffffff)});
  const uint32_t infinity = constants(0x7f800000);
  // 0 is the largest number below this difference.
  const uint32_t below = code.emit(Op::OpISub, words, {magnitude, constants(1)});
  const uint32_t least_normal = is_half ? 0x38800000 : 0x00800000;
  return {test(Op::OpUGreaterThan, magnitude, infinity), test(Op::OpIEqual, magnitude, infinity),
          test(Op::OpULessThan, below, constants(least_normal - 1))};
}

SiteCounting::Kinds SiteCounting::kinds_of_doubles(InstructionBuilder& code, uint32_t value,
                                                   const Components& components) {
  Kinds kinds;
  for (uint32_t i = 0; i < components.count; ++i) {
    const uint32_t part = components.count == 1
                              ? value
                              : code.emit(Op::OpCompositeExtract, components.scalar, {value, i});
    const uint32_t bits = code.emit(Op::OpBitcast, editor_.type_vector(u32_, 2), {part});
    const uint32_t low = code.emit(Op::OpCompositeExtract, u32_, {bits, 0});
    const uint32_t sign_and_high = code.emit(Op::OpCompositeExtract, u32_, {bits, 1});
    const uint32_t high = code.emit(Op::OpBitwiseAnd, u32_, {sign_and_high, constant(0x7fffffff)});
    const auto test = [&](Op opcode, uint32_t a, uint32_t b) {
      return compare(code, opcode, a, constant(b));
    };
    const uint32_t has_low = test(Op::OpINotEqual, low, 0);
    const uint32_t at_infinity = test(Op::OpIEqual, high, 0x7ff00000);
    Kinds part_kinds;
    part_kinds.nan =
        code.emit(Op::OpLogicalOr, boolean_,
                  {test(Op::OpUGreaterThan, high, 0x7ff00000), both(code, at_infinity, has_low)});
    part_kinds.infinite = both(code, at_infinity, test(Op::OpIEqual, low, 0));
    const uint32_t all = code.emit(Op::OpBitwiseOr, u32_, {high, low});
    part_kinds.denormal =
        both(code, test(Op::OpULessThan, high, 0x00100000), test(Op::OpINotEqual, all, 0));
    kinds = i == 0 ? part_kinds : either(code, kinds, part_kinds);
  }
  return kinds;
}

void SiteCounting::end_clock(InstructionBuilder& code, size_t number) {
  code.call(none_, end_clock_,
            {constant(sites_.clocks[number].first_counter), code.load(u32_, starts_[number])});
}

void SiteCounting::make_clock_functions() {
  const auto is_timed = [&](InstructionBuilder& code) {
    return compare(code, Op::OpINotEqual, code.load(u32_, timed_), constant(0));
  };
  const uint32_t whole = sites_.clocks[0].first_counter;
  make_function(
      tools_.context, begin_clock_, "tally.begin_clock", {}, [&](InstructionBuilder& code, auto&) {
        const uint32_t clock = subgroup_.clock(code);
        code.store(starts_[0], clock);
        const uint32_t chosen = compare(code, Op::OpIEqual, sample(code, clock), constant(0));
        code.store(timed_, select(code, chosen, constant(1), constant(0)));
        code.if_then(chosen, [&] {
          if_counting(tools_, code, [&](const RecordPointer& record) {
            tools_.record.add_always(code, tools_.record.shard_address(code, record),
                                     constant(whole + 2), constant(1));
          });
        });
      });
  make_function_of(tools_.context, u32_, clock_now_, "tally.clock_now", {},
                   [&](InstructionBuilder& code, auto&) {
                     code.if_then(is_timed(code), [&] { code.store(now_, subgroup_.clock(code)); });
                     return code.load(u32_, now_);
                   });
  make_function(tools_.context, end_clock_, "tally.end_clock", {u32_, u32_},
                [&](InstructionBuilder& code, const std::vector<uint32_t>& parameters) {
                  const uint32_t counter = parameters[0], start = parameters[1];
                  code.if_then(is_timed(code), [&] {
                    const uint32_t cycles = binary(code, Op::OpISub, subgroup_.clock(code), start);
                    if_counting(tools_, code, [&](const RecordPointer& record) {
                      const ShardAddress shard = tools_.record.shard_address(code, record);
                      const uint32_t runs = binary(code, Op::OpIAdd, counter, constant(1));
                      tools_.record.add_always(code, shard, counter, cycles);
                      tools_.record.add_always(code, shard, runs, constant(1));
                    });
                  });
                });
}

// A number that is 0 for one of 2^clocks_log2 clocks, the same in all lanes that begin together.
uint32_t SiteCounting::sample(InstructionBuilder& code, uint32_t clock) {
  const uint32_t log2 = tools_.context.options.sites.clocks_log2;
  if (log2 == 0) return constant(0);
  constexpr uint32_t kScatter = 0x9e3779b1;  // the lowest bits of some clocks are always 0
  if (tools_.context.use_subgroups) clock = subgroup_.of_lowest(code, clock);
  return binary(code, Op::OpShiftRightLogical, binary(code, Op::OpIMul, clock, constant(kScatter)),
                constant(32 - log2));
}

void SiteCounting::finish() {
  if (begin_clock_ != 0) make_clock_functions();
  if (memory_) memory_->finish();
  if (end_all_runs_ != 0) {
    make_function(tools_.context, end_all_runs_, "tally.end_all_runs", {},
                  [&](InstructionBuilder& code, auto&) {
                    for (size_t i = 0; i < lengths_.size(); ++i) {
                      const uint32_t length = code.load(u32_, lengths_[i]);
                      code.if_then(compare(code, Op::OpINotEqual, length, constant(0)),
                                   [&] { end_run(code, i); });
                    }
                  });
  }
  if (end_run_ != 0) {
    make_function(
        tools_.context, end_run_, "tally.end_run", {u32_, u32_},
        [&](InstructionBuilder& code, const std::vector<uint32_t>& parameters) {
          const uint32_t first = parameters[0], length = parameters[1];
          if_counting(tools_, code, [&](const RecordPointer& record) {
            const ShardAddress shard = tools_.record.shard_address(code, record);
            const auto at = [&](uint32_t counter, uint32_t distance) {
              return binary(code, Op::OpIAdd, counter, constant(distance));
            };
            const uint32_t glsl = editor_.import_glsl();
            const uint32_t bit = code.emit(Op::OpExtInst, u32_, {glsl, GLSLstd450FindUMsb, length});
            const uint32_t bucket = code.emit(
                Op::OpExtInst, u32_, {glsl, GLSLstd450UMin, at(bit, 1), constant(kRunBuckets - 1)});
            const uint32_t runs = at(binary(code, Op::OpIAdd, first, bucket), 2);
            tools_.record.add_always(code, shard, runs, constant(1));
            tools_.record.add(code, shard, first, length);
            tools_.record.raise(code, record, at(first, 1), length);
          });
        });
  }
  const auto add_one = [&](InstructionBuilder& code, uint32_t counter) {
    if_counting(tools_, code, [&](const RecordPointer& record) {
      tools_.record.add_always(code, tools_.record.shard_address(code, record), counter,
                               constant(1));
    });
  };
  if (count_if_ != 0) {
    make_function(tools_.context, count_if_, "tally.count_value_if", {boolean_, u32_},
                  [&](InstructionBuilder& code, const std::vector<uint32_t>& parameters) {
                    code.if_then(parameters[0], [&] { add_one(code, parameters[1]); });
                  });
  }
  if (count_results_ == 0) return;
  make_function(
      tools_.context, count_results_, "tally.count_results", {boolean_, boolean_, boolean_, u32_},
      [&](InstructionBuilder& code, const std::vector<uint32_t>& parameters) {
        const uint32_t nan = parameters[0], infinite = parameters[1], denormal = parameters[2];
        const uint32_t special = compare(code, Op::OpLogicalOr, nan, infinite);
        const uint32_t counted = compare(code, Op::OpLogicalOr, special, denormal);
        code.if_then(counted, [&] {
          const uint32_t if_not_nan = select(code, infinite, constant(1), constant(2));
          const uint32_t distance = select(code, nan, constant(0), if_not_nan);
          add_one(code, binary(code, Op::OpIAdd, parameters[3], distance));
        });
      });
}

}  // namespace tally::spirv
