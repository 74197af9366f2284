#include "counters/features/queries/recorder.h"

#include <tally/vulkan_newest.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "counters/features/performance/counters.h"
#include "counters/features/queries/state.h"
#include "vk/own_call.h"

namespace tally::counters {

void QueryTimes::write_begin(const QueryPool& pool, uint32_t query) const {
  if (pool.begin_times() == VK_NULL_HANDLE) return;
  // The timer of VK_QCOM_elapsed_timer_query starts when all earlier commands have completed.
  const bool after_commands = pool.kind().type == VK_QUERY_TYPE_TIME_ELAPSED_QCOM;
  context_.next.CmdWriteTimestamp(
      context_.commands,
      after_commands ? VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT : VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
      pool.begin_times(), query);
}

void QueryTimes::write_end(const QueryPool& pool, uint32_t query) const {
  if (pool.end_times() == VK_NULL_HANDLE) return;
  context_.next.CmdWriteTimestamp(context_.commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                  pool.end_times(), query);
}

// The timestamps are reset after the copy, since the commands may be submitted again for another
// pass. In a render pass with several views the driver writes as many queries; the first has the
// time.
void QueryTimes::copy(std::span<const FinishedQuery> finished) const {
  for (const FinishedQuery& one : finished) {
    const QueryPool& pool = *one.target.pool;
    if (pool.begin_times() == VK_NULL_HANDLE) continue;
    const uint32_t query = one.target.query;
    constexpr VkQueryResultFlags kFlags = VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT;
    const auto copy = [&](VkQueryPool times, size_t at) {
      context_.next.CmdCopyQueryPoolResults(context_.commands, times, query, 1, pool.buffer(),
                                            pool.slot_offset(query) + at, sizeof(uint64_t), kFlags);
    };
    copy(pool.begin_times(), offsetof(probe::QuerySlot, begin));
    copy(pool.end_times(), offsetof(probe::QuerySlot, end));
    context_.next.CmdResetQueryPool(context_.commands, pool.begin_times(), query, one.views);
    context_.next.CmdResetQueryPool(context_.commands, pool.end_times(), query, one.views);
  }
}

// The timestamp is written after all earlier commands, whatever stage the application named. The
// specification allows a later stage.
VkResult QueryTimes::record(const QueryTimestamp& timestamp) {
  const DeviceClock* clock = context_.state.clock.get();
  if (!clock) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  HostBlock parameters;
  TALLY_TRY(batches_.write_timestamp(timestamp, parameters));
  context_.barrier(QueryContext::kAnything, QueryContext::kShader);
  clock->program().write(context_.dispatches(), parameters.address);
  context_.barrier({VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT},
                   {VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT});
  return VK_SUCCESS;
}

namespace {

QuerySpace space_of(const RecordPage& page) {
  return {page.address, page.chunk->buffer(), page.offset};
}

}  // namespace

VkResult ResultCopy::record(const QueryPool& pool, const QueryPool::Request& request,
                            const Condition& condition, const NamedMemory& target) {
  QueryPrograms& programs = context_.state.programs;
  TALLY_TRY(programs.prepare());
  const uint64_t bytes = pool.result_bytes(request.flags);
  RecordPage page;
  TALLY_TRY(memory_.reserve_page(bytes * request.count, page));
  HostBlock parameters;
  TALLY_TRY(batches_.write_copy(pool, request, page.address, parameters));

  // Earlier commands made the queries available, with shaders or copies.
  context_.barrier(QueryContext::kAnything, QueryContext::kAnything);
  {
    const Condition::Interruption unconditioned(condition, context_.next, context_.commands);
    programs.copy(context_.dispatches(), parameters.address, request.count);
  }
  context_.barrier(QueryContext::kShader, QueryContext::kTransfer);
  if (pool.driver()) return copy_mixed(pool, request, page, target);
  std::vector<VkBufferCopy> regions;
  const bool packed = request.stride == bytes || request.count == 1;
  for (uint32_t i = 0; i < (packed ? 1 : request.count); ++i) {
    regions.push_back({i * bytes, i * request.stride, packed ? bytes * request.count : bytes});
  }
  copy_out(context_.next, context_.commands, space_of(page), target, std::move(regions));
  return VK_SUCCESS;
}

// The driver's results go to another page of the layer. Each result is then copied from its page.
VkResult ResultCopy::copy_mixed(const QueryPool& pool, const QueryPool::Request& request,
                                const RecordPage& layer_page, const NamedMemory& target) {
  const DriverPool& driver = *pool.driver();
  const VkDeviceSize bytes[] = {pool.result_bytes(0), driver.drivers_bytes()};
  RecordPage driver_page;
  TALLY_TRY(memory_.reserve_page(bytes[1] * request.count, driver_page));
  context_.next.CmdCopyQueryPoolResults(
      context_.commands, driver.handle(), request.first, request.count, driver_page.chunk->buffer(),
      driver_page.offset, bytes[1], request.flags & VK_QUERY_RESULT_WAIT_BIT);
  context_.barrier(QueryContext::kTransfer, QueryContext::kTransfer);
  const RecordPage* pages[] = {&layer_page, &driver_page};
  std::vector<VkBufferCopy> regions[2];
  const std::vector<DriverPool::Run> runs = driver.runs();
  for (uint32_t i = 0; i < request.count; ++i) {
    for (const DriverPool::Run& run : runs) {
      const size_t half = run.is_drivers ? 1 : 0;
      regions[half].push_back({i * bytes[half] + run.copy.srcOffset,
                               i * request.stride + run.copy.dstOffset, run.copy.size});
    }
  }
  for (size_t half = 0; half < 2; ++half) {
    copy_out(context_.next, context_.commands, space_of(*pages[half]), target,
             std::move(regions[half]));
  }
  return VK_SUCCESS;
}

void PassSelection::reset() {
  condition_.reset();
  conditions_.clear();
  pointers_.clear();
}

VkResult PassSelection::begin_variant(bool counting) {
  if (!condition_) {
    HostBlock word;
    TALLY_TRY(batches_.take_word(word));
    condition_ = word;
    conditions_.push_back(word);
  }
  constexpr VkConditionalRenderingFlagsEXT kInverted = VK_CONDITIONAL_RENDERING_INVERTED_BIT_EXT;
  const VkConditionalRenderingBeginInfoEXT condition{
      .sType = VK_STRUCTURE_TYPE_CONDITIONAL_RENDERING_BEGIN_INFO_EXT,
      .buffer = condition_->chunk->buffer(),
      .offset = condition_->offset,
      .flags = counting ? 0u : kInverted};
  context_.next.CmdBeginConditionalRenderingEXT(context_.commands, &condition);
  return VK_SUCCESS;
}

void PassSelection::end_variant() const {
  context_.next.CmdEndConditionalRenderingEXT(context_.commands);
}

// Only performance queries have several passes.
void PassSelection::add(const DescriptorPointers& pointers) {
  if (context_.state.emulated.performance) pointers_.push_back(pointers);
}

void PassSelection::follow(const PassSelection& executed) {
  conditions_.insert(conditions_.end(), executed.conditions_.begin(), executed.conditions_.end());
  pointers_.insert(pointers_.end(), executed.pointers_.begin(), executed.pointers_.end());
  batches_.follow(executed.batches_);
}

void PassSelection::select(uint32_t pass) const {
  batches_.set_pass(pass);
  const bool counts = pass == 0;
  const uint32_t condition = counts ? 1 : 0;
  for (const HostBlock& word : conditions_) word.write(0, &condition, sizeof condition);
  for (const DescriptorPointers& one : pointers_) {
    one.page.write(one.index, counts ? one.record : 0, one.region);
  }
}

QueryRecorder::QueryRecorder(QueryState& state, VkCommandBuffer commands,
                             const DescriptorMode& descriptors)
    : context_{state, state.device.next, commands, descriptors},
      memory_(state.memory.records),
      batches_(state.memory.host_pages),
      word_pages_(state.memory.words),
      feedback_(memory_),
      samples_(context_, memory_),
      arguments_(context_, memory_),
      times_(context_, batches_),
      copies_(context_, memory_, batches_),
      passes_(context_, batches_) {}

void QueryRecorder::reset() {
  memory_.reset();
  word_pages_.reset();
  active_.reset();
  inherited_.reset();
  feedback_.reset();
  samples_.reset();
  passes_.reset();
  condition_.end();
  totals_ = {};
  work_.clear();
  interval_begin_ = 0;
  batches_.reset();
  kept_pools_.clear();
  known_pool_ = {};
  conditioned_ = in_pass_ = suspending_ = lacks_samples_ = repeatable_ = false;
  shape_ = {};
  subpass_ = 0;
}

void QueryRecorder::inherit(const VkCommandBufferBeginInfo& info, const RenderPassShape& shape,
                            bool suspending) {
  const VkCommandBufferInheritanceInfo& inherited = *info.pInheritanceInfo;
  shape_ = shape;
  suspending_ = suspending;
  repeatable_ = (info.flags & VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT) != 0;
  subpass_ = inherited.renderPass != VK_NULL_HANDLE ? inherited.subpass : 0;
  inherited_.inherit(inherited, context_.state.emulated);
  if (inherited_.any()) active_.inherit(inherited_.occlusion());
}

void QueryRecorder::execute(const QueryRecorder& secondary) {
  inherited_.take_bindings(secondary.inherited_, secondary.work_, active_, totals_, work_);
  inherited_.take_arguments(secondary.work_, active_, work_);
  work_.take_rest(secondary.work_);
  for (const auto& pool : secondary.kept_pools_) keep(pool);
  totals_.add(secondary.totals_);
  passes_.follow(secondary.passes_);
  begin_interval();
}

void QueryRecorder::begin_pass(const RenderPassShape& shape, bool suspending) {
  if (!in_pass_) count(CommandMetric::RenderPasses);
  in_pass_ = true;
  suspending_ = suspending;
  shape_ = shape;
  subpass_ = 0;
}

// In a render pass with several views a query takes as many queries of the pool.
uint32_t QueryRecorder::views() const { return std::max(1u, shape_.views_in(subpass_)); }

void QueryRecorder::keep(const std::shared_ptr<QueryPool>& pool) {
  if (std::ranges::find(kept_pools_, pool) == kept_pools_.end()) kept_pools_.push_back(pool);
}

VkResult QueryRecorder::begin(const QueryKey& key) {
  if (key.pool->kind().type == VK_QUERY_TYPE_OCCLUSION) end_samples();
  begin_interval();
  feedback_.close_span(totals_, work_);
  active_.begin(key, views(), totals_);
  keep(key.pool);
  times_.write_begin(*key.pool, key.query);
  return feedback_.open_span(active_, totals_);
}

VkResult QueryRecorder::end(const QueryKey& key) {
  if (!active_.contains(key)) return VK_SUCCESS;
  if (key.pool->kind().type == VK_QUERY_TYPE_OCCLUSION) end_samples();
  begin_interval();
  feedback_.close_span(totals_, work_);
  times_.write_end(*key.pool, key.query);
  work_.finished.push_back(active_.end(key, totals_));
  return feedback_.open_span(active_, totals_);
}

VkResult QueryRecorder::write_timestamp(const std::shared_ptr<QueryPool>& pool, uint32_t query) {
  keep(pool);
  if (!in_pass_ && !inherited_.conditional()) {
    const Condition::Interruption unconditioned(condition_, context_.next, context_.commands);
    const VkResult result = times_.record({{pool.get(), query}, 1});
    if (result != VK_SUCCESS) finish_failed(*pool, query, 1);
    return result;
  }
  work_.timestamps.push_back({{pool.get(), query}, views()});
  return VK_SUCCESS;
}

VkResult QueryRecorder::copy_results(const QueryPool& pool, const QueryPool::Request& request,
                                     const NamedMemory& target) {
  return copies_.record(pool, request, condition_, target);
}

VkResult QueryRecorder::count_indirect(const IndirectCommand& command, const DrawFacts& facts) {
  if (ArgumentRecorder::exceeds_limits(command)) {
    count_error();
    return VK_SUCCESS;
  }
  QueryArguments entry;
  entry.inherited = inherited_.any();
  active_.add_command_targets(ActiveQueries::Scope::All, entry.targets);
  feedback_.add_target(entry.targets);
  if (entry.targets.empty() && !entry.inherited) return VK_SUCCESS;
  return arguments_.add(command, facts, std::move(entry), !in_pass_, work_);
}

VkResult QueryRecorder::begin_feedback(const probe::QueryFeedback& description,
                                       FeedbackStart& start) {
  TALLY_TRY(feedback_.begin(description, start));
  begin_interval();
  return feedback_.open_span(active_, totals_);
}

void QueryRecorder::end_feedback() {
  begin_interval();
  feedback_.close_span(totals_, work_);
  feedback_.end();
}

void QueryRecorder::end_condition() {
  conditioned_ = false;
  condition_.end();
}

// A query of the driver is copied and reset after the render pass, in the command buffer that ends
// the pass, and must not begin again before. A secondary command buffer for simultaneous use may be
// executed again in the same render pass, or on another queue, and rendering may be resumed in
// another command buffer. A query of the application in the same command buffer rules out the
// first.
bool QueryRecorder::may_begin_samples() const {
  return samples_.available() && in_pass_ && !suspending_ &&
         (active_.own_occlusion() || !repeatable_);
}

// The driver then counts all draws up to the end of the subpass or of the occlusion query.
VkResult QueryRecorder::count_samples_by(SampleCounter counter) {
  lacks_samples_ = false;
  if (samples_.counting()) {
    if (counter == SampleCounter::None) end_samples();
    return VK_SUCCESS;
  }
  if (counter != SampleCounter::Driver) return VK_SUCCESS;
  if (!may_begin_samples()) {
    ++totals_.sample_errors;  // the shader counts as well as it can
    lacks_samples_ = true;
    return VK_SUCCESS;
  }
  SampleCount count;
  TALLY_TRY(samples_.begin(views(), count));
  if (!samples_.precise()) ++totals_.sample_errors;
  begin_interval();
  count.inherited = active_.inherits_occlusion();
  active_.add_sample_targets(count.targets);
  work_.samples.push_back(std::move(count));
  return VK_SUCCESS;
}

void QueryRecorder::end_samples() {
  if (!samples_.counting()) return;
  samples_.end();
  begin_interval();
}

RecordBinding& QueryRecorder::add_binding(const std::shared_ptr<const Program>& program,
                                          const SharedRecord& record) {
  RecordBinding& binding = work_.bindings.emplace_back();
  binding.program = program;
  binding.record = record;
  binding.inherited = binding.reusable = inherited_.any();
  binding.samples = !samples_.counting();
  active_.note_uncounted(*program, binding.samples);
  active_.add_shader_targets(ActiveQueries::Scope::All, binding.samples, binding.targets);
  feedback_.add_target(binding.targets);
  return binding;
}

VkResult QueryRecorder::find_record(const std::shared_ptr<const Program>& program,
                                    uint32_t shards_log2, SharedRecord& record) {
  for (size_t i = work_.bindings.size(); i > interval_begin_; --i) {
    const RecordBinding& binding = work_.bindings[i - 1];
    if (binding.program != program || binding.previous != 0) continue;
    record = binding.record;
    return VK_SUCCESS;
  }
  QuerySpace space;
  const VkResult result =
      memory_.reserve_record(all_slots_bytes(*program, shards_log2), shards_log2, space);
  record = {space.address, shards_log2};
  if (result != VK_SUCCESS) return result;
  add_binding(program, record);
  return VK_SUCCESS;
}

void QueryRecorder::share(const std::shared_ptr<const Program>& program, const SharedRecord& record,
                          uint64_t bytes) {
  add_binding(program, record).previous = bytes;
}

bool QueryRecorder::runs_twice() const {
  return active_.time_apart() && !conditioned_ && !inherited_.conditional() &&
         context_.state.memory.context.conditions;
}

// While a query takes the time, the layer adds no dispatches that could wait.
bool QueryRecorder::may_wait() const {
  return active_.time_apart() && !work_.has_finished() && work_.indices.empty() &&
         work_.inputs_copied();
}

bool QueryRecorder::ready() const {
  return can_resolve() && !inherited_.driver_statistics_active() && !may_wait();
}

bool QueryRecorder::needs_results(const QueryPool& pool) const {
  const auto of_pool = [&](const auto& one) { return one.target.pool == &pool; };
  return can_resolve() && (std::ranges::any_of(work_.finished, of_pool) ||
                           std::ranges::any_of(work_.timestamps, of_pool));
}

// The application may write to its buffers after this.
VkResult QueryRecorder::copy_inputs() {
  if (in_pass_) return VK_SUCCESS;
  arguments_.copy_pending(work_);
  return samples_.copy_pending(work_);
}

VkResult QueryRecorder::resolve() {
  const Condition::Interruption unconditioned(condition_, context_.next, context_.commands);
  HostBlock batch;
  probe::QueryBatch header;
  QueryWork kept;
  VkDeviceAddress spans = 0;
  VkResult result = copy_inputs();
  if (result == VK_SUCCESS) result = context_.state.programs.prepare();
  if (result == VK_SUCCESS) result = inherited_.keep(memory_, work_, kept);
  if (result == VK_SUCCESS) result = batches_.write(work_, batch, header);
  if (result == VK_SUCCESS && !work_.spans.empty()) {
    result = batches_.write_spans(work_.spans, spans);
  }
  if (result == VK_SUCCESS) {
    record_resolve(batch.address, header, spans);
  } else {
    for (const FinishedQuery& one : work_.finished) {
      finish_failed(*one.target.pool, one.target.query, one.views);
    }
  }
  for (const QueryTimestamp& one : work_.timestamps) {
    if (result == VK_SUCCESS) result = times_.record(one);
    if (result != VK_SUCCESS) finish_failed(*one.target.pool, one.target.query, one.views);
  }
  work_.clear();
  work_.take(kept);
  inherited_.clear_executions();
  begin_interval();
  return result;
}

VkResult QueryRecorder::resolve_into(VkCommandBuffer behind) {
  const VkCommandBuffer commands = std::exchange(context_.commands, behind);
  const VkResult result = resolve();
  context_.commands = commands;
  return result;
}

void QueryRecorder::record_resolve(VkDeviceAddress batch, const probe::QueryBatch& header,
                                   VkDeviceAddress spans) const {
  const QueryPrograms& programs = context_.state.programs;
  const InternalCommands commands = context_.dispatches();
  const auto wait = [&] {
    context_.barrier({VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                      kShaderAccess | kTransferAccess},
                     QueryContext::kShader);
  };
  context_.barrier(QueryContext::kAnything, QueryContext::kAnything);
  times_.copy(work_.finished);
  for (const FinishedQuery& finished : work_.finished) {
    if (finished.constants.empty()) finish_without_rows(finished);
  }
  programs.add_records(commands, batch, header);
  if (header.indirects != 0) programs.add_indirects(commands, batch, header.indirects);
  if (spans != 0) {
    wait();
    programs.follow_feedback(commands, spans);
  }
  if (header.finishes != 0) {
    wait();
    programs.finish(commands, batch, header.finishes);
  }
  context_.barrier(QueryContext::kAnything,
                   {VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                    kAnyAccess | VK_ACCESS_HOST_READ_BIT});
}

// A query whose results cannot be computed becomes available without them, so that nobody waits for
// it for ever.
void QueryRecorder::finish_failed(const QueryPool& pool, uint32_t query, uint32_t views) const {
  context_.barrier(QueryContext::kAnything, QueryContext::kTransfer);
  for (const uint32_t last = std::min(query + views, pool.count()); query < last; ++query) {
    const probe::QuerySlot slot{pool.all_passes(), 1, 0, 0, 0};
    context_.next.CmdUpdateBuffer(context_.commands, pool.buffer(), pool.slot_offset(query),
                                  sizeof slot, &slot);
  }
  context_.barrier(QueryContext::kTransfer,
                   {VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                    kAnyAccess | VK_ACCESS_HOST_READ_BIT});
}

// A query that only has a status. Works on transfer queues too.
void QueryRecorder::finish_without_rows(const FinishedQuery& finished) const {
  const QueryPool& pool = *finished.target.pool;
  const uint32_t last = std::min(finished.target.query + finished.views, pool.count());
  for (uint32_t query = finished.target.query; query < last; ++query) {
    const probe::QuerySlot slot{pool.all_passes(), finished.errors, 0, 0, 0};
    context_.next.CmdUpdateBuffer(context_.commands, pool.buffer(), pool.slot_offset(query),
                                  sizeof slot, &slot);
  }
}

}  // namespace tally::counters
