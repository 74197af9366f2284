#include "counters/features/performance/counters.h"

#include <tally/intel_report.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "base/hash.h"
#include "counters/base/driver_profile.h"
#include "vk/handles.h"
#include "vk/own_call.h"
#include "vk/pipeline.h"

namespace tally::counters {

CounterSplit::CounterSplit(const PhysicalDevice& gpu,
                           const VkQueryPoolPerformanceCreateInfoKHR& info)
    : family(info.queueFamilyIndex) {
  const uint32_t first_of_ours = gpu.driver_counters_of(family);
  for (const uint32_t index : std::span(info.pCounterIndices, info.counterIndexCount)) {
    const bool drivers_own = index < first_of_ours;
    is_drivers.push_back(drivers_own);
    if (drivers_own) {
      drivers.push_back(index);
    } else {
      ours.push_back(index - first_of_ours);
    }
  }
}

VkQueryPoolPerformanceCreateInfoKHR CounterSplit::drivers_info() const {
  return {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_PERFORMANCE_CREATE_INFO_KHR,
          .queueFamilyIndex = family,
          .counterIndexCount = static_cast<uint32_t>(drivers.size()),
          .pCounterIndices = drivers.data()};
}

uint32_t driver_passes(const InstanceTable& next, const PhysicalDevice& gpu,
                       const CounterSplit& split) {
  if (split.drivers.empty()) return 0;
  uint32_t passes = 0;
  const VkQueryPoolPerformanceCreateInfoKHR info = split.drivers_info();
  next.GetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR(gpu.handle, &info, &passes);
  return std::max(1u, passes);
}

DriverNeeds driver_needs(const InstanceTable& next, const PhysicalDevice& gpu,
                         const CounterSplit& split, bool counts_in_shaders) {
  uint32_t count = gpu.driver_counters_of(split.family);
  std::vector<VkPerformanceCounterKHR> counters(
      count, {.sType = VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_KHR});
  next.EnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR(
      gpu.handle, split.family, &count, counters.data(), nullptr);
  const bool whole_buffer = std::ranges::any_of(split.drivers, [&](uint32_t index) {
    return counters[index].scope == VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_BUFFER_KHR;
  });
  return {driver_passes(next, gpu, split), whole_buffer, counts_in_shaders};
}

DriverPool::DriverPool(VkDevice device, const DeviceTable& next, CounterSplit split,
                       DriverNeeds needs)
    : device_(device), next_(next), split_(std::move(split)), needs_(needs) {}

DriverPool::~DriverPool() {
  if (handle_ != VK_NULL_HANDLE) next_.DestroyQueryPool(device_, handle_, nullptr);
}

VkResult DriverPool::initialize(uint32_t queries, VkQueryPoolCreateFlags flags) {
  submissions_.resize(queries);
  const VkQueryPoolPerformanceCreateInfoKHR counters = split_.drivers_info();
  const VkQueryPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                   .pNext = &counters,
                                   .flags = flags,
                                   .queryType = VK_QUERY_TYPE_PERFORMANCE_QUERY_KHR,
                                   .queryCount = queries};
  return next_.CreateQueryPool(device_, &info, nullptr, &handle_);
}

void DriverPool::restart(uint32_t first, uint32_t queries) {
  const std::lock_guard lock(mutex_);
  std::fill_n(submissions_.begin() + first, queries, 0);
}

MixedPass DriverPool::next_pass(uint32_t query) {
  const std::lock_guard lock(mutex_);
  const uint32_t pass = std::min(submissions_[query]++, passes() - 1);
  return {pass, needs_.counts_apart && pass != 0 ? pass - 1 : pass};
}

void DriverPool::reset(uint32_t first, uint32_t queries) {
  restart(first, queries);
  if (next_.ResetQueryPool) next_.ResetQueryPool(device_, handle_, first, queries);
}

uint32_t DriverPool::result_bytes() const {
  return static_cast<uint32_t>(split_.is_drivers.size() * sizeof(Value));
}

