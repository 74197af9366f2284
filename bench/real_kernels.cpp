#include "real_kernels.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "convolution.comp.h"
#include "deferred.comp.h"
#include "fft.comp.h"
#include "full_screen.vert.h"
#include "gaussian_blur.comp.h"
#include "matrix_product.comp.h"
#include "meshlets.mesh.h"
#include "meshlets_as_layer.mesh.h"
#include "meshlets_by_hand.mesh.h"
#include "nlmeans.comp.h"
#include "particles.comp.h"
#include "pbr.frag.h"
#include "prefix_sum.comp.h"
#include "quantized_product.comp.h"
#include "raymarcher.frag.h"
#include "scene.frag.h"
#include "scene.vert.h"
#include "shadow.frag.h"
#include "skinning.vert.h"
#include "ssao.frag.h"
#include "terrain.tesc.h"
#include "terrain.tese.h"
#include "terrain.vert.h"
#include "tint.frag.h"
#include "tint_as_layer.frag.h"
#include "tint_spread_by_hand.frag.h"

namespace tally::bench {
namespace {

using Push = std::array<uint32_t, kKernelPushBytes / sizeof(uint32_t)>;

constexpr VkShaderStageFlagBits kVertex = VK_SHADER_STAGE_VERTEX_BIT;
constexpr VkShaderStageFlagBits kControl = VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT;
constexpr VkShaderStageFlagBits kEvaluation = VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT;
constexpr VkShaderStageFlagBits kMesh = VK_SHADER_STAGE_MESH_BIT_EXT;
constexpr VkShaderStageFlagBits kFragment = VK_SHADER_STAGE_FRAGMENT_BIT;
constexpr VkShaderStageFlagBits kCompute = VK_SHADER_STAGE_COMPUTE_BIT;

uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }
uint32_t groups(uint32_t size, uint32_t of) { return (size + of - 1) / of; }

struct Size {
  uint32_t x = 1, y = 1, z = 1;  // groups; or vertices and instances
};

class RealKernel : public Kernel {
 public:
  RealKernel(test::Context& context, const RealInputs& inputs, std::string name,
             std::vector<ShaderSource> sources, Push push, Size size,
             std::vector<CountedByHand> counted_by_hand = {},
             std::array<size_t, 3> blocks_counted_by_hand = {})
      : Kernel(std::move(name), std::move(sources), std::move(counted_by_hand),
               blocks_counted_by_hand),
        context_(context),
        inputs_(inputs),
        push_(push),
        size_(size) {
    const VkDescriptorSetLayout set_layout = inputs.layout();
    layout_ = test::make_pipeline_layout(context, {&set_layout, 1}, kKernelPushBytes + 8,
                                         VK_SHADER_STAGE_ALL);
    if (!has(kCompute)) target_.emplace(context, test::RenderTargetInfo{.extent = inputs.extent()});
    if (has(kMesh)) {
      draw_mesh_ = context.function<PFN_vkCmdDrawMeshTasksEXT>("vkCmdDrawMeshTasksEXT");
    }
  }

  test::Pipeline make_pipeline(const std::vector<test::Stage>& stages,
                               VkPipelineCreateFlags flags) const override {
    if (has(kCompute)) {
      return test::make_compute_pipeline(
          context_, {.shader = stages.at(0), .layout = layout_, .flags = flags});
    }
    test::GraphicsPipelineInfo info = {.stages = stages, .layout = layout_, .flags = flags};
    if (has(kControl)) {
      info.topology = VK_PRIMITIVE_TOPOLOGY_PATCH_LIST;
      info.patch_control_points = 4;
    }
    return test::make_graphics_pipeline(context_, info);
  }
  void begin(VkCommandBuffer commands, VkPipeline pipeline) const override {
    const auto point =
        has(kCompute) ? VK_PIPELINE_BIND_POINT_COMPUTE : VK_PIPELINE_BIND_POINT_GRAPHICS;
    if (target_) target_->begin(commands);
    vkCmdBindPipeline(commands, point, pipeline);
    inputs_.bind(commands, layout_, point);
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, kKernelPushBytes, push_.data());
  }
  void add_unit(VkCommandBuffer commands) const override {
    if (has(kCompute)) {
      vkCmdDispatch(commands, size_.x, size_.y, size_.z);
    } else if (has(kMesh)) {
      draw_mesh_(commands, size_.x, size_.y, size_.z);
    } else {
      vkCmdDraw(commands, size_.x, size_.y, 0, 0);
    }
  }
  void end(VkCommandBuffer commands) const override {
    if (target_) target_->end(commands);
  }

 private:
  bool has(VkShaderStageFlagBits stage) const {
    return std::ranges::count(sources(), stage, &ShaderSource::stage) != 0;
  }

