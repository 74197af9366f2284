// Action commands. Each takes a result index, and a record if its pipeline counts.
#include "counters/layer/entry_points.h"
#include "counters/recording/command_buffer.h"
#include "vk/own_call.h"

namespace tally::counters {
namespace {

constexpr auto kGraphics = VK_PIPELINE_BIND_POINT_GRAPHICS;
constexpr auto kCompute = VK_PIPELINE_BIND_POINT_COMPUTE;
constexpr auto kRays = VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR;

const DeviceTable& next_for(VkCommandBuffer commands, const CommandBuffer* state) {
  return state ? state->next() : find_device(commands)->next();
}

// The kinds of action commands. of(): the work of one, as far as its arguments tell. count(): what
// active queries count of it.
struct Unknown {
  template <typename... Arguments>
  static uint64_t of(Arguments...) {
    return kUnknownWork;
  }
};
struct Vertices {
  template <typename... Others>
  static uint64_t of(uint32_t vertices, uint32_t instances, Others...) {
    return uint64_t{vertices} * instances;
  }
  template <typename... Others>
  static void count(CommandCounts& counts, uint32_t vertices, uint32_t instances, Others...) {
    counts.draw(vertices, instances);
  }
  static bool repeat(ActionRecorder& actions, uint32_t, uint32_t instances, uint32_t,
                     uint32_t& first_instance) {
    return actions.repeat_for_queries(instances, first_instance);
  }
  static void prepare(ActionRecorder& actions, uint32_t vertices, uint32_t instances, uint32_t,
                      uint32_t& first_instance) {
    first_instance = actions.prepare_draw(of(vertices, instances), instances, first_instance);
  }
};
struct Indices : Vertices {
  static bool repeat(ActionRecorder& actions, uint32_t indices, uint32_t instances, uint32_t first,
                     int32_t, uint32_t& first_instance) {
    return Vertices::repeat(actions, indices, instances, first, first_instance);
  }
  static void prepare(ActionRecorder& actions, uint32_t indices, uint32_t instances, uint32_t first,
                      int32_t, uint32_t& first_instance) {
    Vertices::prepare(actions, indices, instances, first, first_instance);
  }
  static void count(CommandCounts& counts, uint32_t indices, uint32_t instances, uint32_t first,
                    int32_t, uint32_t) {
    counts.indexed_draw(indices, instances, first);
  }
};
struct Groups {
  static uint64_t of(uint32_t x, uint32_t y, uint32_t z) { return uint64_t{x} * y * z; }
  static uint64_t of(uint32_t, uint32_t, uint32_t, uint32_t x, uint32_t y, uint32_t z) {
    return of(x, y, z);
  }
  template <typename... Arguments>
  static void count(CommandCounts& counts, Arguments... arguments) {
    counts.dispatch(of(arguments...));
  }
};
struct MeshGroups : Unknown {
  static void count(CommandCounts& counts, uint32_t x, uint32_t y, uint32_t z) {
    counts.mesh_draw(Groups::of(x, y, z));
  }
  // VK_NV_mesh_shader: the number of tasks, and the first.
  static void count(CommandCounts& counts, uint32_t tasks, uint32_t) { counts.mesh_draw(tasks); }
};
using Arguments = probe::QueryIndirect;
template <Arguments::Kind kKind, bool kMesh = false, bool kIndexed = false>
struct IndirectDraw : Unknown {
  static void count(CommandCounts& counts, VkBuffer buffer, VkDeviceSize offset, uint32_t max_count,
                    uint32_t stride) {
    count_draws(counts, {buffer, offset}, {}, max_count, stride);
  }
  static void count(CommandCounts& counts, VkBuffer buffer, VkDeviceSize offset,
                    VkBuffer count_buffer, VkDeviceSize count_offset, uint32_t max_count,
                    uint32_t stride) {
    count_draws(counts, {buffer, offset}, {count_buffer, count_offset}, max_count, stride);
  }
  static void count(CommandCounts& counts, const VkDrawIndirect2InfoKHR* info) {
    count_draws(counts, {.address = info->addressRange.address, .flags = info->addressFlags}, {},
                info->drawCount, static_cast<uint32_t>(info->addressRange.stride));
  }
  static void count(CommandCounts& counts, const VkDrawIndirectCount2InfoKHR* info) {
    count_draws(counts, {.address = info->addressRange.address, .flags = info->addressFlags},
                {.address = info->countAddressRange.address, .flags = info->countAddressFlags},
                info->maxDrawCount, static_cast<uint32_t>(info->addressRange.stride));
  }