uint32_t DriverPool::drivers_bytes() const {
  return static_cast<uint32_t>(split_.drivers.size() * sizeof(Value));
}

VkResult DriverPool::results(uint32_t query, std::span<const Value> ours, VkQueryResultFlags flags,
                             std::span<Value> all) {
  {
    const std::lock_guard lock(mutex_);
    if (submissions_[query] < passes()) return VK_NOT_READY;
  }
  std::vector<Value> drivers(split_.drivers.size());
  const size_t bytes = drivers.size() * sizeof(Value);
  TALLY_TRY(
      next_.GetQueryPoolResults(device_, handle_, query, 1, bytes, drivers.data(), bytes, flags));
  size_t of_drivers = 0, of_ours = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    all[i] = split_.is_drivers[i] ? drivers[of_drivers++] : ours[of_ours++];
  }
  return VK_SUCCESS;
}

std::vector<DriverPool::Run> DriverPool::runs() const {
  std::vector<Run> runs;
  VkDeviceSize of_drivers = 0, of_ours = 0;
  for (size_t i = 0; i < split_.is_drivers.size(); ++i) {
    const bool drivers = split_.is_drivers[i];
    VkDeviceSize& source = drivers ? of_drivers : of_ours;
    if (runs.empty() || runs.back().is_drivers != drivers) {
      runs.push_back({drivers, {source, i * sizeof(Value), 0}});
    }
    runs.back().copy.size += sizeof(Value);
    source += sizeof(Value);
  }
  return runs;
}

