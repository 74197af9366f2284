// Counting by region of the framebuffer: what VK_ARM_performance_counters_by_region counts of a
// fragment shader. Part of the block-count pass (block_count.h), with or without block counts.
//
// An invocation finds its region when it begins, and counts blocks in private variables. When it
// ends, it computes the region counters and adds them to the accumulators of its region
// (probe/region.h). Shaders that count invocations alone add them when they begin. A counter of
// instructions is the sum of block counts times block costs, so a few variables serve all counters.
// Only counters that the render pass enables cost an addition. Arithmetic is modulo 2^32.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "probe/region.h"
#include "spirv/analysis/block_map.h"
#include "spirv/instrument/context.h"
#include "spirv/instrument/counting.h"
#include "spirv/instrument/record_writer.h"
#include "spirv/plan/counter_plan.h"

namespace tally::spirv {

// The flush of counters by region: the lanes of a subgroup sum, and add to the accumulators of
// their region.
//
// - Lanes whose subgroup began in several regions, which is rare, each add their own values.
// - The accumulators of a region are one line of memory. Lane i adds the sum of accumulator i, so
//   all sums take one addition. Where there are fewer lanes, they take further turns.
// - Counters of instruction classes are sums over the same few variables: the subgroup sums the
//   variables, unless there are more of them than of such counters.
// - Small numbers are bytes of one variable, so one sum serves all.
// - A disabled counter costs a branch if it needs a sum of its own.

// Finds the accumulators of a fragment from the block of the render pass and the fragment's
// position (probe/region.h).

class RegionPlace : WordCode {
 public:
  static constexpr uint32_t kNowhere = ~0u;

  RegionPlace(PassContext& context, Builtins& builtins);

  // The pointer type of a block: to an array of 32-bit words.
  uint32_t block_type() const { return block_type_; }
  uint32_t load(InstructionBuilder& code, uint32_t block, probe::RegionWord index) const;
  // The word, which must have an even index, and the one after it, in one load of 64 bits.
  struct Pair {
    uint32_t first, second;
  };
  Pair load_pair(InstructionBuilder& code, uint32_t block, probe::RegionWord index);
  // Index of the fragment's region, layers included; kNowhere outside of the render area.
  // `load` emits the code for a word of the block.
  using Load = std::function<uint32_t(probe::RegionWord)>;
  uint32_t find(InstructionBuilder& code, const Load& load);
  // The address of the accumulators of region 0.
  uint32_t accumulators(InstructionBuilder& code, uint32_t block) const;
  // ... of another region.
  uint32_t advance(InstructionBuilder& code, uint32_t accumulators, uint32_t region) const;
  // A pointer to one of the accumulators at `address`.
  uint32_t accumulator(InstructionBuilder& code, uint32_t address, uint32_t index) const;
  void add(InstructionBuilder& code, uint32_t address, uint32_t index, uint32_t value) const;
  // `index` is an id.
  void add_to_chosen(InstructionBuilder& code, uint32_t address, uint32_t index,
                     uint32_t value) const;

 private:
  uint32_t make_block_type(uint32_t word_type, uint32_t word_bytes);
  Pair split(InstructionBuilder& code, uint32_t pair) const;
  uint32_t layer(InstructionBuilder& code, const Load& load);

  PassContext& context_;
  Builtins& builtins_;
  PhysicalMemory memory_;
  uint32_t block_type_;
  uint32_t pairs_type_ = 0;  // a pointer to the block as 64-bit words; 0 until needed
};

// How the region counters are computed from the private counts of an invocation.

// A region counter's value in one invocation: constant + sum of factor x private variable; or a
// byte of a private variable.
struct RegionValue {
  struct Term {
    uint32_t variable;  // index of the variable
    uint32_t factor;
  };
  uint32_t accumulator = 0;
  uint32_t constant = 0;
  std::vector<Term> terms;
  bool of_samples = false;            // instead: the number of bits in SampleMask
  bool of_blocks = false;             // the variables are block counters
  std::optional<uint32_t> byte = {};  // of the only term's variable
};

// The index of the counter's accumulator: its position among the region counters.
uint32_t accumulator_of(catalogue::Number number);

// The counters of instruction classes. `variables` has the variable of each block counter, or
// kEveryInvocation for the counter of invocations.
inline constexpr uint32_t kEveryInvocation = ~0u;
std::vector<RegionValue> class_values(const CounterPlan& plan, const BlockMap& map,
                                      std::span<const uint32_t> variables);

class RegionFlush : WordCode {
 public:
  // `variables`: ids of the private variables that the values refer to. `together`: whether the
  // stage has subgroup operations.
  RegionFlush(PassContext& context, Builtins& builtins, HelperMask& helper_mask, RegionPlace& place,
              std::span<const RegionValue> values, std::span<const uint32_t> variables,
              bool together);

