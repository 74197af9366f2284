#include "counters/state/query_recorder.h"

#include <algorithm>
#include <utility>

#include "counters/state/device.h"
#include "vk/chain.h"

namespace tally::counters {
namespace {

// Of one command's arguments: more are not copied, and the command is an error of the query.
constexpr VkDeviceSize kMostArgumentBytes = 16 << 20;

constexpr VkAccessFlags kShaderAccess = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
constexpr VkAccessFlags kTransferAccess =
    VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
constexpr VkAccessFlags kAnyAccess = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;

// Types of queries that may be active in a primary while it executes secondaries.
bool inheritable(const QueryKind& kind) {
  return kind.type != VK_QUERY_TYPE_PERFORMANCE_QUERY_KHR &&
         kind.type != VK_QUERY_TYPE_PERFORMANCE_QUERY_INTEL;
}

}  // namespace

class QueryRecorder::Unconditioned {
 public:
  explicit Unconditioned(const QueryRecorder& recorder) : recorder_(recorder) {
    if (recorder_.condition_) {
      recorder_.device_.next().CmdEndConditionalRenderingEXT(recorder_.commands_);
    }
  }
  ~Unconditioned() {
    if (recorder_.condition_) {
      recorder_.device_.next().CmdBeginConditionalRenderingEXT(recorder_.commands_,
                                                               &*recorder_.condition_);
    }
  }
  Unconditioned(const Unconditioned&) = delete;
  Unconditioned& operator=(const Unconditioned&) = delete;