 private:
  static void count_draws(CommandCounts& counts, const NamedMemory& arguments,
                          const NamedMemory& count, uint32_t max_count, uint32_t stride) {
    counts.indirect(CommandMetric::Draws, {.kind = kKind,
                                           .mesh = kMesh,
                                           .indexed = kIndexed,
                                           .arguments = arguments,
                                           .max_count = max_count,
                                           .stride = stride,
                                           .count = count});
  }
};
using IndirectVertices = IndirectDraw<Arguments::kDraw>;
using IndirectIndices = IndirectDraw<Arguments::kDraw, false, true>;
using IndirectMeshGroups = IndirectDraw<Arguments::kGroups, true>;
using IndirectTasks = IndirectDraw<Arguments::kTasks, true>;
struct ByteCount : Unknown {
  static void count(CommandCounts& counts, uint32_t instances, uint32_t, VkBuffer buffer,
                    VkDeviceSize offset, uint32_t first_bytes, uint32_t vertex_stride) {
    count_bytes(counts, instances, {buffer, offset}, first_bytes, vertex_stride);
  }
  static void count(CommandCounts& counts, uint32_t instances, uint32_t,
                    const VkBindTransformFeedbackBuffer2InfoEXT* counter, uint32_t first_bytes,
                    uint32_t vertex_stride) {
    count_bytes(counts, instances,
                {.address = counter->addressRange.address, .flags = counter->addressFlags},
                first_bytes, vertex_stride);
  }

 private:
  static void count_bytes(CommandCounts& counts, uint32_t instances, const NamedMemory& counter,
                          uint32_t first_bytes, uint32_t vertex_stride) {
    counts.indirect(CommandMetric::Draws, {.kind = Arguments::kByteCount,
                                           .arguments = counter,
                                           .stride = vertex_stride,
                                           .instances = instances,
                                           .first_bytes = first_bytes});
  }
};
struct IndirectDispatch : Unknown {
  static void count(CommandCounts& counts, VkBuffer buffer, VkDeviceSize offset) {
    counts.indirect(CommandMetric::Dispatches,
                    {.kind = Arguments::kGroups, .arguments = {buffer, offset}});
  }
  static void count(CommandCounts& counts, const VkDispatchIndirect2InfoKHR* info) {
    counts.indirect(CommandMetric::Dispatches, {.kind = Arguments::kGroups,
                                                .arguments = {.address = info->addressRange.address,
                                                              .flags = info->addressFlags}});
  }
};
struct Trace : Unknown {
  using Unknown::of;
  using Table = const VkStridedDeviceAddressRegionKHR*;
  static uint64_t of(Table, Table, Table, Table, uint32_t x, uint32_t y, uint32_t z) {
    return Groups::of(x, y, z);
  }
  template <typename... Others>
  static void count(CommandCounts& counts, Others...) {
    counts.trace();
  }
};
// One command with several draws.
struct MultiDraw : Unknown {
  static void count(CommandCounts& counts, uint32_t draws, const VkMultiDrawInfoEXT* infos,
                    uint32_t instances, uint32_t, uint32_t stride) {
    for_each(draws, infos, stride,
             [&](const VkMultiDrawInfoEXT& info) { counts.draw(info.vertexCount, instances); });
  }
  static void count(CommandCounts& counts, uint32_t draws, const VkMultiDrawIndexedInfoEXT* infos,
                    uint32_t instances, uint32_t, uint32_t stride, const int32_t*) {
    for_each(draws, infos, stride, [&](const VkMultiDrawIndexedInfoEXT& info) {
      counts.indexed_draw(info.indexCount, instances, info.firstIndex);
    });
  }

 private:
  template <typename Info, typename Visit>
  static void for_each(uint32_t count, const Info* infos, uint32_t stride, const Visit& visit) {
    const auto* at = reinterpret_cast<const std::byte*>(infos);
    for (uint32_t i = 0; i < count; ++i, at += stride) visit(*reinterpret_cast<const Info*>(at));
  }
};

// The hook of the command whose function pointer is `kNext`.
template <auto kNext, VkPipelineBindPoint kPoint, typename Work, typename Function>
struct Action;
template <auto kNext, VkPipelineBindPoint kPoint, typename Work, typename... Arguments>
struct Action<kNext, kPoint, Work, void(VKAPI_PTR*)(VkCommandBuffer, Arguments...)> {
  static VKAPI_ATTR void VKAPI_CALL call(VkCommandBuffer commands, Arguments... arguments) {
    CommandBuffer* const near = g_command_buffers.find_near(commands);
    if (near && near->idle()) [[likely]] {
      (near->next().*kNext)(commands, arguments...);
      return;
    }
    act(commands, near, arguments...);
  }

