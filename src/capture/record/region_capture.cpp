#include "capture/record/region_capture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "store/stream/stream.h"
#include "vk/own_call.h"

namespace tally::capture {
namespace {

constexpr VkDeviceSize aligned(VkDeviceSize value, uint32_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

constexpr uint32_t parts(uint32_t whole, uint32_t part) {
  return whole / part + (whole % part != 0);
}

}  // namespace

std::optional<RecordedRegions> RegionCapture::prepare(const PassShape& shape, HostPieces& pieces,
                                                      std::string& reason) const {
  RecordedRegions regions;
  regions.shape = shape;
  regions.columns = parts(shape.area.extent.width, setup_.region.width);
  regions.rows = parts(shape.area.extent.height, setup_.region.height);
  const uint64_t count = uint64_t{regions.columns} * regions.rows;
  const uint64_t layers = uint64_t{shape.subpasses} * shape.layers;
  if (count == 0 || layers == 0) {
    reason = "it has no area or no layer";
    return std::nullopt;
  }
  if (count > store::stream::kMaxRegions) {
    reason = fmt::format("it has {} regions, too many for a capture", count);
    return std::nullopt;
  }
  regions.region_bytes =
      aligned(setup_.counters.size() * sizeof(uint32_t), setup_.region_alignment);
  regions.row_bytes = aligned(regions.columns * regions.region_bytes, setup_.row_alignment);
  const auto values = pieces.cut(regions.layer_bytes() * layers);
  if (!values) {
    reason = "out of memory: " + vk::take_own_failure().text();
    return std::nullopt;
  }
  regions.values = *values;
  if (setup_.by_draw) prepare_draws(regions, pieces);
  return regions;
}

void RegionCapture::prepare_draws(RecordedRegions& regions, HostPieces& pieces) const {
  if (!regions.shape.whole) {
    regions.no_draws = "draws of suspended passes are counted only with their pass";
    return;
  }
  constexpr uint64_t kPerRegion = 8, kMinCapacity = 16 << 10, kMaxBytes = 64 << 20;
  const uint64_t entry = vk::region_draw_entry_bytes(counters());
  const uint64_t places = uint64_t{regions.columns} * regions.rows * regions.shape.layers;
  const uint64_t capacity =
      std::min(std::max(kPerRegion * places, kMinCapacity), kMaxBytes / entry);
  const auto draws = pieces.cut(sizeof(vk::RegionDrawsHeader) + capacity * entry);
  if (!draws) {
    regions.no_draws = "out of memory: " + vk::take_own_failure().text();
    return;
  }
  regions.draws = *draws;
  regions.draw_capacity = static_cast<uint32_t>(capacity);
}

uint32_t DrawEntry::value(uint32_t counter) const {
  uint32_t value = 0;
  std::memcpy(&value, values + counter * sizeof value, sizeof value);
  return value;
}

vk::RegionDrawsHeader RecordedRegions::draws_header() const {
  vk::RegionDrawsHeader header;
  std::memcpy(&header, draws.data, sizeof header);
  return header;
}

std::vector<DrawEntry> RecordedRegions::draw_entries(uint32_t counters) const {
  std::vector<DrawEntry> entries(std::min(draws_header().entries, draw_capacity));
  const std::byte* at = draws.data + sizeof(vk::RegionDrawsHeader);
  for (DrawEntry& entry : entries) {
    std::memcpy(&entry.draw, at, sizeof entry.draw);
    std::memcpy(&entry.place, at + sizeof entry.draw, sizeof entry.place);
    entry.values = at + sizeof entry.draw + sizeof entry.place;
    at += vk::region_draw_entry_bytes(counters);
  }
  std::ranges::sort(entries, [](const DrawEntry& a, const DrawEntry& b) {
    return std::pair(a.draw, a.place) < std::pair(b.draw, b.place);
  });
  return entries;
}

std::vector<uint32_t> RecordedRegions::read(uint32_t subpass, uint32_t layer,
                                            uint32_t counter) const {
  std::vector<uint32_t> read(size_t{columns} * rows);
  const std::byte* first = values.data +
                           (uint64_t{subpass} * shape.layers + layer) * layer_bytes() +
                           counter * sizeof(uint32_t);
  size_t at = 0;
  for (uint32_t row = 0; row < rows; ++row) {
    for (uint32_t column = 0; column < columns; ++column) {
      std::memcpy(&read[at++], first + row * row_bytes + column * region_bytes, sizeof(uint32_t));
    }
  }
  return read;
}

namespace {

constexpr const char* kRegionExtension = VK_ARM_PERFORMANCE_COUNTERS_BY_REGION_EXTENSION_NAME;

struct Features {
  VkPhysicalDeviceBufferDeviceAddressFeatures address{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES};
  VkPhysicalDevicePerformanceCountersByRegionFeaturesARM regions{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_FEATURES_ARM, nullptr,
      VK_FALSE};

