// What a command buffer holds between vkBeginCommandBuffer and its next reset: how many commands,
// their recording if there is one, and how it is used. Contents without a recording cost what they
// cost without the layer; if they are executed in a captured frame, their commands are missing from
// the capture. One thread records; executions may come from several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "capture/recording/recording.h"

namespace tally::capture {

// A submission of contents, and what it shows.
struct ContentsUse {
  int64_t frame = 0;
  bool captured = false;
  int64_t lag = 0;            // frames since the recording of contents that are submitted once
  uint64_t not_recorded = 0;  // commands
};

class Contents {
 public:
  Contents(int64_t frame, bool once) : begin_frame_(frame), once_(once) {}

  // `in_copy`: the recording is that of a counting copy; the command buffer itself has none.
  void set_recording(std::shared_ptr<Recording> recording, bool in_copy) {
    recording_ = std::move(recording);
    in_copy_ = in_copy;
  }
  void add_command() { ++commands_; }
  void add_secondary(std::shared_ptr<Contents> secondary) {
    secondaries_.push_back(std::move(secondary));
  }

  const std::shared_ptr<Recording>& recording() const { return recording_; }
  // The recording that a submission executes in a frame that is captured or not. Null: none.
  std::shared_ptr<Recording> executed_recording(bool captured) const {
    return in_copy_ && !captured ? nullptr : recording_;
  }
  bool used() const { return used_.load(std::memory_order_relaxed); }
  // Executed more than once, or executed in a captured frame without a recording.
  bool needs_recording() const { return needs_recording_.load(std::memory_order_relaxed); }

  void submit(ContentsUse& use) { submit(use, true, use.captured); }

 private:
  // `listed`: the capture lists what executes these contents. `counted`: that is instrumented.
  void submit(ContentsUse& use, bool listed, bool counted) {
    const bool again = used_.exchange(true, std::memory_order_relaxed);
    listed = listed && recording_;
    if (again || (use.captured && !listed)) {
      needs_recording_.store(true, std::memory_order_relaxed);
    }
    if (once_ && !again) use.lag = std::max(use.lag, use.frame - begin_frame_);
    if (!listed) use.not_recorded += commands_;
    counted = recording_ && (counted || !in_copy_);
    if (counted && !(use.captured && listed)) recording_->executed_uncaptured();
    for (const auto& secondary : secondaries_) secondary->submit(use, listed, counted);
  }

  const int64_t begin_frame_;
  const bool once_;  // expected to be submitted once
  std::shared_ptr<Recording> recording_;
  bool in_copy_ = false;
  uint64_t commands_ = 0;
  std::vector<std::shared_ptr<Contents>> secondaries_;
  std::atomic<bool> used_ = false;
  std::atomic<bool> needs_recording_ = false;
};

}  // namespace tally::capture
