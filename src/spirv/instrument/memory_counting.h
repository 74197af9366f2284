// Counts the bytes that accesses to memory ask for, and what the hardware moves for a subgroup.
//
// A unit (a sector, line, word or texel) counts once, at the lowest of the lanes that touch it
// together. Where each lane touches one unit, a ballot for each bit of its number finds the lanes
// with the same one. Otherwise the lanes tell each other, in a loop over all lanes, which units
// they touch.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "spirv/instrument/counting.h"
#include "spirv/plan/site_plan.h"

namespace tally::spirv {

// Counts what virtual subgroups touch: consecutive invocations of a workgroup, however the device
// groups them.
//
// Lanes of a virtual subgroup make an access together if they are in the same iterations of the
// same loops, in functions that the same calls entered. The device may run them at different times.
// So each lane enters what it touches into a set in memory (LaneSets), which the workgroup takes
// when it begins and empties when its last invocation ends. Who enters a sector first counts it.
// Words of workgroup memory also have numbers in the set: how many there are, and how many of each
// bank; each time the highest of these rises, a pass counts.
//
// A key has two words of 31 bits, which are hashes. Each word is exchanged by itself: the second
// decides who enters the key. A set that is full misses accesses, which are counted.

class VirtualSubgroups : WordCode {
 public:
  // True if the code may add variables to the workgroup's memory.
  static bool are_possible(const AnalyzedModule& analyzed, const EntryPoint& entry,
                           const SiteOptions& options);

  VirtualSubgroups(CountingTools tools, const SitePlan& sites);

  // Keeps in private variables where an invocation is.
  void insert_places();
  // A key, as ids.
  struct Key {
    uint32_t first, second;
  };
  // Where the invocation is: the same for lanes that make an access together.
  Key place(InstructionBuilder& code, const MemorySite& site);

  // At the start of the entry point, and before its end.
  void begin(InstructionBuilder& code);
  void leave(InstructionBuilder& code);
  // Where an access begins, and its counters: ids.
  struct Access {
    Key place;
    uint32_t resource, byte, extent, bytes, first_counter;
  };
  // The bodies of functions.
  void count_buffer(InstructionBuilder& code, Access access);
  void count_shared(InstructionBuilder& code, Access access);
  void count_texel(InstructionBuilder& code, Access access);
  // Adds the functions that the code calls. Called once, last.
  void finish();

 private:
  Key absorb(InstructionBuilder& code, Key key, uint32_t word) const;
  Key with_loops(InstructionBuilder& code, Key key, std::span<const uint32_t> loops) const;
  Key of_access(InstructionBuilder& code, const Access& access);
  uint32_t private_variable(const char* name);
  uint32_t workgroup_variable(const char* name);
  uint32_t on_group(InstructionBuilder& code, spv::Op op, uint32_t variable, uint32_t value) const;
  uint32_t set_of_group(InstructionBuilder& code) const;
  // A word of memory at so many bytes from the sets.
  uint32_t word_at(InstructionBuilder& code, uint32_t bytes);
  uint32_t entry_bytes(InstructionBuilder& code, uint32_t set, uint32_t entry) const;
  uint32_t exchange(InstructionBuilder& code, uint32_t pointer, uint32_t value,
                    uint32_t semantics) const;
  uint32_t load(InstructionBuilder& code, uint32_t pointer) const;
  void store(InstructionBuilder& code, uint32_t pointer, uint32_t value,
             uint32_t semantics = 0) const;
  uint32_t plus(InstructionBuilder& code, uint32_t number, uint32_t added) const {
    return binary(code, spv::Op::OpIAdd, number, constant(added));
  }
  uint32_t is(InstructionBuilder& code, uint32_t number, uint32_t value) const {
    return compare(code, spv::Op::OpIEqual, number, constant(value));
  }
  uint32_t enter(InstructionBuilder& code, Key key);
  void add(InstructionBuilder& code, const ShardAddress& shard, const Access& access,
           uint32_t distance, uint32_t value);
  void note_number(InstructionBuilder& code, const ShardAddress& shard, const Access& access,
                   uint32_t state, uint32_t entry);
  void take_set(InstructionBuilder& code);
  void empty_set(InstructionBuilder& code);
  void make_enter_function();

  CountingTools tools_;
  const SitePlan& sites_;
  PhysicalMemory memory_;
  uint32_t none_, word_pointer_;
  std::vector<uint32_t> iterations_;  // of sites_.counted_loops: private variables
  Key path_{};                        // the calls: private variables
  uint32_t set_ = 0, running_ = 0;    // of the workgroup: number of the set, 0 if there is none
  uint32_t found_ = 0, missed_ = 0;   // private variables
  uint32_t state_ = 0, word_ = 0, level_ = 0;
  uint32_t begin_ = 0, leave_ = 0, enter_ = 0;  // functions
};

class MemoryCounting : WordCode {
 public:
  // `sites` outlives this.
  MemoryCounting(CountingTools tools, const SitePlan& sites);

