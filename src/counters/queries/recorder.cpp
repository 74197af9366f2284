#include "counters/queries/recorder.h"

#include <algorithm>
#include <utility>

#include "counters/layer/device.h"

namespace tally::counters {
namespace {

// Whether rows of the query need what the program does not count.
bool leaves_out(const Program& program, const QueryKind& kind) {
  const bool feedback = kind.type == VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT;
  for (const QueryRow& row : feedback ? feedback_kind().rows : kind.rows) {
    for (const QuerySource& source : row) {
      if (!source.counts_in_shaders()) continue;
      const bool outputs =
          source.kind == QuerySource::Kind::Primitives || source.kind == QuerySource::Kind::Samples;
      const VkShaderStageFlags missing = outputs ? program.uncounted_outputs : program.uncounted;
      if ((source.stages & missing) != 0) return true;
    }
  }
  return false;
}

}  // namespace

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
  inherits_ = in_pass_ = suspending_ = defers_timestamps_ = conditioned_ = false;
  inherits_drivers_statistics_ = false;
  drivers_statistics_ = 0;
  condition_.end();
  condition_word_.reset();
  condition_words_.clear();
  shape_ = {};
  subpass_ = 0;
  shader_targets_ = 0;
  times_apart_ = 0;
  errors_ = 0;
  marker_.reset();
  stream_marker_.reset();
  totals_ = {};
  active_.clear();
  feedback_.reset();
  work_.clear();
  executed_.clear();
  changes_ = 0;
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

// What is active changes: records from here on are others.
void QueryRecorder::begin_interval() { interval_begin_ = work_.uses.size(); }

VkResult QueryRecorder::begin(const std::shared_ptr<QueryPool>& pool, uint32_t query,
                              uint32_t index) {
  begin_interval();
  ++changes_;
  close_span();
  active_.push_back(
      {pool, query, index, std::max(1u, shape_.views_in(subpass_)), errors_, totals_});
  if (pool->needs_shaders()) ++shader_targets_;
  if (pool->times_apart()) ++times_apart_;
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
  ++changes_;
  close_span();
  if (pool->end_times() != VK_NULL_HANDLE) {
    device_.next().CmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                     pool->end_times(), query);
  }
  const QueryKind& kind = pool->kind();
  const uint64_t errors = errors_ - found->errors + found->uncounted;
  FinishedQuery finish{{pool, query}, found->views, static_cast<uint32_t>(errors), {}};
  for (const QueryRow& row : kind.rows) {
    uint64_t& sum = finish.constants.emplace_back();
    for (const QuerySource& source : row) {
      sum += constant(source, *found);
    }
  }
  work_.ends.push_back(std::move(finish));
  if (pool->needs_shaders()) --shader_targets_;
  if (pool->times_apart()) --times_apart_;
  active_.erase(found);
  return open_span();
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
  bytes = probe::align_up(bytes, probe::kShardAlignment);
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

// Queries that a stage which runs uninstrumented should have counted for are wrong.
void QueryRecorder::note_uncounted(const Program& program) {
  if ((program.uncounted | program.uncounted_outputs) == 0) return;
  for (Active& one : active_) {
    if (leaves_out(program, one.pool->kind())) ++one.uncounted;
  }
}

RecordBinding& QueryRecorder::add_use(const std::shared_ptr<const Program>& program,
                                      const Record& record) {
  RecordBinding& use = work_.uses.emplace_back();
  use.program = program;
  use.record = record;
  use.inherited = inherits_;
  note_uncounted(*program);
  for (const Active& one : active_) {
    if (one.pool->needs_shaders()) use.targets.push_back({one.pool, one.query, one.index});
  }
  add_feedback_target(use.targets);
  return use;
}

VkResult QueryRecorder::record(const std::shared_ptr<const Program>& program, uint32_t shards_log2,
                               Record& record) {
  for (size_t i = work_.uses.size(); i > interval_begin_; --i) {
    const RecordBinding& use = work_.uses[i - 1];
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

void QueryRecorder::note_words(const Words& words) {
  if (device_.queries()->emulated.performance) words_.push_back(words);
}

void QueryRecorder::barrier(VkPipelineStageFlags from, VkAccessFlags wrote, VkPipelineStageFlags to,
                            VkAccessFlags uses) const {
  const VkMemoryBarrier memory{
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = wrote, .dstAccessMask = uses};
  device_.next().CmdPipelineBarrier(commands_, from, to, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

// A query that only has a status: also on queues that can do no more than copy.
void QueryRecorder::finish_without_rows(const FinishedQuery& finish) const {
  const QueryPool& pool = *finish.target.pool;
  const uint32_t last = std::min(finish.target.query + finish.views, pool.count());
  for (uint32_t query = finish.target.query; query < last; ++query) {
    const probe::QuerySlot slot{pool.all_passes(), finish.errors, 0, 0, 0};
    device_.next().CmdUpdateBuffer(commands_, pool.buffer(), pool.slot_offset(query), sizeof slot,
                                   &slot);
  }
}

bool QueryRecorder::needs_results(const QueryPool& pool) const {
  const auto of_pool = [&](const auto& one) { return one.target.pool.get() == &pool; };
  return can_work() && (std::ranges::any_of(work_.ends, of_pool) ||
                        std::ranges::any_of(work_.timestamps, of_pool));
}

VkResult QueryRecorder::flush() {
  const Condition::Interruption unconditioned(condition_, device_.next(), commands_);
  const QueryPrograms& programs = device_.queries()->programs;
  HostBlock batch;
  probe::QueryBatch header;
  QueryWork kept;
  copy_inputs();
  VkResult result = device_.queries()->programs.prepare();
  if (result == VK_SUCCESS) result = keep_inherited(kept);
  if (result == VK_SUCCESS) result = batches_.write(work_, batch, header);
  VkDeviceAddress spans = 0;
  if (result == VK_SUCCESS && !work_.spans.empty()) {
    result = batches_.write_spans(work_.spans, spans);
  }
  if (result == VK_SUCCESS) record_flush(programs, batch.address, header, spans);
  for (const QueryTimestamp& timestamp : work_.timestamps) {
    if (result == VK_SUCCESS) result = record_timestamp(timestamp);
  }
  work_ = std::move(kept);
  executed_.clear();
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
                                 const probe::QueryBatch& header, VkDeviceAddress spans) {
  barrier(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, kAnyAccess, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
          kAnyAccess);
  copy_times();
  for (const FinishedQuery& finish : work_.ends) {
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

void QueryRecorder::set_pass(uint32_t pass) {
  batches_.set_pass(pass);
  const uint32_t counts = pass == 0 ? 1 : 0;
  for (const HostBlock& word : condition_words_) word.write(0, &counts, sizeof counts);
  for (const Words& words : words_) {
    words.page.write(words.index, pass == 0 ? words.record : 0, words.region);
  }
}

}  // namespace tally::counters
