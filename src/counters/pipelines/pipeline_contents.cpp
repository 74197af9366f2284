#include "counters/pipelines/pipeline_contents.h"

#include <algorithm>

#include "counters/shaders/program.h"

namespace tally::counters {
namespace {

constexpr auto kVertexInput = VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT;
constexpr auto kPreRasterization = VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT;
constexpr auto kFragmentShader = VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT;
constexpr auto kFragmentOutput = VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT;
constexpr VkGraphicsPipelineLibraryFlagsEXT kAllSubsets =
    kVertexInput | kPreRasterization | kFragmentShader | kFragmentOutput;

void state_tests(const VkGraphicsPipelineCreateInfo& info, SampleFacts& facts) {
  facts.dynamic_depth_test = is_dynamic(info, VK_DYNAMIC_STATE_DEPTH_TEST_ENABLE);
  facts.dynamic_compare = is_dynamic(info, VK_DYNAMIC_STATE_DEPTH_COMPARE_OP);
  facts.dynamic_bounds = is_dynamic(info, VK_DYNAMIC_STATE_DEPTH_BOUNDS_TEST_ENABLE);
  facts.dynamic_stencil = is_dynamic(info, VK_DYNAMIC_STATE_STENCIL_TEST_ENABLE);
  const VkPipelineDepthStencilStateCreateInfo* state = info.pDepthStencilState;
  if (!state) return;
  facts.depth_test = state->depthTestEnable == VK_TRUE;
  facts.depth_compare = state->depthCompareOp;
  facts.depth_bounds_test = state->depthBoundsTestEnable == VK_TRUE;
  facts.stencil_test = state->stencilTestEnable == VK_TRUE;
}

void state_coverage(const VkGraphicsPipelineCreateInfo& info, SampleFacts& facts) {
  facts.dynamic_samples = is_dynamic(info, VK_DYNAMIC_STATE_RASTERIZATION_SAMPLES_EXT);
  facts.dynamic_alpha = is_dynamic(info, VK_DYNAMIC_STATE_ALPHA_TO_COVERAGE_ENABLE_EXT);
  const VkPipelineMultisampleStateCreateInfo* state = info.pMultisampleState;
  if (!state) return;
  facts.samples = state->rasterizationSamples;
  facts.covers_by_alpha = state->alphaToCoverageEnable == VK_TRUE;
}

SampleFacts sample_facts_of(const VkGraphicsPipelineCreateInfo& info,
                            std::optional<KeptRenderPass::Use> attachments) {
  SampleFacts facts;
  if (never_rasterizes(info)) return facts;
  const VkGraphicsPipelineLibraryFlagsEXT subsets = subsets_of(info);
  if ((subsets & kFragmentOutput) != 0) state_coverage(info, facts);
  if ((subsets & kFragmentShader) == 0 || !attachments) return facts;
  if (attachments->depth_stencil) {
    state_tests(info, facts);
  } else {
    facts.depth_test = facts.depth_bounds_test = facts.stencil_test = false;
  }
  return facts;
}

void add_tests(SampleFacts& facts, const SampleFacts& library) {
  facts.depth_test = library.depth_test;
  facts.depth_compare = library.depth_compare;
  facts.depth_bounds_test = library.depth_bounds_test;
  facts.stencil_test = library.stencil_test;
  facts.dynamic_depth_test = library.dynamic_depth_test;
  facts.dynamic_compare = library.dynamic_compare;
  facts.dynamic_bounds = library.dynamic_bounds;
  facts.dynamic_stencil = library.dynamic_stencil;
}

void add_coverage(SampleFacts& facts, const SampleFacts& library) {
  facts.samples = library.samples;
  facts.covers_by_alpha = library.covers_by_alpha;
  facts.dynamic_samples = library.dynamic_samples;
  facts.dynamic_alpha = library.dynamic_alpha;
}

}  // namespace

bool has_libraries(const void* chain) {
  const auto* info = vk::find_in_chain<VkPipelineLibraryCreateInfoKHR>(
      chain, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
  return info && info->libraryCount > 0;
}

VkGraphicsPipelineLibraryFlagsEXT subsets_of(const VkGraphicsPipelineCreateInfo& info) {
  const auto* stated = vk::find_in_chain<VkGraphicsPipelineLibraryCreateInfoEXT>(
      info.pNext, VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT);
  if (stated) return stated->flags;
  const bool partial =
      (pipeline_flags(info) & VK_PIPELINE_CREATE_LIBRARY_BIT_KHR) != 0 || has_libraries(info.pNext);
  return partial ? 0 : kAllSubsets;
}

bool is_dynamic(const VkGraphicsPipelineCreateInfo& info, VkDynamicState state) {
  if (!info.pDynamicState) return false;
  const std::span states(info.pDynamicState->pDynamicStates, info.pDynamicState->dynamicStateCount);
  return std::ranges::find(states, state) != states.end();
}

std::span<const VkPipelineShaderStageCreateInfo> stages_of(
    const VkGraphicsPipelineCreateInfo& info) {
  constexpr VkGraphicsPipelineLibraryFlagsEXT kWithShaders =
      VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT |
      VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT;
  if ((subsets_of(info) & kWithShaders) == 0) return {};
  return {info.pStages, info.stageCount};
}

bool never_rasterizes(const VkGraphicsPipelineCreateInfo& info) {
  return (subsets_of(info) & kPreRasterization) != 0 && info.pRasterizationState &&
         info.pRasterizationState->rasterizerDiscardEnable == VK_TRUE &&
         !is_dynamic(info, VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE);
}

KeptRenderPass::Use attachments_of(const VkGraphicsPipelineCreateInfo& info,
                                   const KeptRenderPass* render_pass) {
  if (render_pass) return render_pass->use_of(info.subpass);
  const auto* rendering = vk::find_in_chain<VkPipelineRenderingCreateInfo>(
      info.pNext, VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO);
  if ((subsets_of(info) & kFragmentOutput) == 0) return {false, true};
  if (!rendering) return {};
  return {rendering->colorAttachmentCount != 0,
          rendering->depthAttachmentFormat != VK_FORMAT_UNDEFINED ||
              rendering->stencilAttachmentFormat != VK_FORMAT_UNDEFINED};
}

StatedFacts facts_of(const VkGraphicsPipelineCreateInfo& info,
                     std::optional<KeptRenderPass::Use> attachments) {
  StatedFacts stated;
  stated.samples = sample_facts_of(info, attachments);
  stated.subsets = subsets_of(info);
  DrawFacts& facts = stated.facts;
  for (const VkPipelineShaderStageCreateInfo& stage : stages_of(info)) facts.stages |= stage.stage;
  const bool mesh = (facts.stages & VK_SHADER_STAGE_MESH_BIT_EXT) != 0;
  if ((stated.subsets & kVertexInput) != 0 && !mesh) {
    facts.dynamic_topology = is_dynamic(info, VK_DYNAMIC_STATE_PRIMITIVE_TOPOLOGY);
    facts.dynamic_restart = is_dynamic(info, VK_DYNAMIC_STATE_PRIMITIVE_RESTART_ENABLE);
    if (const auto* assembly = info.pInputAssemblyState) {
      facts.topology = assembly->topology;
      facts.restarts = assembly->primitiveRestartEnable == VK_TRUE;
    }
  }
  if ((stated.subsets & kPreRasterization) == 0) return stated;
  facts.dynamic_discard = is_dynamic(info, VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE);
  facts.dynamic_patch = is_dynamic(info, VK_DYNAMIC_STATE_PATCH_CONTROL_POINTS_EXT);
  if (info.pRasterizationState) {
    facts.rasterizer_discard = info.pRasterizationState->rasterizerDiscardEnable == VK_TRUE;
  }
  const bool tessellates = (facts.stages & VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT) != 0;
  if (tessellates && info.pTessellationState) {
    facts.patch_control_points = info.pTessellationState->patchControlPoints;
  }
  return stated;
}

void add_library(StatedFacts& stated, const StatedFacts& library) {
  const VkGraphicsPipelineLibraryFlagsEXT added = library.subsets & ~stated.subsets;
  if ((added & kVertexInput) != 0) {
    stated.facts.topology = library.facts.topology;
    stated.facts.dynamic_topology = library.facts.dynamic_topology;
    stated.facts.restarts = library.facts.restarts;
    stated.facts.dynamic_restart = library.facts.dynamic_restart;
  }
  if ((added & kPreRasterization) != 0) {
    stated.facts.patch_control_points = library.facts.patch_control_points;
    stated.facts.dynamic_patch = library.facts.dynamic_patch;
    stated.facts.rasterizer_discard = library.facts.rasterizer_discard;
    stated.facts.dynamic_discard = library.facts.dynamic_discard;
  }
  if ((added & kFragmentShader) != 0) add_tests(stated.samples, library.samples);
  if ((added & kFragmentOutput) != 0) add_coverage(stated.samples, library.samples);
  stated.facts.stages |= library.facts.stages;
  stated.subsets |= added;
}

std::optional<bool> alpha_to_coverage_of(const VkGraphicsPipelineCreateInfo& info,
                                         const StatedFacts& stated) {
  if (never_rasterizes(info)) return false;
  const SampleFacts& samples = stated.samples;
  const bool known = (stated.subsets & kFragmentOutput) != 0;
  const bool library = (pipeline_flags(info) & VK_PIPELINE_CREATE_LIBRARY_BIT_KHR) != 0;
  if (known ? samples.dynamic_alpha : library) return std::nullopt;
  return samples.covers_by_alpha;
}

bool may_number_draws(const VkGraphicsPipelineCreateInfo& info) {
  const bool library = (pipeline_flags(info) & VK_PIPELINE_CREATE_LIBRARY_BIT_KHR) != 0;
  if (library || subsets_of(info) != kAllSubsets) return false;
  if (is_dynamic(info, VK_DYNAMIC_STATE_VERTEX_INPUT_EXT)) return false;
  constexpr VkShaderStageFlags kStages = VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT;
  VkShaderStageFlags stages = 0;
  for (const VkPipelineShaderStageCreateInfo& stage : stages_of(info)) stages |= stage.stage;
  if ((stages & ~kStages) != 0 || (stages & VK_SHADER_STAGE_VERTEX_BIT) == 0) return false;
  const VkPipelineVertexInputStateCreateInfo* input = info.pVertexInputState;
  if (!input) return false;
  const std::span bindings(input->pVertexBindingDescriptions, input->vertexBindingDescriptionCount);
  return std::ranges::none_of(bindings, [](const VkVertexInputBindingDescription& binding) {
    return binding.inputRate == VK_VERTEX_INPUT_RATE_INSTANCE;
  });
}

uint32_t rasterized_stream_of(const VkGraphicsPipelineCreateInfo& info) {
  if ((subsets_of(info) & kPreRasterization) == 0 || !info.pRasterizationState) return 0;
  if (never_rasterizes(info)) return kNoStream;
  const auto* stream = vk::find_in_chain<VkPipelineRasterizationStateStreamCreateInfoEXT>(
      info.pRasterizationState->pNext,
      VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_STREAM_CREATE_INFO_EXT);
  return stream ? stream->rasterizationStream : 0;
}

bool uses_render_pass(const VkGraphicsPipelineCreateInfo& info) {
  return (subsets_of(info) & ~kVertexInput) != 0;
}

// In libraries without shaders the member is ignored and may be invalid.
VkRenderPass render_pass_of(const VkGraphicsPipelineCreateInfo& info) {
  return stages_of(info).empty() ? VK_NULL_HANDLE : info.renderPass;
}

uint32_t view_mask_of(const VkGraphicsPipelineCreateInfo& info) {
  const auto* rendering = vk::find_in_chain<VkPipelineRenderingCreateInfo>(
      info.pNext, VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO);
  return rendering ? rendering->viewMask : 0;
}

SampleCounter sample_counter(const SampleFacts& facts, CountedSamples counted) {
  bool dropped = true;
  switch (counted) {
    case CountedSamples::Uncounted:
      break;
    case CountedSamples::BeforeTests:
      dropped = facts.covers_by_alpha || facts.may_fail_tests();
      break;
    case CountedSamples::AfterTests:
      // An invocation does not see which samples of its pixel have passed. Alpha to coverage comes
      // after the tests, and after samples are counted.
      dropped = facts.samples != VK_SAMPLE_COUNT_1_BIT && facts.may_fail_tests();
      break;
  }
  return dropped ? SampleCounter::Driver : SampleCounter::Shader;
}

DrawFacts DynamicDrawFacts::applied_to(DrawFacts facts) const {
  if (facts.dynamic_topology) facts.topology = topology;
  if (facts.dynamic_patch) facts.patch_control_points = patch_control_points;
  if (facts.dynamic_discard) facts.rasterizer_discard = rasterizer_discard;
  if (facts.dynamic_restart) facts.restarts = restarts;
  return facts;
}

SampleFacts DynamicDrawFacts::applied_to(SampleFacts facts) const {
  if (facts.dynamic_samples) facts.samples = samples.samples;
  if (facts.dynamic_alpha) facts.covers_by_alpha = samples.covers_by_alpha;
  if (facts.dynamic_depth_test) facts.depth_test = samples.depth_test;
  if (facts.dynamic_compare) facts.depth_compare = samples.depth_compare;
  if (facts.dynamic_bounds) facts.depth_bounds_test = samples.depth_bounds_test;
  if (facts.dynamic_stencil) facts.stencil_test = samples.stencil_test;
  return facts;
}

PrimitiveStep primitive_step(const DrawFacts& facts) {
  switch (facts.topology) {
    case VK_PRIMITIVE_TOPOLOGY_LINE_LIST:
      return {2, 2};
    case VK_PRIMITIVE_TOPOLOGY_LINE_STRIP:
      return {2, 1};
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST:
      return {3, 3};
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP:
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_FAN:
      return {3, 1};
    case VK_PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY:
      return {4, 4};
    case VK_PRIMITIVE_TOPOLOGY_LINE_STRIP_WITH_ADJACENCY:
      return {4, 1};
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST_WITH_ADJACENCY:
      return {6, 6};
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP_WITH_ADJACENCY:
      return {6, 2};
    case VK_PRIMITIVE_TOPOLOGY_PATCH_LIST: {
      const uint32_t points = std::max(1u, facts.patch_control_points);
      return {points, points};
    }
    default:
      return {1, 1};
  }
}

uint32_t primitive_vertices(const DrawFacts& facts) {
  switch (facts.topology) {
    case VK_PRIMITIVE_TOPOLOGY_POINT_LIST:
      return 1;
    case VK_PRIMITIVE_TOPOLOGY_LINE_LIST:
    case VK_PRIMITIVE_TOPOLOGY_LINE_STRIP:
    case VK_PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY:
    case VK_PRIMITIVE_TOPOLOGY_LINE_STRIP_WITH_ADJACENCY:
      return 2;
    default:
      return 3;
  }
}

}  // namespace tally::counters
