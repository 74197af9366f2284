// The code that adds an invocation's private counts to the record when the invocation ends.
//
// With subgroup operations, the lanes that end together first compute the subgroup sum of each
// counter. Then they share the writes: of n lanes, the lane of rank r adds counters r, r + n,
// r + 2n ..., so that one atomic instruction of a full subgroup, on adjacent addresses, replaces
// many of a single lane. The sums are straight-line code. Counters are processed in batches of 32.
// Lanes may not reconverge between batches, so ranks are recomputed. A subgroup skips a batch of
// which it counted nothing: most counters of large shaders belong to code that does not run.
//
// Two cases rule out sums: a count of 2^25 or more, because the sum of up to 128 lanes may not fit
// into 32 bits, and lanes of different draws. Then every lane adds its own counts, as rank 0 of 1.
#pragma once

#include <span>
#include <vector>

#include "spirv/analysis/loop_bounds.h"
#include "spirv/instrument/counting.h"

namespace tally::spirv {

// Where a counter's private count is stored.
struct PrivateSlot {
  enum class Kind {
    EveryInvocation,  // not stored: always 1
    EverySubgroup,    // not stored: 1 in the lowest of the lanes that end together
    Flag,             // a bit of a variable
    Number,           // a variable
  };
  Kind kind = Kind::Number;
  size_t variable = 0;          // index into the variables
  uint32_t bit = 0;             // of a flag
  uint32_t bound = kUnbounded;  // of a number
  bool of_samples = false;      // a number of a fragment's samples
};

class FlushCode : WordCode {
 public:
  // Counter i is slots[i]; `variables` are ids of private 32-bit variables.
  FlushCode(CountingTools tools, std::span<const PrivateSlot> slots,
            std::span<const uint32_t> variables);

  // At the end of a block. The code may end in another block.
  void emit(InstructionBuilder& code);

 private:
  // Four adjacent flags of a variable.
  struct Pack {
    uint32_t flags = 0;  // how many of them are counters
    uint32_t sums = 0;   // id of their sums, one in each byte; 0 until computed
  };

  Pack& pack_of(const PrivateSlot& slot);
  void load_values(InstructionBuilder& code, uint32_t live);
  void add_alone(InstructionBuilder& code, const RecordPointer& record_pointer, uint32_t live);
  void add_together(InstructionBuilder& code, const RecordPointer& record_pointer);
  uint32_t counts_some(InstructionBuilder& code, std::span<const PrivateSlot> batch);
  void begin_together(InstructionBuilder& code, const RecordPointer& record_pointer,
                      uint32_t is_set, uint32_t live);
  uint32_t rank_lanes(InstructionBuilder& code);
  void rank_again(InstructionBuilder& code);
  void take_part(InstructionBuilder& code, uint32_t lanes);
  uint32_t is_first(InstructionBuilder& code);
  uint32_t with_first(InstructionBuilder& code);
  uint32_t has_turn(InstructionBuilder& code, size_t sums);
  uint32_t counts_alone(InstructionBuilder& code, const RecordPointer& record_pointer);
  uint32_t is_too_large(InstructionBuilder& code);
  void add_shared_out(InstructionBuilder& code, const ShardAddress& shard, uint32_t first,
                      std::span<const uint32_t> sums);
  void add_in_turns(InstructionBuilder& code, const ShardAddress& shard, uint32_t first,
                    std::span<const uint32_t> sums);
  void add_turn(InstructionBuilder& code, const ShardAddress& shard, uint32_t first,
                std::span<const uint32_t> sums, uint32_t turn);
  uint32_t choose(InstructionBuilder& code, std::span<const uint32_t> values, uint32_t index);
  uint32_t sum(InstructionBuilder& code, const PrivateSlot& slot);
  uint32_t sum_of_lanes(InstructionBuilder& code, const PrivateSlot& slot);
  uint32_t sum_of_flags(InstructionBuilder& code, const PrivateSlot& slot);
  uint32_t packed_flags(InstructionBuilder& code, const PrivateSlot& slot);
  uint32_t own(InstructionBuilder& code, const PrivateSlot& slot);
  uint32_t flag(InstructionBuilder& code, const PrivateSlot& slot);

