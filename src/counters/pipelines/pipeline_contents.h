// The create flags of pipelines, in the 32-bit field or in VkPipelineCreateFlags2CreateInfo. The
// layer removes its own bit. If the other flags fit, it moves them to the 32-bit field, so that the
// struct also works on drivers that do not know it.
#pragma once

#include <tally/vulkan_arm.h>
#include <tally/vulkan_newer.h>
#include <tally/vulkan_newest.h>
#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "counters/base/device_table.h"
#include "vk/chain.h"

namespace tally::counters {

// The state of a graphics pipeline by which samples may be dropped after a fragment shader has
// begun, and who can therefore count the samples of a draw.

enum class CountedSamples : uint8_t;

// Where nothing is known, samples may be dropped.
struct SampleFacts {
  uint32_t samples = 0;  // of a pixel; 0: not known
  bool covers_by_alpha = true;
  bool depth_test = true;
  VkCompareOp depth_compare = VK_COMPARE_OP_NEVER;
  bool depth_bounds_test = true;
  bool stencil_test = true;
  // Which of these are dynamic state.
  bool dynamic_samples = false;
  bool dynamic_alpha = false;
  bool dynamic_depth_test = false;
  bool dynamic_compare = false;
  bool dynamic_bounds = false;
  bool dynamic_stencil = false;

  bool may_fail_tests() const {
    return (depth_test && depth_compare != VK_COMPARE_OP_ALWAYS) || depth_bounds_test ||
           stencil_test;
  }
};

// Who counts the samples of a draw for occlusion queries.
enum class SampleCounter : uint8_t {
  None,    // there are none
  Shader,  // the instrumented fragment shader
  Driver   // samples may be dropped after the shader has counted them, or it counts none
};
SampleCounter sample_counter(const SampleFacts& facts, CountedSamples counted);

// The state of a graphics pipeline that primitive assembly depends on, and the values of dynamic
// state.

struct DrawFacts {
  VkPrimitiveTopology topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
  uint32_t patch_control_points = 1;
  bool rasterizer_discard = false;
  bool restarts = false;  // primitive restart is enabled
  VkShaderStageFlags stages = 0;
  // Which of these are dynamic state.
  bool dynamic_topology = false;
  bool dynamic_patch = false;
  bool dynamic_discard = false;
  bool dynamic_restart = false;
};

// The values of dynamic state in a command buffer. The application sets what a pipeline has as
// dynamic state before it draws.
struct DynamicDrawFacts {
  VkPrimitiveTopology topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
  uint32_t patch_control_points = 1;
  bool rasterizer_discard = false;
  bool restarts = false;
  SampleFacts samples{.covers_by_alpha = false};

