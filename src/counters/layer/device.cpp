#include "counters/layer/device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/log.h"
#include "counters/base/driver_profile.h"
#include "counters/memory/chunk.h"
#include "vk/own_call.h"
#include "vk/pipeline.h"

namespace tally::counters {
namespace {

struct Instances {
  std::mutex mutex;
  std::unordered_map<void*, std::unique_ptr<Instance>> by_key;
};

// Leaked on purpose: applications call Vulkan from static destructors.
Instances& instances() {
  static auto* all = new Instances;
  return *all;
}

}  // namespace

Instance::Instance(VkInstance handle, const vk::NextInstance& next_instance, Versions versions,
                   const Options& options)
    : handle_(handle),
      next_instance_(next_instance),
      versions_(versions),
      options_(options),
      metrics_(block_metrics({.subgroups = options.count_subgroups,
                              .branches = options.count_branches,
                              .loops = options.count_loops,
                              .values = options.count_values,
                              .clocks = options.clocks_log2.has_value(),
                              .memory = options.count_memory,
                              .static_costs = options.static_costs})) {
  next_.load([&](const char* name) { return next_instance.get_instance_proc_addr(handle, name); });
}

const PhysicalDevice& Instance::inspect(VkPhysicalDevice handle) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<PhysicalDevice>& slot = physical_devices_[handle];
  if (!slot) {
    slot = std::make_unique<PhysicalDevice>(
        inspect_physical_device(next_, handle, versions_.raised, options_.force_emulation));
    if (!slot->native && !slot->missing.empty()) {
      log(LogLevel::Info, "{}: shaders are not instrumented: the driver lacks {}",
          slot->properties.deviceName, fmt::join(slot->missing, ", "));
    }
  }
  return *slot;
}

Instance* find_instance(const void* dispatchable_handle) {
  const std::lock_guard lock(instances().mutex);
  const auto found = instances().by_key.find(vk::dispatch_key(dispatchable_handle));
  return found == instances().by_key.end() ? nullptr : found->second.get();
}

void add_instance(std::unique_ptr<Instance> instance) {
  const std::lock_guard lock(instances().mutex);
  void* key = vk::dispatch_key(instance->handle());
  instances().by_key[key] = std::move(instance);
}

std::unique_ptr<Instance> take_instance(VkInstance handle) {
  const std::lock_guard lock(instances().mutex);
  const auto found = instances().by_key.find(vk::dispatch_key(handle));
  if (found == instances().by_key.end()) return nullptr;
  std::unique_ptr<Instance> instance = std::move(found->second);
  instances().by_key.erase(found);
  return instance;
}