  // Where an invocation adds, as ids.
  struct Place {
    uint32_t wanted = 0;   // bit mask of the enabled counters, 0 outside of all regions; and kAlone
    uint32_t address = 0;  // of the accumulators of the invocation's region
  };
  // The subgroup began in several regions. No counter has this bit.
  static constexpr uint32_t kAlone = 1u << 31;
  void emit(InstructionBuilder& code, const Place& place);
  // The lane's value of a counter.
  uint32_t own_value(InstructionBuilder& code, const RegionValue& value);

 private:
  void add_alone(InstructionBuilder& code, uint32_t address);
  void add_together(InstructionBuilder& code, uint32_t address);
  uint32_t wanted_sum(InstructionBuilder& code, const RegionValue& value);
  void share_out(InstructionBuilder& code, uint32_t address, std::span<const uint32_t> sums);
  void rank_lanes(InstructionBuilder& code);
  // Sets sums_ of the variables where one of the counters is wanted, and to 0 elsewhere.
  void sum_variables(InstructionBuilder& code, std::span<const uint32_t> variables, uint32_t bits);
  uint32_t sum(InstructionBuilder& code, const RegionValue& value);
  uint32_t sum_of_lanes(InstructionBuilder& code, uint32_t own);
  // constant x `ones` + sum of factor x variable.
  uint32_t byte_of(InstructionBuilder& code, const RegionValue& value, uint32_t word);
  uint32_t combine(InstructionBuilder& code, const RegionValue& value, uint32_t ones,
                   const std::function<uint32_t(uint32_t)>& variable);
  bool uses_sums(const RegionValue& value) const {
    return value.byte || (value.of_blocks && !summed_.empty());
  }
  // True if its sum is an operation of the subgroup. Otherwise it follows from sums_ and lanes_.
  bool needs_lanes(const RegionValue& value) const {
    return (!value.terms.empty() || value.of_samples) && !uses_sums(value);
  }
  uint32_t is_wanted(InstructionBuilder& code, uint32_t bits);

  Builtins& builtins_;
  HelperMask& helper_mask_;
  RegionPlace& place_;
  std::span<const RegionValue> values_;
  std::span<const uint32_t> variables_;
  SubgroupCode subgroup_;
  bool together_;
  uint32_t accumulators_ = 0;  // up to the last one that the shader adds to
  // Indices of the block counters that the subgroup sums, and of the variable with bytes, if there
  // is one. The ids of the sums, by variable.
  std::vector<uint32_t> summed_, bytes_;
  std::vector<uint32_t> sums_;
  // Ids.
  uint32_t wanted_ = 0;  // Place::wanted
  uint32_t live_ = 0;    // boolean: the invocation counts
  uint32_t alone_ = 0;   // boolean: it adds its own values
  uint32_t lanes_ = 0;   // number of live lanes; 1 if alone
  uint32_t rank_ = 0;    // among the live lanes; 0 if alone
};

// The flush of counters by region for drivers that execute both sides of every branch with a mask
// (llvmpipe before 25.0). There an access to memory is a loop over the lanes, which is short only
// for lanes that are masked out, and the only branch is the one back to the start of a loop. So:
//
// - One lane loads the words of the block and passes them on, and the same lane does all additions.
// - A loop over the enabled counters replaces a branch for each possible counter.

class MaskedRegionFlush : WordCode {
 public:
  // `own` emits the code for the lane's value of a counter.
  using OwnValue = std::function<uint32_t(InstructionBuilder&, const RegionValue&)>;

  MaskedRegionFlush(PassContext& context, HelperMask& helper_mask, RegionPlace& place,
                    std::span<const RegionValue> values, OwnValue own);

  void emit(InstructionBuilder& code, uint32_t block);

 private:
  static constexpr uint32_t kWords = 8;  // from RegionWord::AccumulatorsLow to Multiview
  // Computed once.
  struct Place {
    uint32_t wanted = 0;   // bit mask of the enabled counters of this shader
    uint32_t region = 0;   // of the lane
    uint32_t address = 0;  // of the accumulators of region 0
    uint32_t can_add = 0;  // boolean: this is the lane that adds, and a counter is enabled
    uint32_t pending = 0;  // boolean: the lane counts and lies in a region
  };

  void load_words(InstructionBuilder& code, uint32_t block, uint32_t first);
  RegionPlace::Pair load_pair(InstructionBuilder& code, uint32_t block, probe::RegionWord index);
  uint32_t loaded(probe::RegionWord index) const;
  void add_by_region(InstructionBuilder& code, const Place& place);
  void add_in_turn(InstructionBuilder& code, const Place& place, uint32_t region, uint32_t mine);
  uint32_t chosen(InstructionBuilder& code, uint32_t bit);

