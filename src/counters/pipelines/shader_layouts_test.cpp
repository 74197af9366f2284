#include "counters/pipelines/shader_layouts.h"

#include <gtest/gtest.h>

#include <tally/vulkan_newest.h>

#include "counters/layouts/pipeline_layout.h"
#include "counters/shaders/instrumenter.h"
#include "mapped.comp.h"

namespace tally::counters {
namespace {

using Mapping = VkDescriptorSetAndBindingMappingEXT;

PushReads reads_with(const Mapping* mapping) {
  const ShaderCode code{{}, {std::begin(mapped_comp), std::end(mapped_comp)}};
  const VkShaderDescriptorSetAndBindingMappingInfoEXT mappings{
      VK_STRUCTURE_TYPE_SHADER_DESCRIPTOR_SET_AND_BINDING_MAPPING_INFO_EXT, nullptr,
      mapping ? 1u : 0u, mapping};
  return push_reads(&code, VK_SHADER_STAGE_COMPUTE_BIT, "main", &mappings);
}
uint64_t fixed_with(const Mapping& mapping) { return reads_with(&mapping).fixed; }
constexpr auto bytes = PushReads::mask;

Mapping mapping_of(uint32_t set, uint32_t first, uint32_t count,
                   VkDescriptorMappingSourceEXT source) {
  Mapping mapping{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_AND_BINDING_MAPPING_EXT};
  mapping.descriptorSet = set;
  mapping.firstBinding = first;
  mapping.bindingCount = count;
  mapping.source = source;
  return mapping;
}

TEST(PushReads, have_the_end_of_push_constants) {
  EXPECT_EQ(reads_with(nullptr).block_end, 20u);
  EXPECT_EQ(reads_with(nullptr).fixed, 0u);
  const ShaderCode invalid{{}, {1, 2, 3}};
  const auto of = [](const ShaderCode* code, const char* entry) {
    return push_reads(code, VK_SHADER_STAGE_COMPUTE_BIT, entry, nullptr);
  };
  EXPECT_EQ(of(&invalid, "main"), PushReads::everything());
  EXPECT_EQ(of(nullptr, "main"), PushReads::everything());
}

TEST(PushReads, are_masks_of_8_bytes) {
  EXPECT_EQ(bytes(0, 0), 0u);
  EXPECT_EQ(bytes(0, 1), 1u);
  EXPECT_EQ(bytes(7, 9), 3u);
  EXPECT_EQ(bytes(504, 600), uint64_t{1} << 63);
  EXPECT_EQ(bytes(600, 700), 0u);
  EXPECT_EQ(bytes(0, 512), UINT64_MAX);
}

TEST(PushReads, have_mapped_blocks) {
  Mapping mapping = mapping_of(1, 2, 1, VK_DESCRIPTOR_MAPPING_SOURCE_PUSH_DATA_EXT);
  mapping.sourceData.pushDataOffset = 64;
  EXPECT_EQ(fixed_with(mapping), bytes(64, 64 + 48));
  mapping.firstBinding = 3;
  EXPECT_EQ(fixed_with(mapping), bytes(64, 64 + 16));
  mapping.firstBinding = 0;
  mapping.bindingCount = 4;
  EXPECT_EQ(fixed_with(mapping), bytes(64, 64 + 48));
  mapping.descriptorSet = 2;
  EXPECT_EQ(fixed_with(mapping), 0u);
}

TEST(PushReads, have_mapped_indices_and_addresses) {
  Mapping mapping = mapping_of(1, 2, 1, VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_PUSH_INDEX_EXT);
  mapping.sourceData.pushIndex = {.pushOffset = 32, .samplerPushOffset = 44};
  EXPECT_EQ(fixed_with(mapping), bytes(32, 36) | bytes(44, 48));
  mapping.sourceData.pushIndex.useCombinedImageSamplerIndex = VK_TRUE;
  EXPECT_EQ(fixed_with(mapping), bytes(32, 36));
  mapping.source = VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_INDIRECT_INDEX_EXT;
  mapping.sourceData.indirectIndex = {.pushOffset = 32, .samplerPushOffset = 0};
  EXPECT_EQ(fixed_with(mapping), bytes(32, 40) | bytes(0, 8));
  mapping.source = VK_DESCRIPTOR_MAPPING_SOURCE_PUSH_ADDRESS_EXT;
  mapping.sourceData.pushAddressOffset = 48;
  EXPECT_EQ(fixed_with(mapping), bytes(48, 56));
  mapping.source = VK_DESCRIPTOR_MAPPING_SOURCE_INDIRECT_ADDRESS_EXT;
  mapping.sourceData.indirectAddress = {.pushOffset = 56};
  EXPECT_EQ(fixed_with(mapping), bytes(56, 64));
  mapping.sourceData.indirectAddress = {.pushOffset = UINT32_MAX - 3};
  EXPECT_EQ(fixed_with(mapping), 0u) << "beyond all push data";
  mapping.source = VK_DESCRIPTOR_MAPPING_SOURCE_SHADER_RECORD_ADDRESS_EXT;
  EXPECT_EQ(fixed_with(mapping), 0u);
}

class HeapLayoutsTest : public testing::Test {
 protected:
  HeapLayoutsTest() {
    rules_.push_data_size = 256;
    rules_.address_slots = 2;
    rules_.shader_slots = true;
    table_.CmdPushDataEXT = [](VkCommandBuffer, const VkPushDataInfoEXT*) {};
  }
  static uint32_t slot(const PipelineLayout& layout) {
    return layout.addressing(true).main.push_constant_offset;
  }

