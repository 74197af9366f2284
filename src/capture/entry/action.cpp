// Draws, dispatches and ray traces: the hooks describe, measure and time each command and pass it
// to the next layer.
#include "capture/entry/entry.h"
#include "vk/own_call.h"

namespace tally::capture {
namespace {

using store::Function;

template <auto Member, typename... Args>
void action(Function function, std::initializer_list<int64_t> parameters,
            VkCommandBuffer command_buffer, Args... args) noexcept {
  CommandBuffer* state = find_command_buffer(command_buffer);
  if (!state) return;
  std::optional<TimeIndex> time;
  vk::guarded_void([&] { time = state->before_action(function, parameters); });
  state->record([&](VkCommandBuffer to, bool) { (state->table().*Member)(to, args...); });
  vk::guarded_void([&] { state->after_action(function, time); });
}

// The hook of a command whose shaders the capture cannot count.
template <auto Member, typename Function>
struct Unknown;
template <auto Member, typename... Args>
struct Unknown<Member, void(VKAPI_PTR*)(VkCommandBuffer, Args...)> {
  static DeviceHook hook(const char* name) {
    name_ = name;
    return device_hook<Member>(name, call);
  }

 private:
  static VKAPI_ATTR void VKAPI_CALL call(VkCommandBuffer command_buffer, Args... args) {
    CommandBuffer* state = find_command_buffer(command_buffer);
    if (!state) return;
    vk::guarded_void([&] { state->before_unknown_action(name_); });
    state->record([&](VkCommandBuffer to, bool) { (state->table().*Member)(to, args...); });
  }
  static inline const char* name_ = nullptr;
};

// Signed, because the parameters include 64-bit sizes and offsets, 32-bit counts and signed vertex
// offsets.
int64_t number(VkDeviceSize value) { return static_cast<int64_t>(value); }

VKAPI_ATTR void VKAPI_CALL CmdDraw(VkCommandBuffer b, uint32_t vertices, uint32_t instances,
                                   uint32_t first_vertex, uint32_t first_instance) {
  action<&DeviceTable::CmdDraw>(Function::Draw, {vertices, instances, first_vertex, first_instance},
                                b, vertices, instances, first_vertex, first_instance);
}

VKAPI_ATTR void VKAPI_CALL CmdDrawIndexed(VkCommandBuffer b, uint32_t indices, uint32_t instances,
                                          uint32_t first_index, int32_t vertex_offset,
                                          uint32_t first_instance) {
  action<&DeviceTable::CmdDrawIndexed>(
      Function::DrawIndexed, {indices, instances, first_index, vertex_offset, first_instance}, b,
      indices, instances, first_index, vertex_offset, first_instance);
}

// All commands that read one array of structures from a buffer.
template <auto Member, Function kFunction>
VKAPI_ATTR void VKAPI_CALL indirect(VkCommandBuffer b, VkBuffer buffer, VkDeviceSize offset,
                                    uint32_t draws, uint32_t stride) {
  action<Member>(kFunction, {number(offset), draws, stride}, b, buffer, offset, draws, stride);
}

// All commands that read their count from a second buffer.
template <auto Member, Function kFunction>
VKAPI_ATTR void VKAPI_CALL indirect_count(VkCommandBuffer b, VkBuffer buffer, VkDeviceSize offset,
                                          VkBuffer count_buffer, VkDeviceSize count_offset,
                                          uint32_t most, uint32_t stride) {
  action<Member>(kFunction, {number(offset), number(count_offset), most, stride}, b, buffer, offset,
                 count_buffer, count_offset, most, stride);
}

// The same of VK_KHR_device_address_commands.
template <auto Member, Function kFunction>
VKAPI_ATTR void VKAPI_CALL indirect_2(VkCommandBuffer b, const VkDrawIndirect2InfoKHR* info) {
  action<Member>(kFunction, {info->drawCount, number(info->addressRange.stride)}, b, info);
}

template <auto Member, Function kFunction>
VKAPI_ATTR void VKAPI_CALL indirect_count_2(VkCommandBuffer b,
                                            const VkDrawIndirectCount2InfoKHR* info) {
  action<Member>(kFunction, {info->maxDrawCount, number(info->addressRange.stride)}, b, info);
}

VKAPI_ATTR void VKAPI_CALL
CmdDrawIndirectByteCount2EXT(VkCommandBuffer b, uint32_t instances, uint32_t first_instance,
                             const VkBindTransformFeedbackBuffer2InfoEXT* counter,
                             uint32_t counter_offset, uint32_t stride) {
  action<&DeviceTable::CmdDrawIndirectByteCount2EXT>(
      Function::DrawIndirectByteCount2, {instances, first_instance, counter_offset, stride}, b,
      instances, first_instance, counter, counter_offset, stride);
}

VKAPI_ATTR void VKAPI_CALL CmdDispatchIndirect2KHR(VkCommandBuffer b,
                                                   const VkDispatchIndirect2InfoKHR* info) {
  action<&DeviceTable::CmdDispatchIndirect2KHR>(Function::DispatchIndirect2, {}, b, info);
}

VKAPI_ATTR void VKAPI_CALL CmdDrawIndirectByteCountEXT(VkCommandBuffer b, uint32_t instances,
                                                       uint32_t first_instance, VkBuffer buffer,
                                                       VkDeviceSize buffer_offset,
                                                       uint32_t counter_offset, uint32_t stride) {
  action<&DeviceTable::CmdDrawIndirectByteCountEXT>(
      Function::DrawIndirectByteCount,
      {instances, first_instance, number(buffer_offset), counter_offset, stride}, b, instances,
      first_instance, buffer, buffer_offset, counter_offset, stride);
}

VKAPI_ATTR void VKAPI_CALL CmdDrawMultiEXT(VkCommandBuffer b, uint32_t draws,
                                           const VkMultiDrawInfoEXT* infos, uint32_t instances,
                                           uint32_t first_instance, uint32_t stride) {
  action<&DeviceTable::CmdDrawMultiEXT>(Function::DrawMulti, {draws, instances, first_instance}, b,
                                        draws, infos, instances, first_instance, stride);
}

VKAPI_ATTR void VKAPI_CALL CmdDrawMultiIndexedEXT(VkCommandBuffer b, uint32_t draws,
                                                  const VkMultiDrawIndexedInfoEXT* infos,
                                                  uint32_t instances, uint32_t first_instance,
                                                  uint32_t stride, const int32_t* vertex_offset) {
  action<&DeviceTable::CmdDrawMultiIndexedEXT>(Function::DrawMultiIndexed,
                                               {draws, instances, first_instance}, b, draws, infos,
                                               instances, first_instance, stride, vertex_offset);
}

VKAPI_ATTR void VKAPI_CALL CmdDrawMeshTasksEXT(VkCommandBuffer b, uint32_t x, uint32_t y,
                                               uint32_t z) {
  action<&DeviceTable::CmdDrawMeshTasksEXT>(Function::DrawMeshTasks, {x, y, z}, b, x, y, z);
}

VKAPI_ATTR void VKAPI_CALL CmdDrawMeshTasksNV(VkCommandBuffer b, uint32_t count, uint32_t first) {
  action<&DeviceTable::CmdDrawMeshTasksNV>(Function::DrawMeshTasksNv, {count, first}, b, count,
                                           first);
}

VKAPI_ATTR void VKAPI_CALL CmdDispatch(VkCommandBuffer b, uint32_t x, uint32_t y, uint32_t z) {
  action<&DeviceTable::CmdDispatch>(Function::Dispatch, {x, y, z}, b, x, y, z);
}

VKAPI_ATTR void VKAPI_CALL CmdDispatchBase(VkCommandBuffer b, uint32_t base_x, uint32_t base_y,
                                           uint32_t base_z, uint32_t x, uint32_t y, uint32_t z) {
  action<&DeviceTable::CmdDispatchBase>(Function::DispatchBase, {x, y, z, base_x, base_y, base_z},
                                        b, base_x, base_y, base_z, x, y, z);
}

VKAPI_ATTR void VKAPI_CALL CmdDispatchIndirect(VkCommandBuffer b, VkBuffer buffer,
                                               VkDeviceSize offset) {
  action<&DeviceTable::CmdDispatchIndirect>(Function::DispatchIndirect, {number(offset)}, b, buffer,
                                            offset);
}

using Region = const VkStridedDeviceAddressRegionKHR*;

VKAPI_ATTR void VKAPI_CALL CmdTraceRaysKHR(VkCommandBuffer b, Region raygen, Region miss,
                                           Region hit, Region callable, uint32_t width,
                                           uint32_t height, uint32_t depth) {
  action<&DeviceTable::CmdTraceRaysKHR>(Function::TraceRays, {width, height, depth}, b, raygen,
                                        miss, hit, callable, width, height, depth);
}

VKAPI_ATTR void VKAPI_CALL CmdTraceRaysIndirectKHR(VkCommandBuffer b, Region raygen, Region miss,
                                                   Region hit, Region callable,
                                                   VkDeviceAddress address) {
  action<&DeviceTable::CmdTraceRaysIndirectKHR>(Function::TraceRaysIndirect, {}, b, raygen, miss,
                                                hit, callable, address);
}

VKAPI_ATTR void VKAPI_CALL CmdTraceRaysIndirect2KHR(VkCommandBuffer b, VkDeviceAddress address) {
  action<&DeviceTable::CmdTraceRaysIndirect2KHR>(Function::TraceRaysIndirect2, {}, b, address);
}

VKAPI_ATTR void VKAPI_CALL CmdTraceRaysNV(VkCommandBuffer b, VkBuffer raygen, VkDeviceSize o1,
                                          VkBuffer miss, VkDeviceSize o2, VkDeviceSize s2,
                                          VkBuffer hit, VkDeviceSize o3, VkDeviceSize s3,
                                          VkBuffer callable, VkDeviceSize o4, VkDeviceSize s4,
                                          uint32_t width, uint32_t height, uint32_t depth) {
  action<&DeviceTable::CmdTraceRaysNV>(Function::TraceRaysNv, {width, height, depth}, b, raygen, o1,
                                       miss, o2, s2, hit, o3, s3, callable, o4, s4, width, height,
                                       depth);
}

VkPipelineBindPoint bind_point_of(const VkGeneratedCommandsInfoEXT& info) {
  if ((info.shaderStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0) return VK_PIPELINE_BIND_POINT_COMPUTE;
  constexpr VkShaderStageFlags kRayStages = VK_SHADER_STAGE_RAYGEN_BIT_KHR |
                                            VK_SHADER_STAGE_MISS_BIT_KHR |
                                            VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR;
  return (info.shaderStages & kRayStages) != 0 ? VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR
                                               : VK_PIPELINE_BIND_POINT_GRAPHICS;
}

VKAPI_ATTR void VKAPI_CALL CmdExecuteGeneratedCommandsEXT(VkCommandBuffer b, VkBool32 preprocessed,
                                                          const VkGeneratedCommandsInfoEXT* info) {
  CommandBuffer* state = find_command_buffer(b);
  if (state && state->bound()) {
    vk::guarded_void(
        [&] { state->bound()->set_generated(bind_point_of(*info), info->indirectExecutionSet); });
  }
  action<&DeviceTable::CmdExecuteGeneratedCommandsEXT>(
      Function::ExecuteGeneratedCommands, {int64_t{preprocessed}}, b, preprocessed, info);
}

}  // namespace

std::span<const DeviceHook> action_hooks() {
#define TALLY_ROW(name) device_hook<&DeviceTable::name>("vk" #name, name)
#define TALLY_UNKNOWN(name) Unknown<&DeviceTable::name, PFN_vk##name>::hook("vk" #name)
#define TALLY_INDIRECT(name, kind) \
  device_hook<&DeviceTable::name>("vk" #name, indirect<&DeviceTable::name, Function::kind>)
#define TALLY_INDIRECT_2(name, kind) \
  device_hook<&DeviceTable::name>("vk" #name, indirect_2<&DeviceTable::name, Function::kind>)
#define TALLY_COUNT_2(name, kind) \
  device_hook<&DeviceTable::name>("vk" #name, indirect_count_2<&DeviceTable::name, Function::kind>)
#define TALLY_COUNT(name, suffix, kind)              \
  device_hook<&DeviceTable::name>("vk" #name suffix, \
                                  indirect_count<&DeviceTable::name, Function::kind>)
  static const DeviceHook rows[] = {
      TALLY_ROW(CmdDispatch),
      TALLY_ROW(CmdDispatchBase),
      device_hook<&DeviceTable::CmdDispatchBase>("vkCmdDispatchBaseKHR", CmdDispatchBase),
      TALLY_ROW(CmdDispatchIndirect),
      TALLY_ROW(CmdDraw),
      TALLY_ROW(CmdDrawIndexed),
      TALLY_INDIRECT(CmdDrawIndirect, DrawIndirect),
      TALLY_INDIRECT(CmdDrawIndexedIndirect, DrawIndexedIndirect),
      TALLY_COUNT(CmdDrawIndirectCount, "", DrawIndirectCount),
      TALLY_COUNT(CmdDrawIndirectCount, "AMD", DrawIndirectCount),
      TALLY_COUNT(CmdDrawIndirectCount, "KHR", DrawIndirectCount),
      TALLY_COUNT(CmdDrawIndexedIndirectCount, "", DrawIndexedIndirectCount),
      TALLY_COUNT(CmdDrawIndexedIndirectCount, "AMD", DrawIndexedIndirectCount),
      TALLY_COUNT(CmdDrawIndexedIndirectCount, "KHR", DrawIndexedIndirectCount),
      TALLY_INDIRECT_2(CmdDrawIndirect2KHR, DrawIndirect2),
      TALLY_INDIRECT_2(CmdDrawIndexedIndirect2KHR, DrawIndexedIndirect2),
      TALLY_INDIRECT_2(CmdDrawMeshTasksIndirect2EXT, DrawMeshTasksIndirect2),
      TALLY_COUNT_2(CmdDrawIndirectCount2KHR, DrawIndirectCount2),
      TALLY_COUNT_2(CmdDrawIndexedIndirectCount2KHR, DrawIndexedIndirectCount2),
      TALLY_COUNT_2(CmdDrawMeshTasksIndirectCount2EXT, DrawMeshTasksIndirectCount2),
      TALLY_ROW(CmdDrawIndirectByteCount2EXT),
      TALLY_ROW(CmdDispatchIndirect2KHR),
      TALLY_ROW(CmdDrawIndirectByteCountEXT),
      TALLY_ROW(CmdDrawMultiEXT),
      TALLY_ROW(CmdDrawMultiIndexedEXT),
      TALLY_ROW(CmdDrawMeshTasksEXT),
      TALLY_INDIRECT(CmdDrawMeshTasksIndirectEXT, DrawMeshTasksIndirect),
      TALLY_COUNT(CmdDrawMeshTasksIndirectCountEXT, "", DrawMeshTasksIndirectCount),
      TALLY_ROW(CmdDrawMeshTasksNV),
      TALLY_INDIRECT(CmdDrawMeshTasksIndirectNV, DrawMeshTasksIndirectNv),
      TALLY_COUNT(CmdDrawMeshTasksIndirectCountNV, "", DrawMeshTasksIndirectCountNv),
      TALLY_ROW(CmdTraceRaysKHR),
      TALLY_ROW(CmdTraceRaysIndirectKHR),
      TALLY_ROW(CmdTraceRaysIndirect2KHR),
      TALLY_ROW(CmdTraceRaysNV),
      TALLY_ROW(CmdExecuteGeneratedCommandsEXT),
      TALLY_UNKNOWN(CmdDispatchTileQCOM),
      TALLY_UNKNOWN(CmdDrawClusterHUAWEI),
      TALLY_UNKNOWN(CmdDrawClusterIndirectHUAWEI),
      TALLY_UNKNOWN(CmdExecuteGeneratedCommandsNV),
      TALLY_UNKNOWN(CmdSubpassShadingHUAWEI),
  };
#undef TALLY_ROW
#undef TALLY_UNKNOWN
#undef TALLY_INDIRECT
#undef TALLY_INDIRECT_2
#undef TALLY_COUNT_2
#undef TALLY_COUNT
  return rows;
}

}  // namespace tally::capture
