#include "counters/memory/device_memory.h"

#include <cstring>

#include "vk/own_call.h"

namespace tally::counters {
namespace {

constexpr uint64_t kAlignment = 64;

}  // namespace

void HostBlock::write(VkDeviceSize at, const void* data, size_t size) const {
  if (size == 0) return;
  std::memcpy(chunk->host() + offset + at, data, size);
  chunk->flush(offset + at, size);
}

uint32_t HostBlock::word(uint32_t index) const {
  uint32_t value = 0;
  std::memcpy(&value, chunk->host() + offset + index * sizeof value, sizeof value);
  return value;
}

VkResult HostBlocks::take(uint64_t bytes, HostBlock& block) {
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (pages_.empty() || pages_.back().size - used_ < bytes) {
    RecordPage page;
    TALLY_TRY(contents_ == Contents::Zero ? pool_.acquire(bytes, page)
                                          : pool_.acquire_undefined(bytes, page));
    pages_.push_back(page);
    used_ = 0;
  }
  const RecordPage& page = pages_.back();
  block = {page.chunk, page.offset + used_, page.address + used_};
  used_ += bytes;
  return VK_SUCCESS;
}

void HostBlocks::reset() {
  for (const RecordPage& page : pages_) pool_.release(page);
  pages_.clear();
  used_ = 0;
}

std::unique_ptr<Chunk> make_lane_sets(const MemoryContext& context, spirv::LaneSets& sets) {
  VkResult result = VK_SUCCESS;
  auto chunk = Chunk::create(context, Chunk::Use::HostRecords, sets.bytes(), result);
  if (!chunk) return nullptr;
  std::fill_n(chunk->host(), sets.bytes(), std::byte{0});
  chunk->flush(0, sets.bytes());
  sets.address = chunk->address();
  return chunk;
}

}  // namespace tally::counters
