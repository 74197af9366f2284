// Messages to bytes and back. Encoding cannot fail; decoding trusts nothing: every count is checked
// against the bytes that are left, texts become valid UTF-8 without zero bytes, and a message must
// end where its size says.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "store/stream.h"

namespace tally::store::stream {

using Bytes = std::vector<std::byte>;

void append_greeting(Bytes& bytes);
void append_message(Bytes& bytes, const AnyMessage& message);

// One message without its size: the type byte and the fields.
Result<AnyMessage> decode_message(std::span<const std::byte> bytes);

// Puts a connection's bytes together again. Holds at most one unfinished message.
class StreamDecoder {
 public:
  // Hands every message that is complete to `sink`; its error, or the first of the stream's own,
  // ends the connection: afterwards feed() returns the same error.
  Status feed(std::span<const std::byte> bytes, const std::function<Status(AnyMessage&)>& sink);

  // Between two messages (also before the greeting): the peer may leave here without having lost
  // anything.
  bool at_boundary() const { return pending_.empty(); }

 private:
  Status take_greeting();
  Status take_messages(const std::function<Status(AnyMessage&)>& sink);

  Bytes pending_;
  bool greeted_ = false;
  Status failed_;
};

}  // namespace tally::store::stream
