// Selects what the shaders of a pipeline variant count.
#pragma once

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "probe/record.h"
#include "spirv/analysis/cost.h"
#include "spirv/analysis/interface.h"
#include "spirv/plan/counter_plan.h"

namespace tally::counters {

// The key of a variant among those of an object.
struct Variant {
  bool blocks = false;
  bool regions = false;
  // With blocks alone: the shaders do not read the packed draw index. Only pipelines that may read
  // it otherwise have this variant.
  bool no_draw_index = false;
  bool only_invocations = false;   // with regions alone: nothing else is counted by region
  bool alpha_to_coverage = false;  // right for draws with it
  // With blocks alone: the plain pipeline, whose draws the driver counts.
  bool by_driver = false;

  // Variant::Plain counts nothing.
  static const Variant Plain, Blocks, Regions, Both, Unnumbered, Invocations, ByDriver;

  constexpr bool operator==(const Variant&) const = default;
  // The variant for objects that lack the one that counts a subset.
  constexpr Variant full() const {
    return {.blocks = blocks, .regions = regions, .alpha_to_coverage = alpha_to_coverage};
  }
  constexpr Variant with_alpha_to_coverage(bool with) const {
    Variant changed = *this;
    changed.alpha_to_coverage = with;
    return changed;
  }
};
inline constexpr Variant Variant::Plain{};
inline constexpr Variant Variant::Blocks{.blocks = true};
inline constexpr Variant Variant::Regions{.regions = true};
inline constexpr Variant Variant::Both{.blocks = true, .regions = true};
inline constexpr Variant Variant::Unnumbered{.blocks = true, .no_draw_index = true};
inline constexpr Variant Variant::Invocations{.regions = true, .only_invocations = true};
inline constexpr Variant Variant::ByDriver{.blocks = true, .by_driver = true};

// The full variants that count.
inline constexpr std::array kFullVariants = {Variant::Blocks, Variant::Regions, Variant::Both};

// The best available variant of an object that has some of them. `has` may make them.
template <typename Has>
constexpr Variant best_variant(Variant wanted, Has has) {
  if (wanted == Variant::Plain.with_alpha_to_coverage(wanted.alpha_to_coverage)) {
    return Variant::Plain;
  }
  if (has(wanted)) return wanted;
  for (Variant one : {Variant::Blocks, Variant::Regions}) {
    if ((one.blocks && !wanted.blocks) || (one.regions && !wanted.regions)) continue;
    one.alpha_to_coverage = wanted.alpha_to_coverage;
    if (one != wanted && has(one)) return one;
  }
  return Variant::Plain;
}

// The things that an emulated query counts. A query has rows, each a 64-bit number in GPU memory
// (queries/pool.h). A row is a sum of sources that the layer can count. The results of the API are
// computed from the rows.

// Counted by the host when it records commands. For indirect commands the GPU adds what depends on
// their arguments.
enum class CommandMetric : uint8_t {
  Draws,              // draw commands, mesh draws included
  IndirectDraws,      // those that read their arguments from a buffer
  Dispatches,         // direct and indirect
  Traces,             // vkCmdTraceRays*
  Vertices,           // vertices assembled
  Primitives,         // primitives assembled
  Patches,            // patches assembled
  LastPrimitives,     // primitives assembled, if no later stage replaces them
  ClippedPrimitives,  // the same, if rasterization is enabled
  Workgroups,         // of direct and indirect dispatches
  MeshWorkgroups,     // of direct and indirect mesh draws
  PipelineBinds,
  DescriptorBinds,  // commands that bind or push descriptors
  VertexBufferBinds,
  IndexBufferBinds,
  ConstantUpdates,  // of push constants
  Barriers,         // pipeline barriers, and waits for events
  RenderPasses,     // render pass instances, dynamic ones included
  Transfers,        // copies, blits, resolves, fills, updates, and clears outside of render passes
  Clears,           // of attachments inside render passes
};
inline constexpr size_t kCommandMetrics = static_cast<size_t>(CommandMetric::Clears) + 1;

// Stages in which output primitives are counted. The tessellation control shader counts those of
// the tessellator, if no geometry shader follows.
inline constexpr VkShaderStageFlags kPrimitiveMakers = VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT |
                                                       VK_SHADER_STAGE_GEOMETRY_BIT |
                                                       VK_SHADER_STAGE_MESH_BIT_EXT;

struct QuerySource {
  enum class Kind : uint8_t {
    Invocations,   // of shaders of `stages`
    Subgroups,     // that executed a shader of `stages`, if the stage has subgroup operations
    Cost,          // instructions of class `cost` that shaders of `stages` executed
    Samples,       // covered by fragment invocations that were not discarded
    Primitives,    // output of geometry shaders, mesh shaders or the tessellator
    Command,       // `command`
    Time,          // ticks of the device's clock from the query's begin to its end
    Marker,        // VK_INTEL_performance_query: the last marker before the end, or 0
    StreamMarker,  // the last stream marker before the end, or 0
    HasMarkers,    // bit 0: there was a marker, bit 1: a stream marker
  };
  Kind kind = Kind::Command;
  VkShaderStageFlags stages = VK_SHADER_STAGE_ALL;
  spirv::CostClass cost = spirv::CostClass::Instruction;
  CommandMetric command = CommandMetric::Draws;
  // For primitives of geometry shaders: which vertex streams count.
  enum class Streams : uint8_t { All, Rasterized, Queried, One };
  Streams streams = Streams::All;
  uint8_t stream = 0;  // for Streams::One

