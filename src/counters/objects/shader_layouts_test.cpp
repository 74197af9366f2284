#include "counters/objects/shader_layouts.h"

#include <gtest/gtest.h>

#include <tally/vulkan_newest.h>

#include "counters/objects/heap_layouts.h"
#include "counters/shader/shader_code.h"
#include "mapped.comp.h"

namespace tally::counters {
namespace {

using Mapping = VkDescriptorSetAndBindingMappingEXT;

uint32_t end_with(Mapping mapping) {
  const ShaderCode code{{}, {std::begin(mapped_comp), std::end(mapped_comp)}};
  const VkShaderDescriptorSetAndBindingMappingInfoEXT mappings{
      VK_STRUCTURE_TYPE_SHADER_DESCRIPTOR_SET_AND_BINDING_MAPPING_INFO_EXT, nullptr, 1, &mapping};
  return push_data_end(code, &mappings);
}

Mapping mapping_of(uint32_t set, uint32_t first, uint32_t count,
                   VkDescriptorMappingSourceEXT source) {
  Mapping mapping{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_AND_BINDING_MAPPING_EXT};
  mapping.descriptorSet = set;
  mapping.firstBinding = first;
  mapping.bindingCount = count;
  mapping.source = source;
  return mapping;
}

TEST(PushDataEnd, is_that_of_the_push_constants) {
  const ShaderCode code{{}, {std::begin(mapped_comp), std::end(mapped_comp)}};
  EXPECT_EQ(push_data_end(code, nullptr), 20u);
  EXPECT_EQ(push_data_end(ShaderCode{{}, {1, 2, 3}}, nullptr), 0u);
}

TEST(PushDataEnd, is_that_of_mapped_blocks) {
  Mapping mapping = mapping_of(1, 2, 1, VK_DESCRIPTOR_MAPPING_SOURCE_PUSH_DATA_EXT);
  mapping.sourceData.pushDataOffset = 64;
  EXPECT_EQ(end_with(mapping), 64u + 48);
  mapping.firstBinding = 3;
  EXPECT_EQ(end_with(mapping), 64u + 16);
  mapping.firstBinding = 0;
  mapping.bindingCount = 4;
  EXPECT_EQ(end_with(mapping), 64u + 48);
  mapping.descriptorSet = 2;
  EXPECT_EQ(end_with(mapping), 64u);
}

TEST(PushDataEnd, is_that_of_mapped_indices_and_addresses) {
  Mapping mapping = mapping_of(1, 2, 1, VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_PUSH_INDEX_EXT);
  mapping.sourceData.pushIndex = {.pushOffset = 32, .samplerPushOffset = 40};
  EXPECT_EQ(end_with(mapping), 44u) << "of the sampler";
  mapping.sourceData.pushIndex.useCombinedImageSamplerIndex = VK_TRUE;
  EXPECT_EQ(end_with(mapping), 36u);
  mapping.source = VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_INDIRECT_INDEX_EXT;
  mapping.sourceData.indirectIndex = {.pushOffset = 32, .samplerPushOffset = 0};
  EXPECT_EQ(end_with(mapping), 40u);
  mapping.source = VK_DESCRIPTOR_MAPPING_SOURCE_PUSH_ADDRESS_EXT;
  mapping.sourceData.pushAddressOffset = 48;
  EXPECT_EQ(end_with(mapping), 56u);
  mapping.source = VK_DESCRIPTOR_MAPPING_SOURCE_INDIRECT_ADDRESS_EXT;
  mapping.sourceData.indirectAddress = {.pushOffset = 56};
  EXPECT_EQ(end_with(mapping), 64u);
  mapping.sourceData.indirectAddress = {.pushOffset = UINT32_MAX - 3};
  EXPECT_EQ(end_with(mapping), UINT32_MAX) << "of a hostile mapping";
  mapping.source = VK_DESCRIPTOR_MAPPING_SOURCE_SHADER_RECORD_ADDRESS_EXT;
  EXPECT_EQ(end_with(mapping), 20u);
}

TEST(HeapLayouts, leave_the_slots_that_no_shader_reads) {
  LayoutRules rules;
  EXPECT_FALSE(HeapLayouts(rules, DeviceTable{}).enabled());
  rules.push_data_size = 256;
  rules.address_slots = 2;
  rules.shader_slots = true;
  DeviceTable table;
  table.CmdPushDataEXT = [](VkCommandBuffer, const VkPushDataInfoEXT*) {};
  const HeapLayouts layouts(rules, table);
  ASSERT_TRUE(layouts.enabled());
  EXPECT_EQ(layouts.find(0), layouts.find(216));
  EXPECT_TRUE(layouts.find(0)->has_heaps());
  EXPECT_FALSE(layouts.find(216)->covers_reserved());
  EXPECT_EQ(layouts.find(216)->addressing(true).main.push_constant_offset, 240u);
  EXPECT_TRUE(layouts.find(217)->covers_reserved());
  EXPECT_EQ(layouts.find(240)->path(), AddressPath::PushConstant);
  EXPECT_EQ(layouts.find(241)->path(), AddressPath::None);
}

}  // namespace
}  // namespace tally::counters
