#include "counters/state/query_recorder.h"

#include <algorithm>

#include "counters/state/device.h"
#include "counters/state/query_matrix.h"

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

QueryRecorder::QueryRecorder(Device& device, VkCommandBuffer commands, bool secondary)
    : device_(device),
      commands_(commands),
      secondary_(secondary),
      host_blocks_(device.instrumentation()->host_pages),
      word_pages_(device.instrumentation()->words) {}

void QueryRecorder::reset() {
  InstrumentationState& state = *device_.instrumentation();
  for (const RecordPage& page : pages_) state.records.release(page);
  pages_.clear();
  word_pages_.reset();
  host_blocks_.reset();
  used_ = 0;
  words_.clear();
  inherits_ = in_pass_ = suspending_ = false;
  shape_ = {};
  subpass_ = 0;
  shader_targets_ = 0;
  errors_ = 0;
  marker_.reset();
  stream_marker_.reset();
  totals_ = {};
  active_.clear();
  uses_.clear();
  interval_begin_ = 0;
  finishes_.clear();
  indirects_.clear();
  batches_.clear();
  matrices_.clear();
  pairs_.clear();
  kept_programs_.clear();
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
}

// What is active changes: records from here on are others.
void QueryRecorder::begin_interval() { interval_begin_ = uses_.size(); }

void QueryRecorder::begin(const std::shared_ptr<QueryPool>& pool, uint32_t query, uint32_t index) {
  begin_interval();
  active_.push_back(
      {pool, query, index, std::max(1u, shape_.views_in(subpass_)), errors_, totals_});
  if (pool->needs_shaders()) ++shader_targets_;
  if (std::ranges::find(kept_pools_, pool) == kept_pools_.end()) kept_pools_.push_back(pool);
  if (pool->begin_times() != VK_NULL_HANDLE) {
    device_.next().CmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                                     pool->begin_times(), query);
  }
}

void QueryRecorder::end(const std::shared_ptr<QueryPool>& pool, uint32_t query, uint32_t index) {
  const auto found = std::ranges::find_if(active_, [&](const Active& one) {
    return one.pool == pool && one.query == query && one.index == index;
  });
  if (found == active_.end()) return;
  begin_interval();
  if (pool->end_times() != VK_NULL_HANDLE) {
    device_.next().CmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                     pool->end_times(), query);
  }
  const QueryKind& kind = pool->kind();
  Finish finish{{pool, query}, found->views, static_cast<uint32_t>(errors_ - found->errors), {}};
  for (const QueryRow& row : kind.rows) {
    uint64_t& sum = finish.constants.emplace_back();
    for (const QuerySource& source : row) {
      sum += constant(source, *found);
    }
  }
  finishes_.push_back(std::move(finish));
  if (pool->needs_shaders()) --shader_targets_;
  active_.erase(found);
}

