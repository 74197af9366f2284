// How a counted segment counts: one class for each way, behind one interface. The pass asks it for
// code at each counter, and before each way out; then it adds what functions it needs.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "spirv/instrument/builtins.h"
#include "spirv/instrument/context.h"
#include "spirv/instrument/plan/counter_placement.h"
#include "spirv/instrument/record_writer.h"

namespace tally::spirv {

// The shared tools of one instrumented module.
struct CountingTools {
  PassContext& context;
  Builtins& builtins;
  HelperMask& helper_mask;
  RecordWriter& record;
};

class CounterCode {
 public:
  virtual ~CounterCode() = default;
  // Where the entry point begins.
  virtual void begin(InstructionBuilder&) {}
  // Where the segment of counter number `counter` begins.
  virtual void count(InstructionBuilder& code, uint32_t counter) = 0;
  // Before a way out.
  virtual void leave(InstructionBuilder& code, const Exit& way) = 0;
  // Adds its functions; called once, at the end.
  virtual void finish() = 0;
};

std::unique_ptr<CounterCode> make_lane_counting(CountingTools tools,
                                                std::span<const Counter> counters);
std::unique_ptr<CounterCode> make_subgroup_counting(CountingTools tools,
                                                    std::span<const Counter> counters);
std::unique_ptr<CounterCode> make_private_counting(CountingTools tools,
                                                   std::span<const Counter> counters);

// InstructionBuilder over the lanes of a subgroup that count.
class SubgroupCode {
 public:
  explicit SubgroupCode(Editor& editor);

  // `live`: a boolean, or 0 if all active lanes count. Gives the ballot of those that do.
  uint32_t ballot(InstructionBuilder& code, uint32_t live);
  uint32_t bit_count(InstructionBuilder& code, uint32_t ballot);
  // How many bits of the ballot belong to lanes below this one.
  uint32_t bits_below(InstructionBuilder& code, uint32_t ballot);
  // Whether the lane is the lowest of the ballot.
  uint32_t is_lowest(InstructionBuilder& code, uint32_t ballot, uint32_t live);
  uint32_t any(InstructionBuilder& code, uint32_t condition);
  uint32_t all_equal(InstructionBuilder& code, uint32_t value);
  uint32_t sum(InstructionBuilder& code, uint32_t value);
  uint32_t minimum(InstructionBuilder& code, uint32_t value);

 private:
  Editor& editor_;
  uint32_t boolean_, u32_, uvec4_;
  uint32_t scope_;
};

}  // namespace tally::spirv
