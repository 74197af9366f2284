// What the layer tells the application's developer: through the VK_EXT_debug_utils messengers that
// the application made, or in the log where it has none. Never changes what the layer does.
// Thread-safe.
//
// The messengers are called directly: the layers below need not know our object types.
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

  // A rule of the specification that the application broke. `vuid` as the specification writes it.
  void misuse(const char* vuid, VkObjectType type, uint64_t object, const std::string& text);
  // What can only be a defect of the layer or of the driver.
  void internal_error(const char* id, VkObjectType type, uint64_t object, const std::string& text);
  // Something that works less well than asked for; also goes to the log. Said once an instance for
  // the same text.
  void notice(const char* id, VkObjectType type, uint64_t object, const std::string& text);

 private:
  struct Messenger {
    VkDebugUtilsMessageSeverityFlagsEXT severities;
    VkDebugUtilsMessageTypeFlagsEXT types;
    PFN_vkDebugUtilsMessengerCallbackEXT callback;
    void* user_data;
  };

  // Whether there is any messenger, wanted by it or not.
  bool send(VkDebugUtilsMessageSeverityFlagBitsEXT severity, VkDebugUtilsMessageTypeFlagsEXT type,
            const char* id, VkObjectType object_type, uint64_t object, const std::string& text);
  std::vector<Messenger> messengers();

  std::mutex mutex_;  // guards what follows; not held while a messenger is called
  std::unordered_map<VkDebugUtilsMessengerEXT, Messenger> messengers_;
  std::unordered_set<std::string> noticed_;
};

}  // namespace tally::counters
