#include "store/stream/stream.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/text.h"

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
    return Error{"the peer sent something other than a capture stream"};
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
      status = Error{
          fmt::format("the capture stream has a message of {} bytes, which is not allowed", size)};
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

namespace {

static_assert(std::endian::native == std::endian::little);

template <typename Enum>
constexpr size_t kEnumerators = 0;
template <>
constexpr size_t kEnumerators<Function> = kFunctionCount;
template <>
constexpr size_t kEnumerators<Named> = kNamedCount;
template <>
constexpr size_t kEnumerators<PassOf> = kPassOfCount;
template <>
constexpr size_t kEnumerators<FrameEnd> = std::size(EnumNames<FrameEnd>::kNames);
template <>
constexpr size_t kEnumerators<StatisticFormat> = std::size(EnumNames<StatisticFormat>::kNames);
template <>
constexpr size_t kEnumerators<Severity> = std::size(EnumNames<Severity>::kNames);

constexpr uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
constexpr int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

// Any other message is a row.
template <typename Struct, typename Archive>
concept HasFields = requires(Struct& value, Archive& archive) {
  value.fields(archive);
};

// Calls `visit` with the value of each column that a message with this row has.
template <typename Row, typename Visit>
void for_each_sent_column(Row& row, Visit visit) {
  for_each_column<std::remove_const_t<Row>>([&](const auto& column) {
    if constexpr (std::remove_cvref_t<decltype(column)>::kSent) visit(column.of(row));
  });
}

class Encoder {
 public:
  explicit Encoder(Bytes& bytes) : bytes_(bytes) {}

  template <typename... Values>
  void operator()(const Values&... values) {
    (put(values), ...);
  }

