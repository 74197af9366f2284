// Counts the primitives that the tessellator makes of a patch, in the tessellation control shader:
// behind the application's entry point, and a barrier, one invocation reads the levels that the
// patch has in the end and works the number out as the tessellation chapter of Vulkan says.
//
// The chapter says how many segments every edge has, so the number of triangles and lines is the
// same on every driver. Drivers may hold levels in fixed point: one that lies less than 2^-16 above
// a number of segments may be taken for that number.
#pragma once

#include "spirv/instrument/counting.h"
#include "spirv/ir/module.h"

namespace tally::spirv {

// The execution modes of an entry point of either tessellation stage.
void add_tessellation_modes(const Module& module, const EntryPoint& entry, Tessellation& modes);

class TessellationCounting {
 public:
  // `counter`: what the primitives are added to.
  TessellationCounting(const CountingTools& tools, uint32_t counter);

  // Adds the code; called once, after that before the ways out.
  void insert();

 private:
  struct Levels {
    std::vector<uint32_t> outer;  // segments
    uint32_t kept = 0;            // whether the patch is not dropped
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
  // The segments inside, where some edge has more than one.
  uint32_t inside(InstructionBuilder& code, uint32_t segments);
  uint32_t lines(InstructionBuilder& code, const Levels& levels);
  uint32_t triangles(InstructionBuilder& code, const Levels& levels);
  uint32_t quads(InstructionBuilder& code, const Levels& levels);
  uint32_t all_one(InstructionBuilder& code, const Levels& levels, uint32_t inner);
  uint32_t sum(InstructionBuilder& code, const std::vector<uint32_t>& numbers);
  uint32_t inner_triangle(InstructionBuilder& code, uint32_t edge);

  // Small arithmetic on 32-bit numbers.
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