 private:
  const QueryRecorder& recorder_;
};

QueryRecorder::QueryRecorder(Device& device, VkCommandBuffer commands, bool secondary)
    : device_(device),
      commands_(commands),
      secondary_(secondary),
      batches_(device.instrumentation()->host_pages),
      word_pages_(device.instrumentation()->words) {}

void QueryRecorder::reset() {
  InstrumentationState& state = *device_.instrumentation();
  for (const RecordPage& page : pages_) state.records.release(page);
  pages_.clear();
  word_pages_.reset();
  used_ = 0;
  words_.clear();
  inherits_ = in_pass_ = suspending_ = defers_timestamps_ = false;
  condition_.reset();
  shape_ = {};
  subpass_ = 0;
  shader_targets_ = 0;
  errors_ = 0;
  marker_.reset();
  stream_marker_.reset();
  totals_ = {};
  active_.clear();
  feedback_.reset();
  work_.clear();
  interval_begin_ = 0;
  batches_.reset();
  kept_pools_.clear();
}

void QueryRecorder::begin_pass(const RenderPassShape& shape, bool suspending) {
  if (!in_pass_) count(CommandMetric::RenderPasses);
  in_pass_ = true;
  suspending_ = suspending;
  shape_ = shape;
  subpass_ = 0;
}

void QueryRecorder::inherit(const VkCommandBufferInheritanceInfo& info,
                            const RenderPassShape& shape) {
  shape_ = shape;
  subpass_ = info.renderPass != VK_NULL_HANDLE ? info.subpass : 0;
  inherits_ = info.occlusionQueryEnable == VK_TRUE || info.pipelineStatistics != 0;
  if (inherits_) ++shader_targets_;
  const auto* condition = vk::find_in_chain<VkCommandBufferInheritanceConditionalRenderingInfoEXT>(
      info.pNext, VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_CONDITIONAL_RENDERING_INFO_EXT);
  defers_timestamps_ = condition && condition->conditionalRenderingEnable == VK_TRUE;
}

void QueryRecorder::begin_condition(const VkConditionalRenderingBeginInfoEXT& condition) {
  if (in_pass_) return;  // and it ends there
  condition_ = condition;
  condition_->pNext = nullptr;
}

VkResult QueryRecorder::write_timestamp(const std::shared_ptr<QueryPool>& pool, uint32_t query) {
  if (std::ranges::find(kept_pools_, pool) == kept_pools_.end()) kept_pools_.push_back(pool);
  if (!in_pass_ && !defers_timestamps_) {
    const Unconditioned unconditioned(*this);
    return record_timestamp({{pool, query}, 1});
  }
  work_.timestamps.push_back({{pool, query}, std::max(1u, shape_.views_in(subpass_))});
  return VK_SUCCESS;
}

// After all that came before, whatever stage was named: a later one is allowed.
VkResult QueryRecorder::record_timestamp(const QueryTimestamp& timestamp) {
  const DeviceClock* clock = device_.queries()->clock.get();
  if (!clock) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  HostBlock parameters;
  const VkResult result = batches_.write_timestamp(timestamp, parameters);
  if (result != VK_SUCCESS) return result;
  barrier(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, kAnyAccess, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
          kShaderAccess);
  clock->program().write(commands_, parameters.address);
  barrier(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
          VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  return VK_SUCCESS;
}

// What is active changes: records from here on are others.
void QueryRecorder::begin_interval() { interval_begin_ = work_.uses.size(); }

VkResult QueryRecorder::begin(const std::shared_ptr<QueryPool>& pool, uint32_t query,
                              uint32_t index) {
  begin_interval();
  close_span();
  active_.push_back(
      {pool, query, index, std::max(1u, shape_.views_in(subpass_)), errors_, totals_});
  if (pool->needs_shaders()) ++shader_targets_;
  if (std::ranges::find(kept_pools_, pool) == kept_pools_.end()) kept_pools_.push_back(pool);
  if (pool->begin_times() != VK_NULL_HANDLE) {
    device_.next().CmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                                     pool->begin_times(), query);
  }
  return open_span();
}

VkResult QueryRecorder::end(const std::shared_ptr<QueryPool>& pool, uint32_t query,
                            uint32_t index) {
  const auto found = std::ranges::find_if(active_, [&](const Active& one) {
    return one.pool == pool && one.query == query && one.index == index;
  });
  if (found == active_.end()) return VK_SUCCESS;
  begin_interval();
  close_span();
  if (pool->end_times() != VK_NULL_HANDLE) {
    device_.next().CmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                     pool->end_times(), query);
  }
  const QueryKind& kind = pool->kind();
  uint64_t errors = errors_ - found->errors;
  if (kind.counts_last_primitives()) {
    constexpr auto kUnknown = static_cast<size_t>(CommandMetric::UnknownPrimitives);
    errors += totals_[kUnknown] - found->totals[kUnknown];
  }
  QueryEnd finish{{pool, query}, found->views, static_cast<uint32_t>(errors), {}};
  for (const QueryRow& row : kind.rows) {
    uint64_t& sum = finish.constants.emplace_back();
    for (const QuerySource& source : row) {
      sum += constant(source, *found);
    }
  }
  work_.ends.push_back(std::move(finish));
  if (pool->needs_shaders()) --shader_targets_;
  active_.erase(found);
  return open_span();
}

VkResult QueryRecorder::begin_feedback(const probe::QueryFeedback& description,
                                       FeedbackStart& start) {
  VkDeviceAddress address = 0;
  const VkResult result = reserve(probe::kRecordAlignment, address);
  if (result != VK_SUCCESS) return result;
  const RecordPage& page = pages_.back();
  feedback_ = {description, 0};
  feedback_->span.flags = probe::QueryFeedback::kFirst;
  feedback_->span.room = address;
  feedback_->span.starts = address + probe::QueryFeedback::kStreams * sizeof(uint64_t);
  start = {page.chunk->buffer(), page.offset + (feedback_->span.starts - page.address)};
  begin_interval();
  return open_span();
}

void QueryRecorder::end_feedback() {
  begin_interval();
  close_span();
  feedback_.reset();
}

