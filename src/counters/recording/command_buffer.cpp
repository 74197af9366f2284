#include "counters/recording/command_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "vk/chain.h"

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
      "queries do not count vertices, primitives and workgroups of generated commands: the layer "
      "does not read the arguments of these commands");
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

void TransformFeedback::bind_buffers(uint32_t first, uint32_t count, const VkBuffer* buffers,
                                     const VkDeviceSize* offsets, const VkDeviceSize* sizes) {
  const QueryState* queries = state_.device.queries.get();
  if (!queries) return;
  for (uint32_t i = 0; i < count && first + i < kFeedbackBuffers; ++i) {
    VkDeviceSize& size = sizes_[first + i];
    size = sizes ? sizes[i] : VK_WHOLE_SIZE;
    if (size != VK_WHOLE_SIZE) continue;
    const VkDeviceSize whole = queries->buffer_sizes.find(buffers[i]);
    size = whole > offsets[i] ? whole - offsets[i] : 0;
  }
}

void TransformFeedback::bind_buffers(uint32_t first, uint32_t count,
                                     const VkBindTransformFeedbackBuffer2InfoEXT* infos) {
  for (uint32_t i = 0; i < count && first + i < kFeedbackBuffers; ++i) {
    sizes_[first + i] = infos[i].addressRange.size;
  }
}

// It is counted even if no query is active: one may begin before it ends.
void TransformFeedback::begin(const Counters& counters) {
  const QueryState* queries = state_.device.queries.get();
  if (queries && queries->counts_feedback.load(std::memory_order_relaxed)) count(counters);
  state_.bound.bind_wanted(VK_PIPELINE_BIND_POINT_GRAPHICS);
  state_.bound.begin_transform_feedback();
}

void TransformFeedback::count(const Counters& counters) {
  BoundState::Bound& bound = state_.bound.graphics();
  Bindable* pipeline = state_.bound.resolve(bound);
  probe::QueryFeedback description;
  Variant variant = bound.variant;
  if (pipeline && !variant.blocks) {
    variant = pipeline->make_best_for_queries(bound.alpha_to_coverage);
  }
  if (variant.blocks) {
    description = describe_feedback(*pipeline->program(variant), state_.bound.draw_facts(), sizes_);
  }
  FeedbackStart start;
  const VkResult result = state_.queries->begin_feedback(description, start);
  if (result != VK_SUCCESS) {
    state_.status.note(result);
    return;
  }
  queries_.update_flags();
  if (counters.buffers) copy_counters(counters, start);
  if (counters.infos) copy_addressed_counters(counters, start);
}

// Inside a render pass the layer cannot copy buffers. Instead it begins and ends transform feedback
// at once: the driver then stores its counters in memory of the layer.
void TransformFeedback::copy_counters(const Counters& counters, const FeedbackStart& start) const {
  std::array<VkBuffer, kFeedbackBuffers> targets{};
  std::array<VkDeviceSize, kFeedbackBuffers> offsets{};
  const uint32_t count = std::min(counters.count, kFeedbackBuffers);
  for (uint32_t i = 0; i < count; ++i) {
    if (counters.buffers[i] == VK_NULL_HANDLE) continue;
    targets[i] = start.buffer;
    offsets[i] = start.offset + (counters.first + i) * sizeof(uint32_t);
  }
  if (std::ranges::all_of(targets, [](VkBuffer target) { return target == VK_NULL_HANDLE; })) {
    return;
  }
  state_.next.CmdBeginTransformFeedbackEXT(state_.handle, counters.first, counters.count,
                                           counters.buffers, counters.offsets);
  state_.next.CmdEndTransformFeedbackEXT(state_.handle, counters.first, count, targets.data(),
                                         offsets.data());
}

void TransformFeedback::copy_addressed_counters(const Counters& counters,
                                                const FeedbackStart& start) const {
  std::array<VkBindTransformFeedbackBuffer2InfoEXT, kFeedbackBuffers> targets{};
  const uint32_t count = std::min(counters.count, kFeedbackBuffers);
  bool any = false;
  for (uint32_t i = 0; i < count; ++i) {
    targets[i].sType = VK_STRUCTURE_TYPE_BIND_TRANSFORM_FEEDBACK_BUFFER_2_INFO_EXT;
    if (counters.infos[i].addressRange.address == 0) continue;
    targets[i].addressRange = {start.address + (counters.first + i) * sizeof(uint32_t),
                               sizeof(uint32_t)};
    targets[i].addressFlags = kLayerAddressFlags;
    any = true;
  }
  if (!any) return;
  state_.next.CmdBeginTransformFeedback2EXT(state_.handle, counters.first, counters.count,
                                            counters.infos);
  state_.next.CmdEndTransformFeedback2EXT(state_.handle, counters.first, count, targets.data());
}

void TransformFeedback::end() {
  state_.bound.end_transform_feedback();
  if (state_.queries) {
    state_.queries->end_feedback();
    queries_.update_flags();
  }
  state_.status.set(RecordingStatus::kDirtyPipelines);
}

CommandBuffer::CommandBuffer(VkCommandBuffer handle, DeviceState& device, Kind kind)
    : state_(handle, device),
      kind_(kind),
      actions_(state_),
      counts_(state_),
      query_commands_(state_),
      transform_feedback_(state_, query_commands_) {}

void CommandBuffer::reset() {
  if (!std::exchange(begun_, false)) return;
  state_.reset();
  transform_feedback_.reset();
  condition_.end();
  capturing_.clear();
  kept_.clear();
}

void CommandBuffer::begin(VkCommandBufferUsageFlags usage) {
  reset();
  begun_ = true;
  simultaneous_ = (usage & VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT) != 0;
  repeats_ = (usage & VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT) == 0;
  suspended_ = false;
  state_.status.driver_counts = driver_may_count();
}

