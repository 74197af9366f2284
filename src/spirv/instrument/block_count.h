// The block-count pass: makes a module count how often its blocks are executed, exactly.
//
// Executions are those of the module as it was given, by non-helper invocations. What the shader
// computes is unchanged. The counts go to a record (probe/record.h) whose address the code reads at
// run time, so that the words depend on the module and the options alone, and drivers' caches hit.
//
// One invocation's count of one block is exact up to 2^32-1 in Counting::Private.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <spirv/unified1/spirv.hpp11>
#include <string>
#include <vector>

#include "base/status.h"
#include "spirv/instrument/driver_workarounds.h"
#include "spirv/instrument/plan/counter_plan.h"
#include "spirv/instrument/region_count.h"

namespace tally::spirv {

// Where the code finds the record's address word.
struct AddressSource {
  enum class Kind { PushConstant, UniformBuffer };
  Kind kind = Kind::PushConstant;
  uint32_t push_constant_offset = 0;  // a multiple of 8, beyond the application's ranges
  uint32_t set = 0, binding = 0;      // a uniform buffer that begins with the word
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
};

// Draws whose records stand in a row need no address each: the high half of the instance index says
// how far from the address word's record that of the draw is (probe/record.h), where the word says
// so. The application reads the low half.
struct PackedDrawIndices {
  // Where the vertex stage puts the number out and the fragment stage reads it; the vertex stage of
  // a pipeline in which no other counts: nowhere.
  std::optional<uint32_t> location;
};

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
  // Also, or only, count by region (region_count.h). The region's address word then stands 8 bytes
  // behind the record's.
  std::optional<RegionOptions> regions;
  bool count_blocks = true;
  DriverWorkarounds driver;
  std::optional<PackedDrawIndices> packed_draw_indices;  // vertex and fragment stage
  bool identity = false;                                 // parse and write back, change nothing
  // The module's version may be raised up to this word (0x00010300 is 1.3), where it gains
  // something.
  uint32_t spirv_version_limit = 0x00010300;
};

// SpecIds of the 32-bit constants that say where the counters stand (probe::StageCounters). By
// default the stage is alone in its record.
struct RecordSpecIds {
  uint32_t first_counter = 0;
  uint32_t stride = 0;
};

struct BlockCountResult {
  std::vector<uint32_t> words;
  CounterPlan plan;
  std::optional<RecordSpecIds> record_spec_ids;  // where there are counters
  // For the user: which functions are left as they are, and why; empty if there are none. Their
  // blocks have no counts (MappedFunction::is_countable).
  std::string left_out;
};

// An error says, for the user, why the module cannot be instrumented; it then runs as it is.
Result<BlockCountResult> add_block_counts(std::span<const uint32_t> words,
                                          const BlockCountOptions& options);

}  // namespace tally::spirv
