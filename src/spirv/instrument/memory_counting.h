// Counts the bytes that accesses to memory ask for, and what the hardware moves for a subgroup.
//
// The lanes of a subgroup that access memory together look for the units (sectors, lines, words)
// that they touch in ascending order: each turn of a loop finds the least one that was not found
// yet. A unit counts once, however many lanes touch it, and a lane may touch several.
#pragma once

#include <optional>
#include <span>

#include "spirv/instrument/counting.h"
#include "spirv/instrument/virtual_subgroups.h"
#include "spirv/plan/site_plan.h"

namespace tally::spirv {

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
    uint32_t resource = 0;  // ids of 32-bit numbers: which one of several, or the upper half of an
    uint32_t byte = 0;      // address
  };

  void keep_loops_rolled();
  void keep_lanes_together();
  // Ids of 32-bit numbers, and of booleans, that all lanes of an access have.
  struct Turn {
    uint32_t unit, resource, is_one;
  };
  struct Touched {
    uint32_t sectors, lines;
  };
  struct LaneSum {
    uint32_t adds, bytes;  // `adds` is true for one lane, which adds the bytes of all
  };

  void insert_site(const MemorySite& site);
  Begin begin_of(InstructionBuilder& code, const MemoryAccess& access);
  Begin texel_of(InstructionBuilder& code, const MemoryAccess& access);
  uint32_t scalar_of(uint32_t vector) const;
  uint32_t plus(InstructionBuilder& code, uint32_t number, uint32_t added) const;
  template <typename Visit>
  void each_unit(InstructionBuilder& code, uint32_t resource, uint32_t first, uint32_t last,
                 Visit&& visit);
  Touched sectors_and_lines(InstructionBuilder& code, uint32_t resource, uint32_t byte,
                            uint32_t extent);
  uint32_t extra_passes(InstructionBuilder& code, uint32_t byte, uint32_t extent);
  void finish_virtual();
  LaneSum sum_of_lanes(InstructionBuilder& code, uint32_t bytes);
  void add_all(InstructionBuilder& code, const RecordPointer& record, uint32_t first,
               std::initializer_list<uint32_t> values);

  CountingTools tools_;
  std::span<const MemorySite> sites_;
  std::optional<VirtualSubgroups> virtual_;  // empty: the device's subgroups
  SubgroupCode subgroup_;
  uint32_t none_;
  // Private variables: the next unit of the lane, and the number of units so far.
  uint32_t next_ = 0, found_ = 0;
  // ... the number of lines so far, and the line found last with its resource.
  uint32_t lines_ = 0, line_ = 0, line_resource_ = 0;
  // Functions; 0: not needed.
  uint32_t count_bytes_ = 0, count_shared_ = 0, count_buffer_ = 0, count_texel_ = 0;
};

}  // namespace tally::spirv