  HelperMask& helper_mask_;
  RegionPlace& place_;
  std::span<const RegionValue> values_;
  OwnValue own_;
  SubgroupCode subgroup_;
  std::vector<uint32_t> words_;  // ids
  bool int64_;                   // the device has 64-bit integers
};

// The distinct primitives of a region: a set in GPU memory (probe/region.h) into which invocations
// insert the draw and PrimitiveId of their primitive. It is a hash table of 64-bit keys with linear
// probing (Knuth, The Art of Computer Programming 3, 6.4, algorithm L) and insertion by compare and
// exchange. Exact up to the table's limit under any concurrency.

class PrimitiveSet : WordCode {
 public:
  PrimitiveSet(PassContext& context, Builtins& builtins);

  // Ids of 32-bit integers; the address has two.
  struct Place {
    uint32_t tables = 0;      // device address
    uint32_t slots_log2 = 0;  // of a region's table
    uint32_t limit = 0;       // maximum number of primitives, at most half of the slots
    uint32_t region = 0;
    uint32_t draw = 0;     // index of the draw, from 1
    uint32_t counter = 0;  // pointer to the region's accumulator
  };
  // For lanes that are not helpers.
  void insert(InstructionBuilder& code, const Place& place);

 private:
  uint32_t primitive(InstructionBuilder& code);
  uint32_t first_slot(InstructionBuilder& code, uint32_t primitive, uint32_t draw);
  uint32_t try_slot(InstructionBuilder& code, const Place& place, uint32_t slot, uint32_t key);
  uint32_t claim(InstructionBuilder& code, const Place& place, uint32_t slot, uint32_t key);

  PassContext& context_;
  Builtins& builtins_;
  uint32_t u64_;
  PhysicalMemory memory_;
  uint32_t scope_, relaxed_;
  uint32_t slots_type_;    // pointer to an array of 64-bit slots
  uint32_t slot_pointer_;  // pointer to one
};

class RegionCounting : WordCode {
 public:
  RegionCounting(PassContext& context, Builtins& builtins, HelperMask& helper_mask,
                 const TaggedRecordPointers& pointers);
  // Places the counters; call first.
  Status plan();

  std::span<const Counter> counters() const { return counters_; }

  // At the start of the entry point.
  void begin(InstructionBuilder& code);
  // At the start of the counter's segment.
  void count(InstructionBuilder& code, uint32_t counter);
  // Before an exit.
  void leave(InstructionBuilder& code, const Exit& exit);
  // Adds the functions that the code calls. Called once, last.
  void finish();

 private:
  // Small numbers of the invocation share a variable: whether it represents its subgroup, the
  // helper invocations that it represents then, whether it is discarded.
  enum Byte : uint32_t { kFirstLane, kHelpers, kDiscarded };

  bool only_invocations() const { return context_.options.regions->only_invocations; }
  uint32_t new_variable();
  void add_byte_value(catalogue::Number number, Byte byte);

  template <typename Body>
  void add_function(uint32_t id, std::string_view name, Body&& body);
  // The block of the pass: named by the draw's header, or the region pointer's own address.
  uint32_t find_block(InstructionBuilder& code, uint32_t tags, uint32_t address, uint32_t header);
  void note_beginning(InstructionBuilder& code, uint32_t header, uint32_t block);
  uint32_t find_region(InstructionBuilder& code, uint32_t block);
  RegionFlush::Place locate(InstructionBuilder& code, uint32_t block, uint32_t region,
                            uint32_t wanted);
  void note_primitive(InstructionBuilder& code, uint32_t header, uint32_t block, uint32_t region,
                      uint32_t address);
  void note_lanes(InstructionBuilder& code);
  void stop_clock(InstructionBuilder& code);
  uint32_t is_wanted(InstructionBuilder& code, uint32_t wanted,
                     std::initializer_list<catalogue::Number> some);
  uint32_t has_bits(InstructionBuilder& code, uint32_t value, uint32_t bits);
  void count_invocations(InstructionBuilder& code, uint32_t block);
  void note_discard(InstructionBuilder& code);
  void flush_masked(InstructionBuilder& code, uint32_t block);
  void flush(InstructionBuilder& code, uint32_t block);

  PassContext& context_;
  Builtins& builtins_;
  HelperMask& helper_mask_;
  const TaggedRecordPointers& pointers_;
  SubgroupCode subgroup_;
  RegionPlace place_;
  bool together_;  // the lanes of a subgroup sum before they write
  bool masked_;    // ... for a driver that executes both sides of branches
  uint32_t uvec2_;
  uint32_t begin_function_, flush_function_;
  std::optional<PrimitiveSet> primitives_;
  std::vector<Counter> counters_;
  std::vector<uint32_t> counter_variables_;  // by counter; or kEveryInvocation
  std::vector<uint32_t> variables_;          // ids
  std::vector<RegionValue> values_;
  // Indices into variables_: where the invocation adds (RegionFlush::Place).
  uint32_t wanted_ = kNone;
  std::array<uint32_t, 2> address_{kNone, kNone};
  // Indices into variables_: what it has noted.
  uint32_t bytes_ = kNone, discarded_ = kNone, clock_ = kNone;
};

}  // namespace tally::spirv
