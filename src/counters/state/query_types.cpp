#include "counters/state/query_types.h"

#include <bit>

namespace tally::counters {
namespace {

constexpr VkQueryPipelineStatisticFlags kMeshStatistics =
    VK_QUERY_PIPELINE_STATISTIC_TASK_SHADER_INVOCATIONS_BIT_EXT |
    VK_QUERY_PIPELINE_STATISTIC_MESH_SHADER_INVOCATIONS_BIT_EXT;

QuerySource invocations(VkShaderStageFlags stages) {
  return {.kind = QuerySource::Kind::Invocations, .stages = stages};
}
QuerySource command(CommandMetric metric) {
  return {.kind = QuerySource::Kind::Command, .command = metric};
}
QuerySource primitives(VkShaderStageFlags stages) {
  return {.kind = QuerySource::Kind::Primitives, .stages = stages};
}

// What reaches the clipper, and the transform feedback stage.
QueryRow last_primitives(CommandMetric assembled) {
  return {command(assembled),
          primitives(VK_SHADER_STAGE_GEOMETRY_BIT | VK_SHADER_STAGE_MESH_BIT_EXT)};
}

// The row of one bit. The clipper puts out what it takes in: of primitives without a vertex in the
// volume the chapter allows any number, of others any but none.
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
      return {primitives(VK_SHADER_STAGE_GEOMETRY_BIT)};
    case VK_QUERY_PIPELINE_STATISTIC_CLIPPING_INVOCATIONS_BIT:
    case VK_QUERY_PIPELINE_STATISTIC_CLIPPING_PRIMITIVES_BIT:
      return last_primitives(CommandMetric::ClippedPrimitives);
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
      return {};  // HUAWEI's: no such shader is ever instrumented
  }
}

void add(QueryKind& kind, QueryRow row) {
  kind.results.push_back({.row = static_cast<uint32_t>(kind.rows.size())});
  kind.rows.push_back(std::move(row));
}

}  // namespace

bool EmulatedQueries::emulates(const VkQueryPoolCreateInfo& info) const {
  switch (info.queryType) {
    case VK_QUERY_TYPE_PIPELINE_STATISTICS:
      return statistics || (mesh_statistics && (info.pipelineStatistics & kMeshStatistics) != 0);
    case VK_QUERY_TYPE_OCCLUSION:
      return occlusion;
    case VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT:
      return primitives_generated;
    case VK_QUERY_TYPE_MESH_PRIMITIVES_GENERATED_EXT:
      return mesh_statistics;
    case VK_QUERY_TYPE_RESULT_STATUS_ONLY_KHR:
      return result_status;
    case VK_QUERY_TYPE_PERFORMANCE_QUERY_KHR:
      return performance;
    case VK_QUERY_TYPE_PERFORMANCE_QUERY_INTEL:
      return performance_intel;
    default:
      return false;
  }
}

QueryKind query_kind(const VkQueryPoolCreateInfo& info) {
  QueryKind kind;
  kind.type = info.queryType;
  switch (info.queryType) {
    case VK_QUERY_TYPE_PIPELINE_STATISTICS:
      for (uint32_t bits = info.pipelineStatistics; bits != 0; bits &= bits - 1) {
        add(kind, statistic(1u << std::countr_zero(bits)));
      }
      break;
    case VK_QUERY_TYPE_OCCLUSION:
      add(kind, {{.kind = QuerySource::Kind::Samples, .stages = VK_SHADER_STAGE_FRAGMENT_BIT}});
      break;
    case VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT:
      add(kind, last_primitives(CommandMetric::LastPrimitives));
      break;
    case VK_QUERY_TYPE_MESH_PRIMITIVES_GENERATED_EXT:
      add(kind, {primitives(VK_SHADER_STAGE_MESH_BIT_EXT)});
      break;
    default:
      break;
  }
  return kind;
}

}  // namespace tally::counters
