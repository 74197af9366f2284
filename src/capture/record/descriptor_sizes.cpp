#include "capture/record/descriptor_sizes.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "vk/chain.h"

namespace tally::capture {
namespace {

bool has_only(const void* chain, std::span<const VkStructureType> known) {
  for (auto* node = static_cast<const VkBaseInStructure*>(chain); node; node = node->pNext) {
    if (std::ranges::find(known, node->sType) == known.end()) return false;
  }
  return true;
}

// These say how memory is used, not what an image's extent is.
constexpr VkStructureType kImageStructs[] = {
    VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
    VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO,
    VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO,
    VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_LIST_CREATE_INFO_EXT,
    VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT,
    VK_STRUCTURE_TYPE_DEDICATED_ALLOCATION_IMAGE_CREATE_INFO_NV,
    VK_STRUCTURE_TYPE_IMAGE_COMPRESSION_CONTROL_EXT,
};
constexpr VkStructureType kViewStructs[] = {VK_STRUCTURE_TYPE_IMAGE_VIEW_USAGE_CREATE_INFO,
                                            VK_STRUCTURE_TYPE_IMAGE_VIEW_ASTC_DECODE_MODE_EXT};
constexpr VkStructureType kLayoutStructs[] = {
    VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
    VK_STRUCTURE_TYPE_MUTABLE_DESCRIPTOR_TYPE_CREATE_INFO_VALVE};

constexpr VkDescriptorSetLayoutCreateFlags kLayoutFlags =
    VK_DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT |
    VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR |
    VK_DESCRIPTOR_SET_LAYOUT_CREATE_HOST_ONLY_POOL_BIT_VALVE;

// A descriptor that may be left unwritten has no size until it is written.
constexpr VkDescriptorBindingFlags kBindingFlags = VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT;

bool holds_image(VkDescriptorType type) {
  return type == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER ||
         type == VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE || type == VK_DESCRIPTOR_TYPE_STORAGE_IMAGE ||
         type == VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT;
}

bool holds_buffer(VkDescriptorType type) {
  return type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER ||
         type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
}

bool may_have_size(VkDescriptorType type) {
  return holds_image(type) || holds_buffer(type) || type == VK_DESCRIPTOR_TYPE_MUTABLE_VALVE;
}

template <typename T>
T read_at(const void* data, size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(data) + offset, sizeof value);
  return value;
}

}  // namespace

SizedLayout::SizedLayout(const VkDescriptorSetLayoutCreateInfo& info) {
  const bool is_known = (info.flags & ~kLayoutFlags) == 0 && has_only(info.pNext, kLayoutStructs);
  const auto* extended = vk::find_in_chain<VkDescriptorSetLayoutBindingFlagsCreateInfo>(
      info.pNext, VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO);
  const bool has_flags = extended && extended->bindingCount == info.bindingCount;
  for (uint32_t i = 0; i < info.bindingCount; ++i) {
    const VkDescriptorSetLayoutBinding& binding = info.pBindings[i];
    const VkDescriptorBindingFlags flags = has_flags ? extended->pBindingFlags[i] : 0;
    const bool has_slots = is_known && (flags & ~kBindingFlags) == 0 &&
                           binding.descriptorCount <= kMaxElements &&
                           may_have_size(binding.descriptorType);
    bindings_.push_back({binding.binding, binding.descriptorCount, has_slots ? 0 : kNoSlot});
  }
  std::ranges::sort(bindings_, {}, &Binding::number);
  for (Binding& binding : bindings_) {
    if (binding.first_slot == kNoSlot) continue;
    binding.first_slot = std::exchange(slot_count_, slot_count_ + binding.count);
  }
}

SizedLayout::Slots SizedLayout::slots_of(uint32_t binding) const {
  const auto found = std::ranges::lower_bound(bindings_, binding, {}, &Binding::number);
  if (found == bindings_.end() || found->number != binding || found->first_slot == kNoSlot)
    return {};
  return {found->first_slot, found->count};
}

SizedLayout::Place::Place(const SizedLayout& layout, uint32_t binding, uint32_t element)
    : layout_(layout), element_(element) {
  const auto found = std::ranges::lower_bound(layout.bindings_, binding, {}, &Binding::number);
  index_ = static_cast<size_t>(found - layout.bindings_.begin());
  skip_full();
}

