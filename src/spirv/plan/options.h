#pragma once

#include <spirv/unified1/spirv.hpp11>

#include <cstdint>
#include <optional>
#include <string>

namespace tally::spirv {

// SpecIds of the 32-bit constants that locate the stage's counters in the record: those of
// probe::StageCounters in bytes. Their default values are for a record of this stage alone.
struct RecordSpecIds {
  uint32_t first_byte = 0;
  uint32_t stride_bytes = 0;
};

// Driver behaviour that the pass has to work around. All workarounds are off by default.

// Lanes of a subgroup, where DriverWorkarounds::prefers_small_code.
inline constexpr uint32_t kMaxLanesOfSmallCode = 8;

struct DriverWorkarounds {
  // The driver drops pending fragments that an opaque triangle covers, although they write to
  // memory, unless their shader contains a discard (llvmpipe). The pass adds a discard in a branch
  // that is never taken.
  bool drops_overdraw = false;
  // The driver hangs in some draws whose shader has private counters and discards invocations in a
  // loop (NVIDIA 580; docs/reference/drivers.md).
  // Such a shader uses Counting::Lane without subgroup operations, and is not counted by region.
  bool hangs_on_discards = false;
  // All lanes of a subgroup belong to one draw (llvmpipe runs the fragments of each triangle
  // separately).
  bool keeps_draws_apart = false;
  // The driver executes both sides of every branch, and lanes that count nothing are masked out
  // (llvmpipe before 25.0). Counting by region avoids branches (masked_region_flush.h), and short
  // code elects a lane. Fragments that write to memory in nested loops may not come to the code at
  // their end: counting at sites, which writes there, excludes Counting::Private and subgroup
  // operations.
  bool masks_branches = false;
  // The driver's compiler takes long for each instruction. The code that adds counts to memory is
  // as short as possible (small_flush.h), and stands where invocations end, if that is one place.
  // The module loses the application's names. The driver executes the stages before rasterization
  // on one thread, so these need no shards; subgroups have at most 8 lanes, of which the first are
  // invocations where the workgroup does not fill them; lanes that end at one place outside of
  // loops end together; and helper invocations take part in no subgroup operation (llvmpipe).
  bool prefers_small_code = false;
  // The driver runs the subgroups of a workgroup on one thread, in the order of their numbers, each
  // to the next barrier that it reaches. An atomic addition is a slow loop over the lanes, while an
  // access to workgroup memory at the same place for all lanes is one instruction (llvmpipe 26). So
  // compute shaders that prefer small code add up a workgroup's counts there: bytes of that memory,
  // with those that the code adds. 0: not this driver.
  uint32_t workgroup_bytes = 0;
  // The driver miscompiles or crashes on deeper nesting of conditionals (llvmpipe: 80); 0 means no
  // limit. Early returns count as nesting once they write counters. A shader near the limit is not
  // instrumented.
  uint32_t max_nested_conditionals = 0;

  bool operator==(const DriverWorkarounds&) const = default;
};

// The options of the block-count pass (block_count.h).

// Where the code finds the tagged pointer to its record.
struct AddressSource {
  enum class Kind { PushConstant, UniformBuffer };
  Kind kind = Kind::PushConstant;
  uint32_t push_constant_offset = 0;  // a multiple of 8, after the application's ranges
  uint32_t set = 0, binding = 0;      // a uniform buffer that begins with the pointer
  // The application's push constants may reach up to here. Those of blocks that reach further are
  // in memory instead, whose address is the 8 bytes at this offset.
  std::optional<uint32_t> block_address;

  bool operator==(const AddressSource&) const = default;
};

// Which blocks have counters.
enum class Placement {
  Every,    // every block
  Minimal,  // as few as flow conservation allows; the host derives the other counts
};

// How a counted block counts.
enum class Counting {
  Lane,      // one atomic for each lane
  Subgroup,  // one atomic for each subgroup
  Private,   // in private variables, added to memory once, when the invocation ends
};

// How the tessellator divides patches: the execution modes of both tessellation stages together.
struct Tessellation {
  enum class Domain : uint8_t { Triangles, Quads, Isolines };
  enum class Spacing : uint8_t { Equal, FractionalEven, FractionalOdd };
  Domain domain = Domain::Triangles;
  Spacing spacing = Spacing::Equal;
  bool points = false;

  bool operator==(const Tessellation&) const = default;
};

// Consecutive draws need no record pointer each: their records are contiguous, and the upper 16
// bits of the instance index hold the draw's offset from the record pointed to (probe/record.h), if
// a tag of the pointer says so. The application reads the lower 16 bits.
struct PackedDrawIndices {
  // The Location that passes the index from the vertex to the fragment stage. Empty for the vertex
  // stage of a pipeline in which no other stage counts.
  std::optional<uint32_t> location;

