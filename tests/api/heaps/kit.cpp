#include "api/heaps/kit.h"

#include <algorithm>
#include <cstdlib>

#include "full_screen.vert.h"
#include "orange.frag.h"
#include "rectangle.vert.h"
#include "support/environment.h"

namespace tally::test {
namespace {

// In the resource heap, after the descriptors of buffers.
constexpr uint32_t kNumber = 16384;
constexpr uint32_t kImages = 32768;

// The end of the bytes that the validation layer says were never pushed; 0 for other errors. It
// takes a block of push constants for one range, with the bytes between the application's members
// and the record pointer, which no shader reads.
uint32_t end_of_missing_push_data(const Message& error) {
  if (!error.id.ends_with("-None-11376")) return 0;
  const size_t at = error.text.find("never called for range [");
  const size_t comma = error.text.find(", ", at);
  if (at == std::string::npos || comma == std::string::npos) return 0;
  return static_cast<uint32_t>(std::strtoul(error.text.c_str() + comma + 2, nullptr, 10));
}

}  // namespace

void HeapsTest::TearDown() {
  if (!missing_.empty() || IsSkipped()) return;
  const uint32_t all = max_push_data(Context(without_counters()));
  for (const Message& error : context().take_errors()) {
    const uint32_t end = end_of_missing_push_data(error);
    EXPECT_TRUE(end != 0 && end < all) << error.text;
  }
}

bool HeapsTest::start_heaps(const LayerSettings::Pairs& settings, ContextOptions options) {
  native_ = Context().has_extension(VK_EXT_DESCRIPTOR_HEAP_EXTENSION_NAME);
  if (!native_ && validation_wanted()) {
    missing_ = "not with the validation layer below, which does not know the extension";
    return false;
  }
  if (!native_) options.driver_layers.push_back("VK_LAYER_TALLY_test_newest_driver");
  VkPhysicalDeviceDescriptorHeapFeaturesEXT feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_HEAP_FEATURES_EXT, options.device_next, VK_TRUE};
  options.device_next = &feature;
  options.device_extensions.push_back(VK_EXT_DESCRIPTOR_HEAP_EXTENSION_NAME);
  const auto is_enabled = [&](std::string_view name) {
    return std::ranges::find(options.device_extensions, name) != options.device_extensions.end();
  };
  if (native_ && !is_enabled(VK_KHR_MAINTENANCE_5_EXTENSION_NAME)) {
    options.device_extensions.push_back(VK_KHR_MAINTENANCE_5_EXTENSION_NAME);
  }
  start(settings, options);
  return true;
}

VkPhysicalDeviceDescriptorHeapPropertiesEXT HeapsTest::heap_properties(const Context& context) {
  VkPhysicalDeviceDescriptorHeapPropertiesEXT heaps{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_HEAP_PROPERTIES_EXT};
  VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &heaps};
  vkGetPhysicalDeviceProperties2(context.gpu(), &all);
  return heaps;
}

uint32_t HeapsTest::max_push_data(const Context& context) {
  return static_cast<uint32_t>(heap_properties(context).maxPushDataSize);
}

ContextOptions HeapsTest::without_counters() const {
  ContextOptions options;
  if (!native_) options.driver_layers = {"VK_LAYER_TALLY_test_newest_driver"};
  return options;
}

Pipeline HeapsTest::make_heap_compute(std::span<const uint32_t> code, uint64_t flags) {
  const VkPipelineCreateFlags2CreateInfoKHR next{
      VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR, nullptr, flags};
  return make_compute_pipeline(context(),
                               {{VK_SHADER_STAGE_COMPUTE_BIT, code}, VK_NULL_HANDLE, {}, 0, &next});
}

Pipeline HeapsTest::make_heap_rectangles(std::span<const uint32_t> fragment, uint64_t flags) {
  const VkPipelineCreateFlags2CreateInfoKHR next{
      VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR, nullptr, flags};
  return make_graphics_pipeline(context(), {.stages = {{VK_SHADER_STAGE_VERTEX_BIT, rectangle_vert},
                                                       {VK_SHADER_STAGE_FRAGMENT_BIT, fragment}},
                                            .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP,
                                            .next = &next});
}