namespace {

using catalogue::Number;
using spirv::CostClass;
using Kind = QuerySource::Kind;

constexpr VkShaderStageFlags kTessellation =
    VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT | VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT;
constexpr VkShaderStageFlags kMesh = VK_SHADER_STAGE_TASK_BIT_EXT | VK_SHADER_STAGE_MESH_BIT_EXT;
constexpr VkShaderStageFlags kAll = VK_SHADER_STAGE_ALL;

struct CommandCounter {
  Number number;
  CommandMetric metric;
  VkShaderStageFlags stages;  // the family must support one of them
};

constexpr VkShaderStageFlags kDrawing = VK_SHADER_STAGE_VERTEX_BIT;

constexpr CommandCounter kCommands[] = {
    {Number::Draws, CommandMetric::Draws, kDrawing},
    {Number::IndirectDraws, CommandMetric::IndirectDraws, kDrawing},
    {Number::Dispatches, CommandMetric::Dispatches, kAll},
    {Number::RayTraces, CommandMetric::Traces, vk::kRayTracingStages},
    {Number::Vertices, CommandMetric::Vertices, kDrawing},
    {Number::Primitives, CommandMetric::Primitives, kDrawing},
    {Number::Patches, CommandMetric::Patches, kTessellation},
    {Number::Workgroups, CommandMetric::Workgroups, kAll},
    {Number::MeshWorkgroups, CommandMetric::MeshWorkgroups, kMesh},
    {Number::PipelineBinds, CommandMetric::PipelineBinds, kAll},
    {Number::DescriptorBinds, CommandMetric::DescriptorBinds, kAll},
    {Number::VertexBufferBinds, CommandMetric::VertexBufferBinds, kDrawing},
    {Number::IndexBufferBinds, CommandMetric::IndexBufferBinds, kDrawing},
    {Number::ConstantUpdates, CommandMetric::ConstantUpdates, kAll},
    {Number::PipelineBarriers, CommandMetric::Barriers, kAll},
    {Number::RenderPasses, CommandMetric::RenderPasses, kDrawing},
    {Number::Transfers, CommandMetric::Transfers, kAll},
    {Number::AttachmentClears, CommandMetric::Clears, kDrawing},
};

struct StageCounter {
  Number number;
  VkShaderStageFlags stages;
};

constexpr StageCounter kInvocations[] = {
    {Number::ShaderInvocations, kAll},
    {Number::VertexShaderInvocations, VK_SHADER_STAGE_VERTEX_BIT},
    {Number::TessellationControlShaderInvocations, VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT},
    {Number::TessellationEvaluationShaderInvocations, VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT},
    {Number::GeometryShaderInvocations, VK_SHADER_STAGE_GEOMETRY_BIT},
    {Number::FragmentShaderInvocations, VK_SHADER_STAGE_FRAGMENT_BIT},
    {Number::ComputeShaderInvocations, VK_SHADER_STAGE_COMPUTE_BIT},
    {Number::TaskShaderInvocations, VK_SHADER_STAGE_TASK_BIT_EXT},
    {Number::MeshShaderInvocations, VK_SHADER_STAGE_MESH_BIT_EXT},
    {Number::RayShaderInvocations, vk::kRayTracingStages},
};

constexpr StageCounter kActiveLanes[] = {
    {Number::ActiveLanes, kAll},
    {Number::FragmentActiveLanes, VK_SHADER_STAGE_FRAGMENT_BIT},
    {Number::ComputeActiveLanes, VK_SHADER_STAGE_COMPUTE_BIT},
};

QueryRow commands(CommandMetric metric) { return {{.kind = Kind::Command, .command = metric}}; }
QueryRow invocations(VkShaderStageFlags stages) {
  return {{.kind = Kind::Invocations, .stages = stages}};
}
QueryRow subgroups(VkShaderStageFlags stages) {
  return {{.kind = Kind::Subgroups, .stages = stages}};
}
QueryRow cost(CostClass cost) { return {{.kind = Kind::Cost, .cost = cost}}; }
QueryRow samples() { return {{.kind = Kind::Samples, .stages = VK_SHADER_STAGE_FRAGMENT_BIT}}; }
QueryRow ticks() { return {{.kind = Kind::Time}}; }

template <typename Row>
const Row* find_row(std::span<const Row> rows, Number number) {
  const auto found = std::ranges::find(rows, number, &Row::number);
  return found == rows.end() ? nullptr : &*found;
}

// How a value is computed. The row is empty if the family does not support the counter.
struct Formula {
  QueryRow row;
  QueryRow divisor;
  float scale = 1;
};

class Formulas {
 public:
  Formulas(const PhysicalDevice& gpu, const VkQueueFamilyProperties& family, const Options& options)
      : stages_(possible_stages(gpu, family)),
        subgroup_stages_(options.count_subgroups ? stages_ & subgroup_counting_stages(gpu) : 0),
        subgroup_size_(static_cast<float>(gpu.subgroup_size)),
        has_time_(family.timestampValidBits != 0),
        period_(gpu.properties.limits.timestampPeriod) {}

  Formula of(Number number) const {
    if (const auto one = spirv::cost_class_of(number)) return {cost(*one)};
    if (const auto* found = find_row<CommandCounter>(kCommands, number))
      return has(found->stages) ? Formula{commands(found->metric)} : Formula{};
    if (const auto* found = find_row<StageCounter>(kInvocations, number))
      return has(found->stages) ? Formula{invocations(found->stages & stages_)} : Formula{};
    if (const auto* found = find_row<StageCounter>(kActiveLanes, number))
      return active_lanes(found->stages & subgroup_stages_);
    Formula timed = of_time(number);
    return timed.row.empty() ? of_shaders(number) : has_time_ ? timed : Formula{};
  }

 private:
  static VkShaderStageFlags possible_stages(const PhysicalDevice& gpu,
                                            const VkQueueFamilyProperties& family) {
    VkShaderStageFlags stages = VK_SHADER_STAGE_COMPUTE_BIT;
    if (gpu.has_extension(VK_KHR_RAY_TRACING_PIPELINE_EXTENSION_NAME))
      stages |= vk::kRayTracingStages;
    if ((family.queueFlags & VK_QUEUE_GRAPHICS_BIT) == 0) return stages;
    stages |= VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT;
    if (gpu.tessellation_shader) stages |= kTessellation;
    if (gpu.geometry_shader) stages |= VK_SHADER_STAGE_GEOMETRY_BIT;
    if (gpu.has_extension(VK_EXT_MESH_SHADER_EXTENSION_NAME)) stages |= kMesh;
    return stages;
  }

