#include "oracle/sized_resources.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "support/environment.h"
#include "support/memory.h"

namespace tally::test {
namespace {

constexpr VkDescriptorType kStorageImage = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
                           kTexture = VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,
                           kBuffer = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
constexpr VkDeviceSize kOffset = 256;  // every device allows it

}  // namespace

std::vector<const char*> SizedResources::extensions_of(const Context& context) {
  std::vector<const char*> found;
  for (const char* name :
       {VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME, VK_KHR_MAINTENANCE_6_EXTENSION_NAME}) {
    if (context.has_extension(name)) found.push_back(name);
  }
  return found;
}

SizedResources::SizedResources(Context& context, Pick pick)
    : context_(context), pick_(std::move(pick)), device_(context.device()) {
  for (uint32_t i = 0; i < kImages; ++i) images_.push_back(make_image(i));
  for (uint32_t i = 0; i < kBuffers; ++i) buffers_[i] = Buffer(context, kOffset + 64 + 52 * i);
  const VkDescriptorSetLayoutBinding bindings[] = {
      {0, kStorageImage, 2, VK_SHADER_STAGE_COMPUTE_BIT, nullptr},
      {1, kTexture, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr},
      {2, kBuffer, 2, VK_SHADER_STAGE_COMPUTE_BIT, nullptr},
      {3, kBuffer, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr}};
  layout_ = make_set_layout(context, bindings);
  if (context.has_extension(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME)) {
    push_ = context.function<PFN_vkCmdPushDescriptorSetKHR>("vkCmdPushDescriptorSetKHR");
    push_by_template_ = context.function<PFN_vkCmdPushDescriptorSetWithTemplateKHR>(
        "vkCmdPushDescriptorSetWithTemplateKHR");
    push_layout_ =
        make_set_layout(context, bindings, VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR);
  }
  if (context.has_extension(VK_KHR_MAINTENANCE_6_EXTENSION_NAME)) {
    bind_2_ = context.function<PFN_vkCmdBindDescriptorSets2>("vkCmdBindDescriptorSets2KHR");
    if (can_push()) {
      push_2_ = context.function<PFN_vkCmdPushDescriptorSet2>("vkCmdPushDescriptorSet2KHR");
      push_by_template_2_ = context.function<PFN_vkCmdPushDescriptorSetWithTemplate2>(
          "vkCmdPushDescriptorSetWithTemplate2KHR");
    }
  }
  const VkDescriptorPoolSize sizes[] = {{kStorageImage, 200}, {kTexture, 100}, {kBuffer, 300}};
  VkDescriptorPoolCreateInfo pool{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  pool.flags = VK_DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT;
  pool.maxSets = 100;
  pool.poolSizeCount = 3;
  pool.pPoolSizes = sizes;
  VkDescriptorPool made = VK_NULL_HANDLE;
  check(vkCreateDescriptorPool(device_, &pool, nullptr, &made));
  pool_ = DescriptorPool(device_, made);
  make_views();
  // The buffers of both bindings are one entry.
  template_ = make_template(
      {{0, 0, 2, kStorageImage, offsetof(Contents, images), sizeof(VkDescriptorImageInfo)},
       {1, 0, 1, kTexture, offsetof(Contents, texture), 0},
       {2, 0, 3, kBuffer, offsetof(Contents, buffers), sizeof(Contents::Element)}},
      VK_NULL_HANDLE);
}

SizedResources::Template SizedResources::make_template(
    const std::vector<VkDescriptorUpdateTemplateEntry>& entries, VkPipelineLayout pushed) const {
  VkDescriptorUpdateTemplateCreateInfo info{
      VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO};
  info.descriptorUpdateEntryCount = static_cast<uint32_t>(entries.size());
  info.pDescriptorUpdateEntries = entries.data();
  info.templateType = pushed == VK_NULL_HANDLE
                          ? VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET
                          : VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS_KHR;
  info.descriptorSetLayout = layout_;
  info.pipelineBindPoint = VK_PIPELINE_BIND_POINT_COMPUTE;
  info.pipelineLayout = pushed;
  info.set = 1;
  VkDescriptorUpdateTemplate made = VK_NULL_HANDLE;
  check(vkCreateDescriptorUpdateTemplate(device_, &info, nullptr, &made));
  return {device_, made};
}

void SizedResources::make_push_template(VkPipelineLayout pushed) {
  if (!can_push()) return;
  push_template_ = make_template(
      {{3, 0, 1, kBuffer, offsetof(Contents, buffers) + 2 * sizeof(Contents::Element), 0},
       {0, 0, 2, kStorageImage, offsetof(Contents, images), sizeof(VkDescriptorImageInfo)},
       {1, 0, 1, kTexture, offsetof(Contents, texture), 0},
       {2, 0, 2, kBuffer, offsetof(Contents, buffers), sizeof(Contents::Element)}},
      pushed);
}

SizedResources::Image SizedResources::make_image(uint32_t number) const {
  VkImageCreateInfo info{VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
  info.imageType = VK_IMAGE_TYPE_2D;
  info.format = VK_FORMAT_R32_UINT;
  info.extent = {20 + 9 * number, 32 - 5 * number, 1};
  info.mipLevels = kLevels;
  info.arrayLayers = 2 + number;
  info.samples = VK_SAMPLE_COUNT_1_BIT;
  info.tiling = VK_IMAGE_TILING_OPTIMAL;
  info.usage =
      VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
  VkImage image = VK_NULL_HANDLE;
  check(vkCreateImage(device_, &info, nullptr, &image));
  Image made;
  made.image = {device_, image};
  VkMemoryRequirements needs{};
  vkGetImageMemoryRequirements(device_, image, &needs);
  uint32_t type = 0;
  while ((needs.memoryTypeBits >> type & 1) == 0) ++type;
  const VkMemoryAllocateInfo allocation{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, nullptr, needs.size,
                                        type};
  VkDeviceMemory memory = VK_NULL_HANDLE;
  check(vkAllocateMemory(device_, &allocation, nullptr, &memory));
  made.memory = {device_, memory};
  check(vkBindImageMemory(device_, image, memory, 0));
  context_.run([&](VkCommandBuffer commands) {
    VkImageMemoryBarrier barrier{VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER};
    barrier.dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.oldLayout = VK_IMAGE_LAYOUT_UNDEFINED;
    barrier.newLayout = VK_IMAGE_LAYOUT_GENERAL;
    barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    barrier.image = image;
    barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_REMAINING_MIP_LEVELS, 0,
                                VK_REMAINING_ARRAY_LAYERS};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                         VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, nullptr, 0, nullptr, 1, &barrier);
    // Programs read it, as all memory, and it must be the same in each run.
    const VkClearColorValue colour{.uint32 = {number, 0, 0, 0}};
    vkCmdClearColorImage(commands, image, VK_IMAGE_LAYOUT_GENERAL, &colour, 1,
                         &barrier.subresourceRange);
    full_barrier(commands);
  });
  return made;
}

// Makes views of each level of each image, and textures of two levels or three, in a random order:
// so a handle that the driver uses again mostly has another size.
void SizedResources::make_views() {
  storage_views_.clear();
  textures_.clear();
  storage_views_.resize(size_t{kImages} * kLevels);
  textures_.resize(size_t{kImages} * 2);
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < storage_views_.size() + textures_.size(); ++i)
    order.insert(order.begin() + pick_(i + 1), i);
  for (const uint32_t i : order) {
    const bool is_texture = i >= storage_views_.size();
    const auto place = is_texture ? i - static_cast<uint32_t>(storage_views_.size()) : i;
    VkImageViewCreateInfo info{VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO};
    info.image = images_[place % kImages].image;
    info.viewType = is_texture ? VK_IMAGE_VIEW_TYPE_2D_ARRAY : VK_IMAGE_VIEW_TYPE_2D;
    info.format = VK_FORMAT_R32_UINT;
    info.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, place / kImages,
                             is_texture ? VK_REMAINING_MIP_LEVELS : 1, 0,
                             is_texture ? VK_REMAINING_ARRAY_LAYERS : 1};
    VkImageView view = VK_NULL_HANDLE;
    check(vkCreateImageView(device_, &info, nullptr, &view));
    (is_texture ? textures_ : storage_views_)[place] = {device_, view};
  }
}

