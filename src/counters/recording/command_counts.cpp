#include "counters/recording/command_counts.h"

namespace tally::counters {

void CommandCounts::dispatch(uint64_t workgroups) {
  state_.queries->count(CommandMetric::Dispatches);
  state_.queries->count(CommandMetric::Workgroups, workgroups);
}

void CommandCounts::mesh_draw(uint64_t workgroups) {
  state_.queries->count(CommandMetric::Draws);
  state_.queries->count(CommandMetric::MeshWorkgroups, workgroups);
}

void CommandCounts::generated(VkPipelineBindPoint point) {
  QueryRecorder& queries = *state_.queries;
  switch (point) {
    case VK_PIPELINE_BIND_POINT_COMPUTE:
      queries.count(CommandMetric::Dispatches);
      break;
    case VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR:
      queries.count(CommandMetric::Traces);
      break;
    default:
      queries.count(CommandMetric::Draws);
      queries.count(CommandMetric::IndirectDraws);
  }
  queries.count_unread();
  if (!queries.reads_arguments()) return;
  state_.device.context.messages.notice(
      "TALLY-generated-commands", VK_OBJECT_TYPE_COMMAND_BUFFER, vk::handle_bits(state_.handle),
      "queries lack vertices, primitives and workgroups of generated commands, whose arguments the "
      "layer does not read");
}

IndexRange CommandCounts::bound_indices() const {
  IndexRange range = state_.bound.indices();
  if (range.size != VK_WHOLE_SIZE) return range;
  const VkDeviceSize whole = state_.device.queries->buffer_sizes.find(range.memory.buffer);
  range.size = whole > range.memory.offset ? whole - range.memory.offset : 0;
  return range;
}

void CommandCounts::indexed_draw(uint32_t indices, uint32_t instances, uint32_t first) {
  const DrawFacts& facts = state_.bound.draw_facts();
  if (!facts.restarts) {
    draw(indices, instances);
    return;
  }
  state_.queries->count(CommandMetric::Draws);
  count_on_gpu(facts, {.kind = probe::QueryIndirect::kIndices,
                       .indexed = true,
                       .max_count = indices,
                       .instances = instances,
                       .first_index = first});
}

void CommandCounts::indirect(CommandMetric metric, const IndirectCommand& command) {
  state_.queries->count(metric);
  DrawFacts facts;
  if (metric == CommandMetric::Draws) {
    state_.queries->count(CommandMetric::IndirectDraws);
    facts = state_.bound.draw_facts();
  }
  count_on_gpu(facts, command);
}

void CommandCounts::count_on_gpu(const DrawFacts& facts, IndirectCommand command) {
  if (command.indexed && facts.restarts) command.indices = bound_indices();
  state_.status.note(state_.queries->count_indirect(command, facts));
}

}  // namespace tally::counters
