// The create flags of pipelines, in the 32-bit field or in VkPipelineCreateFlags2CreateInfo. The
// layer removes its own bit. If the other flags fit, it moves them to the 32-bit field, so that the
// struct also works on drivers that do not know it.
#pragma once

#include <vulkan/vulkan_core.h>

#include <tally/vulkan_arm.h>
#include <tally/vulkan_newer.h>
#include <tally/vulkan_newest.h>

#include "vk/chain.h"

namespace tally::counters {

// Newer than the headers of Debian 12.
inline constexpr uint64_t kCaptureData = 0x80000000;         // VK_KHR_pipeline_binary
inline constexpr uint64_t kIndirectBindable = 0x4000000000;  // VK_EXT_device_generated_commands

template <typename Info>
uint64_t pipeline_flags(const Info& info) {
  const auto* newer = vk::find_in_chain<VkPipelineCreateFlags2CreateInfoKHR>(
      info.pNext, VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR);
  return newer ? newer->flags : info.flags;
}

// True if the driver takes the pipeline's code from binaries (VK_KHR_pipeline_binary).
inline bool has_binaries(const void* chain) {
  const auto* info =
      vk::find_in_chain<VkPipelineBinaryInfoKHR>(chain, VK_STRUCTURE_TYPE_PIPELINE_BINARY_INFO_KHR);
  return info && info->binaryCount != 0;
}

template <typename Info>
bool wants_instrumentation(const Info& info) {
  return (pipeline_flags(info) & VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM) != 0;
}

// Writes `flags` into a create info whose chain is the private copy `chain`.
template <typename Info>
void set_pipeline_flags(Info& info, vk::ChainCopy& chain, uint64_t flags) {
  auto* newer = chain.find<VkPipelineCreateFlags2CreateInfoKHR>(
      VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR);
  if (newer && flags > UINT32_MAX) {
    newer->flags = flags;
  } else {
    chain.remove(VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR);
    info.flags = static_cast<VkPipelineCreateFlags>(flags);
  }
  info.pNext = chain.head();
}

}  // namespace tally::counters
