// A 128-bit content hash for telling shaders and pipelines apart: XXH3 (128 bits, seed 0), so
// `xxh128sum` prints the same digits for the same bytes. Not cryptographic. Stable: the same bytes
// give the same value on every machine and in every version, because captures store it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace tally {

struct Hash128 {
  uint64_t high = 0;
  uint64_t low = 0;

  friend bool operator==(const Hash128&, const Hash128&) = default;
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

Hash128 hash_bytes(std::span<const std::byte> bytes);
Hash128 hash_words(std::span<const uint32_t> words);

// 32 lower-case hexadecimal digits.
std::string to_string(const Hash128& hash);

// Mixes one more value into a running 64-bit hash. For the keys of hash tables only; never stored.
constexpr uint64_t hash_combine(uint64_t seed, uint64_t value) {
  uint64_t x = seed ^ (value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2));
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

}  // namespace tally

template <>
struct std::hash<tally::Hash128> {
  size_t operator()(const tally::Hash128& value) const noexcept {
    return static_cast<size_t>(tally::hash_combine(value.high, value.low));
  }
};

namespace tally {

// UUIDs made from names, as RFC 9562 has it for those of one's own making (version 8). The same
// name gives the same UUID on every machine and in every version, because applications store them.

std::array<uint8_t, 16> uuid_of(std::string_view name);

}  // namespace tally
