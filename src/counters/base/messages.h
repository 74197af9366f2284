// Messages to the developer of the application: to its VK_EXT_debug_utils messengers, or to the log
// if it has none. They never change the behaviour of the layer. Thread-safe.
//
// The layer calls messengers directly, since the layers below may not know its object types.
#pragma once

#include <vulkan/vulkan_core.h>

#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tally::counters {

class Messages {
 public:
  void add_messenger(VkDebugUtilsMessengerEXT handle,
                     const VkDebugUtilsMessengerCreateInfoEXT& info);
  void remove_messenger(VkDebugUtilsMessengerEXT handle);

  // The application broke a rule of the specification. `vuid` is its ID there.
  void misuse(const char* vuid, VkObjectType type, uint64_t object, const std::string& text);
  // A defect of the layer or of the driver.
  void internal_error(const char* id, VkObjectType type, uint64_t object, const std::string& text);
  // A limitation. Sent to the log too. Once per instance for the same text: after that it is sent
  // to messengers that subscribe to VERBOSE, and to no log.
  void notice(const char* id, VkObjectType type, uint64_t object, const std::string& text);

 private:
  struct Messenger {
    VkDebugUtilsMessageSeverityFlagsEXT severities;
    VkDebugUtilsMessageTypeFlagsEXT types;
    PFN_vkDebugUtilsMessengerCallbackEXT callback;
    void* user_data;
  };

  // Returns whether there is a messenger, whatever it subscribes to.
  bool send(VkDebugUtilsMessageSeverityFlagBitsEXT severity, VkDebugUtilsMessageTypeFlagsEXT type,
            const char* id, VkObjectType object_type, uint64_t object, const std::string& text);
  std::vector<Messenger> messengers();

  std::mutex mutex_;  // guards what follows; not held while a messenger is called
  std::unordered_map<VkDebugUtilsMessengerEXT, Messenger> messengers_;
  std::unordered_set<std::string> noticed_;
};

}  // namespace tally::counters