void SizedLayout::Place::skip_full() {
  while (index_ < layout_.bindings_.size() && element_ >= layout_.bindings_[index_].count) {
    element_ -= layout_.bindings_[index_].count;
    ++index_;
  }
}

uint32_t SizedLayout::Place::slot() const {
  if (index_ >= layout_.bindings_.size()) return kNoSlot;
  const Binding& binding = layout_.bindings_[index_];
  return binding.first_slot == kNoSlot ? kNoSlot : binding.first_slot + element_;
}

void SizedLayout::Place::advance() {
  ++element_;
  skip_full();
}

SizedSet::SizedSet(std::shared_ptr<const SizedLayout> layout)
    : layout_(std::move(layout)),
      sizes_(new std::atomic<DescriptorSize>[layout_->slot_count()] {}) {}

void SizedSet::clear() {
  for (uint32_t i = 0; i < layout_->slot_count(); ++i) set(i, kNoSize);
}

void DescriptorSizes::add(VkImage handle, const VkImageCreateInfo& info) {
  if (!has_only(info.pNext, kImageStructs)) return;
  images_.insert(handle, ImageShape{info.flags, static_cast<uint32_t>(info.imageType),
                                    static_cast<uint32_t>(info.format), info.extent.width,
                                    info.extent.height, info.extent.depth, info.mipLevels,
                                    info.arrayLayers, static_cast<uint32_t>(info.samples)});
}

void DescriptorSizes::add(VkImageView handle, const VkImageViewCreateInfo& info) {
  const auto image = images_.find(info.image);
  if (!image || !has_only(info.pNext, kViewStructs)) return;
  const VkImageSubresourceRange& range = info.subresourceRange;
  const std::array<uint32_t, kViewWords> view = {info.flags,
                                                 static_cast<uint32_t>(info.viewType),
                                                 static_cast<uint32_t>(info.format),
                                                 range.aspectMask,
                                                 range.baseMipLevel,
                                                 range.levelCount,
                                                 range.baseArrayLayer,
                                                 range.layerCount};
  ViewShape shape;
  std::ranges::copy(view, std::ranges::copy(*image, shape.begin()).out);
  if (const uint64_t number = number_of(shape)) views_.insert(handle, number);
}

uint64_t DescriptorSizes::number_of(const ViewShape& shape) {
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = shapes_.find(shape); found != shapes_.end()) return found->second;
  }
  const std::unique_lock lock(mutex_);
  if (shapes_.size() == kMaxShapes) return 0;
  return shapes_.try_emplace(shape, shapes_.size() + 1).first->second;
}

void DescriptorSizes::add(VkDescriptorSetLayout handle,
                          const VkDescriptorSetLayoutCreateInfo& info) {
  set_layouts_.insert(handle, std::make_shared<const SizedLayout>(info));
}

void DescriptorSizes::add(VkPipelineLayout handle, const VkPipelineLayoutCreateInfo& info) {
  auto layouts = std::make_shared<SetLayouts>();
  for (uint32_t i = 0; i < info.setLayoutCount; ++i) {
    const VkDescriptorSetLayout layout = info.pSetLayouts[i];
    layouts->push_back(layout == VK_NULL_HANDLE ? nullptr : set_layouts_.find(layout));
  }
  pipeline_layouts_.insert(handle, std::move(layouts));
}

void DescriptorSizes::add(VkDescriptorUpdateTemplate handle,
                          const VkDescriptorUpdateTemplateCreateInfo& info) {
  auto made = std::make_shared<Template>();
  made->entries.assign(info.pDescriptorUpdateEntries,
                       info.pDescriptorUpdateEntries + info.descriptorUpdateEntryCount);
  if (info.templateType == VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS_KHR)
    made->pushes = info.pipelineBindPoint;
  templates_.insert(handle, std::move(made));
}

