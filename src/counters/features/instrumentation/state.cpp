#include "counters/features/instrumentation/state.h"

#include <algorithm>
#include <cstring>

#include "gather_records.comp.h"
#include "vk/own_call.h"

namespace tally::counters {
namespace {

// The same in glsl/gather_records.comp.
struct Header {
  uint32_t runs = 0;
  uint32_t groups = 0;
};
static_assert(sizeof(GatherRun) == 48);
constexpr uint32_t kInvocationsLog2 = 7;
constexpr uint32_t kMaxSharesLog2 = 5;

constexpr uint32_t kMaxGroups = 65535;

// Returns the number of workgroups.
uint32_t share_out(std::vector<GatherRun>& runs) {
  uint32_t groups = 0;
  for (GatherRun& run : runs) {
    // Records that follow each other without a gap are one.
    if (run.shards_log2 == 0 && run.source_distance == run.counters * probe::kCounterBytes &&
        run.target_distance == run.source_distance) {
      run.counters *= run.records;
      run.records = 1;
    }
    const uint32_t together_log2 = kInvocationsLog2 - std::min(run.shards_log2, kMaxSharesLog2);
    run.first_group = groups;
    run.groups_of_record = (run.counters + (1u << together_log2) - 1) >> together_log2;
    groups += run.records * run.groups_of_record;
  }
  return groups;
}

}  // namespace

VkResult RecordGather::prepare() {
  const std::lock_guard lock(mutex_);
  return programs_.make(gather_records_comp, {}, program_);
}

VkResult RecordGather::record(const InternalCommands& commands,
                              std::span<const RecordedRange> ranges) {
  VkResult result = VK_SUCCESS;
  std::vector<GatherRun> runs;
  std::vector<RecordRange::Results> results(ranges.size());
  for (size_t i = 0; i < ranges.size() && result == VK_SUCCESS; ++i) {
    result = ranges[i].object->plan_gather(*ranges[i].range, results[i], runs);
  }
  if (result != VK_SUCCESS || runs.empty()) return result;
  TALLY_TRY(move(commands, runs, *ranges.front().object));
  for (size_t i = 0; i < ranges.size(); ++i) {
    ranges[i].object->gathered(*ranges[i].range, results[i]);
  }
  return VK_SUCCESS;
}

VkResult RecordGather::move(const InternalCommands& commands, std::vector<GatherRun>& runs,
                            Instrumentation& object) {
  TALLY_TRY(prepare());
  const Header header{static_cast<uint32_t>(runs.size()), share_out(runs)};
  RecordRange::Results place;
  RecordPage page;
  TALLY_TRY(object.reserve_results(sizeof header + runs.size() * sizeof(GatherRun), place, page));
  std::byte* const target = page.chunk->host() + page.offset + place.offset;
  std::memcpy(target, &header, sizeof header);
  std::memcpy(target + sizeof header, runs.data(), runs.size() * sizeof(GatherRun));
  page.chunk->flush(page.offset + place.offset, place.bytes);

  const auto barrier = [&](VkPipelineStageFlags from, VkAccessFlags made, VkPipelineStageFlags to,
                           VkAccessFlags seen) {
    const VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, made, seen};
    next_.CmdPipelineBarrier(commands.handle, from, to, 0, 1, &memory, 0, nullptr, 0, nullptr);
  };
  barrier(
      VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
      VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
  programs_.use(commands, program_, page.address + place.offset);
  next_.CmdDispatch(commands.handle, std::min(header.groups, kMaxGroups),
                    (header.groups + kMaxGroups - 1) / kMaxGroups, 1);
  barrier(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
          VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  return VK_SUCCESS;
}

namespace {

// The records of all such draws have this size, and one shard.
constexpr uint32_t kRecordBytes = probe::record_bytes(kDriverCounters, 0);

}  // namespace

void InvocationRecorder::reset() {
  for (const OwnQueries::Pool& pool : pools_) queries_.pools.release(pool);
  pools_.clear();
  runs_.clear();
  draws_ = 0;
  in_draw_ = false;
}

VkResult InvocationRecorder::begin(const RecordPage& page, VkDeviceSize offset) {
  if (pools_.empty() || !pools_.back().has(1)) {
    pools_.reserve(pools_.size() + 1);
    VkQueryPool acquired = VK_NULL_HANDLE;
    TALLY_TRY(queries_.pools.acquire(acquired));
    pools_.push_back({acquired, 0});
  }
  OwnQueries::Pool& pool = pools_.back();
  const VkDeviceSize begin = page.offset + offset;
  const bool follows = !runs_.empty() && runs_.back().pool == pools_.size() - 1 &&
                       runs_.back().chunk == page.chunk &&
                       runs_.back().offset + runs_.back().count * kRecordBytes == begin;
  if (!follows) runs_.push_back({pools_.size() - 1, pool.used, 0, page.chunk, begin});
  ++runs_.back().count;
  ++draws_;
  next_.CmdBeginQuery(commands_, pool.handle, pool.used++, 0);
  in_draw_ = true;
  return VK_SUCCESS;
}

void InvocationRecorder::end() {
  next_.CmdEndQuery(commands_, pools_.back().handle, pools_.back().used - 1);
  in_draw_ = false;
}

void InvocationRecorder::copy(const Run& run, VkBuffer target, VkDeviceSize offset) const {
  const VkQueryPool pool = pools_[run.pool].handle;
  next_.CmdCopyQueryPoolResults(commands_, pool, run.first, run.count, target, offset, kRecordBytes,
                                VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  next_.CmdResetQueryPool(commands_, pool, run.first, run.count);
}

void InvocationRecorder::barrier(VkPipelineStageFlags from, VkAccessFlags made,
                                 VkPipelineStageFlags to, VkAccessFlags seen) const {
  const VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, made, seen};
  next_.CmdPipelineBarrier(commands_, from, to, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

VkResult InvocationRecorder::finish(RecordGather* sums, const InternalCommands& commands,
                                    Instrumentation& object) {
  if (sums) return add(*sums, commands, object);
  for (const Run& run : runs_) copy(run, run.chunk->buffer(), run.offset);
  barrier(VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
          VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
          VK_ACCESS_HOST_READ_BIT | VK_ACCESS_SHADER_READ_BIT);
  runs_.clear();
  return VK_SUCCESS;
}

VkResult InvocationRecorder::add(RecordGather& sums, const InternalCommands& commands,
                                 Instrumentation& object) {
  VkDeviceSize bytes = 0;
  for (const Run& run : runs_) bytes += run.count * kRecordBytes;
  RecordRange::Results place;
  RecordPage page;
  TALLY_TRY(object.reserve_results(bytes, place, page));
  const VkDeviceSize begin = page.offset + place.offset;
  std::memset(page.chunk->host() + begin, 0, bytes);
  page.chunk->flush(begin, bytes);
  // The execution before this one has read the memory.
  barrier(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
          VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT);
  std::vector<GatherRun> moves;
  VkDeviceSize used = 0;
  for (const Run& run : runs_) {
    copy(run, page.chunk->buffer(), begin + used);
    GatherRun move;
    move.source = page.address + place.offset + used;
    move.target = run.chunk->address() + run.offset;
    move.counters = kRecordBytes / probe::kCounterBytes;
    move.records = run.count;
    move.source_distance = move.target_distance = kRecordBytes;
    moves.push_back(move);
    used += run.count * kRecordBytes;
  }
  runs_.clear();
  return sums.move(commands, moves, object);
}

void InstrumentationRecorder::close_pages() {
  if (active_) {
    active_->close_page(page_);
    active_->close_words(words_);
  }
  active_.reset();
  range_ = nullptr;
  page_ = {};
  words_ = {};
  kept_program_ = nullptr;
}

void InstrumentationRecorder::reset() {
  close_pages();
  objects_.clear();
  ranges_.clear();
  bytes_ = 0;
}

void InstrumentationRecorder::add_object(const std::shared_ptr<Instrumentation>& object) {
  if (std::ranges::find(objects_, object) == objects_.end()) objects_.push_back(object);
}

void InstrumentationRecorder::begin(const std::shared_ptr<Instrumentation>& object) {
  add_object(object);
  range_ = &object->add_range();
  ranges_.push_back({object, range_});
  active_ = object;
  kept_program_ = nullptr;
}

void InstrumentationRecorder::end() { close_pages(); }

void InstrumentationRecorder::execute(const InstrumentationRecorder& secondary) {
  for (const auto& object : secondary.objects_) add_object(object);
}

std::vector<RecordedRange> InstrumentationRecorder::gatherable() const {
  std::vector<RecordedRange> ranges = ranges_;
  std::erase_if(ranges, [](const RecordedRange& recorded) {
    return recorded.range->empty() || recorded.range->stays;
  });
  return ranges;
}

VkResult InstrumentationRecorder::reserve(uint64_t bytes, uint32_t shards_log2,
                                          VkDeviceSize& offset) {
  if (shards_log2 != 0) page_.used = probe::align_up(page_.used, probe::kShardAlignment);
  if (page_.page.size - page_.used < bytes) {
    active_->close_page(page_);
    page_ = {};
    TALLY_TRY(active_->open_page(bytes, page_));
  }
  offset = page_.used;
  page_.use(bytes);
  bytes_ += bytes;
  return VK_SUCCESS;
}

void InstrumentationRecorder::append(uint32_t result_index, VkDeviceSize offset,
                                     uint32_t shards_log2,
                                     const std::shared_ptr<const Program>& program) {
  if (kept_program_ != program.get()) {
    range_->keep(program);
    if (program->has_maxima()) range_->stays = true;
    kept_program_ = program.get();
  }
  range_->append({result_index, page_.index,
                  static_cast<uint32_t>(offset / probe::kRecordAlignment), shards_log2,
                  program.get()});
}

VkResult InstrumentationRecorder::next_words(WordPage& page, uint32_t& index) {
  if (words_.used == words_.page.count) {
    words_ = {};
    TALLY_TRY(active_->open_words(words_));
  }
  page = words_.page;
  index = words_.used++;
  return VK_SUCCESS;
}

}  // namespace tally::counters