  bool counts_in_shaders() const { return kind < Kind::Command; }
};

// A row is the sum of its sources.
using QueryRow = std::vector<QuerySource>;

// How a result of the API is computed: row * scale, or row * scale / divisor (0 if the divisor is
// 0). Integers without scale and divisor are exact.
struct QueryResult {
  uint32_t row = 0;
  std::optional<uint32_t> divisor;
  float scale = 1.0f;
  VkPerformanceCounterStorageKHR storage = VK_PERFORMANCE_COUNTER_STORAGE_UINT64_KHR;
};

// Positions in records for the stages of ray-tracing pipeline libraries, and of pipelines that may
// be in execution sets. They are compiled before it is known which others they will share a record
// with, so those that exist at the same time have disjoint ranges of counters. Thread-safe.

class CounterRanges {
 public:
  struct Range {
    uint32_t first = 0;
    uint32_t size = 0;
  };

  CounterRanges() : state_(std::make_shared<State>()) {}

  // The lowest range of `size` counters that is free. It is free again when the last copy of the
  // pointer is gone, which may be after this object.
  std::shared_ptr<const Range> take(uint32_t size);

 private:
  struct State {
    std::mutex mutex;
    std::map<uint32_t, uint32_t> taken;  // begin -> end
  };
  std::shared_ptr<State> state_;
};

// Describes how to read the records of an instrumented pipeline. Immutable. The pipeline and its
// records share it, so it outlives the pipeline.

// One instrumented shader: how its counters map to its blocks. Depends on the module,
// its specialization and the options.
struct StageInfo {
  spirv::CounterPlan plan;
  std::vector<spirv::InstructionMix> blocks;  // static cost, by public block number
  uint32_t entry_block = 0;                   // executed once by every invocation
  spirv::FeedbackLayout feedback;
  bool tests_early = false;  // of a fragment shader: its invocations come after the tests
};

// Where a stage finds its record pointer. Each slot has a record of its own. Pipelines that are
// linked from libraries need a second slot for the fragment stage: when a library is created, the
// number of counters of the other stages is not known. For shader objects nothing is known of any
// other stage, so each stage of a draw has its own slot (slot_of_shader).
enum class AddressSlot : uint8_t { Main, Fragment, Control, Evaluation, Geometry };
inline constexpr size_t kPipelineSlots = 2;
inline constexpr size_t kAddressSlots = 5;

// The slot of a shader object. Task shaders never run with tessellation.
constexpr AddressSlot slot_of_shader(VkShaderStageFlagBits stage) {
  switch (stage) {
    case VK_SHADER_STAGE_FRAGMENT_BIT:
      return AddressSlot::Fragment;
    case VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT:
    case VK_SHADER_STAGE_TASK_BIT_EXT:
      return AddressSlot::Control;
    case VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT:
      return AddressSlot::Evaluation;
    case VK_SHADER_STAGE_GEOMETRY_BIT:
      return AddressSlot::Geometry;
    default:
      return AddressSlot::Main;
  }
}

struct StageProgram {
  VkShaderStageFlagBits stage{};
  AddressSlot slot = AddressSlot::Main;
  uint32_t first_counter = 0;  // within each shard of the slot's record
  std::shared_ptr<const StageInfo> info;
  // Whether VK_ARM_shader_instrumentation reports it.
  bool reported = true;
  uint32_t rasterized_stream = 0;  // of a geometry shader
  // The index of a ray-tracing stage in its pipeline, which may have several of a kind. Stages of
  // libraries follow the pipeline's own. 0 for other stages.
  uint32_t sub_index = 0;
};

// Samples that the fragment shader counts: none, or those before or after depth and stencil tests.
enum class CountedSamples : uint8_t { Uncounted, BeforeTests, AfterTests };

// The results of a pipeline statistics query: invocations of vertex and of fragment shaders.
inline constexpr uint32_t kDriverCounters = 2;

// The mean number of invocations in the latest draws of a pipeline whose values were read.
// Thread-safe; two threads that note draws at once may lose one.
class DrawSize {
 public:
  static constexpr uint64_t kUnknown = ~uint64_t{0};

  uint64_t mean() const { return mean_.load(std::memory_order_relaxed); }
  void note(uint64_t invocations) {
    const uint64_t old = mean();
    const uint64_t mean = old == kUnknown ? invocations : old - old / 8 + invocations / 8;
    mean_.store(mean, std::memory_order_relaxed);
  }

