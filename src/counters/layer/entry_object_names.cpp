// Names, tags and private data of the layer's objects. The driver must not receive their handles.
#include "counters/layer/entry_points.h"
#include "vk/boundary.h"

namespace tally::counters {
namespace {

bool is_ours(VkObjectType type) { return type == VK_OBJECT_TYPE_SHADER_INSTRUMENTATION_ARM; }

std::shared_ptr<Instrumentation> find_object(const Device& device, uint64_t bits) {
  if (!device.state()) return nullptr;
  return device.state()->instrumentation.objects.find(
      (VkShaderInstrumentationARM)bits);  // NOLINT: a handle is a number
}

// VK_EXT_debug_marker has no type for the layer's objects: applications use the unknown type.
bool is_ours(const Device& device, VkDebugReportObjectTypeEXT type, uint64_t bits) {
  return type == VK_DEBUG_REPORT_OBJECT_TYPE_UNKNOWN_EXT && find_object(device, bits) != nullptr;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_set_name(VkDevice handle,
                                             const VkDebugUtilsObjectNameInfoEXT* info) {
  const Device& device = *find_device(handle);
  if (!is_ours(info->objectType)) return device.next().SetDebugUtilsObjectNameEXT(handle, info);
  return vk::guarded([&] {
    const auto object = find_object(device, info->objectHandle);
    if (object) object->set_name(info->pObjectName ? info->pObjectName : "");
    return VK_SUCCESS;
  });
}

VKAPI_ATTR VkResult VKAPI_CALL hook_set_tag(VkDevice handle,
                                            const VkDebugUtilsObjectTagInfoEXT* info) {
  if (is_ours(info->objectType)) return VK_SUCCESS;
  return find_device(handle)->next().SetDebugUtilsObjectTagEXT(handle, info);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_marker_name(VkDevice handle,
                                                const VkDebugMarkerObjectNameInfoEXT* info) {
  const Device& device = *find_device(handle);
  if (is_ours(device, info->objectType, info->object)) return VK_SUCCESS;
  return device.next().DebugMarkerSetObjectNameEXT(handle, info);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_marker_tag(VkDevice handle,
                                               const VkDebugMarkerObjectTagInfoEXT* info) {
  const Device& device = *find_device(handle);
  if (is_ours(device, info->objectType, info->object)) return VK_SUCCESS;
  return device.next().DebugMarkerSetObjectTagEXT(handle, info);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_set_private_data(VkDevice handle, VkObjectType type,
                                                     uint64_t object, VkPrivateDataSlot slot,
                                                     uint64_t data) {
  const Device& device = *find_device(handle);
  if (!is_ours(type) || !device.state()) {
    return device.next().SetPrivateData(handle, type, object, slot, data);
  }
  return vk::guarded([&] {
    device.state()->instrumentation.names.set_private_data(object, slot, data);
    return VK_SUCCESS;
  });
}

VKAPI_ATTR void VKAPI_CALL hook_get_private_data(VkDevice handle, VkObjectType type,
                                                 uint64_t object, VkPrivateDataSlot slot,
                                                 uint64_t* data) {
  const Device& device = *find_device(handle);
  if (!is_ours(type) || !device.state()) {
    device.next().GetPrivateData(handle, type, object, slot, data);
  } else {
    *data = device.state()->instrumentation.names.private_data(object, slot);
  }
}

}  // namespace

void add_object_name_entry_points(std::vector<vk::Hook>& hooks) {
  const auto add = [&](std::string_view name, auto* function) {
    hooks.push_back(vk::hook(name, function, kInstrumentation));
  };
  add("vkDebugMarkerSetObjectNameEXT", hook_marker_name);
  add("vkDebugMarkerSetObjectTagEXT", hook_marker_tag);
  add("vkGetPrivateData", hook_get_private_data);
  add("vkGetPrivateDataEXT", hook_get_private_data);
  add("vkSetDebugUtilsObjectNameEXT", hook_set_name);
  add("vkSetDebugUtilsObjectTagEXT", hook_set_tag);
  add("vkSetPrivateData", hook_set_private_data);
  add("vkSetPrivateDataEXT", hook_set_private_data);
}

}  // namespace tally::counters
