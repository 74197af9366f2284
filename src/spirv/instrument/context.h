// The state that the parts of the block-count pass share while they instrument one entry point.
#pragma once

#include <cstdint>

#include "spirv/instrument/options.h"
#include "spirv/instrument/plan/cfg_segments.h"
#include "spirv/instrument/stage_traits.h"
#include "spirv/ir/editor.h"

namespace tally::spirv {

template <typename Enum>
constexpr uint32_t word(Enum value) {
  return static_cast<uint32_t>(value);
}

// Where the code that writes an invocation's counts is: before each of `exits`, and if `wraps` also
// after the application's entry point, in place of its returns.
struct ExitPlaces {
  std::vector<Exit> exits;
  bool wraps = false;
  bool in_loop = false;    // the only one is in a loop: lanes may leave in different iterations
  std::vector<Exit> late;  // demotions that wait until then (late_demotions.h)

  // True if all invocations end at one place.
  bool only_one() const {
    return wraps ? exits.empty() : exits.size() == 1 && exits[0].kind == Exit::Kind::End;
  }
};

struct PassContext {
  const AnalyzedModule& analyzed;
  Editor& editor;
  const EntryPoint& entry;
  const BlockCountOptions& options;
  const StageTraits& stage;
  const SegmentGraph& graph;
  bool use_subgroups;        // the module may use subgroup operations
  bool use_int64;            // ... and 64-bit atomics
  bool vulkan_memory_model;  // of the module
  bool demotes;              // an invocation may be demoted before it writes its counts
  ExitPlaces places;

  // True if the code that writes the counts stands where invocations end, not in a function.
  bool flushes_in_place() const { return options.driver.prefers_small_code && places.only_one(); }
  // ... and that is the return of the application's entry point.
  bool flushes_in_entry_point() const {
    return flushes_in_place() && !places.wraps && is_return(module(), places.exits[0]);
  }

  const Module& module() const { return editor.module(); }
  // Adds a function before those of the application. After them, an OpLine of the application could
  // still be in effect.
  void add_function(const InstructionBuilder& code) {
    editor.insert_before(section_ends(module())[static_cast<size_t>(Section::Global)], code);
  }
};

}  // namespace tally::spirv
