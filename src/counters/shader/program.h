// What is known of an instrumented pipeline when its counts are read. Plain data, immutable, shared
// by the pipeline and by every record that it wrote, so it outlives the pipeline.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <memory>
#include <vector>

#include "probe/record.h"
#include "spirv/analysis/cost.h"
#include "spirv/analysis/feedback_layout.h"
#include "spirv/instrument/plan/counter_plan.h"

namespace tally::counters {

// One instrumented shader: how to get from its counters to its blocks. Depends on the module and
// the pass's options alone.
struct StageInfo {
  spirv::CounterPlan plan;
  std::vector<spirv::InstructionMix> blocks;  // static cost, by public block number
  uint32_t entry_block = 0;                   // every invocation executes it once
  spirv::FeedbackLayout feedback;
};

// Where a stage finds the address of its record. Pipelines made from libraries need a second slot:
// a library cannot know how many counters the stages of the others have, so the fragment stage's
// record has an address of its own.
enum class AddressSlot : uint8_t { Main, Fragment };
inline constexpr size_t kAddressSlots = 2;

struct StageProgram {
  VkShaderStageFlagBits stage{};
  AddressSlot slot = AddressSlot::Main;
  uint32_t first_counter = 0;  // within each shard of the slot's record
  std::shared_ptr<const StageInfo> info;
  // A metric block of VK_ARM_shader_instrumentation: the application asked for it.
  bool reported = true;
  uint32_t rasterized_stream = 0;  // of a geometry shader
};

struct Program {
  std::vector<StageProgram> stages;             // ascending stage bits
  std::array<uint32_t, kAddressSlots> rooms{};  // of all stages in a shard of each slot's record
  // What is not counted of the pipeline: stages that run uninstrumented; and those that put out
  // samples or primitives which nobody counts.
  VkShaderStageFlags uncounted = 0;
  VkShaderStageFlags uncounted_outputs = 0;
  // Its draws may be told apart by their instance index (probe::kNumberedDraws).
  bool numbers_draws = false;

  // Adds a stage after those of its slot.
  void add(VkShaderStageFlagBits stage, AddressSlot slot, std::shared_ptr<const StageInfo> info) {
    uint32_t& room = rooms[static_cast<size_t>(slot)];
    stages.push_back({stage, slot, room, info});
    room += probe::stage_room(info->plan.counter_count);
  }

  // Once all stages are there.
  probe::StageCounters counters(const StageProgram& stage) const {
    return {stage.first_counter, probe::shard_stride(rooms[static_cast<size_t>(stage.slot)])};
  }
};

// Bytes of one slot's record, such that the next slot's may follow.
inline uint64_t slot_bytes(const Program& program, AddressSlot slot, uint32_t shards_log2) {
  return probe::record_bytes(program.rooms[static_cast<size_t>(slot)], shards_log2);
}

}  // namespace tally::counters
