#include "kernels.h"

#include <bit>

#include "fill.comp.h"
#include "fragment_heavy.frag.h"
#include "full_screen.vert.h"
#include "hot_loop.comp.h"
#include "memory_bound.comp.h"
#include "memory_bound_as_layer.comp.h"
#include "memory_bound_by_hand.comp.h"

namespace tally::bench {
namespace {

using PushWords = std::array<uint32_t, kKernelPushBytes / sizeof(uint32_t)>;

class ComputeKernel : public Kernel {
 public:
  ComputeKernel(test::Context& context, std::string name, std::span<const uint32_t> words,
                std::vector<DeviceBuffer> buffers, PushWords push, uint32_t groups,
                std::vector<CountedByHand> counted_by_hand = {})
      : Kernel(std::move(name), {{VK_SHADER_STAGE_COMPUTE_BIT, words}}, std::move(counted_by_hand),
               {0, 2, 3}),
        context_(context),
        buffers_(std::move(buffers)),
        set_(context, std::vector<VkBuffer>(buffers_.begin(), buffers_.end())),
        push_(push),
        groups_(groups) {
    const VkDescriptorSetLayout set_layout = set_.layout();
    layout_ = test::make_pipeline_layout(context, {&set_layout, 1}, kKernelPushBytes + 8,
                                         VK_SHADER_STAGE_ALL);
  }

  test::Pipeline make_pipeline(const std::vector<test::Stage>& stages,
                               VkPipelineCreateFlags flags) const override {
    return test::make_compute_pipeline(context_,
                                       {.shader = stages.at(0), .layout = layout_, .flags = flags});
  }
  void begin(VkCommandBuffer commands, VkPipeline pipeline) const override {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    set_.bind(commands, layout_);
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, kKernelPushBytes, push_.data());
  }
  void add_unit(VkCommandBuffer commands) const override { vkCmdDispatch(commands, groups_, 1, 1); }
  void end(VkCommandBuffer) const override {}

 private:
  const test::Context& context_;
  std::vector<DeviceBuffer> buffers_;
  test::StorageSet set_;
  PushWords push_;
  uint32_t groups_;
};

class FragmentKernel : public Kernel {
 public:
  FragmentKernel(test::Context& context, std::string name, VkExtent2D extent, uint32_t layers,
                 PushWords push)
      : Kernel(std::move(name), {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert},
                                 {VK_SHADER_STAGE_FRAGMENT_BIT, fragment_heavy_frag}}),
        context_(context),
        target_(context, {.extent = extent}),
        layers_(layers),
        push_(push) {
    layout_ = test::make_pipeline_layout(context, {}, kKernelPushBytes + 8, VK_SHADER_STAGE_ALL);
  }

  test::Pipeline make_pipeline(const std::vector<test::Stage>& stages,
                               VkPipelineCreateFlags flags) const override {
    return test::make_graphics_pipeline(
        context_, {.stages = stages, .layout = layout_, .additive_blend = true, .flags = flags});
  }
  void begin(VkCommandBuffer commands, VkPipeline pipeline) const override {
    target_.begin(commands);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, kKernelPushBytes, push_.data());
  }
  void add_unit(VkCommandBuffer commands) const override { vkCmdDraw(commands, 3, layers_, 0, 0); }
  void end(VkCommandBuffer commands) const override { target_.end(commands); }

 private:
  const test::Context& context_;
  test::RenderTarget target_;
  uint32_t layers_;
  PushWords push_;
};

}  // namespace

void fill(test::Context& context, const DeviceBuffer& buffer, uint32_t count, uint32_t seed) {
  const test::StorageSet set(context, {VkBuffer(buffer)});
  const VkDescriptorSetLayout set_layout = set.layout();
  const PushWords push = {count, seed};
  const auto layout = test::make_pipeline_layout(context, {&set_layout, 1}, sizeof push);
  const auto pipeline =
      test::make_compute_pipeline(context, {.shader = {.code = fill_comp}, .layout = layout});
  context.run([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    set.bind(commands, layout);
    vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_ALL, 0, sizeof push, push.data());
    vkCmdDispatch(commands, count / 256, 1, 1);
  });
}

std::unique_ptr<Kernel> make_hot_loop(test::Context& context, const Capabilities& capabilities) {
  const uint32_t width = capabilities.software ? 128 : 2048;
  const uint32_t iterations = 256;
  std::vector<DeviceBuffer> buffers;
  buffers.emplace_back(context, VkDeviceSize{width} * width * sizeof(uint32_t), Residence::Device);
  return std::make_unique<ComputeKernel>(context, "hot loop", hot_loop_comp, std::move(buffers),
                                         PushWords{width, iterations}, width * width / 64);
}

std::unique_ptr<Kernel> make_memory_bound(test::Context& context,
                                          const Capabilities& capabilities) {
  // Much larger than the last-level cache. A GPU limits a dispatch to 65,535 groups per dimension.
  const uint32_t count = capabilities.software ? 4u << 20 : 65535u * 256;
  std::vector<DeviceBuffer> buffers;
  for (uint32_t i = 0; i < 3; ++i) {
    buffers.emplace_back(context, VkDeviceSize{count} * sizeof(float), Residence::Device);
    fill(context, buffers.back(), count, i);
  }
  std::vector<CountedByHand> by_hand;
  if (capabilities.int64_atomics) {
    by_hand = {{"by hand: three counts in one addition",
                {{VK_SHADER_STAGE_COMPUTE_BIT, memory_bound_by_hand_comp}}},
               {"by hand, as a layer must",
                {{VK_SHADER_STAGE_COMPUTE_BIT, memory_bound_as_layer_comp}},
                false}};
  }
  return std::make_unique<ComputeKernel>(
      context, "memory-bound", memory_bound_comp, std::move(buffers),
      PushWords{count, std::bit_cast<uint32_t>(0.75f)}, count / 256, std::move(by_hand));
}

std::unique_ptr<Kernel> make_fragment_heavy(test::Context& context,
                                            const Capabilities& capabilities) {
  const VkExtent2D extent = capabilities.software ? VkExtent2D{480, 270} : VkExtent2D{1920, 1080};
  const uint32_t octaves = 5, lights = 16, layers = 4;
  return std::make_unique<FragmentKernel>(
      context, "fragment-heavy", extent, layers,
      PushWords{std::bit_cast<uint32_t>(1.0f), octaves, lights});
}

std::unique_ptr<Kernel> make_tiny_draws(test::Context& context) {
  return std::make_unique<FragmentKernel>(context, "tiny draws", VkExtent2D{4, 4}, 1,
                                          PushWords{std::bit_cast<uint32_t>(1.0f), 1, 1});
}

}  // namespace tally::bench
