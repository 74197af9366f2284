#include "capture/layer/instance.h"

#include <cstring>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "vk/handles.h"
#include "vk/own_call.h"

namespace tally::capture {
namespace {

constexpr size_t kMaxReason = 2000;

vk::HandleMap<void*, std::shared_ptr<Instance>>& instances() {
  static auto* map = new vk::HandleMap<void*, std::shared_ptr<Instance>>;  // outlives every thread
  return *map;
}

constinit thread_local ReasonCollector* listening = nullptr;

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                          VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data,
                                          void* instance) {
  vk::guarded_void([&] {
    if (!data || ReasonCollector::collect(*data)) return;
    if (severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT)
      static_cast<Instance*>(instance)->forward(*data);
  });
  return VK_FALSE;
}

}  // namespace

Instance::Instance(VkInstance handle, const vk::NextInstance& next, CaptureSettings settings,
                   ApplicationInfo info, bool debug_utils, bool sets_names)
    : handle_(handle),
      next_(next),
      settings_(std::move(settings)),
      info_(std::move(info)),
      sets_names_(sets_names) {
  table_.load([&](const char* name) {
    const PFN_vkVoidFunction found = next.get_instance_proc_addr(handle, name);
    if (found || !next.get_physical_device_proc_addr) return found;
    return next.get_physical_device_proc_addr(handle, name);
  });
  if (!debug_utils || !table_.CreateDebugUtilsMessengerEXT) return;
  VkDebugUtilsMessengerCreateInfoEXT create{
      VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  // VERBOSE: what the counters layer has said before concerns another command buffer now.
  create.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_VERBOSE_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  create.messageType =
      VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
  create.pfnUserCallback = on_message;
  create.pUserData = this;
  const VkResult result = vk::own(
      "vkCreateDebugUtilsMessengerEXT",
      table_.CreateDebugUtilsMessengerEXT(handle, &create, nullptr, &messenger_), messenger_);
  if (result != VK_SUCCESS) {
    log(LogLevel::Warning,
        "the capture lacks the messages of layers and driver, which say why something is not "
        "counted: {}",
        vk::take_own_failure(result).text());
  }
}

void Instance::forward(const VkDebugUtilsMessengerCallbackDataEXT& data) {
  constexpr std::string_view kOurs = "TALLY-";
  if (!data.pMessage || !data.pMessageIdName ||
      !std::string_view(data.pMessageIdName).starts_with(kOurs)) {
    return;
  }
  const std::lock_guard lock(mutex_);
  if (connection_) connection_->message(store::Severity::Warning, data.pMessage);
}

Instance::~Instance() {
  if (messenger_ != VK_NULL_HANDLE && table_.DestroyDebugUtilsMessengerEXT) {
    table_.DestroyDebugUtilsMessengerEXT(handle_, messenger_, nullptr);
  }
}

std::shared_ptr<StreamConnection> Instance::connection() {
  const std::lock_guard lock(mutex_);
  if (!connection_) connection_ = StreamConnection::acquire(settings_, info_);
  return connection_;
}

std::shared_ptr<Instance> Instance::find(const void* dispatchable_handle) {
  return instances().find(vk::dispatch_key(dispatchable_handle));
}

void Instance::add(std::shared_ptr<Instance> instance) {
  void* const key = vk::dispatch_key(instance->handle());
  instances().insert(key, std::move(instance));
}

std::shared_ptr<Instance> Instance::take(VkInstance handle) {
  return instances().take(vk::dispatch_key(handle));
}

ReasonCollector::ReasonCollector(const char* topic)
    : topic_(topic), outer_(std::exchange(listening, this)) {}
ReasonCollector::~ReasonCollector() { listening = outer_; }

bool ReasonCollector::collect(const VkDebugUtilsMessengerCallbackDataEXT& data) {
  if (!listening || !data.pMessage || !std::strstr(data.pMessage, listening->topic_)) return false;
  std::string& text = listening->text_;
  if (text.size() > kMaxReason) return true;
  if (!text.empty()) text += "; ";
  text += data.pMessage;
  return true;
}

}  // namespace tally::capture
