// The loader's link in the chain of a create info. Each layer advances the link when it calls down.
// A layer that calls down a second time must restore it first.
#pragma once

#include <vulkan/vk_layer.h>

namespace tally::capture {

// `Info` is VkLayerInstanceCreateInfo or VkLayerDeviceCreateInfo.
template <typename Info>
class LoaderLink {
 public:
  LoaderLink(const void* chain, VkStructureType type) {
    for (auto* node = static_cast<const VkBaseInStructure*>(chain); node; node = node->pNext) {
      auto* info = reinterpret_cast<const Info*>(node);
      if (node->sType != type || info->function != VK_LAYER_LINK_INFO) continue;
      info_ = const_cast<Info*>(info);  // the loader expects layers to write to it
      saved_ = info_->u.pLayerInfo;
    }
  }
  void put_back() {
    if (info_) info_->u.pLayerInfo = saved_;
  }

 private:
  Info* info_ = nullptr;
  decltype(Info::u.pLayerInfo) saved_ = nullptr;
};

}  // namespace tally::capture
