#include "capture/record/timestamps.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/hash.h"

namespace tally::capture {

VkQueryPool TimestampPools::borrow() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      const VkQueryPool pool = free_.back();
      free_.pop_back();
      return pool;
    }
  }
  VkQueryPoolCreateInfo info{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = kQueries;
  VkQueryPool pool = VK_NULL_HANDLE;
  vk::own("vkCreateQueryPool", table_.CreateQueryPool(device_, &info, nullptr, &pool), pool);
  return pool;
}

void TimestampPools::give_back(VkQueryPool pool) {
  const std::lock_guard lock(mutex_);
  free_.push_back(pool);
}

void TimestampPools::destroy_all() {
  const std::lock_guard lock(mutex_);
  for (const VkQueryPool pool : free_) table_.DestroyQueryPool(device_, pool, nullptr);
  free_.clear();
  if (small_pass_.framebuffer) table_.DestroyFramebuffer(device_, small_pass_.framebuffer, nullptr);
  if (small_pass_.pass) table_.DestroyRenderPass(device_, small_pass_.pass, nullptr);
}

const TimestampPools::SmallPass& TimestampPools::small_pass() {
  std::call_once(makes_small_pass_, [this] {
    VkSubpassDescription subpass{};
    subpass.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS;
    VkRenderPassCreateInfo pass{VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO};
    pass.subpassCount = 1;
    pass.pSubpasses = &subpass;
    vk::own("vkCreateRenderPass",
            table_.CreateRenderPass(device_, &pass, nullptr, &small_pass_.pass), small_pass_.pass);
    if (small_pass_.pass == VK_NULL_HANDLE) return;
    VkFramebufferCreateInfo framebuffer{VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO};
    framebuffer.renderPass = small_pass_.pass;
    framebuffer.width = framebuffer.height = framebuffer.layers = 1;
    vk::own("vkCreateFramebuffer",
            table_.CreateFramebuffer(device_, &framebuffer, nullptr, &small_pass_.framebuffer),
            small_pass_.framebuffer);
  });
  return small_pass_;
}

