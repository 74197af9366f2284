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
  bool demotes;              // an invocation may be demoted to a helper

  const Module& module() const { return editor.module(); }
  // Adds a function before those of the application. After them, an OpLine of the application could
  // still be in effect.
  void add_function(const InstructionBuilder& code) {
    editor.insert_before(section_ends(module())[static_cast<size_t>(Section::Global)], code);
  }
};

}  // namespace tally::spirv
