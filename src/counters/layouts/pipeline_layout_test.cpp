#include <gtest/gtest.h>

#include "counters/layouts/pipeline_layout.h"

#include "counters/shaders/instrumenter.h"

namespace tally::counters {
namespace {

LayoutRules rules(RecordAddress address = RecordAddress::Auto, uint32_t slots = 1,
                  bool regions = false) {
  return {.record_address = address,
          .push_constant_size = 128,
          .address_slots = slots,
          .region_slot = regions,
          .descriptor_sets = 8,
          .stages = VK_SHADER_STAGE_ALL_GRAPHICS | VK_SHADER_STAGE_COMPUTE_BIT};
}

// A layout of `sets` sets with these ranges, as the application asks for it.
struct Asked {
  Asked(std::vector<VkPushConstantRange> push_ranges, uint32_t sets = 0)
      : ranges(std::move(push_ranges)), layouts(sets) {
    info = {VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    info.setLayoutCount = sets;
    info.pSetLayouts = layouts.data();
    info.pushConstantRangeCount = static_cast<uint32_t>(ranges.size());
    info.pPushConstantRanges = ranges.data();
  }
  std::vector<VkPushConstantRange> ranges;
  std::vector<VkDescriptorSetLayout> layouts;
  VkPipelineLayoutCreateInfo info;
};

TEST(PipelineLayout, the_address_stands_in_the_last_bytes_that_nobody_uses) {
  EXPECT_EQ(PipelineLayout(Asked({}).info, rules()).path(), AddressPath::PushConstant);
  EXPECT_EQ(PipelineLayout(Asked({}).info, rules()).slot_offset(), 120u);
  EXPECT_EQ(PipelineLayout(Asked({}).info, rules(RecordAddress::Auto, 2)).slot_offset(), 112u);
  const Asked almost({{VK_SHADER_STAGE_COMPUTE_BIT, 0, 120}});
  EXPECT_EQ(PipelineLayout(almost.info, rules()).path(), AddressPath::PushConstant);
  EXPECT_EQ(PipelineLayout(almost.info, rules(RecordAddress::Auto, 2)).path(),
            AddressPath::Descriptor);
}

TEST(PipelineLayout, counters_by_region_have_their_address_behind_the_records) {
  const LayoutRules with = rules(RecordAddress::Auto, 2, true);
  EXPECT_EQ(PipelineLayout(Asked({}).info, with).slot_offset(), 104u);
  EXPECT_EQ(with.slots(), 3u);
}

TEST(PipelineLayout, a_push_guard_is_behind_all_addresses) {
  LayoutRules with = rules(RecordAddress::Auto, 2, true);
  with.guard = true;
  with.push_data_size = 256;
  EXPECT_EQ(with.guard_offset(), 120u);
  EXPECT_EQ(with.slot_offset(), 96u);
  EXPECT_EQ(with.with_heaps().slot_offset(), 256u - 24);
  const auto covers = [&](uint32_t bytes) {
    const Asked asked({{VK_SHADER_STAGE_COMPUTE_BIT, 0, bytes}});
    return PipelineLayout(asked.info, with).covers_guard();
  };
  EXPECT_FALSE(covers(120));
  EXPECT_TRUE(covers(124));
  with.guard = false;
  EXPECT_FALSE(covers(128));
}

// The slots of tessellation, geometry and task shaders are left out where there is no room.
TEST(PipelineLayout, shader_objects_have_an_address_for_each_stage_before_the_others) {
  LayoutRules with = rules(RecordAddress::Auto, 2, true);
  with.shader_slots = true;
  const auto offset = [&](uint32_t bytes, VkShaderStageFlagBits stage) {
    const Asked asked({{VK_SHADER_STAGE_ALL_GRAPHICS, 0, bytes}});
    const auto addressing = PipelineLayout(asked.info, with).shader_addressing(stage);
    return addressing ? addressing->main.push_constant_offset : 0;
  };
  for (const uint32_t bytes : {4u, 80u}) {
    EXPECT_EQ(offset(bytes, VK_SHADER_STAGE_GEOMETRY_BIT), 80u);
    EXPECT_EQ(offset(bytes, VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT), 88u);
    EXPECT_EQ(offset(bytes, VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT), 96u);
    EXPECT_EQ(offset(bytes, VK_SHADER_STAGE_TASK_BIT_EXT), 96u);
  }
  for (const uint32_t bytes : {4u, 80u, 84u, 104u}) {
    EXPECT_EQ(offset(bytes, VK_SHADER_STAGE_VERTEX_BIT), 104u);
    EXPECT_EQ(offset(bytes, VK_SHADER_STAGE_MESH_BIT_EXT), 104u);
    EXPECT_EQ(offset(bytes, VK_SHADER_STAGE_FRAGMENT_BIT), 112u);
  }
  EXPECT_EQ(offset(84, VK_SHADER_STAGE_GEOMETRY_BIT), 0u);
  EXPECT_EQ(offset(84, VK_SHADER_STAGE_TASK_BIT_EXT), 0u);
  EXPECT_EQ(offset(108, VK_SHADER_STAGE_FRAGMENT_BIT), 0u) << "the address is in a descriptor";
}

TEST(PipelineLayout, a_full_one_takes_the_last_set_or_nothing) {
  const Asked full({{VK_SHADER_STAGE_COMPUTE_BIT, 0, 128}}, 7);
  EXPECT_EQ(PipelineLayout(full.info, rules()).path(), AddressPath::Descriptor);
  EXPECT_EQ(PipelineLayout(full.info, rules()).reserved_set(), 7u);
  EXPECT_EQ(PipelineLayout(full.info, rules(RecordAddress::PushConstant)).path(),
            AddressPath::None);
  const Asked both({{VK_SHADER_STAGE_COMPUTE_BIT, 0, 128}}, 8);
  EXPECT_EQ(PipelineLayout(both.info, rules()).path(), AddressPath::None);
}

TEST(PipelineLayout, an_update_names_every_stage_whose_range_was_prolonged_over_it) {
  const Asked asked({{VK_SHADER_STAGE_VERTEX_BIT, 0, 16},
                     {VK_SHADER_STAGE_FRAGMENT_BIT, 16, 16},
                     {VK_SHADER_STAGE_COMPUTE_BIT, 32, 4}});
  const PipelineLayout layout(asked.info, rules());
  EXPECT_TRUE(layout.widens());
  EXPECT_EQ(layout.widen(VK_SHADER_STAGE_VERTEX_BIT, 0),
            VkShaderStageFlags{VK_SHADER_STAGE_VERTEX_BIT});
  EXPECT_EQ(layout.widen(VK_SHADER_STAGE_FRAGMENT_BIT, 16),
            VkShaderStageFlags{VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT});
  EXPECT_EQ(layout.widen(VK_SHADER_STAGE_COMPUTE_BIT, 32),
            VkShaderStageFlags{VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT |
                               VK_SHADER_STAGE_COMPUTE_BIT});
}

TEST(PipelineLayout, one_range_needs_no_second_look) {
  const Asked one({{VK_SHADER_STAGE_ALL_GRAPHICS, 0, 64}});
  EXPECT_FALSE(PipelineLayout(one.info, rules()).widens());
  const Asked descriptor(
      {{VK_SHADER_STAGE_VERTEX_BIT, 0, 64}, {VK_SHADER_STAGE_FRAGMENT_BIT, 64, 64}});
  EXPECT_FALSE(PipelineLayout(descriptor.info, rules()).widens());
}

}  // namespace
}  // namespace tally::counters
