// Instance creation and destruction.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/log.h"
#include "capture/entry/entry.h"
#include "capture/entry/loader_link.h"
#include "vk/boundary.h"
#include "vk/layer.h"

namespace tally::capture {
namespace {

bool enables_debug_utils(const VkInstanceCreateInfo& info) {
  return std::any_of(
      info.ppEnabledExtensionNames, info.ppEnabledExtensionNames + info.enabledExtensionCount,
      [](const char* name) { return std::strcmp(name, VK_EXT_DEBUG_UTILS_EXTENSION_NAME) == 0; });
}

// The application's create info with the additions that the layer prefers: Vulkan 1.2, for buffer
// addresses (the application gets no functions that it did not ask for: vk/core_versions.h), and
// debug utils, through which the layers below report why they do not instrument.
class InstanceRequest {
 public:
  explicit InstanceRequest(const VkInstanceCreateInfo& info) : info_(info) {
    if (info.pApplicationInfo) application_ = *info.pApplicationInfo;
    application_.apiVersion = std::max(application_.apiVersion, VK_API_VERSION_1_2);
    info_.pApplicationInfo = &application_;
    extensions_.assign(info.ppEnabledExtensionNames,
                       info.ppEnabledExtensionNames + info.enabledExtensionCount);
    asked_for_debug_utils_ = enables_debug_utils(info);
    if (!asked_for_debug_utils_) extensions_.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    info_.enabledExtensionCount = static_cast<uint32_t>(extensions_.size());
    info_.ppEnabledExtensionNames = extensions_.data();
  }

  // Tries all additions, then fewer, then the create info of the application.
  VkResult create(PFN_vkCreateInstance next, const VkInstanceCreateInfo& original,
                  const VkAllocationCallbacks* allocator, VkInstance* instance) {
    LoaderLink<VkLayerInstanceCreateInfo> link(original.pNext,
                                               VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
    VkResult result = next(&info_, allocator, instance);
    debug_utils_ = true;
    if (result == VK_ERROR_EXTENSION_NOT_PRESENT && !asked_for_debug_utils_) {
      link.put_back();
      --info_.enabledExtensionCount;
      debug_utils_ = false;
      result = next(&info_, allocator, instance);
    }
    if (result != VK_SUCCESS && result != VK_ERROR_OUT_OF_HOST_MEMORY) {
      link.put_back();
      debug_utils_ = asked_for_debug_utils_;
      result = next(&original, allocator, instance);
    }
    return result;
  }

  bool debug_utils() const { return debug_utils_; }

 private:
  VkInstanceCreateInfo info_;
  VkApplicationInfo application_{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  std::vector<const char*> extensions_;
  bool asked_for_debug_utils_ = false;
  bool debug_utils_ = false;
};

ApplicationInfo application_info(const VkInstanceCreateInfo& info) {
  ApplicationInfo result;
  if (const VkApplicationInfo* given = info.pApplicationInfo) {
    if (given->pApplicationName) result.application = given->pApplicationName;
    if (given->pEngineName) result.engine = given->pEngineName;
    result.api_version = given->apiVersion;
  }
  return result;
}

Settings load_settings(const VkInstanceCreateInfo& info) {
  Settings settings = Settings::load(kSettingsPrefix, vk::api_settings(info, kLayerName));
  configure_log("tally_capture", parse_log_level(settings.text("log_level", ""), LogLevel::Warning),
                settings.text("log_file", ""));
  return settings;
}

}  // namespace

VKAPI_ATTR VkResult VKAPI_CALL CreateInstance(const VkInstanceCreateInfo* info,
                                              const VkAllocationCallbacks* allocator,
                                              VkInstance* instance) {
  return vk::guarded([&] {
    const vk::NextInstance next = vk::take_next_instance(*info);
    if (!next.get_instance_proc_addr) return VK_ERROR_INITIALIZATION_FAILED;
    const auto create = reinterpret_cast<PFN_vkCreateInstance>(
        next.get_instance_proc_addr(VK_NULL_HANDLE, "vkCreateInstance"));
    if (!create) return VK_ERROR_INITIALIZATION_FAILED;
    const CaptureSettings settings = CaptureSettings::from(load_settings(*info));
    bool debug_utils = false;
    VkResult result = VK_SUCCESS;
    if (!settings.wants_anything()) {
      result = create(info, allocator, instance);
    } else {
      InstanceRequest request(*info);
      result = request.create(create, *info, allocator, instance);
      debug_utils = request.debug_utils();
    }
    if (result == VK_SUCCESS) {
      Instance::add(std::make_shared<Instance>(*instance, next, settings, application_info(*info),
                                               debug_utils, enables_debug_utils(*info)));
    }
    return result;
  });
}

VKAPI_ATTR void VKAPI_CALL DestroyInstance(VkInstance handle,
                                           const VkAllocationCallbacks* allocator) {
  vk::guarded_void([&] {
    if (handle == VK_NULL_HANDLE) return;
    std::shared_ptr<Instance> instance = Instance::take(handle);
    if (!instance) return;
    const PFN_vkDestroyInstance destroy = instance->table().DestroyInstance;
    instance.reset();
    destroy(handle, allocator);
  });
}

}  // namespace tally::capture