 private:
  std::atomic<uint64_t> mean_ = kUnknown;
};

struct Program {
  std::vector<StageProgram> stages;                  // ascending sub-indices and stage bits
  std::array<uint32_t, kAddressSlots> capacities{};  // counters in a shard of each slot's record
  // Stages that run uninstrumented, and stages whose output samples or primitives are not counted.
  VkShaderStageFlags uncounted = 0;
  VkShaderStageFlags uncounted_outputs = 0;
  CountedSamples samples = CountedSamples::Uncounted;
  // True if shaders read the packed draw index (probe::kNumberedDraws).
  bool uses_packed_draw_index = false;
  // Its counters are where those of no other program are, but of those that are linked from the
  // same libraries.
  bool own_ranges = false;
  // The objects that keep them there (CounterRanges).
  std::vector<std::shared_ptr<const void>> ranges;
  // True if its counters are not all sums, so that the GPU cannot gather them.
  bool has_maxima() const {
    return std::ranges::any_of(
        stages, [](const StageProgram& stage) { return stage.info->plan.has_maxima; });
  }
  std::shared_ptr<DrawSize> draw_size;  // of the pipeline; null where nobody asks for it
  // The most shards that records may have.
  uint32_t max_shards_log2 = probe::kMaxShardsLog2;

  // Adds a stage after the others of its slot.
  void add(VkShaderStageFlagBits stage, AddressSlot slot, std::shared_ptr<const StageInfo> info) {
    uint32_t& capacity = capacities[static_cast<size_t>(slot)];
    const uint32_t first_counter = capacity;
    capacity += probe::stage_capacity(info->plan.record_counters());
    stages.push_back({stage, slot, first_counter, std::move(info)});
  }

  // Adds a stage whose counters begin there. Others may share the slot if their ranges differ.
  void add_at(uint32_t first_counter, VkShaderStageFlagBits stage, AddressSlot slot,
              std::shared_ptr<const StageInfo> info) {
    uint32_t& capacity = capacities[static_cast<size_t>(slot)];
    capacity =
        std::max(capacity, first_counter + probe::stage_capacity(info->plan.record_counters()));
    stages.push_back({stage, slot, first_counter, std::move(info)});
  }

  // Leaves the first counters of each slot's record free.
  void move_behind(uint32_t counters) {
    for (StageProgram& stage : stages) stage.first_counter += counters;
    for (uint32_t& capacity : capacities) {
      if (capacity != 0) capacity += counters;
    }
  }

  // Call when all stages have been added.
  probe::StageCounters counters(const StageProgram& stage) const {
    return {stage.first_counter, probe::shard_stride(capacities[static_cast<size_t>(stage.slot)])};
  }
};

// Sets what the program does not count. `stages`: all that run.
void note_uncounted(Program& program, VkShaderStageFlags stages);

// The size of one slot's record, padded so that the next slot's can follow.
inline uint64_t slot_bytes(const Program& program, AddressSlot slot, uint32_t shards_log2) {
  return probe::record_bytes(program.capacities[static_cast<size_t>(slot)], shards_log2);
}

// The records of all slots follow each other. Where a slot's record begins:
inline uint64_t slot_begin(const Program& program, AddressSlot slot, uint32_t shards_log2) {
  uint64_t begin = 0;
  for (size_t i = 0; i < static_cast<size_t>(slot); ++i) {
    begin += slot_bytes(program, static_cast<AddressSlot>(i), shards_log2);
  }
  return begin;
}
inline uint64_t all_slots_bytes(const Program& program, uint32_t shards_log2) {
  return slot_begin(program, static_cast<AddressSlot>(kAddressSlots), shards_log2);
}

// The tagged record pointer of each slot; all null: the shaders count nothing.
using SlotPointers = std::array<uint64_t, kAddressSlots>;
inline SlotPointers slot_pointers(const Program& program, uint64_t address, uint32_t shards_log2) {
  SlotPointers pointers{};
  for (size_t i = 0; i < kAddressSlots; ++i) {
    pointers[i] = probe::record_pointer(address, shards_log2);
    address += slot_bytes(program, static_cast<AddressSlot>(i), shards_log2);
  }
  return pointers;
}

// The metrics of VK_ARM_shader_instrumentation: the counters of scope "block", in the order of the
// catalogue, then those of scope "branch", then those of scope "site".

struct Metric {
  enum class Kind {
    Executions,  // of the block, by non-helper invocations
    Subgroups,   // subgroups that executed the block
    Lanes,       // of those subgroups
    Branch,      // times the block's branch went to its target number `target`
    Site,        // the number `slot` of a site
    Cost,        // executions times the block's static cost in `cost`
  };
  const catalogue::Counter* counter = nullptr;
  Kind kind = Kind::Executions;
  spirv::CostClass cost = spirv::CostClass::Instruction;
  uint32_t target = 0;
  spirv::SiteSlot slot{};
};

// Which metrics there are, besides executions, depends on settings.
struct MetricChoice {
  bool subgroups = false;  // they and branches take additional counters
  bool branches = false;
  bool loops = false;
  bool values = false;
  bool clocks = false;
  bool memory = false;
  bool static_costs = true;  // the metrics of Kind::Cost
};
std::vector<Metric> block_metrics(const MetricChoice& choice);

}  // namespace tally::counters