uint64_t new_time_sample() {
  static std::atomic<uint64_t> last = 0;
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

PassSample::Turn PassSample::next() {
  const int64_t recent = recent_ns_.load(std::memory_order_relaxed);
  const bool is_warm = begun_.fetch_add(1, std::memory_order_relaxed) >= kWarmUp;
  if (!is_warm || recent < 0 || recent > kShortNs) return {};
  const uint32_t place = sampled_.fetch_add(1, std::memory_order_relaxed);
  const uint64_t chosen = hash_combine(number_, place / kPart) % kPart;
  return {.sampled = true, .timed = place < kFirst || place % kPart == chosen};
}

void PassSample::learn(int64_t ns) {
  constexpr int64_t kWeight = 8;  // of the mean; a lost update does not matter
  const int64_t recent = recent_ns_.load(std::memory_order_relaxed);
  recent_ns_.store(recent < 0 ? ns : recent + (ns - recent) / kWeight, std::memory_order_relaxed);
}

PassSample* PassSamples::find(uint64_t key) {
  std::atomic<PassSample*>& recent = recent_[key % kRecent];
  PassSample* const last = recent.load(std::memory_order_acquire);
  if (last && last->key() == key) return last;
  const std::lock_guard lock(mutex_);
  auto found = samples_.find(key);
  if (found == samples_.end()) {
    if (samples_.size() == kMaxSamples) return nullptr;
    found = samples_.emplace(key, std::make_unique<PassSample>(key)).first;
  }
  recent.store(found->second.get(), std::memory_order_release);
  return found->second.get();
}

Timestamps::~Timestamps() {
  for (const VkQueryPool pool : chunks_) pools_.give_back(pool);
}

std::optional<TimeIndex> Timestamps::begin(VkCommandBuffer command_buffer,
                                           const TimestampPlace& place) {
  finish();
  const uint32_t begin = last_ ? *last_ : write(command_buffer, place);
  if (begin == kNone) return std::nullopt;
  times_.push_back({.begin = begin});
  return static_cast<TimeIndex>(times_.size() - 1);
}

void Timestamps::end(VkCommandBuffer command_buffer, const TimestampPlace& place, TimeIndex time) {
  const uint32_t end =
      is_large(place) ? write_in_small_pass(command_buffer) : write(command_buffer, place);
  times_[time].end = end;
  last_ = end == kNone ? std::nullopt : std::optional(end);
}

bool Timestamps::end_in_pass(VkCommandBuffer command_buffer, const TimestampPlace& place,
                             TimeIndex time) {
  if (!pools_.rules().held_by_draws || is_large(place)) return false;
  const uint32_t end = write(command_buffer, place, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT);
  if (end == kNone) return false;
  times_[time].end = end;
  last_ = end;
  return true;
}

void Timestamps::end_dispatch(VkCommandBuffer command_buffer, TimeIndex time) {
  if (!pools_.rules().held_by_barriers) return end(command_buffer, {}, time);
  const uint32_t end = take(command_buffer, {});
  times_[time].end = end;
  if (end == kNone) return last_.reset();
  last_ = end;
  open_ = command_buffer;
}

void Timestamps::write_open(VkPipelineStageFlagBits stage) {
  if (open_ != VK_NULL_HANDLE) put(std::exchange(open_, VK_NULL_HANDLE), stage, *last_);
}

void Timestamps::put(VkCommandBuffer command_buffer, VkPipelineStageFlagBits stage,
                     uint32_t query) const {
  pools_.table().CmdWriteTimestamp(command_buffer, stage, chunks_[query / TimestampPools::kQueries],
                                   query % TimestampPools::kQueries);
}

uint32_t Timestamps::write(VkCommandBuffer command_buffer, const TimestampPlace& place,
                           VkPipelineStageFlagBits stage) {
  const uint32_t query = take(command_buffer, place);
  if (query != kNone) put(command_buffer, stage, query);
  return query;
}

// With as many tiles of llvmpipe, 64 x 64 pixels, a timestamp in each costs about as much as waking
// its threads once more.
bool Timestamps::is_large(const TimestampPlace& place) const {
  constexpr uint64_t kManyTiles = 256;
  return pools_.rules().in_each_tile && place.pixels >= kManyTiles * 64 * 64;
}

uint32_t Timestamps::write_in_small_pass(VkCommandBuffer command_buffer) {
  const TimestampPools::SmallPass& small = pools_.small_pass();
  if (small.framebuffer == VK_NULL_HANDLE) return write(command_buffer, {});
  const uint32_t query = take(command_buffer, {});
  if (query == kNone) return kNone;
  VkRenderPassBeginInfo info{VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO};
  info.renderPass = small.pass;
  info.framebuffer = small.framebuffer;
  info.renderArea.extent = {1, 1};
  pools_.table().CmdBeginRenderPass(command_buffer, &info, VK_SUBPASS_CONTENTS_INLINE);
  put(command_buffer, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, query);
  pools_.table().CmdEndRenderPass(command_buffer);
  return query;
}

// All queries of a timestamp are in one pool; only the first one is read.
uint32_t Timestamps::take(VkCommandBuffer command_buffer, const TimestampPlace& place) {
  const DeviceTable& table = pools_.table();
  if (queries_ + place.views > chunks_.size() * TimestampPools::kQueries) {
    if (place.in_pass && !host_reset_) return kNone;
    const VkQueryPool pool = pools_.borrow();
    if (pool == VK_NULL_HANDLE) return kNone;
    queries_ = static_cast<uint32_t>(chunks_.size()) * TimestampPools::kQueries;
    chunks_.push_back(pool);
    if (!host_reset_) table.CmdResetQueryPool(command_buffer, pool, 0, TimestampPools::kQueries);
  }
  return std::exchange(queries_, queries_ + place.views);
}

uint32_t Timestamps::used_of(size_t chunk) const {
  const auto before = static_cast<uint32_t>(chunk) * TimestampPools::kQueries;
  return std::min(queries_ - before, TimestampPools::kQueries);
}

bool Timestamps::reserve_results(HostPieces& memory) {
  finish();
  if (!pools_.rules().copied) return true;
  for (size_t i = copies_.size(); i < chunks_.size(); ++i) {
    const auto piece = memory.cut(TimestampPools::kQueries * sizeof(Result));
    if (!piece) return false;
    copies_.push_back(*piece);
  }
  return true;
}

bool Timestamps::copy_results(VkCommandBuffer command_buffer) {
  if (copies_.empty() || copies_.size() != chunks_.size()) return false;
  for (size_t i = 0; i < chunks_.size(); ++i) {
    pools_.table().CmdCopyQueryPoolResults(
        command_buffer, chunks_[i], 0, used_of(i), copies_[i].buffer, copies_[i].offset,
        sizeof(Result),
        VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
  }
  copied_.store(true, std::memory_order_relaxed);
  return true;
}

void Timestamps::before_submit() const {
  if (!host_reset_) return;
  for (size_t i = 0; i < chunks_.size(); ++i) {
    pools_.table().ResetQueryPool(pools_.device(), chunks_[i], 0, used_of(i));
  }
}

std::vector<Timestamps::Result> Timestamps::results(vk::OwnFailure& failure) const {
  std::vector<Result> results(chunks_.size() * TimestampPools::kQueries);
  for (size_t i = 0; i < chunks_.size(); ++i) {
    Result* const of_chunk = &results[i * TimestampPools::kQueries];
    const uint32_t used = used_of(i);
    if (copied_.load(std::memory_order_relaxed)) {
      std::memcpy(of_chunk, copies_[i].data, used * sizeof(Result));
      continue;
    }
    if (pools_.rules().copied && copies_.size() != chunks_.size()) continue;  // there is no memory
    const VkResult result = pools_.table().GetQueryPoolResults(
        pools_.device(), chunks_[i], 0, used, used * sizeof(Result), of_chunk, sizeof(Result),
        VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
    if (result >= 0) continue;
    failure = {result, "vkGetQueryPoolResults"};
    std::fill_n(of_chunk, used, Result{});
  }
  return results;
}

std::vector<std::optional<stream::GpuTime>> Timestamps::read(const Clock& clock,
                                                             vk::OwnFailure& failure) const {
  std::vector<std::optional<stream::GpuTime>> read(times_.size());
  const uint64_t mask = clock.valid_bits >= 64 ? ~0ull : (1ull << clock.valid_bits) - 1;
  // A double rounds nanoseconds since 1970, as NVIDIA's driver counts them, to multiples of 256.
  const auto whole = static_cast<uint64_t>(clock.period_ns);
  const double rest = clock.period_ns - static_cast<double>(whole);
  const auto ns = [&](uint64_t ticks) {
    return static_cast<int64_t>(ticks * whole +
                                static_cast<uint64_t>(static_cast<double>(ticks) * rest));
  };
  const std::vector<Result> written = results(failure);
  for (size_t i = 0; i < times_.size(); ++i) {
    if (times_[i].end == kNone) continue;
    const Result& begin = written[times_[i].begin];
    const Result& end = written[times_[i].end];
    if (begin.available == 0 || end.available == 0) continue;
    const uint64_t first = begin.ticks & mask;
    const uint64_t duration = (end.ticks - begin.ticks) & mask;
    read[i] = stream::GpuTime{ns(first), ns(first + duration) - ns(first)};
  }
  return read;
}

}  // namespace tally::capture
