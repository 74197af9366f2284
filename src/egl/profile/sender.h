// The profile's end of the capture stream: describes the process's GL and its counters, sends one
// batch of messages for each frame, which has left the process when send() returns, whatever
// becomes of the process then. A receiver that hangs is given up (store/stream_client.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
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
  std::optional<int64_t> end_ns;  // none: the process ended in it
  std::vector<Record> records;
};

class Sender {
 public:
  // Null, and said in the log, where nobody listens at `socket`.
  static std::unique_ptr<Sender> connect(const std::string& socket, const GlDescription& gl);

  void send(const ProfiledFrame& frame);
  void warn(const std::string& text);
  void say_goodbye();

  // After a fork the connection is the parent's.
  bool is_of_this_process() const;

 private:
  explicit Sender(std::unique_ptr<store::stream::StreamClient> client);
  void introduce(const GlDescription& gl);
  // Adds the description of a counter that the receiver does not know yet.
  uint64_t counter_id(const Record& record, store::stream::Bytes& bytes);

  std::unique_ptr<store::stream::StreamClient> client_;
  const pid_t process_;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> known_;  // counters by group and index
};

}  // namespace tally::egl
