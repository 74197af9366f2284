// What is asked of the block-count pass (block_count.h).
#pragma once

#include <cstdint>
#include <optional>
#include <spirv/unified1/spirv.hpp11>
#include <string>

#include "spirv/instrument/driver_workarounds.h"

namespace tally::spirv {

// Where the code finds the record's address word.
struct AddressSource {
  enum class Kind { PushConstant, UniformBuffer };
  Kind kind = Kind::PushConstant;
  uint32_t push_constant_offset = 0;  // a multiple of 8, beyond the application's ranges
  uint32_t set = 0, binding = 0;      // a uniform buffer that begins with the word

  bool operator==(const AddressSource&) const = default;
};

// On which blocks counters stand.
enum class Placement {
  Every,    // on every block
  Minimal,  // on as few as flow conservation allows; the host derives the others
};

// How a counted block counts.
enum class Counting {
  Lane,      // an atomic by every lane
  Subgroup,  // an atomic by one lane for the subgroup
  Private,   // in private variables, added to memory once, when the invocation ends
};

// How the tessellator makes primitives of patches: what the execution modes of both tessellation
// stages say together.
struct Tessellation {
  enum class Domain : uint8_t { Triangles, Quads, Isolines };
  enum class Spacing : uint8_t { Equal, FractionalEven, FractionalOdd };
  Domain domain = Domain::Triangles;
  Spacing spacing = Spacing::Equal;
  bool points = false;

  bool operator==(const Tessellation&) const = default;
};

// Draws whose records stand in a row need no address each: the high half of the instance index says
// how far from the address word's record that of the draw is (probe/record.h), where the word says
// so. The application reads the low half.
struct PackedDrawIndices {
  // Where the vertex stage puts the number out and the fragment stage reads it; the vertex stage of
  // a pipeline in which no other counts: nowhere.
  std::optional<uint32_t> location;

  bool operator==(const PackedDrawIndices&) const = default;
};

// Counting by region of the framebuffer (region_counting.h).
struct RegionOptions {
  // What a fragment shader may read the layer with (Geometry, ShaderLayer ...): where nothing is
  // given, all is layer 0.
  std::optional<spv::Capability> layer_capability;
  bool multiview = false;       // the device has views
  bool subgroup_clock = false;  // ... and shaderSubgroupClock
  // The device has PrimitiveId in fragment shaders, and 64-bit atomics. The region's address word
  // is then that of a probe::RegionHeader.
  bool primitives = false;
  bool primitive_ids = true;  // the stages before set PrimitiveId

  bool operator==(const RegionOptions&) const = default;
};

// Equal options make equal words of equal modules, so they are the key of caches.
struct BlockCountOptions {
  spv::ExecutionModel stage = spv::ExecutionModel::GLCompute;
  std::string entry_point = "main";
  AddressSource address;
  Placement placement = Placement::Minimal;
  Counting counting = Counting::Private;
  bool int64 = false;                // the device has shaderInt64
  bool int64_atomics = false;        // ... and shaderBufferInt64Atomics
  bool subgroup_operations = false;  // this stage of the device has basic, vote, ballot, arithmetic
  uint32_t max_shards_log2 = 0;      // 0: code for records of one shard only
  // Also the subgroups that executed each block, where the stage allows it and lanes share their
  // work: not with Counting::Lane, nor in the geometry stages, whose subgroups hold lanes that are
  // nobody.
  bool count_subgroups = false;
  // Also what the stage puts out: samples covered by fragment invocations that are not discarded;
  // primitives of geometry shaders (of each stream) and mesh shaders; in a tessellation control
  // shader those that the tessellator makes, where it is known how.
  bool count_outputs = false;
  bool trip_counts = true;  // ask a loop's variable how often the loop ran (trip_counts.h)
  bool single_exit = true;  // add the counts up in one place where the entry point has many returns
  std::optional<Tessellation> tessellation;
  uint32_t max_tessellation_level = 64;  // maxTessellationGenerationLevel
  // The pipeline may turn the fragment's alpha into coverage: its depth test then cannot be early.
  bool alpha_to_coverage = false;
  // Also, or only, count by region (region_counting.h). The region's address word then stands 8
  // bytes behind the record's.
  std::optional<RegionOptions> regions;
  bool count_blocks = true;
  DriverWorkarounds driver;
  std::optional<PackedDrawIndices> packed_draw_indices;  // vertex and fragment stage
  bool identity = false;                                 // parse and write back, change nothing
  // The module's version may be raised up to this word (0x00010300 is 1.3), where it gains
  // something.
  uint32_t spirv_version_limit = 0x00010300;

  bool operator==(const BlockCountOptions&) const = default;
};

}  // namespace tally::spirv
