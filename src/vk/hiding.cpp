#include "vk/hiding.h"

#include <algorithm>
#include <span>

#include "vk/chain.h"

namespace tally::vk {
namespace {

uint32_t hidden_features(VkStructureType type) {
  for (const catalogue::HiddenExtension& extension : catalogue::hidden_extensions()) {
    for (const catalogue::HiddenFeatures& features : extension.features) {
      if (features.count != 0 && features.structure_type == static_cast<uint32_t>(type)) {
        return features.count;
      }
    }
  }
  return 0;
}

}  // namespace

void hide_extensions(std::vector<VkExtensionProperties>& extensions) {
  std::erase_if(extensions, [](const VkExtensionProperties& extension) {
    return catalogue::find_hidden_extension(extension.extensionName) != nullptr;
  });
}

void hide_features(VkPhysicalDeviceFeatures2& features) {
  for (auto* node = static_cast<VkBaseOutStructure*>(features.pNext); node; node = node->pNext) {
    std::ranges::fill(feature_flags(node, hidden_features(node->sType)), VK_FALSE);
  }
}

catalogue::EnabledHidden enabled_hidden_extensions(const VkDeviceCreateInfo& info) {
  catalogue::EnabledHidden enabled;
  for (const char* name : std::span(info.ppEnabledExtensionNames, info.enabledExtensionCount)) {
    if (const auto* hidden = catalogue::find_hidden_extension(name)) enabled.push_back(hidden);
  }
  return enabled;
}

}  // namespace tally::vk