  DrawFacts applied_to(DrawFacts facts) const;
  SampleFacts applied_to(SampleFacts facts) const;
};

// The number of vertices of the first primitive, and of each further one.
struct PrimitiveStep {
  uint32_t first = 1;
  uint32_t step = 1;
};
PrimitiveStep primitive_step(const DrawFacts& facts);

// The number of complete primitives of one instance, without primitive restart.
inline uint64_t primitives_of(const DrawFacts& facts, uint64_t vertices) {
  // Divisions by constants are fast.
  if (facts.topology == VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST) return vertices / 3;
  const PrimitiveStep step = primitive_step(facts);
  return vertices < step.first ? 0 : (vertices - step.first) / step.step + 1;
}

// The number of vertices of a primitive, without adjacent vertices.
uint32_t primitive_vertices(const DrawFacts& facts);

// True if no shader stage replaces the assembled primitives.
inline bool keeps_primitives(const DrawFacts& facts) {
  constexpr VkShaderStageFlags kMakers = VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT |
                                         VK_SHADER_STAGE_GEOMETRY_BIT |
                                         VK_SHADER_STAGE_MESH_BIT_EXT;
  return (facts.stages & kMakers) == 0;
}

// Newer than the headers of Debian 12.
inline constexpr uint64_t kCaptureData = 0x80000000;         // VK_KHR_pipeline_binary
inline constexpr uint64_t kIndirectBindable = 0x4000000000;  // VK_EXT_device_generated_commands

template <typename Info>
uint64_t pipeline_flags(const Info& info) {
  const auto* newer = vk::find_in_chain<VkPipelineCreateFlags2CreateInfoKHR>(
      info.pNext, VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR);
  return newer ? newer->flags : info.flags;
}

// True if the driver takes the pipeline's code from binaries (VK_KHR_pipeline_binary).
inline bool has_binaries(const void* chain) {
  const auto* info =
      vk::find_in_chain<VkPipelineBinaryInfoKHR>(chain, VK_STRUCTURE_TYPE_PIPELINE_BINARY_INFO_KHR);
  return info && info->binaryCount != 0;
}

template <typename Info>
bool wants_instrumentation(const Info& info) {
  return (pipeline_flags(info) & VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM) != 0;
}

// Writes `flags` into a create info whose chain is the private copy `chain`.
template <typename Info>
void set_pipeline_flags(Info& info, vk::ChainCopy& chain, uint64_t flags) {
  auto* newer = chain.find<VkPipelineCreateFlags2CreateInfoKHR>(
      VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR);
  if (newer && flags > UINT32_MAX) {
    newer->flags = flags;
  } else {
    chain.remove(VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR);
    info.flags = static_cast<VkPipelineCreateFlags>(flags);
  }
  info.pNext = chain.head();
}

// The application's render passes, as far as the layer needs them.

// The number of views up to the highest one of the mask.
inline uint32_t views_of(uint32_t mask) { return static_cast<uint32_t>(std::bit_width(mask)); }

// The driver's render pass. Pipelines whose variants are not made yet outlive the application's
// handle, which is then destroyed with this object.
class KeptRenderPass {
 public:
  // Which attachments a subpass has.
  struct Use {
    bool colour = false;
    bool depth_stencil = false;
  };
  KeptRenderPass(VkDevice device, const DeviceTable& next, VkRenderPass handle,
                 std::vector<Use> subpasses)
      : device_(device), next_(next), handle_(handle), subpasses_(std::move(subpasses)) {}
  ~KeptRenderPass() {
    if (owned_) next_.DestroyRenderPass(device_, handle_, nullptr);
  }
  KeptRenderPass(const KeptRenderPass&) = delete;
  KeptRenderPass& operator=(const KeptRenderPass&) = delete;

  // The application destroys it.
  void take_ownership() { owned_ = true; }
  Use use_of(uint32_t subpass) const {
    return subpass < subpasses_.size() ? subpasses_[subpass] : Use{true, true};
  }

 private:
  VkDevice device_;
  const DeviceTable& next_;
  VkRenderPass handle_;
  std::vector<Use> subpasses_;
  bool owned_ = false;
};

// The attachments of each subpass, of VkRenderPassCreateInfo or VkRenderPassCreateInfo2.
template <typename Info>
std::vector<KeptRenderPass::Use> uses_of(const Info& info) {
  std::vector<KeptRenderPass::Use> uses;
  for (const auto& subpass : std::span(info.pSubpasses, info.subpassCount)) {
    const auto is_used = [](const auto& reference) {
      return reference.attachment != VK_ATTACHMENT_UNUSED;
    };
    const std::span colours(subpass.pColorAttachments, subpass.colorAttachmentCount);
    const auto* depth = subpass.pDepthStencilAttachment;
    uses.push_back({std::ranges::any_of(colours, is_used), depth && is_used(*depth)});
  }
  return uses;
}

struct RenderPassShape {
  std::shared_ptr<KeptRenderPass> kept;  // null: it has allocation callbacks of the application
  uint32_t subpasses = 0;
  uint32_t views = 0;  // up to the highest one of any subpass; 0: no multiview
  std::shared_ptr<const std::vector<uint32_t>> view_masks;  // by subpass; null: no multiview