  const test::Context& context_;
  const RealInputs& inputs_;
  std::optional<test::RenderTarget> target_;
  PFN_vkCmdDrawMeshTasksEXT draw_mesh_ = nullptr;
  Push push_;
  Size size_;
};

}  // namespace

std::vector<std::unique_ptr<Kernel>> make_real_set(test::Context& context,
                                                   const Capabilities& capabilities,
                                                   const RealInputs& inputs, bool mesh_shaders) {
  std::vector<std::unique_ptr<Kernel>> set;
  const auto add = [&](const char* name, std::vector<ShaderSource> sources, Push push, Size size) {
    set.push_back(
        std::make_unique<RealKernel>(context, inputs, name, std::move(sources), push, size));
  };
  const auto pixels = [&](const char* name, std::span<const uint32_t> words, Push push) {
    add(name, {{kVertex, full_screen_vert}, {kFragment, words}}, push, {3});
  };
  const auto compute = [&](const char* name, std::span<const uint32_t> words, Push push,
                           Size size) {
    add(name, {{kCompute, words}}, push, size);
  };
  const bool small = capabilities.software;
  const auto pick = [&](uint32_t software, uint32_t hardware) {
    return small ? software : hardware;
  };
  const uint32_t width = inputs.extent().width, height = inputs.extent().height;

  add("lanterns", {{kVertex, scene_vert}, {kFragment, scene_frag}}, {bits(1.78f), bits(2.0f)}, {3});
  pixels("raymarcher", raymarcher_frag, {bits(1.0f), bits(1.78f), 2});
  pixels("pbr", pbr_frag, {bits(1.0f), 8, bits(1.2f)});
  pixels("shadow", shadow_frag, {bits(0.02f), 16, 32});
  pixels("ssao", ssao_frag, {bits(0.6f), 32});
  compute("deferred", deferred_comp, {pick(256, 1024)}, {width / 16, height / 16});
  const uint32_t particles = pick(1u << 14, 1u << 20);
  compute("particles", particles_comp, {particles, bits(0.01f), 16, 8}, {particles / 256});
  const uint32_t numbers = pick(1u << 20, 1u << 24);
  compute("prefix sum", prefix_sum_comp, {numbers}, {numbers / 512});
  const uint32_t matrix = pick(250, 2000);
  compute("matrix product", matrix_product_comp, {matrix},
          {groups(matrix, 64), groups(matrix, 64)});
  compute("fft", fft_comp, {bits(1.0f)}, {numbers / 2048});
  compute("gaussian blur", gaussian_blur_comp, {pick(8, 12), 7},
          {groups(width, 32), groups(height, 8)});
  compute("nlmeans", nlmeans_comp, {pick(3, 5), pick(1, 3), bits(1.0f)},
          {groups(width, 16), groups(height, 16)});
  const uint32_t side = pick(30, 126), depth = pick(4, 16);
  compute("convolution", convolution_comp, {side, side, depth, depth},
          {groups(side, 8), groups(side, 8), groups(depth, 4)});
  const uint32_t rows = pick(256, 8192), columns = pick(1024, 4096);
  compute("quantized product", quantized_product_comp, {rows, columns, 4}, {rows / 4});
  const uint32_t people = pick(4, 32);
  add("skinning", {{kVertex, skinning_vert}, {kFragment, tint_frag}},
      {bits(1.0f), 60, people, 3000}, {3000, people * people});
  const uint32_t patches = pick(8, 64);
  add("terrain",
      {{kVertex, terrain_vert},
       {kControl, terrain_tesc},
       {kEvaluation, terrain_tese},
       {kFragment, tint_frag}},
      {bits(0.5f), patches, bits(6.0f)}, {4, patches * patches});
  if (mesh_shaders) {
    const uint32_t rings = pick(8, 60);
    std::vector<CountedByHand> by_hand;
    if (capabilities.int64_atomics) {
      by_hand = {
          {"by hand", {{kMesh, meshlets_by_hand_mesh}, {kFragment, tint_spread_by_hand_frag}}},
          {"by hand, as a layer must",
           {{kMesh, meshlets_as_layer_mesh}, {kFragment, tint_as_layer_frag}},
           false}};
    }
    set.push_back(std::make_unique<RealKernel>(
        context, inputs, "meshlets",
        std::vector<ShaderSource>{{kMesh, meshlets_mesh}, {kFragment, tint_frag}},
        Push{bits(1.0f), rings}, Size{16 * rings * rings}, std::move(by_hand),
        std::array<size_t, 3>{0, 7, 16}));
  }
  return set;
}

}  // namespace tally::bench
