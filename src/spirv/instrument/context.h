// What the parts of one run of the block-count pass share.
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
  bool demotes;              // some invocation may become a helper on its way

  const Module& module() const { return editor.module(); }
  // Our functions stand before the application's: behind them a line of its debug information might
  // still be in force.
  void add_function(const InstructionBuilder& code) {
    editor.insert_before(section_ends(module())[static_cast<size_t>(Section::Global)], code);
  }
};

}  // namespace tally::spirv