  CountingTools tools_;
  std::span<const PrivateSlot> slots_;
  std::span<const uint32_t> variables_;
  SubgroupCode subgroup_;
  std::vector<uint32_t> values_;  // of the variables, 0 in lanes that do not count
  std::vector<Pack> packs_;       // of all variables, in order
  uint32_t lanes_ = 0;            // number of lanes that share the work
  uint32_t rank_ = 0;             // of this lane among them; 0 if there is one counter
  uint32_t live_ = 0;             // whether this lane counts; 0 if all do
  uint32_t counts_ = 0;           // whether its counts go to a record
  uint32_t takes_part_ = 0;       // whether this lane adds anything
  bool ranked_again_ = false;     // these are not the first counters
  uint32_t below_ = 0;     // number of counting lanes below this one; 0 if there is one counter
  uint32_t is_first_ = 0;  // whether there are none; 0 until computed
  uint32_t alone_ = 0;     // whether each lane adds its own counts; 0 if that never happens
};

// The code that adds an invocation's private counts to the record when the invocation ends, in few
// instructions: for shaders with few counters on drivers whose compiler takes long
// (DriverWorkarounds::prefers_small_code).
//
// Counts of at most 1 are the bytes of a word from the start, which a fragment's samples and counts
// of at most 31 join at the end. One sum over the subgroup adds all of them, and one lane adds the
// sums to memory. llvmpipe turns every subgroup operation and every access to memory into a loop
// over the lanes, so compute shaders use as few as they can: that lane is lane 0, and where
// subgroups are full, each lane adds one of the sums, all in one access.
//
// Each lane adds its own counts without subgroup operations, and where no counter is certain to
// count, because most are then 0. Counts that may be larger have a sum of 64 bits each; each lane
// adds its own where the device has no such sums. With many counters all that takes longer on the
// device than what FlushCode does. Draws must not be mixed in a subgroup
// (RecordWriter::may_be_mixed).

// At most four: their sums are the bytes of a word. llvmpipe has at most 4 samples.
inline constexpr size_t kFewCounters = 4;

// The first bit of a small count in a word whose bytes the sums become. An invocation's word begins
// with the bits of EveryInvocation.
constexpr uint32_t small_bit(size_t counter) { return static_cast<uint32_t>(8 * counter); }

// As FlushCode::emit, where flags have the bits of small_bit.
void emit_small_flush(InstructionBuilder& code, const CountingTools& tools,
                      std::span<const PrivateSlot> slots, std::span<const uint32_t> variables);

// The barriers of a module: none, of whole workgroups, or also of parts of them.
enum class Barriers { None, OfWorkgroups, OfParts };
Barriers barriers_of(const Module& module);

// The same in a compute shader where DriverWorkarounds::workgroup_bytes: the subgroups add up their
// sums in words of workgroup memory, without atomics. The first one to end overwrites what it finds
// there, and the last one adds the words to the record, in a loop over the counters. A word has the
// sums of four flags or one number. Where there are barriers, which some subgroups may not reach,
// as those that return early, subgroups end in any order: a word counts those that have ended. With
// many counters, a workgroup of one subgroup does the same, because the loop makes the code short.
class WorkgroupFlush : WordCode {
 public:
  static bool is_possible(const PassContext& context, size_t counters);

  // The first bit of a flag in the variable that it shares with three others.
  static constexpr uint32_t flag_bit(uint32_t flag) { return small_bit(flag % kFewCounters); }

  // Counter i is slots[i], where flags have the bits of flag_bit.
  WorkgroupFlush(const CountingTools& tools, std::span<const PrivateSlot> slots,
                 std::span<const uint32_t> variables);

  // Where all invocations begin.
  void begin(InstructionBuilder& code);
  // Where all invocations end.
  void emit(InstructionBuilder& code);

 private:
  // Bits of a word: ids.
  struct Field {
    uint32_t word, shift, mask;
  };

  uint32_t subgroup(InstructionBuilder& code);
  uint32_t end_subgroup(InstructionBuilder& code);
  uint32_t pointer(InstructionBuilder& code, uint32_t index);
  size_t first_word() const { return counts_ends_ ? 1 : 0; }
  uint32_t lanes() const;
  template <typename Body>
  void share_out(InstructionBuilder& code, size_t count, Body&& body);
  void clear_skipped(InstructionBuilder& code);
  uint32_t sum(InstructionBuilder& code, size_t at);
  uint32_t spread(InstructionBuilder& code, uint32_t word);
  void add_words(InstructionBuilder& code, size_t first, size_t count);
  void add_sums(InstructionBuilder& code);
  uint32_t counts_some(InstructionBuilder& code, size_t first, size_t count);
  size_t adjacent(size_t first) const;
  Field field(InstructionBuilder& code, size_t first, uint32_t index);
  uint32_t total(InstructionBuilder& code, uint32_t index);
  uint32_t count_without_variable(const PrivateSlot& slot);
  void add_totals(InstructionBuilder& code, const RecordPointer& record_pointer);
  uint32_t wide(InstructionBuilder& code, spv::Op op, uint32_t a, uint32_t b) const {
    return code.emit(op, u64_, {a, b});
  }

  CountingTools tools_;
  std::span<const PrivateSlot> slots_;
  std::span<const uint32_t> variables_;
  SubgroupCode subgroup_;
  uint32_t u64_;
  uint32_t invocations_;                   // of a workgroup
  bool is_alone_;                          // it is one subgroup
  uint32_t words_ = 0;                     // an array in workgroup memory; 0: there are no words
  bool counts_ends_ = false;               // the first word has how many subgroups have ended
  uint32_t is_first_ = 0;                  // whether no other subgroup has ended
  std::vector<const PrivateSlot*> users_;  // one of each variable
};

}  // namespace tally::spirv
