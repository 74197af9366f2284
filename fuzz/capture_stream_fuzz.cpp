// Fuzzes the capture stream's decoder with arbitrary bytes, prefixed with the handshake so that
// mutations reach the messages.
#include <cstddef>
#include <cstdint>
#include <span>

#include "expect.h"
#include "store/stream/stream.h"

using namespace tally::store::stream;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes handshake;
  append_handshake(handshake);
  StreamDecoder decoder;
  const auto sink = [](AnyMessage& message) {
    // Decoded messages can be encoded, and decoding the result gives the same bytes again.
    Bytes once;
    append_message(once, message);
    const auto again = decode_message(std::span(once).subspan(4));
    TALLY_FUZZ_EXPECT(again.ok());
    Bytes twice;
    append_message(twice, *again);
    TALLY_FUZZ_EXPECT(once == twice);
    return tally::Status{};
  };
  (void)decoder.feed(handshake, sink);
  (void)decoder.feed(std::as_bytes(std::span(data, size)), sink);
  return 0;
}
