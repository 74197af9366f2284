// Shared by the tests of VK_EXT_descriptor_heap: a device with the extension, of the driver or of
// stand_in/newest/ where the driver lacks it, and commands with push data.
#pragma once

#include <tally/vulkan_newest.h>

#include "api/kit.h"
#include "api/regions/kit.h"

namespace tally::test {

// The push data of add.comp.
struct AddPush {
  VkDeviceAddress values;
  uint32_t add;
  uint32_t unused = 0;
};

inline constexpr uint64_t kHeapBit = VK_PIPELINE_CREATE_2_DESCRIPTOR_HEAP_BIT_EXT;
inline constexpr uint64_t kCountingHeapBits =
    kHeapBit | VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM;

class HeapsTest : public CountersTest {
 protected:
  void TearDown() override;
  // Creates the device. Returns false, after GTEST_SKIP's reason in `missing`, where there can be
  // none.
  bool start_heaps(const LayerSettings::Pairs& settings = {}, ContextOptions options = {});
  bool native() const { return native_; }
  const std::string& missing() const { return missing_; }

  // maxPushDataSize as the application sees it.
  uint32_t max_push_data() { return max_push_data(context()); }
  static uint32_t max_push_data(const Context& context);
  // The driver alone.
  ContextOptions without_counters() const;

  // A compute pipeline with heaps.
  Pipeline make_heap_compute(std::span<const uint32_t> code, uint64_t flags = kCountingHeapBits);
  // rectangle.vert and a fragment shader, with heaps.
  Pipeline make_heap_rectangles(std::span<const uint32_t> fragment,
                                uint64_t flags = kCountingHeapBits);

  // A pipeline with heaps that needs none, nor push data: full_screen.vert and orange.frag.
  Pipeline make_heap_orange(uint64_t flags = kCountingHeapBits);

  template <typename T>
  void push(VkCommandBuffer commands, const T& value, uint32_t offset = 0) {
    push_bytes(commands, offset, &value, sizeof value);
  }
  void push_bytes(VkCommandBuffer commands, uint32_t offset, const void* bytes, size_t size);
  void bind_resource_heap(VkCommandBuffer commands);
  void bind_sampler_heap(VkCommandBuffer commands);
  // Inherits the resource heap.
  VkCommandBuffer begin_secondary();

  // Write a descriptor into its heap: of a storage buffer, of an image in the layout GENERAL, of a
  // sampler. They return its offset, a multiple of its size. Not on stand_in/newest/.
  uint32_t write_descriptor(uint32_t index, const Buffer& buffer);
  uint32_t write_image(uint32_t index, const Image& image, VkDescriptorType type);
  uint32_t write_sampler(uint32_t index, const VkSamplerCreateInfo& sampler);
  // Writes a number in place of a descriptor. Returns its offset.
  uint32_t write_number(uint32_t number);
  uint32_t image_size() {
    return static_cast<uint32_t>(heap_properties(context()).imageDescriptorSize);
  }
  uint32_t sampler_size() {
    return static_cast<uint32_t>(heap_properties(context()).samplerDescriptorSize);
  }

  // 64 zeroed values in memory that shaders find by its address.
  Buffer make_values();
  // The amount that a dispatch of add.comp with this summand adds to value i.
  static uint32_t added(uint32_t i, uint32_t add) { return (i & 1) != 0 ? 3 * add : add; }
  // Dispatches of so many invocations, each with a summand, were all that changed the 64 values.
  static void expect_added(const Buffer& values,
                           std::initializer_list<std::pair<uint32_t, uint32_t>> dispatches);
  static void dispatch_groups(VkCommandBuffer commands, uint32_t groups) {
    vkCmdDispatch(commands, groups, 1, 1);
    full_barrier(commands);
  }
  bool has_message(std::string_view id) {
    const auto messages = context().messages();
    return std::ranges::any_of(messages, [&](const Message& one) { return one.id == id; });
  }

 private:
  static VkPhysicalDeviceDescriptorHeapPropertiesEXT heap_properties(const Context& context);

  bool native_ = false;
  std::string missing_;
  // Empty, with what the driver needs of them.
  Buffer make_heap(VkDeviceSize size);

  VkBindHeapInfoEXT resource_heap();
  VkBindHeapInfoEXT sampler_heap();
  void write_resource(const VkResourceDescriptorInfoEXT& info, uint32_t offset, VkDeviceSize size);

  Buffer heap_, sampler_heap_;
};

// The mappings of a shader's bindings of set 0. The chain of its stage, while this exists.
class Mappings {
 public:
  using Source = VkDescriptorMappingSourceEXT;
  using Data = VkDescriptorMappingSourceDataEXT;

  Mappings() = default;
  // One of them, as add() and add_resource() do.
  Mappings(uint32_t binding, Source source, const Data& data) { add(binding, source, data); }
  Mappings(uint32_t binding, uint32_t offset) { add_resource(binding, offset); }
  Mappings(const Mappings&) = delete;
  Mappings& operator=(const Mappings&) = delete;

  Mappings& add(uint32_t binding, Source source, const Data& data);
  // Maps to a descriptor in the heap of its kind: constantOffset holds a sampler's offset as well.
  Mappings& add_resource(uint32_t binding, uint32_t offset);
  // To a sampler that the pipeline or shader object embeds.
  Mappings& add_sampler(uint32_t binding, const VkSamplerCreateInfo& sampler);
  const void* chain() const { return &info_; }

 private:
  std::vector<VkDescriptorSetAndBindingMappingEXT> all_;
  VkShaderDescriptorSetAndBindingMappingInfoEXT info_ = {
      VK_STRUCTURE_TYPE_SHADER_DESCRIPTOR_SET_AND_BINDING_MAPPING_INFO_EXT};
};

// Tests of descriptors in heaps, on a driver with the extension.
class NativeHeapsTest : public HeapsTest {
 protected:
  // Returns false where the driver lacks it.
  bool start_native(const LayerSettings::Pairs& settings = {}, ContextOptions options = {});
  // A compute pipeline with mapped bindings.
  Pipeline make_mapped(std::span<const uint32_t> code, const Mappings& mappings,
                       uint64_t flags = kCountingHeapBits);

 private:
  // VkPhysicalDeviceShaderUntypedPointersFeaturesKHR
  struct {
    VkStructureType type = static_cast<VkStructureType>(1000387000);
    void* next = nullptr;
    VkBool32 untyped = VK_TRUE;
  } untyped_;
};

}  // namespace tally::test
