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

void RealInputs::bind(VkCommandBuffer commands, VkPipelineLayout layout,
                      VkPipelineBindPoint point) const {
  vkCmdBindDescriptorSets(commands, point, layout, 0, 1, &set_, 0, nullptr);
}

void RealInputs::make_set() {
  const VkDevice device = context_.device();
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  std::vector<VkDescriptorPoolSize> sizes;
  for (uint32_t i = 0; i < kBindings; ++i) {
    bindings.push_back({i, type_of(i), 1, VK_SHADER_STAGE_ALL, nullptr});
    sizes.push_back({type_of(i), 1});
  }
  VkDescriptorSetLayoutCreateInfo layout = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  layout.bindingCount = kBindings;
  layout.pBindings = bindings.data();
  VkDescriptorSetLayout layout_handle = VK_NULL_HANDLE;
  test::check(vkCreateDescriptorSetLayout(device, &layout, nullptr, &layout_handle));
  set_layout_ = {device, layout_handle};
  VkDescriptorPoolCreateInfo pool = {VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  pool.maxSets = 1;
  pool.poolSizeCount = kBindings;
  pool.pPoolSizes = sizes.data();
  VkDescriptorPool pool_handle = VK_NULL_HANDLE;
  test::check(vkCreateDescriptorPool(device, &pool, nullptr, &pool_handle));
  pool_ = {device, pool_handle};
  VkDescriptorSetAllocateInfo allocate = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  allocate.descriptorPool = pool_handle;
  allocate.descriptorSetCount = 1;
  allocate.pSetLayouts = set_layout_.address();
  test::check(vkAllocateDescriptorSets(device, &allocate, &set_));

  for (uint32_t i = 0; i < kBindings; ++i) {
    VkDescriptorBufferInfo buffer = {VK_NULL_HANDLE, 0, VK_WHOLE_SIZE};
    VkDescriptorImageInfo image = {sampler_, VK_NULL_HANDLE, VK_IMAGE_LAYOUT_GENERAL};
    VkWriteDescriptorSet write = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = set_;
    write.dstBinding = i;
    write.descriptorCount = 1;
    write.descriptorType = type_of(i);
    if (i < kBuffers) {
      buffer.buffer = buffers_[i];
      write.pBufferInfo = &buffer;
    } else {
      image.imageView = images_[(i - kFirstTexture) % kTextures].view();
      write.pImageInfo = &image;
    }
    vkUpdateDescriptorSets(device, 1, &write, 0, nullptr);
  }
}

void RealInputs::draw_textures() {
  const VkDescriptorSetLayout set_layout = set_layout_;
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
