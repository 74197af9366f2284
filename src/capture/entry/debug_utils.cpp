// Names and labels of VK_EXT_debug_utils.
#include "capture/entry/entry.h"
#include "vk/layer.h"
#include "vk/own_call.h"

namespace tally::capture {
namespace {

#define TALLY_CAPTURE_DEBUG_UTILS_FUNCTIONS(X) \
  X(CmdBeginDebugUtilsLabelEXT, "")            \
  X(CmdEndDebugUtilsLabelEXT, "")              \
  X(QueueBeginDebugUtilsLabelEXT, "")          \
  X(QueueEndDebugUtilsLabelEXT, "")            \
  X(SetDebugUtilsObjectNameEXT, "")

TALLY_VK_TABLE(DebugUtilsTable, TALLY_CAPTURE_DEBUG_UTILS_FUNCTIONS)

vk::HandleMap<void*, std::shared_ptr<const DebugUtilsTable>>& tables() {
  static auto* map = new vk::HandleMap<void*, std::shared_ptr<const DebugUtilsTable>>;
  return *map;
}

// Calls `call(command buffer)` for each one that takes the command. The device may be not captured.
template <typename Call>
void record(VkCommandBuffer b, const Call& call) noexcept {
  CommandBuffer* state = nullptr;
  vk::guarded_void([&] { state = find_command_buffer(b); });
  if (!state) return call(b);
  state->record([&](VkCommandBuffer to, bool) { call(to); });
}

// The next layer's functions for the device, queue or command buffer.
DebugUtilsTable next_of(const void* handle) {
  const auto table = tables().find(vk::dispatch_key(handle));
  return table ? *table : DebugUtilsTable{};
}

VKAPI_ATTR void VKAPI_CALL CmdBeginDebugUtilsLabelEXT(VkCommandBuffer b,
                                                      const VkDebugUtilsLabelEXT* label) {
  vk::guarded_void([&] {
    if (CommandBuffer* state = find_command_buffer(b)) state->push_label(label->pLabelName);
  });
  if (const auto next = next_of(b).CmdBeginDebugUtilsLabelEXT) {
    record(b, [&](VkCommandBuffer to) { next(to, label); });
  }
}

VKAPI_ATTR void VKAPI_CALL CmdEndDebugUtilsLabelEXT(VkCommandBuffer b) {
  vk::guarded_void([&] {
    if (CommandBuffer* state = find_command_buffer(b)) state->pop_label();
  });
  if (const auto next = next_of(b).CmdEndDebugUtilsLabelEXT) {
    record(b, [&](VkCommandBuffer to) { next(to); });
  }
}

VKAPI_ATTR void VKAPI_CALL QueueBeginDebugUtilsLabelEXT(VkQueue handle,
                                                        const VkDebugUtilsLabelEXT* label) {
  vk::guarded_void([&] {
    const auto device = Device::find(handle);
    const auto queue = device ? device->queue(handle) : nullptr;
    if (!queue) return;
    queue->with_labels([&](LabelStack& all) {
      all.begin([&](const LabelRef& parent) {
        return device->connection().label(parent, label->pLabelName);
      });
    });
    if (device->frames().unit() != FrameUnit::Label) return;
    const bool ends_frame = device->frames().label_ends(label->pLabelName);
    queue->with_frame_labels([&](FrameLabels& all) { all.begin(ends_frame); });
  });
  if (const auto next = next_of(handle).QueueBeginDebugUtilsLabelEXT) next(handle, label);
}

VKAPI_ATTR void VKAPI_CALL QueueEndDebugUtilsLabelEXT(VkQueue handle) {
  vk::guarded_void([&] {
    const auto device = Device::find(handle);
    const auto queue = device ? device->queue(handle) : nullptr;
    if (!queue) return;
    queue->with_labels([](LabelStack& all) { all.end(); });
    if (device->frames().unit() != FrameUnit::Label) return;
    if (queue->with_frame_labels([](FrameLabels& all) { return all.end(); })) {
      device->end_frame(*queue, store::FrameEnd::Label);
    }
  });
  if (const auto next = next_of(handle).QueueEndDebugUtilsLabelEXT) next(handle);
}

VKAPI_ATTR VkResult VKAPI_CALL
SetDebugUtilsObjectNameEXT(VkDevice handle, const VkDebugUtilsObjectNameInfoEXT* info) {
  vk::guarded_void([&] {
    if (const auto device = Device::find(handle)) {
      device->set_name(info->objectType, info->objectHandle, info->pObjectName);
    }
  });
  const auto next = next_of(handle).SetDebugUtilsObjectNameEXT;
  return next ? next(handle, info) : VK_SUCCESS;
}

}  // namespace

void add_debug_utils(VkInstance instance, VkDevice device, const vk::NextDevice& next) {
  auto table = std::make_shared<DebugUtilsTable>();
  table->load([&](const char* name) {
    const PFN_vkVoidFunction found = next.get_device_proc_addr(device, name);
    return found ? found : next.get_instance_proc_addr(instance, name);
  });
  tables().insert(vk::dispatch_key(device), std::move(table));
}

void remove_debug_utils(VkDevice device) { tables().take(vk::dispatch_key(device)); }

const vk::HookTable& debug_utils_hooks() {
#define TALLY_ROW(function, suffix) vk::hook("vk" #function, function),
  // Intentionally leaked: applications call Vulkan from static destructors.
  static const auto* const table =
      new vk::HookTable({TALLY_CAPTURE_DEBUG_UTILS_FUNCTIONS(TALLY_ROW)});
#undef TALLY_ROW
  return *table;
}

}  // namespace tally::capture
