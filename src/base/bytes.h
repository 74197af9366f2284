// Writes and reads little-endian bytes. The reader never reads past the end: such a read returns
// zero, and failed() stays true from then on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tally {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "captures and records are stored in the machine's byte order");

class ByteWriter {
 public:
  template <typename T>
  requires std::is_arithmetic_v<T>
  void put(T value) { put_bytes(&value, sizeof value); }
  void put_bytes(const void* data, size_t size) {
    const auto* first = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), first, first + size);
  }
  size_t size() const { return bytes_.size(); }
  void clear() { bytes_.clear(); }
  std::span<const std::byte> bytes() const { return bytes_; }
  // Overwrites four bytes that were written earlier, such as a length that is known only at the
  // end.
  void patch(size_t offset, uint32_t value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof value);
  }

 private:
  std::vector<std::byte> bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  requires std::is_arithmetic_v<T> T get() {
    T value{};
    const std::span<const std::byte> source = get_bytes(sizeof value);
    if (source.size() == sizeof value) std::memcpy(&value, source.data(), sizeof value);
    return value;
  }
  // A view of the next `size` bytes; empty if fewer remain.
  std::span<const std::byte> get_bytes(size_t size) {
    if (failed_ || size > bytes_.size() - offset_) {
      failed_ = true;
      return {};
    }
    const auto result = bytes_.subspan(offset_, size);
    offset_ += size;
    return result;
  }
  bool failed() const { return failed_; }
  size_t remaining() const { return bytes_.size() - offset_; }

 private:
  std::span<const std::byte> bytes_;
  size_t offset_ = 0;
  bool failed_ = false;
};

}  // namespace tally
