// Describes how to read the records of an instrumented pipeline. Immutable. The pipeline and its
// records share it, so it outlives the pipeline.
#pragma once

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "probe/record.h"
#include "spirv/analysis/cost.h"
#include "spirv/analysis/feedback_layout.h"
#include "spirv/instrument/plan/counter_plan.h"

namespace tally::counters {

// One instrumented shader: how its counters map to its blocks. Depends on the module and the
// options alone, but for the costs, which may depend on the specialization.
struct StageInfo {
  spirv::CounterPlan plan;
  std::vector<spirv::InstructionMix> blocks;  // static cost, by public block number
  bool costs_depend_on_specialization = false;
  uint32_t entry_block = 0;  // executed once by every invocation
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

struct Program {
  std::vector<StageProgram> stages;                  // ascending sub-indices and stage bits
  std::array<uint32_t, kAddressSlots> capacities{};  // counters in a shard of each slot's record
  // Stages that run uninstrumented, and stages whose output samples or primitives are not counted.
  VkShaderStageFlags uncounted = 0;
  VkShaderStageFlags uncounted_outputs = 0;
  // Samples that the fragment shader counts: none, or those before or after depth and stencil
  // tests.
  enum class Samples : uint8_t { Uncounted, BeforeTests, AfterTests };
  Samples samples = Samples::Uncounted;
  // True if shaders read the packed draw index (probe::kNumberedDraws).
  bool uses_packed_draw_index = false;
  // Its counters are where those of no other program are, but of those that are linked from the
  // same libraries.
  bool own_ranges = false;
  // The objects that keep them there (CounterRanges).
  std::vector<std::shared_ptr<const void>> ranges;
  // The most shards that records may have.
  uint32_t max_shards_log2 = probe::kMaxShardsLog2;

  // Adds a stage after the others of its slot.
  void add(VkShaderStageFlagBits stage, AddressSlot slot, std::shared_ptr<const StageInfo> info) {
    uint32_t& capacity = capacities[static_cast<size_t>(slot)];
    const uint32_t first_counter = capacity;
    capacity += probe::stage_capacity(info->plan.counter_count);
    stages.push_back({stage, slot, first_counter, std::move(info)});
  }

  // Adds a stage whose counters begin there. Others may share the slot if their ranges differ.
  void add_at(uint32_t first_counter, VkShaderStageFlagBits stage, AddressSlot slot,
              std::shared_ptr<const StageInfo> info) {
    uint32_t& capacity = capacities[static_cast<size_t>(slot)];
    capacity = std::max(capacity, first_counter + probe::stage_capacity(info->plan.counter_count));
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

}  // namespace tally::counters