namespace {

// Leaked on purpose: applications call Vulkan from static destructors.
vk::HandleMap<void*, Device*>& devices() {
  static auto* all = new vk::HandleMap<void*, Device*>;
  return *all;
}

VkShaderStageFlags possible_stages(const DeviceCreation& creation) {
  VkShaderStageFlags stages = VK_SHADER_STAGE_ALL_GRAPHICS | VK_SHADER_STAGE_COMPUTE_BIT;
  if (creation.has_extension(VK_EXT_MESH_SHADER_EXTENSION_NAME) ||
      creation.has_extension(VK_NV_MESH_SHADER_EXTENSION_NAME)) {
    stages |= VK_SHADER_STAGE_TASK_BIT_EXT | VK_SHADER_STAGE_MESH_BIT_EXT;
  }
  if (creation.has_extension(VK_KHR_RAY_TRACING_PIPELINE_EXTENSION_NAME) ||
      creation.has_extension(VK_NV_RAY_TRACING_EXTENSION_NAME)) {
    stages |= vk::kRayTracingStages;
  }
  return stages;
}

LayoutRules make_layout_rules(const DeviceCreation& creation) {
  const VkPhysicalDeviceLimits& limits = creation.gpu().properties.limits;
  LayoutRules rules;
  rules.record_address = creation.options().record_address;
  rules.push_constant_size = limits.maxPushConstantsSize / 8 * 8;
  if (creation.descriptor_heaps()) rules.push_data_size = creation.gpu().max_push_data;
  const bool separate_stages = creation.pipeline_libraries() || creation.shader_objects();
  rules.address_slots = separate_stages ? kPipelineSlots : 1;
  rules.shader_slots = creation.shader_objects();
  const bool lane_sets = creation.instrumentation_enabled() && creation.options().memory_lanes != 0;
  rules.region_slot = creation.regions_enabled() || (lane_sets && !separate_stages);
  rules.guard = separate_stages && driver_profile(creation.gpu()).adds_up_push_constants;
  // So that the layer can null record pointers for a pass in which no shader counts.
  rules.prefer_descriptor = creation.emulated_queries().performance && !separate_stages;
  // A layout cannot mix sets in descriptor buffers with sets from pools.
  const bool descriptor_buffers = creation.has_extension(VK_EXT_DESCRIPTOR_BUFFER_EXTENSION_NAME);
  rules.descriptor_sets = descriptor_buffers ? 0 : limits.maxBoundDescriptorSets;
  rules.stages = possible_stages(creation);
  return rules;
}

// Offsets of byte `in_slots` within the layer's reserved push constants.
PushOffsets push_offsets(const LayoutRules& rules, uint32_t in_slots) {
  const bool heaps = rules.push_data_size != 0;
  return {.constants = rules.slot_offset() + in_slots,
          .data = heaps ? rules.with_heaps().slot_offset() + in_slots : 0,
          .heaps = heaps};
}

// The number of locations between vertex and fragment shaders that no built-in variable may need.
// Built-in variables are the position, the point size, and eight clip or cull distances.
uint32_t packed_draw_index_locations(const DeviceCreation& creation) {
  if (creation.options().packed_draw_indices == PackedDrawIndices::Never) return 0;
  constexpr uint32_t kBuiltIns = 4;
  const VkPhysicalDeviceLimits& limits = creation.gpu().properties.limits;
  const uint32_t all =
      std::min(limits.maxVertexOutputComponents, limits.maxFragmentInputComponents) / 4;
  return all > kBuiltIns ? all - kBuiltIns : 0;
}

// 64 MiB in all. A GPU runs more workgroups at a time.
spirv::LaneSets lane_sets(const PhysicalDevice& gpu) {
  const bool cpu = gpu.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  return {.sets_log2 = cpu ? 6u : 8u, .entries_log2 = cpu ? 16u : 14u};
}

InstrumenterOptions make_instrumenter_options(const DeviceCreation& creation) {
  const PhysicalDevice& gpu = creation.gpu();
  const Options& options = creation.options();
  const EmulatedQueries& queries = creation.emulated_queries();
  const bool instrumentation = creation.instrumentation_enabled();
  const bool performance = queries.performance || queries.performance_intel;
  InstrumenterOptions result;
  result.pass.placement = options.placement;
  result.pass.counting = options.counting;
  result.pass.int64 = gpu.int64;
  result.pass.int64_atomics = gpu.int64_atomics;
  result.subgroup_stages = subgroup_counting_stages(gpu);
  result.pass.wide_subgroups = creation.wide_subgroups();
  result.pass.max_shards_log2 = options.max_shards_log2;
  result.pass.sm_builtins = creation.sm_builtins();
  result.pass.count_subgroups = options.count_subgroups && (instrumentation || performance);
  result.pass.count_branches = options.count_branches && instrumentation;
  if (instrumentation) {
    result.pass.sites = {.loops = options.count_loops,
                         .values = options.count_values,
                         .clocks = options.clocks_log2 && gpu.subgroup_clock,
                         .clocks_log2 = options.clocks_log2.value_or(0),
                         .memory = options.count_memory,
                         .maximal_reconvergence = gpu.maximal_reconvergence,
                         .memory_lanes = options.memory_lanes,
                         .lane_sets = lane_sets(gpu),
                         .workgroup_bytes = gpu.properties.limits.maxComputeSharedMemorySize};
  }
  result.pass.count_outputs = queries.counts_shaders();
  result.packed_draw_index_locations = packed_draw_index_locations(creation);
  result.pass.max_tessellation_level = gpu.properties.limits.maxTessellationGenerationLevel;
  const DriverProfile driver = driver_profile(gpu);
  result.pass.driver = {.drops_overdraw = driver.drops_overdraw,
                        .hangs_on_discards = driver.hangs_on_discards,
                        .keeps_draws_apart = driver.keeps_draws_apart,
                        .masks_branches = driver.masks_branches,
                        .prefers_small_code = driver.prefers_small_code,
                        .workgroup_bytes = driver.adds_up_in_workgroups
                                               ? gpu.properties.limits.maxComputeSharedMemorySize
                                               : 0,
                        .max_nested_conditionals = driver.limits_nesting ? 80u : 0u};
  result.pass.regions = region_options(gpu, options);
  result.validate = options.validate_spirv;
  result.vulkan_version = gpu.api_version;
  return result;
}

// A CPU device has few cores: more shards would only cost memory.
ShardTable make_shard_table(const DeviceCreation& creation) {
  constexpr uint32_t kCpuShardsLog2 = 2;
  const Options& options = creation.options();
  const bool cpu = creation.gpu().properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  const bool few = cpu && !options.fixed_shards;
  return {few ? std::min(kCpuShardsLog2, options.max_shards_log2) : options.max_shards_log2,
          options.fixed_shards};
}

PipelineNeeds make_pipeline_needs(const DeviceCreation& creation) {
  const EmulatedQueries& queries = creation.emulated_queries();
  const bool emulates = queries.any() && creation.gpu().missing.empty();
  return {creation.instrumentation_enabled(),
          creation.regions_enabled(),
          emulates,
          emulates && queries.counts_shaders(),
          creation.driver_counts_draws(),
          creation.makes_pipelines_late()};
}

}  // namespace

