// Runs shaders on a device, original or instrumented, without any layer. This code manages the
// record, its address and the counts itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spirv/instrument/block_count.h"
#include "support/pipeline.h"
#include "support/queries.h"
#include "support/render_target.h"

namespace tally::test {

// The code of a shader that a header holds.
template <size_t N>
std::vector<uint32_t> code_of(const uint32_t (&words)[N]) {
  return {words, words + N};
}

// The device capabilities that instrumented code may use.
struct DeviceAbilities {
  bool int64 = false;
  bool int64_atomics = false;
  bool sm_builtins = false;
  bool wide_subgroups = false;
  VkShaderStageFlags subgroup_stages = 0;  // stages with vote, ballot and arithmetic operations
  uint32_t max_push_bytes = 128;
  bool hangs_on_discards = false;        // spirv::DriverWorkarounds
  bool prefers_small_code = false;       // spirv::DriverWorkarounds
  bool masks_branches = false;           // spirv::DriverWorkarounds
  uint32_t max_nested_conditionals = 0;  // spirv::DriverWorkarounds
};
DeviceAbilities abilities_of(const Context& context);

// How draws find their records.
enum class Numbers {
  None,    // all draws count into one record
  Used,    // each draw counts into its own record, selected by the high half of its instance index
  Unused,  // supported by the code, but the record pointer selects a single record
};

// One counting method.
struct Way {
  spirv::Placement placement = spirv::Placement::Minimal;
  spirv::Counting counting = spirv::Counting::Private;
  uint32_t shards_log2 = 0;
  bool uniform_buffer = false;  // record pointer in set 1, binding 0; otherwise in a push constant
  bool narrow = false;          // no 64-bit integers
  bool no_subgroups = false;    // no subgroup operations
  bool sm_builtins = false;     // the shard follows from the streaming multiprocessor
  bool count_subgroups = false;
  bool count_branches = false;
  spirv::SiteOptions sites = {};
  bool hangs_on_discards = false;   // instruments as for a driver that hangs
  bool small_code = false;          // ... that prefers small code, and keeps draws apart
  bool in_workgroups = false;       // ... and whose compute shaders add up counts in workgroups
  Numbers numbers = Numbers::None;  // for vertex and fragment shaders
};
std::string to_string(const Way& way);
// One method of each kind that the device supports; the first is the simplest.
std::vector<Way> all_ways(const DeviceAbilities& abilities, VkShaderStageFlagBits stage);

struct ShaderStage {
  VkShaderStageFlagBits stage = VK_SHADER_STAGE_COMPUTE_BIT;
  std::vector<uint32_t> code;
  std::vector<uint32_t> specialization = {};  // pairs of constant id and value
};

struct Draw {
  uint32_t vertices = 3, instances = 1, first_instance = 0;
};

// A program to run: a dispatch, or draws into a render target of its own.
struct Program {
  std::vector<ShaderStage> stages;
  std::vector<uint32_t> values;     // in the storage buffer of set 0, binding 0
  std::vector<uint32_t> push = {};  // words; the number must be even
  uint32_t groups[3] = {1, 1, 1};   // of a dispatch
  std::vector<Draw> draws = {{}};
  RenderTargetInfo target = {};
  GraphicsPipelineInfo pipeline = {};  // stages, layout and target formats are filled in
};

struct StageCounts {
  VkShaderStageFlagBits stage;
  spirv::BlockCounts blocks;
  std::vector<std::string> findings;  // of CounterPlan::verify
};
struct Outcome {
  std::vector<uint32_t> values;
  std::vector<uint32_t> picture;
  std::vector<StageCounts> counts;                       // of all draws; empty if not instrumented
  std::vector<std::vector<StageCounts>> counts_by_draw;  // with Numbers::Used
  // Statistics of all draws, if the driver supports them.
  std::optional<PipelineStatistics> statistics;
  uint64_t samples_passed = 0;  // of all draws, from a precise occlusion query
};
// Throws std::runtime_error if the pass refuses a stage or produces an invalid module.
Outcome run_program(Context& context, const Program& program,
                    const std::optional<Way>& way = std::nullopt);

}  // namespace tally::test
