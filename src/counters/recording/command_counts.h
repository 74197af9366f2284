// The part of active queries that the host counts, from the arguments of action commands.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>

#include "counters/queries/indirect_counts.h"
#include "counters/recording/command_state.h"
#include "counters/shader/query_source.h"

namespace tally::counters {

class CommandCounts {
 public:
  explicit CommandCounts(CommandState& state) : state_(state) {}

  // True if active queries count commands. Call the functions below only if so.
  bool wanted() const { return state_.status.has(RecordingStatus::kQueryCommands); }
  void draw(uint64_t vertices, uint64_t instances);
  void indexed_draw(uint32_t indices, uint32_t instances, uint32_t first);
  void dispatch(uint64_t workgroups);
  void mesh_draw(uint64_t workgroups);
  void trace() { state_.queries->count(CommandMetric::Traces); }
  // Commands that the device generates, whose arguments the layer does not read.
  void generated(VkPipelineBindPoint point);
  // A command whose arguments are in a buffer.
  void indirect(CommandMetric metric, const IndirectCommand& command);

 private:
  IndexRange bound_indices() const;
  void count_on_gpu(const DrawFacts& facts, IndirectCommand command);

  CommandState& state_;
};

inline void CommandCounts::draw(uint64_t vertices, uint64_t instances) {
  QueryRecorder& queries = *state_.queries;
  queries.count(CommandMetric::Draws);
  if (!state_.bound.resolve(state_.bound.graphics())) return;
  const DrawFacts& facts = state_.bound.draw_facts();
  const uint64_t primitives = primitives_of(facts, vertices) * instances;
  queries.count(CommandMetric::Vertices, vertices * instances);
  queries.count(CommandMetric::Primitives, primitives);
  if ((facts.stages & VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT) != 0) {
    queries.count(CommandMetric::Patches, primitives);
  }
  if (!keeps_primitives(facts)) return;
  queries.count(CommandMetric::LastPrimitives, primitives);
  if (!facts.rasterizer_discard) queries.count(CommandMetric::ClippedPrimitives, primitives);
}

}  // namespace tally::counters
