// The driver counts the shader objects that it creates and the descriptor set layouts that exist
// (counters.h), and creates no shader objects of set layouts that do not exist. With
// TALLY_TEST_REFUSE_INSTRUMENTED in the environment, it creates none with instrumented code.
#include <algorithm>
#include <cstdlib>
#include <span>

#include "api/driver/counters.h"
#include "api/driver/driver.h"

namespace tally::test::driver {
namespace {

bool refuses(Device& device, const VkShaderCreateInfoEXT& info) {
  const std::span layouts(info.pSetLayouts, info.setLayoutCount);
  const bool all_exist = std::ranges::all_of(layouts, [&](VkDescriptorSetLayout layout) {
    return layout == VK_NULL_HANDLE || device.set_layouts.find(layout);
  });
  return !all_exist || (std::getenv("TALLY_TEST_REFUSE_INSTRUMENTED") != nullptr &&
                        is_instrumented(info.pCode, info.codeSize));
}

VKAPI_ATTR VkResult VKAPI_CALL create_shaders(VkDevice handle, uint32_t count,
                                              const VkShaderCreateInfoEXT* infos,
                                              const VkAllocationCallbacks* allocator,
                                              VkShaderEXT* shaders) {
  Device& device = device_of(handle);
  if (std::any_of(infos, infos + count, [&](const auto& info) { return refuses(device, info); })) {
    std::fill_n(shaders, count, VkShaderEXT{VK_NULL_HANDLE});
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  }
  device.created_shaders += count;
  return device.next.CreateShadersEXT(handle, count, infos, allocator, shaders);
}

VKAPI_ATTR uint32_t VKAPI_CALL created_shaders(VkDevice handle) {
  return device_of(handle).created_shaders;
}

VKAPI_ATTR VkResult VKAPI_CALL create_layout(VkDevice handle,
                                             const VkDescriptorSetLayoutCreateInfo* info,
                                             const VkAllocationCallbacks* allocator,
                                             VkDescriptorSetLayout* layout) {
  Device& device = device_of(handle);
  const VkResult result = device.next.CreateDescriptorSetLayout(handle, info, allocator, layout);
  if (result == VK_SUCCESS) device.set_layouts.insert(*layout, true);
  return result;
}

VKAPI_ATTR void VKAPI_CALL destroy_layout(VkDevice handle, VkDescriptorSetLayout layout,
                                          const VkAllocationCallbacks* allocator) {
  Device& device = device_of(handle);
  device.set_layouts.take(layout);
  device.next.DestroyDescriptorSetLayout(handle, layout, allocator);
}

VKAPI_ATTR uint32_t VKAPI_CALL set_layouts(VkDevice handle) {
  return static_cast<uint32_t>(device_of(handle).set_layouts.values().size());
}

}  // namespace

void add_shader_object_hooks(Hooks& hooks) {
  hooks.push_back(vk::hook("vkCreateShadersEXT", create_shaders));
  hooks.push_back(vk::hook(kCreatedShaders, created_shaders));
  hooks.push_back(vk::hook("vkCreateDescriptorSetLayout", create_layout));
  hooks.push_back(vk::hook("vkDestroyDescriptorSetLayout", destroy_layout));
  hooks.push_back(vk::hook(kSetLayouts, set_layouts));
}

}  // namespace tally::test::driver