SizedResources::Contents SizedResources::some_contents(uint32_t unusual) {
  uint32_t element = 0;
  const auto next = [&] { return (unusual >> element++ & 1) != 0; };
  Contents contents;
  for (VkDescriptorImageInfo& image : contents.images) {
    const uint32_t view = next() ? pick_(kImages * kLevels) : 1;
    image = {VK_NULL_HANDLE, storage_views_[view], VK_IMAGE_LAYOUT_GENERAL};
  }
  const uint32_t texture = next() ? pick_(kImages * 2) : 1;
  contents.texture = {VK_NULL_HANDLE, textures_[texture], VK_IMAGE_LAYOUT_GENERAL};
  for (Contents::Element& one : contents.buffers) {
    one.buffer = one.skipped = {buffers_[1], 0, VK_WHOLE_SIZE};
    if (!next()) continue;
    one.buffer.buffer = buffers_[pick_(kBuffers)];
    one.buffer.offset = pick_(2) * kOffset;
    if (pick_(2)) one.buffer.range = 4 * (1 + VkDeviceSize{pick_(16)});
  }
  return contents;
}

// Mostly the usual ones, or all but one.
SizedResources::Contents SizedResources::next_contents() {
  const uint32_t kind = pick_(8);
  return some_contents(kind < 3 ? 0 : kind < 7 ? 1u << pick_(kElements) : pick_(1u << kElements));
}

