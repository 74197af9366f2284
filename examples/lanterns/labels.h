// Debug-utils names and labels, which a profiler shows next to its values.
#pragma once

#include "support/context.h"

namespace lanterns {

template <typename T>
void set_name(const tally::test::Context& context, VkObjectType type, T handle, const char* name) {
  VkDebugUtilsObjectNameInfoEXT info = {VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT};
  info.objectType = type;
  info.objectHandle = reinterpret_cast<uint64_t>(handle);
  info.pObjectName = name;
  const auto set =
      context.function<PFN_vkSetDebugUtilsObjectNameEXT>("vkSetDebugUtilsObjectNameEXT");
  tally::test::check(set(context.device(), &info));
}

// A label around the commands recorded during its lifetime.
class Label {
 public:
  Label(const tally::test::Context& context, VkCommandBuffer commands, const char* name)
      : context_(context), commands_(commands) {
    VkDebugUtilsLabelEXT label = {VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT};
    label.pLabelName = name;
    context.function<PFN_vkCmdBeginDebugUtilsLabelEXT>("vkCmdBeginDebugUtilsLabelEXT")(commands,
                                                                                       &label);
  }
  ~Label() {
    context_.function<PFN_vkCmdEndDebugUtilsLabelEXT>("vkCmdEndDebugUtilsLabelEXT")(commands_);
  }
  Label(const Label&) = delete;
  Label& operator=(const Label&) = delete;

 private:
  const tally::test::Context& context_;
  VkCommandBuffer commands_;
};

}  // namespace lanterns