  bool has(VkShaderStageFlags stages) const { return (stages & stages_) != 0; }

  Formula active_lanes(VkShaderStageFlags stages) const {
    if (stages == 0) return {};
    return {invocations(stages), subgroups(stages), 100 / subgroup_size_};
  }

  Formula of_time(Number number) const {
    const float per_second = 1e9f / period_;
    switch (number) {
      case Number::GpuTime:
      case Number::CommandBufferTime:
        return {ticks(), {}, period_};
      case Number::GpuTicks:
        return {ticks()};
      case Number::BufferLoadRate:
        return {cost(CostClass::BufferBytesLoaded), ticks(), per_second};
      case Number::BufferStoreRate:
        return {cost(CostClass::BufferBytesStored), ticks(), per_second};
      case Number::InstructionRate:
        return {cost(CostClass::Instruction), ticks(), per_second};
      case Number::InvocationRate:
        return {invocations(stages_), ticks(), per_second};
      default:
        return {};
    }
  }

  Formula of_shaders(Number number) const {
    const QueryRow draws = commands(CommandMetric::Draws);
    const bool graphics = has(kDrawing);
    switch (number) {
      case Number::SampleCoverage:
        return graphics ? Formula{samples()} : Formula{};
      case Number::ShaderSubgroups:
        return subgroup_stages_ != 0 ? Formula{subgroups(subgroup_stages_)} : Formula{};
      case Number::InstructionsPerInvocation:
        return {cost(CostClass::Instruction), invocations(stages_)};
      case Number::ControlFlowShare:
        return {cost(CostClass::ControlFlow), cost(CostClass::Instruction), 100};
      case Number::VerticesPerDraw:
        return graphics ? Formula{commands(CommandMetric::Vertices), draws} : Formula{};
      case Number::FragmentsPerDraw:
        return graphics ? Formula{invocations(VK_SHADER_STAGE_FRAGMENT_BIT), draws} : Formula{};
      case Number::PipelineBindsPerDraw:
        return graphics ? Formula{commands(CommandMetric::PipelineBinds), draws} : Formula{};
      default:
        return {};
    }
  }

  VkShaderStageFlags stages_;
  VkShaderStageFlags subgroup_stages_;
  float subgroup_size_;
  bool has_time_;
  float period_;
};

struct ScopeName {
  catalogue::Scope ours;
  VkPerformanceCounterScopeKHR vulkans;
};
constexpr ScopeName kScopes[] = {
    {catalogue::Scope::Command, VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_KHR},
    {catalogue::Scope::RenderPass, VK_PERFORMANCE_COUNTER_SCOPE_RENDER_PASS_KHR},
    {catalogue::Scope::CommandBuffer, VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_BUFFER_KHR},
};

bool any_of_kind(const QueryRow& row, auto&& matches) {
  return std::ranges::any_of(row, [&](const QuerySource& source) { return matches(source.kind); });
}
bool takes_time(const QueryRow& row) {
  return any_of_kind(row, [](Kind kind) { return kind == Kind::Time; });
}
bool needs_probes(const QueryRow& row) {
  return std::ranges::any_of(row, &QuerySource::counts_in_shaders);
}

bool same(const QuerySource& a, const QuerySource& b) {
  return a.kind == b.kind && a.stages == b.stages && a.cost == b.cost && a.command == b.command;
}

uint32_t index_of(std::vector<QueryRow>& rows, const QueryRow& wanted) {
  const auto found = std::ranges::find_if(
      rows, [&](const QueryRow& row) { return std::ranges::equal(row, wanted, same); });
  if (found != rows.end()) return static_cast<uint32_t>(found - rows.begin());
  rows.push_back(wanted);
  return static_cast<uint32_t>(rows.size() - 1);
}

void write_text(std::string_view text, char (&target)[VK_MAX_DESCRIPTION_SIZE]) {
  const size_t length = std::min(text.size(), sizeof target - 1);
  std::memcpy(target, text.data(), length);
  target[length] = '\0';
}

}  // namespace

