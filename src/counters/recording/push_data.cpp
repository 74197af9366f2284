#include "counters/recording/push_data.h"

#include <algorithm>
#include <cstring>

namespace tally::counters {
namespace {

constexpr VkDeviceSize kChunkSize = 64 << 10;
constexpr VkDeviceSize kAlignment = 64;

}  // namespace

void PushData::reset() {
  clear();
  chunk_ = 0;
  used_ = 0;
}

void PushData::clear() {
  begin_ = end_ = lost_begin_ = lost_end_ = 0;
  copy_ = 0;
}

void PushData::keep(const VkPushDataInfoEXT& info) {
  const auto size = static_cast<uint32_t>(info.data.size);
  if (size == 0) return;
  const uint32_t end = info.offset + size;
  if (bytes_.size() < end) bytes_.resize(end);
  std::memcpy(bytes_.data() + info.offset, info.data.address, size);
  begin_ = begin_ == end_ ? info.offset : std::min(begin_, info.offset);
  end_ = std::max(end_, end);
  copy_ = 0;
}

void PushData::note_overwritten(uint32_t begin, uint32_t end) {
  const bool none = lost_begin_ == lost_end_;
  lost_begin_ = none ? begin : std::min(lost_begin_, begin);
  lost_end_ = none ? end : std::max(lost_end_, end);
}

bool PushData::overwritten(uint32_t except_begin, uint32_t except_end) const {
  const uint32_t begin = std::max(begin_, lost_begin_);
  const uint32_t end = std::min(end_, lost_end_);
  return begin < end && !(except_begin <= begin && end <= except_end);
}

void PushData::restore(VkCommandBuffer commands, const DeviceTable& next) {
  if (needs_restore()) {
    const uint32_t begin = std::max(begin_, lost_begin_);
    const uint32_t end = std::min(end_, lost_end_);
    const VkPushDataInfoEXT info{
        VK_STRUCTURE_TYPE_PUSH_DATA_INFO_EXT, nullptr, begin, {bytes_.data() + begin, end - begin}};
    next.CmdPushDataEXT(commands, &info);
  }
  lost_begin_ = lost_end_ = 0;
}

VkDeviceAddress PushData::copy(const MemoryContext& memory, uint32_t size) {
  if (copy_ != 0) return copy_;
  const VkDeviceSize stride = (size + kAlignment - 1) / kAlignment * kAlignment;
  if (chunk_ < chunks_.size() && used_ + stride > kChunkSize) {
    ++chunk_;
    used_ = 0;
  }
  if (chunk_ == chunks_.size()) {
    chunks_.reserve(chunk_ + 1);
    VkResult result = VK_SUCCESS;
    auto chunk = Chunk::create(memory, Chunk::Use::HostRecords, kChunkSize, result);
    if (!chunk) return 0;
    chunks_.push_back(std::move(chunk));
  }
  const Chunk& chunk = *chunks_[chunk_];
  const size_t known = std::min<size_t>({bytes_.size(), end_, size});
  std::memcpy(chunk.host() + used_, bytes_.data(), known);
  chunk.flush(used_, stride);
  copy_ = chunk.address() + used_;
  used_ += stride;
  return copy_;
}

}  // namespace tally::counters
