// Every command that does work: one result index each, and for a counting pipeline a record.
#include <algorithm>

#include "counters/entry/entry_points.h"

namespace tally::counters {
namespace {

constexpr auto kGraphics = VK_PIPELINE_BIND_POINT_GRAPHICS;
constexpr auto kCompute = VK_PIPELINE_BIND_POINT_COMPUTE;
constexpr auto kRays = VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR;

const DeviceTable& next_of(VkCommandBuffer commands, const CommandBuffer* state) {
  return state ? state->next() : find_device(commands)->next();
}

// How much a command does, as far as its arguments tell.
struct Unknown {
  template <typename... Arguments>
  static uint64_t of(Arguments...) {
    return kUnknownWork;
  }
};
struct Vertices {
  template <typename... Others>
  static uint64_t of(uint32_t vertices, uint32_t instances, Others...) {
    return std::max(kLeastDrawWork, uint64_t{vertices} * instances);
  }
};
struct Groups {
  static uint64_t of(uint32_t x, uint32_t y, uint32_t z) { return uint64_t{x} * y * z; }
  static uint64_t of(uint32_t, uint32_t, uint32_t, uint32_t x, uint32_t y, uint32_t z) {
    return of(x, y, z);
  }
};

// The hook of the command whose pointer stands at `kNext`.
template <auto kNext, VkPipelineBindPoint kPoint, typename Work, typename Function>
struct Action;
template <auto kNext, VkPipelineBindPoint kPoint, typename Work, typename... Arguments>
struct Action<kNext, kPoint, Work, void(VKAPI_PTR*)(VkCommandBuffer, Arguments...)> {
  static VKAPI_ATTR void VKAPI_CALL call(VkCommandBuffer commands, Arguments... arguments) {
    CommandBuffer* state = find_command_buffer(commands);
    if (state) state->before_action(kPoint, Work::of(arguments...));
    (next_of(commands, state).*kNext)(commands, arguments...);
  }
};

template <auto kNext, VkPipelineBindPoint kPoint, typename Work = Unknown>
void add(std::vector<vk::Hook>& hooks, std::string_view name) {
  using Function = std::remove_cvref_t<decltype(std::declval<DeviceTable>().*kNext)>;
  hooks.push_back(vk::hook(name, Action<kNext, kPoint, Work, Function>::call, kInstrumentation));
}

// Generated commands may bind pipelines and push constants themselves, so they run with the plain
// pipelines: they take an index and give no blocks. Afterwards nothing is bound.
template <typename... Arguments, typename Function>
void generated(VkCommandBuffer commands, Function DeviceTable::*next, Arguments... arguments) {
  CommandBuffer* state = find_command_buffer(commands);
  if (state) state->before_generated_commands();
  (next_of(commands, state).*next)(commands, arguments...);
  if (state) state->forget_pipelines();
}

VKAPI_ATTR void VKAPI_CALL hook_generated_ext(VkCommandBuffer commands, VkBool32 preprocessed,
                                              const VkGeneratedCommandsInfoEXT* info) {
  generated(commands, &DeviceTable::CmdExecuteGeneratedCommandsEXT, preprocessed, info);
}

VKAPI_ATTR void VKAPI_CALL hook_generated_nv(VkCommandBuffer commands, VkBool32 preprocessed,
                                             const VkGeneratedCommandsInfoNV* info) {
  generated(commands, &DeviceTable::CmdExecuteGeneratedCommandsNV, preprocessed, info);
}

// Reads what is bound in another command buffer, which must be what execution will run with.
VKAPI_ATTR void VKAPI_CALL hook_preprocess(VkCommandBuffer commands,
                                           const VkGeneratedCommandsInfoEXT* info,
                                           VkCommandBuffer source) {
  CommandBuffer* state = find_command_buffer(source);
  if (state) state->bind_plain_pipelines();
  find_device(commands)->next().CmdPreprocessGeneratedCommandsEXT(commands, info, source);
  if (state) state->bind_wanted_pipelines();
}

}  // namespace

void add_action_entry_points(std::vector<vk::Hook>& hooks) {
  using Table = DeviceTable;
  add<&Table::CmdDispatch, kCompute, Groups>(hooks, "vkCmdDispatch");
  add<&Table::CmdDispatchBase, kCompute, Groups>(hooks, "vkCmdDispatchBase");
  add<&Table::CmdDispatchBase, kCompute, Groups>(hooks, "vkCmdDispatchBaseKHR");
  add<&Table::CmdDispatchIndirect, kCompute>(hooks, "vkCmdDispatchIndirect");
  add<&Table::CmdDraw, kGraphics, Vertices>(hooks, "vkCmdDraw");
  add<&Table::CmdDrawIndexed, kGraphics, Vertices>(hooks, "vkCmdDrawIndexed");
  add<&Table::CmdDrawIndexedIndirect, kGraphics>(hooks, "vkCmdDrawIndexedIndirect");
  add<&Table::CmdDrawIndexedIndirectCount, kGraphics>(hooks, "vkCmdDrawIndexedIndirectCount");
  add<&Table::CmdDrawIndexedIndirectCount, kGraphics>(hooks, "vkCmdDrawIndexedIndirectCountKHR");
  add<&Table::CmdDrawIndexedIndirectCountAMD, kGraphics>(hooks, "vkCmdDrawIndexedIndirectCountAMD");
  add<&Table::CmdDrawIndirect, kGraphics>(hooks, "vkCmdDrawIndirect");
  add<&Table::CmdDrawIndirectByteCountEXT, kGraphics>(hooks, "vkCmdDrawIndirectByteCountEXT");
  add<&Table::CmdDrawIndirectCount, kGraphics>(hooks, "vkCmdDrawIndirectCount");
  add<&Table::CmdDrawIndirectCount, kGraphics>(hooks, "vkCmdDrawIndirectCountKHR");
  add<&Table::CmdDrawIndirectCountAMD, kGraphics>(hooks, "vkCmdDrawIndirectCountAMD");
  add<&Table::CmdDrawMeshTasksEXT, kGraphics>(hooks, "vkCmdDrawMeshTasksEXT");
  add<&Table::CmdDrawMeshTasksIndirectCountEXT, kGraphics>(hooks,
                                                           "vkCmdDrawMeshTasksIndirectCountEXT");
  add<&Table::CmdDrawMeshTasksIndirectCountNV, kGraphics>(hooks,
                                                          "vkCmdDrawMeshTasksIndirectCountNV");
  add<&Table::CmdDrawMeshTasksIndirectEXT, kGraphics>(hooks, "vkCmdDrawMeshTasksIndirectEXT");
  add<&Table::CmdDrawMeshTasksIndirectNV, kGraphics>(hooks, "vkCmdDrawMeshTasksIndirectNV");
  add<&Table::CmdDrawMeshTasksNV, kGraphics>(hooks, "vkCmdDrawMeshTasksNV");
  add<&Table::CmdDrawMultiEXT, kGraphics>(hooks, "vkCmdDrawMultiEXT");
  add<&Table::CmdDrawMultiIndexedEXT, kGraphics>(hooks, "vkCmdDrawMultiIndexedEXT");
  add<&Table::CmdTraceRaysIndirect2KHR, kRays>(hooks, "vkCmdTraceRaysIndirect2KHR");
  add<&Table::CmdTraceRaysIndirectKHR, kRays>(hooks, "vkCmdTraceRaysIndirectKHR");
  add<&Table::CmdTraceRaysKHR, kRays>(hooks, "vkCmdTraceRaysKHR");
  add<&Table::CmdTraceRaysNV, kRays>(hooks, "vkCmdTraceRaysNV");
  hooks.push_back(
      vk::hook("vkCmdExecuteGeneratedCommandsEXT", hook_generated_ext, kInstrumentation));
  hooks.push_back(vk::hook("vkCmdExecuteGeneratedCommandsNV", hook_generated_nv, kInstrumentation));
  hooks.push_back(
      vk::hook("vkCmdPreprocessGeneratedCommandsEXT", hook_preprocess, kInstrumentation));
}

}  // namespace tally::counters