  bool operator==(const PackedDrawIndices&) const = default;
};

// Memory in which the lanes of virtual subgroups meet (instrument/memory_counting.h): sets of
// entries, one set for each workgroup that runs. It is zero whenever no shader runs. Its address
// follows the record pointer (record_writer.h): an address in the code would differ in each
// process, and no driver would find the code in its cache.
struct LaneSets {
  static constexpr uint32_t kHeaderBytes = 16;  // words: whether the set is taken, its entries
  static constexpr uint32_t kEntryBytes = 16;   // words: two of the key, a number, a list

  bool exist = false;
  uint32_t sets_log2 = 0;
  uint32_t entries_log2 = 0;

  constexpr uint32_t set_bytes() const { return kHeaderBytes + (kEntryBytes << entries_log2); }
  constexpr uint64_t bytes() const { return uint64_t{set_bytes()} << sets_log2; }
  bool operator==(const LaneSets&) const = default;
};

// Kinds of sites that are counted (analysis/sites.h).
struct SiteOptions {
  bool loops = false;   // the runs of loops
  bool values = false;  // results and operands that are seldom wanted
  bool clocks = false;  // cycles of the shader, its loops and its calls: needs shaderSubgroupClock
  uint32_t clocks_log2 = 6;  // one of 2^n subgroups is timed
  bool memory = false;       // accesses to buffers and workgroup memory
  // The device has shaderMaximalReconvergence. Without it nothing keeps the lanes of an access
  // together while they look for the units that they touch.
  bool maximal_reconvergence = false;
  // In compute, so many invocations of consecutive local indices are a subgroup for accesses to
  // memory: a power of two. 0: the device's subgroups.
  uint32_t memory_lanes = 0;
  LaneSets lane_sets = {};       // for those
  uint32_t workgroup_bytes = 0;  // that a workgroup may have, with those that the code adds

  bool any() const { return loops || values || clocks || memory; }
  bool operator==(const SiteOptions&) const = default;
};

// Counting by region of the framebuffer (region_counting.h).
struct RegionOptions {
  // The capability that lets a fragment shader read Layer (Geometry, ShaderLayer ...). Without one,
  // all fragments count for layer 0.
  std::optional<spv::Capability> layer_capability;
  bool multiview = false;       // the device has views
  bool subgroup_clock = false;  // ... and shaderSubgroupClock
  // The device has PrimitiveId in fragment shaders, and 64-bit atomics. The region pointer then
  // points to a probe::RegionHeader.
  bool primitives = false;
  bool primitive_ids =
      true;  // the preceding stage writes PrimitiveId, or there is no geometry or mesh stage
  bool only_invocations = false;  // count nothing but invocations

  bool operator==(const RegionOptions&) const = default;
};

// Equal options turn equal modules into equal words, so the options are a cache key.
struct BlockCountOptions {
  spv::ExecutionModel stage = spv::ExecutionModel::GLCompute;
  std::string entry_point = "main";
  AddressSource address;
  Placement placement = Placement::Minimal;
  Counting counting = Counting::Private;
  bool int64 = false;                // the device has shaderInt64
  bool int64_atomics = false;        // ... and shaderBufferInt64Atomics
  bool subgroup_operations = false;  // this stage of the device has basic, vote, ballot, arithmetic
  bool wide_subgroups = false;       // ... of 64-bit numbers, too (shaderSubgroupExtendedTypes)
  uint32_t max_shards_log2 = 0;      // 0: code for records of one shard only
  bool sm_builtins = false;          // the device has shaderSMBuiltins (SPV_NV_shader_sm_builtins)
  // Also count the subgroups that execute each block. Ignored with Counting::Lane, and in stages
  // whose subgroups contain lanes without an invocation (StageTraits::lanes_are_invocations).
  bool count_subgroups = false;
  // Also count how often each branch goes to each of its targets (plan/counter_placement.h).
  bool count_branches = false;
  SiteOptions sites;
  // Also count the stage's outputs: samples covered by fragment invocations that are not discarded;
  // primitives of geometry shaders (for each stream) and of mesh shaders; in a tessellation control
  // shader, if `tessellation` is given, the primitives that the tessellator generates.
  bool count_outputs = false;
  bool trip_counts = true;  // recover trip counts from induction variables (trip_counts.h)
  bool single_exit = true;  // write the counts in one place if the entry point has several returns
  std::optional<Tessellation> tessellation;
  uint32_t max_tessellation_level = 64;  // maxTessellationGenerationLevel
  // The pipeline uses alpha to coverage, which rules out early fragment tests.
  bool alpha_to_coverage = false;
  // Also, or without count_blocks only, count by region (region_counting.h). The region pointer
  // then follows the record pointer.
  std::optional<RegionOptions> regions;
  bool count_blocks = true;
  DriverWorkarounds driver;
  std::optional<PackedDrawIndices> packed_draw_indices;  // vertex and fragment stages only

  bool operator==(const BlockCountOptions&) const = default;
};

}  // namespace tally::spirv
