#include "counters/base/messages.h"

#include <fmt/format.h>

#include "base/log.h"

namespace tally::counters {
namespace {

constexpr size_t kMaxNotices = 1000;

}  // namespace

void Messages::add_messenger(VkDebugUtilsMessengerEXT handle,
                             const VkDebugUtilsMessengerCreateInfoEXT& info) {
  const std::lock_guard lock(mutex_);
  messengers_[handle] = {info.messageSeverity, info.messageType, info.pfnUserCallback,
                         info.pUserData};
}

void Messages::remove_messenger(VkDebugUtilsMessengerEXT handle) {
  const std::lock_guard lock(mutex_);
  messengers_.erase(handle);
}

std::vector<Messages::Messenger> Messages::messengers() {
  const std::lock_guard lock(mutex_);
  std::vector<Messenger> all;
  for (const auto& [handle, messenger] : messengers_) all.push_back(messenger);
  return all;
}

bool Messages::send(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                    VkDebugUtilsMessageTypeFlagsEXT type, const char* id, VkObjectType object_type,
                    uint64_t object, const std::string& text) {
  const VkDebugUtilsObjectNameInfoEXT name{
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
      .objectType = object_type,
      .objectHandle = object};
  const VkDebugUtilsMessengerCallbackDataEXT data{
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CALLBACK_DATA_EXT,
      .pMessageIdName = id,
      .pMessage = text.c_str(),
      .objectCount = 1,
      .pObjects = &name};
  const std::vector<Messenger> all = messengers();
  for (const Messenger& messenger : all) {
    if ((messenger.severities & severity) == 0 || (messenger.types & type) == 0) continue;
    messenger.callback(severity, type, &data, messenger.user_data);
  }
  return !all.empty();
}

void Messages::misuse(const char* vuid, VkObjectType type, uint64_t object,
                      const std::string& text) {
  const std::string message = fmt::format("[{}] {}", vuid, text);
  const bool sent =
      send(VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
           VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT, vuid, type, object, message);
  if (!sent) write_log(LogLevel::Error, message);
}

void Messages::internal_error(const char* id, VkObjectType type, uint64_t object,
                              const std::string& text) {
  send(VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT, VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT,
       id, type, object, text);
  log(LogLevel::Error, "{}", text);
}

void Messages::notice(const char* id, VkObjectType type, uint64_t object, const std::string& text) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = noticed_.size() < kMaxNotices && noticed_.insert(text).second;
  }
  send(first ? VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT
             : VK_DEBUG_UTILS_MESSAGE_SEVERITY_VERBOSE_BIT_EXT,
       VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT, id, type, object, text);
  if (first) log(LogLevel::Warning, "{}", text);
}

}  // namespace tally::counters
