#include "store/stream_codec.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

namespace tally::store::stream {
namespace {

constexpr uint8_t kModuleType = 4;
static_assert(std::is_same_v<std::variant_alternative_t<kModuleType, AnyMessage>, Module>);

constexpr std::array<char, kStreamMagic.size()> kResumptionMagic = {'T', 'A', 'L', 'L',
                                                                    'Y', 'O', 'N', '.'};

template <typename Value>
void append_raw(Bytes& bytes, const Value& value) {
  const auto raw = std::bit_cast<std::array<std::byte, sizeof value>>(value);
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

}  // namespace

void append_handshake(Bytes& bytes) {
  append_raw(bytes, kStreamMagic);
  append_raw(bytes, kStreamVersion);
}

void Resumption::append_to(Bytes& bytes) const {
  append_raw(bytes, kResumptionMagic);
  append_raw(bytes, kStreamVersion);
  append_raw(bytes, token);
  append_raw(bytes, position);
}

bool Resumption::begins(std::span<const std::byte> bytes) {
  return std::memcmp(bytes.data(), kResumptionMagic.data(), kResumptionMagic.size()) == 0;
}

Resumption Resumption::read(std::span<const std::byte> bytes) {
  Resumption result;
  std::memcpy(&result.token, bytes.data() + kHandshakeBytes, sizeof result.token);
  std::memcpy(&result.position, bytes.data() + kHandshakeBytes + sizeof result.token,
              sizeof result.position);
  return result;
}

Status StreamDecoder::feed(std::span<const std::byte> bytes,
                           const std::function<Status(AnyMessage&)>& sink) {
  if (!failed_) return failed_;
  pending_.insert(pending_.end(), bytes.begin(), bytes.end());
  failed_ = take_handshake();
  if (failed_.ok() && handshake_done_) failed_ = take_messages(sink);
  return failed_;
}

Status StreamDecoder::take_handshake() {
  if (handshake_done_ || pending_.size() < kHandshakeBytes) return {};
  if (std::memcmp(pending_.data(), kStreamMagic.data(), kStreamMagic.size()) != 0) {
    return Error{"the peer does not send a capture stream"};
  }
  uint32_t version = 0;
  std::memcpy(&version, pending_.data() + kStreamMagic.size(), sizeof version);
  if (version != kStreamVersion) {
    return Error{fmt::format("the capture layer sends stream version {}, this tally reads {}",
                             version, kStreamVersion)};
  }
  pending_.erase(pending_.begin(), pending_.begin() + kHandshakeBytes);
  handshake_done_ = true;
  return {};
}

Status StreamDecoder::take_messages(const std::function<Status(AnyMessage&)>& sink) {
  size_t offset = 0;
  Status status;
  while (status.ok() && pending_.size() - offset > kSizeBytes) {
    uint32_t size = 0;
    std::memcpy(&size, pending_.data() + offset, sizeof size);
    const auto type = static_cast<uint8_t>(pending_[offset + kSizeBytes]);
    if (size == 0 || size > (type == kModuleType ? kMaxModuleBytes : kMaxMessageBytes)) {
      status = Error{fmt::format("message of {} bytes in the capture stream", size)};
      break;
    }
    if (pending_.size() - offset - kSizeBytes < size) break;
    Result<AnyMessage> message =
        decode_message(std::span(pending_).subspan(offset + kSizeBytes, size));
    offset += kSizeBytes + size;
    status = message ? sink(*message) : Status(message.error());
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(offset));
  return status;
}

}  // namespace tally::store::stream
