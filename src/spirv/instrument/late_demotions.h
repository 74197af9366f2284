// Demotions that wait until the invocation ends.
//
// A helper invocation cannot write to memory, so an invocation writes its counts before it is
// demoted, and the other lanes of its subgroup write theirs when they end. In short shaders,
// writing twice takes longer than all else. There a demoted invocation only notes that it was
// demoted. It goes on as it would as a helper, counts nothing more, and is demoted after all lanes
// have written their counts together.
//
// That makes no difference if the shader has no side effects, no subgroup operations, no pointers
// to physical memory, and does not ask whether it is a helper.
#pragma once

#include "spirv/instrument/context.h"

namespace tally::spirv {

class LateDemotions {
 public:
  // True if the demotions of the entry point can and should wait. Never if it counts subgroups or
  // regions, which look at the lanes that were not demoted.
  static bool are_possible(const AnalyzedModule& analyzed, const EntryPoint& entry,
                           const SegmentGraph& graph, const BlockCountOptions& options);

  explicit LateDemotions(PassContext& context);

  // In place of a demotion.
  void note(InstructionBuilder& code) const;
  // A boolean.
  uint32_t is_demoted(InstructionBuilder& code) const;
  // A 32-bit value, or 0 if the invocation was demoted.
  uint32_t unless_demoted(InstructionBuilder& code, uint32_t value) const;

 private:
  Editor& editor_;
  uint32_t demoted_;  // a private variable
};

}  // namespace tally::spirv
