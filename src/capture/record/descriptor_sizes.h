// The sizes of the images and buffers of descriptors, as shaders query them: extents, levels,
// samples and lengths (spirv/analysis/launch_inputs.h). A size is a number: descriptors with equal
// numbers give equal answers. It follows from the application's calls of Vulkan alone. Where one of
// them leaves a doubt, there is no size.
//
// Images, buffers, views and layouts are always known. Descriptor sets are followed once a shader
// of the device branches on a size; those that were allocated before are not known.
#pragma once

#include <tally/vulkan_newer.h>
#include <vulkan/vulkan_core.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <unordered_set>
#include <vector>

#include "spirv/analysis/launch_inputs.h"
#include "vk/handles.h"

namespace tally::capture {

using DescriptorSize = uint64_t;
inline constexpr DescriptorSize kNoSize = 0;

// Where the descriptors of a set have their sizes.
class SizedLayout {
 public:
  explicit SizedLayout(const VkDescriptorSetLayoutCreateInfo& info);

  static constexpr uint32_t kNoSlot = UINT32_MAX;
  uint32_t slot_count() const { return slot_count_; }
  // The slots of all elements of a binding; empty if they have none.
  struct Slots {
    uint32_t first = 0, count = 0;
  };
  Slots slots_of(uint32_t binding) const;

  // A descriptor, and those that follow it: the elements of a binding, then those of the next one.
  class Place {
   public:
    Place(const SizedLayout& layout, uint32_t binding, uint32_t element);
    // kNoSlot: the descriptor has no size.
    uint32_t slot() const;
    void advance();

   private:
    void skip_full();

    const SizedLayout& layout_;
    size_t index_;
    uint32_t element_;
  };

 private:
  // Keys hold all elements of a binding, so larger arrays have no sizes.
  static constexpr uint32_t kMaxElements = 16;

  struct Binding {
    uint32_t number = 0;
    uint32_t count = 0;
    uint32_t first_slot = kNoSlot;
  };

  std::vector<Binding> bindings_;  // ascending
  uint32_t slot_count_ = 0;
};

// The sizes of a set's descriptors. Threads may read them at any time. Vulkan lets one thread at a
// time update the set.
class SizedSet {
 public:
  explicit SizedSet(std::shared_ptr<const SizedLayout> layout);

  const std::shared_ptr<const SizedLayout>& layout() const { return layout_; }
  void clear();
  void set(uint32_t slot, DescriptorSize size) {
    if (slot < layout_->slot_count()) sizes_[slot].store(size, std::memory_order_relaxed);
  }
  DescriptorSize get(uint32_t slot) const {
    return slot < layout_->slot_count() ? sizes_[slot].load(std::memory_order_relaxed) : kNoSize;
  }

 private:
  const std::shared_ptr<const SizedLayout> layout_;
  const std::unique_ptr<std::atomic<DescriptorSize>[]> sizes_;
};

// The objects of a device. Thread-safe, as Vulkan is: an object is destroyed after its last use.
class DescriptorSizes {
 public:
  void add(VkImage handle, const VkImageCreateInfo& info);
  void remove(VkImage handle) { images_.take(handle); }
  void add(VkImageView handle, const VkImageViewCreateInfo& info);
  void remove(VkImageView handle) { views_.take(handle); }
  void add(VkBuffer handle, const VkBufferCreateInfo& info) { buffers_.insert(handle, info.size); }
  void remove(VkBuffer handle) { buffers_.take(handle); }
  void add(VkDescriptorSetLayout handle, const VkDescriptorSetLayoutCreateInfo& info);
  void remove(VkDescriptorSetLayout handle) { set_layouts_.take(handle); }
  void add(VkPipelineLayout handle, const VkPipelineLayoutCreateInfo& info);
  void remove(VkPipelineLayout handle) { pipeline_layouts_.take(handle); }
  void add(VkDescriptorUpdateTemplate handle, const VkDescriptorUpdateTemplateCreateInfo& info);
  void remove(VkDescriptorUpdateTemplate handle) { templates_.take(handle); }

