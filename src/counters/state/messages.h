// What the layer tells the application's developer: through VK_EXT_debug_utils where the
// application enabled it, else in the log. Never changes what the layer does.
#pragma once

#include <vulkan/vulkan_core.h>

#include <string>

#include "counters/device_table.h"

namespace tally::counters {

class Messages {
 public:
  Messages() = default;
  // `debug_utils`: whether the application enabled the extension on the instance.
  Messages(VkInstance instance, const InstanceTable* next, bool debug_utils)
      : instance_(instance), next_(next), debug_utils_(debug_utils) {}

  // A rule of the specification that the application broke. `vuid` as the specification writes it.
  void misuse(const char* vuid, VkObjectType type, uint64_t object, const std::string& text) const;
  // Something that works less well than asked for. Said once for the same text.
  void notice(const char* id, VkObjectType type, uint64_t object, const std::string& text) const;

 private:
  bool submit(VkDebugUtilsMessageSeverityFlagBitsEXT severity, VkDebugUtilsMessageTypeFlagsEXT type,
              const char* id, VkObjectType object_type, uint64_t object,
              const std::string& text) const;

  VkInstance instance_ = VK_NULL_HANDLE;
  const InstanceTable* next_ = nullptr;
  bool debug_utils_ = false;
};

}  // namespace tally::counters
