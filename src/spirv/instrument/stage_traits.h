// Traits of each shader stage that the pass needs. Names and numbers are in catalogue/stages.h; a
// new stage needs a row in both tables.
#pragma once

#include <cstdint>
#include <span>
#include <spirv/unified1/spirv.hpp11>

namespace tally::spirv {

// A term of the sum that selects an invocation's shard: (component >> shift) * factor, of a float
// up to a constant. Subgroups of different workgroups that end at the same time should differ in
// it. The lanes of one subgroup may differ as well.
struct ShardTerm {
  spv::BuiltIn builtin;
  uint8_t size;  // components of the built-in, 1 for a scalar
  uint8_t component;
  uint8_t shift;
  uint8_t factor;
};

struct StageTraits {
  spv::ExecutionModel model;
  bool has_helpers;
  // True if all active lanes of a subgroup are invocations or helpers. In the geometry stages,
  // drivers fill subgroups with further lanes whose writes have no effect but that take part in
  // ballots: SwiftShader's ballot has four lanes for the three vertices of a triangle.
  bool lanes_are_invocations;
  std::span<const ShardTerm> shard_terms;
  // True if calls of other shaders may regroup the invocations of a subgroup.
  bool repacks = false;
  // True if a flush adds zeros too. Most counts of a workgroup that shapes a mesh are not zero, so
  // that to test each costs more than it saves.
  bool adds_zeros = false;
};

// The catalogue's name of a stage, "unknown" if it has none.
const char* stage_name(spv::ExecutionModel model);

// Null for an unknown stage.
const StageTraits* find_stage(spv::ExecutionModel model);

}  // namespace tally::spirv
