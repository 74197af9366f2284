// The sender's end of a capture stream: a queue of encoded messages with a byte limit, and the
// thread that writes it to the receiver's socket. The caller never waits for the receiver, but
// where it asks to, and then only so long. Any thread may push; messages arrive in the order in
// which they were pushed.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/status.h"
#include "store/stream_codec.h"
#include "store/unique_fd.h"

namespace tally::store::stream {

class StreamClient {
 public:
  // Connects and greets. The socket's path is what `tally run` put into the environment.
  static Result<std::unique_ptr<StreamClient>> connect(const std::string& path);
  // Writes what is queued for at most `kClosingTime`, then closes.
  ~StreamClient();

  // Queues the bytes of whole messages if no more than `limit` bytes are waiting then (an empty
  // queue takes any). False: there is no room, or the receiver is gone.
  bool push(Bytes&& bytes, size_t limit);

  // Waits until no more than `bytes` are waiting; whether that came about in time.
  bool wait_below(size_t bytes, std::chrono::milliseconds patience);
  // Waits until everything that was pushed before has left the process.
  bool flush(std::chrono::milliseconds patience) { return wait_below(0, patience); }

  bool receiver_gone() const { return gone_.load(std::memory_order_relaxed); }

  static constexpr auto kClosingTime = std::chrono::seconds(10);

 private:
  explicit StreamClient(UniqueFd socket);
  void run();
  bool write_all(const Bytes& bytes);

  UniqueFd socket_;
  const pid_t owner_;  // after a fork the child has neither the thread nor anything to say
  std::mutex mutex_;
  std::condition_variable filled_;
  std::condition_variable drained_;
  std::deque<Bytes> queue_;
  size_t waiting_ = 0;  // bytes in queue_ and in the hands of the thread
  bool closing_ = false;
  std::atomic<int64_t> give_up_ns_ = INT64_MAX;
  std::atomic<bool> gone_ = false;
  std::thread thread_;
};

}  // namespace tally::store::stream
