// Objects that the capture describes: shader modules, render passes, framebuffers, views,
// swapchains and names.

#include "capture/entry/entry.h"
#include "capture/submit/live_totals.h"
#include "vk/own_call.h"

namespace tally::capture {
namespace {

// Calls the next layer, then records the created object.
template <auto Member, typename Info, typename Handle, typename Note>
VkResult create(VkDevice handle, const Info* info, const VkAllocationCallbacks* allocator,
                Handle* object, Note note) noexcept {
  return vk::guarded([&] {
    const auto device = Device::find(handle);
    const VkResult result = (device->table().*Member)(handle, info, allocator, object);
    if (result == VK_SUCCESS) vk::guarded_void([&] { note(*device); });
    return result;
  });
}

// Removes the object, then calls the next layer. After that call, another object may get the same
// handle.
template <auto Member, typename Handle, typename Forget>
void destroy(VkDevice handle, Handle object, const VkAllocationCallbacks* allocator,
             Forget forget) noexcept {
  vk::guarded_void([&] {
    const auto device = Device::find(handle);
    if (object != VK_NULL_HANDLE) forget(*device);
    (device->table().*Member)(handle, object, allocator);
  });
}

VKAPI_ATTR VkResult VKAPI_CALL CreateShaderModule(VkDevice d, const VkShaderModuleCreateInfo* info,
                                                  const VkAllocationCallbacks* a,
                                                  VkShaderModule* module) {
  return create<&DeviceTable::CreateShaderModule>(d, info, a, module, [&](Device& device) {
    device.shaders().add_module(*module, {info->pCode, info->codeSize / sizeof(uint32_t)});
  });
}

VKAPI_ATTR void VKAPI_CALL DestroyShaderModule(VkDevice d, VkShaderModule module,
                                               const VkAllocationCallbacks* a) {
  destroy<&DeviceTable::DestroyShaderModule>(
      d, module, a, [&](Device& device) { device.shaders().remove_module(module); });
}

VKAPI_ATTR VkResult VKAPI_CALL CreateRenderPass(VkDevice d, const VkRenderPassCreateInfo* info,
                                                const VkAllocationCallbacks* a,
                                                VkRenderPass* pass) {
  return create<&DeviceTable::CreateRenderPass>(
      d, info, a, pass, [&](Device& device) { device.passes().add(*pass, *info); });
}

VKAPI_ATTR VkResult VKAPI_CALL CreateRenderPass2(VkDevice d, const VkRenderPassCreateInfo2* info,
                                                 const VkAllocationCallbacks* a,
                                                 VkRenderPass* pass) {
  return create<&DeviceTable::CreateRenderPass2>(
      d, info, a, pass, [&](Device& device) { device.passes().add(*pass, *info); });
}

VKAPI_ATTR void VKAPI_CALL DestroyRenderPass(VkDevice d, VkRenderPass pass,
                                             const VkAllocationCallbacks* a) {
  destroy<&DeviceTable::DestroyRenderPass>(d, pass, a,
                                           [&](Device& device) { device.passes().remove(pass); });
}

VKAPI_ATTR VkResult VKAPI_CALL CreateFramebuffer(VkDevice d, const VkFramebufferCreateInfo* info,
                                                 const VkAllocationCallbacks* a,
                                                 VkFramebuffer* framebuffer) {
  const auto create_with = [&](const VkFramebufferCreateInfo* used) {
    return create<&DeviceTable::CreateFramebuffer>(d, used, a, framebuffer, [&](Device& device) {
      device.passes().add(*framebuffer, *used, device.images());
    });
  };
  std::optional<ReadableFramebuffer> readable;
  vk::guarded_void([&] {
    const auto device = Device::find(d);
    if (device->images()) readable.emplace(*info);
  });
  const VkResult result = create_with(readable ? readable->get() : info);
  const bool changed = readable && (info->flags & VK_FRAMEBUFFER_CREATE_IMAGELESS_BIT) != 0;
  return changed && worth_another_try(result) ? create_with(info) : result;
}

VKAPI_ATTR void VKAPI_CALL DestroyFramebuffer(VkDevice d, VkFramebuffer framebuffer,
                                              const VkAllocationCallbacks* a) {
  destroy<&DeviceTable::DestroyFramebuffer>(
      d, framebuffer, a, [&](Device& device) { device.passes().remove(framebuffer); });
}

VKAPI_ATTR VkResult VKAPI_CALL CreateImageView(VkDevice d, const VkImageViewCreateInfo* info,
                                               const VkAllocationCallbacks* a, VkImageView* view) {
  return create<&DeviceTable::CreateImageView>(d, info, a, view, [&](Device& device) {
    device.passes().add(*view, *info);
    if (device.images()) device.images()->add(*view, *info);
  });
}

VKAPI_ATTR void VKAPI_CALL DestroyImageView(VkDevice d, VkImageView view,
                                            const VkAllocationCallbacks* a) {
  destroy<&DeviceTable::DestroyImageView>(d, view, a, [&](Device& device) {
    device.passes().remove(view);
    if (device.images()) device.images()->remove(view);
  });
}

VKAPI_ATTR VkResult VKAPI_CALL CreateSwapchainKHR(VkDevice d, const VkSwapchainCreateInfoKHR* info,
                                                  const VkAllocationCallbacks* a,
                                                  VkSwapchainKHR* swapchain) {
  const auto create_with = [&](const VkSwapchainCreateInfoKHR* used) {
    return create<&DeviceTable::CreateSwapchainKHR>(d, used, a, swapchain, [&](Device& device) {
      device.frames().swapchain_created();
      LiveTotals::instance().swapchain_created();
      if (device.images()) device.images()->add(*swapchain, *used);
    });
  };
  std::optional<ReadableSwapchain> readable;
  vk::guarded_void([&] {
    const auto device = Device::find(d);
    if (device->images()) readable.emplace(*device->images(), *info);
  });
  const VkResult result = create_with(readable ? readable->get() : info);
  const bool changed =
      readable && readable->get()->imageUsage != stated_usage(info->pNext, info->imageUsage);
  if (!changed || !worth_another_try(result)) return result;
  VkSwapchainCreateInfoKHR plain = *info;
  plain.oldSwapchain = VK_NULL_HANDLE;  // the attempt has retired it
  return create_with(&plain);
}

VKAPI_ATTR void VKAPI_CALL DestroySwapchainKHR(VkDevice d, VkSwapchainKHR swapchain,
                                               const VkAllocationCallbacks* a) {
  destroy<&DeviceTable::DestroySwapchainKHR>(d, swapchain, a, [&](Device& device) {
    device.frames().swapchain_destroyed();
    if (device.images()) device.images()->remove(swapchain);
  });
}

// VK_EXT_debug_report and VkObjectType use the same numbers for the objects of Vulkan 1.0.
VKAPI_ATTR VkResult VKAPI_CALL
DebugMarkerSetObjectNameEXT(VkDevice d, const VkDebugMarkerObjectNameInfoEXT* info) {
  return vk::guarded([&] {
    const auto device = Device::find(d);
    vk::guarded_void([&] {
      device->set_name(static_cast<VkObjectType>(info->objectType), info->object,
                       info->pObjectName);
    });
    return device->table().DebugMarkerSetObjectNameEXT(d, info);
  });
}

}  // namespace

std::span<const DeviceHook> object_hooks() {
#define TALLY_ROW(name) device_hook<&DeviceTable::name>("vk" #name, name)
  static const DeviceHook rows[] = {
      TALLY_ROW(CreateShaderModule),
      TALLY_ROW(DestroyShaderModule),
      TALLY_ROW(CreateRenderPass),
      TALLY_ROW(CreateRenderPass2),
      device_hook<&DeviceTable::CreateRenderPass2>("vkCreateRenderPass2KHR", CreateRenderPass2),
      TALLY_ROW(DestroyRenderPass),
      TALLY_ROW(CreateFramebuffer),
      TALLY_ROW(DestroyFramebuffer),
      TALLY_ROW(CreateImageView),
      TALLY_ROW(DestroyImageView),
      TALLY_ROW(CreateSwapchainKHR),
      TALLY_ROW(DestroySwapchainKHR),
      TALLY_ROW(DebugMarkerSetObjectNameEXT),
  };
#undef TALLY_ROW
  return rows;
}

// Images, if the final images of render passes are captured. Images that passes draw into are
// created readable, and queries about them are answered for the changed usage.

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
