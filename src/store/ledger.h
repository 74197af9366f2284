// Counts the commands that a process submits, in shared memory that the receiver can read however
// the process ends. The sender owns it; the receiver gets its descriptor with the stream's first
// byte.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "store/unique_fd.h"

namespace tally::store::stream {

class Ledger {
 public:
  Ledger();  // if the memory cannot be allocated, nothing is counted
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  int descriptor() const { return file_.get(); }  // -1: no memory
  // Any thread.
  void add_submitted(uint64_t commands) {
    if (page_) page_->submitted.fetch_add(commands, std::memory_order_relaxed);
  }
  // The sender has disconnected: the count is no longer valid.
  void close() {
    if (page_) page_->closed.store(1, std::memory_order_relaxed);
  }

 private:
  struct Page {
    std::atomic<uint64_t> submitted = 0;
    std::atomic<uint64_t> closed = 0;
  };

  UniqueFd file_;
  Page* page_ = nullptr;  // mapped
};

// How many commands another process has submitted; none if the ledger is closed or not valid.
std::optional<uint64_t> read_ledger(int descriptor);

}  // namespace tally::store::stream
