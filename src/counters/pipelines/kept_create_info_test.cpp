#include "counters/pipelines/kept_create_info.h"

#include <gtest/gtest.h>

#include <tally/vulkan_newer.h>
#include <tally/vulkan_newest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "vk/chain.h"

namespace tally::counters {
namespace {

constexpr VkBaseInStructure kUnknownStruct{static_cast<VkStructureType>(0x7ffffff0), nullptr};

// Members that must not be read.
template <typename T>
T* invalid() {
  return reinterpret_cast<T*>(uintptr_t{16});
}

// A pipeline with every part of the state, in memory of its own.
struct Whole {
  std::array<VkVertexInputBindingDescription, 2> bindings{
      {{0, 16, VK_VERTEX_INPUT_RATE_VERTEX}, {1, 4, VK_VERTEX_INPUT_RATE_INSTANCE}}};
  VkVertexInputBindingDivisorDescriptionEXT divisor{1, 3};
  VkPipelineVertexInputDivisorStateCreateInfoEXT divisors{
      VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_DIVISOR_STATE_CREATE_INFO_EXT, nullptr, 1, &divisor};
  VkPipelineVertexInputStateCreateInfo input{
      VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO, &divisors, 0, 2, bindings.data()};
  VkPipelineInputAssemblyStateCreateInfo assembly{
      VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO, nullptr, 0,
      VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP};
  VkRect2D scissor{{1, 2}, {3, 4}};
  VkPipelineViewportStateCreateInfo viewport{VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
                                             nullptr,
                                             0,
                                             1,
                                             invalid<VkViewport>(),
                                             1,
                                             &scissor};
  VkPipelineRasterizationStateCreateInfo raster{
      VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO};
  VkSampleMask mask = 5;
  VkPipelineMultisampleStateCreateInfo samples{
      VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
      nullptr,
      0,
      VK_SAMPLE_COUNT_4_BIT,
      VK_FALSE,
      0,
      &mask};
  VkPipelineDepthStencilStateCreateInfo depth{
      VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO, nullptr, 0, VK_TRUE};
  VkPipelineColorBlendAttachmentState attachment{VK_TRUE};
  VkPipelineColorBlendStateCreateInfo blend{
      VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
      nullptr,
      0,
      VK_FALSE,
      VK_LOGIC_OP_CLEAR,
      1,
      &attachment};
  VkDynamicState state = VK_DYNAMIC_STATE_VIEWPORT;
  VkPipelineDynamicStateCreateInfo dynamic{VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
                                           nullptr, 0, 1, &state};
  VkSpecializationMapEntry entry{7, 0, 4};
  uint32_t value = 42;
  VkSpecializationInfo values{1, &entry, sizeof value, &value};
  std::string name = "main";
  VkPipelineShaderStageCreateInfo stage{VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                        nullptr,
                                        0,
                                        VK_SHADER_STAGE_VERTEX_BIT,
                                        invalid<VkShaderModule_T>(),
                                        name.c_str(),
                                        &values};
  VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
  VkPipelineRenderingCreateInfo rendering{VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                          nullptr,
                                          0,
                                          1,
                                          &format,
                                          VK_FORMAT_D16_UNORM};
  VkGraphicsPipelineCreateInfo info{VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO, &rendering};

