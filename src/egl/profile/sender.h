// The profile's side of the capture stream. Describes the process's GL and its counters, then sends
// one batch of messages per frame. Once send() returns, the batch has left the process, even if the
// process is then killed. A receiver that does not respond is dropped (store/stream_client.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "egl/session/session.h"
#include "store/stream_client.h"

namespace tally::egl {

struct GlDescription {
  std::string renderer;
  std::string vendor;
  std::string version;
};

struct ProfiledFrame {
  int64_t number = 0;
  int64_t begin_ns = 0;
  std::optional<int64_t> end_ns;  // empty: the process ended during the frame
  std::vector<Record> records;
};

class Sender {
 public:
  // Returns null and logs a warning if nothing listens at `socket`.
  static std::unique_ptr<Sender> connect(const std::string& socket, const GlDescription& gl);

  void send(const ProfiledFrame& frame);
  void warn(const std::string& text);
  void send_end();

  // The receiver's request.
  store::stream::Orders orders() const { return client_->ledger().orders(); }
  void count_dropped_frame() { client_->ledger().add_dropped_frame(); }

 private:
  explicit Sender(std::unique_ptr<store::stream::StreamClient> client);
  void introduce(const GlDescription& gl);
  // Adds a description of the counter if the receiver does not know it yet.
  uint64_t counter_id(const Record& record, store::stream::Bytes& bytes);

  std::unique_ptr<store::stream::StreamClient> client_;
  std::vector<std::vector<uint64_t>> known_;  // ids of counters, by group and index; 0: not sent
  uint64_t next_id_ = 1;
};

}  // namespace tally::egl