VkResult QueryRecorder::open_span() {
  if (!feedback_) return VK_SUCCESS;
  probe::QueryFeedback& span = feedback_->span;
  const VkResult result = reserve(probe::kRecordAlignment, span.needs);
  if (result != VK_SUCCESS) return result;
  feedback_->primitives = totals_[static_cast<size_t>(CommandMetric::LastPrimitives)];
  std::ranges::fill(span.rows, 0);
  for (const Active& one : active_) {
    if (one.pool->kind().type != VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT) continue;
    if (one.index >= probe::QueryFeedback::kStreams) continue;
    span.rows[one.index] = one.pool->slot(one.query) + probe::kQuerySlotHeader;
  }
  return VK_SUCCESS;
}

void QueryRecorder::close_span() {
  if (!feedback_ || feedback_->span.needs == 0) return;
  probe::QueryFeedback& span = feedback_->span;
  span.assembled =
      totals_[static_cast<size_t>(CommandMetric::LastPrimitives)] - feedback_->primitives;
  work_.spans.push_back(span);
  span.flags = 0;
  span.needs = 0;
}

void QueryRecorder::add_feedback_target(std::vector<QueryTarget>& targets) const {
  if (feedback_ && feedback_->span.needs != 0) {
    targets.push_back({.needs = feedback_->span.needs});
  }
}

// What is known now of a query that ends.
uint64_t QueryRecorder::constant(const QuerySource& source, const Active& query) const {
  const auto metric = static_cast<size_t>(source.command);
  switch (source.kind) {
    case QuerySource::Kind::Command:
      return query.counts_commands() ? totals_[metric] - query.totals[metric] : 0;
    case QuerySource::Kind::Marker:
      return marker_.value_or(0);
    case QuerySource::Kind::StreamMarker:
      return stream_marker_.value_or(0);
    case QuerySource::Kind::HasMarkers:
      return (marker_ ? 1u : 0u) | (stream_marker_ ? 2u : 0u);
    default:
      return 0;
  }
}

VkResult QueryRecorder::reserve(uint64_t bytes, VkDeviceAddress& address) {
  if (pages_.empty() || pages_.back().size - used_ < bytes) {
    RecordPage page;
    const VkResult result = device_.instrumentation()->records.acquire(bytes, page);
    if (result != VK_SUCCESS) return result;
    pages_.push_back(page);
    used_ = 0;
  }
  address = pages_.back().address + used_;
  used_ += bytes;
  return VK_SUCCESS;
}

QueryUse& QueryRecorder::add_use(const std::shared_ptr<const Program>& program,
                                 const Record& record) {
  QueryUse& use = work_.uses.emplace_back();
  use.program = program;
  use.record = record;
  use.inherited = inherits_;
  for (const Active& one : active_) {
    if (one.pool->needs_shaders()) use.targets.push_back({one.pool, one.query, one.index});
  }
  add_feedback_target(use.targets);
  return use;
}

VkResult QueryRecorder::record(const std::shared_ptr<const Program>& program, uint32_t shards_log2,
                               Record& record) {
  for (size_t i = work_.uses.size(); i > interval_begin_; --i) {
    const QueryUse& use = work_.uses[i - 1];
    if (use.program != program || use.previous != 0) continue;
    record = use.record;
    return VK_SUCCESS;
  }
  const uint64_t main_bytes = slot_bytes(*program, AddressSlot::Main, shards_log2);
  const uint64_t fragment_bytes = slot_bytes(*program, AddressSlot::Fragment, shards_log2);
  record.shards_log2 = shards_log2;
  const VkResult result = reserve(main_bytes + fragment_bytes, record.main);
  if (result != VK_SUCCESS) return result;
  record.fragment = record.main + main_bytes;
  add_use(program, record);
  return VK_SUCCESS;
}

void QueryRecorder::share(const std::shared_ptr<const Program>& program, const Record& record,
                          uint64_t bytes) {
  add_use(program, record).previous = bytes;
}

