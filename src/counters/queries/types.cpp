#include "counters/queries/types.h"

#include <bit>

#include <tally/vulkan_newest.h>

#include "counters/performance/counters.h"
#include "counters/performance/driver_counters.h"
#include "counters/performance/intel_report.h"
#include "vk/chain.h"

namespace tally::counters {
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
