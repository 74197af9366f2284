// The sender's end of a capture stream. push() writes encoded messages to the receiver's
// connection; what it does not take at once waits in a bounded queue for a thread. No message is
// dropped: push() waits until the queue has capacity. If the receiver accepts no byte for
// `patience`, the client disconnects and sends nothing more; the ledger tells the receiver how many
// commands are missing.
//
// Programs that become daemons close descriptors that are not their own. So the connection is
// checked right before each use. If it is lost, the stream goes on over another one, from the byte
// where it stopped; if there is none to be had, the client disconnects.
//
// Any thread may push; messages arrive in the order in which they were pushed. The thread ends
// after a time without messages and starts again on demand, so it does not keep a process alive
// whose own threads have all ended.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "base/quiet_thread.h"
#include "base/status.h"
#include "platform/channel.h"
#include "store/stream/ledger.h"
#include "store/stream/stream.h"

namespace tally::store::stream {

class StreamClient {
 public:
  static constexpr auto kPatience = std::chrono::seconds(10);

  // Connects and sends the handshake. The receiver's name is what `tally run` put into the
  // environment.
  static Result<std::unique_ptr<StreamClient>> connect(
      const std::string& name, std::chrono::milliseconds patience = kPatience);
  // Closes once everything is written or the receiver is disconnected.
  ~StreamClient();

  // Queues the bytes of whole messages once the queue holds at most `limit` bytes with them (an
  // empty queue takes any number). False: the receiver is disconnected, the stream is finished, or
  // this is the child of a fork.
  bool push(Bytes&& bytes, size_t limit);
  // Waits until everything that was pushed before is sent. False: the receiver is disconnected, or
  // the time is over.
  bool flush(std::chrono::milliseconds patience = std::chrono::milliseconds::max());

  // Waits likewise, and ends the thread: later pushes fail.
  void finish();

  bool receiver_gone() const { return gone_.load(std::memory_order_relaxed); }
  Ledger& ledger() { return ledger_; }

 private:
  StreamClient(const std::string& name, platform::ChannelClient channel,
               std::chrono::milliseconds patience);
  Status send_handshake();
  Status reconnect();
  // Opens another connection if this one was lost. False: there is none.
  bool is_connected();
  void run();
  // Sends what the connection takes without waiting. Nothing: it is lost.
  std::optional<size_t> send_some(std::span<const std::byte> bytes);
  bool write_all(std::span<const std::byte> bytes);

  const std::string name_;
  // Used under the mutex, or by the thread while bytes wait.
  platform::ChannelClient channel_;
  uint64_t position_ = 0;  // bytes sent after the handshake
  const std::chrono::milliseconds patience_;
  const pid_t owner_;  // the child of a fork has no thread and sends nothing
  Ledger ledger_;
  std::mutex mutex_;
  std::condition_variable filled_;
  std::condition_variable drained_;
  std::deque<Bytes> queue_;
  size_t waiting_ = 0;  // bytes in queue_ and those that the thread is writing
  bool closing_ = false;
  std::atomic<bool> gone_ = false;
  OnDemandThread thread_{"tally-send"};  // under the mutex
};

// The first message of this process to the receiver.

Process describe_this_process(std::string application = {}, std::string engine = {});

}  // namespace tally::store::stream