  Features(const InstanceTable& table, VkPhysicalDevice device) {
    VkPhysicalDeviceFeatures2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &address};
    address.pNext = &regions;
    table.GetPhysicalDeviceFeatures2(device, &all);
  }
};

std::string reason_against_regions(const InstanceTable& table, VkPhysicalDevice device,
                                   const VkDeviceCreateInfo& info) {
  if (enables_extension(info, kRegionExtension)) {
    return fmt::format("the application uses {} itself", kRegionExtension);
  }
  // VK_EXT_buffer_device_address excludes its successor, which provides the addresses that the
  // values are written to.
  if (enables_extension(info, VK_EXT_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME)) {
    return fmt::format("the application uses {}", VK_EXT_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME);
  }
  const bool offered = offers_extension(table, device, kRegionExtension) &&
                       table.EnumeratePhysicalDeviceQueueFamilyPerformanceCountersByRegionARM &&
                       table.GetPhysicalDeviceMemoryProperties &&
                       Features(table, device).regions.performanceCountersByRegion == VK_TRUE;
  if (!offered) {
    return fmt::format("neither the driver nor VK_LAYER_TALLY_counters offers {}",
                       kRegionExtension);
  }
  return Features(table, device).address.bufferDeviceAddress == VK_TRUE
             ? ""
             : "the driver lacks bufferDeviceAddress";
}

void read_counters(const InstanceTable& table, VkPhysicalDevice device, uint32_t family,
                   RegionSetup& setup) {
  const auto enumerate = table.EnumeratePhysicalDeviceQueueFamilyPerformanceCountersByRegionARM;
  uint32_t count = 0;
  if (enumerate(device, family, &count, nullptr, nullptr) != VK_SUCCESS) return;
  std::vector<VkPerformanceCounterARM> counters(
      count, {VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_ARM, nullptr, 0});
  std::vector<VkPerformanceCounterDescriptionARM> descriptions(
      count, {VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_DESCRIPTION_ARM, nullptr, 0, {}});
  if (enumerate(device, family, &count, counters.data(), descriptions.data()) < 0) return;
  for (uint32_t i = 0; i < count; ++i) {
    setup.counters.push_back(counters[i].counterID);
    setup.names.emplace_back(descriptions[i].name);
  }
}

void read_properties(const InstanceTable& table, VkPhysicalDevice device, RegionSetup& setup) {
  VkPhysicalDevicePerformanceCountersByRegionPropertiesARM properties{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_PROPERTIES_ARM};
  VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &properties};
  table.GetPhysicalDeviceProperties2(device, &all);
  const size_t most = properties.maxPerRegionPerformanceCounters;
  setup.counters.resize(std::min(setup.counters.size(), most));
  setup.names.resize(setup.counters.size());
  setup.region = properties.performanceCounterRegionSize;
  setup.row_alignment = std::max(properties.rowStrideAlignment, 1u);
  setup.region_alignment = std::max(properties.regionAlignment, 1u);
}

}  // namespace

bool offers_extension(const InstanceTable& table, VkPhysicalDevice device, const char* name) {
  return std::ranges::any_of(
      vk::list_extensions(table.EnumerateDeviceExtensionProperties, device),
      [&](const VkExtensionProperties& one) { return std::strcmp(one.extensionName, name) == 0; });
}

bool enables_extension(const VkDeviceCreateInfo& info, const char* name) {
  return std::any_of(info.ppEnabledExtensionNames,
                     info.ppEnabledExtensionNames + info.enabledExtensionCount,
                     [&](const char* enabled) { return std::strcmp(enabled, name) == 0; });
}

RegionSetup inspect_regions(const InstanceTable& table, VkPhysicalDevice device,
                            const VkDeviceCreateInfo& info,
                            std::span<const VkQueueFamilyProperties> families) {
  RegionSetup setup;
  setup.reason = reason_against_regions(table, device, info);
  if (!setup.reason.empty()) return setup;
  const auto graphics = std::ranges::find_if(families, [](const VkQueueFamilyProperties& family) {
    return (family.queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0;
  });
  if (graphics != families.end()) {
    read_counters(table, device, static_cast<uint32_t>(graphics - families.begin()), setup);
    read_properties(table, device, setup);
  }
  setup.enabled = !setup.counters.empty() && setup.region.width != 0 && setup.region.height != 0;
  if (!setup.enabled) setup.reason = "no graphics queue has counters by region";
  const char* address = VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME;
  setup.add_address_extension =
      !enables_extension(info, address) && offers_extension(table, device, address);
  return setup;
}

}  // namespace tally::capture
