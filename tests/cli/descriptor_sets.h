// Descriptor sets of the applications of these tests.
#pragma once

#include <span>
#include <vector>

#include "support/check.h"
#include "support/context.h"
#include "support/memory.h"
#include "support/pipeline.h"

namespace tally::test {

// A descriptor set and what it needs.
struct SetObjects {
  SetLayout layout;
  DescriptorPool pool;
  VkDescriptorSet set = VK_NULL_HANDLE;
};

inline SetObjects make_set(const Context& context,
                           std::span<const VkDescriptorSetLayoutBinding> bindings,
                           VkDescriptorPoolSize size) {
  SetObjects objects;
  VkDescriptorSetLayoutCreateInfo layout = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  layout.bindingCount = static_cast<uint32_t>(bindings.size());
  layout.pBindings = bindings.data();
  VkDescriptorSetLayout layout_handle = VK_NULL_HANDLE;
  check(vkCreateDescriptorSetLayout(context.device(), &layout, nullptr, &layout_handle));
  objects.layout = {context.device(), layout_handle};
  VkDescriptorPoolCreateInfo pool = {VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  pool.maxSets = 1;
  pool.poolSizeCount = 1;
  pool.pPoolSizes = &size;
  VkDescriptorPool pool_handle = VK_NULL_HANDLE;
  check(vkCreateDescriptorPool(context.device(), &pool, nullptr, &pool_handle));
  objects.pool = {context.device(), pool_handle};
  VkDescriptorSetAllocateInfo allocate = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  allocate.descriptorPool = pool_handle;
  allocate.descriptorSetCount = 1;
  allocate.pSetLayouts = objects.layout.address();
  check(vkAllocateDescriptorSets(context.device(), &allocate, &objects.set));
  return objects;
}

// A descriptor set of storage images.
class ImageSet {
 public:
  ImageSet(const Context& context, std::span<const VkImageView> views) {
    const auto count = static_cast<uint32_t>(views.size());
    std::vector<VkDescriptorSetLayoutBinding> bindings;
    for (uint32_t i = 0; i < count; ++i) {
      bindings.push_back({i, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1, VK_SHADER_STAGE_ALL, nullptr});
    }
    objects_ = make_set(context, bindings, {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, count});
    for (uint32_t i = 0; i < count; ++i) {
      const VkDescriptorImageInfo info = {VK_NULL_HANDLE, views[i], VK_IMAGE_LAYOUT_GENERAL};
      VkWriteDescriptorSet write = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
      write.dstSet = objects_.set;
      write.dstBinding = i;
      write.descriptorCount = 1;
      write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
      write.pImageInfo = &info;
      vkUpdateDescriptorSets(context.device(), 1, &write, 0, nullptr);
    }
  }

  VkDescriptorSetLayout layout() const { return objects_.layout; }
  VkDescriptorSet set() const { return objects_.set; }

 private:
  SetObjects objects_;
};

}  // namespace tally::test
