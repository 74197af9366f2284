#include <cstdlib>
#include <memory>

#include "capture/testing/fake/fake.h"
#include "vk/chain.h"

namespace tally::fake {
namespace {

uint32_t stages_of(const VkComputePipelineCreateInfo& info) { return info.stage.stage; }
uint32_t stages_of(const VkGraphicsPipelineCreateInfo& info) {
  uint32_t stages = 0;
  for (uint32_t i = 0; i < info.stageCount; ++i) stages |= info.pStages[i].stage;
  return stages;
}

// A driver of this age does not know the flags struct: it is taken out.
template <typename Info, typename Create>
VkResult create_pipelines(uint32_t count, const Info* infos, VkPipeline* handles, Create create) {
  constexpr VkStructureType kFlags = VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR;
  std::vector<Info> copies(infos, infos + count);
  std::vector<std::unique_ptr<vk::ChainCopy>> chains;
  std::vector<bool> instrumented;
  for (Info& info : copies) {
    auto& chain = chains.emplace_back(std::make_unique<vk::ChainCopy>(info.pNext));
    const auto* flags = chain->template find<VkPipelineCreateFlags2CreateInfoKHR>(kFlags);
    instrumented.push_back(flags &&
                           (flags->flags & VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM));
    if (flags) info.flags = static_cast<VkPipelineCreateFlags>(flags->flags);
    chain->remove(kFlags);
    info.pNext = chain->head();
    if (instrumented.back() && std::getenv("FAKE_INSTRUMENTATION_REFUSE"))
      return VK_ERROR_FEATURE_NOT_PRESENT;
  }
  const VkResult result = create(copies.data());
  const std::lock_guard lock(state().mutex);
  for (uint32_t i = 0; i < count && result == VK_SUCCESS; ++i) {
    if (instrumented[i]) state().pipelines[handles[i]] = stages_of(infos[i]);
  }
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL CreateComputePipelines(VkDevice d, VkPipelineCache cache,
                                                      uint32_t count,
                                                      const VkComputePipelineCreateInfo* infos,
                                                      const VkAllocationCallbacks* a,
                                                      VkPipeline* handles) {
  return create_pipelines(count, infos, handles, [&](const VkComputePipelineCreateInfo* copies) {
    return device_table(d).CreateComputePipelines(d, cache, count, copies, a, handles);
  });
}

VKAPI_ATTR VkResult VKAPI_CALL CreateGraphicsPipelines(VkDevice d, VkPipelineCache cache,
                                                       uint32_t count,
                                                       const VkGraphicsPipelineCreateInfo* infos,
                                                       const VkAllocationCallbacks* a,
                                                       VkPipeline* handles) {
  return create_pipelines(count, infos, handles, [&](const VkGraphicsPipelineCreateInfo* copies) {
    return device_table(d).CreateGraphicsPipelines(d, cache, count, copies, a, handles);
  });
}

VKAPI_ATTR void VKAPI_CALL DestroyPipeline(VkDevice d, VkPipeline pipeline,
                                           const VkAllocationCallbacks* a) {
  {
    const std::lock_guard lock(state().mutex);
    state().pipelines.erase(pipeline);
  }
  device_table(d).DestroyPipeline(d, pipeline, a);
}

}  // namespace

void add_pipelines(Hooks& device) {
  device.push_back(vk::hook("vkCreateComputePipelines", CreateComputePipelines));
  device.push_back(vk::hook("vkCreateGraphicsPipelines", CreateGraphicsPipelines));
  device.push_back(vk::hook("vkDestroyPipeline", DestroyPipeline));
}

}  // namespace tally::fake
