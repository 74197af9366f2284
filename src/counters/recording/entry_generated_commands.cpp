// VK_EXT_device_generated_commands.
#include "counters/layer/entry_points.h"
#include "counters/objects/execution_set.h"
#include "counters/recording/generated_commands.h"
#include "vk/boundary.h"

#include <span>

namespace tally::counters {
namespace {

// Bindings and push constants are undefined after generated commands.
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
  state->bound().invalidate_guard();
}

// Reads what is bound in `source`, which must be what the commands are executed with. A counted
// execution preprocesses once more (generated_commands.cpp): what it reads then has to be visible.
VKAPI_ATTR void VKAPI_CALL hook_preprocess(VkCommandBuffer commands,
                                           const VkGeneratedCommandsInfoEXT* info,
                                           VkCommandBuffer source) {
  CommandBuffer* state = find_command_buffer(source);
  const Device& device = *find_device(commands);
  if (state) state->bound().bind_plain();
  device.next().CmdPreprocessGeneratedCommandsEXT(commands, info, source);
  if (state) state->bound().bind_wanted();
  if (!device.state()) return;
  constexpr VkMemoryBarrier kVisible = {
      VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, 0,
      VK_ACCESS_INDIRECT_COMMAND_READ_BIT | VK_ACCESS_COMMAND_PREPROCESS_READ_BIT_NV};
  constexpr VkPipelineStageFlags kPreprocess = VK_PIPELINE_STAGE_COMMAND_PREPROCESS_BIT_NV;
  device.next().CmdPipelineBarrier(commands, kPreprocess,
                                   kPreprocess | VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT, 0, 1,
                                   &kVisible, 0, nullptr, 0, nullptr);
}

// The bytes that generated commands write of push constants or push data.
uint64_t pushed_by(const VkIndirectCommandsLayoutCreateInfoEXT& info) {
  constexpr auto kPushData = static_cast<VkIndirectCommandsTokenTypeEXT>(1000135000);
  constexpr auto kIndexAsData = static_cast<VkIndirectCommandsTokenTypeEXT>(1000135001);
  constexpr auto kIndexAsConstant = static_cast<VkIndirectCommandsTokenTypeEXT>(2);
  uint64_t pushed = 0;
  for (const auto& token : std::span(info.pTokens, info.tokenCount)) {
    if (token.type != VK_INDIRECT_COMMANDS_TOKEN_TYPE_PUSH_CONSTANT_EXT &&
        token.type != kIndexAsConstant && token.type != kPushData && token.type != kIndexAsData) {
      continue;
    }
    const VkPushConstantRange& range = token.data.pPushConstant->updateRange;
    pushed |= PushReads::mask(range.offset, uint64_t{range.offset} + range.size);
  }
  return pushed;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_create_layout(VkDevice handle,
                                                  const VkIndirectCommandsLayoutCreateInfoEXT* info,
                                                  const VkAllocationCallbacks* allocator,
                                                  VkIndirectCommandsLayoutEXT* layout) {
  const Device& device = *find_device(handle);
  const VkResult result =
      device.next().CreateIndirectCommandsLayoutEXT(handle, info, allocator, layout);
  if (result == VK_SUCCESS && device.state()) {
    vk::guarded_void(
        [&] { device.state()->objects.generated_push_data.insert(*layout, pushed_by(*info)); });
  }
  constexpr auto kExplicit = VK_INDIRECT_COMMANDS_LAYOUT_USAGE_EXPLICIT_PREPROCESS_BIT_EXT;
  if (result != VK_SUCCESS || !device.state() || (info->flags & kExplicit) == 0) return result;
  vk::guarded_void([&] {
    VkIndirectCommandsLayoutCreateInfoEXT changed = *info;
    changed.flags &= ~VkIndirectCommandsLayoutUsageFlagsEXT{kExplicit};
    VkIndirectCommandsLayoutEXT implicit = VK_NULL_HANDLE;
    const VkResult made =
        device.next().CreateIndirectCommandsLayoutEXT(handle, &changed, nullptr, &implicit);
    if (made == VK_SUCCESS) device.state()->objects.implicit_layouts.insert(*layout, implicit);
  });
  return result;
}

VKAPI_ATTR void VKAPI_CALL hook_destroy_layout(VkDevice handle, VkIndirectCommandsLayoutEXT layout,
                                               const VkAllocationCallbacks* allocator) {
  const Device& device = *find_device(handle);
  if (device.state()) device.state()->objects.generated_push_data.take(layout);
  const VkIndirectCommandsLayoutEXT implicit =
      device.state() ? device.state()->objects.implicit_layouts.take(layout)
                     : VkIndirectCommandsLayoutEXT{VK_NULL_HANDLE};
  if (implicit != VK_NULL_HANDLE) {
    device.next().DestroyIndirectCommandsLayoutEXT(handle, implicit, nullptr);
  }
  device.next().DestroyIndirectCommandsLayoutEXT(handle, layout, allocator);
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
  if (!device.state())
    return device.next().CreateIndirectExecutionSetEXT(handle, info, allocator, set);
  return vk::guarded([&] {
    return create_execution_set(device.state()->objects, device.state()->memory.words, *info,
                                allocator, *set);
  });
}

VKAPI_ATTR void VKAPI_CALL hook_destroy_set(VkDevice handle, VkIndirectExecutionSetEXT set,
                                            const VkAllocationCallbacks* allocator) {
  const Device& device = *find_device(handle);
  if (device.state()) device.state()->objects.execution_sets.take(set);
  device.next().DestroyIndirectExecutionSetEXT(handle, set, allocator);
}

template <auto kUpdate, typename Write>
VKAPI_ATTR void VKAPI_CALL hook_update_set(VkDevice handle, VkIndirectExecutionSetEXT set,
                                           uint32_t count, const Write* writes) {
  const Device& device = *find_device(handle);
  if (device.state()) {
    vk::guarded_void([&] {
      const auto known = device.state()->objects.execution_sets.find(set);
      if (known) known->update(std::span(writes, count));
    });
  }
  (device.next().*kUpdate)(handle, set, count, writes);
}

}  // namespace

void add_generated_command_entry_points(std::vector<vk::Hook>& hooks) {
  const auto add = [&](std::string_view name, auto* function) {
    hooks.push_back(vk::hook(name, function, kInstrumentation));
  };
  add("vkCmdExecuteGeneratedCommandsEXT", hook_execute_generated);
  add("vkCmdPreprocessGeneratedCommandsEXT", hook_preprocess);
  add("vkCreateIndirectCommandsLayoutEXT", hook_create_layout);
  add("vkDestroyIndirectCommandsLayoutEXT", hook_destroy_layout);
  add("vkCreateIndirectExecutionSetEXT", hook_create_set);
  add("vkDestroyIndirectExecutionSetEXT", hook_destroy_set);
  add("vkUpdateIndirectExecutionSetPipelineEXT",
      hook_update_set<&DeviceTable::UpdateIndirectExecutionSetPipelineEXT,
                      VkWriteIndirectExecutionSetPipelineEXT>);
  add("vkUpdateIndirectExecutionSetShaderEXT",
      hook_update_set<&DeviceTable::UpdateIndirectExecutionSetShaderEXT,
                      VkWriteIndirectExecutionSetShaderEXT>);
  add("vkGetGeneratedCommandsMemoryRequirementsEXT", hook_requirements);
}

}  // namespace tally::counters
