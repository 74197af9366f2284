#include "spirv/instrument/memory_counting.h"

#include <algorithm>

#include "spirv/analysis/sites.h"
#include "spirv/instrument/counting.h"
#include "spirv/ir/opcode.h"

namespace tally::spirv {

using spv::Op;

namespace {
constexpr uint32_t kNoUnit = ~0u;
constexpr uint32_t kSectorShift = 5, kLineShift = 7, kBankShift = 2;
static_assert(1u << kSectorShift == kSectorBytes && 1u << kLineShift == kLineBytes);
constexpr uint32_t kBanksOfLane = kMaxSharedExtent >> kBankShift;
}  // namespace

MemoryCounting::MemoryCounting(CountingTools tools, const SitePlan& sites)
    : WordCode(tools.context.editor),
      tools_(tools),
      sites_(sites.memory),
      subgroup_(editor_),
      none_(editor_.type_void()) {
  if (tools.context.options.sites.memory_lanes != 0) virtual_.emplace(tools, sites);
  const bool by_subgroup = std::ranges::any_of(
      sites_, [](const MemorySite& site) { return site.units != MemorySite::Units::None; });
  if (!by_subgroup) return;
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
  if (site.units == MemorySite::Units::None) {
    call(count_bytes_, {bytes, first});
  } else {
    const Begin begin = is_image ? texel_of(code, site.access) : begin_of(code, site.access);
    if (virtual_) {
      const VirtualSubgroups::Key place = virtual_->place(code, site);
      call(is_shared  ? count_shared_
           : is_image ? count_texel_
                      : count_buffer_,
           {place.first, place.second, begin.resource, begin.byte, extent, bytes, first});
    } else if (is_image) {
      call(count_texel_, {begin.resource, begin.byte, bytes, first});
    } else if (is_shared) {
      call(count_shared_, {begin.byte, extent, bytes, first});
    } else {
      call(count_buffer_, {begin.resource, begin.byte, extent, bytes, first});
    }
  }
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
  Begin begin{constant(0), constant(access.base)};
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
  Begin begin{constant(0), 0};
  if (access.dimensions == 1) {
    begin.byte = masked(0, 0x7fffffff);  // a texel buffer may have more
  } else {
    const uint32_t row = binary(code, Op::OpShiftLeftLogical, masked(1, kHalf), constant(16));
    begin.byte = binary(code, Op::OpBitwiseOr, masked(0, kHalf), row);
  }
  if (access.dimensions > 2) begin.resource = masked(2, kHalf);
  if (access.element != 0) {
    const uint32_t element = binary(code, Op::OpShiftLeftLogical, access.element, constant(16));
    begin.resource = binary(code, Op::OpBitwiseOr, begin.resource, element);
  }
  return begin;
}

// The type of a vector's components.
uint32_t MemoryCounting::scalar_of(uint32_t vector) const {
  const Module& module = tools_.context.module();
  return module.definition(module.type_of(vector))->operand(0);
}

// Calls visit({unit, resource, is_one}) in turns, whose units are those from `first` to `last` of
// all lanes, each once and in ascending order; the last turn has none, and is_one is false there.
// All lanes that look for the least unit together see that it was the last turn: a vote of its own
// could have other lanes, and some would wait for ever (NVIDIA 580).
template <typename Visit>
void MemoryCounting::each_unit(InstructionBuilder& code, uint32_t resource, uint32_t first,
                               uint32_t last, Visit&& visit) {
  code.store(next_, first);
  const uint32_t header = code.new_id();
  code.branch(header);
  code.label(header);
  code.repeat(u32_, constant(0), [&](uint32_t turn) {
    const uint32_t next = code.load(u32_, next_);
    uint32_t is_open = compare(code, Op::OpULessThanEqual, next, last);
    uint32_t least = 0;
    if (resource != 0) {
      const uint32_t open = select(code, is_open, resource, constant(kNoUnit));
      least = subgroup_.minimum(code, open);
      is_open = both(code, is_open, compare(code, Op::OpIEqual, resource, least));
    }
    const uint32_t unit = subgroup_.minimum(code, select(code, is_open, next, constant(kNoUnit)));
    const uint32_t is_found = both(code, is_open, compare(code, Op::OpIEqual, next, unit));
    const uint32_t is_one = compare(code, Op::OpINotEqual, unit, constant(kNoUnit));
    code.store(next_,
               binary(code, Op::OpIAdd, next, select(code, is_found, constant(1), constant(0))));
    visit(Turn{unit, least, is_one});
    const uint32_t found =
        binary(code, Op::OpIAdd, turn, select(code, is_one, constant(1), constant(0)));
    code.store(found_, found);
    const uint32_t again =
        resource == 0 ? is_one : compare(code, Op::OpINotEqual, least, constant(kNoUnit));
    return InstructionBuilder::Turn{found, again};
  });
}

// The sectors and lines of an access to a buffer. The sectors of a line follow each other.
MemoryCounting::Touched MemoryCounting::sectors_and_lines(InstructionBuilder& code,
                                                          uint32_t resource, uint32_t byte,
                                                          uint32_t extent) {
  constexpr uint32_t kSectorsOfLine = kLineShift - kSectorShift;
  const uint32_t first = binary(code, Op::OpShiftRightLogical, byte, constant(kSectorShift));
  // Not the sector of the last byte's address, which may be beyond 2^32.
  const uint32_t inside = binary(code, Op::OpBitwiseAnd, byte, constant(kSectorBytes - 1));
  const uint32_t end = binary(code, Op::OpIAdd, inside, plus(code, extent, kNoUnit));
  const uint32_t more = binary(code, Op::OpShiftRightLogical, end, constant(kSectorShift));
  const uint32_t last = binary(code, Op::OpIAdd, first, more);
  code.store(lines_, constant(0));
  code.store(line_, constant(kNoUnit));
  code.store(line_resource_, constant(kNoUnit));
  each_unit(code, resource, first, last, [&](const Turn& turn) {
    const uint32_t line =
        binary(code, Op::OpShiftRightLogical, turn.unit, constant(kSectorsOfLine));
    const uint32_t is_same =
        both(code, compare(code, Op::OpIEqual, line, code.load(u32_, line_)),
             compare(code, Op::OpIEqual, turn.resource, code.load(u32_, line_resource_)));
    const uint32_t is_new = select(code, is_same, constant(0), constant(1));
    const uint32_t added = select(code, turn.is_one, is_new, constant(0));
    code.store(lines_, binary(code, Op::OpIAdd, code.load(u32_, lines_), added));
    code.store(line_, line);
    code.store(line_resource_, turn.resource);
  });
  return {code.load(u32_, found_), code.load(u32_, lines_)};
}

// number + added, for a constant.
uint32_t MemoryCounting::plus(InstructionBuilder& code, uint32_t number, uint32_t added) const {
  return binary(code, Op::OpIAdd, number, constant(added));
}

// Each lane counts the words in the banks that it touches: one of them is the fullest.
uint32_t MemoryCounting::extra_passes(InstructionBuilder& code, uint32_t byte, uint32_t extent) {
  const uint32_t uvec4 = editor_.type_vector(u32_, kBanksOfLane);
  const uint32_t bvec4 = editor_.type_vector(boolean_, kBanksOfLane);
  const auto splat = [&](uint32_t value) {
    return code.emit(Op::OpCompositeConstruct, uvec4, {value, value, value, value});
  };
  const uint32_t first = binary(code, Op::OpShiftRightLogical, byte, constant(kBankShift));
  const uint32_t end = binary(code, Op::OpIAdd, byte, plus(code, extent, kNoUnit));
  const uint32_t last = binary(code, Op::OpShiftRightLogical, end, constant(kBankShift));
  const uint32_t zeros = splat(constant(0)), ones = splat(constant(1));
  const uint32_t distances = code.emit(Op::OpCompositeConstruct, uvec4,
                                       {constant(0), constant(1), constant(2), constant(3)});
  const uint32_t own = code.emit(Op::OpIAdd, uvec4, {splat(first), distances});
  const uint32_t mask = splat(constant(kBanks - 1));
  const uint32_t banks = code.emit(Op::OpBitwiseAnd, uvec4, {own, mask});
  const uint32_t words = editor_.new_global_variable(
      editor_.type_pointer(spv::StorageClass::Private, uvec4), spv::StorageClass::Private);
  editor_.add_to_interface(tools_.context.entry, words);
  code.store(words, zeros);
  each_unit(code, 0, first, last, [&](const Turn& turn) {
    // No bank where the turn has no unit.
    const uint32_t bank = binary(code, Op::OpBitwiseAnd, turn.unit, constant(kBanks - 1));
    const uint32_t hit = select(code, turn.is_one, bank, constant(kNoUnit));
    const uint32_t hits = code.emit(Op::OpIEqual, bvec4, {banks, splat(hit)});
    const uint32_t added = code.emit(Op::OpSelect, uvec4, {hits, ones, zeros});
    code.store(words, code.emit(Op::OpIAdd, uvec4, {code.load(uvec4, words), added}));
  });
  const uint32_t counted = code.load(uvec4, words);
  uint32_t most = code.emit(Op::OpCompositeExtract, u32_, {counted, 0});
  for (uint32_t i = 1; i < kBanksOfLane; ++i) {
    const uint32_t other = code.emit(Op::OpCompositeExtract, u32_, {counted, i});
    most = select(code, compare(code, Op::OpUGreaterThan, other, most), other, most);
  }
  // The maximum, by the minimum of the complements.
  const uint32_t complement = code.emit(Op::OpNot, u32_, {most});
  uint32_t passes = code.emit(Op::OpNot, u32_, {subgroup_.minimum(code, complement)});
  const uint32_t rounded = binary(code, Op::OpIAdd, code.load(u32_, found_), constant(kBanks - 1));
  const uint32_t needed = binary(code, Op::OpUDiv, rounded, constant(kBanks));
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
                             std::initializer_list<uint32_t> values) {
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
  if (virtual_) {
    finish_virtual();
    count_shared_ = count_buffer_ = count_texel_ = 0;
  }
  if (count_shared_ != 0 || count_buffer_ != 0 || count_texel_ != 0) {
    next_ = editor_.new_private_variable(tools_.context.entry, u32_, constant(0));
    found_ = editor_.new_private_variable(tools_.context.entry, u32_, constant(0));
  }
  if (count_buffer_ != 0) {
    for (uint32_t* const variable : {&lines_, &line_, &line_resource_})
      *variable = editor_.new_private_variable(tools_.context.entry, u32_, constant(0));
  }
  if (count_bytes_ != 0) {
    make_function(tools_.context, count_bytes_, "tally.count_bytes", {u32_, u32_},
                  [&](InstructionBuilder& code, const std::vector<uint32_t>& parameters) {
                    if_counting(tools_, code, [&](const RecordPointer& record) {
                      add_all(code, record, parameters[1], {parameters[0]});
                    });
                  });
  }
  // The lane that adds is chosen first: nothing guarantees that the lanes are together after a
  // loop.
  if (count_shared_ != 0) {
    make_function(tools_.context, count_shared_, "tally.count_shared", {u32_, u32_, u32_, u32_},
                  [&](InstructionBuilder& code, const std::vector<uint32_t>& parameters) {
                    if_counting(tools_, code, [&](const RecordPointer& record) {
                      const LaneSum sum = sum_of_lanes(code, parameters[2]);
                      const uint32_t passes = extra_passes(code, parameters[0], parameters[1]);
                      code.if_then(sum.adds, [&] {
                        add_all(code, record, parameters[3], {sum.bytes, constant(1), passes});
                      });
                    });
                  });
  }
  if (count_texel_ != 0) {
    make_function(tools_.context, count_texel_, "tally.count_texel", {u32_, u32_, u32_, u32_},
                  [&](InstructionBuilder& code, const std::vector<uint32_t>& parameters) {
                    if_counting(tools_, code, [&](const RecordPointer& record) {
                      const LaneSum sum = sum_of_lanes(code, parameters[2]);
                      each_unit(code, parameters[0], parameters[1], parameters[1],
                                [](const Turn&) {});
                      const uint32_t texels = code.load(u32_, found_);
                      code.if_then(sum.adds, [&] {
                        add_all(code, record, parameters[3], {sum.bytes, constant(1), texels});
                      });
                    });
                  });
  }
  if (count_buffer_ != 0) {
    make_function(tools_.context, count_buffer_, "tally.count_buffer",
                  {u32_, u32_, u32_, u32_, u32_},
                  [&](InstructionBuilder& code, const std::vector<uint32_t>& parameters) {
                    if_counting(tools_, code, [&](const RecordPointer& record) {
                      const LaneSum sum = sum_of_lanes(code, parameters[3]);
                      const Touched touched =
                          sectors_and_lines(code, parameters[0], parameters[1], parameters[2]);
                      code.if_then(sum.adds, [&] {
                        add_all(code, record, parameters[4],
                                {sum.bytes, constant(1), touched.sectors, touched.lines});
                      });
                    });
                  });
  }
}

}  // namespace tally::spirv