Pipeline HeapsTest::make_heap_orange(uint64_t flags) {
  const VkPipelineCreateFlags2CreateInfoKHR next{
      VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR, nullptr, flags};
  return make_graphics_pipeline(context(),
                                {.stages = {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert},
                                            {VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag}},
                                 .next = &next});
}

void HeapsTest::push_bytes(VkCommandBuffer commands, uint32_t offset, const void* bytes,
                           size_t size) {
  const VkPushDataInfoEXT info{
      VK_STRUCTURE_TYPE_PUSH_DATA_INFO_EXT, nullptr, offset, {bytes, size}};
  function<PFN_vkCmdPushDataEXT>("vkCmdPushDataEXT")(commands, &info);
}

Buffer HeapsTest::make_heap(VkDeviceSize size) {
  const VkBufferUsageFlags usage = native_ ? VK_BUFFER_USAGE_DESCRIPTOR_HEAP_BIT_EXT : 0;
  return Buffer(
      context(), size,
      usage | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
}

VkBindHeapInfoEXT HeapsTest::resource_heap() {
  const VkPhysicalDeviceDescriptorHeapPropertiesEXT sizes = heap_properties(context());
  if (heap_.size() == 0) heap_ = make_heap(65536 + sizes.minResourceHeapReservedRange);
  return {VK_STRUCTURE_TYPE_BIND_HEAP_INFO_EXT,
          nullptr,
          {heap_.address(), heap_.size()},
          65536,
          sizes.minResourceHeapReservedRange};
}

void HeapsTest::write_resource(const VkResourceDescriptorInfoEXT& info, uint32_t offset,
                               VkDeviceSize size) {
  resource_heap();
  const VkHostAddressRangeEXT target{heap_.as<std::byte>().data() + offset, size};
  check(function<PFN_vkWriteResourceDescriptorsEXT>("vkWriteResourceDescriptorsEXT")(
      context().device(), 1, &info, &target));
}

uint32_t HeapsTest::write_descriptor(uint32_t index, const Buffer& buffer) {
  const auto size = static_cast<uint32_t>(heap_properties(context()).bufferDescriptorSize);
  const VkDeviceAddressRangeEXT range{buffer.address(), buffer.size()};
  VkResourceDescriptorInfoEXT info{VK_STRUCTURE_TYPE_RESOURCE_DESCRIPTOR_INFO_EXT};
  info.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  info.data.pAddressRange = &range;
  write_resource(info, index * size, size);
  return index * size;
}

uint32_t HeapsTest::write_image(uint32_t index, const Image& image, VkDescriptorType type) {
  const uint32_t size = image_size();
  VkImageViewCreateInfo view{VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO};
  view.image = image;
  view.viewType = VK_IMAGE_VIEW_TYPE_2D;
  view.format = image.info().format;
  view.subresourceRange = {image.aspect(), 0, 1, 0, 1};
  const VkImageDescriptorInfoEXT described{VK_STRUCTURE_TYPE_IMAGE_DESCRIPTOR_INFO_EXT, nullptr,
                                           &view, VK_IMAGE_LAYOUT_GENERAL};
  VkResourceDescriptorInfoEXT info{VK_STRUCTURE_TYPE_RESOURCE_DESCRIPTOR_INFO_EXT};
  info.type = type;
  info.data.pImage = &described;
  const uint32_t offset = (kImages / size + 1 + index) * size;
  write_resource(info, offset, size);
  return offset;
}

uint32_t HeapsTest::write_sampler(uint32_t index, const VkSamplerCreateInfo& sampler) {
  const uint32_t size = sampler_size();
  sampler_heap();
  const VkHostAddressRangeEXT target{sampler_heap_.as<std::byte>().data() + index * size, size};
  check(function<PFN_vkWriteSamplerDescriptorsEXT>("vkWriteSamplerDescriptorsEXT")(
      context().device(), 1, &sampler, &target));
  return index * size;
}

uint32_t HeapsTest::write_number(uint32_t number) {
  resource_heap();
  heap_.as<uint32_t>()[kNumber / sizeof number] = number;
  return kNumber;
}

void HeapsTest::bind_resource_heap(VkCommandBuffer commands) {
  const VkBindHeapInfoEXT info = resource_heap();
  function<PFN_vkCmdBindResourceHeapEXT>("vkCmdBindResourceHeapEXT")(commands, &info);
}

VkBindHeapInfoEXT HeapsTest::sampler_heap() {
  const VkDeviceSize reserved = heap_properties(context()).minSamplerHeapReservedRangeWithEmbedded;
  if (sampler_heap_.size() == 0) sampler_heap_ = make_heap(4096 + reserved);
  return {VK_STRUCTURE_TYPE_BIND_HEAP_INFO_EXT,
          nullptr,
          {sampler_heap_.address(), sampler_heap_.size()},
          4096,
          reserved};
}

void HeapsTest::bind_sampler_heap(VkCommandBuffer commands) {
  const VkBindHeapInfoEXT info = sampler_heap();
  function<PFN_vkCmdBindSamplerHeapEXT>("vkCmdBindSamplerHeapEXT")(commands, &info);
}

VkCommandBuffer HeapsTest::begin_secondary() {
  const VkBindHeapInfoEXT heap = resource_heap();
  const VkCommandBufferInheritanceDescriptorHeapInfoEXT inherited{
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_DESCRIPTOR_HEAP_INFO_EXT, nullptr, nullptr,
      &heap};
  return context().begin_secondary({.pNext = &inherited});
}

Buffer HeapsTest::make_values() {
  Buffer values(context(), 64 * sizeof(uint32_t),
                VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
  values.clear();
  return values;
}

void HeapsTest::expect_added(const Buffer& values,
                             std::initializer_list<std::pair<uint32_t, uint32_t>> dispatches) {
  for (uint32_t i = 0; i < 64; ++i) {
    uint32_t sum = 0;
    for (const auto& [invocations, add] : dispatches) sum += i < invocations ? add : 0;
    EXPECT_EQ(values.as<uint32_t>()[i], added(i, sum)) << i;
  }
}

Mappings& Mappings::add(uint32_t binding, Source source, const Data& data) {
  all_.push_back({VK_STRUCTURE_TYPE_DESCRIPTOR_SET_AND_BINDING_MAPPING_EXT, nullptr, 0, binding, 1,
                  VK_SPIRV_RESOURCE_TYPE_ALL_EXT, source, data});
  info_.mappingCount = static_cast<uint32_t>(all_.size());
  info_.pMappings = all_.data();
  return *this;
}

Mappings& Mappings::add_resource(uint32_t binding, uint32_t offset) {
  return add(binding, VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_CONSTANT_OFFSET_EXT,
             {.constantOffset = {.heapOffset = offset}});
}

Mappings& Mappings::add_sampler(uint32_t binding, const VkSamplerCreateInfo& sampler) {
  return add(binding, VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_CONSTANT_OFFSET_EXT,
             {.constantOffset = {.pEmbeddedSampler = &sampler}});
}

bool NativeHeapsTest::start_native(const LayerSettings::Pairs& settings, ContextOptions options) {
  if (!Context().has_extension(VK_EXT_DESCRIPTOR_HEAP_EXTENSION_NAME)) return false;
  untyped_.next = options.device_next;
  options.device_next = &untyped_;
  options.device_extensions.push_back("VK_KHR_shader_untyped_pointers");
  return start_heaps(settings, options);
}

Pipeline NativeHeapsTest::make_mapped(std::span<const uint32_t> code, const Mappings& mappings,
                                      uint64_t flags) {
  const VkPipelineCreateFlags2CreateInfoKHR next{
      VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR, nullptr, flags};
  return make_compute_pipeline(
      context(), {{.stage = VK_SHADER_STAGE_COMPUTE_BIT, .code = code, .next = mappings.chain()},
                  VK_NULL_HANDLE,
                  {},
                  0,
                  &next});
}

}  // namespace tally::test
