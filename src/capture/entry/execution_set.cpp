// Execution sets of VK_EXT_device_generated_commands.
#include "capture/entry/entry.h"
#include "vk/boundary.h"

namespace tally::capture {
namespace {

VKAPI_ATTR VkResult VKAPI_CALL
CreateIndirectExecutionSetEXT(VkDevice d, const VkIndirectExecutionSetCreateInfoEXT* info,
                              const VkAllocationCallbacks* a, VkIndirectExecutionSetEXT* set) {
  return vk::guarded([&] {
    const auto device = Device::find(d);
    const VkResult result = device->table().CreateIndirectExecutionSetEXT(d, info, a, set);
    if (result == VK_SUCCESS) device->execution_sets().add(*set, *info);
    return result;
  });
}

VKAPI_ATTR void VKAPI_CALL DestroyIndirectExecutionSetEXT(VkDevice d, VkIndirectExecutionSetEXT set,
                                                          const VkAllocationCallbacks* a) {
  vk::guarded_void([&] {
    const auto device = Device::find(d);
    device->execution_sets().remove(set);
    device->table().DestroyIndirectExecutionSetEXT(d, set, a);
  });
}

VKAPI_ATTR void VKAPI_CALL
UpdateIndirectExecutionSetPipelineEXT(VkDevice d, VkIndirectExecutionSetEXT set, uint32_t count,
                                      const VkWriteIndirectExecutionSetPipelineEXT* writes) {
  vk::guarded_void([&] {
    const auto device = Device::find(d);
    device->table().UpdateIndirectExecutionSetPipelineEXT(d, set, count, writes);
    device->execution_sets().update(set, std::span(writes, count));
  });
}

VKAPI_ATTR void VKAPI_CALL
UpdateIndirectExecutionSetShaderEXT(VkDevice d, VkIndirectExecutionSetEXT set, uint32_t count,
                                    const VkWriteIndirectExecutionSetShaderEXT* writes) {
  vk::guarded_void([&] {
    const auto device = Device::find(d);
    device->table().UpdateIndirectExecutionSetShaderEXT(d, set, count, writes);
    device->execution_sets().update(set, std::span(writes, count));
  });
}

}  // namespace

std::span<const DeviceHook> execution_set_hooks() {
#define TALLY_ROW(name) device_hook<&DeviceTable::name>("vk" #name, name)
  static const DeviceHook rows[] = {
      TALLY_ROW(CreateIndirectExecutionSetEXT),
      TALLY_ROW(DestroyIndirectExecutionSetEXT),
      TALLY_ROW(UpdateIndirectExecutionSetPipelineEXT),
      TALLY_ROW(UpdateIndirectExecutionSetShaderEXT),
  };
#undef TALLY_ROW
  return rows;
}

}  // namespace tally::capture