std::vector<VkWriteDescriptorSet> SizedResources::writes_of(const Contents& contents,
                                                            VkDescriptorSet set, bool by_element) {
  flat_buffers_.clear();
  for (const Contents::Element& one : contents.buffers) flat_buffers_.push_back(one.buffer);
  std::vector<VkWriteDescriptorSet> writes;
  const auto add = [&](uint32_t binding, uint32_t element, uint32_t count, VkDescriptorType type,
                       const VkDescriptorImageInfo* images, const VkDescriptorBufferInfo* buffers) {
    writes.push_back({VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, nullptr, set, binding, element, count,
                      type, images, buffers, nullptr});
  };
  if (!by_element) {
    add(0, 0, 2, kStorageImage, contents.images, nullptr);
    add(2, 0, 2, kBuffer, nullptr, flat_buffers_.data());
  } else {
    for (uint32_t i = 0; i < 2; ++i) {
      add(0, i, 1, kStorageImage, &contents.images[i], nullptr);
      add(2, i, 1, kBuffer, nullptr, &flat_buffers_[i]);
    }
  }
  add(1, 0, 1, kTexture, &contents.texture, nullptr);
  add(3, 0, 1, kBuffer, nullptr, &flat_buffers_[2]);
  return writes;
}

VkDescriptorSet SizedResources::new_set() {
  const VkDescriptorSetLayout layout = layout_;
  const VkDescriptorSetAllocateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, nullptr,
                                         pool_, 1, &layout};
  VkDescriptorSet set = VK_NULL_HANDLE;
  check(vkAllocateDescriptorSets(device_, &info, &set));
  freed_later_.push_back(set);
  return set;
}

