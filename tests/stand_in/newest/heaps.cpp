// VK_EXT_descriptor_heap without descriptors: push data, and what invalidates what.
#include <algorithm>
#include <array>
#include <cstring>
#include <deque>

#include "stand_in/newest/driver.h"
#include "vk/chain.h"
#include "vk/pipeline.h"

namespace tally::test::newest {
namespace {

using Kind = Descriptors::Kind;

bool has_heaps(const Device& device) { return device.heap_layout != VK_NULL_HANDLE; }

// --- pipelines and shader objects

bool has_unknown_struct(const void* chain) {
  const auto* found = vk::find_in_chain<UnknownStruct>(chain, UnknownStruct::kType);
  if (found && std::ranges::count(found->words, UnknownStruct::kWord) != std::ssize(found->words)) {
    fail("an unknown struct was truncated");
  }
  return found != nullptr;
}

template <auto kNext, typename Info>
VKAPI_ATTR VkResult VKAPI_CALL create_pipelines(VkDevice handle, VkPipelineCache cache,
                                                uint32_t count, const Info* infos,
                                                const VkAllocationCallbacks* allocator,
                                                VkPipeline* pipelines) {
  Device& device = device_of(handle);
  std::vector<Info> below(infos, infos + count);
  std::deque<vk::ChainCopy> chains;
  for (Info& info : below) {
    constexpr uint64_t kHeaps = VK_PIPELINE_CREATE_2_DESCRIPTOR_HEAP_BIT_EXT;
    constexpr uint64_t kWide = VK_PIPELINE_CREATE_2_64_BIT_INDEXING_BIT_EXT;
    const uint64_t flags = pipeline_flags(info);
    {
      const std::lock_guard lock(device.mutex);
      ++((flags & kWide) != 0 ? device.created.wide : device.created.plain);
      if (has_unknown_struct(info.pNext)) ++device.created.unknown;
    }
    vk::ChainCopy& chain = chains.emplace_back(info.pNext);
    chain.remove(VK_STRUCTURE_TYPE_CUSTOM_RESOLVE_CREATE_INFO_EXT);
    if ((flags & (kHeaps | kWide)) != 0) {
      const uint64_t others = flags & ~(kHeaps | kWide);
      if (others > UINT32_MAX) fail("a pipeline has other new flags");
      chain.remove(VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR);
      info.flags = static_cast<VkPipelineCreateFlags>(others);
    }
    info.pNext = chain.head();
    if ((flags & kHeaps) == 0) continue;
    if (info.layout != VK_NULL_HANDLE) fail("a pipeline with heaps has a layout");
    info.layout = device.heap_layout;
  }
  const VkResult result =
      (device.next.*kNext)(handle, cache, count, below.data(), allocator, pipelines);
  const std::lock_guard lock(device.mutex);
  for (uint32_t i = 0; i < count; ++i) {
    const bool heaps =
        (pipeline_flags(infos[i]) & VK_PIPELINE_CREATE_2_DESCRIPTOR_HEAP_BIT_EXT) != 0;
    heaps ? (void)device.heap_pipelines.insert(pipelines[i])
          : (void)device.heap_pipelines.erase(pipelines[i]);
  }
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL create_shaders(VkDevice handle, uint32_t count,
                                              const VkShaderCreateInfoEXT* infos,
                                              const VkAllocationCallbacks* allocator,
                                              VkShaderEXT* shaders) {
  Device& device = device_of(handle);
  const VkPushConstantRange range{device.push_stages, 0, device.push_bytes};
  std::vector<VkShaderCreateInfoEXT> below(infos, infos + count);
  for (VkShaderCreateInfoEXT& info : below) {
    if ((info.flags & VK_SHADER_CREATE_DESCRIPTOR_HEAP_BIT_EXT) == 0) continue;
    if (info.pushConstantRangeCount != 0) fail("a shader with heaps has push constants");
    info.flags &= ~VkFlags{VK_SHADER_CREATE_DESCRIPTOR_HEAP_BIT_EXT};
    info.pushConstantRangeCount = 1;
    info.pPushConstantRanges = &range;
  }
  const VkResult result =
      device.next.CreateShadersEXT(handle, count, below.data(), allocator, shaders);
  const std::lock_guard lock(device.mutex);
  for (uint32_t i = 0; i < count; ++i) {
    const bool heaps = (infos[i].flags & VK_SHADER_CREATE_DESCRIPTOR_HEAP_BIT_EXT) != 0;
    heaps ? (void)device.heap_shaders.insert(shaders[i])
          : (void)device.heap_shaders.erase(shaders[i]);
  }
  return result;
}

VKAPI_ATTR PipelineCounts VKAPI_CALL pipeline_counts(VkDevice handle) {
  Device& device = device_of(handle);
  const std::lock_guard lock(device.mutex);
  return device.created;
}

// --- descriptor state

Descriptors& descriptors_of(Device& device, VkCommandBuffer commands) {
  const std::lock_guard lock(device.mutex);
  return device.descriptors[commands];
}

// A command of one kind invalidates the state of the other.
Descriptors& set(Device& device, VkCommandBuffer commands, Kind kind) {
  Descriptors& state = descriptors_of(device, commands);
  if (kind == state.kind || !has_heaps(device)) return state;
  if (state.kind != Kind::None) {
    const std::vector<std::byte> lost(device.push_bytes, std::byte{0xa5});
    device.next.CmdPushConstants(commands, device.heap_layout, device.push_stages, 0,
                                 device.push_bytes, lost.data());
  }
  if (kind == Kind::Heaps) state.sets_lost = state.sets;
  if (kind == Kind::Sets) state.heaps_lost = state.heaps;
  state.kind = kind;
  return state;
}

VKAPI_ATTR VkResult VKAPI_CALL begin(VkCommandBuffer commands,
                                     const VkCommandBufferBeginInfo* info) {
  Device& device = device_of(commands);
  Descriptors& state = descriptors_of(device, commands);
  state = {};
  VkCommandBufferBeginInfo below = *info;
  if (!info->pInheritanceInfo || !has_heaps(device)) {
    return device.next.BeginCommandBuffer(commands, &below);
  }
  constexpr VkStructureType kHeaps =
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_DESCRIPTOR_HEAP_INFO_EXT;
  VkCommandBufferInheritanceInfo inherited = *info->pInheritanceInfo;
  vk::ChainCopy chain(inherited.pNext);
  if (chain.find<VkBaseOutStructure>(kHeaps)) {
    state.kind = Kind::Heaps;
    state.heaps = true;
  }
  chain.remove(kHeaps);
  inherited.pNext = chain.head();
  below.pInheritanceInfo = &inherited;
  return device.next.BeginCommandBuffer(commands, &below);
}

VKAPI_ATTR void VKAPI_CALL bind_heap(VkCommandBuffer commands, const VkBindHeapInfoEXT*) {
  Descriptors& state = set(device_of(commands), commands, Kind::Heaps);
  state.heaps = true;
  state.heaps_lost = false;
}

VKAPI_ATTR void VKAPI_CALL push_data(VkCommandBuffer commands, const VkPushDataInfoEXT* info) {
  Device& device = device_of(commands);
  set(device, commands, Kind::Heaps);
  device.next.CmdPushConstants(commands, device.heap_layout, device.push_stages, info->offset,
                               static_cast<uint32_t>(info->data.size), info->data.address);
}

VKAPI_ATTR void VKAPI_CALL push_constants(VkCommandBuffer commands, VkPipelineLayout layout,
                                          VkShaderStageFlags stages, uint32_t offset, uint32_t size,
                                          const void* values) {
  Device& device = device_of(commands);
  set(device, commands, Kind::Sets);
  device.next.CmdPushConstants(commands, layout, stages, offset, size, values);
}

VKAPI_ATTR void VKAPI_CALL bind_sets(VkCommandBuffer commands, VkPipelineBindPoint point,
                                     VkPipelineLayout layout, uint32_t first, uint32_t count,
                                     const VkDescriptorSet* sets, uint32_t offset_count,
                                     const uint32_t* offsets) {
  Device& device = device_of(commands);
  Descriptors& state = set(device, commands, Kind::Sets);
  state.sets = true;
  state.sets_lost = false;
  device.next.CmdBindDescriptorSets(commands, point, layout, first, count, sets, offset_count,
                                    offsets);
}

// --- what is bound and executed

VKAPI_ATTR void VKAPI_CALL bind_pipeline(VkCommandBuffer commands, VkPipelineBindPoint point,
                                         VkPipeline pipeline) {
  Device& device = device_of(commands);
  Descriptors& state = descriptors_of(device, commands);
  {
    const std::lock_guard lock(device.mutex);
    const bool heaps = device.heap_pipelines.contains(pipeline);
    (point == VK_PIPELINE_BIND_POINT_COMPUTE ? state.compute_heaps : state.graphics_heaps) = heaps;
  }
  device.next.CmdBindPipeline(commands, point, pipeline);
}

VKAPI_ATTR void VKAPI_CALL bind_shaders(VkCommandBuffer commands, uint32_t count,
                                        const VkShaderStageFlagBits* stages,
                                        const VkShaderEXT* shaders) {
  Device& device = device_of(commands);
  Descriptors& state = descriptors_of(device, commands);
  for (uint32_t i = 0; i < count && shaders; ++i) {
    if (shaders[i] == VK_NULL_HANDLE) continue;
    const std::lock_guard lock(device.mutex);
    const bool heaps = device.heap_shaders.contains(shaders[i]);
    (stages[i] == VK_SHADER_STAGE_COMPUTE_BIT ? state.compute_heaps : state.graphics_heaps) = heaps;
  }
  device.next.CmdBindShadersEXT(commands, count, stages, shaders);
}

void check_state(Device& device, VkCommandBuffer commands, bool compute) {
  const Descriptors& state = descriptors_of(device, commands);
  const bool heaps = compute ? state.compute_heaps : state.graphics_heaps;
  if (heaps && state.heaps_lost) fail("the descriptor heaps were invalidated");
  if (!heaps && state.sets_lost) fail("the descriptor sets were invalidated");
}

VKAPI_ATTR void VKAPI_CALL dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
  Device& device = device_of(commands);
  check_state(device, commands, true);
  device.next.CmdDispatch(commands, x, y, z);
}

VKAPI_ATTR void VKAPI_CALL draw(VkCommandBuffer commands, uint32_t vertices, uint32_t instances,
                                uint32_t first_vertex, uint32_t first_instance) {
  Device& device = device_of(commands);
  check_state(device, commands, false);
  device.next.CmdDraw(commands, vertices, instances, first_vertex, first_instance);
}

}  // namespace

void prepare_heaps(Device& device, const VkDeviceCreateInfo& info) {
  const std::span extensions(info.ppEnabledExtensionNames, info.enabledExtensionCount);
  const bool mesh = std::ranges::any_of(extensions, [](const char* name) {
    return std::strcmp(name, VK_EXT_MESH_SHADER_EXTENSION_NAME) == 0;
  });
  device.push_bytes = push_bytes(device.gpu);
  device.push_stages = VK_SHADER_STAGE_ALL_GRAPHICS | VK_SHADER_STAGE_COMPUTE_BIT;
  if (mesh) device.push_stages |= VK_SHADER_STAGE_TASK_BIT_EXT | VK_SHADER_STAGE_MESH_BIT_EXT;
  const VkPushConstantRange range{device.push_stages, 0, device.push_bytes};
  const VkPipelineLayoutCreateInfo layout{
      VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, nullptr, 0, 0, nullptr, 1, &range};
  if (device.next.CreatePipelineLayout(device.handle, &layout, nullptr, &device.heap_layout) !=
      VK_SUCCESS) {
    fail("no layout for heaps");
  }
}

void add_heap_hooks(Hooks& hooks) {
  const auto add = [&](std::string_view name, auto* function) {
    hooks.push_back(vk::hook(name, function));
  };
  add("vkBeginCommandBuffer", begin);
  add("vkCmdBindDescriptorSets", bind_sets);
  add("vkCmdBindPipeline", bind_pipeline);
  add("vkCmdBindResourceHeapEXT", bind_heap);
  add("vkCmdBindSamplerHeapEXT", bind_heap);
  add("vkCmdBindShadersEXT", bind_shaders);
  add("vkCmdDispatch", dispatch);
  add("vkCmdDraw", draw);
  add("vkCmdPushConstants", push_constants);
  add("vkCmdPushDataEXT", push_data);
  add("vkCreateComputePipelines",
      create_pipelines<&DeviceTable::CreateComputePipelines, VkComputePipelineCreateInfo>);
  add("vkCreateGraphicsPipelines",
      create_pipelines<&DeviceTable::CreateGraphicsPipelines, VkGraphicsPipelineCreateInfo>);
  add("vkCreateShadersEXT", create_shaders);
  add(kPipelineCounts, pipeline_counts);
}

}  // namespace tally::test::newest
