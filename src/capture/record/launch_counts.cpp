#include "capture/record/launch_counts.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tally::capture {

void PushConstants::push(uint32_t offset, std::span<const std::byte> values) {
  const size_t room = offset < kMaxBytes ? kMaxBytes - offset : 0;
  beyond_ = beyond_ || values.size() > room;
  std::ranges::copy(values.first(std::min(values.size(), room)), bytes_.begin() + offset);
}

bool PushConstants::append(std::span<const spirv::LaunchInputs::Range> ranges,
                           std::span<std::byte, kMaxBytes> bytes, size_t& size) const {
  for (const auto& [begin, end] : ranges) {
    if (begin >= kMaxBytes || (end > kMaxBytes && beyond_)) return false;
    const auto part = std::span(bytes_).subspan(begin, std::min(end, kMaxBytes) - begin);
    std::ranges::copy(part, bytes.begin() + static_cast<ptrdiff_t>(size));
    size += part.size();
  }
  return true;
}

bool have_equal_values(std::span<const uint64_t> a, std::span<const uint64_t> b,
                       size_t block_words) {
  constexpr uint32_t kIndexBits = 32;  // of the result index, in a block's first word
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); i += block_words) {
    if (a[i] >> kIndexBits != b[i] >> kIndexBits ||
        std::memcmp(&a[i + 1], &b[i + 1], (block_words - 1) * sizeof(uint64_t)) != 0) {
      return false;
    }
  }
  return true;
}

bool Launch::has(std::span<const std::byte> inputs) const {
  return std::ranges::equal(inputs, inputs_);
}

bool Launch::learn(std::span<const uint64_t> words, size_t block_words) {
  const std::lock_guard lock(mutex_);
  if (counted_.load(std::memory_order_relaxed))
    return have_equal_values(words, words_, block_words);
  words_.assign(words.begin(), words.end());
  counted_.store(true, std::memory_order_release);
  return true;
}

std::shared_ptr<Launch> Launches::find(std::initializer_list<int64_t> parameters,
                                       const PushConstants& pushed) {
  if (!trusted_.load(std::memory_order_relaxed)) return nullptr;
  constexpr size_t kMaxParameters = 8;
  std::array<std::byte, PushConstants::kMaxBytes + kMaxParameters * sizeof(int64_t)> bytes;
  size_t size = 0;
  if (!pushed.append(inputs_.push_constants, std::span(bytes).first<PushConstants::kMaxBytes>(),
                     size)) {
    return nullptr;
  }
  const size_t bytes_of_parameters = parameters.size() * sizeof(int64_t);
  std::memcpy(bytes.data() + size, std::data(parameters), bytes_of_parameters);
  const auto inputs = std::span(bytes).first(size + bytes_of_parameters);
  const Hash128 hash = hash_bytes(inputs);
  const std::lock_guard lock(mutex_);
  if (const auto found = launches_.find(hash); found != launches_.end()) {
    return found->second->has(inputs) ? found->second : nullptr;
  }
  if (launches_.size() == kMaxLaunches) launches_.clear();
  auto launch = std::make_shared<Launch>(std::vector(inputs.begin(), inputs.end()));
  launches_.emplace(hash, launch);
  return launch;
}

}  // namespace tally::capture