 private:
  void raw(const void* data, size_t size) {
    const auto* first = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), first, first + size);
  }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<std::byte>(value | 0x80));
    bytes_.push_back(static_cast<std::byte>(value));
  }

  void put(uint32_t value) { varint(value); }
  void put(uint64_t value) { varint(value); }
  void put(int64_t value) { varint(zigzag(value)); }
  void put(bool value) { bytes_.push_back(static_cast<std::byte>(value)); }
  void put(double value) { raw(&value, sizeof value); }
  void put(const std::string& text) {
    const std::string_view kept = std::string_view(text).substr(0, kMaxTextBytes);
    varint(kept.size());
    raw(kept.data(), kept.size());
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void put(Enum value) { bytes_.push_back(static_cast<std::byte>(value)); }
  template <typename Value>
  void put(const std::optional<Value>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  void put(const std::vector<uint32_t>& words) {  // such as SPIR-V: unpacked
    varint(words.size());
    raw(words.data(), words.size() * sizeof(uint32_t));
  }
  template <typename Value>
  void put(const std::vector<Value>& values) {
    varint(values.size());
    for (const Value& value : values) put(value);
  }
  // The first value, then differences, which are small.
  void put(const Column& column) {
    varint(column.values.size());
    uint64_t before = 0;
    for (const int64_t value : column.values) {
      varint(zigzag(static_cast<int64_t>(static_cast<uint64_t>(value) - before)));
      before = static_cast<uint64_t>(value);
    }
  }
  template <typename Struct>
  requires std::is_class_v<Struct>
  void put(const Struct& value) {
    if constexpr (HasFields<Struct, Encoder>) {
      const_cast<Struct&>(value).fields(*this);  // the encoder only reads
    } else {
      for_each_sent_column(value, [&](const auto& field) { put(field); });
    }
  }

  Bytes& bytes_;
};

// The first error sticks: what is decoded after it is meaningless and discarded.
class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename... Values>
  void operator()(Values&... values) {
    (get(values), ...);
  }

  bool failed() const { return failed_; }
  bool at_end() const { return offset_ == bytes_.size(); }

 private:
  size_t left() const { return bytes_.size() - offset_; }

  std::span<const std::byte> raw(size_t size) {
    if (failed_ || size > left()) {
      failed_ = true;
      return {};
    }
    offset_ += size;
    return bytes_.subspan(offset_ - size, size);
  }
  uint8_t byte() {
    const auto one = raw(1);
    return one.empty() ? uint8_t{0} : static_cast<uint8_t>(one[0]);
  }
  uint64_t varint() {
    // Most numbers take one byte.
    if (offset_ < bytes_.size() && static_cast<uint8_t>(bytes_[offset_]) < 0x80) {
      return static_cast<uint8_t>(bytes_[offset_++]);
    }
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const uint8_t part = byte();
      if (shift == 63 && part > 1) break;
      value |= uint64_t{part & 0x7fu} << shift;
      if (part < 0x80) return value;
    }
    failed_ = true;
    return 0;
  }
  // How many elements follow. Each has at least `smallest` bytes, so the bytes that are left bound
  // the allocation.
  size_t count(size_t smallest = 1) {
    const uint64_t value = varint();
    if (!failed_ && value > left() / smallest) failed_ = true;
    return failed_ ? 0 : static_cast<size_t>(value);
  }

  void get(uint32_t& value) {
    const uint64_t wide = varint();
    if (wide > UINT32_MAX) failed_ = true;
    value = static_cast<uint32_t>(wide);
  }
  void get(uint64_t& value) { value = varint(); }
  void get(int64_t& value) { value = unzigzag(varint()); }
  void get(bool& value) {
    const uint8_t part = byte();
    if (part > 1) failed_ = true;
    value = part == 1;
  }
  void get(double& value) {
    const auto bytes = raw(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
  }
  void get(std::string& text) {
    const size_t size = count();
    if (size > kMaxTextBytes) failed_ = true;
    const auto bytes = raw(size);
    text = clean_utf8({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void get(Enum& value) {
    static_assert(kEnumerators<Enum> > 0);
    const uint8_t part = byte();
    if (part >= kEnumerators<Enum>) failed_ = true;
    value = static_cast<Enum>(failed_ ? 0 : part);
  }
  template <typename Value>
  void get(std::optional<Value>& value) {
    bool there = false;
    get(there);
    value.reset();
    if (there && !failed_) get(value.emplace());
  }
  void get(std::vector<uint32_t>& words) {
    words.resize(count(sizeof(uint32_t)));
    const auto bytes = raw(words.size() * sizeof(uint32_t));
    if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  }
  template <typename Value>
  void get(std::vector<Value>& values) {
    values.clear();
    for (size_t n = count(); n > 0 && !failed_; --n) get(values.emplace_back());
  }
  void get(Column& column) {
    column.values.resize(count());
    uint64_t value = 0;
    for (int64_t& element : column.values) {
      value += static_cast<uint64_t>(unzigzag(varint()));
      element = static_cast<int64_t>(value);
    }
  }
  template <typename Struct>
  requires std::is_class_v<Struct>
  void get(Struct& value) {
    if constexpr (HasFields<Struct, Decoder>) {
      value.fields(*this);
    } else {
      for_each_sent_column(value, [&](auto& field) { get(field); });
    }
  }

  std::span<const std::byte> bytes_;
  size_t offset_ = 0;
  bool failed_ = false;
};

// The message whose index is `type`, value-initialised; false when there is none.
template <size_t Index = 0>
bool make_message(uint8_t type, AnyMessage& message) {
  if constexpr (Index == std::variant_size_v<AnyMessage>) {
    return false;
  } else {
    if (type != Index) return make_message<Index + 1>(type, message);
    message.emplace<Index>();
    return true;
  }
}

}  // namespace

void append_message(Bytes& bytes, const AnyMessage& message) {
  const size_t start = bytes.size();
  bytes.resize(start + kSizeBytes);
  bytes.push_back(static_cast<std::byte>(message.index()));
  Encoder encoder(bytes);
  std::visit([&](const auto& body) { encoder(body); }, message);
  const auto size = static_cast<uint32_t>(bytes.size() - start - kSizeBytes);
  std::memcpy(bytes.data() + start, &size, sizeof size);
}

Result<AnyMessage> decode_message(std::span<const std::byte> bytes) {
  if (bytes.empty()) return Error{"empty message in the capture stream"};
  const auto type = static_cast<uint8_t>(bytes[0]);
  AnyMessage message;
  if (!make_message(type, message)) {
    return Error{fmt::format("unknown message type {} in the capture stream", type)};
  }
  Decoder decoder(bytes.subspan(1));
  std::visit([&](auto& body) { decoder(body); }, message);
  if (decoder.failed() || !decoder.at_end()) {
    return Error{fmt::format("malformed message of type {} in the capture stream", type)};
  }
  return message;
}

}  // namespace tally::store::stream
