// The sender's end of a capture stream: a queue of encoded messages of bounded size, and a thread
// that writes it to the receiver's socket. Nothing is dropped: whoever pushes waits until there is
// room. A receiver that takes no byte for `patience` is given up, and nothing is sent any more; the
// ledger tells it how many commands are missing.
//
// Any thread may push; messages arrive in the order in which they were pushed. The thread ends when
// there has been nothing to send for a while and starts again on demand, so that it does not keep a
// process alive whose own threads have all ended.
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

#include "base/status.h"
#include "store/ledger.h"
#include "store/on_demand_thread.h"
#include "store/stream_codec.h"
#include "store/unique_fd.h"

namespace tally::store::stream {

class StreamClient {
 public:
  static constexpr auto kPatience = std::chrono::seconds(10);

  // Connects and greets. The socket's path is what `tally run` put into the environment.
  static Result<std::unique_ptr<StreamClient>> connect(
      const std::string& path, std::chrono::milliseconds patience = kPatience);
  // Closes once everything is written, or the receiver is given up.
  ~StreamClient();

  // Queues the bytes of whole messages once no more than `limit` bytes are waiting with them (an
  // empty queue takes any). False: the receiver is gone, the stream is finished, or this is the
  // child of a fork.
  bool push(Bytes&& bytes, size_t limit);
  // Waits until everything that was pushed before has left the process. False: the receiver is
  // gone.
  bool flush();

  // Waits likewise, and ends the thread: nothing can be pushed any more.
  void finish();

  bool receiver_gone() const { return gone_.load(std::memory_order_relaxed); }
  Ledger& ledger() { return ledger_; }

 private:
  StreamClient(UniqueFd socket, std::chrono::milliseconds patience);
  Status greet();
  void run();
  bool write_all(const Bytes& bytes);

  UniqueFd socket_;
  const std::chrono::milliseconds patience_;
  const pid_t owner_;  // after a fork the child has neither the thread nor anything to say
  Ledger ledger_;
  std::mutex mutex_;
  std::condition_variable filled_;
  std::condition_variable drained_;
  std::deque<Bytes> queue_;
  size_t waiting_ = 0;  // bytes in queue_ and in the hands of the thread
  bool closing_ = false;
  std::atomic<bool> gone_ = false;
  OnDemandThread thread_{"tally-send"};  // under the mutex
};

}  // namespace tally::store::stream
