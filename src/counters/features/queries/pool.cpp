#include "counters/features/queries/pool.h"

#include <tally/vulkan_newest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>
#include <limits>
#include <thread>

#include "counters/features/performance/counters.h"
#include "counters/features/queries/indirect_counts.h"
#include "vk/chain.h"
#include "vk/own_call.h"

namespace tally::counters {
namespace {

// Polls an unavailable query: the wait often is a matter of microseconds.
constexpr std::chrono::microseconds kShortestSleep{20};
constexpr std::chrono::microseconds kLongestSleep{1000};

constexpr VkQueryResultFlags kStates =
    VK_QUERY_RESULT_WITH_AVAILABILITY_BIT | VK_QUERY_RESULT_WITH_STATUS_BIT_KHR;

template <typename T>
void put(std::byte*& at, T value) {
  std::memcpy(at, &value, sizeof value);
  at += sizeof value;
}

// Waits for a query, a little longer each time, and notices whether the device is lost.
class Waiting {
 public:
  explicit Waiting(const MemoryContext& context) : context_(context) {}
  ~Waiting() { context_.next->DestroyFence(context_.device, never_, nullptr); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  VkResult sleep() {
    if (sleep_ < kLongestSleep || !has_fence()) {
      std::this_thread::sleep_for(sleep_);
      sleep_ = std::min(2 * sleep_, kLongestSleep);
      return VK_TIMEOUT;
    }
    constexpr auto kLimit = std::chrono::nanoseconds(kLongestSleep).count();
    return vk::wait_for_own_fence(*context_.next, context_.device, never_, kLimit);
  }

 private:
  // Waits for fences end when the device is lost, also where nothing will signal the fence.
  bool has_fence() {
    const VkFenceCreateInfo info{.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    return never_ != VK_NULL_HANDLE ||
           vk::own("vkCreateFence",
                   context_.next->CreateFence(context_.device, &info, nullptr, &never_),
                   never_) == VK_SUCCESS;
  }

  const MemoryContext& context_;
  std::chrono::microseconds sleep_ = kShortestSleep;
  VkFence never_ = VK_NULL_HANDLE;
};

// Saturates.
template <typename T>
T saturated(double value) {
  if (!(value > 0)) return 0;
  const auto max = static_cast<double>(std::numeric_limits<T>::max());
  return value >= max ? std::numeric_limits<T>::max() : static_cast<T>(value);
}
template <typename T>
T saturated(uint64_t value) {
  return static_cast<T>(std::min<uint64_t>(value, std::numeric_limits<T>::max()));
}

template <typename Number>
VkPerformanceCounterResultKHR stored(VkPerformanceCounterStorageKHR storage, Number value) {
  VkPerformanceCounterResultKHR result{};
  switch (storage) {
    case VK_PERFORMANCE_COUNTER_STORAGE_INT32_KHR:
      result.int32 = saturated<int32_t>(value);
      break;
    case VK_PERFORMANCE_COUNTER_STORAGE_INT64_KHR:
      result.int64 = saturated<int64_t>(value);
      break;
    case VK_PERFORMANCE_COUNTER_STORAGE_UINT32_KHR:
      result.uint32 = saturated<uint32_t>(value);
      break;
    case VK_PERFORMANCE_COUNTER_STORAGE_UINT64_KHR:
      result.uint64 = saturated<uint64_t>(value);
      break;
    case VK_PERFORMANCE_COUNTER_STORAGE_FLOAT32_KHR:
      result.float32 = static_cast<float>(value);
      break;
    default:
      result.float64 = static_cast<double>(value);
      break;
  }
  return result;
}

}  // namespace

bool QueryKind::needs_shaders() const {
  return std::ranges::any_of(rows, [](const QueryRow& row) {
    return std::ranges::any_of(row, &QuerySource::counts_in_shaders);
  });
}

bool QueryKind::needs_commands() const {
  return rows.empty() || !std::ranges::all_of(rows, [](const QueryRow& row) {
           return std::ranges::all_of(row, &QuerySource::counts_in_shaders);
         });
}

uint32_t QueryKind::time_row() const {
  for (uint32_t i = 0; i < rows.size(); ++i) {
    for (const QuerySource& source : rows[i]) {
      if (source.kind == QuerySource::Kind::Time) return i;
    }
  }
  return probe::QueryFinish::kNoRow;
}

QueryPool::QueryPool(const MemoryContext& context, QueryKind kind, uint32_t count)
    : context_(context),
      kind_(std::move(kind)),
      needs_shaders_(kind_.needs_shaders()),
      needs_commands_(kind_.needs_commands()),
      indirect_pairs_(tally::counters::indirect_pairs(kind_.rows)),
      count_(count),
      slot_bytes_(static_cast<uint32_t>(probe::kQuerySlotHeader + 8 * kind_.rows.size())) {}

std::shared_ptr<QueryPool> QueryPool::create(const MemoryContext& context, QueryKind kind,
                                             uint32_t count, VkResult& result) {
  std::shared_ptr<QueryPool> pool(new QueryPool(context, std::move(kind), count));
  result = pool->initialize();
  return result == VK_SUCCESS ? pool : nullptr;
}

void QueryPool::set_driver(std::unique_ptr<DriverPool> driver) { driver_ = std::move(driver); }

QueryPool::~QueryPool() {
  for (const VkQueryPool times : {begin_times_, end_times_}) {
    if (times != VK_NULL_HANDLE) {
      context_.next->DestroyQueryPool(context_.device, times, nullptr);
    }
  }
}

VkResult QueryPool::initialize() {
  VkResult result = VK_SUCCESS;
  memory_ = Chunk::create(context_, Chunk::Use::HostResults, slot_offset(count_), result);
  if (!memory_) return result;
  std::memset(memory_->host(), 0, slot_offset(count_));
  memory_->flush(0, slot_offset(count_));
  if (kind_.time_row() == probe::QueryFinish::kNoRow) return VK_SUCCESS;
  result = make_times(begin_times_);
  return result == VK_SUCCESS ? make_times(end_times_) : result;
}

VkResult QueryPool::make_times(VkQueryPool& pool) const {
  const VkQueryPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                   .flags = kind_.flags,
                                   .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                   .queryCount = count_};
  return vk::own("vkCreateQueryPool",
                 context_.next->CreateQueryPool(context_.device, &info, nullptr, &pool), pool);
}

VkDeviceAddress QueryPool::slot(uint32_t query) const {
  return memory_->address() + slot_offset(query);
}

void QueryPool::reset(uint32_t first, uint32_t queries) const {
  if (driver_) driver_->reset(first, queries);
  std::memset(memory_->host() + slot_offset(first), 0, VkDeviceSize{slot_bytes_} * queries);
  memory_->flush(slot_offset(first), VkDeviceSize{slot_bytes_} * queries);
  for (const VkQueryPool times : {begin_times_, end_times_}) {
    if (times != VK_NULL_HANDLE && context_.next->ResetQueryPool) {
      context_.next->ResetQueryPool(context_.device, times, first, queries);
    }
  }
}

void QueryPool::record_reset(VkCommandBuffer commands, uint32_t first, uint32_t queries) const {
  const DeviceTable& next = *context_.next;
  const VkMemoryBarrier before{
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
      .srcAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
      .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT};
  next.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                          VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1, &before, 0, nullptr, 0, nullptr);
  next.CmdFillBuffer(commands, buffer(), slot_offset(first), VkDeviceSize{slot_bytes_} * queries,
                     0);
  const VkMemoryBarrier after{
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
      .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
      .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
  next.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                          VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                          &after, 0, nullptr, 0, nullptr);
  if (driver_) next.CmdResetQueryPool(commands, driver_->handle(), first, queries);
  for (const VkQueryPool times : {begin_times_, end_times_}) {
    if (times != VK_NULL_HANDLE) next.CmdResetQueryPool(commands, times, first, queries);
  }
}

VkResult QueryPool::available(uint32_t query, bool wait) const {
  std::optional<Waiting> waiting;
  for (;;) {
    memory_->invalidate(slot_offset(query), slot_bytes_);
    auto* passes = reinterpret_cast<uint32_t*>(memory_->host() + slot_offset(query));
    const uint32_t done = std::atomic_ref(*passes).load(std::memory_order_acquire);
    if ((done & all_passes()) == all_passes()) return VK_SUCCESS;
    if (!wait) return VK_NOT_READY;
    if (!waiting) waiting.emplace(context_);
    const VkResult slept = waiting->sleep();
    if (slept == VK_TIMEOUT) continue;
    return slept < 0 ? slept : VK_ERROR_DEVICE_LOST;  // nothing signals the fence
  }
}

uint64_t QueryPool::row(uint32_t query, uint32_t row) const {
  uint64_t value = 0;
  std::memcpy(&value,
              memory_->host() + slot_offset(query) + probe::kQuerySlotHeader + 8 * size_t{row},
              sizeof value);
  return value;
}

uint32_t QueryPool::errors(uint32_t query) const {
  uint32_t value = 0;
  std::memcpy(&value, memory_->host() + slot_offset(query) + offsetof(probe::QuerySlot, errors),
              sizeof value);
  return value;
}

uint32_t QueryPool::result_bytes(VkQueryResultFlags flags) const {
  const auto results = static_cast<uint32_t>(kind_.results.size());
  if (kind_.typed) {
    return results * static_cast<uint32_t>(sizeof(VkPerformanceCounterResultKHR));
  }
  const uint32_t number = (flags & VK_QUERY_RESULT_64_BIT) != 0 ? 8 : 4;
  return number * (results + ((flags & kStates) != 0 ? 1 : 0));
}

void QueryPool::write(uint32_t query, bool is_available, VkQueryResultFlags flags,
                      std::byte* target) const {
  const bool wide = (flags & VK_QUERY_RESULT_64_BIT) != 0;
  const auto put_number = [&](uint64_t value) {
    wide            ? put(target, value)
    : kind_.wraps() ? put(target, static_cast<uint32_t>(value))
                    : put(target, saturated<uint32_t>(value));
  };
  if (is_available || (flags & VK_QUERY_RESULT_PARTIAL_BIT) != 0) {
    for (const QueryResult& result : kind_.results) {
      kind_.typed ? put(target, typed(query, result)) : put_number(row(query, result.row));
    }
  } else {
    target += kind_.results.size() * (kind_.typed || wide ? 8 : 4);
  }
  if ((flags & kStates) == 0) return;
  const bool failed = (flags & VK_QUERY_RESULT_WITH_STATUS_BIT_KHR) != 0 && errors(query) != 0;
  const int64_t state = !is_available ? VK_QUERY_RESULT_STATUS_NOT_READY_KHR
                        : failed      ? VK_QUERY_RESULT_STATUS_ERROR_KHR
                                      : VK_QUERY_RESULT_STATUS_COMPLETE_KHR;
  wide ? put(target, state) : put(target, static_cast<int32_t>(state));
}

VkPerformanceCounterResultKHR QueryPool::typed(uint32_t query, const QueryResult& result) const {
  const uint64_t value = row(query, result.row);
  if (!result.divisor && result.scale == 1.0f) return stored(result.storage, value);
  double scaled = static_cast<double>(value) * result.scale;
  if (result.divisor) {
    const auto divisor = static_cast<double>(row(query, *result.divisor));
    scaled = divisor == 0 ? 0 : scaled / divisor;
  }
  return stored(result.storage, scaled);
}

IntelReport QueryPool::report(uint32_t query) const {
  IntelReport report;
  const uint64_t markers = row(query, 2);
  if ((markers & 1) != 0) report.marker = row(query, 0);
  if ((markers & 2) != 0) report.stream_marker = static_cast<uint32_t>(row(query, 1));
  report.uncounted_commands = errors(query);
  for (size_t i = 0; i < kind_.results.size(); ++i) {
    report.values.push_back({kind_.numbers[i], typed(query, kind_.results[i]).uint64});
  }
  return report;
}

// Each report may use the bytes up to the next one, or to the end.
VkResult QueryPool::intel_results(const Request& request) const {
  VkResult result = VK_SUCCESS;
  for (uint32_t i = 0; i < request.count; ++i) {
    const size_t offset = i * static_cast<size_t>(request.stride);
    if (offset >= request.size) break;
    const uint32_t query = request.first + i;
    const bool last = i + 1 == request.count || request.stride == 0;
    const size_t bytes =
        last ? request.size - offset : std::min<size_t>(request.stride, request.size - offset);
    const VkResult ready = available(query, (request.flags & VK_QUERY_RESULT_WAIT_BIT) != 0);
    if (ready < 0) return ready;
    if (ready == VK_NOT_READY) {
      result = VK_NOT_READY;
    } else if (!write_intel_report(report(query),
                                   {static_cast<std::byte*>(request.data) + offset, bytes})) {
      return VK_INCOMPLETE;
    }
  }
  return result;
}

// Writes each query completely or not at all.
VkResult QueryPool::mixed_results(const Request& request) const {
  using Value = DriverPool::Value;
  const VkQueryResultFlags wait = request.flags & VK_QUERY_RESULT_WAIT_BIT;
  const size_t bytes = driver_->result_bytes();
  std::vector<Value> ours(kind_.results.size()), all(bytes / sizeof(Value));
  VkResult result = VK_SUCCESS;
  for (uint32_t i = 0; i < request.count; ++i) {
    const size_t offset = i * static_cast<size_t>(request.stride);
    if (offset > request.size || bytes > request.size - offset) break;
    const uint32_t query = request.first + i;
    VkResult one = available(query, wait != 0);
    if (one == VK_SUCCESS) {
      write(query, true, 0, reinterpret_cast<std::byte*>(ours.data()));
      one = driver_->results(query, ours, wait, all);
    }
    if (one < 0) return one;
    if (one == VK_SUCCESS) {
      std::memcpy(static_cast<std::byte*>(request.data) + offset, all.data(), bytes);
    } else {
      result = VK_NOT_READY;
    }
  }
  return result;
}

VkResult QueryPool::results(const Request& request) const {
  if (kind_.type == VK_QUERY_TYPE_PERFORMANCE_QUERY_INTEL) return intel_results(request);
  if (driver_) return mixed_results(request);
  VkResult result = VK_SUCCESS;
  const size_t bytes = result_bytes(request.flags);
  auto* data = static_cast<std::byte*>(request.data);
  for (uint32_t i = 0; i < request.count; ++i) {
    const size_t offset = i * static_cast<size_t>(request.stride);
    if (offset > request.size || bytes > request.size - offset) break;  // the rest does not fit
    const uint32_t query = request.first + i;
    const VkResult ready = available(query, (request.flags & VK_QUERY_RESULT_WAIT_BIT) != 0);
    if (ready < 0) return ready;
    if (ready == VK_NOT_READY) result = VK_NOT_READY;
    write(query, ready == VK_SUCCESS, request.flags, data + offset);
  }
  // An unavailable query is no error if its availability or status is returned.
  return result;
}

namespace {

constexpr VkQueryPipelineStatisticFlags kMeshStatistics =
    VK_QUERY_PIPELINE_STATISTIC_TASK_SHADER_INVOCATIONS_BIT_EXT |
    VK_QUERY_PIPELINE_STATISTIC_MESH_SHADER_INVOCATIONS_BIT_EXT;

using Streams = QuerySource::Streams;

QuerySource invocations(VkShaderStageFlags stages) {
  return {.kind = QuerySource::Kind::Invocations, .stages = stages};
}
QuerySource command(CommandMetric metric) {
  return {.kind = QuerySource::Kind::Command, .command = metric};
}
QuerySource primitives(VkShaderStageFlags stages, Streams streams) {
  return {.kind = QuerySource::Kind::Primitives, .stages = stages, .streams = streams};
}

// Primitives that reach the clipper and the transform feedback stage.
QueryRow last_primitives(CommandMetric assembled, Streams streams) {
  return {command(assembled), primitives(kPrimitiveMakers, streams)};
}

// The row of one statistics bit. Clipping primitives equal clipping invocations: the specification
// allows any number for primitives outside of the clip volume, and any but 0 for others.
QueryRow statistic(uint32_t bit) {
  switch (bit) {
    case VK_QUERY_PIPELINE_STATISTIC_INPUT_ASSEMBLY_VERTICES_BIT:
      return {command(CommandMetric::Vertices)};
    case VK_QUERY_PIPELINE_STATISTIC_INPUT_ASSEMBLY_PRIMITIVES_BIT:
      return {command(CommandMetric::Primitives)};
    case VK_QUERY_PIPELINE_STATISTIC_VERTEX_SHADER_INVOCATIONS_BIT:
      return {invocations(VK_SHADER_STAGE_VERTEX_BIT)};
    case VK_QUERY_PIPELINE_STATISTIC_GEOMETRY_SHADER_INVOCATIONS_BIT:
      return {invocations(VK_SHADER_STAGE_GEOMETRY_BIT)};
    case VK_QUERY_PIPELINE_STATISTIC_GEOMETRY_SHADER_PRIMITIVES_BIT:
      return {primitives(VK_SHADER_STAGE_GEOMETRY_BIT, Streams::All)};
    case VK_QUERY_PIPELINE_STATISTIC_CLIPPING_INVOCATIONS_BIT:
    case VK_QUERY_PIPELINE_STATISTIC_CLIPPING_PRIMITIVES_BIT:
      return last_primitives(CommandMetric::ClippedPrimitives, Streams::Rasterized);
    case VK_QUERY_PIPELINE_STATISTIC_FRAGMENT_SHADER_INVOCATIONS_BIT:
      return {invocations(VK_SHADER_STAGE_FRAGMENT_BIT)};
    case VK_QUERY_PIPELINE_STATISTIC_TESSELLATION_CONTROL_SHADER_PATCHES_BIT:
      return {command(CommandMetric::Patches)};
    case VK_QUERY_PIPELINE_STATISTIC_TESSELLATION_EVALUATION_SHADER_INVOCATIONS_BIT:
      return {invocations(VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT)};
    case VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT:
      return {invocations(VK_SHADER_STAGE_COMPUTE_BIT)};
    case VK_QUERY_PIPELINE_STATISTIC_TASK_SHADER_INVOCATIONS_BIT_EXT:
      return {invocations(VK_SHADER_STAGE_TASK_BIT_EXT)};
    case VK_QUERY_PIPELINE_STATISTIC_MESH_SHADER_INVOCATIONS_BIT_EXT:
      return {invocations(VK_SHADER_STAGE_MESH_BIT_EXT)};
    default:
      return {};  // VK_HUAWEI_cluster_culling_shader: never instrumented
  }
}

void add(QueryKind& kind, QueryRow row) {
  kind.results.push_back({.row = static_cast<uint32_t>(kind.rows.size())});
  kind.rows.push_back(std::move(row));
}

std::optional<QueryKind> performance_kind(const VkQueryPoolCreateInfo& info,
                                          const PhysicalDevice& gpu, const Options& options) {
  const auto* wanted = vk::find_in_chain<VkQueryPoolPerformanceCreateInfoKHR>(
      info.pNext, VK_STRUCTURE_TYPE_QUERY_POOL_PERFORMANCE_CREATE_INFO_KHR);
  if (!wanted) return std::nullopt;
  const CounterSplit split(gpu, *wanted);
  auto query = plan_performance_query(performance_counters(gpu, split.family, options), split.ours);
  if (!query) return std::nullopt;
  QueryKind kind;
  kind.type = info.queryType;
  kind.passes = query->passes;
  kind.count_pass = query->count_pass();
  kind.time_pass = query->time_pass();
  kind.rows = std::move(query->rows);
  kind.results = std::move(query->results);
  kind.typed = true;
  return kind;
}

QueryKind intel_kind(const PhysicalDevice& gpu, const Options& options) {
  QueryKind kind;
  kind.type = VK_QUERY_TYPE_PERFORMANCE_QUERY_INTEL;
  using Kind = QuerySource::Kind;
  for (const Kind source : {Kind::Marker, Kind::StreamMarker, Kind::HasMarkers}) {
    kind.rows.push_back({{.kind = source}});
  }
  for (const PerformanceCounter& counter : intel_counters(gpu, options)) {
    const bool ticks = counter.row[0].kind == Kind::Time;
    const uint32_t time = kind.time_row();
    if (!ticks || time == probe::QueryFinish::kNoRow) kind.rows.push_back(counter.row);
    const auto last = static_cast<uint32_t>(kind.rows.size() - 1);
    kind.results.push_back({.row = ticks ? kind.time_row() : last, .scale = counter.scale});
    kind.numbers.push_back(static_cast<uint32_t>(counter.counter->number));
  }
  return kind;
}

}  // namespace

VkQueryPipelineStatisticFlags EmulatedQueries::statistics_of(
    VkQueryPipelineStatisticFlags bits) const {
  return statistics ? bits : mesh_statistics ? bits & kMeshStatistics : 0;
}

bool EmulatedQueries::emulates(const VkQueryPoolCreateInfo& info) const {
  if (info.queryType == VK_QUERY_TYPE_TIME_ELAPSED_QCOM) return elapsed_time;
  switch (info.queryType) {
    case VK_QUERY_TYPE_PIPELINE_STATISTICS:
      return statistics || statistics_of(info.pipelineStatistics) != 0;
    case VK_QUERY_TYPE_OCCLUSION:
      return occlusion;
    case VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT:
      return primitives_generated;
    case VK_QUERY_TYPE_MESH_PRIMITIVES_GENERATED_EXT:
      return mesh_statistics;
    case VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT:
      return transform_feedback;
    case VK_QUERY_TYPE_RESULT_STATUS_ONLY_KHR:
      return result_status;
    case VK_QUERY_TYPE_TIMESTAMP:
      return timestamps;
    case VK_QUERY_TYPE_PERFORMANCE_QUERY_KHR:
      return performance;
    case VK_QUERY_TYPE_PERFORMANCE_QUERY_INTEL:
      return performance_intel;
    default:
      return false;
  }
}

std::optional<QueryKind> query_kind(const VkQueryPoolCreateInfo& info, const PhysicalDevice& gpu,
                                    const Options& options) {
  if (info.queryType == VK_QUERY_TYPE_PERFORMANCE_QUERY_KHR) {
    return performance_kind(info, gpu, options);
  }
  if (info.queryType == VK_QUERY_TYPE_PERFORMANCE_QUERY_INTEL) return intel_kind(gpu, options);
  QueryKind kind;
  kind.type = info.queryType;
  if (kind.type == VK_QUERY_TYPE_TIME_ELAPSED_QCOM) {
    add(kind, {{.kind = QuerySource::Kind::Time}});
    return kind;
  }
  switch (info.queryType) {
    case VK_QUERY_TYPE_PIPELINE_STATISTICS:
      for (uint32_t bits = info.pipelineStatistics; bits != 0; bits &= bits - 1) {
        add(kind, statistic(1u << std::countr_zero(bits)));
      }
      break;
    case VK_QUERY_TYPE_TIMESTAMP:
      add(kind, {});
      break;
    case VK_QUERY_TYPE_OCCLUSION:
      add(kind, {{.kind = QuerySource::Kind::Samples, .stages = VK_SHADER_STAGE_FRAGMENT_BIT}});
      break;
    case VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT:
      add(kind, last_primitives(CommandMetric::LastPrimitives, Streams::Queried));
      break;
    case VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT:
      // Primitives written and needed: the GPU computes both from the spans (queries/feedback.h).
      add(kind, {});
      add(kind, {});
      break;
    case VK_QUERY_TYPE_MESH_PRIMITIVES_GENERATED_EXT:
      add(kind, {primitives(VK_SHADER_STAGE_MESH_BIT_EXT, Streams::All)});
      break;
    default:
      break;
  }
  return kind;
}

}  // namespace tally::counters
