// The counts of dispatches that run again with the same inputs. Where the blocks that a compute
// shader executes depend on its workgroups, on push constants and on the sizes of images and
// buffers alone (spirv/analysis/launch_inputs.h), a dispatch is counted once. Later ones with equal
// inputs run the plain shader, and have the counts of the first. Some of these are counted all the
// same, and compared: if the counts differ, all dispatches of the pipeline are counted from then
// on. A random sample of the uncounted ones that repeat often is timed, and stands for the others.
#pragma once

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "spirv/analysis/launch_inputs.h"

namespace tally::capture {

// Which dispatches of a device may share counts.
struct LaunchRules {
  bool enabled = false;
  bool subgroups = false;  // also where the inputs include how workgroups are divided
  // The driver makes the plain pipeline for dispatches that repeat: the others are all counted.
  bool makes_plain = false;
};

// The push constants of a command buffer, as far as they are known. Used by one thread at a time.
class PushConstants {
 public:
  static constexpr uint32_t kMaxBytes = 256;

  void reset() { *this = {}; }
  void push(uint32_t offset, std::span<const std::byte> values);
  // Bytes are pushed that compute shaders may see or not: some drivers keep the push constants of
  // each stage apart, others do not.
  void push_unknown(uint32_t offset, uint32_t size);
  // The bytes of a range; empty if some of them are not known or may be beyond kMaxBytes.
  std::span<const std::byte> bytes(const spirv::LaunchInputs::Range& range) const;

 private:
  // A bit for each word that has some of the bytes.
  static uint64_t words_of(uint32_t offset, uint32_t size);

  std::array<std::byte, kMaxBytes> bytes_{};
  uint64_t unknown_ = 0;
  bool beyond_ = false;  // there are more
};

// The values of a command as vkGetShaderInstrumentationValuesARM returns them: metric blocks of
// `block_words` words. Equal if nothing but the result indices differs.
bool have_equal_values(std::span<const uint64_t> a, std::span<const uint64_t> b,
                       size_t block_words);

// The parameters of a dispatch, and the push constants and sizes that its counts depend on.
class LaunchKey {
 public:
  static constexpr size_t kMaxSizes = 32;

  // False if some of the bytes are not known.
  bool take(std::span<const spirv::LaunchInputs::Range> ranges, const PushConstants& pushed);
  void take(std::initializer_list<int64_t> parameters);
  // At most kMaxSizes.
  void take(std::span<const uint64_t> sizes) { append(std::as_bytes(sizes)); }
  std::span<const std::byte> bytes() const { return std::span(bytes_).first(size_); }
  bool operator==(const LaunchKey& other) const {
    return size_ == other.size_ && std::memcmp(bytes_.data(), other.bytes_.data(), size_) == 0;
  }

 private:
  void append(std::span<const std::byte> part);

  static constexpr size_t kMaxParameters = 8;

  std::array<std::byte, PushConstants::kMaxBytes + (kMaxParameters + kMaxSizes) * sizeof(uint64_t)>
      bytes_;
  size_t size_ = 0;
};

// The dispatches of a pipeline that have one key. Thread-safe.
class Launch {
 public:
  explicit Launch(const LaunchKey& key);

  const LaunchKey& key() const { return key_; }
  // The metric blocks of one dispatch; empty: it was not counted yet.
  std::span<const uint64_t> counts() const {
    return counted_.load(std::memory_order_acquire) ? std::span<const uint64_t>(words_)
                                                    : std::span<const uint64_t>();
  }
  // Takes the counts of one execution. False if they differ from those of an earlier one.
  bool learn(std::span<const uint64_t> words, size_t block_words);
  // The executions of all blocks by one dispatch, once it was counted.
  uint64_t executions() const { return executions_; }
  // How the next dispatch is measured.
  struct Turn {
    bool counted = true;
    // Its time, if it has one, is in the mean that dispatches without a time get.
    bool sampled = false;
    bool timed = true;
  };
  // `chosen`: everything in the dispatch's command buffer is timed.
  Turn next(bool chosen) {
    if (!counted_.load(std::memory_order_acquire)) return {};
    const uint32_t repetition = uses_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (is_checked(repetition)) return {};
    return {.counted = false,
            .sampled = repetition > kWarmUp,
            .timed = chosen || repetition <= kAllTimed};
  }
  // Identifies the launch in the process; not 0.
  uint64_t number() const { return number_; }

