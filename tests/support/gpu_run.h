// Runs shaders on a device, as they are or instrumented, without any layer: the record, its address
// and the counts are handled here by hand.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spirv/instrument/block_count.h"
#include "support/pipeline.h"
#include "support/queries.h"
#include "support/render_target.h"

namespace tally::test {

// What a device lets instrumented code do.
struct DeviceAbilities {
  bool int64 = false;
  bool int64_atomics = false;
  VkShaderStageFlags subgroup_stages = 0;  // with vote, ballot and arithmetic
  uint32_t max_push_bytes = 128;
  bool hangs_on_discards = false;         // spirv::DriverWorkarounds
  uint32_t most_nested_conditionals = 0;  // spirv::DriverWorkarounds
};
DeviceAbilities abilities_of(const Context& context);

// How draws find their records.
enum class Numbers {
  None,    // all count into one
  Used,    // each counts into its own, which the high half of its instance index says
  Unused,  // the code could, but the address word says that all count into one
};

// One way to count.
struct Way {
  spirv::Placement placement = spirv::Placement::Minimal;
  spirv::Counting counting = spirv::Counting::Private;
  uint32_t shards_log2 = 0;
  bool uniform_buffer = false;  // the address word is in set 1, binding 0; else a push constant
  bool narrow = false;          // no 64-bit integers
  bool no_subgroups = false;    // no subgroup operations
  bool count_subgroups = false;
  bool hangs_on_discards = false;   // counted as for a driver that does
  Numbers numbers = Numbers::None;  // of vertex and fragment shaders
};
std::string to_string(const Way& way);
// One of each kind that the device can do; the first is the plainest.
std::vector<Way> all_ways(const DeviceAbilities& abilities, VkShaderStageFlagBits stage);

struct ShaderStage {
  VkShaderStageFlagBits stage = VK_SHADER_STAGE_COMPUTE_BIT;
  std::vector<uint32_t> code;
  std::vector<uint32_t> specialization = {};  // pairs of constant id and value
};

struct Draw {
  uint32_t vertices = 3, instances = 1, first_instance = 0;
};

// What is run: a dispatch, or draws into a target of their own.
struct Program {
  std::vector<ShaderStage> stages;
  std::vector<uint32_t> values;     // in the storage buffer of set 0, binding 0
  std::vector<uint32_t> push = {};  // words; an even number
  uint32_t groups[3] = {1, 1, 1};   // of a dispatch
  std::vector<Draw> draws = {{}};
  RenderTargetInfo target = {};
  GraphicsPipelineInfo pipeline = {};  // stages, layout and target's formats are filled in
};

struct StageCounts {
  VkShaderStageFlagBits stage;
  spirv::BlockCounts blocks;
  std::vector<std::string> findings;  // of CounterPlan::verify
};
struct Outcome {
  std::vector<uint32_t> values;
  std::vector<uint32_t> picture;
  std::vector<StageCounts> counts;                       // of all draws; empty without a way
  std::vector<std::vector<StageCounts>> counts_by_draw;  // with Numbers::Used
  // Of all draws, where the driver has them.
  std::optional<PipelineStatistics> statistics;
  uint64_t samples_passed = 0;  // of all draws, by a precise occlusion query
};
// Throws std::runtime_error where the pass refuses a stage, or what it made is not valid.
Outcome run_program(Context& context, const Program& program,
                    const std::optional<Way>& way = std::nullopt);

}  // namespace tally::test