 private:
  // A function of its own, so that idle commands save no registers for it.
  [[gnu::noinline]] static void act(VkCommandBuffer commands, CommandBuffer* near,
                                    Arguments... arguments) {
    CommandBuffer* const state = near ? near : find_far_command_buffer(commands);
    if (!state || state->idle()) {
      (next_for(commands, state).*kNext)(commands, arguments...);
      return;
    }
    ActionRecorder& actions = state->actions();
    if constexpr (requires { Work::repeat(actions, arguments...); }) {
      if (Work::repeat(actions, arguments...)) {
        if (state->counts().wanted()) Work::count(state->counts(), arguments...);
        (state->next().*kNext)(commands, arguments...);
        return;
      }
    }
    if (state->drops_actions()) return;
    if constexpr (requires { Work::prepare(actions, arguments...); }) {
      Work::prepare(actions, arguments...);
    } else {
      actions.prepare(kPoint, Work::of(arguments...));
    }
    if (state->drops_actions()) return;  // the pipeline was lost
    if (state->counts().wanted()) Work::count(state->counts(), arguments...);
    actions.record(kPoint, [&] { (state->next().*kNext)(commands, arguments...); });
  }
};

template <auto kNext, VkPipelineBindPoint kPoint, typename Work>
void add(Hooks& hooks, std::string_view name) {
  using Function = std::remove_cvref_t<decltype(std::declval<DeviceTable>().*kNext)>;
  hooks.push_back(
      make_hook(name, Action<kNext, kPoint, Work, Function>::call, HookCondition::Instrumentation));
}

// The hook of a command that runs what is bound, and that the layer cannot count.
template <auto kNext, VkPipelineBindPoint kPoint, typename Function>
struct Uncounted;
template <auto kNext, VkPipelineBindPoint kPoint, typename... Arguments>
struct Uncounted<kNext, kPoint, void(VKAPI_PTR*)(VkCommandBuffer, Arguments...)> {
  static VKAPI_ATTR void VKAPI_CALL call(VkCommandBuffer commands, Arguments... arguments) {
    CommandBuffer* state = find_command_buffer(commands);
    if (state && state->drops_actions()) return;
    if (state) state->actions().prepare_uncounted(kPoint);
    if (state && state->drops_actions()) return;  // the pipeline was lost
    if (state && state->counts().wanted()) state->queries()->count_error();
    (next_for(commands, state).*kNext)(commands, arguments...);
    if (state) vk::guarded_void([&] { state->bound().bind_wanted(); });
  }
};

template <auto kNext, VkPipelineBindPoint kPoint>
void add_uncounted(Hooks& hooks, std::string_view name) {
  using Function = std::remove_cvref_t<decltype(std::declval<DeviceTable>().*kNext)>;
  hooks.push_back(
      make_hook(name, Uncounted<kNext, kPoint, Function>::call, HookCondition::Instrumentation));
}

// Generated commands may bind pipelines and push constants, so they run with the plain pipelines:
// they take a result index and have no blocks. Bindings are undefined after them.
VKAPI_ATTR void VKAPI_CALL hook_generated_nv(VkCommandBuffer commands, VkBool32 preprocessed,
                                             const VkGeneratedCommandsInfoNV* info) {
  CommandBuffer* state = find_command_buffer(commands);
  if (state && state->drops_actions()) return;
  if (state) state->actions().prepare_uncounted(info->pipelineBindPoint);
  if (state && state->counts().wanted()) state->queries()->count_error();
  next_for(commands, state).CmdExecuteGeneratedCommandsNV(commands, preprocessed, info);
  if (!state) return;
  state->bound().invalidate_pipelines();
  state->bound().invalidate_guard();
}

}  // namespace

void add_action_entry_points(Hooks& hooks) {
  using Table = DeviceTable;
  add<&Table::CmdDispatch, kCompute, Groups>(hooks, "vkCmdDispatch");
  add<&Table::CmdDispatchBase, kCompute, Groups>(hooks, "vkCmdDispatchBase");
  add<&Table::CmdDispatchBase, kCompute, Groups>(hooks, "vkCmdDispatchBaseKHR");
  add<&Table::CmdDispatchIndirect, kCompute, IndirectDispatch>(hooks, "vkCmdDispatchIndirect");
  add<&Table::CmdDispatchIndirect2KHR, kCompute, IndirectDispatch>(hooks,
                                                                   "vkCmdDispatchIndirect2KHR");
  add<&Table::CmdDraw, kGraphics, Vertices>(hooks, "vkCmdDraw");
  add<&Table::CmdDrawIndexed, kGraphics, Indices>(hooks, "vkCmdDrawIndexed");
  add<&Table::CmdDrawIndexedIndirect, kGraphics, IndirectIndices>(hooks,
                                                                  "vkCmdDrawIndexedIndirect");
  add<&Table::CmdDrawIndexedIndirectCount, kGraphics, IndirectIndices>(
      hooks, "vkCmdDrawIndexedIndirectCount");
  add<&Table::CmdDrawIndexedIndirectCount, kGraphics, IndirectIndices>(
      hooks, "vkCmdDrawIndexedIndirectCountKHR");
  add<&Table::CmdDrawIndexedIndirectCountAMD, kGraphics, IndirectIndices>(
      hooks, "vkCmdDrawIndexedIndirectCountAMD");
  add<&Table::CmdDrawIndirect, kGraphics, IndirectVertices>(hooks, "vkCmdDrawIndirect");
  add<&Table::CmdDrawIndirectByteCountEXT, kGraphics, ByteCount>(hooks,
                                                                 "vkCmdDrawIndirectByteCountEXT");
  add<&Table::CmdDrawIndirectCount, kGraphics, IndirectVertices>(hooks, "vkCmdDrawIndirectCount");
  add<&Table::CmdDrawIndirectCount, kGraphics, IndirectVertices>(hooks,
                                                                 "vkCmdDrawIndirectCountKHR");
  add<&Table::CmdDrawIndirectCountAMD, kGraphics, IndirectVertices>(hooks,
                                                                    "vkCmdDrawIndirectCountAMD");
  add<&Table::CmdDrawIndirect2KHR, kGraphics, IndirectVertices>(hooks, "vkCmdDrawIndirect2KHR");
  add<&Table::CmdDrawIndirectCount2KHR, kGraphics, IndirectVertices>(hooks,
                                                                     "vkCmdDrawIndirectCount2KHR");
  add<&Table::CmdDrawIndexedIndirect2KHR, kGraphics, IndirectIndices>(
      hooks, "vkCmdDrawIndexedIndirect2KHR");
  add<&Table::CmdDrawIndexedIndirectCount2KHR, kGraphics, IndirectIndices>(
      hooks, "vkCmdDrawIndexedIndirectCount2KHR");
  add<&Table::CmdDrawIndirectByteCount2EXT, kGraphics, ByteCount>(hooks,
                                                                  "vkCmdDrawIndirectByteCount2EXT");
  add<&Table::CmdDrawMeshTasksIndirect2EXT, kGraphics, IndirectMeshGroups>(
      hooks, "vkCmdDrawMeshTasksIndirect2EXT");
  add<&Table::CmdDrawMeshTasksIndirectCount2EXT, kGraphics, IndirectMeshGroups>(
      hooks, "vkCmdDrawMeshTasksIndirectCount2EXT");
  add<&Table::CmdDrawMeshTasksEXT, kGraphics, MeshGroups>(hooks, "vkCmdDrawMeshTasksEXT");
  add<&Table::CmdDrawMeshTasksIndirectCountEXT, kGraphics, IndirectMeshGroups>(
      hooks, "vkCmdDrawMeshTasksIndirectCountEXT");
  add<&Table::CmdDrawMeshTasksIndirectCountNV, kGraphics, IndirectTasks>(
      hooks, "vkCmdDrawMeshTasksIndirectCountNV");
  add<&Table::CmdDrawMeshTasksIndirectEXT, kGraphics, IndirectMeshGroups>(
      hooks, "vkCmdDrawMeshTasksIndirectEXT");
  add<&Table::CmdDrawMeshTasksIndirectNV, kGraphics, IndirectTasks>(hooks,
                                                                    "vkCmdDrawMeshTasksIndirectNV");
  add<&Table::CmdDrawMeshTasksNV, kGraphics, MeshGroups>(hooks, "vkCmdDrawMeshTasksNV");
  add<&Table::CmdDrawMultiEXT, kGraphics, MultiDraw>(hooks, "vkCmdDrawMultiEXT");
  add<&Table::CmdDrawMultiIndexedEXT, kGraphics, MultiDraw>(hooks, "vkCmdDrawMultiIndexedEXT");
  add<&Table::CmdTraceRaysIndirect2KHR, kRays, Trace>(hooks, "vkCmdTraceRaysIndirect2KHR");
  add<&Table::CmdTraceRaysIndirectKHR, kRays, Trace>(hooks, "vkCmdTraceRaysIndirectKHR");
  add<&Table::CmdTraceRaysKHR, kRays, Trace>(hooks, "vkCmdTraceRaysKHR");
  add<&Table::CmdTraceRaysNV, kRays, Trace>(hooks, "vkCmdTraceRaysNV");
  add_uncounted<&Table::CmdDispatchTileQCOM, kCompute>(hooks, "vkCmdDispatchTileQCOM");
  add_uncounted<&Table::CmdDrawClusterHUAWEI, kGraphics>(hooks, "vkCmdDrawClusterHUAWEI");
  add_uncounted<&Table::CmdDrawClusterIndirectHUAWEI, kGraphics>(hooks,
                                                                 "vkCmdDrawClusterIndirectHUAWEI");
  hooks.push_back(make_hook("vkCmdExecuteGeneratedCommandsNV", hook_generated_nv,
                            HookCondition::Instrumentation));
}

}  // namespace tally::counters