 private:
  // Times of the first repetitions are not typical: clocks and caches change.
  static constexpr uint32_t kWarmUp = 32;
  // So at least 30 times stand for the others, without repetitions that are counted.
  static constexpr uint32_t kAllTimed = 64;

  // The 16th, 32nd, 64th ... repetition, and each 1024th one.
  static bool is_checked(uint32_t repetition) {
    return repetition >= 16 && (std::has_single_bit(repetition) || repetition % 1024 == 0);
  }

  std::atomic<bool> counted_ = false;
  std::atomic<uint32_t> uses_ = 0;
  const LaunchKey key_;
  const uint64_t number_;
  std::mutex mutex_;             // held by the thread that learns
  std::vector<uint64_t> words_;  // constant once counted_ is true, as executions_
  uint64_t executions_ = 0;
};

// The launches of a pipeline, which live as long as it. Thread-safe; takes no lock for those that
// it returned lately.
class Launches {
 public:
  // `module_words`: the size of the shader's module.
  explicit Launches(spirv::LaunchInputs inputs, size_t module_words = 0)
      : inputs_(std::move(inputs)), price_(module_words * kWordPrice) {}

  bool uses_subgroups() const { return inputs_.subgroups; }
  std::span<const spirv::LaunchInputs::Resource> sizes() const { return inputs_.sizes; }
  // Null if the dispatch must be counted, whatever ran before. `sizes`: of the bindings of sizes(),
  // empty where one is not known.
  Launch* find(std::initializer_list<int64_t> parameters, const PushConstants& pushed,
               std::span<const uint64_t> sizes = {});
  // All dispatches are counted yet (next()).
  bool counts_all(bool makes_plain) const {
    return makes_plain && paid_.load(std::memory_order_relaxed) < price_;
  }
  // How the next dispatch of one of the launches is measured (Launch::next). If `makes_plain`, all
  // are counted until that has cost about a fourth of what making the plain pipeline costs: nobody
  // knows how many will follow.
  Launch::Turn next(Launch& launch, bool chosen, bool makes_plain) {
    if (counts_all(makes_plain) && !launch.counts().empty()) {
      paid_.fetch_add(std::max(launch.executions(), kMinPrice), std::memory_order_relaxed);
      return {};
    }
    return launch.next(chosen);
  }
  // Equal inputs had different counts.
  void distrust() { trusted_.store(false, std::memory_order_relaxed); }

 private:
  // Inputs that come after these are seldom those of a program that repeats itself.
  static constexpr size_t kMaxLaunches = 1024;
  static constexpr size_t kRecent = 64;
  // In executions of blocks that are counted, on llvmpipe: what it takes to make a pipeline, for
  // each word of SPIR-V, and to count a dispatch however small it is
  // (docs/developer/performance.md).
  static constexpr uint64_t kWordPrice = 1 << 12;
  static constexpr uint64_t kMinPrice = 1 << 17;

  Launch* find_or_add(const LaunchKey& key, const Hash128& hash);

  const spirv::LaunchInputs inputs_;
  const uint64_t price_;            // of the plain pipeline
  std::atomic<uint64_t> paid_ = 0;  // for dispatches that could have repeated others
  std::atomic<bool> trusted_ = true;
  std::array<std::atomic<Launch*>, kRecent> recent_{};  // by hash
  std::mutex mutex_;                                    // guards what follows
  std::unordered_map<Hash128, std::unique_ptr<Launch>> launches_;
};

}  // namespace tally::capture
