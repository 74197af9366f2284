// A descriptor set layout that the application created without allocation callbacks. Once the
// application has destroyed it, shader objects keep it for what is made of them later.
#pragma once

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "counters/base/device_table.h"
#include "counters/base/options.h"
#include "vk/handles.h"
#include "vk/own_call.h"

namespace tally::counters {

class WordPool;
struct StageAddressing;

class SetLayout {
 public:
  SetLayout(VkDevice device, const DeviceTable& next, VkDescriptorSetLayout handle)
      : device_(device), next_(next), handle_(handle) {}
  ~SetLayout() {
    if (owned_) next_.DestroyDescriptorSetLayout(device_, handle_, nullptr);
  }
  SetLayout(const SetLayout&) = delete;
  SetLayout& operator=(const SetLayout&) = delete;

  // The application destroys it. Call while holding a reference.
  void own() { owned_ = true; }

 private:
  VkDevice device_;
  const DeviceTable& next_;
  VkDescriptorSetLayout handle_;
  bool owned_ = false;
};

using KeptSetLayouts = std::vector<std::shared_ptr<const SetLayout>>;

// Those of a device that exist, by their handles. Thread-safe.
class SetLayouts {
 public:
  // `used`: shader objects are enabled on the device. Without them nothing is kept.
  SetLayouts(VkDevice device, const DeviceTable& next, bool used)
      : device_(device), next_(next), used_(used) {}

  // After the application has created the layout.
  void note(VkDescriptorSetLayout layout, const VkAllocationCallbacks* allocator) {
    if (!used_ || allocator) return;
    vk::guarded_void(
        [&] { layouts_.insert(layout, std::make_shared<SetLayout>(device_, next_, layout)); });
  }
  // In place of the driver's command.
  void destroy(VkDescriptorSetLayout layout, const VkAllocationCallbacks* allocator) {
    if (const auto known = layouts_.take(layout)) {
      known->own();
    } else {
      next_.DestroyDescriptorSetLayout(device_, layout, allocator);
    }
  }

  // Nothing if one of them is not known. Null handles are left out.
  std::optional<KeptSetLayouts> find(std::span<const VkDescriptorSetLayout> handles) const {
    KeptSetLayouts found;
    for (const VkDescriptorSetLayout handle : handles) {
      if (handle == VK_NULL_HANDLE) continue;
      if (!found.emplace_back(layouts_.find(handle))) return std::nullopt;
    }
    return found;
  }

 private:
  const VkDevice device_;
  const DeviceTable& next_;
  const bool used_;
  vk::HandleMap<VkDescriptorSetLayout, std::shared_ptr<SetLayout>> layouts_;
};

// A VkPipelineLayout of the application, extended by a slot for the record pointer. The
// application's handle is the extended driver layout's, so that plain pipelines, their
// variants and what the application binds stay compatible. The slot has one of three paths:
//
// PushConstant: the last 8 bytes of the device's push constants; 8 more with pipeline libraries or
//   shader objects, 8 more with counters by region, and 8 behind them where there is a PushGuard.
//   The offset is the same in every layout.
//   Each range of the application is extended to cover the slot, since a stage may appear in one
//   range only. Another range covers the other stages.
// Descriptor: for layouts whose ranges overlap those bytes. The last descriptor set of the device
//   holds a dynamic uniform buffer. Sets between the application's sets and that one are empty.
// None: neither is possible.
//
// Pipelines and shader objects with descriptor heaps have no layout. An object without a handle
// stands for it: the path is PushConstant, and push data hold the slot.

enum class AddressPath { None, PushConstant, Descriptor };

// The push data that shaders with descriptor heaps read.
struct PushReads {
  static constexpr uint32_t kBytes = 512;  // of which the layer knows

  uint32_t block_end = 0;  // of push-constant blocks, which can be moved to memory
  uint64_t fixed = 0;      // by 8 bytes: what mappings read, and blocks that cannot be moved

