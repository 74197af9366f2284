#include "spirv/instrument/memory_counting.h"

#include <algorithm>
#include <bit>

#include "spirv/analysis/sites.h"
#include "spirv/instrument/counting.h"
#include "spirv/ir/opcode.h"

namespace tally::spirv {

using spv::Op;

namespace {
constexpr uint32_t kMinusOne = ~0u;
constexpr uint32_t kAbsent = ~0u;  // no lane has it
constexpr uint32_t kSectorShift = 5, kLineShift = 7, kBankShift = 2;
static_assert(1u << kSectorShift == kSectorBytes && 1u << kLineShift == kLineBytes);
constexpr uint32_t kMaxLanes = 128;  // of a subgroup
constexpr uint32_t kBanksOfLane = kMaxSharedExtent >> kBankShift;
}  // namespace

MemoryCounting::MemoryCounting(CountingTools tools, const SitePlan& sites)
    : WordCode(tools.context.editor),
      tools_(tools),
      sites_(sites.memory),
      sketch_(sites.sketch),
      subgroup_(editor_),
      none_(editor_.type_void()) {
  if (tools.context.options.sites.memory_lanes != 0) virtual_.emplace(tools, sites);
  const bool by_subgroup = std::ranges::any_of(
      sites_, [](const MemorySite& site) { return site.units != MemorySite::Units::None; });
  if (!by_subgroup) return;
  for (const MemorySite& site : sites_) {
    if (site.units == MemorySite::Units::Sectors && !site.access.is_in_one(kSectorBytes))
      max_sectors_ = std::max(max_sectors_, (site.access.extent - 1) / kSectorBytes + 2);
  }
  keep_loops_rolled();
  if (tools.context.options.sites.maximal_reconvergence) keep_lanes_together();
}

// The code at each access is a loop with subgroup operations: compilers that repeat it for each
// iteration of a loop of the application take minutes.
void MemoryCounting::keep_loops_rolled() {
  constexpr auto kUnroll = static_cast<uint32_t>(spv::LoopControlMask::Unroll);
  constexpr auto kDontUnroll = static_cast<uint32_t>(spv::LoopControlMask::DontUnroll);
  constexpr auto kCounts = static_cast<uint32_t>(spv::LoopControlMask::PeelCount) |
                           static_cast<uint32_t>(spv::LoopControlMask::PartialCount);
  const Module& module = tools_.context.module();
  for (const uint32_t f : module.reachable_functions(tools_.context.entry.function_id)) {
    const Function& function = module.functions()[f];
    for (uint32_t i = function.begin; i < function.end; ++i) {
      const Instruction instruction = module.instruction(i);
      if (instruction.opcode() != Op::OpLoopMerge) continue;
      const uint32_t control = instruction.operand(2);
      if ((control & kCounts) == 0) {
        editor_.replace_word(i, 3, (control & ~kUnroll) | kDontUnroll);
      }
    }
  }
}

void MemoryCounting::keep_lanes_together() {
  constexpr auto kMode = newer::ExecutionModeMaximallyReconvergesKHR;
  const Module& module = tools_.context.module();
  const EntryPoint& entry = tools_.context.entry;
  for (const uint32_t mode : module.execution_modes(entry)) {
    if (module.instruction(mode).operand(1) == static_cast<uint32_t>(kMode)) return;
  }
  editor_.add_extension("SPV_KHR_maximal_reconvergence");
  editor_.add_execution_mode(entry.function_id, kMode);
}

void MemoryCounting::begin(InstructionBuilder& code) {
  if (virtual_) virtual_->begin(code);
}

void MemoryCounting::leave(InstructionBuilder& code) {
  if (virtual_) virtual_->leave(code);
}

void MemoryCounting::insert() {
  if (virtual_) virtual_->insert_places();
  for (const MemorySite& site : sites_) insert_site(site);
}

void MemoryCounting::insert_site(const MemorySite& site) {
  InstructionBuilder code = editor_.new_code();
  const auto call = [&](uint32_t& function, std::initializer_list<uint32_t> arguments) {
    if (function == 0) function = editor_.new_id();
    code.call(none_, function, arguments);
  };
  const bool is_shared = site.units == MemorySite::Units::Banks;
  const bool is_image = site.units == MemorySite::Units::Texels;
  const uint32_t bytes = constant(site.access.bytes), extent = constant(site.access.extent);
  const uint32_t first = constant(site.first_counter);
  Begin begin;
  if (site.access.is_of_buffer()) begin = begin_of(code, site.access);
  if (site.units == MemorySite::Units::None) {
    call(count_bytes_, {bytes, first});
  } else {
    if (is_image) begin = texel_of(code, site.access);
    if (is_shared) begin = begin_of(code, site.access);
    const bool is_one = begin.resource == 0;
    if (virtual_) {
      const VirtualSubgroups::Key place = virtual_->place(code, site);
      call(is_shared  ? count_shared_
           : is_image ? count_texel_
                      : count_buffer_,
           {place.first, place.second, is_one ? constant(0) : begin.resource, begin.byte, extent,
            bytes, first});
    } else if (is_shared && site.access.is_in_one(1u << kBankShift)) {
      call(count_word_, {bytes, first, begin.byte});
    } else if (is_shared) {
      call(count_shared_, {bytes, first, begin.byte, extent});
    } else if (is_image && is_one) {
      call(count_texel_, {bytes, first, begin.byte});
    } else if (is_image) {
      call(count_texel_of_several_, {bytes, first, begin.byte, begin.resource});
    } else if (site.access.is_in_one(kSectorBytes) && is_one) {
      call(count_sector_, {bytes, first, begin.byte});
    } else if (site.access.is_in_one(kSectorBytes)) {
      call(count_sector_of_several_, {bytes, first, begin.byte, begin.resource});
    } else if (is_one) {
      call(count_buffer_, {bytes, first, begin.byte, extent});
    } else {
      call(count_buffer_of_several_, {bytes, first, begin.byte, extent, begin.resource});
    }
  }
  if (site.access.is_of_buffer()) sketch_lines(code, site.access, begin);
  editor_.insert_before(site.instruction, code);
}

MemoryCounting::Begin MemoryCounting::begin_of(InstructionBuilder& code,
                                               const MemoryAccess& access) {
  if (access.variable == 0) {
    const uint32_t address =
        code.emit(Op::OpBitcast, editor_.type_vector(u32_, 2), {access.pointer});
    return {code.emit(Op::OpCompositeExtract, u32_, {address, 1}),
            code.emit(Op::OpCompositeExtract, u32_, {address, 0})};
  }
  Begin begin{0, constant(access.base)};
  for (const MemoryAccess::Step& step : access.steps) {
    const uint32_t bytes = binary(code, Op::OpIMul, step.index, constant(step.stride));
    begin.byte = binary(code, Op::OpIAdd, begin.byte, bytes);
  }
  if (access.element != 0) {
    begin.resource = binary(code, Op::OpIAdd, access.element, constant(0));
  }
  return begin;
}

// Numbers of a texel that are different for all texels of an image of at most 32,768 x 32,768, with
// the image's number in an array.
MemoryCounting::Begin MemoryCounting::texel_of(InstructionBuilder& code,
                                               const MemoryAccess& access) {
  const auto masked = [&](uint32_t i, uint32_t mask) {
    const uint32_t number = access.dimensions == 1
                                ? access.coordinate
                                : code.emit(Op::OpCompositeExtract, scalar_of(access.coordinate),
                                            {access.coordinate, i});
    return binary(code, Op::OpBitwiseAnd, number, constant(mask));
  };
  constexpr uint32_t kHalf = 0x7fff;
  Begin begin;
  if (access.dimensions == 1) {
    begin.byte = masked(0, 0x7fffffff);  // a texel buffer may have more
  } else {
    const uint32_t row = binary(code, Op::OpShiftLeftLogical, masked(1, kHalf), constant(16));
    begin.byte = binary(code, Op::OpBitwiseOr, masked(0, kHalf), row);
  }
  if (access.dimensions > 2) begin.resource = masked(2, kHalf);
  if (access.element != 0) {
    const uint32_t element = binary(code, Op::OpShiftLeftLogical, access.element, constant(16));
    begin.resource =
        begin.resource == 0 ? element : binary(code, Op::OpBitwiseOr, begin.resource, element);
  }
  return begin;
}

// The type of a vector's components.
uint32_t MemoryCounting::scalar_of(uint32_t vector) const {
  const Module& module = tools_.context.module();
  return module.definition(module.type_of(vector))->operand(0);
}

// Calls visit(turn, values) once for each lane of a full subgroup; it returns the values of the
// next call. Returns the last ones.
//
// All lanes make the same number of turns, whatever they access: a loop whose end depended on the
// accesses hung in some shaders on NVIDIA 580.
template <typename Visit>
std::vector<uint32_t> MemoryCounting::each_lane(InstructionBuilder& code, uint32_t packed,
                                                uint32_t resource,
                                                std::vector<InstructionBuilder::Carried> values,
                                                Visit&& visit) {
  const uint32_t own = tools_.builtins.lane(code);
  const uint32_t lanes = tools_.builtins.number(code, spv::BuiltIn::SubgroupSize, 1, 0);
  const uint32_t before = code.new_id();
  code.branch(before);
  code.label(before);
  values.push_back({u32_, constant(0)});
  std::vector<uint32_t> last = code.repeat(values, [&](std::vector<uint32_t> now) {
    const uint32_t lane = now.back();
    now.pop_back();
    const uint32_t is_own = compare(code, Op::OpIEqual, own, lane);
    const auto of_lane = [&](uint32_t value) {
      return subgroup_.minimum(code, select(code, is_own, value, constant(kAbsent)));
    };
    const uint32_t theirs = of_lane(packed);
    const uint32_t is_present = compare(code, Op::OpINotEqual, theirs, constant(kAbsent));
    uint32_t is_earlier = both(code, compare(code, Op::OpULessThan, lane, own), is_present);
    if (resource != 0) {
      const uint32_t other = of_lane(select(code, is_present, resource, constant(kAbsent)));
      is_earlier = both(code, is_earlier, compare(code, Op::OpIEqual, other, resource));
    }
    std::vector<uint32_t> next = visit(Turn{theirs, is_present, is_earlier}, now);
    next.push_back(plus(code, lane, 1));
    const uint32_t again = compare(code, Op::OpULessThan, next.back(), lanes);
    return InstructionBuilder::Turns{std::move(next), again};
  });
  last.pop_back();
  return last;
}

// The rest of `units` after another lane's access to those from `first` to `last`. All lanes
// ask for as many bytes. So an access that begins in the same unit as this one, `own_first`, or
// before it takes the first units, and any other one takes the last units.
MemoryCounting::Units MemoryCounting::without(InstructionBuilder& code, const Units& units,
                                              uint32_t own_first, uint32_t is_earlier,
                                              uint32_t first, uint32_t last) {
  const uint32_t end = plus(code, last, 1);
  const uint32_t is_before = compare(code, Op::OpULessThanEqual, first, own_first);
  const uint32_t takes_first =
      both(code, is_before, compare(code, Op::OpUGreaterThan, end, units.first));
  const uint32_t is_after = compare(code, Op::OpUGreaterThan, first, own_first);
  const uint32_t takes_last =
      both(code, is_after, compare(code, Op::OpULessThan, first, units.end));
  return {select(code, both(code, is_earlier, takes_first), end, units.first),
          select(code, both(code, is_earlier, takes_last), first, units.end)};
}

uint32_t MemoryCounting::count(InstructionBuilder& code, const Units& units) const {
  const uint32_t are_left = compare(code, Op::OpULessThan, units.first, units.end);
  return select(code, are_left, binary(code, Op::OpISub, units.end, units.first), constant(0));
}

// The sum over the lanes of numbers up to `most`. In two shaders that also use workgroup memory,
// the subgroup's addition gave three too few on NVIDIA 580.
uint32_t MemoryCounting::sum(InstructionBuilder& code, uint32_t number, uint32_t most) {
  uint32_t total = 0;
  for (uint32_t bit = 0; bit < std::bit_width(most); ++bit) {
    const uint32_t masked = binary(code, Op::OpBitwiseAnd, number, constant(1u << bit));
    const uint32_t is_set = compare(code, Op::OpINotEqual, masked, constant(0));
    const uint32_t lanes = subgroup_.bit_count(code, subgroup_.ballot(code, is_set));
    const uint32_t part = binary(code, Op::OpShiftLeftLogical, lanes, constant(bit));
    total = total == 0 ? part : binary(code, Op::OpIAdd, total, part);
  }
  return total;
}

// The sectors and lines of an access to a buffer, each at the lowest lane that touches it.
MemoryCounting::Touched MemoryCounting::sectors_and_lines(InstructionBuilder& code,
                                                          uint32_t resource, uint32_t byte,
                                                          uint32_t extent) {
  constexpr uint32_t kSectorsOfLine = kLineShift - kSectorShift;
  const auto line_of = [&](uint32_t sector) {
    return binary(code, Op::OpShiftRightLogical, sector, constant(kSectorsOfLine));
  };
  const uint32_t first = binary(code, Op::OpShiftRightLogical, byte, constant(kSectorShift));
  // Not the sector of the last byte's address, which may be beyond 2^32.
  const uint32_t inside = binary(code, Op::OpBitwiseAnd, byte, constant(kSectorBytes - 1));
  const uint32_t bytes_after = plus(code, extent, kMinusOne);
  const uint32_t end = binary(code, Op::OpIAdd, inside, bytes_after);
  const uint32_t more = binary(code, Op::OpShiftRightLogical, end, constant(kSectorShift));
  const uint32_t least = binary(code, Op::OpShiftRightLogical, bytes_after, constant(kSectorShift));
  // At most one sector more than the least number.
  const uint32_t packed =
      binary(code, Op::OpBitwiseOr, binary(code, Op::OpShiftLeftLogical, first, constant(1)),
             binary(code, Op::OpISub, more, least));
  const uint32_t last = binary(code, Op::OpIAdd, first, more);
  const uint32_t first_line = line_of(first);
  const std::vector<uint32_t> left = each_lane(
      code, packed, resource,
      {{u32_, first},
       {u32_, plus(code, last, 1)},
       {u32_, first_line},
       {u32_, plus(code, line_of(last), 1)}},
      [&](const Turn& turn, const std::vector<uint32_t>& now) {
        const uint32_t from = binary(code, Op::OpShiftRightLogical, turn.packed, constant(1));
        const uint32_t one = binary(code, Op::OpBitwiseAnd, turn.packed, constant(1));
        const uint32_t to = binary(code, Op::OpIAdd, from, binary(code, Op::OpIAdd, least, one));
        const Units sectors = without(code, {now[0], now[1]}, first, turn.is_earlier, from, to);
        const Units lines = without(code, {now[2], now[3]}, first_line, turn.is_earlier,
                                    line_of(from), line_of(to));
        return std::vector{sectors.first, sectors.end, lines.first, lines.end};
      });
  const uint32_t sectors = sum(code, count(code, {left[0], left[1]}), max_sectors_);
  const uint32_t lines = sum(code, count(code, {left[2], left[3]}), max_sectors_);
  return {sectors, lines};
}

// The lanes of the ballot `lanes` whose numbers have the bits from `begin` up to but not including
// `end` in common with this lane's.
uint32_t MemoryCounting::same_bits(InstructionBuilder& code, uint32_t lanes, uint32_t number,
                                   uint32_t begin, uint32_t end) {
  const uint32_t uvec4 = editor_.type_vector(u32_, 4);
  const uint32_t before = code.new_id();
  code.branch(before);
  code.label(before);
  const InstructionBuilder::Carried carried[] = {{uvec4, lanes}, {u32_, constant(begin)}};
  return code.repeat(carried, [&](const std::vector<uint32_t>& now) {
    const uint32_t shifted = binary(code, Op::OpShiftRightLogical, number, now[1]);
    const uint32_t bit = binary(code, Op::OpBitwiseAnd, shifted, constant(1));
    const uint32_t is_set = compare(code, Op::OpINotEqual, bit, constant(0));
    // All bits if this lane's is not set.
    const uint32_t others = plus(code, bit, kMinusOne);
    const uint32_t flip =
        code.emit(Op::OpCompositeConstruct, uvec4, {others, others, others, others});
    const uint32_t same =
        code.emit(Op::OpBitwiseXor, uvec4, {subgroup_.ballot(code, is_set), flip});
    const uint32_t next = plus(code, now[1], 1);
    return InstructionBuilder::Turns{{code.emit(Op::OpBitwiseAnd, uvec4, {now[0], same}), next},
                                     compare(code, Op::OpULessThan, next, constant(end))};
  })[0];
}

// The lanes that access the same resource; 0: there is one.
uint32_t MemoryCounting::same_resource(InstructionBuilder& code, uint32_t resource) {
  const uint32_t lanes = subgroup_.ballot(code, 0);
  return resource == 0 ? lanes : same_bits(code, lanes, resource, 0, 32);
}

// How many lanes are the lowest of their `lanes`.
uint32_t MemoryCounting::count_lowest(InstructionBuilder& code, uint32_t lanes) {
  return subgroup_.bit_count(code, subgroup_.ballot(code, subgroup_.is_lowest(code, lanes, 0)));
}

// The sectors and lines of an access to a buffer of which each lane touches one.
MemoryCounting::Touched MemoryCounting::sector_and_line(InstructionBuilder& code, uint32_t resource,
                                                        uint32_t byte) {
  const uint32_t of_line = same_bits(code, same_resource(code, resource), byte, kLineShift, 32);
  const uint32_t of_sector = same_bits(code, of_line, byte, kSectorShift, kLineShift);
  return {count_lowest(code, of_sector), count_lowest(code, of_line)};
}

// The texels that an access to an image touches.
uint32_t MemoryCounting::texels(InstructionBuilder& code, uint32_t resource, uint32_t texel) {
  return count_lowest(code, same_bits(code, same_resource(code, resource), texel, 0, 32));
}

// number + added, for a constant.
uint32_t MemoryCounting::plus(InstructionBuilder& code, uint32_t number, uint32_t added) const {
  return binary(code, Op::OpIAdd, number, constant(added));
}

// Each word counts at the lowest lane that touches it. Then each lane counts the words in the banks
// that it touches: one of them is the fullest.
uint32_t MemoryCounting::extra_passes(InstructionBuilder& code, uint32_t byte, uint32_t extent) {
  constexpr uint32_t kMaxWords = kMaxSharedExtent / sizeof(uint32_t) + 1;
  constexpr uint32_t kCountBits = std::bit_width(kMaxWords);
  const uint32_t uvec4 = editor_.type_vector(u32_, kBanksOfLane);
  const uint32_t bvec4 = editor_.type_vector(boolean_, kBanksOfLane);
  const auto splat = [&](uint32_t value) {
    return code.emit(Op::OpCompositeConstruct, uvec4, {value, value, value, value});
  };
  const auto pack = [&](uint32_t word, uint32_t words) {
    return binary(code, Op::OpBitwiseOr,
                  binary(code, Op::OpShiftLeftLogical, word, constant(kCountBits)), words);
  };
  const auto word_of = [&](uint32_t packed) {
    return binary(code, Op::OpShiftRightLogical, packed, constant(kCountBits));
  };
  const auto words_of = [&](uint32_t packed) {
    return binary(code, Op::OpBitwiseAnd, packed, constant((1u << kCountBits) - 1));
  };
  const uint32_t first = binary(code, Op::OpShiftRightLogical, byte, constant(kBankShift));
  const uint32_t end = binary(code, Op::OpIAdd, byte, plus(code, extent, kMinusOne));
  const uint32_t last = binary(code, Op::OpShiftRightLogical, end, constant(kBankShift));
  const std::vector<uint32_t> left = each_lane(
      code, pack(first, binary(code, Op::OpISub, last, first)), 0,
      {{u32_, first}, {u32_, plus(code, last, 1)}},
      [&](const Turn& turn, const std::vector<uint32_t>& now) {
        const uint32_t from = word_of(turn.packed);
        const uint32_t to = binary(code, Op::OpIAdd, from, words_of(turn.packed));
        const Units words = without(code, {now[0], now[1]}, first, turn.is_earlier, from, to);
        return std::vector{words.first, words.end};
      });
  const uint32_t words = count(code, {left[0], left[1]});
  const uint32_t zeros = splat(constant(0)), ones = splat(constant(1));
  const uint32_t distances = code.emit(Op::OpCompositeConstruct, uvec4,
                                       {constant(0), constant(1), constant(2), constant(3)});
  const uint32_t own = code.emit(Op::OpIAdd, uvec4, {splat(first), distances});
  const uint32_t mask = splat(constant(kBanks - 1));
  const std::vector<uint32_t> counted = each_lane(
      code, pack(left[0], words), 0, {{uvec4, zeros}},
      [&](const Turn& turn, const std::vector<uint32_t>& now) {
        const uint32_t there = select(code, turn.is_present, words_of(turn.packed), constant(0));
        const uint32_t distance = code.emit(Op::OpISub, uvec4, {own, splat(word_of(turn.packed))});
        const uint32_t banks = code.emit(Op::OpBitwiseAnd, uvec4, {distance, mask});
        const uint32_t hits = code.emit(Op::OpULessThan, bvec4, {banks, splat(there)});
        const uint32_t added = code.emit(Op::OpSelect, uvec4, {hits, ones, zeros});
        return std::vector{code.emit(Op::OpIAdd, uvec4, {now[0], added})};
      });
  uint32_t most = code.emit(Op::OpCompositeExtract, u32_, {counted[0], 0});
  for (uint32_t i = 1; i < kBanksOfLane; ++i) {
    const uint32_t other = code.emit(Op::OpCompositeExtract, u32_, {counted[0], i});
    most = select(code, compare(code, Op::OpUGreaterThan, other, most), other, most);
  }
  // The maximum, by the minimum of the complements: maximum() is wrong here in a mesh shader on
  // NVIDIA 580, and the minimum is wrong in extra_passes_of_words().
  const uint32_t complement = code.emit(Op::OpNot, u32_, {most});
  const uint32_t passes = code.emit(Op::OpNot, u32_, {subgroup_.minimum(code, complement)});
  return beyond_needed(code, passes, sum(code, words, kMaxWords));
}

// The same where each lane touches one word.
uint32_t MemoryCounting::extra_passes_of_words(InstructionBuilder& code, uint32_t byte) {
  constexpr uint32_t kEnd = 20;  // of the bits of a byte's number: no device has more memory
  const uint32_t of_word = same_bits(code, subgroup_.ballot(code, 0), byte, kBankShift, kEnd);
  const uint32_t firsts = subgroup_.ballot(code, subgroup_.is_lowest(code, of_word, 0));
  const uint32_t of_bank =
      same_bits(code, firsts, byte, kBankShift, kBankShift + std::countr_zero(kBanks));
  return beyond_needed(code, maximum(code, subgroup_.bit_count(code, of_bank)),
                       subgroup_.bit_count(code, firsts));
}

// The largest of the lanes' numbers, by ballots.
uint32_t MemoryCounting::maximum(InstructionBuilder& code, uint32_t number) {
  uint32_t found = constant(0), may_be = editor_.constant_bool(true);
  for (uint32_t bit = std::bit_width(kMaxLanes); bit-- > 0;) {
    const uint32_t masked = binary(code, Op::OpBitwiseAnd, number, constant(1u << bit));
    const uint32_t is_set = both(code, may_be, compare(code, Op::OpINotEqual, masked, constant(0)));
    const uint32_t lanes = subgroup_.bit_count(code, subgroup_.ballot(code, is_set));
    const uint32_t any = compare(code, Op::OpINotEqual, lanes, constant(0));
    may_be = code.emit(Op::OpSelect, boolean_, {any, is_set, may_be});
    found =
        binary(code, Op::OpBitwiseOr, found, select(code, any, constant(1u << bit), constant(0)));
  }
  return found;
}

// The passes beyond those that so many words need.
uint32_t MemoryCounting::beyond_needed(InstructionBuilder& code, uint32_t passes, uint32_t words) {
  const uint32_t needed = binary(code, Op::OpUDiv, plus(code, words, kBanks - 1), constant(kBanks));
  // Fewer only where lanes parted since.
  passes = select(code, compare(code, Op::OpUGreaterThan, needed, passes), needed, passes);
  return binary(code, Op::OpISub, passes, needed);
}

// True for the lane that adds for those with it, and the bytes of them all. One operation gives
// both: lanes may part between two.
MemoryCounting::LaneSum MemoryCounting::sum_of_lanes(InstructionBuilder& code, uint32_t bytes) {
  const uint32_t ballot = subgroup_.ballot(code, 0);
  const uint32_t sum = binary(code, Op::OpIMul, subgroup_.bit_count(code, ballot), bytes);
  return {subgroup_.is_lowest(code, ballot, 0), sum};
}

void MemoryCounting::add_all(InstructionBuilder& code, const RecordPointer& record, uint32_t first,
                             const std::vector<uint32_t>& values) {
  const ShardAddress shard = tools_.record.shard_address(code, record);
  uint32_t distance = 0;
  for (const uint32_t value : values) {
    tools_.record.add(code, shard, plus(code, first, distance++), value);
  }
}

// The functions of virtual subgroups.
void MemoryCounting::finish_virtual() {
  const auto make = [&](uint32_t function, const char* name, auto count) {
    if (function == 0) return;
    make_function(tools_.context, function, name, {u32_, u32_, u32_, u32_, u32_, u32_, u32_},
                  [&](InstructionBuilder& code, const std::vector<uint32_t>& of) {
                    ((*virtual_).*count)(code, {{of[0], of[1]}, of[2], of[3], of[4], of[5], of[6]});
                  });
  };
  make(count_buffer_, "tally.count_buffer", &VirtualSubgroups::count_buffer);
  make(count_shared_, "tally.count_shared", &VirtualSubgroups::count_shared);
  make(count_texel_, "tally.count_texel", &VirtualSubgroups::count_texel);
  virtual_->finish();
}

void MemoryCounting::finish() {
  finish_sketch();
  if (virtual_) {
    finish_virtual();
    count_shared_ = count_buffer_ = count_texel_ = 0;
  }
  if (count_bytes_ != 0) {
    make_function(tools_.context, count_bytes_, "tally.count_bytes", {u32_, u32_},
                  [&](InstructionBuilder& code, const std::vector<uint32_t>& parameters) {
                    if_counting(tools_, code, [&](const RecordPointer& record) {
                      add_all(code, record, parameters[1], {parameters[0]});
                    });
                  });
  }
  // Each has the bytes of a lane, the first counter, and what `units` makes the numbers of units
  // from. The lane that adds is chosen first: nothing guarantees that the lanes are together after
  // a loop.
  using Ids = std::vector<uint32_t>;
  const auto make = [&](uint32_t function, const char* name, std::initializer_list<uint32_t> types,
                        auto&& units) {
    if (function == 0) return;
    make_function(tools_.context, function, name, types,
                  [&](InstructionBuilder& code, const Ids& parameters) {
                    if_counting(tools_, code, [&](const RecordPointer& record) {
                      const LaneSum sum = sum_of_lanes(code, parameters[0]);
                      Ids values = units(code, std::span(parameters).subspan(2));
                      values.insert(values.begin(), {sum.bytes, constant(1)});
                      code.if_then(sum.adds, [&] { add_all(code, record, parameters[1], values); });
                    });
                  });
  };
  using Rest = std::span<const uint32_t>;
  make(count_shared_, "tally.count_shared", {u32_, u32_, u32_, u32_},
       [&](InstructionBuilder& code, Rest rest) {
         return Ids{extra_passes(code, rest[0], rest[1])};
       });
  make(count_word_, "tally.count_word", {u32_, u32_, u32_},
       [&](InstructionBuilder& code, Rest rest) {
         return Ids{extra_passes_of_words(code, rest[0])};
       });
  // The last parameter is the resource, if there are several.
  const auto make_both = [&](uint32_t of_one, const char* name, uint32_t of_several,
                             const char* name_of_several, bool has_extent, auto&& units) {
    const auto with_resource = [&](InstructionBuilder& code, Rest rest) {
      const size_t without = has_extent ? 2 : 1;
      return units(code, rest, rest.size() > without ? rest[without] : 0);
    };
    if (has_extent) {
      make(of_one, name, {u32_, u32_, u32_, u32_}, with_resource);
      make(of_several, name_of_several, {u32_, u32_, u32_, u32_, u32_}, with_resource);
    } else {
      make(of_one, name, {u32_, u32_, u32_}, with_resource);
      make(of_several, name_of_several, {u32_, u32_, u32_, u32_}, with_resource);
    }
  };
  make_both(count_texel_, "tally.count_texel", count_texel_of_several_,
            "tally.count_texel_of_several", false,
            [&](InstructionBuilder& code, Rest rest, uint32_t resource) {
              return Ids{texels(code, resource, rest[0])};
            });
  make_both(count_sector_, "tally.count_sector", count_sector_of_several_,
            "tally.count_sector_of_several", false,
            [&](InstructionBuilder& code, Rest rest, uint32_t resource) {
              const Touched touched = sector_and_line(code, resource, rest[0]);
              return Ids{touched.sectors, touched.lines};
            });
  make_both(count_buffer_, "tally.count_buffer", count_buffer_of_several_,
            "tally.count_buffer_of_several", true,
            [&](InstructionBuilder& code, Rest rest, uint32_t resource) {
              const Touched touched = sectors_and_lines(code, resource, rest[0], rest[1]);
              return Ids{touched.sectors, touched.lines};
            });
}

}  // namespace tally::spirv
