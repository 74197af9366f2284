// The loader's chain link in a create info. Every layer that is called through it moves it on; a
// layer that wants to call down a second time has to put it back first.
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
      info_ = const_cast<Info*>(info);  // the loader means it to be written
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