void DescriptorSizes::add_sets(const VkDescriptorSetAllocateInfo& info,
                               const VkDescriptorSet* sets) {
  std::shared_ptr<PoolSets> pool = pools_.find(info.descriptorPool);
  for (uint32_t i = 0; i < info.descriptorSetCount; ++i) {
    auto layout = set_layouts_.find(info.pSetLayouts[i]);
    if (!layout || layout->slot_count() == 0) continue;
    if (!pool) pools_.insert(info.descriptorPool, pool = std::make_shared<PoolSets>());
    // First, so that no set outlives its pool here.
    pool->insert(sets[i]);
    sets_.insert(sets[i], std::make_shared<SizedSet>(std::move(layout)));
  }
}

void DescriptorSizes::remove_sets(VkDescriptorPool pool, std::span<const VkDescriptorSet> sets) {
  const std::shared_ptr<PoolSets> all = pools_.find(pool);
  if (!all) return;
  for (const VkDescriptorSet set : sets) {
    if (all->erase(set) != 0) sets_.take(set);
  }
}

void DescriptorSizes::remove_pool(VkDescriptorPool pool) {
  const std::shared_ptr<PoolSets> all = pools_.take(pool);
  if (!all) return;
  for (const VkDescriptorSet set : *all) sets_.take(set);
}

DescriptorSize DescriptorSizes::size_of(VkDescriptorType type,
                                        const VkDescriptorImageInfo& info) const {
  // No size of a buffer has this bit.
  constexpr DescriptorSize kImage = DescriptorSize{1} << 63;
  if (!holds_image(type) || info.imageView == VK_NULL_HANDLE) return kNoSize;
  const uint64_t number = views_.find(info.imageView);
  return number == 0 ? kNoSize : kImage | number;
}

DescriptorSize DescriptorSizes::size_of(VkDescriptorType type,
                                        const VkDescriptorBufferInfo& info) const {
  if (!holds_buffer(type) || info.buffer == VK_NULL_HANDLE) return kNoSize;
  if (info.range != VK_WHOLE_SIZE) return info.range;
  // The rest of the buffer depends on the dynamic offset.
  if (type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC) return kNoSize;
  const VkDeviceSize size = buffers_.find(info.buffer);
  return size > info.offset ? size - info.offset : kNoSize;
}

void DescriptorSizes::write(SizedSet& to, const VkWriteDescriptorSet& write) const {
  // Its count is a number of bytes.
  if (write.descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) return;
  SizedLayout::Place place(*to.layout(), write.dstBinding, write.dstArrayElement);
  for (uint32_t i = 0; i < write.descriptorCount; ++i, place.advance()) {
    if (place.slot() == SizedLayout::kNoSlot) continue;
    DescriptorSize size = kNoSize;
    if (write.pNext == nullptr && holds_image(write.descriptorType)) {
      size = size_of(write.descriptorType, write.pImageInfo[i]);
    } else if (write.pNext == nullptr && holds_buffer(write.descriptorType)) {
      size = size_of(write.descriptorType, write.pBufferInfo[i]);
    }
    to.set(place.slot(), size);
  }
}

void DescriptorSizes::write(SizedSet& to, std::span<const VkWriteDescriptorSet> writes) const {
  for (const VkWriteDescriptorSet& one : writes) write(to, one);
}

void DescriptorSizes::write(SizedSet& to, VkDescriptorUpdateTemplate by, const void* data) const {
  const std::shared_ptr<const Template> known = templates_.find(by);
  if (!known) return to.clear();
  for (const VkDescriptorUpdateTemplateEntry& entry : known->entries) {
    if (entry.descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) continue;
    SizedLayout::Place place(*to.layout(), entry.dstBinding, entry.dstArrayElement);
    for (uint32_t i = 0; i < entry.descriptorCount; ++i, place.advance()) {
      if (place.slot() == SizedLayout::kNoSlot) continue;
      const size_t offset = entry.offset + i * entry.stride;
      DescriptorSize size = kNoSize;
      if (holds_image(entry.descriptorType)) {
        size = size_of(entry.descriptorType, read_at<VkDescriptorImageInfo>(data, offset));
      } else if (holds_buffer(entry.descriptorType)) {
        size = size_of(entry.descriptorType, read_at<VkDescriptorBufferInfo>(data, offset));
      }
      to.set(place.slot(), size);
    }
  }
}

