// Pipelines without what only the extensions know, and their binaries.
#include <algorithm>
#include <cstring>
#include <deque>
#include <span>

#include "stand_in/uncounted/driver.h"
#include "vk/chain.h"

namespace tally::test::uncounted {
namespace {

constexpr uint64_t kCaptureData = 0x80000000;
constexpr uint64_t kBindable = VK_PIPELINE_CREATE_INDIRECT_BINDABLE_BIT_NV;
constexpr auto kFlags2 = VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR;
constexpr auto kBinaries = VK_STRUCTURE_TYPE_PIPELINE_BINARY_INFO_KHR;
constexpr auto kGroupInfo = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_SHADER_GROUPS_CREATE_INFO_NV;

// Flags of shaders whose binaries are captured.
void check_plain(const Code& code) {
  if (is_instrumented(code.data(), code.size() * sizeof(uint32_t))) {
    fail("binaries of instrumented shaders");
  }
}

// The create info as the driver below knows it.
template <typename Info>
class Below {
 public:
  explicit Below(const Info& original) : info(original), chain_(original.pNext) {
    const uint64_t flags = pipeline_flags(original);
    if ((flags & VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM) != 0) {
      fail("a pipeline has the layer's flag");
    }
    chain_.remove(kFlags2);
    chain_.remove(kBinaries);
    chain_.remove(kGroupInfo);
    chain_.remove(VK_STRUCTURE_TYPE_SUBPASS_SHADING_PIPELINE_CREATE_INFO_HUAWEI);
    info.flags = static_cast<VkPipelineCreateFlags>(flags & ~(kCaptureData | kBindable));
    info.pNext = chain_.head();
  }
  Below(const Below&) = delete;
  Below& operator=(const Below&) = delete;

  Info info;