  static constexpr PushReads everything() { return {UINT32_MAX, UINT64_MAX}; }
  // The bytes [begin, end).
  static uint64_t mask(uint64_t begin, uint64_t end);
  void add_fixed(uint64_t begin, uint64_t end) { fixed |= mask(begin, end); }
  PushReads& operator|=(const PushReads& other) {
    block_end = std::max(block_end, other.block_end);
    fixed |= other.fixed;
    return *this;
  }
  auto operator<=>(const PushReads&) const = default;  // NOLINT(modernize-use-nullptr)
};

// The same for all layouts of a device.
struct LayoutRules {
  RecordAddress record_address = RecordAddress::Auto;
  uint32_t push_constant_size = 128;  // maxPushConstantsSize
  uint32_t push_data_size = 0;        // maxPushDataSize; 0: descriptor heaps are not enabled
  // Record pointers: 2 on devices with pipeline libraries or shader objects.
  uint32_t address_slots = 1;
  // Before those, in this order: geometry, evaluation, control (AddressSlot). Layouts whose
  // push constants reach there do without.
  bool shader_slots = false;
  // Another pointer, for counters by region. In compute shaders the word after the record pointer
  // is the address of spirv::LaneSets, also where that word is the second address slot.
  bool region_slot = false;
  bool guard = false;              // the last 8 bytes are those of PushGuard
  uint32_t descriptor_sets = 4;    // maxBoundDescriptorSets; 0: no set may be added
  VkShaderStageFlags stages = 0;   // all stages that the device supports
  bool prefer_descriptor = false;  // the host can change pointers in descriptors after recording
  // Before the slots of pipelines: the address of push constants that are in memory instead.
  bool block_address = false;

  uint32_t slots() const { return address_slots + (region_slot ? 1 : 0); }
  uint32_t guard_offset() const { return push_constant_size - (guard ? 8 : 0); }
  uint32_t slot_offset() const { return guard_offset() - 8 * slots(); }
  uint32_t block_address_offset() const { return slot_offset() - (block_address ? 8 : 0); }
  uint32_t reserved_offset() const { return block_address_offset() - (shader_slots ? 24 : 0); }
  // The same rules for pipelines that use descriptor heaps: their push constants are push data.
  LayoutRules with_heaps() const {
    LayoutRules rules = *this;
    rules.push_constant_size = push_data_size;
    rules.guard = false;
    rules.block_address = true;
    return rules;
  }
};

class PipelineLayout {
 public:
  // Chooses the path from the application's ranges and sets.
  PipelineLayout(const VkPipelineLayoutCreateInfo& info, const LayoutRules& rules);
  // In place of a layout, for shaders with descriptor heaps. `end`: of the record pointers in push
  // data; 0: there is no room for them. `moves_blocks`: see moves_blocks().
  PipelineLayout(const PushReads& reads, uint32_t end, bool moves_blocks, const LayoutRules& rules,
                 const DeviceTable& next);
  ~PipelineLayout();
  PipelineLayout(const PipelineLayout&) = delete;
  PipelineLayout& operator=(const PipelineLayout&) = delete;

  // The sets and ranges that the driver gets in place of the application's; for shader objects too.
  struct Extended {
    std::vector<VkDescriptorSetLayout> sets;
    std::vector<VkPushConstantRange> ranges;
  };

  // Creates the application's layout, and an identically defined one that lives as long as this
  // object: the layer's commands use it even after the application has destroyed its own.
  VkResult create(VkDevice device, const DeviceTable& next, WordPool& words,
                  const VkPipelineLayoutCreateInfo& info, const VkAllocationCallbacks* allocator,
                  VkPipelineLayout* handle);
  // Creates only the layer's own layout; shader objects have no layout object.
  VkResult create_own(VkDevice device, const DeviceTable& next,
                      const VkPipelineLayoutCreateInfo& info, const Extended& extended);
  // The same, once make_own() is called.
  void create_own_later(VkDevice device, const DeviceTable& next, VkPipelineLayoutCreateFlags flags,
                        Extended extended, KeptSetLayouts sets);
  // Returns whether the layer's commands can use this layout. Thread-safe.
  bool make_own();

  // Nothing if there is no memory for the reserved set.
  std::optional<Extended> extend(WordPool& words,
                                 std::span<const VkDescriptorSetLayout> sets) const;

  AddressPath path() const { return path_; }
  // Why the path is None although there is room: create() failed to extend the layout.
  const vk::OwnFailure& failure() const { return failure_; }
  // True if it stands for descriptor heaps.
  bool has_heaps() const { return heaps_; }
  // With heaps: whether push-constant blocks are in memory (spirv::AddressSource::block_address).
  bool moves_blocks() const { return moves_blocks_; }
  const PushReads& reads() const { return reads_; }
  // Where all shaders with heaps leave the record pointers to the layer, unless they read there.
  bool has_usual_slots() const { return rules_.push_constant_size == rules_.push_data_size; }
  uint32_t block_address_offset() const { return rules_.block_address_offset(); }
  uint32_t slots_end() const { return rules_.push_constant_size; }
  VkPipelineLayout handle() const { return own_; }
  uint32_t slot_offset() const { return rules_.slot_offset(); }
  uint32_t reserved_set() const { return rules_.descriptor_sets - 1; }
  // The first byte in which the layer may write to push constants.
  uint32_t reserved_offset() const { return rules_.reserved_offset(); }
  // Where shaders of a pipeline with this layout find their record pointer. path() must not be
  // None.
  StageAddressing addressing(bool separate_fragment) const;
  // The same for a shader object: nothing if its slot is not in this layout.
  std::optional<StageAddressing> shader_addressing(VkShaderStageFlagBits stage) const;

