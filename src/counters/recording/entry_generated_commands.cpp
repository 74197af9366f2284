// VK_EXT_device_generated_commands.
#include "counters/layer/entry_points.h"
#include "counters/objects/execution_set.h"
#include "counters/recording/generated_commands.h"
#include "vk/boundary.h"

namespace tally::counters {
namespace {

// What is bound after generated commands is undefined.
VKAPI_ATTR void VKAPI_CALL hook_execute_generated(VkCommandBuffer commands, VkBool32 preprocessed,
                                                  const VkGeneratedCommandsInfoEXT* info) {
  CommandBuffer* state = find_command_buffer(commands);
  if (!state) {
    find_device(commands)->next().CmdExecuteGeneratedCommandsEXT(commands, preprocessed, info);
    return;
  }
  if (state->drops_actions()) return;
  vk::guarded_void([&] { execute_generated_commands(*state, preprocessed, *info); },
                   [&](VkResult error) { state->fail(error); });
  state->bound().invalidate_pipelines();
}

// Reads what is bound in `source`, which must be what the commands are executed with.
VKAPI_ATTR void VKAPI_CALL hook_preprocess(VkCommandBuffer commands,
                                           const VkGeneratedCommandsInfoEXT* info,
                                           VkCommandBuffer source) {
  CommandBuffer* state = find_command_buffer(source);
  if (state) state->bound().bind_plain();
  find_device(commands)->next().CmdPreprocessGeneratedCommandsEXT(commands, info, source);
  if (state) state->bound().bind_wanted();
}

VKAPI_ATTR void VKAPI_CALL
hook_requirements(VkDevice handle, const VkGeneratedCommandsMemoryRequirementsInfoEXT* info,
                  VkMemoryRequirements2* requirements) {
  const Device& device = *find_device(handle);
  if (!device.state()) {
    device.next().GetGeneratedCommandsMemoryRequirementsEXT(handle, info, requirements);
    return;
  }
  vk::guarded_void(
      [&] { find_generated_requirements(device.state()->objects, *info, *requirements); });
}

VKAPI_ATTR VkResult VKAPI_CALL hook_create_set(VkDevice handle,
                                               const VkIndirectExecutionSetCreateInfoEXT* info,
                                               const VkAllocationCallbacks* allocator,
                                               VkIndirectExecutionSetEXT* set) {
  const Device& device = *find_device(handle);
  const VkResult result = device.next().CreateIndirectExecutionSetEXT(handle, info, allocator, set);
  if (result == VK_SUCCESS && device.state()) {
    vk::guarded_void([&] { add_execution_set(device.state()->objects, *info, *set); });
  }
  return result;
}

VKAPI_ATTR void VKAPI_CALL hook_destroy_set(VkDevice handle, VkIndirectExecutionSetEXT set,
                                            const VkAllocationCallbacks* allocator) {
  const Device& device = *find_device(handle);
  if (device.state()) device.state()->objects.execution_sets.take(set);
  device.next().DestroyIndirectExecutionSetEXT(handle, set, allocator);
}

VKAPI_ATTR void VKAPI_CALL hook_update_set(VkDevice handle, VkIndirectExecutionSetEXT set,
                                           uint32_t count,
                                           const VkWriteIndirectExecutionSetPipelineEXT* writes) {
  const Device& device = *find_device(handle);
  if (device.state()) {
    vk::guarded_void([&] {
      const auto known = device.state()->objects.execution_sets.find(set);
      if (known) known->update({writes, count});
    });
  }
  device.next().UpdateIndirectExecutionSetPipelineEXT(handle, set, count, writes);
}

}  // namespace

void add_generated_command_entry_points(std::vector<vk::Hook>& hooks) {
  const auto add = [&](std::string_view name, auto* function) {
    hooks.push_back(vk::hook(name, function, kInstrumentation));
  };
  add("vkCmdExecuteGeneratedCommandsEXT", hook_execute_generated);
  add("vkCmdPreprocessGeneratedCommandsEXT", hook_preprocess);
  add("vkCreateIndirectExecutionSetEXT", hook_create_set);
  add("vkDestroyIndirectExecutionSetEXT", hook_destroy_set);
  add("vkUpdateIndirectExecutionSetPipelineEXT", hook_update_set);
  add("vkGetGeneratedCommandsMemoryRequirementsEXT", hook_requirements);
}

}  // namespace tally::counters
