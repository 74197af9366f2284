// A stand-in for a driver with the extensions of catalogue/hidden_extensions.h: all of
// them with all features, so a new row there is a new extension here. Commands are resolved where
// their extension is enabled. Most do nothing; these run shaders, so that a test sees whose:
//
// - vkCmdDispatchTileQCOM, vkCmdDrawClusterHUAWEI and vkCmdDrawClusterIndirectHUAWEI run what is
//   bound: kGroups workgroups, or a triangle.
// - vkCmdExecuteGeneratedCommandsNV does the same with the pipeline that it names, which must be
//   bound. Nothing is bound afterwards.
// - vkCmdSubpassShadingHUAWEI runs a workgroup of the pipeline that is bound at its bind point.
// - vkCmdBindPipelineShaderGroupNV binds the pipeline of `pPipelines` behind the groups.
// - A binary of a compute pipeline is its SPIR-V.
// - vkCreateRayTracingPipelinesNV creates pipelines that do nothing.
//
// Calls that an application never makes, but a layer may, end the process: a flag of the layer in a
// create info, binaries of instrumented shaders, a pipeline that is not indirectly bindable in
// vkCmdUpdatePipelineIndirectBufferNV.
#pragma once

#include <vulkan/vulkan_core.h>

#include <tally/vulkan_arm.h>
#include <tally/vulkan_newer.h>
#include <tally/vulkan_newest.h>

#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "catalogue/hidden_extensions.h"
#include "stand_in/driver.h"

namespace tally::test::uncounted {

inline constexpr uint32_t kGroups = 3;

struct Bound {
  VkPipeline graphics = VK_NULL_HANDLE, compute = VK_NULL_HANDLE, subpass = VK_NULL_HANDLE;
};
using Code = std::vector<uint32_t>;

struct Device : test::Device {
  void begin(const VkDeviceCreateInfo& wanted) override;
  bool has_command(std::string_view name) const override;

  catalogue::EnabledHidden enabled;
  // Guarded by the mutex:
  std::unordered_map<VkCommandBuffer, Bound> bound;
  std::unordered_map<VkShaderModule, Code> modules;
  std::unordered_map<VkPipeline, Code> captured;
  std::unordered_map<VkPipeline, std::vector<VkPipeline>> groups;
  std::set<VkPipeline> bindable;
  std::set<VkPipeline> of_nv_ray_tracing;
  std::vector<Code> binaries;  // a handle is a number of one, from 1
};

inline Device& device_of(const void* handle) { return static_cast<Device&>(find_device(handle)); }

void add_command_hooks(Hooks& hooks);
void add_pipeline_hooks(Hooks& hooks);

}  // namespace tally::test::uncounted
