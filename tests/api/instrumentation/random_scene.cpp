#include "api/instrumentation/random_scene.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <utility>

#include "dead.frag.h"
#include "discard.frag.h"
#include "early_sums.frag.h"
#include "early_sums_alone.frag.h"
#include "elsewhere.frag.h"
#include "empty.frag.h"
#include "facing.frag.h"
#include "late_sums.frag.h"
#include "own_depth.frag.h"
#include "painted.frag.h"
#include "plain.frag.h"
#include "sampled.frag.h"
#include "scattered.vert.h"
#include "scattered_attributes.vert.h"
#include "scattered_captured.vert.h"
#include "scattered_clipped.vert.h"
#include "scattered_layers.vert.h"
#include "support/pipeline.h"
#include "support/queries.h"
#include "texel.frag.h"
#include "textured.frag.h"

namespace tally::test {
namespace {

constexpr auto kGraphicsPoint = VK_PIPELINE_BIND_POINT_GRAPHICS;
// The driver counts so many draws of a recording before values are read.
constexpr uint32_t kMaxByDriver = 64;
constexpr uint32_t kVertices = 4096, kInstances = 64, kIndices = 8192, kQueries = 64;
// Indices from here on contain restarts.
constexpr uint32_t kRestarts = kIndices / 2;
constexpr uint32_t kViewports = 3, kLayers = 3;

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  uint32_t below(uint32_t count) { return static_cast<uint32_t>(engine_() % count); }
  bool one_in(uint32_t count) { return below(count) == 0; }
  float unit() { return static_cast<float>(below(1 << 20)) / (1 << 20); }
  template <typename T>
  T of(std::initializer_list<T> values) {
    return *(values.begin() + below(static_cast<uint32_t>(values.size())));
  }

 private:
  std::mt19937_64 engine_;
};

struct Push {
  uint32_t seed;
  float spread, snap, nearness, cover;
};

// A pipeline, and how draws must use it.
struct Bound {
  Pipeline pipeline;
  std::vector<Pipeline> libraries;
  bool by_driver = false;
  bool attributes = false;
  bool captured = false;
  bool restarts = false;
  bool writes_color = true;  // the color attachment
  VkPrimitiveTopology topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
  std::vector<VkDynamicState> dynamic;
};

bool may_restart(VkPrimitiveTopology topology) {
  return topology == VK_PRIMITIVE_TOPOLOGY_LINE_STRIP ||
         topology == VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP ||
         topology == VK_PRIMITIVE_TOPOLOGY_TRIANGLE_FAN ||
         topology == VK_PRIMITIVE_TOPOLOGY_LINE_STRIP_WITH_ADJACENCY ||
         topology == VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP_WITH_ADJACENCY;
}

class RandomScene {
 public:
  RandomScene(Context& context, const SceneExtensions& extensions, uint64_t seed,
              VkSampleCountFlagBits samples);
  SceneOutcome run();

 private:
  // --- objects
  void create_images();
  void create_pass(bool clears, RenderPass& pass);
  void fill_buffers();
  std::span<const uint32_t> vertex_code(Bound& bound);
  std::span<const uint32_t> fragment_code(Bound& bound);
  void create_pipeline();

  // --- recordings
  void begin_recording(VkCommandBuffer commands);
  void end_recording(VkCommandBuffer commands);
  void record(VkCommandBuffer commands);
  void record_pass(VkCommandBuffer commands);
  void record_secondary_pass(VkCommandBuffer commands);
  void begin_pass(VkCommandBuffer commands, bool clears, VkRenderingFlags flags);
  void end_pass(VkCommandBuffer commands);
  void draw_some(VkCommandBuffer commands);
  const Bound& bind(VkCommandBuffer commands);
  void set_dynamic_state(VkCommandBuffer commands, const Bound& bound);
  void draw(VkCommandBuffer commands, const Bound& bound);
  void draw_captured(VkCommandBuffer commands, const Bound& bound);
  void change_range(VkCommandBuffer commands);
  void end_range(VkCommandBuffer commands);
  void begin_condition(VkCommandBuffer commands);

  // --- executions
  void execute();
  VkCommandBuffer begin_commands(VkCommandBufferUsageFlags usage);
  void copy_images(SceneOutcome& outcome);
  void read_values(SceneOutcome& outcome);

  template <typename Function>
  Function function(const char* name) const {
    return context_.function<Function>(name);
  }
  void note_draw(const Bound& bound) {
    if (measuring_ && bound.by_driver && may_count_ && ++counted_ <= kMaxByDriver) ++by_driver_;
  }

  Context& context_;
  const SceneExtensions& extensions_;
  Dice dice_;
  const VkSampleCountFlagBits samples_;

  VkExtent2D extent_{};
  VkFormat color_format_ = VK_FORMAT_UNDEFINED, depth_format_ = VK_FORMAT_UNDEFINED;
  uint32_t layers_ = 1, view_mask_ = 0;
  bool with_passes_ = false;   // VkRenderPass, not dynamic rendering
  bool all_measured_ = false;  // all pipelines have the flag, all draws are in a range
  bool with_queries_ = false;  // of the application

  Image color_, depth_, texture_;
  Sampler sampler_;
  RenderPass clearing_, loading_;
  Framebuffer framebuffer_;
  DescriptorSet set_;
  PipelineLayout layout_;
  std::vector<Bound> pipelines_;
  Buffer vertices_, instances_, indices_, arguments_, numbers_, conditions_, captured_, counter_,
      sums_;
  std::optional<Instrumentation> objects_[2];
  QueryPool occlusion_, timestamps_, feedback_;

