// Bindings, and the commands that run them.
#include "stand_in/uncounted/driver.h"

namespace tally::test::uncounted {
namespace {

constexpr auto kGraphics = VK_PIPELINE_BIND_POINT_GRAPHICS;
constexpr auto kCompute = VK_PIPELINE_BIND_POINT_COMPUTE;

Bound& bound_of(Device& device, VkCommandBuffer commands) {
  const std::lock_guard lock(device.mutex);
  return device.bound[commands];
}

VKAPI_ATTR VkResult VKAPI_CALL begin(VkCommandBuffer commands,
                                     const VkCommandBufferBeginInfo* info) {
  Device& device = device_of(commands);
  bound_of(device, commands) = {};
  return device.next.BeginCommandBuffer(commands, info);
}

VKAPI_ATTR void VKAPI_CALL bind_pipeline(VkCommandBuffer commands, VkPipelineBindPoint point,
                                         VkPipeline pipeline) {
  Device& device = device_of(commands);
  Bound& bound = bound_of(device, commands);
  if (point == kGraphics) bound.graphics = pipeline;
  if (point == kCompute) bound.compute = pipeline;
  if (point == VK_PIPELINE_BIND_POINT_SUBPASS_SHADING_HUAWEI) {
    bound.subpass = pipeline;
    return;
  }
  {
    const std::lock_guard lock(device.mutex);
    if (device.of_nv_ray_tracing.contains(pipeline)) return;
  }
  device.next.CmdBindPipeline(commands, point, pipeline);
}

VKAPI_ATTR void VKAPI_CALL bind_group(VkCommandBuffer commands, VkPipelineBindPoint point,
                                      VkPipeline pipeline, uint32_t group) {
  VkPipeline chosen = pipeline;
  if (group != 0) {
    Device& device = device_of(commands);
    const std::lock_guard lock(device.mutex);
    const auto groups = device.groups.find(pipeline);
    if (groups == device.groups.end() || group > groups->second.size()) {
      fail("a pipeline without this shader group");
    }
    chosen = groups->second[group - 1];
  }
  bind_pipeline(commands, point, chosen);
}

void run(VkCommandBuffer commands, VkPipelineBindPoint point) {
  Device& device = device_of(commands);
  point == kCompute ? device.next.CmdDispatch(commands, kGroups, 1, 1)
                    : device.next.CmdDraw(commands, 3, 1, 0, 0);
}

VKAPI_ATTR void VKAPI_CALL execute_generated(VkCommandBuffer commands, VkBool32,
                                             const VkGeneratedCommandsInfoNV* info) {
  Bound& bound = bound_of(device_of(commands), commands);
  const bool compute = info->pipelineBindPoint == kCompute;
  if ((compute ? bound.compute : bound.graphics) != info->pipeline) {
    fail("generated commands run another pipeline than the one that is bound");
  }
  run(commands, info->pipelineBindPoint);
  bound = {};
}

VKAPI_ATTR void VKAPI_CALL update_indirect(VkCommandBuffer commands, VkPipelineBindPoint,
                                           VkPipeline pipeline) {
  Device& device = device_of(commands);
  const std::lock_guard lock(device.mutex);
  if (!device.bindable.contains(pipeline)) fail("a pipeline that cannot be bound indirectly");
}

VKAPI_ATTR void VKAPI_CALL draw_cluster(VkCommandBuffer commands, uint32_t, uint32_t, uint32_t) {
  run(commands, kGraphics);
}
VKAPI_ATTR void VKAPI_CALL draw_cluster_indirect(VkCommandBuffer commands, VkBuffer, VkDeviceSize) {
  run(commands, kGraphics);
}
VKAPI_ATTR void VKAPI_CALL dispatch_tile(VkCommandBuffer commands, const VkDispatchTileInfoQCOM*) {
  run(commands, kCompute);
}

VKAPI_ATTR void VKAPI_CALL subpass_shading(VkCommandBuffer commands) {
  Device& device = device_of(commands);
  const Bound bound = bound_of(device, commands);
  device.next.CmdBindPipeline(commands, kCompute, bound.subpass);
  device.next.CmdDispatch(commands, 1, 1, 1);
  if (bound.compute) device.next.CmdBindPipeline(commands, kCompute, bound.compute);
}

}  // namespace

void add_command_hooks(Hooks& hooks) {
  hooks.push_back(vk::hook("vkBeginCommandBuffer", begin));
  hooks.push_back(vk::hook("vkCmdBindPipeline", bind_pipeline));
  hooks.push_back(vk::hook("vkCmdBindPipelineShaderGroupNV", bind_group));
  hooks.push_back(vk::hook("vkCmdDispatchTileQCOM", dispatch_tile));
  hooks.push_back(vk::hook("vkCmdDrawClusterHUAWEI", draw_cluster));
  hooks.push_back(vk::hook("vkCmdDrawClusterIndirectHUAWEI", draw_cluster_indirect));
  hooks.push_back(vk::hook("vkCmdExecuteGeneratedCommandsNV", execute_generated));
  hooks.push_back(vk::hook("vkCmdSubpassShadingHUAWEI", subpass_shading));
  hooks.push_back(vk::hook("vkCmdUpdatePipelineIndirectBufferNV", update_indirect));
}

}  // namespace tally::test::uncounted