void DescriptorSizes::update(std::span<const VkWriteDescriptorSet> writes,
                             std::span<const VkCopyDescriptorSet> copies) {
  for (const VkWriteDescriptorSet& one : writes) {
    if (const auto set = sets_.find(one.dstSet)) write(*set, one);
  }
  for (const VkCopyDescriptorSet& copy : copies) {
    const auto to = sets_.find(copy.dstSet);
    if (!to) continue;
    const auto from = sets_.find(copy.srcSet);
    SizedLayout::Place place(*to->layout(), copy.dstBinding, copy.dstArrayElement);
    if (!from) {
      for (uint32_t i = 0; i < copy.descriptorCount; ++i, place.advance())
        to->set(place.slot(), kNoSize);
      continue;
    }
    SizedLayout::Place source(*from->layout(), copy.srcBinding, copy.srcArrayElement);
    for (uint32_t i = 0; i < copy.descriptorCount; ++i, place.advance(), source.advance())
      to->set(place.slot(), from->get(source.slot()));
  }
}

void DescriptorSizes::update(VkDescriptorSet set, VkDescriptorUpdateTemplate by, const void* data) {
  if (const auto to = sets_.find(set)) write(*to, by, data);
}

std::shared_ptr<const SizedLayout> DescriptorSizes::find(VkPipelineLayout handle,
                                                         uint32_t set) const {
  const std::shared_ptr<const SetLayouts> layouts = pipeline_layouts_.find(handle);
  return layouts && set < layouts->size() ? (*layouts)[set] : nullptr;
}

std::optional<VkPipelineBindPoint> DescriptorSizes::bind_point_of(
    VkDescriptorUpdateTemplate handle) const {
  const std::shared_ptr<const Template> known = templates_.find(handle);
  return known ? known->pushes : std::nullopt;
}

void BoundSets::reset() {
  for (Bound& one : bound_) {
    one.handle = VK_NULL_HANDLE;
    one.is_pushed = false;
  }
}

void BoundSets::bind(uint32_t first, std::span<const VkDescriptorSet> sets) {
  for (size_t i = 0; i < sets.size() && first + i < kMaxSets; ++i) {
    bound_[first + i].handle = sets[i];
    bound_[first + i].is_pushed = false;
  }
}

SizedSet* BoundSets::push(uint32_t index, const std::shared_ptr<const SizedLayout>& layout) {
  if (index >= kMaxSets) return nullptr;
  Bound& bound = bound_[index];
  const bool stays = std::exchange(bound.is_pushed, false);
  bound.handle = VK_NULL_HANDLE;
  if (!layout) return nullptr;
  if (!bound.pushed || bound.pushed->layout() != layout) {
    bound.pushed = std::make_unique<SizedSet>(layout);
  } else if (!stays) {
    bound.pushed->clear();
  }
  bound.is_pushed = true;
  return bound.pushed.get();
}

std::span<const DescriptorSize> BoundSets::read(std::span<const spirv::LaunchInputs::Resource> from,
                                                const DescriptorSizes& sizes,
                                                std::span<DescriptorSize> to) const {
  size_t count = 0;
  uint32_t last_index = kMaxSets;
  std::shared_ptr<const SizedSet> found;
  const SizedSet* set = nullptr;
  for (const spirv::LaunchInputs::Resource& resource : from) {
    if (resource.set >= kMaxSets) return {};
    if (resource.set != std::exchange(last_index, resource.set)) {
      const Bound& bound = bound_[resource.set];
      if (!bound.is_pushed) found = sizes.find(bound.handle);
      set = bound.is_pushed ? bound.pushed.get() : found.get();
    }
    if (!set) return {};
    const SizedLayout::Slots slots = set->layout()->slots_of(resource.binding);
    if (slots.count == 0 || count + 1 + slots.count > to.size()) return {};
    to[count++] = slots.count;
    for (uint32_t i = 0; i < slots.count; ++i) {
      const DescriptorSize size = set->get(slots.first + i);
      if (size == kNoSize) return {};
      to[count++] = size;
    }
  }
  return to.first(count);
}

}  // namespace tally::capture