Device::Device(VkDevice handle, Instance& instance, const PhysicalDevice& gpu,
               const DeviceCreation& creation, const vk::NextDevice& next_device)
    : handle_(handle),
      instance_(instance),
      gpu_(gpu),
      next_device_(next_device),
      extension_enabled_(creation.extension_enabled()) {
  next_.load([&](const char* name) { return next_device.get_device_proc_addr(handle, name); });
  if (creation.anything_enabled()) state_ = make_state(creation);
  if (creation.performance_query_extension_enabled())
    profiling_lock_ = std::make_unique<ProfilingLock>(driver_lock());
}

DriverLock Device::driver_lock() const {
  if (!gpu_.native_performance_queries) return {};
  const auto acquire = [this](uint64_t timeout_ns) {
    const VkAcquireProfilingLockInfoKHR info{
        .sType = VK_STRUCTURE_TYPE_ACQUIRE_PROFILING_LOCK_INFO_KHR, .timeout = timeout_ns};
    return next_.AcquireProfilingLockKHR(handle_, &info);
  };
  return {acquire, [this] { next_.ReleaseProfilingLockKHR(handle_); }};
}

MemoryContext Device::make_memory_context(const DeviceCreation& creation) const {
  MemoryContext memory;
  memory.device = handle_;
  memory.next = &next_;
  memory.memory = gpu_.memory;
  memory.non_coherent_atom_size = gpu_.properties.limits.nonCoherentAtomSize;
  memory.uniform_offset_alignment = gpu_.properties.limits.minUniformBufferOffsetAlignment;
  memory.queue_families = creation.queue_families();
  memory.mode = creation.record_memory();
  memory.feedback_counters = creation.emulated_queries().transform_feedback;
  memory.conditions = creation.conditional_rendering();
  memory.gathers = memory.mode == RecordMemory::Device || !caches_host_records(gpu_.memory);
  memory.limit = creation.options().record_memory_limit;
  memory.set_loader_data = next_device_.set_device_loader_data;
  if (memory.mode == RecordMemory::Device) {
    memory.transfer_queue = memory.find_queue(creation.transfer_queue());
    memory.transfer_family = creation.transfer_queue().family;
  }
  return memory;
}

