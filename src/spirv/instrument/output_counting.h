// Counts the outputs of a stage (BlockCountOptions::count_outputs) in a private variable, which is
// written like the block counts:
//
// - fragment: the samples that the invocation covers at its start, without those that its
// SampleMask
//   output excludes, and none if it is discarded. With EarlyFragmentTests neither has an effect.
// - geometry: the complete primitives emitted to each stream.
// - mesh: the primitives that the workgroup sets.
//
// For tessellation control shaders see output_counting.h.
#pragma once

#include "spirv/instrument/counting.h"
#include "spirv/ir/module.h"

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

// Counts the primitives that the tessellator generates for a patch, in the tessellation control
// shader: after the application's entry point and a barrier, one invocation reads the final levels
// of the patch and computes the number by the rules of Vulkan's tessellation chapter.
//
// The chapter defines the number of segments of every edge, so all drivers generate the same number
// of triangles or lines. Drivers may use fixed point: a level less than 2^-16 above an integer may
// be rounded to it.

// Adds the execution modes of an entry point of either tessellation stage.
void add_tessellation_modes(const Module& module, const EntryPoint& entry, Tessellation& modes);

class TessellationCounting {
 public:
  // `counter` is the counter of the primitives.
  TessellationCounting(const CountingTools& tools, uint32_t counter);

  // Adds the code. Called once, after the code at the exits.
  void insert();

 private:
  struct Levels {
    std::vector<uint32_t> outer;  // segments
    uint32_t kept = 0;            // whether the patch is not discarded
    uint32_t inner[2] = {};
  };

  bool returns_from_loop() const;
  void begin_function(InstructionBuilder& code, uint32_t function);
  uint32_t make_patch_function();
  void barrier(InstructionBuilder& code);
  void count(InstructionBuilder& code);
  Levels load_levels(InstructionBuilder& code);
  uint32_t level(InstructionBuilder& code, spv::BuiltIn builtin, uint32_t index);
  uint32_t segments(InstructionBuilder& code, uint32_t level, Tessellation::Spacing spacing);
  // The number of inner segments if some edge has more than one.
  uint32_t inside(InstructionBuilder& code, uint32_t segments);
  uint32_t lines(InstructionBuilder& code, const Levels& levels);
  uint32_t triangles(InstructionBuilder& code, const Levels& levels);
  uint32_t quads(InstructionBuilder& code, const Levels& levels);
  uint32_t all_one(InstructionBuilder& code, const Levels& levels, uint32_t inner);
  uint32_t sum(InstructionBuilder& code, const std::vector<uint32_t>& numbers);
  uint32_t inner_triangle(InstructionBuilder& code, uint32_t edge);

  // Arithmetic on 32-bit integers.
  uint32_t u32(uint32_t value) const { return editor_.constant_u32(value); }
  uint32_t f32(float value) const;
  uint32_t emit(InstructionBuilder& code, spv::Op opcode, uint32_t a, uint32_t b) {
    return code.emit(opcode, u32_, {a, b});
  }
  uint32_t select(InstructionBuilder& code, uint32_t condition, uint32_t yes, uint32_t no) {
    return code.emit(spv::Op::OpSelect, u32_, {condition, yes, no});
  }

  CountingTools tools_;
  PassContext& context_;
  Editor& editor_;
  uint32_t counter_;
  const Tessellation& modes_;
  uint32_t u32_, f32_, boolean_, extended_;
};

}  // namespace tally::spirv
