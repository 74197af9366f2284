#include "capture/recording/parameters.h"

#include <algorithm>
#include <bit>

namespace tally::capture {
namespace {

// Most recordings are short. A long one gets few chunks.
constexpr uint32_t kFirstChunk = 256;
constexpr uint32_t kMaxChunk = 64 << 10;

// Zigzag: numbers near 0 have few bits.
uint64_t zigzag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}
int64_t unzigzag(uint64_t value) { return static_cast<int64_t>(value >> 1 ^ (~(value & 1) + 1)); }

}  // namespace

Parameters::Position Parameters::begin_run() {
  last_.fill(0);
  if (next_ == nullptr || next_ > end_) add_chunk();
  return {static_cast<uint32_t>(chunks_.size() - 1),
          static_cast<uint32_t>(next_ - chunks_.back().bytes.get())};
}

void Parameters::add(std::span<const int64_t> values) {
  if (values.empty()) return;
  if (next_ > end_) add_chunk();
  uint8_t* const changed = next_++;
  *changed = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == last_[i]) continue;
    *changed |= static_cast<uint8_t>(1u << i);
    // Differences wrap, as the additions do that read them.
    uint64_t left = zigzag(
        static_cast<int64_t>(static_cast<uint64_t>(values[i]) - static_cast<uint64_t>(last_[i])));
    last_[i] = values[i];
    for (; left >= 0x80; left >>= 7) *next_++ = static_cast<uint8_t>(left | 0x80);
    *next_++ = static_cast<uint8_t>(left);
  }
}

void Parameters::add_chunk() {
  uint32_t capacity = kFirstChunk;
  if (!chunks_.empty()) {
    Chunk& last = chunks_.back();
    last.used = static_cast<uint32_t>(next_ - last.bytes.get());
    capacity = std::min(last.capacity * 4, kMaxChunk);
  }
  Chunk& chunk = chunks_.emplace_back();
  chunk.bytes = std::make_unique_for_overwrite<uint8_t[]>(capacity);
  chunk.capacity = capacity;
  chunk.used = capacity;  // not known yet: a reader stops at the last command
  next_ = chunk.bytes.get();
  end_ = next_ + capacity - kMaxBytesOfCommand;
}

const uint8_t* Parameters::Cursor::command_at_position() {
  const Chunk* chunk = &parameters_->chunks_[position_.chunk];
  if (position_.offset >= chunk->used) {
    chunk = &parameters_->chunks_[++position_.chunk];
    position_.offset = 0;
  }
  return chunk->bytes.get() + position_.offset;
}

void Parameters::Cursor::read(size_t of_command, std::span<int64_t> values) {
  for (; !values.empty(); values = values.subspan(of_command)) {
    const uint8_t* const begin = command_at_position();
    const uint8_t* next = begin + 1;
    for (unsigned changed = *begin; changed != 0; changed &= changed - 1) {
      uint64_t difference = 0;
      for (int shift = 0;; shift += 7) {
        const uint8_t byte = *next++;
        difference |= uint64_t{byte & 0x7fu} << shift;
        if (byte < 0x80) break;
      }
      int64_t& last = last_[static_cast<size_t>(std::countr_zero(changed))];
      last = static_cast<int64_t>(static_cast<uint64_t>(last) +
                                  static_cast<uint64_t>(unzigzag(difference)));
    }
    std::copy_n(last_.begin(), of_command, values.begin());
    position_.offset += static_cast<uint32_t>(next - begin);
  }
}

}  // namespace tally::capture