  // The number of views that the subpass renders; 0: no multiview.
  uint32_t views_in(uint32_t subpass) const {
    if (!view_masks || subpass >= view_masks->size()) return 0;
    return static_cast<uint32_t>(std::popcount((*view_masks)[subpass]));
  }
};

inline RenderPassShape shape_of(std::vector<uint32_t> view_masks) {
  RenderPassShape shape;
  shape.subpasses = static_cast<uint32_t>(view_masks.size());
  for (const uint32_t mask : view_masks) shape.views = std::max(shape.views, views_of(mask));
  if (shape.views != 0) {
    shape.view_masks = std::make_shared<const std::vector<uint32_t>>(std::move(view_masks));
  }
  return shape;
}

inline RenderPassShape shape_of(const VkRenderPassCreateInfo2& info) {
  std::vector<uint32_t> masks;
  for (const VkSubpassDescription2& subpass : std::span(info.pSubpasses, info.subpassCount)) {
    masks.push_back(subpass.viewMask);
  }
  return shape_of(std::move(masks));
}

inline RenderPassShape shape_of(const VkRenderPassCreateInfo& info,
                                const VkRenderPassMultiviewCreateInfo* multiview) {
  std::vector<uint32_t> masks(info.subpassCount);
  if (multiview) {
    std::copy_n(multiview->pViewMasks, std::min(multiview->subpassCount, info.subpassCount),
                masks.begin());
  }
  return shape_of(std::move(masks));
}

// Reads the create infos of pipelines. With pipeline libraries, or without rasterization, drivers
// ignore many pointers of VkGraphicsPipelineCreateInfo, which may then be invalid.

// The subsets of the graphics pipeline that this create info itself provides.
VkGraphicsPipelineLibraryFlagsEXT subsets_of(const VkGraphicsPipelineCreateInfo& info);

bool is_dynamic(const VkGraphicsPipelineCreateInfo& info, VkDynamicState state);

// True if the pipeline is linked from libraries.
bool has_libraries(const void* chain);

// The shader stages; none for a library without shaders or a pipeline that is only linked.
std::span<const VkPipelineShaderStageCreateInfo> stages_of(
    const VkGraphicsPipelineCreateInfo& info);

// True if this create info rules out rasterization: the driver then ignores the state after it.
bool never_rasterizes(const VkGraphicsPipelineCreateInfo& info);

// The attachments whose state the driver reads. `render_pass`: null for dynamic rendering.
KeptRenderPass::Use attachments_of(const VkGraphicsPipelineCreateInfo& info,
                                   const KeptRenderPass* render_pass);

// The same for compute pipelines.
inline std::span<const VkPipelineShaderStageCreateInfo> stages_of(
    const VkComputePipelineCreateInfo& info) {
  return {&info.stage, 1};
}
// ... and ray-tracing pipelines.
inline std::span<const VkPipelineShaderStageCreateInfo> stages_of(
    const VkRayTracingPipelineCreateInfoKHR& info) {
  return {info.pStages, info.stageCount};
}

// The state that this create info provides. Libraries provide the rest.
struct StatedFacts {
  DrawFacts facts;
  SampleFacts samples;
  VkGraphicsPipelineLibraryFlagsEXT subsets = 0;  // the subsets that are provided
};
// `attachments`: nothing where they are not known.
StatedFacts facts_of(const VkGraphicsPipelineCreateInfo& info,
                     std::optional<KeptRenderPass::Use> attachments);
// Adds the subsets that a library provides.
void add_library(StatedFacts& stated, const StatedFacts& library);

// True if alpha to coverage is enabled. Nothing if that is dynamic state, or known only once this
// library is linked. `stated`: of the pipeline with its libraries.
std::optional<bool> alpha_to_coverage_of(const VkGraphicsPipelineCreateInfo& info,
                                         const StatedFacts& stated);
inline std::optional<bool> alpha_to_coverage_of(const VkComputePipelineCreateInfo&,
                                                const StatedFacts&) {
  return false;
}

// True if draws may use a packed draw index: a complete pipeline with vertex and fragment stages
// alone and no attributes with instance rate.
bool may_number_draws(const VkGraphicsPipelineCreateInfo& info);
inline bool may_number_draws(const VkComputePipelineCreateInfo&) { return false; }

// The vertex stream that is rasterized.
inline constexpr uint32_t kNoStream = ~0u;
uint32_t rasterized_stream_of(const VkGraphicsPipelineCreateInfo& info);
inline uint32_t rasterized_stream_of(const VkComputePipelineCreateInfo&) { return 0; }

// True if a driver reads the render pass object: not where only a library's vertex input is
// described.
bool uses_render_pass(const VkGraphicsPipelineCreateInfo& info);

// The render pass object, or the views of dynamic rendering.
VkRenderPass render_pass_of(const VkGraphicsPipelineCreateInfo& info);
uint32_t view_mask_of(const VkGraphicsPipelineCreateInfo& info);
inline VkRenderPass render_pass_of(const VkComputePipelineCreateInfo&) { return VK_NULL_HANDLE; }
inline uint32_t view_mask_of(const VkComputePipelineCreateInfo&) { return 0; }

}  // namespace tally::counters
