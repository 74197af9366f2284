// A VkPipelineLayout of the application, extended by a place for the record's address. The
// application's handle is that of an extended driver layout, so its own pipelines, plain and
// instrumented, stay compatible with each other and with what it binds. How the place is found:
//
// PushConstant: the last 8 bytes (8 more with pipeline libraries, 8 more with counters by region)
// of the push constants that the device has. The same bytes in
//   every layout, so they do not get in the way of the application's in other layouts. Each of the
//   application's ranges is prolonged over them (a stage may appear in one range only), and one
//   more range adds the other stages.
// Descriptor: the application's ranges reach into those bytes. The device's last descriptor set
// holds one dynamic uniform
//   buffer; sets between the application's and that one are empty.
// None: no room for either.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "counters/layer/device_table.h"
#include "counters/layer/options.h"
#include "counters/memory/word_pool.h"
#include "counters/shader/stage_variants.h"

namespace tally::counters {

enum class AddressPath { None, PushConstant, Descriptor };

// What is the same for all layouts of a device.
struct LayoutRules {
  RecordAddress record_address = RecordAddress::Auto;
  uint32_t push_constant_size = 128;  // maxPushConstantsSize
  uint32_t address_slots = 1;         // for records: 2 on devices with pipeline libraries
  bool region_slot = false;           // one more, behind them, for counters by region
  uint32_t descriptor_sets = 4;       // maxBoundDescriptorSets; 0: none may be added
  VkShaderStageFlags stages = 0;      // all that the device may run
  bool prefer_descriptor = false;     // where both ways are open: its words can change later

  uint32_t slots() const { return address_slots + (region_slot ? 1 : 0); }
  uint32_t slot_offset() const { return push_constant_size - 8 * slots(); }
};

class PipelineLayout {
 public:
  // Decides the path from the application's ranges and sets alone.
  PipelineLayout(const VkPipelineLayoutCreateInfo& info, const LayoutRules& rules);
  ~PipelineLayout();
  PipelineLayout(const PipelineLayout&) = delete;
  PipelineLayout& operator=(const PipelineLayout&) = delete;

  // Creates the application's layout, and one of our own that is defined identically and lives as
  // long as this object: commands use it after the application has destroyed its own.
  VkResult create(VkDevice device, const DeviceTable& next, WordPool& words,
                  const VkPipelineLayoutCreateInfo& info, const VkAllocationCallbacks* allocator,
                  VkPipelineLayout* handle);

  // What the driver is given instead of the application's sets and ranges; also for shader objects,
  // which name both.
  struct Extended {
    std::vector<VkDescriptorSetLayout> sets;
    std::vector<VkPushConstantRange> ranges;
  };
  // Nothing when there is no memory for the reserved set.
  std::optional<Extended> extend(WordPool& words,
                                 std::span<const VkDescriptorSetLayout> sets) const;

  AddressPath path() const { return path_; }
  VkPipelineLayout handle() const { return own_; }
  uint32_t slot_offset() const { return rules_.slot_offset(); }
  uint32_t reserved_set() const { return rules_.descriptor_sets - 1; }
  VkShaderStageFlags slot_stages() const { return slot_stages_; }
  // Where shaders of a pipeline with this layout find their record; path() is not None.
  StageVariants::Addressing addressing(bool separate_fragment) const;

  // The stages that an update of the application's constants at `offset` must name, now that ranges
  // were prolonged.
  VkShaderStageFlags widen(VkShaderStageFlags stages, uint32_t offset) const;
  bool widens() const {
    return path_ == AddressPath::PushConstant && application_ranges_.size() > 1;
  }
  // Whether the application's own constants reach into the bytes of the slot.
  bool covers_slot() const { return application_end_ > rules_.slot_offset(); }
  // Updates the application's constants [begin, end) with `values`, in the stages that it declared
  // them for.
  void push_application_bytes(VkCommandBuffer commands, uint32_t begin, uint32_t end,
                              const std::byte* values) const;

 private:
  AddressPath choose_path(const VkPipelineLayoutCreateInfo& info) const;
  VkResult create_extended(const VkPipelineLayoutCreateInfo& info, const Extended& extended,
                           VkPipelineLayout* handle, const VkAllocationCallbacks* allocator) const;
  std::vector<VkPushConstantRange> extended_ranges() const;
  VkShaderStageFlags application_stages(uint32_t offset) const;

  LayoutRules rules_;
  std::vector<VkPushConstantRange> application_ranges_;
  uint32_t application_end_ = 0;
  AddressPath path_ = AddressPath::None;
  VkShaderStageFlags slot_stages_ = 0;
  VkDevice device_ = VK_NULL_HANDLE;
  const DeviceTable* next_ = nullptr;
  VkPipelineLayout own_ = VK_NULL_HANDLE;
};

}  // namespace tally::counters
