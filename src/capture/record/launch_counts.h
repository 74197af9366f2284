// The counts of dispatches that run again with the same inputs. Where the blocks that a compute
// shader executes depend on its workgroups and on push constants alone
// (spirv/analysis/launch_inputs.h), a dispatch is counted once. Later ones with equal inputs run
// the plain shader, and have the counts of the first. Some of these are counted all the same, and
// compared: if the counts differ, all dispatches of the pipeline are counted from then on.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "spirv/analysis/launch_inputs.h"

namespace tally::capture {

// On which devices.
struct LaunchRules {
  bool enabled = false;
  bool subgroups = false;  // also where the inputs include how workgroups are divided
};

// The push constants of a command buffer, as far as they are known. Used by one thread at a time.
class PushConstants {
 public:
  static constexpr uint32_t kMaxBytes = 256;

  void reset() { *this = {}; }
  void push(uint32_t offset, std::span<const std::byte> values);
  // Appends the bytes of the ranges. False if some of them may be beyond kMaxBytes.
  bool append(std::span<const spirv::LaunchInputs::Range> ranges,
              std::span<std::byte, kMaxBytes> bytes, size_t& size) const;

 private:
  std::array<std::byte, kMaxBytes> bytes_{};
  bool beyond_ = false;  // there are more
};

// The values of a command as vkGetShaderInstrumentationValuesARM returns them: metric blocks of
// `block_words` words. Equal if nothing but the result indices differs.
bool have_equal_values(std::span<const uint64_t> a, std::span<const uint64_t> b,
                       size_t block_words);

// One set of inputs of a pipeline's dispatches. Thread-safe.
class Launch {
 public:
  explicit Launch(std::vector<std::byte> inputs) : inputs_(std::move(inputs)) {}

  bool has(std::span<const std::byte> inputs) const;
  // The metric blocks of one dispatch; empty: it was not counted yet.
  std::span<const uint64_t> counts() const {
    return counted_.load(std::memory_order_acquire) ? std::span<const uint64_t>(words_)
                                                    : std::span<const uint64_t>();
  }
  // Takes the counts of one execution. False if they differ from those of an earlier one.
  bool learn(std::span<const uint64_t> words, size_t block_words);
  // True if the next dispatch need not be counted.
  bool is_known() {
    return counted_.load(std::memory_order_acquire) &&
           !is_checked(uses_.fetch_add(1, std::memory_order_relaxed) + 1);
  }

 private:
  // The 16th, 32nd, 64th ... repetition, and each 1024th one.
  static bool is_checked(uint32_t repetition) {
    return repetition >= 16 && (std::has_single_bit(repetition) || repetition % 1024 == 0);
  }

  const std::vector<std::byte> inputs_;
  std::mutex mutex_;             // held by the thread that learns
  std::vector<uint64_t> words_;  // constant once counted_ is true
  std::atomic<bool> counted_ = false;
  std::atomic<uint32_t> uses_ = 0;
};

// The launches of a pipeline. Thread-safe.
class Launches {
 public:
  explicit Launches(spirv::LaunchInputs inputs) : inputs_(std::move(inputs)) {}

  bool uses_subgroups() const { return inputs_.subgroups; }
  // Null if the dispatch must be counted, whatever ran before.
  std::shared_ptr<Launch> find(std::initializer_list<int64_t> parameters,
                               const PushConstants& pushed);
  // Equal inputs had different counts.
  void distrust() { trusted_.store(false, std::memory_order_relaxed); }

 private:
  // Beyond it, all are forgotten.
  static constexpr size_t kMaxLaunches = 1024;

  const spirv::LaunchInputs inputs_;
  std::atomic<bool> trusted_ = true;
  std::mutex mutex_;  // guards what follows
  std::unordered_map<Hash128, std::shared_ptr<Launch>> launches_;
};

}  // namespace tally::capture
