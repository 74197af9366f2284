#include "real_inputs.h"

#include <array>

#include "inputs.comp.h"
#include "kernels.h"

namespace tally::bench {
namespace {

constexpr uint32_t kBuffers = 4, kTextures = 4;
constexpr uint32_t kFirstTexture = kBuffers, kFirstImage = kFirstTexture + kTextures;
constexpr uint32_t kBindings = kFirstImage + kTextures;
constexpr std::array<VkFormat, kTextures> kFormats = {
    VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R16G16B16A16_SFLOAT, VK_FORMAT_R32G32B32A32_SFLOAT,
    VK_FORMAT_R32_SFLOAT};

VkDescriptorType type_of(uint32_t binding) {
  if (binding < kFirstTexture) return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  return binding < kFirstImage ? VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER
                               : VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
}

}  // namespace

RealInputs::RealInputs(test::Context& context, const Capabilities& capabilities)
    : context_(context),
      extent_(capabilities.software ? VkExtent2D{320, 176} : VkExtent2D{1920, 1072}) {
  const uint32_t numbers = capabilities.software ? 1u << 20 : 1u << 24;
  for (uint32_t i = 0; i < kBuffers; ++i) {
    buffers_.emplace_back(context, VkDeviceSize{numbers} * sizeof(float), Residence::Device);
    // A GPU limits a dispatch to 65,535 groups.
    fill(context, buffers_.back(), std::min(numbers, 65535u * 256), i * numbers);
  }
  for (const VkFormat format : kFormats) {
    test::ImageInfo info = {.extent = extent_, .format = format};
    info.usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT;
    images_.emplace_back(context, info);
  }
  VkSamplerCreateInfo info = {VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
  info.addressModeU = info.addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
  VkSampler sampler = VK_NULL_HANDLE;
  test::check(vkCreateSampler(context.device(), &info, nullptr, &sampler));
  sampler_ = {context.device(), sampler};
  make_set();
  draw_textures();
}

void RealInputs::make_set() {
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (uint32_t i = 0; i < kBindings; ++i)
    bindings.push_back({i, type_of(i), 1, VK_SHADER_STAGE_ALL, nullptr});
  set_ = test::DescriptorSet(context_, bindings);
  for (uint32_t i = 0; i < kBindings; ++i) {
    if (i < kBuffers) {
      const VkDescriptorBufferInfo buffer = {buffers_[i], 0, VK_WHOLE_SIZE};
      set_.write(i, &buffer);
    } else {
      const VkDescriptorImageInfo image = {
          sampler_, images_[(i - kFirstTexture) % kTextures].view(), VK_IMAGE_LAYOUT_GENERAL};
      set_.write(i, &image);
    }
  }
}

void RealInputs::draw_textures() {
  const VkDescriptorSetLayout set_layout = layout();
  const auto layout = test::make_pipeline_layout(context_, {&set_layout, 1});
  const auto pipeline =
      test::make_compute_pipeline(context_, {.shader = {.code = inputs_comp}, .layout = layout});
  context_.run([&](VkCommandBuffer commands) {
    for (const test::Image& image : images_) {
      test::change_layout(commands, image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    }
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    bind(commands, layout, VK_PIPELINE_BIND_POINT_COMPUTE);
    vkCmdDispatch(commands, extent_.width / 8, extent_.height / 8, 1);
    test::full_barrier(commands);
  });
}

}  // namespace tally::bench