  // The stages that an update of push constants at `offset` must name with the extended ranges.
  VkShaderStageFlags widen(VkShaderStageFlags stages, uint32_t offset) const;
  bool widens() const {
    return path_ == AddressPath::PushConstant && application_ranges_.size() > 1;
  }
  // True if the application's push constants overlap the slot.
  bool covers_slot() const { return application_end_ > rules_.slot_offset(); }
  // ... the bytes of PushGuard.
  bool covers_guard() const { return !heaps_ && application_end_ > rules_.guard_offset(); }
  // ... any byte that the layer may write.
  bool covers_reserved() const { return application_end_ > rules_.reserved_offset(); }
  // Pushes record pointers, from the byte `offset` on.
  void push_pointers(VkCommandBuffer commands, uint32_t offset,
                     std::span<const uint64_t> pointers) const;
  // Pushes `values` to the bytes [begin, end), for the stages of the application's ranges.
  void push_application_bytes(VkCommandBuffer commands, uint32_t begin, uint32_t end,
                              const std::byte* values) const;

 private:
  AddressPath choose_path(const VkPipelineLayoutCreateInfo& info) const;
  struct Later {
    VkPipelineLayoutCreateFlags flags;
    Extended extended;
    KeptSetLayouts sets;
  };
  VkResult create_extended(const VkPipelineLayoutCreateInfo& info, const Extended& extended,
                           VkPipelineLayout* handle, const VkAllocationCallbacks* allocator) const;
  std::vector<VkPushConstantRange> extended_ranges() const;
  VkShaderStageFlags application_stages(uint32_t offset) const;
  void push_data(VkCommandBuffer commands, uint32_t offset, const void* values, size_t size) const;

  LayoutRules rules_;
  std::vector<VkPushConstantRange> application_ranges_;
  uint32_t application_end_ = 0;
  AddressPath path_ = AddressPath::None;
  vk::OwnFailure failure_;
  VkShaderStageFlags slot_stages_ = 0;
  VkDevice device_ = VK_NULL_HANDLE;
  const DeviceTable* next_ = nullptr;
  VkPipelineLayout own_ = VK_NULL_HANDLE;
  std::mutex mutex_;              // held by make_own()
  std::unique_ptr<Later> later_;  // what it needs
  bool heaps_ = false;
  bool moves_blocks_ = false;
  PushReads reads_;
};

// Two floats above 1 in the last 8 bytes of the push constants: a workaround for llvmpipe.
//
// llvmpipe has a fast path that fills rectangles with a constant colour (lp_fs_linear_run). It
// first converts the push constants of the draw into an array of 64 bytes on its stack, one byte
// each. At the first one that is not between 0 and 1 it stops, and the fast path is not taken. But
// lavapipe adds up the sizes of the push constants of shader objects that are bound together, and
// of libraries with different layouts. The layer's ranges end where the device's 64 push constants
// end, so the sum is more than 64.
// docs/reference/drivers.md has a reproduction without the layer.

class PushGuard {
 public:
  // Does nothing unless the rules have guard bytes.
  PushGuard(VkDevice device, const DeviceTable& next, const LayoutRules& rules);
  ~PushGuard();
  PushGuard(const PushGuard&) = delete;
  PushGuard& operator=(const PushGuard&) = delete;

  void push(VkCommandBuffer commands) const;

 private:
  VkDevice device_;
  const DeviceTable& next_;
  uint32_t offset_;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
};

// The counterpart of a pipeline layout for pipelines and shader objects with descriptor heaps
// (VK_EXT_descriptor_heap), which have none. All bytes of push data are the application's: the
// record pointers are where its shaders read nothing, preferably at the end. The contents of a
// push-constant block there are in memory instead: the layer copies push data before draws and
// dispatches, and the variants read the copy (spirv::AddressSource::block_address). Data that
// mappings read there cannot be moved. Most shaders leave the same bytes to the layer, and share
// one object.

class HeapLayouts {
 public:
  HeapLayouts(const LayoutRules& rules, const DeviceTable& next);

  bool enabled() const { return enabled_; }
  // For shaders that read this. `all_slots`: also the pointers of shader objects. Null where heaps
  // are not enabled. Thread-safe.
  std::shared_ptr<PipelineLayout> find(PushReads reads, bool all_slots) const;

 private:
  const LayoutRules rules_;
  const DeviceTable& next_;
  const bool enabled_;
  mutable std::mutex mutex_;  // guards layouts_
  mutable std::map<std::pair<PushReads, bool>, std::shared_ptr<PipelineLayout>> layouts_;
};

}  // namespace tally::counters
