// What the pass must know of each shader stage beyond the catalogue (catalogue/stages.h): a stage
// has a row in both tables.
#pragma once

#include <cstdint>
#include <span>
#include <spirv/unified1/spirv.hpp11>

namespace tally::spirv {

// A term of the number that picks an invocation's shard: component >> shift, times factor.
// Different subgroups that end at the same time should differ in it, but for those of one
// workgroup; one subgroup's lanes need not agree.
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
  // Whether the active lanes of a subgroup are invocations, helpers aside. Drivers fill the
  // subgroups of the geometry stages up with lanes whose writes are dropped but that vote:
  // SwiftShader's ballot shows four for a triangle's three vertices.
  bool lanes_are_invocations;
  std::span<const ShardTerm> shard_terms;
};

// The catalogue's name of a stage, "unknown" if it has none.
const char* stage_name(spv::ExecutionModel model);

// Null for a stage that we do not know.
const StageTraits* find_stage(spv::ExecutionModel model);

}  // namespace tally::spirv