  Whole() {
    info.stageCount = 1;
    info.pStages = &stage;
    info.pVertexInputState = &input;
    info.pInputAssemblyState = &assembly;
    info.pTessellationState = invalid<VkPipelineTessellationStateCreateInfo>();
    info.pViewportState = &viewport;
    info.pRasterizationState = &raster;
    info.pMultisampleState = &samples;
    info.pDepthStencilState = &depth;
    info.pColorBlendState = &blend;
    info.pDynamicState = &dynamic;
  }
};

struct Copy {
  vk::CopyMemory memory;
  VkGraphicsPipelineCreateInfo info{};
  bool known = false;
};

// A copy of a pipeline's create info, whose own memory is gone.
template <typename Change>
std::unique_ptr<Copy> copy_of(Change&& change, const KeptRenderPass* render_pass = nullptr) {
  auto whole = std::make_unique<Whole>();
  change(*whole);
  auto copy = std::make_unique<Copy>();
  copy->info = whole->info;
  copy->known = keep(copy->memory, copy->info, render_pass);
  return copy;
}

TEST(KeptCreateInfo, is_a_copy_of_everything_that_a_driver_reads) {
  const auto copy = copy_of([](Whole&) {});
  ASSERT_TRUE(copy->known);
  const VkGraphicsPipelineCreateInfo& info = copy->info;
  ASSERT_EQ(info.stageCount, 1u);
  EXPECT_STREQ(info.pStages->pName, "main");
  EXPECT_EQ(info.pStages->module, VkShaderModule(VK_NULL_HANDLE));
  EXPECT_EQ(info.pStages->pSpecializationInfo->pMapEntries->constantID, 7u);
  EXPECT_EQ(*static_cast<const uint32_t*>(info.pStages->pSpecializationInfo->pData), 42u);
  EXPECT_EQ(info.pVertexInputState->pVertexBindingDescriptions[1].stride, 4u);
  const auto* divisors = vk::find_in_chain<VkPipelineVertexInputDivisorStateCreateInfoEXT>(
      info.pVertexInputState->pNext,
      VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_DIVISOR_STATE_CREATE_INFO_EXT);
  ASSERT_NE(divisors, nullptr);
  EXPECT_EQ(divisors->pVertexBindingDivisors->divisor, 3u);
  EXPECT_EQ(info.pInputAssemblyState->topology, VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP);
  EXPECT_EQ(info.pViewportState->pScissors->extent.height, 4u);
  EXPECT_EQ(*info.pMultisampleState->pSampleMask, 5u);
  EXPECT_EQ(info.pDepthStencilState->depthTestEnable, VK_TRUE);
  EXPECT_EQ(info.pColorBlendState->pAttachments->blendEnable, VK_TRUE);
  EXPECT_EQ(*info.pDynamicState->pDynamicStates, VK_DYNAMIC_STATE_VIEWPORT);
  const auto* rendering = vk::find_in_chain<VkPipelineRenderingCreateInfo>(
      info.pNext, VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO);
  ASSERT_NE(rendering, nullptr);
  EXPECT_EQ(*rendering->pColorAttachmentFormats, VK_FORMAT_R8G8B8A8_UNORM);
}

// Whole has pointers that a driver ignores in each case, as it is or with this change.
TEST(KeptCreateInfo, leaves_out_what_a_driver_ignores) {
  const auto whole = copy_of([](Whole&) {});
  EXPECT_EQ(whole->info.pTessellationState, nullptr);
  EXPECT_EQ(whole->info.pViewportState->pViewports, nullptr);

  const auto discards = copy_of([](Whole& all) {
    all.raster.rasterizerDiscardEnable = VK_TRUE;
    all.info.pViewportState = invalid<VkPipelineViewportStateCreateInfo>();
    all.info.pMultisampleState = invalid<VkPipelineMultisampleStateCreateInfo>();
    all.info.pDepthStencilState = invalid<VkPipelineDepthStencilStateCreateInfo>();
    all.info.pColorBlendState = invalid<VkPipelineColorBlendStateCreateInfo>();
  });
  EXPECT_TRUE(discards->known);
  EXPECT_EQ(discards->info.pMultisampleState, nullptr);

  const auto mesh = copy_of([](Whole& all) {
    all.stage.stage = VK_SHADER_STAGE_MESH_BIT_EXT;
    all.info.pVertexInputState = invalid<VkPipelineVertexInputStateCreateInfo>();
    all.info.pInputAssemblyState = invalid<VkPipelineInputAssemblyStateCreateInfo>();
  });
  EXPECT_EQ(mesh->info.pVertexInputState, nullptr);

  const auto dynamic_input = copy_of([](Whole& all) {
    all.state = VK_DYNAMIC_STATE_VERTEX_INPUT_EXT;
    all.viewport.viewportCount = 0;
    all.info.pVertexInputState = invalid<VkPipelineVertexInputStateCreateInfo>();
  });
  EXPECT_EQ(dynamic_input->info.pVertexInputState, nullptr);

  const auto no_formats = copy_of([](Whole& all) {
    all.rendering.colorAttachmentCount = 0;
    all.rendering.depthAttachmentFormat = VK_FORMAT_UNDEFINED;
    all.info.pDepthStencilState = invalid<VkPipelineDepthStencilStateCreateInfo>();
    all.info.pColorBlendState = invalid<VkPipelineColorBlendStateCreateInfo>();
  });
  EXPECT_EQ(no_formats->info.pColorBlendState, nullptr);
}

TEST(KeptCreateInfo, follows_the_attachments_of_the_subpass) {
  DeviceTable table{};
  const KeptRenderPass pass(VK_NULL_HANDLE, table, VK_NULL_HANDLE, {{true, false}, {false, true}});
  const auto colour = copy_of(
      [](Whole& all) {
        all.info.pDepthStencilState = invalid<VkPipelineDepthStencilStateCreateInfo>();
      },
      &pass);
  EXPECT_NE(colour->info.pColorBlendState, nullptr);
  EXPECT_EQ(colour->info.pDepthStencilState, nullptr);
  const auto depth = copy_of(
      [](Whole& all) {
        all.info.subpass = 1;
        all.info.pColorBlendState = invalid<VkPipelineColorBlendStateCreateInfo>();
      },
      &pass);
  EXPECT_EQ(depth->info.pColorBlendState, nullptr);
  EXPECT_NE(depth->info.pDepthStencilState, nullptr);
}

TEST(KeptCreateInfo, of_a_library_has_the_parts_of_the_library) {
  const auto copy = copy_of([](Whole& all) {
    static VkGraphicsPipelineLibraryCreateInfoEXT input{
        VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT, nullptr,
        VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT};
    all.info.pNext = &input;
    all.info.flags = VK_PIPELINE_CREATE_LIBRARY_BIT_KHR;
    all.info.pStages = invalid<VkPipelineShaderStageCreateInfo>();
    all.info.pRasterizationState = invalid<VkPipelineRasterizationStateCreateInfo>();
    all.info.pViewportState = invalid<VkPipelineViewportStateCreateInfo>();
    all.info.pMultisampleState = invalid<VkPipelineMultisampleStateCreateInfo>();
    all.info.pDepthStencilState = invalid<VkPipelineDepthStencilStateCreateInfo>();
    all.info.pColorBlendState = invalid<VkPipelineColorBlendStateCreateInfo>();
  });
  EXPECT_TRUE(copy->known);
  EXPECT_EQ(copy->info.stageCount, 0u);
  EXPECT_NE(copy->info.pVertexInputState, nullptr);
  EXPECT_EQ(copy->info.pRasterizationState, nullptr);
}

// The create info of shaders with descriptor heaps.
TEST(KeptCreateInfo, has_the_mappings_of_bindings_and_their_samplers) {
  VkDescriptorSetAndBindingMappingEXT mapping{
      VK_STRUCTURE_TYPE_DESCRIPTOR_SET_AND_BINDING_MAPPING_EXT, nullptr, 3, 1, 2};
  const VkShaderDescriptorSetAndBindingMappingInfoEXT mappings{
      VK_STRUCTURE_TYPE_SHADER_DESCRIPTOR_SET_AND_BINDING_MAPPING_INFO_EXT, nullptr, 1, &mapping};
  const auto copy = copy_of([&](Whole& all) { all.stage.pNext = &mappings; });
  EXPECT_TRUE(copy->known);
  const auto* kept = vk::find_in_chain<VkShaderDescriptorSetAndBindingMappingInfoEXT>(
      copy->info.pStages[0].pNext,
      VK_STRUCTURE_TYPE_SHADER_DESCRIPTOR_SET_AND_BINDING_MAPPING_INFO_EXT);
  ASSERT_NE(kept, nullptr);
  EXPECT_NE(kept->pMappings, &mapping);
  EXPECT_EQ(kept->pMappings[0].descriptorSet, 3u);
  EXPECT_EQ(kept->pMappings[0].bindingCount, 2u);
  VkSamplerReductionModeCreateInfo reduction{VK_STRUCTURE_TYPE_SAMPLER_REDUCTION_MODE_CREATE_INFO,
                                             nullptr, VK_SAMPLER_REDUCTION_MODE_MAX};
  VkSamplerCreateInfo sampler{VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO, &reduction};
  sampler.maxLod = 3;
  mapping.sourceData.constantOffset.pEmbeddedSampler = &sampler;
  const auto embedding = copy_of([&](Whole& all) { all.stage.pNext = &mappings; });
  EXPECT_TRUE(embedding->known);
  kept = vk::find_in_chain<VkShaderDescriptorSetAndBindingMappingInfoEXT>(
      embedding->info.pStages[0].pNext,
      VK_STRUCTURE_TYPE_SHADER_DESCRIPTOR_SET_AND_BINDING_MAPPING_INFO_EXT);
  const VkSamplerCreateInfo* embedded =
      kept->pMappings[0].sourceData.constantOffset.pEmbeddedSampler;
  ASSERT_NE(embedded, &sampler);
  EXPECT_EQ(embedded->maxLod, 3);
  ASSERT_NE(embedded->pNext, &reduction);
  EXPECT_EQ(static_cast<const VkSamplerReductionModeCreateInfo*>(embedded->pNext)->reductionMode,
            VK_SAMPLER_REDUCTION_MODE_MAX);
  sampler.pNext = &kUnknownStruct;
  EXPECT_FALSE(copy_of([&](Whole& all) { all.stage.pNext = &mappings; })->known);
}

TEST(KeptCreateInfo, is_refused_where_a_struct_is_not_known) {
  EXPECT_FALSE(copy_of([&](Whole& all) { all.raster.pNext = &kUnknownStruct; })->known);
  EXPECT_FALSE(copy_of([&](Whole& all) { all.stage.pNext = &kUnknownStruct; })->known);
  EXPECT_FALSE(copy_of([&](Whole& all) { all.info.pNext = &kUnknownStruct; })->known);
  EXPECT_TRUE(copy_of([](Whole& all) {
                static VkPipelineCreationFeedbackCreateInfo feedback{
                    VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO};
                all.info.pNext = &feedback;
              })->known);
}

}  // namespace
}  // namespace tally::counters
