// Memory that a captured process and its receiver share. The process counts the commands that it
// submits, which the receiver can read however the process ends. The receiver leaves its orders.
// The process makes the memory; the receiver gets it with the stream's first byte.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <new>
#include <optional>
#include <utility>

#include "base/frame_range.h"
#include "platform/channel.h"
#include "store/stream/stream.h"

namespace tally::store::stream {

// The receiver's request to the process.
struct Orders {
  uint64_t frames = 0;   // captured on request; a total that grows
  bool stopped = false;  // captures no more frames
};

struct LedgerPage {
  std::atomic<uint64_t> submitted;
  std::atomic<uint64_t> closed;
  std::atomic<uint64_t> requested;
  std::atomic<uint64_t> stopped;
  std::atomic<uint64_t> frames_dropped;
  std::atomic<uint64_t> finished;
  std::array<std::atomic<uint64_t>, 2> token;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

// The process's side.
class Ledger {
 public:
  // If the memory cannot be allocated, nothing is counted.
  Ledger()
      : memory_(platform::SharedMemory::make(sizeof(LedgerPage))),
        page_(memory_ ? new (memory_.get()) LedgerPage{} : nullptr) {
    StreamToken token{};
    if (!page_ || !platform::fill_random(token.data(), sizeof token)) return;
    page_->token[0] = token[0];
    page_->token[1] = token[1];
  }
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  platform::SharedMemory& memory() { return memory_; }
  // None: no memory, so the stream cannot go on over another connection.
  std::optional<StreamToken> token() const {
    if (!page_) return std::nullopt;
    return StreamToken{page_->token[0].load(), page_->token[1].load()};
  }
  // Any thread.
  void add_submitted(uint64_t commands) {
    if (page_) page_->submitted.fetch_add(commands, std::memory_order_relaxed);
  }
  // A frame that was to be captured is not: the receiver has ordered to stop.
  void add_dropped_frame() {
    if (page_) page_->frames_dropped.fetch_add(1, std::memory_order_relaxed);
  }
  Orders orders() const {
    if (!page_) return {};
    return {page_->requested.load(std::memory_order_relaxed),
            page_->stopped.load(std::memory_order_relaxed) != 0};
  }
  // The sender has sent everything, and disconnects.
  void finish() {
    if (page_) page_->finished.store(1, std::memory_order_relaxed);
  }
  // The sender has given up: the count is no longer valid.
  void close() {
    if (page_) page_->closed.store(1, std::memory_order_relaxed);
  }

 private:
  platform::SharedMemory memory_;
  LedgerPage* page_;
};

// The receiver's side. The process may write anything at any time.
class ReceivedLedger {
 public:
  ReceivedLedger() = default;
  // If the memory is no ledger, nothing is known.
  explicit ReceivedLedger(platform::SharedMemory memory)
      : memory_(memory.size() >= sizeof(LedgerPage) ? std::move(memory)
                                                    : platform::SharedMemory()) {}

  bool valid() const { return page() != nullptr; }
  // How many commands the process has submitted; none if the ledger is closed or not valid.
  std::optional<uint64_t> submitted() const {
    if (!valid() || page()->closed.load() != 0) return std::nullopt;
    return page()->submitted.load();
  }
  uint64_t frames_dropped() const { return valid() ? page()->frames_dropped.load() : 0; }
  // True if the process goes on to send after its connection is lost, while it lives.
  bool goes_on() const {
    return valid() && page()->closed.load() == 0 && page()->finished.load() == 0;
  }
  std::optional<StreamToken> token() const {
    if (!valid()) return std::nullopt;
    return StreamToken{page()->token[0].load(), page()->token[1].load()};
  }
  void request_frames(uint64_t more) {
    if (valid()) page()->requested.fetch_add(more);
  }
  void stop() {
    if (valid()) page()->stopped.store(1);
  }

 private:
  LedgerPage* page() const { return static_cast<LedgerPage*>(memory_.get()); }

  platform::SharedMemory memory_;
};

// Which frames of a process are captured: those that its settings choose, or, without a choice,
// those that the receiver requests. The receiver can also end the capture.

class FrameSchedule {
 public:
  // Without a choice, frames are captured on request.
  explicit FrameSchedule(std::optional<FrameChoice> choice) : choice_(std::move(choice)) {}

  // Call it before the frame `next`. Requested frames begin `lag` frames later.
  void obey(const Orders& orders, int64_t next, int64_t lag = 0) {
    stopped_ = orders.stopped;
    const uint64_t more = orders.frames - std::exchange(obeyed_, orders.frames);
    if (choice_ || more == 0) return;
    if (requested_.last < next) requested_ = {next + lag, next + lag - 1};
    requested_.last += static_cast<int64_t>(std::min(more, kMaxRequest));
  }

  bool captured(int64_t frame) const { return !stopped_ && chosen(frame, frame); }
  // It was to be captured, but the receiver has ended the capture.
  bool dropped(int64_t frame) const { return stopped_ && chosen(frame, frame); }
  bool captured_any(int64_t first, int64_t last) const { return !stopped_ && chosen(first, last); }
  // Neither `frame` nor a later one is chosen.
  bool past(int64_t frame) const { return choice_ && frame > choice_->last(); }
  // Neither `frame` nor a later one is captured.
  bool over(int64_t frame) const { return stopped_ || past(frame); }

 private:
  static constexpr uint64_t kMaxRequest = 1'000'000'000;

  bool chosen(int64_t first, int64_t last) const {
    return choice_ ? choice_->contains_any(first, last)
                   : requested_.first <= last && requested_.last >= first;
  }

  std::optional<FrameChoice> choice_;
  FrameRange requested_{0, -1};
  uint64_t obeyed_ = 0;  // frames of orders that requested_ includes
  bool stopped_ = false;
};

}  // namespace tally::store::stream
