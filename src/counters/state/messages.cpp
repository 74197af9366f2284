#include "counters/state/messages.h"

#include <fmt/format.h>

#include "base/log.h"

namespace tally::counters {

bool Messages::submit(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                      VkDebugUtilsMessageTypeFlagsEXT type, const char* id,
                      VkObjectType object_type, uint64_t object, const std::string& text) const {
  if (!debug_utils_ || !next_->SubmitDebugUtilsMessageEXT) return false;
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
  next_->SubmitDebugUtilsMessageEXT(instance_, severity, type, &data);
  return true;
}

void Messages::misuse(const char* vuid, VkObjectType type, uint64_t object,
                      const std::string& text) const {
  const std::string message = fmt::format("[{}] {}", vuid, text);
  if (submit(VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
             VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT, vuid, type, object, message)) {
    return;
  }
  write_log(LogLevel::Error, message);
}

void Messages::notice(const char* id, VkObjectType type, uint64_t object,
                      const std::string& text) const {
  if (!first_time(text)) return;
  submit(VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
         VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT, id, type, object, text);
  log(LogLevel::Warning, "{}", text);
}

}  // namespace tally::counters
