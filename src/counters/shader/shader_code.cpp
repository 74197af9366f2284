#include "counters/shader/shader_code.h"

#include <algorithm>

namespace tally::counters {

std::shared_ptr<const ShaderCode> ShaderCodeStore::add(std::span<const uint32_t> words) {
  const Hash128 hash = hash_words(words);
  const std::lock_guard lock(mutex_);
  std::weak_ptr<const ShaderCode>& slot = codes_[hash];
  if (auto known = slot.lock(); known && std::ranges::equal(known->words, words)) return known;
  if (codes_.size() > 2 * alive_after_prune_ + 64) {
    std::erase_if(codes_,
                  [&](const auto& entry) { return entry.second.expired() && entry.first != hash; });
    alive_after_prune_ = codes_.size();
  }
  auto code = std::make_shared<const ShaderCode>(ShaderCode{hash, {words.begin(), words.end()}});
  slot = code;
  return code;
}

}  // namespace tally::counters