VkResult QueryRecorder::count_indirect(const IndirectCommand& command, const DrawFacts& facts) {
  const VkDeviceSize bytes = argument_bytes(command);
  if (bytes > kMostArgumentBytes) {
    count_error();
    return VK_SUCCESS;
  }
  QueryArguments indirect;
  indirect.inherited = inherits_;
  for (const Active& one : active_) {
    if (one.counts_commands() && !one.pool->indirect_pairs().empty()) {
      indirect.targets.push_back({one.pool, one.query});
    }
  }
  add_feedback_target(indirect.targets);
  if (indirect.targets.empty() && !inherits_) return VK_SUCCESS;
  const VkDeviceSize count_bytes = command.count_buffer != VK_NULL_HANDLE ? sizeof(uint64_t) : 0;
  VkDeviceAddress address = 0;
  // Records begin at multiples of their alignment, and follow.
  const VkResult result = reserve((count_bytes + bytes + probe::kRecordAlignment - 1) /
                                      probe::kRecordAlignment * probe::kRecordAlignment,
                                  address);
  if (result != VK_SUCCESS) return result;
  const RecordPage& page = pages_.back();
  const VkDeviceSize offset = page.offset + (address - page.address);
  indirect.target = page.chunk->buffer();
  indirect.operation = describe(command, facts);
  indirect.operation.arguments = address + count_bytes;
  indirect.buffer = command.buffer;
  indirect.arguments = {command.offset, offset + count_bytes, bytes};
  if (count_bytes != 0) {
    indirect.operation.count_at = address;
    indirect.count_buffer = command.count_buffer;
    indirect.count = {command.count_offset, offset, sizeof(uint32_t)};
  }
  indirect.copied = !in_pass_ && !secondary_;
  if (indirect.copied) copy_arguments(indirect);
  work_.arguments.push_back(std::move(indirect));
  return VK_SUCCESS;
}

void QueryRecorder::copy_arguments(const QueryArguments& indirect) const {
  const DeviceTable& next = device_.next();
  barrier(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, kAnyAccess, VK_PIPELINE_STAGE_TRANSFER_BIT,
          kTransferAccess);
  if (indirect.arguments.size != 0) {
    next.CmdCopyBuffer(commands_, indirect.buffer, indirect.target, 1, &indirect.arguments);
  }
  if (indirect.count_buffer != VK_NULL_HANDLE) {
    next.CmdCopyBuffer(commands_, indirect.count_buffer, indirect.target, 1, &indirect.count);
  }
}

void QueryRecorder::note_words(const Words& words) {
  if (device_.queries()->emulated.performance) words_.push_back(words);
}

void QueryRecorder::execute(const QueryRecorder& secondary) {
  for (const QueryUse& use : secondary.work_.uses) {
    QueryUse& taken = work_.uses.emplace_back(use);
    taken.inherited = inherits_;
    if (!use.inherited) continue;
    for (const Active& one : active_) {
      if (inheritable(one.pool->kind()) && one.pool->needs_shaders()) {
        taken.targets.push_back({one.pool, one.query, one.index});
      }
    }
  }
  for (const QueryArguments& indirect : secondary.work_.arguments) {
    QueryArguments& taken = work_.arguments.emplace_back(indirect);
    taken.inherited = inherits_;
    if (!indirect.inherited) continue;
    for (const Active& one : active_) {
      if (inheritable(one.pool->kind()) && one.counts_commands()) {
        taken.targets.push_back({one.pool, one.query});
      }
    }
  }
  work_.timestamps.insert(work_.timestamps.end(), secondary.work_.timestamps.begin(),
                          secondary.work_.timestamps.end());
  work_.ends.insert(work_.ends.end(), secondary.work_.ends.begin(), secondary.work_.ends.end());
  work_.spans.insert(work_.spans.end(), secondary.work_.spans.begin(), secondary.work_.spans.end());
  for (const auto& pool : secondary.kept_pools_) kept_pools_.push_back(pool);
  for (size_t i = 0; i < kCommandMetrics; ++i) totals_[i] += secondary.totals_[i];
  errors_ += secondary.errors_;
  words_.insert(words_.end(), secondary.words_.begin(), secondary.words_.end());
  if (secondary.marker_) marker_ = secondary.marker_;
  if (secondary.stream_marker_) stream_marker_ = secondary.stream_marker_;
  begin_interval();
}

