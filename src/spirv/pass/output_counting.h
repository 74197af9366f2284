// Counts what a stage puts out (BlockCountOptions::count_outputs), in a private variable that is
// added up as the counts of blocks are: samples that a fragment invocation covers when it begins,
// none if it is discarded; complete primitives that a geometry shader emits to stream 0; primitives
// that a mesh shader's workgroup sets.
#pragma once

#include "spirv/pass/counting.h"

namespace tally::spirv {

bool counts_outputs(const BlockCountOptions& options);

class OutputCounting {
 public:
  // `variable`: private, 32 bits.
  OutputCounting(const CountingTools& tools, uint32_t variable);

  // Where the entry point begins.
  void begin(Code& code);
  // Before a way out.
  void leave(Code& code, const WayOut& way);
  // Adds code at the instructions that put something out; called once.
  void insert();

 private:
  void before_emit(Code& code);
  void before_set_mesh_outputs(Code& code, const Instruction& instruction);
  bool is_stream_0(const Instruction& instruction) const;
  uint32_t strip_vertices() const;
  uint32_t constant(uint32_t value) const { return editor_.constant_u32(value); }

  PassContext& context_;
  Editor& editor_;
  Builtins& builtins_;
  uint32_t u32_, boolean_;
  uint32_t variable_;
  uint32_t strip_ = 0;  // vertices since the strip began
};

}  // namespace tally::spirv
