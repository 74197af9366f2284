// Emulated queries and performance overrides in a command buffer.
#include "counters/layer/device.h"
#include "counters/objects/command_buffer.h"
#include "vk/chain.h"

namespace tally::counters {

void CommandBuffer::update_query_attention() {
  attention_ &= ~(kQueries | kQueryCommands);
  if (queries_->active()) attention_ |= kQueryCommands;
  if (queries_->counts_shaders()) attention_ |= kQueries;
  attention_ |= kStalePipelines;
}

void CommandBuffer::reset_queries(const std::shared_ptr<QueryPool>& pool, uint32_t first,
                                  uint32_t count) {
  settle_queries(*pool);
  pool->record_reset(handle_, first, count);
  if (pool->driver()) driver_queries_->note_reset(pool, first, count);
}

// The driver's half stands inside of the layer's, so that it counts nothing of that; around it
// where it has to be the first and the last command.
void CommandBuffer::begin_query(const std::shared_ptr<QueryPool>& pool, uint32_t query,
                                uint32_t index) {
  const bool around = pool->driver() && pool->driver()->needs().whole_buffer;
  if (around) driver_queries_->begin(pool, query);
  const VkResult result = queries_->begin(pool, query, index);
  if (result != VK_SUCCESS) fail(result);
  update_query_attention();
  if (pool->driver() && !around) driver_queries_->begin(pool, query);
}

void CommandBuffer::end_query(const std::shared_ptr<QueryPool>& pool, uint32_t query,
                              uint32_t index) {
  const bool around = pool->driver() && pool->driver()->needs().whole_buffer;
  if (pool->driver() && !around) driver_queries_->end(*pool, query);
  const VkResult result = queries_->end(pool, query, index);
  if (result != VK_SUCCESS) fail(result);
  update_query_attention();
  if (around) driver_queries_->end(*pool, query);
  flush_queries();
}

// What else counts in shaders does so in every pass. Conditions do not hold for traces.
bool CommandBuffer::runs_twice(VkPipelineBindPoint point) {
  if ((attention_ & (kQueries | kActive | kRegions)) != kQueries || !queries_->runs_twice()) {
    return false;
  }
  return point != VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR && can_bind(point) &&
         bound_at(point)->variant != Variant::Plain;
}

bool CommandBuffer::begin_variant(bool counting) {
  const VkResult result = queries_->begin_variant(counting);
  if (result != VK_SUCCESS) fail(result);
  return result == VK_SUCCESS;
}

void CommandBuffer::write_timestamp(const std::shared_ptr<QueryPool>& pool, uint32_t query) {
  const VkResult result = queries_->write_timestamp(pool, query);
  if (result != VK_SUCCESS) fail(result);
  if (queries_->in_pass()) return;
  dispatched_ours();
  note_stale_words();
}

void CommandBuffer::end_query_pass() {
  queries_->end_pass();
  flush_queries();
}

void CommandBuffer::inherit_queries(const VkCommandBufferInheritanceInfo& info) {
  RenderPassShape shape;
  if (info.renderPass != VK_NULL_HANDLE) {
    shape = device_.instrumentation()->render_passes.find(info.renderPass);
  } else if (const auto* rendering = vk::find_in_chain<VkCommandBufferInheritanceRenderingInfo>(
                 info.pNext, VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO)) {
    shape = shape_of({rendering->viewMask});
  }
  queries_->inherit(info, shape);
  update_query_attention();
}

void CommandBuffer::end_drivers_statistics() {
  queries_->end_drivers_statistics();
  flush_queries();
}

void CommandBuffer::flush_queries() {
  if (!queries_) return;
  queries_->ready() ? work_out_queries() : queries_->copy_inputs();
}

// Before results are copied or reset: what could wait cannot any longer.
void CommandBuffer::settle_queries(const QueryPool& pool) {
  if (queries_->needs_results(pool)) work_out_queries();
}

void CommandBuffer::work_out_queries() {
  if (driver_queries_ && driver_queries_->sealed()) return;  // behind
  const VkResult result = queries_->flush();
  if (result != VK_SUCCESS) fail(result);
  dispatched_ours();
  note_stale_words();
}

void CommandBuffer::copy_query_results(const QueryPool& pool, const QueryPool::Request& request,
                                       VkBuffer target, VkDeviceSize offset) {
  settle_queries(pool);
  const VkResult result = queries_->copy_results(pool, request, target, offset);
  if (result != VK_SUCCESS) fail(result);
  dispatched_ours();
  note_stale_words();
}

void CommandBuffer::drop_actions(bool drop) {
  if (drop) {
    attention_ |= kDropped;
  } else {
    attention_ &= ~kDropped;
  }
}

void CommandBuffer::flush_caches() {
  if (queries_->in_pass()) {
    device_.messages().notice(
        "TALLY-no-flush", VK_OBJECT_TYPE_COMMAND_BUFFER, vk::handle_bits(handle_),
        "vkCmdSetPerformanceOverrideINTEL(): caches cannot be flushed inside a render pass");
    return;
  }
  const VkMemoryBarrier all{
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
      .srcAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
      .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
  next().CmdPipelineBarrier(handle_, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                            VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &all, 0, nullptr, 0, nullptr);
}

void CommandBuffer::note_draw(uint64_t vertices, uint64_t instances) {
  queries_->count(CommandMetric::Draws);
  Bound& bound = *bound_at(VK_PIPELINE_BIND_POINT_GRAPHICS);
  const Pipeline* pipeline = resolve(bound);
  if (!pipeline) return;
  const DrawFacts facts = dynamic_facts_.applied_to(pipeline->facts.facts);
  const uint64_t primitives = primitives_of(facts, vertices) * instances;
  queries_->count(CommandMetric::Vertices, vertices * instances);
  queries_->count(CommandMetric::Primitives, primitives);
  if ((facts.stages & VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT) != 0) {
    queries_->count(CommandMetric::Patches, primitives);
  }
  if (!keeps_primitives(facts)) return;
  queries_->count(CommandMetric::LastPrimitives, primitives);
  if (!facts.rasterizer_discard) queries_->count(CommandMetric::ClippedPrimitives, primitives);
}

void CommandBuffer::note_dispatch(uint64_t workgroups) {
  queries_->count(CommandMetric::Dispatches);
  queries_->count(CommandMetric::Workgroups, workgroups);
}

void CommandBuffer::note_mesh_draw(uint64_t workgroups) {
  queries_->count(CommandMetric::Draws);
  queries_->count(CommandMetric::MeshWorkgroups, workgroups);
}

// Of what is bound; of nothing that it assembles, where nothing is.
DrawFacts CommandBuffer::graphics_facts() {
  const Pipeline* pipeline = resolve(*bound_at(VK_PIPELINE_BIND_POINT_GRAPHICS));
  return pipeline ? dynamic_facts_.applied_to(pipeline->facts.facts) : DrawFacts{};
}

IndexRange CommandBuffer::bound_indices() const {
  IndexRange range = indices_;
  if (range.size != VK_WHOLE_SIZE) return range;
  const VkDeviceSize whole = device_.queries()->buffer_sizes.find(range.buffer);
  range.size = whole > range.offset ? whole - range.offset : 0;
  return range;
}

void CommandBuffer::note_indexed_draw(uint32_t indices, uint32_t instances, uint32_t first) {
  const DrawFacts facts = graphics_facts();
  if (!facts.restarts) {
    note_draw(indices, instances);
    return;
  }
  queries_->count(CommandMetric::Draws);
  count_on_gpu(facts, {.kind = probe::QueryIndirect::kIndices,
                       .indexed = true,
                       .most = indices,
                       .instances = instances,
                       .first_index = first});
}

void CommandBuffer::note_indirect(CommandMetric metric, const IndirectCommand& command) {
  queries_->count(metric);
  DrawFacts facts;
  if (metric == CommandMetric::Draws) {
    queries_->count(CommandMetric::IndirectDraws);
    facts = graphics_facts();
  }
  count_on_gpu(facts, command);
}

void CommandBuffer::count_on_gpu(const DrawFacts& facts, IndirectCommand command) {
  if (command.indexed && facts.restarts) command.indices = bound_indices();
  const VkResult result = queries_->count_indirect(command, facts);
  if (result != VK_SUCCESS) fail(result);
}

}  // namespace tally::counters
