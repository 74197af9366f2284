// VK_EXT_shader_object, and the set layouts that shader objects keep. Its commands are in
// recording/entry_command_buffer.cpp.
#include "counters/layer/entry_points.h"
#include "counters/objects/shader_object_creation.h"
#include "vk/boundary.h"

namespace tally::counters {
namespace {

VKAPI_ATTR VkResult VKAPI_CALL hook_create_shaders(VkDevice handle, uint32_t count,
                                                   const VkShaderCreateInfoEXT* infos,
                                                   const VkAllocationCallbacks* allocator,
                                                   VkShaderEXT* shaders) {
  Device& device = *find_device(handle);
  DeviceState* state = device.state();
  if (!state) return device.next().CreateShadersEXT(handle, count, infos, allocator, shaders);
  return vk::guarded([&] {
    return create_shader_objects(state->objects, state->memory.words, {infos, count}, allocator,
                                 shaders);
  });
}

VKAPI_ATTR void VKAPI_CALL hook_destroy_shader(VkDevice handle, VkShaderEXT shader,
                                               const VkAllocationCallbacks* allocator) {
  Device& device = *find_device(handle);
  if (DeviceState* state = device.state()) {
    destroy_shader_object(state->objects, shader, allocator);
  } else {
    device.next().DestroyShaderEXT(handle, shader, allocator);
  }
}

// The binary contains the plain shader.
VKAPI_ATTR VkResult VKAPI_CALL hook_get_binary(VkDevice handle, VkShaderEXT shader, size_t* size,
                                               void* data) {
  Device& device = *find_device(handle);
  const VkResult result = device.next().GetShaderBinaryDataEXT(handle, shader, size, data);
  DeviceState* state = device.state();
  if (result == VK_SUCCESS && data && state) {
    vk::guarded_void([&] {
      note_shader_binary(state->objects, shader, {static_cast<const std::byte*>(data), *size});
    });
  }
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_create_set_layout(VkDevice handle,
                                                      const VkDescriptorSetLayoutCreateInfo* info,
                                                      const VkAllocationCallbacks* allocator,
                                                      VkDescriptorSetLayout* layout) {
  Device& device = *find_device(handle);
  const VkResult result = device.next().CreateDescriptorSetLayout(handle, info, allocator, layout);
  DeviceState* state = device.state();
  if (result == VK_SUCCESS && state) state->objects.set_layouts.note(*layout, allocator);
  return result;
}

VKAPI_ATTR void VKAPI_CALL hook_destroy_set_layout(VkDevice handle, VkDescriptorSetLayout layout,
                                                   const VkAllocationCallbacks* allocator) {
  Device& device = *find_device(handle);
  if (DeviceState* state = device.state()) {
    state->objects.set_layouts.destroy(layout, allocator);
  } else {
    device.next().DestroyDescriptorSetLayout(handle, layout, allocator);
  }
}

}  // namespace

void add_shader_object_entry_points(std::vector<vk::Hook>& hooks) {
  const auto add = [&](std::string_view name, auto* function) {
    hooks.push_back(vk::hook(name, function, kInstrumentation));
  };
  add("vkCreateShadersEXT", hook_create_shaders);
  add("vkDestroyShaderEXT", hook_destroy_shader);
  add("vkGetShaderBinaryDataEXT", hook_get_binary);
  add("vkCreateDescriptorSetLayout", hook_create_set_layout);
  add("vkDestroyDescriptorSetLayout", hook_destroy_set_layout);
}

}  // namespace tally::counters
