// Counts the outputs of a stage (BlockCountOptions::count_outputs) in a private variable, which is
// written like the block counts:
//
// - fragment: the samples that the invocation covers at its start, without those that its
// SampleMask
//   output excludes, and none if it is discarded. With EarlyFragmentTests neither has an effect.
// - geometry: the complete primitives emitted to each stream.
// - mesh: the primitives that the workgroup sets.
//
// For tessellation control shaders see tessellation_counting.h.
#pragma once

#include "spirv/instrument/counting.h"

namespace tally::spirv {

// The streams that the stage may write to: stream 0 for stages without streams, none for stages
// whose outputs are not counted.
std::vector<uint32_t> output_streams(const Module& module, const BlockCountOptions& options);

class OutputCounting {
 public:
  explicit OutputCounting(const CountingTools& tools);
  // `variable` is a private 32-bit variable.
  void add_stream(uint32_t stream, uint32_t variable);

  // At the start of the entry point.
  void begin(InstructionBuilder& code);
  // Before an exit.
  void leave(InstructionBuilder& code, const Exit& exit);
  // Adds code at the instructions that emit or set outputs. Called once.
  void insert();

 private:
  struct Stream {
    uint32_t variable = 0;
    uint32_t strip = 0;  // vertices since the strip began
  };

  void apply_written_mask(InstructionBuilder& code);
  void before_emit(InstructionBuilder& code, Stream& stream);
  void before_set_mesh_outputs(InstructionBuilder& code, const Instruction& instruction);
  uint32_t strip_of(Stream& stream);
  Stream* stream_of(const Instruction& instruction);
  uint32_t strip_vertices() const;
  uint32_t constant(uint32_t value) const { return editor_.constant_u32(value); }

  PassContext& context_;
  Editor& editor_;
  Builtins& builtins_;
  uint32_t u32_, boolean_;
  std::array<Stream, CounterPlan::kStreams> streams_;
};

}  // namespace tally::spirv
