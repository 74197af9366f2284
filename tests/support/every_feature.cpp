#include "support/every_feature.h"

#include <tally/vulkan_arm.h>
#include <tally/vulkan_newer.h>
#include <tally/vulkan_newest.h>

#include <algorithm>
#include <cctype>

#include "catalogue/hidden_extensions.h"
#include "support/check.h"

namespace tally::test {
namespace {

// "VK_EXT_mesh_shader" and "VkPhysicalDeviceMeshShaderFeaturesEXT" become "meshshader".
std::string plain(std::string_view name, size_t skip) {
  std::string text;
  for (const char letter : name.substr(skip)) {
    if (letter != '_') text += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return text;
}

bool belongs(std::string_view features, std::string_view extension) {
  constexpr std::string_view kBegin = "VkPhysicalDevice", kEnd = "Features";
  const size_t end = features.find(kEnd), vendor_end = extension.find('_', 3);
  const std::string_view vendor = features.substr(end + kEnd.size());
  return plain(features.substr(0, end), kBegin.size()) == plain(extension, vendor_end + 1) &&
         (vendor.empty() || vendor == extension.substr(3, vendor_end - 3));
}

}  // namespace

struct EveryFeature::Row {
  VkStructureType type;
  size_t size;
  std::string_view name;  // of the struct, or of its extension
};

// The structs of the core versions hold the same features once more.
std::vector<EveryFeature::Row> EveryFeature::rows() {
  std::vector<Row> all = {
#define TALLY_STRUCT(value, name) {value, sizeof(name), #name},
#include <vk/struct_sizes.inc>
#undef TALLY_STRUCT
      // Newer than the oldest headers.
      {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES_KHR,
       sizeof(VkPhysicalDeviceMaintenance5FeaturesKHR), "VkPhysicalDeviceMaintenance5FeaturesKHR"},
      {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM,
       sizeof(VkPhysicalDeviceShaderInstrumentationFeaturesARM),
       "VkPhysicalDeviceShaderInstrumentationFeaturesARM"},
      {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_FEATURES_ARM,
       sizeof(VkPhysicalDevicePerformanceCountersByRegionFeaturesARM),
       "VkPhysicalDevicePerformanceCountersByRegionFeaturesARM"},
      {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ELAPSED_TIMER_QUERY_FEATURES_QCOM,
       sizeof(VkPhysicalDeviceElapsedTimerQueryFeaturesQCOM),
       "VkPhysicalDeviceElapsedTimerQueryFeaturesQCOM"},
      {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT,
       sizeof(VkPhysicalDeviceShaderObjectFeaturesEXT), "VkPhysicalDeviceShaderObjectFeaturesEXT"},
      {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAME_BOUNDARY_FEATURES_EXT,
       sizeof(VkPhysicalDeviceFrameBoundaryFeaturesEXT),
       "VkPhysicalDeviceFrameBoundaryFeaturesEXT"},
  };
  std::ranges::sort(all, {}, &Row::type);
  const auto same = [](const Row& a, const Row& b) { return a.type == b.type; };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  std::erase_if(all, [](const Row& row) {
    return !row.name.starts_with("VkPhysicalDevice") ||
           row.name.find("Features") == row.name.npos ||
           row.name.starts_with("VkPhysicalDeviceVulkan1") || row.name.ends_with("Features2");
  });
  for (const catalogue::HiddenExtension& extension : catalogue::hidden_extensions()) {
    for (const catalogue::HiddenFeatures& features : extension.features) {
      const auto type = static_cast<VkStructureType>(features.structure_type);
      std::erase_if(all, [&](const Row& row) { return row.type == type; });
      const size_t size = sizeof(VkBaseOutStructure) + features.count * sizeof(VkBool32);
      if (features.count != 0) all.push_back({type, size, extension.name});
    }
  }
  return all;
}

EveryFeature::EveryFeature(VkPhysicalDevice gpu, std::string_view alone) {
  uint32_t count = 0;
  check(vkEnumerateDeviceExtensionProperties(gpu, nullptr, &count, nullptr));
  std::vector<VkExtensionProperties> properties(count);
  check(vkEnumerateDeviceExtensionProperties(gpu, nullptr, &count, properties.data()));
  for (const auto& one : properties) listed_.emplace_back(one.extensionName);
  enabled_ = alone.empty() ? listed_ : std::vector<std::string>{std::string(alone)};
  for (const Row& row : rows()) {
    if (alone.empty() || row.name == alone || belongs(row.name, alone)) add(row);
  }
  // This extension and its successor exclude each other.
  if (alone.empty()) {
    leave_out(VK_EXT_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME,
              VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES_EXT);
  }
  vkGetPhysicalDeviceFeatures2(gpu, &features_);
}

void EveryFeature::add(const Row& row) {
  structs_.emplace_back(row.size / sizeof(uint64_t) + 1);
  auto* node = reinterpret_cast<VkBaseOutStructure*>(structs_.back().data());
  node->sType = row.type;
  node->pNext = static_cast<VkBaseOutStructure*>(features_.pNext);
  features_.pNext = node;
}

std::vector<const char*> EveryFeature::extensions() const {
  std::vector<const char*> names;
  for (const std::string& name : enabled_) names.push_back(name.c_str());
  return names;
}

void EveryFeature::leave_out(std::string_view extension, VkStructureType features) {
  std::erase(enabled_, extension);
  auto* before = reinterpret_cast<VkBaseOutStructure*>(&features_);
  while (before->pNext && before->pNext->sType != features) before = before->pNext;
  if (before->pNext) before->pNext = before->pNext->pNext;
}

}  // namespace tally::test