void SizedResources::fill(VkDescriptorSet set, const Contents& contents) {
  if (pick_(3) == 0) fill(set, next_contents());  // replaced
  const auto update = [&](const std::vector<VkWriteDescriptorSet>& writes) {
    vkUpdateDescriptorSets(device_, static_cast<uint32_t>(writes.size()), writes.data(), 0,
                           nullptr);
  };
  switch (pick_(4)) {
    case 0:
      vkUpdateDescriptorSetWithTemplate(device_, set, template_, &contents);
      break;
    case 1: {  // copies from another set, of the buffers of both bindings at once
      const VkDescriptorSet from = new_set();
      update(writes_of(contents, from, pick_(2)));
      const auto copy = [&](uint32_t binding, uint32_t element, uint32_t count) {
        return VkCopyDescriptorSet{VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
                                   nullptr,
                                   from,
                                   binding,
                                   element,
                                   set,
                                   binding,
                                   element,
                                   count};
      };
      const VkCopyDescriptorSet copies[] = {copy(0, 0, 1), copy(0, 1, 1), copy(1, 0, 1),
                                            copy(2, 0, 3)};
      vkUpdateDescriptorSets(device_, 0, nullptr, 4, copies);
      break;
    }
    case 2: {  // the buffers of both bindings at once
      std::vector<VkWriteDescriptorSet> writes = writes_of(contents, set, false);
      std::erase_if(writes, [](const auto& one) { return one.descriptorType == kBuffer; });
      writes.push_back({VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, nullptr, set, 2, 0, 3, kBuffer,
                        nullptr, flat_buffers_.data(), nullptr});
      update(writes);
      break;
    }
    default:
      update(writes_of(contents, set, pick_(2)));
  }
}

void SizedResources::push(VkCommandBuffer commands, VkPipelineLayout layout) {
  const Contents contents = next_contents();
  if (pick_(2)) {
    if (push_by_template_2_ && pick_(2)) {
      const VkPushDescriptorSetWithTemplateInfo info{
          VK_STRUCTURE_TYPE_PUSH_DESCRIPTOR_SET_WITH_TEMPLATE_INFO_KHR,
          nullptr,
          push_template_,
          layout,
          1,
          &contents};
      push_by_template_2_(commands, &info);
    } else {
      push_by_template_(commands, push_template_, layout, 1, &contents);
    }
  } else {
    // In vkCmdPushDescriptorSetKHR, lavapipe 22.3 ignores dstArrayElement.
    const bool by_element = driver_name() != "lavapipe" && pick_(2);
    std::vector<VkWriteDescriptorSet> writes = writes_of(contents, VK_NULL_HANDLE, by_element);
    // The others stay.
    if (complete_ && pick_(2)) writes.resize(1 + pick_(2));
    const auto count = static_cast<uint32_t>(writes.size());
    if (push_2_ && pick_(2)) {
      const VkPushDescriptorSetInfo info{VK_STRUCTURE_TYPE_PUSH_DESCRIPTOR_SET_INFO_KHR,
                                         nullptr,
                                         VK_SHADER_STAGE_COMPUTE_BIT,
                                         layout,
                                         1,
                                         count,
                                         writes.data()};
      push_2_(commands, &info);
    } else {
      push_(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 1, count, writes.data());
    }
  }
  complete_ = true;
}

void SizedResources::bind(VkCommandBuffer commands, VkPipelineLayout layout, bool pushed) {
  if (pushed) return push(commands, layout);
  complete_ = false;
  const VkDescriptorSet set = new_set();
  fill(set, next_contents());
  if (bind_2_ && pick_(2)) {
    const VkBindDescriptorSetsInfo info{VK_STRUCTURE_TYPE_BIND_DESCRIPTOR_SETS_INFO_KHR,
                                        nullptr,
                                        VK_SHADER_STAGE_COMPUTE_BIT,
                                        layout,
                                        1,
                                        1,
                                        &set,
                                        0,
                                        nullptr};
    bind_2_(commands, &info);
  } else {
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 1, 1, &set, 0,
                            nullptr);
  }
}

void SizedResources::end_submission() {
  if (pick_(2)) {
    check(vkResetDescriptorPool(device_, pool_, 0));
  } else if (!freed_later_.empty()) {
    check(vkFreeDescriptorSets(device_, pool_, static_cast<uint32_t>(freed_later_.size()),
                               freed_later_.data()));
  }
  freed_later_.clear();
  if (pick_(4) == 0) make_views();
}

}  // namespace tally::test
