// Counts what a stage puts out (BlockCountOptions::count_outputs), in a private variable that is
// added up as the counts of blocks are: samples that a fragment invocation covers when it begins,
// but for those that its SampleMask output leaves out, and none if it is discarded (where it asks
// for early tests these come too late to matter: all that it covers); complete primitives that a
// geometry shader emits to each stream; primitives that a mesh shader's workgroup sets. (Of a
// tessellation control shader it is tessellation_counting.h that counts, behind the stage's end.)
#pragma once

#include "spirv/instrument/counting.h"

namespace tally::spirv {

// Those that the stage may put something out to: stream 0 of every stage that puts something out,
// none of others.
std::vector<uint32_t> output_streams(const Module& module, const BlockCountOptions& options);

class OutputCounting {
 public:
  explicit OutputCounting(const CountingTools& tools);
  // `variable`: private, 32 bits.
  void add_stream(uint32_t stream, uint32_t variable);

  // Where the entry point begins.
  void begin(InstructionBuilder& code);
  // Before a way out.
  void leave(InstructionBuilder& code, const Exit& way);
  // Adds code at the instructions that put something out; called once.
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
