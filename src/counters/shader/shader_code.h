// The SPIR-V of the application's shader modules. Equal code is stored once, while a module or the
// creation of a pipeline uses it.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/hash.h"

namespace tally::counters {

struct ShaderCode {
  Hash128 hash;
  std::vector<uint32_t> words;
};

class ShaderCodeStore {
 public:
  std::shared_ptr<const ShaderCode> add(std::span<const uint32_t> words);

 private:
  std::mutex mutex_;
  std::unordered_map<Hash128, std::weak_ptr<const ShaderCode>> codes_;
  size_t alive_after_prune_ = 0;
};

}  // namespace tally::counters