std::unique_ptr<DeviceState> Device::make_state(const DeviceCreation& creation) {
  const LayoutRules rules = make_layout_rules(creation);
  const PipelineNeeds needs = make_pipeline_needs(creation);
  const DeviceContext context{
      handle_, next_, gpu_, instance_.options(), messages(), next_device_.set_device_loader_data};
  auto state = std::make_unique<DeviceState>(
      context, make_memory_context(creation), needs, rules, make_instrumenter_options(creation),
      make_shard_table(creation), creation.compile_threads());
  if (needs.driver_counts) {
    state->instrumentation.invocations =
        std::make_unique<InvocationQueries>(handle_, next_, creation.has_one_queue());
  }
  if (needs.instrumentation && (state->memory.context.gathers || needs.driver_counts)) {
    state->instrumentation.gather =
        std::make_unique<RecordGather>(handle_, next_, push_offsets(rules, 0));
  }
  if (needs.regions) {
    state->regions = std::make_unique<RegionState>(state->context, state->memory,
                                                   push_offsets(rules, 8 * rules.address_slots));
  }
  if (needs.queries) {
    state->queries = std::make_unique<QueryState>(
        state->context, state->memory, push_offsets(rules, 0), creation.emulated_queries());
    if (creation.driver_counts_samples()) {
      state->queries->occlusion =
          std::make_unique<OwnQueries>(handle_, next_, VK_QUERY_TYPE_OCCLUSION, 0,
                                       gpu_.precise_occlusion ? VK_QUERY_CONTROL_PRECISE_BIT : 0);
    }
    if (creation.emulated_queries().timestamps) {
      state->queries->clock =
          make_clock(state->memory.host_context, push_offsets(rules, 0), creation);
    }
  }
  return state;
}

// Null where the application enabled neither of the two extensions.
PFN_vkGetCalibratedTimestampsEXT Device::calibration(const DeviceCreation& creation) const {
  const auto find = [&](const char* extension, const char* name) {
    const bool enabled = creation.has_extension(extension);
    return enabled ? next_device_.get_device_proc_addr(handle_, name) : nullptr;
  };
  PFN_vkVoidFunction found =
      find(VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME, "vkGetCalibratedTimestampsEXT");
  if (!found) found = find("VK_KHR_calibrated_timestamps", "vkGetCalibratedTimestampsKHR");
  return reinterpret_cast<PFN_vkGetCalibratedTimestampsEXT>(found);
}

// Null where no queue family computes or the clock cannot be read: the application then cannot
// create pools of timestamps.
std::unique_ptr<DeviceClock> Device::make_clock(const MemoryContext& memory,
                                                const PushOffsets& offsets,
                                                const DeviceCreation& creation) const {
  const std::optional<QueuePlace> queue = creation.compute_queue();
  if (!queue) return nullptr;
  auto clock = std::make_unique<DeviceClock>(memory, offsets);
  const VkResult result = clock->prepare(gpu_, *queue, calibration(creation));
  if (result == VK_SUCCESS) return clock;
  messages().notice("TALLY-no-clock", VK_OBJECT_TYPE_DEVICE, handle_bits(),
                    "vkCreateDevice(): there are no timestamps, because the device clock "
                    "cannot be read: " +
                        vk::take_own_failure(result).text());
  return nullptr;
}

Device* find_device(const void* dispatchable_handle) {
  return devices().find(vk::dispatch_key(dispatchable_handle));
}

void add_device(std::unique_ptr<Device> device) {
  void* key = vk::dispatch_key(device->handle());
  devices().insert(key, device.release());
}

std::unique_ptr<Device> take_device(VkDevice handle) {
  return std::unique_ptr<Device>(devices().take(vk::dispatch_key(handle)));
}

}  // namespace tally::counters
