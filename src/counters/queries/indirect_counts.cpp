#include "counters/queries/indirect_counts.h"

#include <algorithm>
#include <optional>

namespace tally::counters {
namespace {

using probe::QueryIndirect;

std::optional<QueryIndirect::Metric> metric_of(CommandMetric metric) {
  switch (metric) {
    case CommandMetric::Vertices:
      return QueryIndirect::kVertices;
    case CommandMetric::Primitives:
      return QueryIndirect::kPrimitives;
    case CommandMetric::Patches:
      return QueryIndirect::kPatchCount;
    case CommandMetric::LastPrimitives:
      return QueryIndirect::kLastPrimitives;
    case CommandMetric::ClippedPrimitives:
      return QueryIndirect::kClippedPrimitives;
    case CommandMetric::Workgroups:
      return QueryIndirect::kWorkgroups;
    case CommandMetric::MeshWorkgroups:
      return QueryIndirect::kMeshWorkgroups;
    default:
      return std::nullopt;
  }
}

// The number of argument words of one draw that are read.
VkDeviceSize words_of(const IndirectCommand& command) {
  switch (command.kind) {
    case QueryIndirect::kDraw:
      return command.indexed ? 3 : 2;
    case QueryIndirect::kGroups:
      return 3;
    default:
      return 1;
  }
}

}  // namespace

VkDeviceSize argument_bytes(const IndirectCommand& command) {
  if (command.kind == QueryIndirect::kIndices) return 0;
  const VkDeviceSize one = 4 * words_of(command);
  if (command.kind == QueryIndirect::kByteCount || command.max_count == 0) return one;
  return VkDeviceSize{command.max_count - 1} * command.stride + one;
}

IndexRange indices_of(const IndirectCommand& command) {
  IndexRange range = command.indices;
  if (command.kind == QueryIndirect::kIndices) {
    const VkDeviceSize skipped =
        std::min(range.size, VkDeviceSize{command.first_index} * range.index_bytes);
    range.memory = range.memory.behind(skipped);
    range.size -= skipped;
    range.size = std::min(range.size, VkDeviceSize{command.max_count} * range.index_bytes);
  }
  range.size -= range.size % range.index_bytes;
  return range;
}

probe::QueryIndirect describe(const IndirectCommand& command, const DrawFacts& facts) {
  QueryIndirect result;
  result.max_draws = command.max_count;
  result.stride = command.stride;
  result.kind = command.kind;
  const PrimitiveStep step = primitive_step(facts);
  result.first = step.first;
  result.step = step.step;
  result.instances = command.instances;
  result.first_bytes = command.first_bytes;
  const auto flag = [&](bool set, QueryIndirect::Flags bit) { result.flags |= set ? bit : 0u; };
  flag((facts.stages & VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT) != 0, QueryIndirect::kPatches);
  flag(keeps_primitives(facts), QueryIndirect::kLast);
  flag(keeps_primitives(facts) && !facts.rasterizer_discard, QueryIndirect::kClipped);
  flag(command.mesh, QueryIndirect::kMesh);
  return result;
}

std::vector<uint64_t> indirect_pairs(const std::vector<QueryRow>& rows) {
  std::vector<uint64_t> pairs;
  for (size_t row = 0; row < rows.size(); ++row) {
    for (const QuerySource& source : rows[row]) {
      if (source.kind != QuerySource::Kind::Command) continue;
      const auto metric = metric_of(source.command);
      if (metric) pairs.push_back(row | uint64_t{*metric} << 32);
    }
  }
  return pairs;
}

}  // namespace tally::counters