// Executions that overlap would use the same queries.
bool CommandBuffer::driver_may_count() const {
  if (!state_.invocations || is_secondary() || is_protected()) return false;
  const InvocationQueries& queries = state_.invocations->queries();
  return (!simultaneous_ || queries.one_queue) && (!repeats_ || kind_.computes) &&
         !queries.application_queries.load(std::memory_order_relaxed);
}

void CommandBuffer::finish_draws() {
  if (!state_.invocations || !state_.invocations->unfinished()) return;
  const Condition::Interruption unconditional(condition_, next(), handle());
  state_.status.note(
      state_.invocations->finish(repeats_ ? state_.device.instrumentation.gather.get() : nullptr,
                                 {handle(), state_.bound.descriptors().uses_heaps()},
                                 *state_.instrumentation.objects().front()));
}

void CommandBuffer::leave_draws_to_shaders() {
  finish_draws();
  state_.status.driver_counts = false;
  if (instrumented()) state_.status.set(RecordingStatus::kDirtyPipelines);
}

// Between the parts of a suspended pass there can be no dispatch.
void CommandBuffer::gather_records() {
  RecordGather* gather = state_.device.instrumentation.gather.get();
  if (!state_.device.memory.context.gathers || is_secondary() || simultaneous_ || suspended_ ||
      !kind_.computes)
    return;
  const bool mapped = state_.device.memory.context.mode == RecordMemory::Host;
  if (mapped && state_.instrumentation.bytes() < RecordGather::kMinBytes) return;
  const std::vector<RecordedRange> ranges = state_.instrumentation.gatherable();
  if (ranges.empty()) return;
  const VkResult result =
      gather->record({handle(), state_.bound.descriptors().uses_heaps()}, ranges);
  if (result == VK_SUCCESS) return;
  state_.device.context.messages.notice(
      "TALLY-own-call-failed", VK_OBJECT_TYPE_COMMAND_BUFFER, vk::handle_bits(handle()),
      "reading counts is slow, because the GPU cannot sum them up first: " +
          vk::take_own_failure(result).text());
}

void CommandBuffer::end() {
  leave_subpass();
  if (instrumented()) end_instrumentation();
  query_commands_.resolve_ready();
  if (state_.driver_queries && !is_secondary()) {
    state_.status.note(state_.driver_queries->record_others(*state_.queries));
  }
  finish_draws();
  gather_records();
  if (state_.status.error == VK_SUCCESS) return;
  state_.device.context.messages.notice(
      "TALLY-uncounted-commands", VK_OBJECT_TYPE_COMMAND_BUFFER, vk::handle_bits(handle()),
      fmt::format(
          "commands of a command buffer run uninstrumented, and its queries and counters by "
          "region are incomplete: {}",
          state_.status.failure.text()));
}

void CommandBuffer::execute(const std::shared_ptr<CommandBuffer>& secondary) {
  const CommandState& executed = secondary->state_;
  state_.instrumentation.execute(executed.instrumentation);
  if (state_.queries) {
    state_.queries->execute(*executed.queries);
    if (state_.driver_queries) state_.driver_queries->execute(*executed.driver_queries);
    query_commands_.resolve_ready();
  }
  if (!state_.regions) return;
  state_.status.note(state_.regions->link(*executed.regions));
  if (executed.regions->captures()) capturing_.push_back(secondary);
}

void CommandBuffer::begin_instrumentation(const std::shared_ptr<Instrumentation>& object) {
  state_.instrumentation.begin(object);
  state_.bound.end_runs();
  state_.status.set(RecordingStatus::kInstrumented);
  state_.status.set(RecordingStatus::kDirtyPipelines);
}

void CommandBuffer::end_instrumentation() {
  state_.instrumentation.end();
  state_.status.clear(RecordingStatus::kInstrumented);
  state_.status.set(RecordingStatus::kDirtyPipelines);
}

void CommandBuffer::begin_capture(RegionRequest request) {
  state_.status.assign(RecordingStatus::kOnlyInvocations, request.counts_only_invocations());
  const VkResult result = state_.regions->begin_pass(std::move(request));
  if (result != VK_SUCCESS) {
    state_.device.context.messages.notice("TALLY-uncounted-pass", VK_OBJECT_TYPE_COMMAND_BUFFER,
                                          vk::handle_bits(handle()),
                                          fmt::format("a render pass is not counted by region: {}",
                                                      vk::take_own_failure(result).text()));
    return;
  }
  state_.status.set(RecordingStatus::kRegions);
  state_.bound.restore_after_dispatch();
  state_.status.set(RecordingStatus::kDirtyPipelines);
}

void CommandBuffer::begin_pass(const RenderPassShape& shape, VkExtent2D area, bool suspending) {
  suspended_ = suspending;
  state_.bound.begin_pass(area);
  if (state_.queries) state_.queries->begin_pass(shape, suspending);
}

void CommandBuffer::next_subpass() {
  if (state_.regions) state_.regions->next_subpass();
  if (state_.queries) state_.queries->next_subpass();
}

void CommandBuffer::end_pass() {
  if (state_.regions && state_.regions->in_pass()) {
    state_.regions->end_pass();
    state_.status.clear(RecordingStatus::kRegions);
    state_.status.set(RecordingStatus::kDirtyPipelines);
    state_.bound.restore_after_dispatch();
  }
  if (state_.queries) query_commands_.end_pass();
}

void CommandBuffer::continue_pass() {
  if (state_.queries) state_.queries->continue_pass();
  if (!state_.regions) return;
  const VkResult result = state_.regions->begin_continuing();
  if (result != VK_SUCCESS) {
    fail(result);
    return;
  }
  state_.status.set(RecordingStatus::kRegions);
}

}  // namespace tally::counters