// What is known now of a query that ends.
uint64_t QueryRecorder::constant(const QuerySource& source, const Active& query) const {
  const auto metric = static_cast<size_t>(source.command);
  switch (source.kind) {
    case QuerySource::Kind::Command:
      return totals_[metric] - query.totals[metric];
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

QueryRecorder::Use& QueryRecorder::add_use(const std::shared_ptr<const Program>& program,
                                           const Record& record) {
  Use& use = uses_.emplace_back();
  use.program = program;
  use.record = record;
  use.inherited = inherits_;
  for (const Active& one : active_) {
    if (one.pool->needs_shaders()) use.targets.push_back({one.pool, one.query});
  }
  return use;
}

VkResult QueryRecorder::record(const std::shared_ptr<const Program>& program, uint32_t shards_log2,
                               Record& record) {
  for (size_t i = uses_.size(); i > interval_begin_; --i) {
    const Use& use = uses_[i - 1];
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
  Indirect indirect;
  indirect.inherited = inherits_;
  for (const Active& one : active_) {
    if (!one.pool->indirect_pairs().empty()) {
      indirect.targets.push_back({one.pool, one.query});
    }
  }
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
  indirects_.push_back(std::move(indirect));
  return VK_SUCCESS;
}

void QueryRecorder::copy_arguments(const Indirect& indirect) const {
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
  for (const Use& use : secondary.uses_) {
    Use& taken = uses_.emplace_back(use);
    taken.inherited = inherits_;
    if (!use.inherited) continue;
    for (const Active& one : active_) {
      if (inheritable(one.pool->kind()) && one.pool->needs_shaders()) {
        taken.targets.push_back({one.pool, one.query});
      }
    }
  }
  for (const Indirect& indirect : secondary.indirects_) {
    Indirect& taken = indirects_.emplace_back(indirect);
    taken.inherited = inherits_;
    if (!indirect.inherited) continue;
    for (const Active& one : active_) {
      if (inheritable(one.pool->kind())) taken.targets.push_back({one.pool, one.query});
    }
  }
  finishes_.insert(finishes_.end(), secondary.finishes_.begin(), secondary.finishes_.end());
  for (const auto& pool : secondary.kept_pools_) kept_pools_.push_back(pool);
  for (size_t i = 0; i < kCommandMetrics; ++i) totals_[i] += secondary.totals_[i];
  errors_ += secondary.errors_;
  words_.insert(words_.end(), secondary.words_.begin(), secondary.words_.end());
  if (secondary.marker_) marker_ = secondary.marker_;
  if (secondary.stream_marker_) stream_marker_ = secondary.stream_marker_;
  begin_interval();
}

// Where the GPU reads the numbers; 0 where there are none.
template <typename Number>
VkResult QueryRecorder::store(const std::vector<Number>& numbers, VkDeviceAddress& address) {
  address = 0;
  if (numbers.empty()) return VK_SUCCESS;
  HostBlock block;
  const VkResult result = host_blocks_.take(numbers.size() * sizeof(Number), block);
  if (result != VK_SUCCESS) return result;
  block.write(0, numbers.data(), numbers.size() * sizeof(Number));
  address = block.address;
  return VK_SUCCESS;
}

VkResult QueryRecorder::matrix(const StageProgram& stage, const QueryKind& kind,
                               VkDeviceAddress& address) {
  const auto [known, added] = matrices_.try_emplace({stage.info.get(), &kind}, 0);
  if (added) {
    const VkResult result = store(query_matrix(stage, kind.rows), known->second);
    if (result != VK_SUCCESS) return result;
  }
  address = known->second;
  return VK_SUCCESS;
}

VkResult QueryRecorder::make_records(const Use& use, std::vector<probe::QueryRecord>& records) {
  if (std::ranges::find(kept_programs_, use.program) == kept_programs_.end()) {
    kept_programs_.push_back(use.program);
  }
  for (const StageProgram& stage : use.program->stages) {
    const bool main = stage.slot == AddressSlot::Main;
    const uint64_t shard_0 = uint64_t{stage.counters.first_counter} * probe::kCounterBytes;
    const VkDeviceAddress slot = main ? use.record.main : use.record.fragment;
    probe::QueryRecord record;
    record.counters = slot + (shard_0 << use.record.shards_log2);
    if (use.previous != 0) record.previous = slot + use.previous + shard_0;
    record.counter_count = stage.info->plan.counter_count;
    record.stride = stage.counters.stride;
    record.shards_log2 = use.record.shards_log2;
    for (const Target& target : use.targets) {
      const QueryKind& kind = target.pool->kind();
      VkDeviceAddress address = 0;
      const VkResult result = matrix(stage, kind, address);
      if (result != VK_SUCCESS) return result;
      if (address == 0 || record.target_count == probe::kQueryTargets) continue;
      record.targets[record.target_count++] = {
          target.pool->slot(target.query) + probe::kQuerySlotHeader, address,
          static_cast<uint32_t>(kind.rows.size()), kind.count_pass, 0};
    }
    // Those without a target are only set to 0.
    if (record.counter_count != 0) records.push_back(record);
  }
  return VK_SUCCESS;
}

VkResult QueryRecorder::make_finish(const Finish& finish, probe::QueryFinish& result) {
  const QueryPool& pool = *finish.target.pool;
  const VkResult stored = store(finish.constants, result.constants);
  if (stored != VK_SUCCESS) return stored;
  result.slot = pool.slot(finish.target.query);
  result.rows = static_cast<uint32_t>(finish.constants.size());
  result.pass = pool.kind().count_pass;
  result.time_row = pool.kind().time_row();
  result.time_pass = pool.kind().time_pass;
  result.views = std::min(finish.views, pool.count() - finish.target.query);
  result.slot_bytes = pool.slot_bytes();
  result.errors = finish.errors;
  result.all_passes = pool.all_passes();
  return VK_SUCCESS;
}

VkResult QueryRecorder::pairs(const QueryPool& pool, VkDeviceAddress& address) {
  const auto [known, added] = pairs_.try_emplace(&pool.kind(), 0);
  if (added) {
    const VkResult result = store(pool.indirect_pairs(), known->second);
    if (result != VK_SUCCESS) return result;
  }
  address = known->second;
  return VK_SUCCESS;
}

VkResult QueryRecorder::make_indirect(const Indirect& indirect, probe::QueryIndirect& operation) {
  operation = indirect.operation;
  for (const Target& target : indirect.targets) {
    if (operation.target_count == probe::kQueryTargets) break;
    probe::QueryTarget& made = operation.targets[operation.target_count];
    const VkResult result = pairs(*target.pool, made.matrix);
    if (result != VK_SUCCESS) return result;
    made.row_count = static_cast<uint32_t>(target.pool->indirect_pairs().size());
    made.rows = target.pool->slot(target.query) + probe::kQuerySlotHeader;
    made.pass = target.pool->kind().count_pass;
    ++operation.target_count;
  }
  return VK_SUCCESS;
}

VkResult QueryRecorder::write_batch(HostBlock& batch, probe::QueryBatch& header) {
  std::vector<probe::QueryRecord> records;
  std::vector<probe::QueryFinish> finishes;
  std::vector<probe::QueryIndirect> indirects;
  for (const Use& use : uses_) {
    const VkResult result = make_records(use, records);
    if (result != VK_SUCCESS) return result;
  }
  for (const Finish& finish : finishes_) {
    if (finish.constants.empty()) continue;
    const VkResult result = make_finish(finish, finishes.emplace_back());
    if (result != VK_SUCCESS) return result;
  }
  for (const Indirect& indirect : indirects_) {
    const VkResult result = make_indirect(indirect, indirects.emplace_back());
    if (result != VK_SUCCESS) return result;
  }
  header.records = static_cast<uint32_t>(records.size());
  header.finishes = static_cast<uint32_t>(finishes.size());
  header.indirects = static_cast<uint32_t>(indirects.size());
  if (header.records + header.finishes + header.indirects == 0) return VK_SUCCESS;
  const size_t record_bytes = records.size() * sizeof(probe::QueryRecord);
  const size_t finish_bytes = finishes.size() * sizeof(probe::QueryFinish);
  const size_t indirect_bytes = indirects.size() * sizeof(probe::QueryIndirect);
  const VkResult result =
      host_blocks_.take(sizeof header + record_bytes + finish_bytes + indirect_bytes, batch);
  if (result != VK_SUCCESS) return result;
  batch.write(0, &header, sizeof header);
  batch.write(sizeof header, records.data(), record_bytes);
  batch.write(sizeof header + record_bytes, finishes.data(), finish_bytes);
  batch.write(sizeof header + record_bytes + finish_bytes, indirects.data(), indirect_bytes);
  batches_.push_back(batch);
  return VK_SUCCESS;
}

void QueryRecorder::barrier(VkPipelineStageFlags from, VkAccessFlags wrote, VkPipelineStageFlags to,
                            VkAccessFlags uses) const {
  const VkMemoryBarrier memory{
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = wrote, .dstAccessMask = uses};
  device_.next().CmdPipelineBarrier(commands_, from, to, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

// The timestamps are then reset: the commands may be submitted again, for another pass.
void QueryRecorder::copy_times() const {
  for (const Finish& finish : finishes_) {
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
void QueryRecorder::finish_without_rows(const Finish& finish) const {
  const QueryPool& pool = *finish.target.pool;
  const uint32_t last = std::min(finish.target.query + finish.views, pool.count());
  for (uint32_t query = finish.target.query; query < last; ++query) {
    const probe::QuerySlot slot{pool.all_passes(), finish.errors, 0, 0, 0};
    device_.next().CmdUpdateBuffer(commands_, pool.buffer(), pool.slot_offset(query), sizeof slot,
                                   &slot);
  }
}

VkResult QueryRecorder::flush() {
  const QueryPrograms& programs = device_.queries()->programs;
  HostBlock batch;
  probe::QueryBatch header;
  VkResult result = device_.queries()->programs.prepare();
  if (result == VK_SUCCESS) result = write_batch(batch, header);
  if (result == VK_SUCCESS) record_flush(programs, batch.address, header);
  uses_.clear();
  finishes_.clear();
  indirects_.clear();
  begin_interval();
  return result;
}

void QueryRecorder::record_flush(const QueryPrograms& programs, VkDeviceAddress batch,
                                 const probe::QueryBatch& header) const {
  for (const Indirect& indirect : indirects_) {
    if (!indirect.copied) copy_arguments(indirect);
  }
  barrier(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, kAnyAccess, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
          kAnyAccess);
  copy_times();
  for (const Finish& finish : finishes_) {
    if (finish.constants.empty()) finish_without_rows(finish);
  }
  if (header.records != 0) programs.add_records(commands_, batch, header.records);
  if (header.indirects != 0) programs.add_indirects(commands_, batch, header.indirects);
  if (header.finishes != 0) {
    barrier(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
            kShaderAccess | kTransferAccess, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, kShaderAccess);
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

  using Flags = probe::QueryCopy::Flags;
  const QueryKind& kind = pool.kind();
  probe::QueryCopy copy;
  copy.slots = pool.slot(request.first);
  copy.output = page.address;
  copy.slot_bytes = pool.slot_bytes();
  copy.output_words = static_cast<uint32_t>(bytes / sizeof(uint32_t));
  copy.count = request.count;
  const auto flag = [&](bool set, Flags bit) { copy.flags |= set ? bit : 0u; };
  flag((request.flags & VK_QUERY_RESULT_64_BIT) != 0, Flags::k64Bit);
  flag((request.flags & VK_QUERY_RESULT_WITH_AVAILABILITY_BIT) != 0, Flags::kAvailability);
  flag((request.flags & VK_QUERY_RESULT_WITH_STATUS_BIT_KHR) != 0, Flags::kStatus);
  flag(kind.typed, Flags::kTyped);
  copy.results = static_cast<uint32_t>(kind.results.size());
  copy.all_passes = pool.all_passes();
  std::vector<probe::QueryConversion> conversions;
  for (const QueryResult& one : kind.results) {
    conversions.push_back({one.row, one.divisor.value_or(probe::QueryConversion::kNoDivisor),
                           one.scale, static_cast<uint32_t>(one.storage)});
  }
  HostBlock parameters;
  const size_t table_bytes = conversions.size() * sizeof(probe::QueryConversion);
  result = host_blocks_.take(sizeof copy + table_bytes, parameters);
  if (result != VK_SUCCESS) return result;
  parameters.write(0, &copy, sizeof copy);
  parameters.write(sizeof copy, conversions.data(), table_bytes);

  // Work that made the queries available came before, and wrote through shaders or copies.
  barrier(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, kAnyAccess, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
          kAnyAccess);
  device_.queries()->programs.copy(commands_, parameters.address, request.count);
  barrier(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, kShaderAccess, VK_PIPELINE_STAGE_TRANSFER_BIT,
          kTransferAccess);
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

void QueryRecorder::set_pass(uint32_t pass) {
  for (const HostBlock& batch : batches_) batch.write(0, &pass, sizeof pass);
  for (const Words& words : words_) {
    words.page.write(words.index, pass == 0 ? words.record : 0, words.region);
  }
}

}  // namespace tally::counters
