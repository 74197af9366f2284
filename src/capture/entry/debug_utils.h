// The device functions of VK_EXT_debug_utils. It is an instance extension: the loader gets these
// functions with vkGetInstanceProcAddr, once for all devices. So they are also called for devices
// that are not captured.
#pragma once

#include "capture/entry/entry.h"
#include "vk/dispatch.h"

namespace tally::capture {

#define TALLY_CAPTURE_DEBUG_UTILS_FUNCTIONS(X) \
  X(CmdBeginDebugUtilsLabelEXT, "")            \
  X(CmdEndDebugUtilsLabelEXT, "")              \
  X(QueueBeginDebugUtilsLabelEXT, "")          \
  X(QueueEndDebugUtilsLabelEXT, "")            \
  X(SetDebugUtilsObjectNameEXT, "")

TALLY_VK_TABLE(DebugUtilsTable, TALLY_CAPTURE_DEBUG_UTILS_FUNCTIONS)

// Registers the next functions of a device, captured or not.
void add_debug_utils(VkInstance instance, VkDevice device, const vk::NextDevice& next);
void remove_debug_utils(VkDevice device);

const vk::HookTable& debug_utils_hooks();

}  // namespace tally::capture
