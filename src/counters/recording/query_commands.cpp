#include "counters/recording/query_commands.h"

#include "vk/chain.h"

namespace tally::counters {

void QueryCommands::update_flags() {
  using Status = RecordingStatus;
  state_.status.assign(Status::kQueryCommands, state_.queries->counts_commands());
  state_.status.assign(Status::kQueryShaders, state_.queries->counts_shaders());
  state_.status.assign(Status::kQuerySamples, state_.queries->counts_samples());
  state_.status.set(Status::kDirtyPipelines);
}

void QueryCommands::reset(const std::shared_ptr<QueryPool>& pool, uint32_t first, uint32_t count) {
  resolve_for(*pool);
  pool->record_reset(state_.handle, first, count);
  if (pool->driver()) state_.driver_queries->note_reset(pool, first, count);
}

// The driver's half of the query lies within the layer's, so that it counts no command of the
// layer. It lies around it where the driver requires it to be the first and the last command.
void QueryCommands::begin(const QueryKey& key) {
  const DriverPool* driver = key.pool->driver();
  const bool around = driver && driver->needs().whole_buffer;
  if (around) state_.driver_queries->begin(key.pool, key.query);
  state_.status.note(state_.queries->begin(key));
  update_flags();
  if (driver && !around) state_.driver_queries->begin(key.pool, key.query);
}

void QueryCommands::end(const QueryKey& key) {
  const DriverPool* driver = key.pool->driver();
  const bool around = driver && driver->needs().whole_buffer;
  if (driver && !around) state_.driver_queries->end(*key.pool, key.query);
  state_.status.note(state_.queries->end(key));
  update_flags();
  if (around) state_.driver_queries->end(*key.pool, key.query);
  resolve_ready();
}

void QueryCommands::write_timestamp(const std::shared_ptr<QueryPool>& pool, uint32_t query) {
  state_.status.note(state_.queries->write_timestamp(pool, query));
  if (state_.queries->in_pass()) return;
  state_.bound.restore_after_dispatch();
  state_.bound.update_dirty_pointer();
}

void QueryCommands::end_pass() {
  state_.queries->end_pass();
  resolve_ready();
}

void QueryCommands::inherit(const VkCommandBufferBeginInfo& info) {
  const VkCommandBufferInheritanceInfo& inherited = *info.pInheritanceInfo;
  const bool continues = (info.flags & VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT) != 0;
  RenderPassShape shape;
  bool suspending = false;
  if (inherited.renderPass != VK_NULL_HANDLE) {
    shape = state_.device.objects.render_passes.find(inherited.renderPass);
  } else if (const auto* rendering = vk::find_in_chain<VkCommandBufferInheritanceRenderingInfo>(
                 inherited.pNext, VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO)) {
    shape = shape_of({rendering->viewMask});
    suspending = continues && (rendering->flags & VK_RENDERING_SUSPENDING_BIT) != 0;
  }
  state_.queries->inherit(info, shape, suspending);
  update_flags();
}

void QueryCommands::end_driver_statistics() {
  state_.queries->end_driver_statistics();
  resolve_ready();
}

void QueryCommands::resolve_ready() {
  if (!state_.queries) return;
  if (state_.queries->ready()) {
    resolve();
  } else {
    state_.status.note(state_.queries->copy_inputs());
  }
}

// Results of the pool are copied or reset next.
void QueryCommands::resolve_for(const QueryPool& pool) {
  if (state_.queries->needs_results(pool)) resolve();
}

void QueryCommands::resolve() {
  // No command may follow in this command buffer: another one resolves the work.
  if (state_.driver_queries && state_.driver_queries->sealed()) return;
  state_.status.note(state_.queries->resolve());
  state_.bound.restore_after_dispatch();
  state_.bound.update_dirty_pointer();
}

void QueryCommands::copy_results(const QueryPool& pool, const QueryPool::Request& request,
                                 const NamedMemory& target) {
  resolve_for(pool);
  state_.status.note(state_.queries->copy_results(pool, request, target));
  state_.bound.restore_after_dispatch();
  state_.bound.update_dirty_pointer();
}

void QueryCommands::flush_caches() {
  if (state_.queries->in_pass()) {
    state_.device.context.messages.notice(
        "TALLY-no-flush", VK_OBJECT_TYPE_COMMAND_BUFFER, vk::handle_bits(state_.handle),
        "vkCmdSetPerformanceOverrideINTEL(): caches cannot be flushed inside a render pass");
    return;
  }
  const VkMemoryBarrier all{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                            .srcAccessMask = kAnyAccess,
                            .dstAccessMask = kAnyAccess};
  state_.next.CmdPipelineBarrier(state_.handle, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                 VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &all, 0, nullptr, 0,
                                 nullptr);
}

}  // namespace tally::counters