std::vector<PerformanceCounter> performance_counters(const PhysicalDevice& gpu, uint32_t family,
                                                     const Options& options) {
  std::vector<PerformanceCounter> counters;
  if (family >= gpu.queue_families.size()) return counters;
  // Compute shaders resolve the results.
  if ((gpu.queue_families[family].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) return counters;
  const Formulas formulas(gpu, gpu.queue_families[family], options);
  for (const ScopeName& scope : kScopes) {
    for (const catalogue::Counter* counter : catalogue::counters_of(scope.ours)) {
      Formula formula = formulas.of(counter->number);
      if (formula.row.empty()) continue;
      counters.push_back({counter, scope.vulkans, std::move(formula.row),
                          std::move(formula.divisor), formula.scale});
    }
  }
  return counters;
}

void describe(const PerformanceCounter& counter, VkPerformanceCounterKHR& target) {
  target.unit = static_cast<VkPerformanceCounterUnitKHR>(counter.counter->unit);
  target.scope = counter.scope;
  target.storage = static_cast<VkPerformanceCounterStorageKHR>(counter.counter->storage);
  std::ranges::copy(uuid_of("tally performance counter " + std::string(counter.counter->id)),
                    target.uuid);
}

void describe(const PerformanceCounter& counter, VkPerformanceCounterDescriptionKHR& target) {
  target.flags = 0;
  if (needs_probes(counter.row) || needs_probes(counter.divisor))
    target.flags |= VK_PERFORMANCE_COUNTER_DESCRIPTION_PERFORMANCE_IMPACTING_BIT_KHR;
  if (takes_time(counter.row) || takes_time(counter.divisor))
    target.flags |= VK_PERFORMANCE_COUNTER_DESCRIPTION_CONCURRENTLY_IMPACTED_BIT_KHR;
  write_text(counter.counter->name, target.name);
  write_text(counter.counter->group, target.category);
  write_text(counter.counter->description, target.description);
}

std::optional<PerformanceQuery> plan_performance_query(std::span<const PerformanceCounter> counters,
                                                       std::span<const uint32_t> indices) {
  PerformanceQuery query;
  for (const uint32_t index : indices) {
    if (index >= counters.size()) return std::nullopt;
    const PerformanceCounter& counter = counters[index];
    QueryResult result;
    result.row = index_of(query.rows, counter.row);
    if (!counter.divisor.empty()) result.divisor = index_of(query.rows, counter.divisor);
    result.scale = counter.scale;
    result.storage = static_cast<VkPerformanceCounterStorageKHR>(counter.counter->storage);
    query.results.push_back(result);
  }
  const bool timed = std::ranges::any_of(query.rows, takes_time);
  query.counts_in_shaders = std::ranges::any_of(query.rows, needs_probes);
  query.passes = timed && query.counts_in_shaders ? 2 : 1;
  return query;
}

namespace {

// In the upper bits of every handle, to distinguish it from handles of drivers when debugging.
constexpr uint64_t kHandleTag = uint64_t{0x7a12} << 48;
constexpr uint32_t kStreamMarkerBits = 32;

}  // namespace

VkPerformanceConfigurationINTEL IntelConfigurations::acquire() {
  // Unique across devices, so that a configuration of another device is recognized.
  static std::atomic<uint64_t> next = 1;
  const uint64_t bits = kHandleTag | next.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  configurations_.insert(bits);
  return (VkPerformanceConfigurationINTEL)bits;  // NOLINT: a handle is a number
}

bool IntelConfigurations::release(VkPerformanceConfigurationINTEL configuration) {
  const std::lock_guard lock(mutex_);
  return configurations_.erase(vk::handle_bits(configuration)) != 0;
}

bool IntelConfigurations::has(VkPerformanceConfigurationINTEL configuration) const {
  const std::lock_guard lock(mutex_);
  return configurations_.contains(vk::handle_bits(configuration));
}

bool intel_parameter(VkPerformanceParameterTypeINTEL parameter, VkPerformanceValueINTEL& value) {
  switch (parameter) {
    case VK_PERFORMANCE_PARAMETER_TYPE_HW_COUNTERS_SUPPORTED_INTEL:
      value.type = VK_PERFORMANCE_VALUE_TYPE_BOOL_INTEL;
      value.data.valueBool = VK_TRUE;
      return true;
    case VK_PERFORMANCE_PARAMETER_TYPE_STREAM_MARKER_VALID_BITS_INTEL:
      value.type = VK_PERFORMANCE_VALUE_TYPE_UINT32_INTEL;
      value.data.value32 = kStreamMarkerBits;
      return true;
    default:
      return false;
  }
}

namespace {

template <typename T>
void put(std::byte*& at, T value) {
  std::memcpy(at, &value, sizeof value);
  at += sizeof value;
}

bool fits_report(const PerformanceCounter& counter) {
  return counter.scope != VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_BUFFER_KHR &&
         counter.divisor.empty() && counter.counter->storage != catalogue::Storage::Float32 &&
         counter.counter->storage != catalogue::Storage::Float64;
}

// The family with the most counters.
uint32_t widest_family(const PhysicalDevice& gpu) {
  const auto found = std::ranges::find_if(gpu.queue_families, [](const auto& family) {
    constexpr VkQueueFlags kWanted = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
    return (family.queueFlags & kWanted) == kWanted;
  });
  return found == gpu.queue_families.end()
             ? 0
             : static_cast<uint32_t>(found - gpu.queue_families.begin());
}

}  // namespace

bool write_intel_report(const IntelReport& report, std::span<std::byte> target) {
  constexpr size_t kHeader = TALLY_INTEL_REPORT_HEADER_BYTES;
  constexpr size_t kValue = TALLY_INTEL_REPORT_VALUE_BYTES;
  if (target.size() < kHeader) return false;
  const size_t count = std::min(report.values.size(), (target.size() - kHeader) / kValue);
  std::byte* at = target.data();
  put(at, uint32_t{TALLY_INTEL_REPORT_MAGIC});
  put(at, uint16_t{TALLY_INTEL_REPORT_VERSION});
  put(at, static_cast<uint16_t>(kHeader));
  put(at, static_cast<uint32_t>(kHeader + count * kValue));
  put(at, static_cast<uint32_t>(count));
  put(at, static_cast<uint32_t>(report.values.size()));
  put(at, (report.marker ? TALLY_INTEL_REPORT_HAS_MARKER : 0) |
              (report.stream_marker ? TALLY_INTEL_REPORT_HAS_STREAM_MARKER : 0));
  put(at, report.marker.value_or(0));
  put(at, report.stream_marker.value_or(0));
  put(at, report.uncounted_commands);
  for (size_t i = 0; i < count; ++i) {
    put(at, report.values[i].counter);
    put(at, uint32_t{0});
    put(at, report.values[i].value);
  }
  return true;
}

std::vector<PerformanceCounter> intel_counters(const PhysicalDevice& gpu, const Options& options) {
  std::vector<PerformanceCounter> counters = performance_counters(gpu, widest_family(gpu), options);
  std::erase_if(counters, [](const PerformanceCounter& one) { return !fits_report(one); });
  std::stable_partition(counters.begin(), counters.end(), [](const PerformanceCounter& one) {
    return !spirv::cost_class_of(one.counter->number);
  });
  return counters;
}

}  // namespace tally::counters
