// Counting at sites (plan/site_plan.h).
//
// - The iterations of a run of a loop are counted in a private variable, and added to memory when
//   the loop is left.
// - Where an invocation is timed, a private variable holds the clock of the begin of each site, and
//   the cycles since then are added to memory at its end. The lanes of a subgroup are timed
//   together; the clock with which they begin decides whether.
// - Hits among the values of a line are added to memory where they happen, at one place for all
//   instructions of a site: compilers of software drivers take long for each.
// - Accesses to memory: memory_counting.h.
#pragma once

#include <optional>

#include "spirv/instrument/counting.h"
#include "spirv/instrument/memory_counting.h"
#include "spirv/plan/site_plan.h"

namespace tally::spirv {

class SiteCounting : WordCode {
 public:
  SiteCounting(CountingTools tools, SitePlan sites);

  // At the start of the entry point.
  void begin(InstructionBuilder& code);
  // The code at the sites.
  void insert();
  // Before an exit.
  void leave(InstructionBuilder& code, const Exit& exit);
  // Adds the functions that the code calls. Called once, last.
  void finish();

 private:
  const Module& module() const { return tools_.context.module(); }

  void insert_loop(size_t number);
  void end_run(InstructionBuilder& code, size_t number);
  uint32_t sample(InstructionBuilder& code, uint32_t clock);
  void insert_clock(size_t number);
  void end_clock(InstructionBuilder& code, size_t number);
  void make_clock_functions();
  void insert_value(const ValueSite& site);
  void count_if(InstructionBuilder& code, uint32_t condition, uint32_t counter);
  uint32_t is_zero(InstructionBuilder& code, uint32_t value);
  uint32_t is_negative(InstructionBuilder& code, uint32_t value);
  uint32_t is_out_of_range(InstructionBuilder& code, const Instruction& instruction);

  // A value of float or integer components, of which any makes a condition true.
  struct Components {
    uint32_t scalar;     // type
    uint32_t count = 1;  // of a vector
    bool is_float = false;
    uint32_t width = 32;
  };
  std::optional<Components> components_of(uint32_t type_id) const;
  // The type of as many values of the type `scalar`.
  uint32_t type_of(uint32_t scalar, uint32_t count) const;
  uint32_t splat(InstructionBuilder& code, uint32_t scalar, uint32_t value, uint32_t count) const;
  uint32_t any(InstructionBuilder& code, uint32_t booleans, uint32_t count) const;

  // Kinds of floats among the components of a result: booleans.
  struct Kinds {
    uint32_t nan = 0, infinite = 0, denormal = 0;
  };
  Kinds kinds_of(InstructionBuilder& code, uint32_t value, uint32_t type_id);
  Kinds kinds_of_words(InstructionBuilder& code, uint32_t value, const Components& components);
  Kinds kinds_of_doubles(InstructionBuilder& code, uint32_t value, const Components& components);
  void count_results(InstructionBuilder& code, const Kinds& kinds, uint32_t counter);
  Kinds either(InstructionBuilder& code, const Kinds& a, const Kinds& b) const;

  CountingTools tools_;
  SubgroupCode subgroup_;
  SitePlan sites_;
  std::optional<MemoryCounting> memory_;
  uint32_t none_;
  std::vector<uint32_t> lengths_;  // of the runs of loops so far: private variables
  // Functions; 0: not needed.
  uint32_t end_run_ = 0, end_all_runs_ = 0;
  uint32_t count_if_ = 0, count_results_ = 0;
  // Private variables: whether the invocation is timed, the clock that clock_now_ read, the clocks
  // of the begins of sites.
  uint32_t timed_ = 0, now_ = 0;
  std::vector<uint32_t> starts_;
  // Functions.
  uint32_t begin_clock_ = 0, clock_now_ = 0, end_clock_ = 0;
};

}  // namespace tally::spirv
