// The contents of a command buffer between vkBeginCommandBuffer and its next reset: how many
// commands, their recordings if there are any, and how they are used. There is one recording, and
// where frames end at labels a further one after each label that may end a frame. Contents without
// a recording cost what they cost without the layer; if they are executed in a captured frame,
// their commands are missing from the capture. One thread records; executions may come from several
// threads.
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

// Labels that end at the end of a part, where frames end at labels.
struct PartEnd {
  uint32_t begun_before = 0;  // labels that another command buffer has begun
  bool outermost = false;  // one that ends a frame, unless another command buffer has an open one

  bool any() const { return begun_before != 0 || outermost; }
};

struct RecordedPart {
  std::shared_ptr<Recording> recording;  // null: not recorded
  PartEnd end;

  bool empty() const { return !recording || recording->empty(); }
};

class Contents {
 public:
  Contents(int64_t frame, bool once) : begin_frame_(frame), once_(once), parts_(1) {}

  // `in_copy`: the recording belongs to a counting copy; the command buffer itself has none.
  void set_recording(std::shared_ptr<Recording> recording, bool in_copy) {
    parts_.back().recording = std::move(recording);
    in_copy_ = in_copy;
  }
  // Later commands are in another part.
  void begin_part(const PartEnd& end, std::shared_ptr<Recording> next) {
    parts_.back().end = end;
    parts_.push_back({std::move(next), {}});
  }
  void end_last_part(const PartEnd& end, std::vector<bool> left_open) {
    parts_.back().end = end;
    left_open_ = std::move(left_open);
  }
  // The recordings are incomplete. The caller keeps them while the GPU may use them.
  std::vector<RecordedPart> drop_recordings() {
    std::vector<RecordedPart> dropped = parts_;
    for (RecordedPart& part : parts_) part.recording.reset();
    in_copy_ = false;
    return dropped;
  }
  void add_command() { ++commands_; }
  void add_secondary(std::shared_ptr<Contents> secondary) {
    secondaries_.push_back(std::move(secondary));
  }

  const std::vector<RecordedPart>& parts() const { return parts_; }
  // Labels that are open at the end: whether each one ends a frame.
  const std::vector<bool>& left_open() const { return left_open_; }
  // True if a submission executes the recordings, in frames that are captured or not.
  bool executes_recordings(bool captured) const { return captured || !in_copy_; }
  // True if commands may be missing from a captured frame.
  bool holds_unrecorded() const {
    return !parts_.front().recording && (commands_ != 0 || !secondaries_.empty());
  }
  bool used() const { return used_.load(std::memory_order_relaxed); }
  // Executed more than once, or executed in a captured frame without a recording.
  bool needs_recording() const { return needs_recording_.load(std::memory_order_relaxed); }

  void submit(ContentsUse& use) { submit(use, true, use.captured); }

 private:
  // `listed`: the capture lists what executes these contents. `counted`: that is instrumented.
  void submit(ContentsUse& use, bool listed, bool counted) {
    const bool again = used_.exchange(true, std::memory_order_relaxed);
    const bool recorded = parts_.front().recording != nullptr;
    listed = listed && recorded;
    if (again || (use.captured && !listed)) {
      needs_recording_.store(true, std::memory_order_relaxed);
    }
    if (once_ && !again) use.lag = std::max(use.lag, use.frame - begin_frame_);
    if (!listed) use.not_recorded += commands_;
    counted = recorded && (counted || !in_copy_);
    if (counted && !(use.captured && listed)) {
      for (const RecordedPart& part : parts_) part.recording->executed_uncaptured();
    }
    for (const auto& secondary : secondaries_) secondary->submit(use, listed, counted);
  }

  const int64_t begin_frame_;
  const bool once_;                  // expected to be submitted once
  std::vector<RecordedPart> parts_;  // in order; never empty
  std::vector<bool> left_open_;
  bool in_copy_ = false;
  uint64_t commands_ = 0;
  std::vector<std::shared_ptr<Contents>> secondaries_;
  std::atomic<bool> used_ = false;
  std::atomic<bool> needs_recording_ = false;
};

}  // namespace tally::capture
