// Images and buffers of several sizes, and all the ways to bind them for launched_programs.cpp: the
// descriptor set 1 of programs of ProgramKind::Launch. Their contents do not matter.
//
// binding 0: two storage images; 1: an array texture with levels; 2: two storage buffers; 3: one
// more, of the same kind.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include <tally/vulkan_newer.h>

#include "support/pipeline.h"

namespace tally::test {

class SizedResources {
 public:
  // Returns a number below `below`.
  using Pick = std::function<uint32_t(uint32_t below)>;

  // Those that it uses, as far as the device has them.
  static std::vector<const char*> extensions_of(const Context& context);

  // `context` has these.
  SizedResources(Context& context, Pick pick);
  SizedResources(const SizedResources&) = delete;
  SizedResources& operator=(const SizedResources&) = delete;

  // The layout of the set: for sets that are pushed, or for others.
  VkDescriptorSetLayout layout(bool pushed) const { return pushed ? push_layout_ : layout_; }
  bool can_push() const { return push_ != nullptr; }
  // Call this before the first bind() with pipeline layouts that have these layouts as set 1.
  void make_push_template(VkPipelineLayout pushed);

  // Call these for each command buffer, and when the device is idle.
  void begin_commands() { complete_ = false; }
  void end_submission();
  // Binds or pushes the set in some way, mostly with the usual sizes.
  void bind(VkCommandBuffer commands, VkPipelineLayout layout, bool pushed);

 private:
  static constexpr uint32_t kImages = 3, kLevels = 3, kBuffers = 4, kElements = 6;

  using Template = Handle<VkDescriptorUpdateTemplate, vkDestroyDescriptorUpdateTemplate>;
  struct Image {
    Handle<VkImage, vkDestroyImage> image;
    Handle<VkDeviceMemory, vkFreeMemory> memory;
  };
  // The descriptors of a set, in the order of their bindings.
  struct Contents {
    VkDescriptorImageInfo images[2]{};
    uint64_t padding = ~uint64_t{0};  // templates skip it
    VkDescriptorImageInfo texture{};
    struct Element {
      VkDescriptorBufferInfo buffer{};
      VkDescriptorBufferInfo skipped{};  // by the stride of templates
    } buffers[3];
  };

  Image make_image(uint32_t number) const;
  void make_views();
  // A template for set 1 of a pipeline layout or, with a null handle, for sets.
  Template make_template(const std::vector<VkDescriptorUpdateTemplateEntry>& entries,
                         VkPipelineLayout pushed) const;
  // A bit for each element that may be another one than usual.
  Contents some_contents(uint32_t unusual);
  Contents next_contents();
  // Valid until the next call.
  std::vector<VkWriteDescriptorSet> writes_of(const Contents& contents, VkDescriptorSet set,
                                              bool by_element);
  VkDescriptorSet new_set();
  void fill(VkDescriptorSet set, const Contents& contents);
  void push(VkCommandBuffer commands, VkPipelineLayout layout);

  Context& context_;
  const Pick pick_;
  const VkDevice device_;
  std::vector<Image> images_;
  std::array<Buffer, kBuffers> buffers_;
  std::vector<ImageView> storage_views_, textures_;
  SetLayout layout_, push_layout_;
  DescriptorPool pool_;
  Template template_, push_template_;
  PFN_vkCmdPushDescriptorSetKHR push_ = nullptr;
  PFN_vkCmdPushDescriptorSetWithTemplateKHR push_by_template_ = nullptr;
  PFN_vkCmdBindDescriptorSets2 bind_2_ = nullptr;
  PFN_vkCmdPushDescriptorSet2 push_2_ = nullptr;
  PFN_vkCmdPushDescriptorSetWithTemplate2 push_by_template_2_ = nullptr;
  std::vector<VkDescriptorSet> freed_later_;
  std::vector<VkDescriptorBufferInfo> flat_buffers_;  // what writes_of() points to
  bool complete_ = false;  // the command buffer has pushed all of the set
};

}  // namespace tally::test
