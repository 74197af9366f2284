// Images, if the final images of render passes are captured. Images that passes draw into are
// created readable, and queries about them are answered for the changed usage.
#include "capture/entry/entry.h"
#include "vk/boundary.h"

namespace tally::capture {
namespace {

VKAPI_ATTR VkResult VKAPI_CALL CreateImage(VkDevice handle, const VkImageCreateInfo* info,
                                           const VkAllocationCallbacks* allocator, VkImage* image) {
  return vk::guarded([&] {
    const auto device = Device::find(handle);
    const ReadableImage readable(*device->images(), *info);
    const VkImageCreateInfo* used = readable.get();
    VkResult result = device->table().CreateImage(handle, used, allocator, image);
    if (result < 0 && used->usage != stated_usage(info->pNext, info->usage)) {
      used = info;
      result = device->table().CreateImage(handle, used, allocator, image);
    }
    if (result == VK_SUCCESS) vk::guarded_void([&] { device->images()->add(*image, *used); });
    return result;
  });
}

VKAPI_ATTR void VKAPI_CALL DestroyImage(VkDevice handle, VkImage image,
                                        const VkAllocationCallbacks* allocator) {
  vk::guarded_void([&] {
    const auto device = Device::find(handle);
    if (image != VK_NULL_HANDLE) device->images()->remove(image);
    device->table().DestroyImage(handle, image, allocator);
  });
}

// Calls `next(device, info)` with the usage that the layer would give to such an image.
template <typename Next>
void ask(VkDevice handle, const VkDeviceImageMemoryRequirements& info, Next next) noexcept {
  vk::guarded_void([&] {
    const auto device = Device::find(handle);
    const ReadableImage image(*device->images(), *info.pCreateInfo);
    VkDeviceImageMemoryRequirements changed = info;
    changed.pCreateInfo = image.get();
    next(device->table(), &changed);
  });
}

VKAPI_ATTR void VKAPI_CALL GetDeviceImageMemoryRequirements(
    VkDevice handle, const VkDeviceImageMemoryRequirements* info, VkMemoryRequirements2* needs) {
  ask(handle, *info, [&](const DeviceTable& next, const VkDeviceImageMemoryRequirements* changed) {
    next.GetDeviceImageMemoryRequirements(handle, changed, needs);
  });
}

VKAPI_ATTR void VKAPI_CALL
GetDeviceImageSparseMemoryRequirements(VkDevice handle, const VkDeviceImageMemoryRequirements* info,
                                       uint32_t* count, VkSparseImageMemoryRequirements2* needs) {
  ask(handle, *info, [&](const DeviceTable& next, const VkDeviceImageMemoryRequirements* changed) {
    next.GetDeviceImageSparseMemoryRequirements(handle, changed, count, needs);
  });
}

VKAPI_ATTR VkResult VKAPI_CALL GetSwapchainImagesKHR(VkDevice handle, VkSwapchainKHR swapchain,
                                                     uint32_t* count, VkImage* images) {
  return vk::guarded([&] {
    const auto device = Device::find(handle);
    const VkResult result = device->table().GetSwapchainImagesKHR(handle, swapchain, count, images);
    if (result >= 0 && images) {
      vk::guarded_void([&] { device->images()->add_images(swapchain, *count, images); });
    }
    return result;
  });
}

}  // namespace

std::span<const DeviceHook> image_hooks() {
#define TALLY_ROW(name, suffix) picture_hook<&DeviceTable::name>("vk" #name suffix, name)
  static const DeviceHook rows[] = {
      TALLY_ROW(CreateImage, ""),
      TALLY_ROW(DestroyImage, ""),
      TALLY_ROW(GetDeviceImageMemoryRequirements, ""),
      TALLY_ROW(GetDeviceImageMemoryRequirements, "KHR"),
      TALLY_ROW(GetDeviceImageSparseMemoryRequirements, ""),
      TALLY_ROW(GetDeviceImageSparseMemoryRequirements, "KHR"),
      TALLY_ROW(GetSwapchainImagesKHR, ""),
  };
#undef TALLY_ROW
  return rows;
}

}  // namespace tally::capture