  // From here on, sets are followed.
  void add_sets(const VkDescriptorSetAllocateInfo& info, const VkDescriptorSet* sets);
  // Call these before the driver frees them.
  void remove_sets(VkDescriptorPool pool, std::span<const VkDescriptorSet> sets);
  void remove_pool(VkDescriptorPool pool);  // or reset it
  void update(std::span<const VkWriteDescriptorSet> writes,
              std::span<const VkCopyDescriptorSet> copies);
  void update(VkDescriptorSet set, VkDescriptorUpdateTemplate by, const void* data);
  // Null: not known.
  std::shared_ptr<SizedSet> find(VkDescriptorSet handle) const { return sets_.find(handle); }

  // For descriptors that are pushed.
  std::shared_ptr<const SizedLayout> find(VkPipelineLayout handle, uint32_t set) const;
  void write(SizedSet& to, std::span<const VkWriteDescriptorSet> writes) const;
  void write(SizedSet& to, VkDescriptorUpdateTemplate by, const void* data) const;
  // The bind point of a template that pushes; empty if it is not known.
  std::optional<VkPipelineBindPoint> bind_point_of(VkDescriptorUpdateTemplate handle) const;

 private:
  static constexpr size_t kImageWords = 9, kViewWords = 8;
  using ImageShape = std::array<uint32_t, kImageWords>;
  using ViewShape = std::array<uint32_t, kImageWords + kViewWords>;
  using SetLayouts = std::vector<std::shared_ptr<const SizedLayout>>;
  using PoolSets = std::unordered_set<VkDescriptorSet>;
  struct Template {
    std::vector<VkDescriptorUpdateTemplateEntry> entries;
    std::optional<VkPipelineBindPoint> pushes;
  };
  // Views of other shapes, after these, have no size.
  static constexpr size_t kMaxShapes = 4096;

  uint64_t number_of(const ViewShape& shape);
  DescriptorSize size_of(VkDescriptorType type, const VkDescriptorImageInfo& info) const;
  DescriptorSize size_of(VkDescriptorType type, const VkDescriptorBufferInfo& info) const;
  void write(SizedSet& to, const VkWriteDescriptorSet& write) const;

  vk::HandleMap<VkImage, std::optional<ImageShape>> images_;
  vk::HandleMap<VkImageView, uint64_t> views_;  // the numbers of their shapes
  vk::HandleMap<VkBuffer, VkDeviceSize> buffers_;
  vk::HandleMap<VkDescriptorSetLayout, std::shared_ptr<const SizedLayout>> set_layouts_;
  vk::HandleMap<VkPipelineLayout, std::shared_ptr<const SetLayouts>> pipeline_layouts_;
  vk::HandleMap<VkDescriptorUpdateTemplate, std::shared_ptr<const Template>> templates_;
  vk::HandleMap<VkDescriptorSet, std::shared_ptr<SizedSet>> sets_;
  vk::HandleMap<VkDescriptorPool, std::shared_ptr<PoolSets>> pools_;  // synchronised like a pool
  std::shared_mutex mutex_;  // guards the numbers of shapes
  std::map<ViewShape, uint64_t> shapes_;
};

// The sets that a command buffer has bound for compute shaders. A set is looked up when a dispatch
// asks for it, so binding one costs little. A bound set must not be changed or freed before the
// commands that use it have been executed, so it has the same sizes then.
class BoundSets {
 public:
  void reset();
  void bind(uint32_t first, std::span<const VkDescriptorSet> sets);
  // The set that takes pushed descriptors. Those that were pushed before stay, if the layout is the
  // same. Null: they are not known.
  SizedSet* push(uint32_t index, const std::shared_ptr<const SizedLayout>& layout);

  // Writes the sizes of all elements of the bindings to `to`, each binding with their number before
  // it. Returns what was written; empty if a size is not known, or if there are more than fit.
  std::span<const DescriptorSize> read(std::span<const spirv::LaunchInputs::Resource> from,
                                       const DescriptorSizes& sizes,
                                       std::span<DescriptorSize> to) const;

 private:
  static constexpr uint32_t kMaxSets = 8;

  struct Bound {
    VkDescriptorSet handle = VK_NULL_HANDLE;
    bool is_pushed = false;
    std::unique_ptr<SizedSet> pushed;  // kept for the next recording
  };
  std::array<Bound, kMaxSets> bound_;
};

}  // namespace tally::capture
