// The receiver of `tally run`: any number of instrumented processes of the same user connect to it,
// and a thread decodes their streams and writes the capture file. Its memory
// is bounded: it reads only as fast as it writes, and the senders wait.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "store/write/writer.h"

namespace tally::store {

// 0: no limit.
struct CollectorLimits {
  uint64_t file_bytes = 0;   // of the capture, once it is finished
  uint64_t last_frames = 0;  // how many are kept of each device; earlier ones are removed
};

class Collector {
 public:
  struct Progress {
    uint64_t processes = 0;
    uint64_t connected = 0;      // at least 1 while processes wait to be accepted
    uint64_t accept_rounds = 0;  // how often processes were accepted: each time all that waited
    uint64_t frames = 0;
    uint64_t bytes = 0;
    uint64_t frames_dropped = 0;  // beyond the limit of the file
  };

  // `directory`: see ChannelServer::listen.
  static Result<std::unique_ptr<Collector>> start(Writer writer, const std::string& directory = {},
                                                  CollectorLimits limits = {});
  ~Collector();

  // For the environment of the application: TALLY_CAPTURE_SOCKET.
  const std::string& name() const;
  Progress progress() const;  // any thread
  // Asks each connected process that captures on request for its next `frames` frames. Returns how
  // many processes are connected. Any thread.
  uint64_t request_frames(uint64_t frames);
  // Captures nothing more: the processes run on at their own speed. Any thread.
  void stop_capturing();

  // Once the application has ended: waits up to `grace` for processes that are still connected,
  // reads everything that arrived, disconnects the rest, and finishes the capture file.
  Status finish(std::optional<int64_t> exit_status, std::chrono::milliseconds grace);

 private:
  class Loop;
  explicit Collector(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

}  // namespace tally::store
