#include "base/hash.h"

#include <fmt/format.h>

#include <algorithm>

namespace tally {
namespace {

constexpr uint64_t kPrimeA = 0x9e3779b97f4a7c15ull;
constexpr uint64_t kPrimeB = 0xc2b2ae3d27d4eb4full;

// Folds the 128-bit product so that every input bit affects every output bit.
uint64_t fold_multiply(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Reads little-endian bytes on any machine.
uint64_t load_partial(const std::byte* bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  return value;
}

}  // namespace

Hash128 hash_bytes(std::span<const std::byte> bytes) {
  uint64_t a = kPrimeA ^ bytes.size();
  uint64_t b = kPrimeB + bytes.size();
  for (size_t offset = 0; offset < bytes.size(); offset += 8) {
    const uint64_t value =
        load_partial(bytes.data() + offset, std::min<size_t>(8, bytes.size() - offset));
    a = fold_multiply(a ^ value, kPrimeA) + b;
    b = fold_multiply(b + value, kPrimeB) ^ (a >> 32);
  }
  return {fold_multiply(a ^ kPrimeB, b | 1), fold_multiply(b ^ kPrimeA, a | 1)};
}

Hash128 hash_words(std::span<const uint32_t> words) { return hash_bytes(std::as_bytes(words)); }

std::string to_string(const Hash128& hash) {
  return fmt::format("{:016x}{:016x}", hash.high, hash.low);
}

}  // namespace tally