 private:
  vk::ChainCopy chain_;
};

VkShaderModule create_module_below(VkDevice handle, const Code& code) {
  const VkShaderModuleCreateInfo info{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, nullptr, 0,
                                      code.size() * sizeof(uint32_t), code.data()};
  VkShaderModule module = VK_NULL_HANDLE;
  if (device_of(handle).next.CreateShaderModule(handle, &info, nullptr, &module) != VK_SUCCESS) {
    fail("no module");
  }
  return module;
}

VkResult create_compute_pipeline(VkDevice handle, VkPipelineCache cache,
                                 const VkComputePipelineCreateInfo& original,
                                 const VkAllocationCallbacks* allocator, VkPipeline& pipeline) {
  Device& device = device_of(handle);
  Below<VkComputePipelineCreateInfo> below(original);
  const auto* from = vk::find_in_chain<VkPipelineBinaryInfoKHR>(original.pNext, kBinaries);
  Code code;
  {
    const std::lock_guard lock(device.mutex);
    if (from && from->binaryCount != 0) {
      code = device.binaries.at(reinterpret_cast<uint64_t>(from->pPipelineBinaries[0]) - 1);
    } else {
      code = device.modules[original.stage.module];
    }
  }
  VkShaderModule module = VK_NULL_HANDLE;
  if (from && from->binaryCount != 0) {
    module = create_module_below(handle, code);
    below.info.stage.module = module;
  }
  if (original.stage.stage == VK_SHADER_STAGE_SUBPASS_SHADING_BIT_HUAWEI) {
    below.info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  }
  const VkResult result =
      device.next.CreateComputePipelines(handle, cache, 1, &below.info, allocator, &pipeline);
  if (module) device.next.DestroyShaderModule(handle, module, nullptr);
  if (result != VK_SUCCESS) return result;
  const std::lock_guard lock(device.mutex);
  if ((pipeline_flags(original) & kCaptureData) != 0) device.captured[pipeline] = code;
  if ((pipeline_flags(original) & kBindable) != 0) device.bindable.insert(pipeline);
  return result;
}

VkResult create_graphics_pipeline(VkDevice handle, VkPipelineCache cache,
                                  const VkGraphicsPipelineCreateInfo& original,
                                  const VkAllocationCallbacks* allocator, VkPipeline& pipeline) {
  Device& device = device_of(handle);
  const Below<VkGraphicsPipelineCreateInfo> below(original);
  const VkResult result =
      device.next.CreateGraphicsPipelines(handle, cache, 1, &below.info, allocator, &pipeline);
  const auto* groups =
      vk::find_in_chain<VkGraphicsPipelineShaderGroupsCreateInfoNV>(original.pNext, kGroupInfo);
  if (result != VK_SUCCESS || !groups) return result;
  const std::lock_guard lock(device.mutex);
  device.groups[pipeline].assign(groups->pPipelines, groups->pPipelines + groups->pipelineCount);
  return result;
}

template <auto kCreate, typename Info>
VKAPI_ATTR VkResult VKAPI_CALL create_pipelines(VkDevice handle, VkPipelineCache cache,
                                                uint32_t count, const Info* infos,
                                                const VkAllocationCallbacks* allocator,
                                                VkPipeline* pipelines) {
  std::fill_n(pipelines, count, VkPipeline{VK_NULL_HANDLE});
  VkResult all = VK_SUCCESS;
  for (uint32_t i = 0; i < count; ++i) {
    const VkResult result = kCreate(handle, cache, infos[i], allocator, pipelines[i]);
    if (all >= VK_SUCCESS && result != VK_SUCCESS) all = result;
  }
  return all;
}

VKAPI_ATTR VkResult VKAPI_CALL create_nv_rays(VkDevice handle, VkPipelineCache, uint32_t count,
                                              const VkRayTracingPipelineCreateInfoNV*,
                                              const VkAllocationCallbacks*, VkPipeline* pipelines) {
  Device& device = device_of(handle);
  const std::lock_guard lock(device.mutex);
  for (uint32_t i = 0; i < count; ++i) {
    pipelines[i] = reinterpret_cast<VkPipeline>(new char);
    device.of_nv_ray_tracing.insert(pipelines[i]);
  }
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL create_rays(VkDevice handle, VkDeferredOperationKHR operation,
                                           VkPipelineCache cache, uint32_t count,
                                           const VkRayTracingPipelineCreateInfoKHR* infos,
                                           const VkAllocationCallbacks* allocator,
                                           VkPipeline* pipelines) {
  Device& device = device_of(handle);
  std::deque<Below<VkRayTracingPipelineCreateInfoKHR>> all;
  std::vector<VkRayTracingPipelineCreateInfoKHR> below;
  for (const VkRayTracingPipelineCreateInfoKHR& info : std::span(infos, count)) {
    below.push_back(all.emplace_back(info).info);
    if ((pipeline_flags(info) & kCaptureData) == 0) continue;
    const std::lock_guard lock(device.mutex);
    for (const auto& stage : std::span(info.pStages, info.stageCount)) {
      check_plain(device.modules[stage.module]);
    }
  }
  return device.next.CreateRayTracingPipelinesKHR(handle, operation, cache, count, below.data(),
                                                  allocator, pipelines);
}

VKAPI_ATTR void VKAPI_CALL destroy_pipeline(VkDevice handle, VkPipeline pipeline,
                                            const VkAllocationCallbacks* allocator) {
  Device& device = device_of(handle);
  {
    const std::lock_guard lock(device.mutex);
    device.captured.erase(pipeline);
    device.groups.erase(pipeline);
    device.bindable.erase(pipeline);
    if (device.of_nv_ray_tracing.erase(pipeline) != 0) {
      delete reinterpret_cast<char*>(pipeline);
      return;
    }
  }
  device.next.DestroyPipeline(handle, pipeline, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL create_module(VkDevice handle, const VkShaderModuleCreateInfo* info,
                                             const VkAllocationCallbacks* allocator,
                                             VkShaderModule* module) {
  Device& device = device_of(handle);
  const VkResult result = device.next.CreateShaderModule(handle, info, allocator, module);
  const std::lock_guard lock(device.mutex);
  if (result == VK_SUCCESS) {
    device.modules[*module].assign(info->pCode, info->pCode + info->codeSize / sizeof(uint32_t));
  }
  return result;
}

// --- binaries

// The flags of the create info in the chain of another struct.
void check_plain(const VkPipelineCreateInfoKHR* info) {
  if (!info) return;
  const auto* compute = vk::find_in_chain<VkComputePipelineCreateInfo>(
      info->pNext, VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  if (compute &&
      (pipeline_flags(*compute) & VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM) != 0) {
    fail("the create info of a binary has the layer's flag");
  }
}

VkPipelineBinaryKHR add_binary(Device& device, Code code) {
  check_plain(code);
  device.binaries.push_back(std::move(code));
  return reinterpret_cast<VkPipelineBinaryKHR>(device.binaries.size());
}

VKAPI_ATTR VkResult VKAPI_CALL create_binaries(VkDevice handle,
                                               const VkPipelineBinaryCreateInfoKHR* info,
                                               const VkAllocationCallbacks*,
                                               VkPipelineBinaryHandlesInfoKHR* binaries) {
  Device& device = device_of(handle);
  check_plain(info->pPipelineCreateInfo);
  if (info->pPipelineCreateInfo) return VK_PIPELINE_COMPILE_REQUIRED;  // no cache of its own
  binaries->pipelineBinaryCount = 1;
  if (!binaries->pPipelineBinaries) return VK_SUCCESS;
  const std::lock_guard lock(device.mutex);
  if (info->pKeysAndDataInfo) {
    const VkPipelineBinaryDataKHR& data = info->pKeysAndDataInfo->pPipelineBinaryData[0];
    Code code(data.dataSize / sizeof(uint32_t));
    std::memcpy(code.data(), data.pData, data.dataSize);
    binaries->pPipelineBinaries[0] = add_binary(device, std::move(code));
    return VK_SUCCESS;
  }
  const auto captured = device.captured.find(info->pipeline);
  if (captured == device.captured.end()) fail("a pipeline whose data were not captured");
  binaries->pPipelineBinaries[0] = add_binary(device, captured->second);
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL get_key(VkDevice, const VkPipelineCreateInfoKHR* info,
                                       VkPipelineBinaryKeyKHR* key) {
  check_plain(info);
  key->keySize = 1;
  key->key[0] = info ? 1 : 2;
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL get_data(VkDevice handle, const VkPipelineBinaryDataInfoKHR* info,
                                        VkPipelineBinaryKeyKHR* key, size_t* size, void* target) {
  Device& device = device_of(handle);
  const std::lock_guard lock(device.mutex);
  const Code& code = device.binaries.at(reinterpret_cast<uint64_t>(info->pipelineBinary) - 1);
  key->keySize = 1;
  if (target) std::memcpy(target, code.data(), *size);
  *size = code.size() * sizeof(uint32_t);
  return VK_SUCCESS;
}

}  // namespace

void add_pipeline_hooks(Hooks& hooks) {
  hooks.push_back(vk::hook("vkCreateComputePipelines",
                           create_pipelines<create_compute_pipeline, VkComputePipelineCreateInfo>));
  hooks.push_back(
      vk::hook("vkCreateGraphicsPipelines",
               create_pipelines<create_graphics_pipeline, VkGraphicsPipelineCreateInfo>));
  hooks.push_back(vk::hook("vkCreatePipelineBinariesKHR", create_binaries));
  hooks.push_back(vk::hook("vkCreateRayTracingPipelinesKHR", create_rays));
  hooks.push_back(vk::hook("vkCreateRayTracingPipelinesNV", create_nv_rays));
  hooks.push_back(vk::hook("vkCreateShaderModule", create_module));
  hooks.push_back(vk::hook("vkDestroyPipeline", destroy_pipeline));
  hooks.push_back(vk::hook("vkGetPipelineBinaryDataKHR", get_data));
  hooks.push_back(vk::hook("vkGetPipelineKeyKHR", get_key));
}

}  // namespace tally::test::uncounted
