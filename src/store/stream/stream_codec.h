// Encodes and decodes messages. Encoding cannot fail. Decoding trusts nothing: it checks every
// count against the bytes that are left, makes texts valid UTF-8 without zero bytes, and refuses a
// message that does not end where its size says.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "store/stream/ledger.h"
#include "store/stream/stream.h"

namespace tally::store::stream {

using Bytes = std::vector<std::byte>;

// Precedes each message: the number of bytes that follow it.
inline constexpr size_t kSizeBytes = sizeof(uint32_t);

void append_handshake(Bytes& bytes);
// In place of the handshake, on the connection that follows one that the application closed.
struct Resumption {
  StreamToken token;
  uint64_t position = 0;  // how many bytes the sender has sent after the handshake

  static constexpr size_t kBytes = kHandshakeBytes + sizeof(StreamToken) + sizeof(uint64_t);
  void append_to(Bytes& bytes) const;
  // True if the first kHandshakeBytes of a connection begin one.
  static bool begins(std::span<const std::byte> bytes);
  static Resumption read(std::span<const std::byte> bytes);  // kBytes
};
void append_message(Bytes& bytes, const AnyMessage& message);

// One message without its size: the type byte and the fields.
Result<AnyMessage> decode_message(std::span<const std::byte> bytes);

// Decodes a connection's bytes. Holds at most one incomplete message.
class StreamDecoder {
 public:
  // Hands every complete message to `sink`. The first error, of the sink or of the stream, ends the
  // connection: afterwards feed() returns the same error.
  Status feed(std::span<const std::byte> bytes, const std::function<Status(AnyMessage&)>& sink);

 private:
  Status take_handshake();
  Status take_messages(const std::function<Status(AnyMessage&)>& sink);

  Bytes pending_;
  bool handshake_done_ = false;
  Status failed_;
};

}  // namespace tally::store::stream