  LayoutRules rules_;
  DeviceTable table_;
};

TEST_F(HeapLayoutsTest, exist_where_heaps_are_enabled) {
  EXPECT_FALSE(HeapLayouts(LayoutRules{}, DeviceTable{}).enabled());
  EXPECT_EQ(HeapLayouts(LayoutRules{}, DeviceTable{}).find({}, false), nullptr);
  EXPECT_TRUE(HeapLayouts(rules_, table_).enabled());
}

TEST_F(HeapLayoutsTest, are_shared_by_shaders_that_leave_the_last_bytes_free) {
  const HeapLayouts layouts(rules_, table_);
  const auto usual = layouts.find({}, false);
  EXPECT_TRUE(usual->has_heaps());
  EXPECT_TRUE(usual->has_usual_slots());
  EXPECT_FALSE(usual->moves_blocks());
  EXPECT_EQ(slot(*usual), 240u);
  EXPECT_EQ(layouts.find({232, bytes(0, 232)}, false), usual);
  EXPECT_EQ(layouts.find({208, bytes(0, 208)}, true), layouts.find({}, true));
  EXPECT_FALSE(layouts.find({208, 0}, true)->moves_blocks());
}

TEST_F(HeapLayoutsTest, move_blocks_that_fill_the_last_bytes) {
  const HeapLayouts layouts(rules_, table_);
  for (const uint32_t end : {233u, 256u}) {
    const auto moved = layouts.find({end, bytes(0, 232)}, false);
    EXPECT_EQ(moved->path(), AddressPath::PushConstant);
    EXPECT_TRUE(moved->moves_blocks());
    EXPECT_EQ(slot(*moved), 240u);
    EXPECT_EQ(moved->addressing(true).main.block_address, 232u);
  }
  EXPECT_TRUE(layouts.find({209, 0}, true)->moves_blocks());
}

TEST_F(HeapLayoutsTest, leave_mappings_their_bytes) {
  const HeapLayouts layouts(rules_, table_);
  const auto before = layouts.find({16, bytes(252, 256)}, false);
  EXPECT_EQ(before->path(), AddressPath::PushConstant);
  EXPECT_FALSE(before->has_usual_slots());
  EXPECT_FALSE(before->moves_blocks());
  EXPECT_EQ(slot(*before), 232u);
  const auto between = layouts.find({256, bytes(0, 64) | bytes(88, 256)}, false);
  EXPECT_EQ(slot(*between), 72u);
  EXPECT_EQ(between->addressing(true).main.block_address, 64u);
  EXPECT_EQ(layouts.find({256, bytes(0, 64) | bytes(80, 256)}, false)->path(), AddressPath::None);
  EXPECT_EQ(layouts.find(PushReads::everything(), false)->path(), AddressPath::None);
}

}  // namespace
}  // namespace tally::counters