void QueryRecorder::barrier(VkPipelineStageFlags from, VkAccessFlags wrote, VkPipelineStageFlags to,
                            VkAccessFlags uses) const {
  const VkMemoryBarrier memory{
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = wrote, .dstAccessMask = uses};
  device_.next().CmdPipelineBarrier(commands_, from, to, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

// The timestamps are then reset: the commands may be submitted again, for another pass.
void QueryRecorder::copy_times() const {
  for (const QueryEnd& finish : work_.ends) {
    const QueryPool& pool = *finish.target.pool;
    if (pool.begin_times() == VK_NULL_HANDLE) continue;
    const uint32_t query = finish.target.query;
    constexpr VkQueryResultFlags kFlags = VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT;
    const auto copy = [&](VkQueryPool times, size_t at) {
      device_.next().CmdCopyQueryPoolResults(commands_, times, query, 1, pool.buffer(),
                                             pool.slot_offset(query) + at, sizeof(uint64_t),
                                             kFlags);
    };
    copy(pool.begin_times(), offsetof(probe::QuerySlot, begin));
    copy(pool.end_times(), offsetof(probe::QuerySlot, end));
    device_.next().CmdResetQueryPool(commands_, pool.begin_times(), query, 1);
    device_.next().CmdResetQueryPool(commands_, pool.end_times(), query, 1);
  }
}

// A query that only has a status: also on queues that can do no more than copy.
void QueryRecorder::finish_without_rows(const QueryEnd& finish) const {
  const QueryPool& pool = *finish.target.pool;
  const uint32_t last = std::min(finish.target.query + finish.views, pool.count());
  for (uint32_t query = finish.target.query; query < last; ++query) {
    const probe::QuerySlot slot{pool.all_passes(), finish.errors, 0, 0, 0};
    device_.next().CmdUpdateBuffer(commands_, pool.buffer(), pool.slot_offset(query), sizeof slot,
                                   &slot);
  }
}

VkResult QueryRecorder::flush() {
  const Unconditioned unconditioned(*this);
  const QueryPrograms& programs = device_.queries()->programs;
  HostBlock batch;
  probe::QueryBatch header;
  VkResult result = device_.queries()->programs.prepare();
  if (result == VK_SUCCESS) result = batches_.write(work_, batch, header);
  VkDeviceAddress spans = 0;
  if (result == VK_SUCCESS && !work_.spans.empty()) {
    result = batches_.write_spans(work_.spans, spans);
  }
  if (result == VK_SUCCESS) record_flush(programs, batch.address, header, spans);
  for (const QueryTimestamp& timestamp : work_.timestamps) {
    if (result == VK_SUCCESS) result = record_timestamp(timestamp);
  }
  work_.clear();
  begin_interval();
  return result;
}

VkResult QueryRecorder::flush_into(VkCommandBuffer behind) {
  const VkCommandBuffer commands = std::exchange(commands_, behind);
  const VkResult result = flush();
  commands_ = commands;
  return result;
}

void QueryRecorder::record_flush(const QueryPrograms& programs, VkDeviceAddress batch,
                                 const probe::QueryBatch& header, VkDeviceAddress spans) const {
  for (const QueryArguments& indirect : work_.arguments) {
    if (!indirect.copied) copy_arguments(indirect);
  }
  barrier(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, kAnyAccess, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
          kAnyAccess);
  copy_times();
  for (const QueryEnd& finish : work_.ends) {
    if (finish.constants.empty()) finish_without_rows(finish);
  }
  if (header.records != 0) programs.add_records(commands_, batch, header.records);
  if (header.indirects != 0) programs.add_indirects(commands_, batch, header.indirects);
  const auto wait = [&] {
    barrier(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
            kShaderAccess | kTransferAccess, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, kShaderAccess);
  };
  if (spans != 0) {
    wait();
    programs.follow_feedback(commands_, spans);
  }
  if (header.finishes != 0) {
    wait();
    programs.finish(commands_, batch, header.finishes);
  }
  barrier(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, kAnyAccess,
          VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT,
          kAnyAccess | VK_ACCESS_HOST_READ_BIT);
}

VkResult QueryRecorder::copy_results(const QueryPool& pool, const QueryPool::Request& request,
                                     VkBuffer target, VkDeviceSize target_offset) {
  const DeviceTable& next = device_.next();
  VkResult result = device_.queries()->programs.prepare();
  if (result != VK_SUCCESS) return result;
  const uint64_t bytes = pool.result_bytes(request.flags);
  RecordPage page;
  result = device_.instrumentation()->records.acquire(bytes * request.count, page);
  if (result != VK_SUCCESS) return result;
  pages_.push_back(page);
  used_ = page.size;

  HostBlock parameters;
  result = batches_.write_copy(pool, request, page.address, parameters);
  if (result != VK_SUCCESS) return result;

  // Work that made the queries available came before, and wrote through shaders or copies.
  barrier(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, kAnyAccess, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
          kAnyAccess);
  {
    const Unconditioned unconditioned(*this);
    device_.queries()->programs.copy(commands_, parameters.address, request.count);
  }
  barrier(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, kShaderAccess, VK_PIPELINE_STAGE_TRANSFER_BIT,
          kTransferAccess);
  if (pool.driver()) return copy_mixed(pool, request, page, target, target_offset);
  std::vector<VkBufferCopy> regions;
  const bool packed = request.stride == bytes || request.count == 1;
  for (uint32_t i = 0; i < (packed ? 1 : request.count); ++i) {
    regions.push_back({page.offset + i * bytes, target_offset + i * request.stride,
                       packed ? bytes * request.count : bytes});
  }
  next.CmdCopyBuffer(commands_, page.chunk->buffer(), target, static_cast<uint32_t>(regions.size()),
                     regions.data());
  return VK_SUCCESS;
}

// Both halves side by side, then every result to its place.
VkResult QueryRecorder::copy_mixed(const QueryPool& pool, const QueryPool::Request& request,
                                   const RecordPage& ours, VkBuffer target,
                                   VkDeviceSize target_offset) {
  const DeviceTable& next = device_.next();
  const DriverPool& driver = *pool.driver();
  const VkDeviceSize bytes[] = {pool.result_bytes(0), driver.drivers_bytes()};
  RecordPage drivers;
  const VkResult result =
      device_.instrumentation()->records.acquire(bytes[1] * request.count, drivers);
  if (result != VK_SUCCESS) return result;
  pages_.push_back(drivers);
  used_ = drivers.size;
  next.CmdCopyQueryPoolResults(commands_, driver.handle(), request.first, request.count,
                               drivers.chunk->buffer(), drivers.offset, bytes[1],
                               request.flags & VK_QUERY_RESULT_WAIT_BIT);
  barrier(VK_PIPELINE_STAGE_TRANSFER_BIT, kTransferAccess, VK_PIPELINE_STAGE_TRANSFER_BIT,
          kTransferAccess);
  const RecordPage* pages[] = {&ours, &drivers};
  std::vector<VkBufferCopy> regions[2];
  const std::vector<DriverPool::Run> runs = driver.runs();
  for (uint32_t i = 0; i < request.count; ++i) {
    for (const DriverPool::Run& run : runs) {
      const size_t half = run.is_drivers ? 1 : 0;
      regions[half].push_back({pages[half]->offset + i * bytes[half] + run.copy.srcOffset,
                               target_offset + i * request.stride + run.copy.dstOffset,
                               run.copy.size});
    }
  }
  for (size_t half = 0; half < 2; ++half) {
    next.CmdCopyBuffer(commands_, pages[half]->chunk->buffer(), target,
                       static_cast<uint32_t>(regions[half].size()), regions[half].data());
  }
  return VK_SUCCESS;
}

void QueryRecorder::set_pass(uint32_t pass) {
  batches_.set_pass(pass);
  for (const Words& words : words_) {
    words.page.write(words.index, pass == 0 ? words.record : 0, words.region);
  }
}

}  // namespace tally::counters