  // At the start of the entry point, and before an end of the invocation.
  void begin(InstructionBuilder& code);
  void leave(InstructionBuilder& code);
  // The code at the accesses.
  void insert();
  // Adds the functions that the code calls. Called once, last.
  void finish();

 private:
  // Where an access begins: a byte of a resource, or a number of a texel.
  struct Begin {
    // Ids of 32-bit numbers. Which one of several resources, or the upper half of an address; 0:
    // there is one resource.
    uint32_t resource = 0;
    uint32_t byte = 0;
  };

  void keep_loops_rolled();
  void keep_lanes_together();
  // The facts of a lane, as ids.
  struct Turn {
    uint32_t packed;      // the number that it tells
    uint32_t is_present;  // it makes the access
    uint32_t is_earlier;  // ... to the same resource, and is below this lane
  };
  // The units from `first` up to but not including `end`, as ids. There are none if `end` is not
  // above `first`.
  struct Units {
    uint32_t first, end;
  };
  struct Touched {
    uint32_t sectors, lines;
  };
  struct LaneSum {
    uint32_t adds, bytes;  // `adds` is true for one lane, which adds the bytes of all
  };

  void insert_site(const MemorySite& site);
  void sketch_lines(InstructionBuilder& code, const MemoryAccess& access, const Begin& begin);
  void finish_sketch();
  uint32_t number_of(uint32_t variable) const;
  Begin begin_of(InstructionBuilder& code, const MemoryAccess& access);
  Begin texel_of(InstructionBuilder& code, const MemoryAccess& access);
  uint32_t scalar_of(uint32_t vector) const;
  uint32_t plus(InstructionBuilder& code, uint32_t number, uint32_t added) const;
  template <typename Visit>
  std::vector<uint32_t> each_lane(InstructionBuilder& code, uint32_t packed, uint32_t resource,
                                  std::vector<InstructionBuilder::Carried> values, Visit&& visit);
  Units without(InstructionBuilder& code, const Units& units, uint32_t own_first,
                uint32_t is_earlier, uint32_t first, uint32_t last);
  uint32_t count(InstructionBuilder& code, const Units& units) const;
  uint32_t sum(InstructionBuilder& code, uint32_t number, uint32_t most);
  uint32_t same_bits(InstructionBuilder& code, uint32_t lanes, uint32_t number, uint32_t begin,
                     uint32_t end);
  uint32_t same_resource(InstructionBuilder& code, uint32_t resource);
  uint32_t count_lowest(InstructionBuilder& code, uint32_t lanes);
  Touched sector_and_line(InstructionBuilder& code, uint32_t resource, uint32_t byte);
  Touched sectors_and_lines(InstructionBuilder& code, uint32_t resource, uint32_t byte,
                            uint32_t extent);
  uint32_t texels(InstructionBuilder& code, uint32_t resource, uint32_t texel);
  uint32_t extra_passes_of_words(InstructionBuilder& code, uint32_t byte);
  uint32_t extra_passes(InstructionBuilder& code, uint32_t byte, uint32_t extent);
  uint32_t maximum(InstructionBuilder& code, uint32_t number);
  uint32_t beyond_needed(InstructionBuilder& code, uint32_t passes, uint32_t words);
  void finish_virtual();
  LaneSum sum_of_lanes(InstructionBuilder& code, uint32_t bytes);
  void add_all(InstructionBuilder& code, const RecordPointer& record, uint32_t first,
               const std::vector<uint32_t>& values);

  CountingTools tools_;
  std::span<const MemorySite> sites_;
  uint32_t sketch_;                          // SitePlan::sketch
  std::optional<VirtualSubgroups> virtual_;  // empty: the device's subgroups
  SubgroupCode subgroup_;
  uint32_t none_;
  uint32_t max_sectors_ = 0;  // of a lane's access
  // Functions; 0: not needed.
  uint32_t count_bytes_ = 0, count_shared_ = 0, count_buffer_ = 0, count_texel_ = 0;
  uint32_t sketch_line_ = 0, sketch_lines_ = 0;
  uint32_t count_word_ = 0, count_sector_ = 0;  // one unit a lane
  uint32_t count_buffer_of_several_ = 0, count_texel_of_several_ = 0, count_sector_of_several_ = 0;
};

}  // namespace tally::spirv
