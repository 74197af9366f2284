#include "spirv/instrument/memory_counting.h"

#include "spirv/instrument/counting.h"

namespace tally::spirv {

using spv::Op;

namespace {

// The subject of a key.
enum Tag : uint32_t { kTogether, kSector, kLine, kTexel, kShared };
// The steps by which a word of workgroup memory is entered; kFirst enters that lanes are together.
enum State : uint32_t { kFirst, kWord, kWords, kBank, kMaximum };

constexpr uint32_t kNew = 1u << 31;    // of an entry that was entered
constexpr uint32_t kMissed = ~0u;      // in place of an entry
constexpr uint32_t kProbes = 64;       // of entries for a key
constexpr uint32_t kTries = 1u << 16;  // of sets for a workgroup, which waits for one
constexpr uint32_t kSecondWord = 4, kNumber = 8, kList = 12;  // bytes of an entry
constexpr uint32_t kWorkgroupBytes = 8;

// Distances of counters.
constexpr uint32_t kSubgroups = 1, kTexels = 2, kPasses = 2, kNeeded = 3, kMisses = 4;
constexpr uint32_t kMissesOfTexels = 3;

constexpr uint32_t kAcquire =
    word(spv::MemorySemanticsMask::Acquire) | word(spv::MemorySemanticsMask::UniformMemory);
constexpr uint32_t kRelease =
    word(spv::MemorySemanticsMask::Release) | word(spv::MemorySemanticsMask::UniformMemory);
constexpr uint32_t kBoth = word(spv::MemorySemanticsMask::AcquireRelease) |
                           word(spv::MemorySemanticsMask::UniformMemory) |
                           word(spv::MemorySemanticsMask::WorkgroupMemory);

}  // namespace

bool VirtualSubgroups::are_possible(const AnalyzedModule& analyzed, const EntryPoint& entry,
                                    const SiteOptions& options) {
  if (entry.model != spv::ExecutionModel::GLCompute || !options.lane_sets.exist) return false;
  const auto bytes = workgroup_bytes(analyzed.module(), entry);
  return bytes && *bytes + kWorkgroupBytes <= options.workgroup_bytes;
}

VirtualSubgroups::VirtualSubgroups(CountingTools tools, const SitePlan& sites)
    : WordCode(tools.context.editor),
      tools_(tools),
      sites_(sites),
      memory_(tools.context),
      none_(editor_.type_void()),
      word_pointer_(editor_.type_pointer(spv::StorageClass::PhysicalStorageBuffer, u32_)) {
  for (size_t i = 0; i < sites_.counted_loops.size(); ++i) {
    iterations_.push_back(private_variable("tally.iteration"));
  }
  path_ = {private_variable("tally.path"), private_variable("tally.path")};
  set_ = workgroup_variable("tally.set"), running_ = workgroup_variable("tally.running");
  found_ = private_variable("tally.found"), missed_ = private_variable("tally.missed");
  state_ = private_variable("tally.state"), word_ = private_variable("tally.word");
  level_ = private_variable("tally.level");
  begin_ = editor_.new_id(), leave_ = editor_.new_id(), enter_ = editor_.new_id();
}

uint32_t VirtualSubgroups::private_variable(const char* name) {
  const uint32_t id = editor_.new_private_variable(tools_.context.entry, u32_, constant(0));
  editor_.name(id, name);
  return id;
}

uint32_t VirtualSubgroups::workgroup_variable(const char* name) {
  constexpr auto kStorage = spv::StorageClass::Workgroup;
  const uint32_t id = editor_.new_global_variable(editor_.type_pointer(kStorage, u32_), kStorage);
  editor_.name(id, name);
  editor_.add_to_interface(tools_.context.entry, id);
  return id;
}

// Numbers of iterations first: other code at the same place reads them.
void VirtualSubgroups::insert_places() {
  for (size_t i = 0; i < sites_.counted_loops.size(); ++i) {
    for (const uint32_t at : sites_.counted_loops[i].before) {
      InstructionBuilder code = editor_.new_code();
      code.store(iterations_[i], constant(0));
      editor_.insert_before(at, code);
    }
    InstructionBuilder code = editor_.new_code();
    code.store(iterations_[i], plus(code, code.load(u32_, iterations_[i]), 1));
    editor_.insert_before(sites_.counted_loops[i].begin, code);
  }
  for (const CountedCall& call : sites_.counted_calls) {
    InstructionBuilder before = editor_.new_code();
    const Key old{before.load(u32_, path_.first), before.load(u32_, path_.second)};
    const Key inside =
        with_loops(before, absorb(before, old, constant(call.instruction)), call.loops);
    before.store(path_.first, inside.first);
    before.store(path_.second, inside.second);
    editor_.insert_before(call.instruction, before);
    InstructionBuilder after = editor_.new_code();
    after.store(path_.first, old.first);
    after.store(path_.second, old.second);
    editor_.insert_after(call.instruction, after);
  }
}

// Two independent hashes; each is a bijection of the word.
VirtualSubgroups::Key VirtualSubgroups::absorb(InstructionBuilder& code, Key key,
                                               uint32_t word) const {
  const auto mix = [&](uint32_t mixed, uint32_t factor, uint32_t shift) {
    const uint32_t product = binary(code, Op::OpIMul, mixed, constant(factor));
    return binary(code, Op::OpBitwiseXor, product,
                  binary(code, Op::OpShiftRightLogical, product, constant(shift)));
  };
  return {mix(binary(code, Op::OpBitwiseXor, key.first, word), 0x9e3779b1, 15),
          mix(binary(code, Op::OpIAdd, key.second, word), 0x85ebca77, 13)};
}

VirtualSubgroups::Key VirtualSubgroups::with_loops(InstructionBuilder& code, Key key,
                                                   std::span<const uint32_t> loops) const {
  for (const uint32_t loop : loops) key = absorb(code, key, code.load(u32_, iterations_[loop]));
  return key;
}

VirtualSubgroups::Key VirtualSubgroups::place(InstructionBuilder& code, const MemorySite& site) {
  const Key calls{code.load(u32_, path_.first), code.load(u32_, path_.second)};
  return with_loops(code, calls, site.loops);
}

VirtualSubgroups::Key VirtualSubgroups::of_access(InstructionBuilder& code, const Access& access) {
  const uint32_t lane = tools_.builtins.number(code, spv::BuiltIn::LocalInvocationIndex, 1, 0);
  const uint32_t subgroup =
      binary(code, Op::OpUDiv, lane, constant(tools_.context.options.sites.memory_lanes));
  return absorb(code, absorb(code, access.place, access.first_counter), subgroup);
}

uint32_t VirtualSubgroups::on_group(InstructionBuilder& code, Op op, uint32_t variable,
                                    uint32_t value) const {
  const uint32_t scope = constant(word(spv::Scope::Workgroup));
  return code.emit(op, u32_, {variable, scope, memory_.relaxed(), value});
}

uint32_t VirtualSubgroups::set_of_group(InstructionBuilder& code) const {
  const uint32_t scope = constant(word(spv::Scope::Workgroup));
  return code.emit(Op::OpAtomicLoad, u32_, {set_, scope, memory_.relaxed()});
}

uint32_t VirtualSubgroups::word_at(InstructionBuilder& code, uint32_t bytes) {
  const uint32_t sets = tools_.record.load_lane_sets(code);
  return code.emit(Op::OpBitcast, word_pointer_, {memory_.advance(code, sets, bytes)});
}

// Where an entry begins; `set` counts from 1.
uint32_t VirtualSubgroups::entry_bytes(InstructionBuilder& code, uint32_t set,
                                       uint32_t entry) const {
  const uint32_t size = constant(tools_.context.options.sites.lane_sets.set_bytes());
  const uint32_t begin = binary(code, Op::OpIMul, plus(code, set, ~0u), size);
  const uint32_t distance = binary(code, Op::OpIMul, entry, constant(LaneSets::kEntryBytes));
  return plus(code, binary(code, Op::OpIAdd, begin, distance), LaneSets::kHeaderBytes);
}

// Stores the value if the word is 0. Returns what it was.
uint32_t VirtualSubgroups::exchange(InstructionBuilder& code, uint32_t pointer, uint32_t value,
                                    uint32_t semantics) const {
  return code.emit(
      Op::OpAtomicCompareExchange, u32_,
      {pointer, memory_.scope(), constant(semantics), memory_.relaxed(), value, constant(0)});
}

uint32_t VirtualSubgroups::load(InstructionBuilder& code, uint32_t pointer) const {
  return code.emit(Op::OpAtomicLoad, u32_, {pointer, memory_.scope(), memory_.relaxed()});
}

void VirtualSubgroups::store(InstructionBuilder& code, uint32_t pointer, uint32_t value,
                             uint32_t semantics) const {
  code.emit(Op::OpAtomicStore, {pointer, memory_.scope(), constant(semantics), value});
}

uint32_t VirtualSubgroups::enter(InstructionBuilder& code, Key key) {
  return code.call(u32_, enter_, {key.first, key.second});
}

void VirtualSubgroups::add(InstructionBuilder& code, const ShardAddress& shard,
                           const Access& access, uint32_t distance, uint32_t value) {
  tools_.record.add(code, shard, plus(code, access.first_counter, distance), value);
}

void VirtualSubgroups::begin(InstructionBuilder& code) { code.call(none_, begin_); }
void VirtualSubgroups::leave(InstructionBuilder& code) { code.call(none_, leave_); }

void VirtualSubgroups::count_buffer(InstructionBuilder& code, Access access) {
  const RecordPointer record = tools_.record.load_record_pointer(code);
  code.if_then(tools_.record.is_set(code, record), [&] {
    const ShardAddress shard = tools_.record.shard_address(code, record);
    add(code, shard, access, 0, access.bytes);
    const Key place = of_access(code, access);
    struct Range {
      uint32_t first, count;
    };
    const auto units = [&](uint32_t bytes, uint32_t shift) {
      // Not the unit of the last byte's address, which may be beyond 2^32.
      const uint32_t inside = binary(code, Op::OpBitwiseAnd, access.byte, constant(bytes - 1));
      const uint32_t end = plus(code, binary(code, Op::OpIAdd, inside, access.extent), bytes - 1);
      return Range{binary(code, Op::OpShiftRightLogical, access.byte, constant(shift)),
                   binary(code, Op::OpShiftRightLogical, end, constant(shift))};
    };
    const Range sectors = units(kSectorBytes, 5), lines = units(kLineBytes, 7);
    const uint32_t lines_at = plus(code, sectors.count, 1);
    const uint32_t end = binary(code, Op::OpIAdd, lines_at, lines.count);
    code.store(missed_, constant(0));
    const uint32_t before = code.new_id();
    code.branch(before);
    code.label(before);
    // That they are together, then sectors, then lines.
    code.repeat(u32_, constant(0), [&](uint32_t turn) {
      const uint32_t is_line = compare(code, Op::OpUGreaterThanEqual, turn, lines_at);
      const uint32_t is_first = is(code, turn, 0);
      const uint32_t from = select(code, is_line, lines.first, sectors.first);
      const uint32_t begin = select(code, is_line, lines_at, constant(1));
      const uint32_t unit = binary(code, Op::OpIAdd, from, binary(code, Op::OpISub, turn, begin));
      const uint32_t tag = select(code, is_first, constant(kTogether),
                                  select(code, is_line, constant(kLine), constant(kSector)));
      const auto unless_first = [&](uint32_t word) {
        return select(code, is_first, constant(0), word);
      };
      Key key = absorb(code, absorb(code, place, tag), unless_first(access.resource));
      key = absorb(code, key, unless_first(unit));
      const uint32_t entry = enter(code, key);
      const uint32_t is_missed = is(code, entry, kMissed);
      code.store(missed_, select(code, is_missed, constant(1), code.load(u32_, missed_)));
      const uint32_t is_new = compare(code, Op::OpUGreaterThanEqual, entry, constant(kNew));
      const uint32_t counts =
          both(code, is_new, compare(code, Op::OpINotEqual, entry, constant(kMissed)));
      const uint32_t counter =
          binary(code, Op::OpIAdd, access.first_counter, plus(code, tag, kSubgroups));
      tools_.record.add(code, shard, counter, select(code, counts, constant(1), constant(0)));
      const uint32_t next = plus(code, turn, 1);
      return InstructionBuilder::Turn{next, compare(code, Op::OpULessThan, next, end)};
    });
    add(code, shard, access, kMisses, code.load(u32_, missed_));
  });
}

void VirtualSubgroups::count_texel(InstructionBuilder& code, Access access) {
  const RecordPointer record = tools_.record.load_record_pointer(code);
  code.if_then(tools_.record.is_set(code, record), [&] {
    const ShardAddress shard = tools_.record.shard_address(code, record);
    add(code, shard, access, 0, access.bytes);
    const Key place = of_access(code, access);
    const Key image = absorb(code, absorb(code, place, constant(kTexel)), access.resource);
    const auto count = [&](Key key, uint32_t distance) {
      const uint32_t entry = enter(code, key);
      const uint32_t is_missed = is(code, entry, kMissed);
      const uint32_t is_new = compare(code, Op::OpUGreaterThanEqual, entry, constant(kNew));
      const uint32_t is_old = code.emit(Op::OpLogicalNot, boolean_, {is_new});
      const uint32_t counts_not = compare(code, Op::OpLogicalOr, is_missed, is_old);
      add(code, shard, access, distance, select(code, counts_not, constant(0), constant(1)));
      return is_missed;
    };
    const uint32_t first = count(absorb(code, place, constant(kTogether)), kSubgroups);
    const uint32_t second = count(absorb(code, image, access.byte), kTexels);
    const uint32_t is_missed = compare(code, Op::OpLogicalOr, first, second);
    add(code, shard, access, kMissesOfTexels, select(code, is_missed, constant(1), constant(0)));
  });
}

void VirtualSubgroups::count_shared(InstructionBuilder& code, Access access) {
  const RecordPointer record = tools_.record.load_record_pointer(code);
  code.if_then(tools_.record.is_set(code, record), [&] {
    const ShardAddress shard = tools_.record.shard_address(code, record);
    add(code, shard, access, 0, access.bytes);
    const Key place = of_access(code, access);
    const uint32_t shift = constant(2);
    const uint32_t last_byte =
        plus(code, binary(code, Op::OpIAdd, access.byte, access.extent), ~0u);
    const uint32_t last = binary(code, Op::OpShiftRightLogical, last_byte, shift);
    code.store(missed_, constant(0));
    code.store(state_, constant(kFirst));
    code.store(word_, binary(code, Op::OpShiftRightLogical, access.byte, shift));
    const uint32_t before = code.new_id();
    code.branch(before);
    code.label(before);
    code.repeat(u32_, constant(0), [&](uint32_t turn) {
      const uint32_t state = code.load(u32_, state_), word = code.load(u32_, word_);
      const uint32_t is_first = is(code, state, kFirst), is_word = is(code, state, kWord);
      const uint32_t bank = binary(code, Op::OpBitwiseAnd, word, constant(kBanks - 1));
      const uint32_t about =
          select(code, is_word, word, select(code, is(code, state, kBank), bank, constant(0)));
      const Key key = absorb(code, absorb(code, place, plus(code, state, kShared)), about);
      const uint32_t entry = enter(code, key);
      const uint32_t is_missed = is(code, entry, kMissed);
      code.store(missed_, select(code, is_missed, constant(1), code.load(u32_, missed_)));
      const uint32_t is_found = compare(code, Op::OpINotEqual, entry, constant(kMissed));
      const uint32_t is_new =
          both(code, is_found, compare(code, Op::OpUGreaterThanEqual, entry, constant(kNew)));
      add(code, shard, access, kSubgroups,
          select(code, both(code, is_new, is_first), constant(1), constant(0)));
      const uint32_t has_number = compare(code, Op::OpUGreaterThan, state, constant(kWord));
      code.if_then(both(code, is_found, has_number),
                   [&] { note_number(code, shard, access, state, entry); });
      // A word that others entered is done; so is one of which the rest is done.
      const uint32_t is_old_word =
          both(code, is_word, code.emit(Op::OpLogicalNot, boolean_, {is_new}));
      const uint32_t is_done =
          compare(code, Op::OpLogicalOr, is_old_word, is(code, state, kMaximum));
      const uint32_t next_word =
          binary(code, Op::OpIAdd, word, select(code, is_done, constant(1), constant(0)));
      code.store(word_, next_word);
      code.store(state_, select(code, is_done, constant(kWord), plus(code, state, 1)));
      return InstructionBuilder::Turn{plus(code, turn, 1),
                                      compare(code, Op::OpULessThanEqual, next_word, last)};
    });
    add(code, shard, access, kMisses, code.load(u32_, missed_));
  });
}

// Adds to the number of an entry, or raises the number of the fullest bank.
void VirtualSubgroups::note_number(InstructionBuilder& code, const ShardAddress& shard,
                                   const Access& access, uint32_t state, uint32_t entry) {
  const uint32_t set = set_of_group(code);
  const uint32_t index = binary(code, Op::OpBitwiseAnd, entry, constant(kNew - 1));
  const uint32_t number = word_at(code, plus(code, entry_bytes(code, set, index), kNumber));
  const uint32_t is_maximum = is(code, state, kMaximum);
  code.if_then(is_maximum, [&] {
    const uint32_t level = code.load(u32_, level_);
    const uint32_t old =
        code.emit(Op::OpAtomicUMax, u32_, {number, memory_.scope(), memory_.relaxed(), level});
    const uint32_t rises = compare(code, Op::OpUGreaterThan, level, old);
    add(code, shard, access, kPasses,
        select(code, rises, binary(code, Op::OpISub, level, old), constant(0)));
  });
  code.if_then(code.emit(Op::OpLogicalNot, boolean_, {is_maximum}), [&] {
    const uint32_t old = memory_.add(code, u32_, number, constant(1));
    code.store(level_, plus(code, old, 1));
    const uint32_t begins = is(code, binary(code, Op::OpBitwiseAnd, old, constant(kBanks - 1)), 0);
    const uint32_t needs = both(code, begins, is(code, state, kWords));
    add(code, shard, access, kNeeded, select(code, needs, constant(1), constant(0)));
  });
}

// uint enter(first, second): the entry of the key, with kNew if it was not there, or kMissed.
void VirtualSubgroups::make_enter_function() {
  const LaneSets& sets = tools_.context.options.sites.lane_sets;
  make_function_of(
      tools_.context, u32_, enter_, "tally.enter", {u32_, u32_},
      [&](InstructionBuilder& code, const std::vector<uint32_t>& parameters) {
        // 0 is no key.
        const uint32_t first = binary(code, Op::OpBitwiseOr, parameters[0], constant(1));
        const uint32_t second = binary(code, Op::OpBitwiseOr, parameters[1], constant(1));
        const uint32_t start = binary(code, Op::OpBitwiseXor,
                                      binary(code, Op::OpShiftRightLogical, first, constant(1)),
                                      binary(code, Op::OpShiftRightLogical, second, constant(9)));
        const uint32_t set = set_of_group(code);
        code.store(found_, constant(kMissed));
        code.if_then(compare(code, Op::OpINotEqual, set, constant(0)), [&] {
          code.repeat(u32_, constant(0), [&](uint32_t turn) {
            const uint32_t index =
                binary(code, Op::OpBitwiseAnd, binary(code, Op::OpIAdd, start, turn),
                       constant((1u << sets.entries_log2) - 1));
            const uint32_t bytes = entry_bytes(code, set, index);
            const uint32_t old = exchange(code, word_at(code, bytes), first, 0);
            const uint32_t may_be = compare(code, Op::OpLogicalOr, is(code, old, 0),
                                            compare(code, Op::OpIEqual, old, first));
            code.if_then(may_be, [&] {
              const uint32_t other =
                  exchange(code, word_at(code, plus(code, bytes, kSecondWord)), second, 0);
              const uint32_t is_new = is(code, other, 0);
              code.if_then(is_new, [&] {
                const uint32_t header =
                    plus(code, entry_bytes(code, set, constant(0)), 4 - LaneSets::kHeaderBytes);
                const uint32_t count = memory_.add(code, u32_, word_at(code, header), constant(1));
                store(code, word_at(code, plus(code, entry_bytes(code, set, count), kList)), index);
              });
              const uint32_t is_same = compare(code, Op::OpIEqual, other, second);
              const uint32_t if_old = select(code, is_same, index, constant(kMissed));
              const uint32_t if_new = binary(code, Op::OpBitwiseOr, index, constant(kNew));
              code.store(found_, select(code, is_new, if_new, if_old));
            });
            const uint32_t next = plus(code, turn, 1);
            const uint32_t is_open = is(code, code.load(u32_, found_), kMissed);
            return InstructionBuilder::Turn{
                next, both(code, is_open, compare(code, Op::OpULessThan, next, constant(kProbes)))};
          });
        });
        return code.load(u32_, found_);
      });
}

// The first invocation does this.
void VirtualSubgroups::take_set(InstructionBuilder& code) {
  const LaneSets& sets = tools_.context.options.sites.lane_sets;
  uint32_t start = 0;
  for (uint32_t i = 0; i < 3; ++i) {
    const uint32_t part = tools_.builtins.number(code, spv::BuiltIn::WorkgroupId, 3, i);
    start = i == 0 ? part : binary(code, Op::OpIAdd, start, part);
  }
  code.store(found_, constant(0));
  const RecordPointer record = tools_.record.load_record_pointer(code);
  code.if_then(tools_.record.is_set(code, record), [&] {
    code.repeat(u32_, constant(0), [&](uint32_t turn) {
      const uint32_t index = binary(code, Op::OpBitwiseAnd, binary(code, Op::OpIAdd, start, turn),
                                    constant((1u << sets.sets_log2) - 1));
      const uint32_t set = plus(code, index, 1);
      const uint32_t state =
          plus(code, entry_bytes(code, set, constant(0)), 0u - LaneSets::kHeaderBytes);
      const uint32_t is_free =
          is(code, exchange(code, word_at(code, state), constant(1), kAcquire), 0);
      code.store(found_, select(code, is_free, set, constant(0)));
      const uint32_t next = plus(code, turn, 1);
      const uint32_t goes_on = both(code, code.emit(Op::OpLogicalNot, boolean_, {is_free}),
                                    compare(code, Op::OpULessThan, next, constant(kTries)));
      return InstructionBuilder::Turn{next, goes_on};
    });
  });
  on_group(code, Op::OpAtomicExchange, set_, code.load(u32_, found_));
  on_group(code, Op::OpAtomicExchange, running_, constant(0));
}

// The last invocation does this.
void VirtualSubgroups::empty_set(InstructionBuilder& code) {
  const uint32_t set = set_of_group(code);
  code.if_then(compare(code, Op::OpINotEqual, set, constant(0)), [&] {
    const uint32_t entries = entry_bytes(code, set, constant(0));
    const uint32_t count = word_at(code, plus(code, entries, 4 - LaneSets::kHeaderBytes));
    const uint32_t end = load(code, count);
    code.if_then(compare(code, Op::OpINotEqual, end, constant(0)), [&] {
      code.repeat(u32_, constant(0), [&](uint32_t turn) {
        const uint32_t listed = plus(code, entry_bytes(code, set, turn), kList);
        const uint32_t entry = entry_bytes(code, set, load(code, word_at(code, listed)));
        for (const uint32_t distance : {0u, kSecondWord, kNumber}) {
          store(code, word_at(code, plus(code, entry, distance)), constant(0));
        }
        const uint32_t next = plus(code, turn, 1);
        return InstructionBuilder::Turn{next, compare(code, Op::OpULessThan, next, end)};
      });
    });
    store(code, count, constant(0));
    const uint32_t state = word_at(code, plus(code, entries, 0u - LaneSets::kHeaderBytes));
    store(code, state, constant(0), kRelease);
  });
}

void VirtualSubgroups::finish() {
  make_enter_function();
  make_function(tools_.context, begin_, "tally.begin_group", {},
                [&](InstructionBuilder& code, auto&) {
                  const uint32_t workgroup = constant(word(spv::Scope::Workgroup));
                  const auto barrier = [&] {
                    code.emit(Op::OpControlBarrier,
                              {workgroup, workgroup,
                               constant(word(spv::MemorySemanticsMask::AcquireRelease) |
                                        word(spv::MemorySemanticsMask::WorkgroupMemory))});
                  };
                  const uint32_t lane =
                      tools_.builtins.number(code, spv::BuiltIn::LocalInvocationIndex, 1, 0);
                  code.if_then(is(code, lane, 0), [&] { take_set(code); });
                  barrier();
                  on_group(code, Op::OpAtomicIAdd, running_, constant(1));
                  barrier();
                });
  make_function(
      tools_.context, leave_, "tally.leave_group", {}, [&](InstructionBuilder& code, auto&) {
        const uint32_t left = code.emit(Op::OpAtomicISub, u32_,
                                        {running_, memory_.scope(), constant(kBoth), constant(1)});
        code.if_then(is(code, left, 1), [&] { empty_set(code); });
      });
}

}  // namespace tally::spirv