  // --- of the recording
  const Instrumentation* measuring_ = nullptr;
  bool may_count_ = false;
  bool conditional_ = false;  // around the pass
  uint32_t counted_ = 0, queries_ = 0, timestamp_ = 0;
  uint64_t by_driver_ = 0;
};

RandomScene::RandomScene(Context& context, const SceneExtensions& extensions, uint64_t seed,
                         VkSampleCountFlagBits samples)
    : context_(context), extensions_(extensions), dice_(seed), samples_(samples) {
  extent_ =
      dice_.of<VkExtent2D>({{1, 1}, {65, 63}, {64, 64}, {201, 203}, {16, 130}, {5, 3}, {128, 128}});
  color_format_ = dice_.of({VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R8G8B8A8_UNORM,
                            VK_FORMAT_B8G8R8A8_UNORM, VK_FORMAT_R32_SFLOAT, VK_FORMAT_UNDEFINED});
  all_measured_ = !dice_.one_in(3);
  // A driver may drop what counts behind opaque triangles that do not count, unless there is depth.
  depth_format_ = all_measured_
                      ? dice_.of({VK_FORMAT_UNDEFINED, VK_FORMAT_UNDEFINED, VK_FORMAT_D32_SFLOAT,
                                  VK_FORMAT_D16_UNORM, VK_FORMAT_D32_SFLOAT_S8_UINT})
                      : dice_.of({VK_FORMAT_D32_SFLOAT, VK_FORMAT_D32_SFLOAT_S8_UINT});
  const uint32_t shape = dice_.below(10);
  if (shape == 0) view_mask_ = dice_.of({1u, 3u, 6u});
  if (shape == 1 || shape == 2 || view_mask_ != 0) layers_ = kLayers;
  with_passes_ = dice_.one_in(2);
  with_queries_ = view_mask_ == 0 && dice_.one_in(3);
  create_images();
  fill_buffers();
  const uint32_t pipelines = 1 + dice_.below(3);
  for (uint32_t i = 0; i < pipelines; ++i) create_pipeline();
  for (auto& object : objects_) object.emplace(context);
  occlusion_ = make_query_pool(context, VK_QUERY_TYPE_OCCLUSION, kQueries);
  timestamps_ = make_query_pool(context, VK_QUERY_TYPE_TIMESTAMP, kQueries);
  if (extensions.transform_feedback) {
    feedback_ = make_query_pool(context, VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT, kQueries);
  }
}

// --- objects

void RandomScene::create_images() {
  const VkDevice device = context_.device();
  std::vector<VkImageView> views;
  constexpr VkImageUsageFlags kCopied =
      VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
  if (color_format_ != VK_FORMAT_UNDEFINED) {
    color_ = Image(context_, {extent_, color_format_, VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | kCopied,
                              samples_, layers_});
    views.push_back(color_.view());
  }
  if (depth_format_ != VK_FORMAT_UNDEFINED) {
    depth_ =
        Image(context_, {extent_, depth_format_,
                         VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT | kCopied, samples_, layers_});
    views.push_back(depth_.view());
  }
  texture_ =
      Image(context_, {extent_, dice_.of({VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_B8G8R8A8_UNORM}),
                       VK_IMAGE_USAGE_SAMPLED_BIT | kCopied});
  VkSamplerCreateInfo sampler{VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
  sampler.magFilter = sampler.minFilter = dice_.of({VK_FILTER_NEAREST, VK_FILTER_LINEAR});
  sampler.addressModeU = sampler.addressModeV = sampler.addressModeW =
      dice_.of({VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE, VK_SAMPLER_ADDRESS_MODE_REPEAT});
  VkSampler sampler_handle = VK_NULL_HANDLE;
  check(vkCreateSampler(device, &sampler, nullptr, &sampler_handle));
  sampler_ = {device, sampler_handle};

  const Buffer texels(context_, VkDeviceSize{4} * extent_.width * extent_.height,
                      VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
  for (uint32_t& texel : texels.as<uint32_t>()) texel = dice_.below(~0u);
  context_.run([&](VkCommandBuffer commands) {
    for (const Image* image : {&color_, &depth_, &texture_}) {
      if (*image == VK_NULL_HANDLE) continue;
      change_layout(commands, *image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
      const VkImageSubresourceRange all{image->aspect(), 0, 1, 0, VK_REMAINING_ARRAY_LAYERS};
      const VkClearColorValue black{};
      const VkClearDepthStencilValue far{1, 0};
      if (image == &depth_) {
        vkCmdClearDepthStencilImage(commands, *image, VK_IMAGE_LAYOUT_GENERAL, &far, 1, &all);
      } else {
        vkCmdClearColorImage(commands, *image, VK_IMAGE_LAYOUT_GENERAL, &black, 1, &all);
      }
    }
    full_barrier(commands);
    VkBufferImageCopy copy{};
    copy.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    copy.imageExtent = {extent_.width, extent_.height, 1};
    vkCmdCopyBufferToImage(commands, texels, texture_, VK_IMAGE_LAYOUT_GENERAL, 1, &copy);
    full_barrier(commands);
  });
  if (!with_passes_) return;
  create_pass(true, clearing_);
  create_pass(false, loading_);
  VkFramebufferCreateInfo info{VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO};
  info.renderPass = clearing_;
  info.attachmentCount = static_cast<uint32_t>(views.size());
  info.pAttachments = views.data();
  info.width = extent_.width;
  info.height = extent_.height;
  info.layers = view_mask_ != 0 ? 1 : layers_;
  VkFramebuffer handle = VK_NULL_HANDLE;
  check(vkCreateFramebuffer(device, &info, nullptr, &handle));
  framebuffer_ = {device, handle};
}

void RandomScene::create_pass(bool clears, RenderPass& pass) {
  const VkAttachmentLoadOp load = clears ? VK_ATTACHMENT_LOAD_OP_CLEAR : VK_ATTACHMENT_LOAD_OP_LOAD;
  std::vector<VkAttachmentDescription> attachments;
  const auto add = [&](VkFormat format) {
    const auto index = static_cast<uint32_t>(attachments.size());
    if (format == VK_FORMAT_UNDEFINED) return VkAttachmentReference{VK_ATTACHMENT_UNUSED, {}};
    attachments.push_back({0, format, samples_, load, VK_ATTACHMENT_STORE_OP_STORE, load,
                           VK_ATTACHMENT_STORE_OP_STORE, VK_IMAGE_LAYOUT_GENERAL,
                           VK_IMAGE_LAYOUT_GENERAL});
    return VkAttachmentReference{index, VK_IMAGE_LAYOUT_GENERAL};
  };
  const VkAttachmentReference color = add(color_format_);
  const VkAttachmentReference depth = add(depth_format_);
  VkSubpassDescription subpass{};
  subpass.pipelineBindPoint = kGraphicsPoint;
  subpass.colorAttachmentCount = 1;
  subpass.pColorAttachments = &color;
  subpass.pDepthStencilAttachment = &depth;
  VkRenderPassMultiviewCreateInfo multiview{VK_STRUCTURE_TYPE_RENDER_PASS_MULTIVIEW_CREATE_INFO};
  multiview.subpassCount = 1;
  multiview.pViewMasks = &view_mask_;
  VkRenderPassCreateInfo info{VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                              view_mask_ != 0 ? &multiview : nullptr};
  info.attachmentCount = static_cast<uint32_t>(attachments.size());
  info.pAttachments = attachments.data();
  info.subpassCount = 1;
  info.pSubpasses = &subpass;
  VkRenderPass handle = VK_NULL_HANDLE;
  check(vkCreateRenderPass(context_.device(), &info, nullptr, &handle));
  pass = {context_.device(), handle};
}

void RandomScene::fill_buffers() {
  vertices_ = Buffer(context_, kVertices * 4, VK_BUFFER_USAGE_VERTEX_BUFFER_BIT);
  for (uint32_t& vertex : vertices_.as<uint32_t>()) vertex = dice_.below(64);
  instances_ = Buffer(context_, kInstances * 4, VK_BUFFER_USAGE_VERTEX_BUFFER_BIT);
  for (uint32_t& instance : instances_.as<uint32_t>()) instance = dice_.below(4);
  indices_ = Buffer(context_, kIndices * 4, VK_BUFFER_USAGE_INDEX_BUFFER_BIT);
  const uint32_t distinct = dice_.of({4u, 40u, 1000u});
  for (uint32_t i = 0; i < kIndices; ++i) {
    indices_.as<uint32_t>()[i] = i >= kRestarts && dice_.one_in(7) ? ~0u : dice_.below(distinct);
  }
  arguments_ = Buffer(context_, 4096, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
  numbers_ = Buffer(context_, 64, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
  for (uint32_t i = 0; i < 16; ++i) numbers_.as<uint32_t>()[i] = i % 6;
  if (extensions_.conditional_rendering) {
    conditions_ = Buffer(context_, 64, VK_BUFFER_USAGE_CONDITIONAL_RENDERING_BIT_EXT);
    for (uint32_t i = 0; i < 16; ++i) conditions_.as<uint32_t>()[i] = i % 2;
  }
  if (extensions_.transform_feedback) {
    captured_ = Buffer(context_, 1 << 16, VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_BUFFER_BIT_EXT);
    counter_ = Buffer(context_, 64,
                      VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_COUNTER_BUFFER_BIT_EXT |
                          VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
  }
  // Indirect draws: 32 of vertices, then 32 of indices.
  for (VkDrawIndirectCommand& draw : arguments_.as<VkDrawIndirectCommand>().first(32)) {
    draw = {dice_.below(40), dice_.below(3), dice_.below(5), dice_.below(3)};
  }
  const auto indexed = std::span(
      reinterpret_cast<VkDrawIndexedIndirectCommand*>(arguments_.as<std::byte>().data() + 1024),
      32);
  for (VkDrawIndexedIndirectCommand& draw : indexed) {
    draw = {dice_.below(40), dice_.below(3), dice_.below(50), 0, dice_.below(3)};
  }
  sums_ = Buffer(context_, 64);
  const std::array bindings = {
      VkDescriptorSetLayoutBinding{0, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1,
                                   VK_SHADER_STAGE_ALL, nullptr},
      VkDescriptorSetLayoutBinding{1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_ALL,
                                   nullptr}};
  set_ = DescriptorSet(context_, bindings);
  const VkDescriptorImageInfo image{sampler_, texture_.view(), VK_IMAGE_LAYOUT_GENERAL};
  const VkDescriptorBufferInfo buffer{sums_, 0, VK_WHOLE_SIZE};
  set_.write(0, &image);
  set_.write(1, &buffer);
  const VkDescriptorSetLayout layout = set_.layout();
  layout_ = make_pipeline_layout(context_, {&layout, 1}, sizeof(Push));
}

std::span<const uint32_t> RandomScene::vertex_code(Bound& bound) {
  const bool captures = extensions_.transform_feedback && view_mask_ == 0 && dice_.one_in(5);
  if (captures) {
    bound.captured = true;
    return scattered_captured_vert;
  }
  const uint32_t kind = dice_.below(6);
  if (kind == 0) {
    bound.attributes = true;
    return scattered_attributes_vert;
  }
  if (kind == 1 && view_mask_ == 0 && context_.features().multiViewport)
    return scattered_layers_vert;
  if (kind == 2) return scattered_clipped_vert;
  return scattered_vert;
}

// Nothing: there is no fragment shader.
std::span<const uint32_t> RandomScene::fragment_code(Bound& bound) {
  const bool late = dice_.one_in(8);
  if (late) {
    bound.by_driver = false;
    switch (dice_.below(3)) {
      case 0:
        return late_sums_frag;
      case 1:
        return own_depth_frag;
      default:
        return discard_frag;
    }
  }
  bound.by_driver = true;
  switch (dice_.below(samples_ == VK_SAMPLE_COUNT_1_BIT ? 9 : 10)) {
    case 0:
      bound.writes_color = false;
      return {};
    case 1:
      bound.by_driver = false;  // it counts no invocations of a shader without code
      bound.writes_color = false;
      return dice_.one_in(2) ? std::span<const uint32_t>(empty_frag) : dead_frag;
    case 2:
      bound.by_driver = false;  // it may drop fragments at the end of the shader
      if (dice_.one_in(2)) return early_sums_frag;
      bound.writes_color = false;
      return early_sums_alone_frag;
    case 3:
      return facing_frag;
    case 4:
      return texel_frag;
    case 5:
      return textured_frag;
    case 6:
      return painted_frag;
    case 7:
      bound.writes_color = false;
      return elsewhere_frag;
    case 9:
      return sampled_frag;
    default:
      return plain_frag;
  }
}

void RandomScene::create_pipeline() {
  Bound& bound = pipelines_.emplace_back();
  const std::span<const uint32_t> vertex = vertex_code(bound);
  const std::span<const uint32_t> fragment = fragment_code(bound);
  const bool flagged = all_measured_ || !dice_.one_in(4);
  if (!flagged || view_mask_ != 0) bound.by_driver = false;

  const ShaderModule vertex_module = make_shader_module(context_, vertex);
  ShaderModule fragment_module;
  std::vector<VkPipelineShaderStageCreateInfo> stages(
      1, {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO});
  stages[0].stage = VK_SHADER_STAGE_VERTEX_BIT;
  stages[0].module = vertex_module;
  stages[0].pName = "main";
  if (!fragment.empty()) {
    fragment_module = make_shader_module(context_, fragment);
    stages.push_back(stages[0]);
    stages[1].stage = VK_SHADER_STAGE_FRAGMENT_BIT;
    stages[1].module = fragment_module;
  }

  bound.topology = dice_.of(
      {VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST, VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
       VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP, VK_PRIMITIVE_TOPOLOGY_TRIANGLE_FAN,
       VK_PRIMITIVE_TOPOLOGY_POINT_LIST, VK_PRIMITIVE_TOPOLOGY_LINE_LIST,
       VK_PRIMITIVE_TOPOLOGY_LINE_STRIP, VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST_WITH_ADJACENCY,
       VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP_WITH_ADJACENCY,
       VK_PRIMITIVE_TOPOLOGY_LINE_STRIP_WITH_ADJACENCY});
  bound.restarts = (extensions_.list_restart || may_restart(bound.topology)) && dice_.one_in(3);

  std::array<VkVertexInputBindingDescription, 2> bindings = {
      VkVertexInputBindingDescription{0, 4, VK_VERTEX_INPUT_RATE_VERTEX},
      VkVertexInputBindingDescription{1, 4, VK_VERTEX_INPUT_RATE_INSTANCE}};
  const std::array attributes = {VkVertexInputAttributeDescription{0, 0, VK_FORMAT_R32_UINT, 0},
                                 VkVertexInputAttributeDescription{1, 1, VK_FORMAT_R32_UINT, 0}};
  VkPipelineVertexInputStateCreateInfo input{
      VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
  if (bound.attributes) {
    input.vertexBindingDescriptionCount = input.vertexAttributeDescriptionCount = 2;
    input.pVertexBindingDescriptions = bindings.data();
    input.pVertexAttributeDescriptions = attributes.data();
  }
  const VkPipelineInputAssemblyStateCreateInfo assembly{
      VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO, nullptr, 0, bound.topology,
      bound.restarts};
  VkPipelineViewportStateCreateInfo viewport{VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO};
  viewport.viewportCount = viewport.scissorCount =
      context_.features().multiViewport ? kViewports : 1;
  VkPipelineRasterizationStateCreateInfo raster{
      VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO};
  raster.depthClampEnable = context_.features().depthClamp && dice_.one_in(3);
  // Debian 12's validation layer compares the ignored number of samples with the attachments'.
  raster.rasterizerDiscardEnable = dice_.one_in(12) && samples_ == VK_SAMPLE_COUNT_1_BIT;
  if (context_.features().fillModeNonSolid) {
    raster.polygonMode = dice_.of({VK_POLYGON_MODE_FILL, VK_POLYGON_MODE_FILL, VK_POLYGON_MODE_FILL,
                                   VK_POLYGON_MODE_LINE, VK_POLYGON_MODE_POINT});
  }
  raster.cullMode =
      dice_.of<VkCullModeFlags>({VK_CULL_MODE_NONE, VK_CULL_MODE_NONE, VK_CULL_MODE_BACK_BIT,
                                 VK_CULL_MODE_FRONT_BIT, VK_CULL_MODE_FRONT_AND_BACK});
  raster.frontFace = dice_.of({VK_FRONT_FACE_CLOCKWISE, VK_FRONT_FACE_COUNTER_CLOCKWISE});
  raster.depthBiasEnable = dice_.one_in(4);
  raster.depthBiasConstantFactor = 100;
  raster.depthBiasSlopeFactor = 1;
  raster.lineWidth = context_.features().wideLines ? dice_.of({1.0f, 1.0f, 5.0f}) : 1.0f;
  VkPipelineMultisampleStateCreateInfo multisample{
      VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO};
  const VkSampleMask mask = dice_.of<VkSampleMask>({~0u, ~0u, ~0u, 1u, 0u, 6u});
  multisample.rasterizationSamples = samples_;
  multisample.pSampleMask = &mask;
  multisample.sampleShadingEnable =
      samples_ != VK_SAMPLE_COUNT_1_BIT && context_.features().sampleRateShading && dice_.one_in(3);
  multisample.alphaToCoverageEnable = bound.writes_color && dice_.one_in(10);
  const bool by_driver_without_samples = bound.by_driver;
  if (multisample.alphaToCoverageEnable) bound.by_driver = false;
  multisample.minSampleShading = dice_.of({0.0f, 0.5f, 1.0f});
  VkPipelineDepthStencilStateCreateInfo depth{
      VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO};
  depth.depthTestEnable = !dice_.one_in(3);
  depth.depthWriteEnable = dice_.one_in(2);
  const auto compare = [&] { return static_cast<VkCompareOp>(dice_.below(8)); };
  const auto operation = [&] { return static_cast<VkStencilOp>(dice_.below(8)); };
  depth.depthCompareOp = compare();
  depth.stencilTestEnable = has_stencil(depth_format_) && dice_.one_in(2);
  for (VkStencilOpState* side : {&depth.front, &depth.back}) {
    *side = {operation(), operation(), operation(), compare(), 0xff, 0xff, dice_.below(3)};
  }
  depth.depthBoundsTestEnable = context_.features().depthBounds && dice_.one_in(4);
  depth.minDepthBounds = 0.25f;
  depth.maxDepthBounds = 0.75f;
  VkPipelineColorBlendAttachmentState attachment{};
  attachment.blendEnable = dice_.one_in(3) && color_format_ != VK_FORMAT_R32_SFLOAT;
  attachment.srcColorBlendFactor =
      dice_.of({VK_BLEND_FACTOR_ONE, VK_BLEND_FACTOR_SRC_ALPHA, VK_BLEND_FACTOR_ZERO});
  attachment.dstColorBlendFactor =
      dice_.of({VK_BLEND_FACTOR_ONE, VK_BLEND_FACTOR_ONE_MINUS_SRC_ALPHA, VK_BLEND_FACTOR_ZERO});
  attachment.srcAlphaBlendFactor = VK_BLEND_FACTOR_ONE;
  attachment.dstAlphaBlendFactor = dice_.of({VK_BLEND_FACTOR_ONE, VK_BLEND_FACTOR_ZERO});
  attachment.colorWriteMask =
      bound.writes_color ? dice_.of<VkColorComponentFlags>({0xf, 0xf, 0xf, 0x7, 0}) : 0;
  VkPipelineColorBlendStateCreateInfo blend{
      VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO};
  // A render pass has a reference to a color attachment in any case.
  blend.attachmentCount = with_passes_ || color_format_ != VK_FORMAT_UNDEFINED ? 1 : 0;
  blend.pAttachments = &attachment;
  blend.logicOpEnable = context_.features().logicOp && dice_.one_in(8);
  blend.logicOp = dice_.of({VK_LOGIC_OP_XOR, VK_LOGIC_OP_NO_OP, VK_LOGIC_OP_CLEAR});

  bound.dynamic = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
  for (const VkDynamicState state :
       {VK_DYNAMIC_STATE_CULL_MODE, VK_DYNAMIC_STATE_DEPTH_TEST_ENABLE,
        VK_DYNAMIC_STATE_DEPTH_WRITE_ENABLE, VK_DYNAMIC_STATE_DEPTH_COMPARE_OP,
        VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE, VK_DYNAMIC_STATE_STENCIL_REFERENCE,
        VK_DYNAMIC_STATE_PRIMITIVE_TOPOLOGY}) {
    if (dice_.one_in(5)) bound.dynamic.push_back(state);
  }
  const VkPipelineDynamicStateCreateInfo dynamic{
      VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO, nullptr, 0,
      static_cast<uint32_t>(bound.dynamic.size()), bound.dynamic.data()};

  VkPipelineCreateFlags2CreateInfoKHR flags{
      VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR, nullptr,
      flagged ? VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM : 0};
  VkPipelineRenderingCreateInfo rendering{VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO, &flags};
  rendering.viewMask = view_mask_;
  rendering.colorAttachmentCount = blend.attachmentCount;
  rendering.pColorAttachmentFormats = &color_format_;
  rendering.depthAttachmentFormat = depth_format_;
  if (has_stencil(depth_format_)) rendering.stencilAttachmentFormat = depth_format_;
  VkGraphicsPipelineCreateInfo info{VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO};
  info.pNext = with_passes_ ? static_cast<const void*>(&flags) : &rendering;
  info.stageCount = static_cast<uint32_t>(stages.size());
  info.pStages = stages.data();
  info.pVertexInputState = &input;
  info.pInputAssemblyState = &assembly;
  info.pViewportState = &viewport;
  info.pRasterizationState = &raster;
  info.pMultisampleState = &multisample;
  info.pDepthStencilState = &depth;
  info.pColorBlendState = &blend;
  info.pDynamicState = &dynamic;
  info.layout = layout_;
  info.renderPass = clearing_;
  const auto create = [&](const VkGraphicsPipelineCreateInfo& wanted) {
    VkPipeline handle = VK_NULL_HANDLE;
    check(
        vkCreateGraphicsPipelines(context_.device(), VK_NULL_HANDLE, 1, &wanted, nullptr, &handle));
    return Pipeline(context_.device(), handle);
  };
  if (!extensions_.libraries || !dice_.one_in(5)) {
    // Without rasterization the state of samples is ignored.
    const bool dynamic_discard =
        std::ranges::count(bound.dynamic, VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE) != 0;
    if (raster.rasterizerDiscardEnable && !dynamic_discard) {
      bound.by_driver = by_driver_without_samples;
    }
    bound.pipeline = create(info);
    return;
  }
  // Linked from two libraries: what comes before fragments, and the rest.
  std::vector<VkPipeline> parts;
  const uint64_t flag = flags.flags;
  for (const bool first : {true, false}) {
    flags.flags = flag | VK_PIPELINE_CREATE_LIBRARY_BIT_KHR;
    const VkGraphicsPipelineLibraryCreateInfoEXT part{
        VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT, const_cast<void*>(info.pNext),
        first
            ? VkGraphicsPipelineLibraryFlagsEXT{VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT |
                                                VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT}
            : VkGraphicsPipelineLibraryFlagsEXT{
                  VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT |
                  VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT}};
    rendering.colorAttachmentCount = first ? 0 : blend.attachmentCount;
    rendering.depthAttachmentFormat = first ? VK_FORMAT_UNDEFINED : depth_format_;
    rendering.stencilAttachmentFormat =
        first || !has_stencil(depth_format_) ? VK_FORMAT_UNDEFINED : depth_format_;
    VkGraphicsPipelineCreateInfo library = info;
    library.pNext = &part;
    library.stageCount = first ? 1 : static_cast<uint32_t>(stages.size()) - 1;
    library.pStages = first ? stages.data() : stages.data() + 1;
    bound.libraries.push_back(create(library));
    parts.push_back(bound.libraries.back());
  }
  bound.pipeline = link_graphics_pipeline(context_, layout_, parts, flag);
}

// --- recordings

void RandomScene::change_range(VkCommandBuffer commands) {
  end_range(commands);
  if (!all_measured_ && dice_.one_in(3)) return;
  measuring_ = &*objects_[dice_.below(2)];
  measuring_->begin(commands);
}

void RandomScene::end_range(VkCommandBuffer commands) {
  if (measuring_) measuring_->end(commands);
  measuring_ = nullptr;
}

void RandomScene::begin_condition(VkCommandBuffer commands) {
  VkConditionalRenderingBeginInfoEXT info{VK_STRUCTURE_TYPE_CONDITIONAL_RENDERING_BEGIN_INFO_EXT};
  info.buffer = conditions_;
  info.offset = dice_.below(2) * 4;
  info.flags = dice_.one_in(3) ? VK_CONDITIONAL_RENDERING_INVERTED_BIT_EXT : 0;
  function<PFN_vkCmdBeginConditionalRenderingEXT>("vkCmdBeginConditionalRenderingEXT")(commands,
                                                                                       &info);
}

void RandomScene::begin_pass(VkCommandBuffer commands, bool clears, VkRenderingFlags flags) {
  const VkRect2D area{{0, 0}, extent_};
  std::array<VkClearValue, 2> values{};
  VkClearValue far{};
  far.depthStencil = {1, 0};
  size_t used = 0;
  if (color_format_ != VK_FORMAT_UNDEFINED) values[used++].color.float32[1] = 0.5f;
  if (depth_format_ != VK_FORMAT_UNDEFINED) values[used++] = far;
  if (with_passes_) {
    VkRenderPassBeginInfo info{VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO};
    info.renderPass = clears ? clearing_ : loading_;
    info.framebuffer = framebuffer_;
    info.renderArea = area;
    info.clearValueCount = static_cast<uint32_t>(used);
    info.pClearValues = values.data();
    vkCmdBeginRenderPass(commands, &info,
                         (flags & VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT) != 0
                             ? VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS
                             : VK_SUBPASS_CONTENTS_INLINE);
    return;
  }
  const auto attachment = [&](const Image& image, const VkClearValue& value) {
    VkRenderingAttachmentInfo info{VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO};
    info.imageView = image.view();
    info.imageLayout = VK_IMAGE_LAYOUT_GENERAL;
    info.loadOp = clears ? VK_ATTACHMENT_LOAD_OP_CLEAR : VK_ATTACHMENT_LOAD_OP_LOAD;
    info.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
    info.clearValue = value;
    return info;
  };
  const VkRenderingAttachmentInfo color = attachment(color_, values[0]);
  const VkRenderingAttachmentInfo depth = attachment(depth_, far);
  VkRenderingInfo info{VK_STRUCTURE_TYPE_RENDERING_INFO};
  info.flags = flags;
  info.renderArea = area;
  info.layerCount = layers_;
  info.viewMask = view_mask_;
  info.colorAttachmentCount = color_format_ != VK_FORMAT_UNDEFINED ? 1 : 0;
  info.pColorAttachments = &color;
  info.pDepthAttachment = depth_format_ != VK_FORMAT_UNDEFINED ? &depth : nullptr;
  info.pStencilAttachment = has_stencil(depth_format_) ? &depth : nullptr;
  vkCmdBeginRendering(commands, &info);
}

void RandomScene::end_pass(VkCommandBuffer commands) {
  if (with_passes_) {
    vkCmdEndRenderPass(commands);
  } else {
    vkCmdEndRendering(commands);
  }
}

void RandomScene::set_dynamic_state(VkCommandBuffer commands, const Bound& bound) {
  const uint32_t count = context_.features().multiViewport ? kViewports : 1;
  std::array<VkViewport, kViewports> viewports{};
  std::array<VkRect2D, kViewports> scissors{};
  const bool whole = dice_.one_in(2);
  for (uint32_t i = 0; i < kViewports; ++i) {
    const auto width = static_cast<float>(extent_.width);
    const auto height = static_cast<float>(extent_.height);
    viewports[i] = {0, 0, width, height, 0, 1};
    scissors[i] = {{0, 0}, extent_};
    if (whole) continue;
    viewports[i] = {dice_.unit() * width / 2,       dice_.unit() * height / 2,
                    dice_.unit() * width + 1,       dice_.unit() * height + 1,
                    dice_.one_in(3) ? 0.25f : 0.0f, dice_.one_in(3) ? 0.75f : 1.0f};
    if (dice_.one_in(4)) {
      viewports[i].y += viewports[i].height;
      viewports[i].height = -viewports[i].height;
    }
    if (dice_.one_in(2)) continue;
    const uint32_t x = dice_.below(extent_.width + 1), y = dice_.below(extent_.height + 1);
    scissors[i] = {{static_cast<int32_t>(x), static_cast<int32_t>(y)},
                   {dice_.below(extent_.width + 1 - x), dice_.below(extent_.height + 1 - y)}};
  }
  vkCmdSetViewport(commands, 0, count, viewports.data());
  vkCmdSetScissor(commands, 0, count, scissors.data());
  for (const VkDynamicState state : bound.dynamic) {
    switch (state) {
      case VK_DYNAMIC_STATE_CULL_MODE:
        vkCmdSetCullMode(commands, dice_.below(4));
        break;
      case VK_DYNAMIC_STATE_DEPTH_TEST_ENABLE:
        vkCmdSetDepthTestEnable(commands, dice_.below(2));
        break;
      case VK_DYNAMIC_STATE_DEPTH_WRITE_ENABLE:
        vkCmdSetDepthWriteEnable(commands, dice_.below(2));
        break;
      case VK_DYNAMIC_STATE_DEPTH_COMPARE_OP:
        vkCmdSetDepthCompareOp(commands, static_cast<VkCompareOp>(dice_.below(8)));
        break;
      case VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE:
        vkCmdSetRasterizerDiscardEnable(commands, dice_.one_in(4));
        break;
      case VK_DYNAMIC_STATE_STENCIL_REFERENCE:
        vkCmdSetStencilReference(commands, VK_STENCIL_FACE_FRONT_AND_BACK, dice_.below(3));
        break;
      case VK_DYNAMIC_STATE_PRIMITIVE_TOPOLOGY:
        vkCmdSetPrimitiveTopology(commands, bound.topology);
        break;
      default:
        break;
    }
  }
}

const Bound& RandomScene::bind(VkCommandBuffer commands) {
  const Bound& bound = pipelines_[dice_.below(static_cast<uint32_t>(pipelines_.size()))];
  vkCmdBindPipeline(commands, kGraphicsPoint, bound.pipeline);
  set_.bind(commands, layout_, kGraphicsPoint);
  set_dynamic_state(commands, bound);
  if (bound.attributes) {
    const std::array<VkBuffer, 2> buffers = {vertices_, instances_};
    const std::array<VkDeviceSize, 2> offsets = {};
    vkCmdBindVertexBuffers(commands, 0, 2, buffers.data(), offsets.data());
  }
  return bound;
}

void RandomScene::draw(VkCommandBuffer commands, const Bound& bound) {
  const bool large = dice_.one_in(6);
  const uint32_t vertices = large
                                ? dice_.of({1000u, 1025u, 2999u, bound.attributes ? 3000u : 20000u})
                                : dice_.of({0u, 1u, 2u, 3u, 3u, 4u, 5u, 6u, 7u, 30u, 100u});
  const uint32_t instances = large ? 1 : dice_.of({0u, 1u, 1u, 1u, 2u, 5u});
  const Push push{dice_.below(1000), large ? 0.04f : dice_.of({0.5f, 1.0f, 3.0f, 100.0f}),
                  dice_.of({4.0f, 16.0f, 1000.0f}),
                  large ? 0.0f : dice_.of({0.0f, 0.0f, 1.0f, 3.0f}),
                  !large && dice_.one_in(3) ? 1.0f : 0.0f};
  vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, sizeof push, &push);
  const uint32_t first = dice_.below(50), first_instance = dice_.below(4);
  const VkIndexType type = dice_.of({VK_INDEX_TYPE_UINT16, VK_INDEX_TYPE_UINT32});
  // Halves of a restart are restarts; the upper halves of the others are zeros.
  const VkDeviceSize begin = bound.restarts ? VkDeviceSize{kRestarts} * 4 : 0;
  const uint32_t indices = std::min(vertices, kRestarts - 100);
  const bool many = context_.features().multiDrawIndirect;
  note_draw(bound);
  const uint32_t kind = dice_.below(extensions_.multi_draw ? 10 : 8);
  if (kind >= 3) vkCmdBindIndexBuffer(commands, indices_, begin, type);
  switch (kind) {
    case 0:
      vkCmdDrawIndirect(commands, arguments_, 64, many ? dice_.below(9) : 1,
                        sizeof(VkDrawIndirectCommand));
      break;
    case 1:
      vkCmdDrawIndirectCount(commands, arguments_, 32, numbers_, dice_.below(16) * 4, 8,
                             sizeof(VkDrawIndirectCommand));
      break;
    case 3:
    case 4:
      vkCmdDrawIndexed(commands, indices, instances, first, 0, first_instance);
      break;
    case 5:
      vkCmdDrawIndexedIndirect(commands, arguments_, 1024, many ? dice_.below(9) : 1,
                               sizeof(VkDrawIndexedIndirectCommand));
      break;
    case 6:
      vkCmdDrawIndexedIndirectCount(commands, arguments_, 1024, numbers_, dice_.below(16) * 4, 8,
                                    sizeof(VkDrawIndexedIndirectCommand));
      break;
    case 8: {
      const std::array draws = {VkMultiDrawInfoEXT{first, std::min(vertices, 100u)},
                                VkMultiDrawInfoEXT{0, 3}, VkMultiDrawInfoEXT{1, 0}};
      function<PFN_vkCmdDrawMultiEXT>("vkCmdDrawMultiEXT")(commands, dice_.below(4), draws.data(),
                                                           instances, first_instance,
                                                           sizeof(VkMultiDrawInfoEXT));
      break;
    }
    case 9: {
      const std::array draws = {VkMultiDrawIndexedInfoEXT{first, std::min(indices, 100u), 0},
                                VkMultiDrawIndexedInfoEXT{0, 5, 0},
                                VkMultiDrawIndexedInfoEXT{1, 0, 0}};
      function<PFN_vkCmdDrawMultiIndexedEXT>("vkCmdDrawMultiIndexedEXT")(
          commands, dice_.below(4), draws.data(), instances, first_instance,
          sizeof(VkMultiDrawIndexedInfoEXT), nullptr);
      break;
    }
    default:
      vkCmdDraw(commands, vertices, instances, first, first_instance);
  }
}

void RandomScene::draw_captured(VkCommandBuffer commands, const Bound& bound) {
  const VkBuffer buffer = captured_, counter = counter_;
  const VkDeviceSize offset = 0, size = captured_.size();
  function<PFN_vkCmdBindTransformFeedbackBuffersEXT>("vkCmdBindTransformFeedbackBuffersEXT")(
      commands, 0, 1, &buffer, &offset, &size);
  const bool queried = with_queries_ && queries_ < kQueries;
  const uint32_t query = queries_;
  if (queried) {
    ++queries_;
    vkCmdBeginQuery(commands, feedback_, query, 0);
  }
  function<PFN_vkCmdBeginTransformFeedbackEXT>("vkCmdBeginTransformFeedbackEXT")(commands, 0, 0,
                                                                                 nullptr, nullptr);
  draw(commands, bound);
  function<PFN_vkCmdEndTransformFeedbackEXT>("vkCmdEndTransformFeedbackEXT")(commands, 0, 1,
                                                                             &counter, &offset);
  if (queried) vkCmdEndQuery(commands, feedback_, query);
}

void RandomScene::draw_some(VkCommandBuffer commands) {
  const bool own_range = !measuring_ && dice_.one_in(2);
  const uint32_t draws = 1 + dice_.below(5);
  for (uint32_t i = 0; i < draws; ++i) {
    if (own_range && dice_.one_in(2)) change_range(commands);
    const Bound& bound = bind(commands);
    const bool conditional = extensions_.conditional_rendering && !conditional_ && dice_.one_in(8);
    const bool queried = with_queries_ && queries_ < kQueries && dice_.one_in(2);
    const uint32_t query = queries_;
    if (queried) {
      ++queries_;
      vkCmdBeginQuery(commands, occlusion_, query, VK_QUERY_CONTROL_PRECISE_BIT);
    }
    if (with_queries_ && timestamp_ < kQueries) {
      vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, timestamps_, timestamp_++);
    }
    if (conditional) begin_condition(commands);
    if (bound.captured && dice_.one_in(2)) {
      draw_captured(commands, bound);
    } else {
      draw(commands, bound);
    }
    if (dice_.one_in(3)) draw(commands, bound);  // of the same state
    if (conditional) {
      function<PFN_vkCmdEndConditionalRenderingEXT>("vkCmdEndConditionalRenderingEXT")(commands);
    }
    if (queried) vkCmdEndQuery(commands, occlusion_, query);
  }
  if (own_range) end_range(commands);
}

void RandomScene::record_secondary_pass(VkCommandBuffer commands) {
  VkCommandBufferInheritanceRenderingInfo rendering{
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO};
  rendering.viewMask = view_mask_;
  rendering.colorAttachmentCount = color_format_ != VK_FORMAT_UNDEFINED ? 1 : 0;
  rendering.pColorAttachmentFormats = &color_format_;
  rendering.depthAttachmentFormat = depth_format_;
  if (has_stencil(depth_format_)) rendering.stencilAttachmentFormat = depth_format_;
  rendering.rasterizationSamples = samples_;
  VkCommandBufferInheritanceInfo inheritance{};
  inheritance.pNext = with_passes_ ? nullptr : &rendering;
  inheritance.renderPass = clearing_;
  inheritance.framebuffer = framebuffer_;
  const VkCommandBuffer secondary =
      context_.begin_secondary(inheritance, VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT |
                                                VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  const bool may_count = std::exchange(may_count_, false);
  const bool with_queries = std::exchange(with_queries_, false);
  const Instrumentation* const measuring = std::exchange(measuring_, nullptr);
  measuring_ = &*objects_[0];
  measuring_->begin(secondary);
  draw_some(secondary);
  end_range(secondary);
  check(vkEndCommandBuffer(secondary));
  may_count_ = may_count;
  with_queries_ = with_queries;
  if (measuring) measuring->end(commands);
  begin_pass(commands, dice_.one_in(2), VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT);
  vkCmdExecuteCommands(commands, 1, &secondary);
  end_pass(commands);
}

void RandomScene::record_pass(VkCommandBuffer commands) {
  if (dice_.one_in(8)) {
    record_secondary_pass(commands);
    return;
  }
  if (!dice_.one_in(4) || all_measured_) change_range(commands);
  conditional_ = extensions_.conditional_rendering && dice_.one_in(8);
  if (conditional_) begin_condition(commands);
  const bool suspends = !with_passes_ && dice_.one_in(6);
  if (suspends) may_count_ = false;
  const bool clears = dice_.one_in(2);
  begin_pass(commands, clears, suspends ? VK_RENDERING_SUSPENDING_BIT : 0);
  draw_some(commands);
  if (suspends) {
    end_pass(commands);
    begin_pass(commands, clears, VK_RENDERING_RESUMING_BIT);
    draw_some(commands);
  }
  end_pass(commands);
  if (!std::exchange(conditional_, false)) return;
  function<PFN_vkCmdEndConditionalRenderingEXT>("vkCmdEndConditionalRenderingEXT")(commands);
}

void RandomScene::record(VkCommandBuffer commands) {
  may_count_ = true;
  counted_ = queries_ = timestamp_ = 0;
  measuring_ = nullptr;
  vkCmdResetQueryPool(commands, occlusion_, 0, kQueries);
  vkCmdResetQueryPool(commands, timestamps_, 0, kQueries);
  if (feedback_ != VK_NULL_HANDLE) vkCmdResetQueryPool(commands, feedback_, 0, kQueries);
  const uint32_t passes = 1 + dice_.below(3);
  for (uint32_t i = 0; i < passes; ++i) {
    full_barrier(commands);
    record_pass(commands);
  }
  end_range(commands);
  full_barrier(commands);
  check(vkEndCommandBuffer(commands));
}

// --- executions

void RandomScene::execute() {
  constexpr VkCommandBufferUsageFlags kUsages[] = {VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT, 0,
                                                   VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
  const VkCommandBufferUsageFlags usage = kUsages[dice_.below(3)];
  const VkCommandBuffer commands = context_.begin_commands(usage);
  record(commands);
  const std::array twice = {commands, commands};
  switch (usage) {
    case VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT:
      context_.submit_and_wait(commands);
      break;
    case 0:
      for (uint32_t i = dice_.below(4); i > 0; --i) {
        context_.submit_and_wait(commands);
        if (dice_.one_in(4)) objects_[dice_.below(2)]->clear();
      }
      break;
    default: {
      VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
      submit.commandBufferCount = 1;
      submit.pCommandBuffers = &commands;
      check(vkQueueSubmit(context_.queue(), 1, &submit, VK_NULL_HANDLE));
      context_.submit_and_wait(twice);
    }
  }
  if (!dice_.one_in(3)) return;
  VkCommandBufferBeginInfo again{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  again.flags = kUsages[dice_.below(2)];
  check(vkBeginCommandBuffer(commands, &again));
  record(commands);
  context_.submit_and_wait(commands);
}

void RandomScene::copy_images(SceneOutcome& outcome) {
  if (samples_ != VK_SAMPLE_COUNT_1_BIT) return;
  for (const Image* image : {&color_, &depth_}) {
    if (*image == VK_NULL_HANDLE) continue;
    for (const VkImageAspectFlagBits aspect :
         {VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_ASPECT_DEPTH_BIT, VK_IMAGE_ASPECT_STENCIL_BIT}) {
      if ((image->aspect() & aspect) == 0) continue;
      const Buffer copied(context_, VkDeviceSize{4} * extent_.width * extent_.height * layers_,
                          VK_BUFFER_USAGE_TRANSFER_DST_BIT);
      context_.run([&](VkCommandBuffer commands) {
        VkBufferImageCopy copy{};
        copy.imageSubresource = {static_cast<VkImageAspectFlags>(aspect), 0, 0, layers_};
        copy.imageExtent = {extent_.width, extent_.height, 1};
        vkCmdCopyImageToBuffer(commands, *image, VK_IMAGE_LAYOUT_GENERAL, copied, 1, &copy);
        full_barrier(commands);
      });
      const std::span<const std::byte> bytes = copied.as<std::byte>();
      outcome.pictures.insert(outcome.pictures.end(), bytes.begin(), bytes.end());
    }
  }
}

void RandomScene::read_values(SceneOutcome& outcome) {
  for (const auto& object : objects_) {
    for (const BlockValues& block : object->read()) {
      const auto& header = block.header;
      outcome.values.insert(outcome.values.end(), {header.resultIndex, header.resultSubIndex,
                                                   header.stages, header.basicBlockIndex});
      outcome.values.insert(outcome.values.end(), block.metrics.begin(), block.metrics.end());
    }
    outcome.values.push_back(~uint64_t{0});  // ends the object's
  }
  const auto add = [&](const QueryPool& pool, VkDeviceSize numbers) {
    if (pool == VK_NULL_HANDLE) return;
    std::vector<uint64_t> results(kQueries * numbers, ~uint64_t{0});
    const VkResult result = vkGetQueryPoolResults(
        context_.device(), pool, 0, kQueries, results.size() * 8, results.data(), numbers * 8,
        VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT |
            VK_QUERY_RESULT_PARTIAL_BIT);
    if (result != VK_NOT_READY) check(result);
    for (size_t i = 0; i < results.size(); i += numbers) {
      if (results[i + numbers - 1] == 0) continue;  // the query did not run
      outcome.others.insert(outcome.others.end(), &results[i], &results[i + numbers]);
    }
  };
  add(occlusion_, 2);
  add(feedback_, 3);
  for (const Buffer* buffer : {&sums_, &captured_, &counter_}) {
    if (*buffer == VK_NULL_HANDLE) continue;
    const auto numbers = buffer->as<uint32_t>();
    outcome.others.insert(outcome.others.end(), numbers.begin(), numbers.end());
  }
}

SceneOutcome RandomScene::run() {
  execute();
  SceneOutcome outcome;
  copy_images(outcome);
  read_values(outcome);
  outcome.by_driver = by_driver_;
  return outcome;
}

}  // namespace

SceneExtensions::SceneExtensions(const Context& context)
    : conditional_rendering(context.has_extension(VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME)),
      transform_feedback(context.has_extension(VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME)),
      multi_draw(context.has_extension(VK_EXT_MULTI_DRAW_EXTENSION_NAME)),
      libraries(context.has_extension(VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME)),
      list_restart(context.has_extension(VK_EXT_PRIMITIVE_TOPOLOGY_LIST_RESTART_EXTENSION_NAME)) {}

ContextOptions SceneExtensions::options() {
  ContextOptions options;
  options.layers = {"VK_LAYER_TALLY_counters"};
  options.driver_layers = {"VK_LAYER_TALLY_test_watched_driver"};
  const auto add = [&](bool wanted, auto& feature, VkStructureType type, VkBool32& enabled,
                       std::initializer_list<const char*> names) {
    if (!wanted) return;
    feature.sType = type;
    feature.pNext = options.device_next;
    enabled = VK_TRUE;
    options.device_next = &feature;
    options.device_extensions.insert(options.device_extensions.end(), names);
  };
  add(true, instrumentation_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM,
      instrumentation_.shaderInstrumentation, {VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME});
  add(conditional_rendering, conditional_rendering_,
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT,
      conditional_rendering_.conditionalRendering, {VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME});
  add(transform_feedback, transform_feedback_,
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT,
      transform_feedback_.transformFeedback, {VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME});
  add(multi_draw, multi_draw_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MULTI_DRAW_FEATURES_EXT,
      multi_draw_.multiDraw, {VK_EXT_MULTI_DRAW_EXTENSION_NAME});
  add(libraries, libraries_,
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT,
      libraries_.graphicsPipelineLibrary,
      {VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME, VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME});
  add(list_restart, list_restart_,
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIMITIVE_TOPOLOGY_LIST_RESTART_FEATURES_EXT,
      list_restart_.primitiveTopologyListRestart,
      {VK_EXT_PRIMITIVE_TOPOLOGY_LIST_RESTART_EXTENSION_NAME});
  return options;
}

uint64_t begun_statistics(const Context& context) {
  return context.function<BegunStatistics>(kBegunStatistics)(context.device());
}

SceneOutcome run_random_scene(Context& context, const SceneExtensions& extensions, uint64_t seed,
                              VkSampleCountFlagBits samples) {
  return RandomScene(context, extensions, seed, samples).run();
}

}  // namespace tally::test
