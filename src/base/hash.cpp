// All of XXH3 with internal linkage: no symbol of it meets one of the application's.
#define XXH_INLINE_ALL

#include "base/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace tally {

Hash128 hash_bytes(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

Hash128 hash_words(std::span<const uint32_t> words) { return hash_bytes(std::as_bytes(words)); }

std::string to_string(const Hash128& hash) {
  return fmt::format("{:016x}{:016x}", hash.high, hash.low);
}

namespace {

constexpr uint64_t kPrimeA = 0x9e3779b97f4a7c15ull;
constexpr uint64_t kPrimeB = 0xc2b2ae3d27d4eb4full;

// Folds the 128-bit product: every input bit reaches every output bit.
uint64_t fold_multiply(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Little-endian whatever the machine.
uint64_t load(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    value |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[i])) << (8 * i);
  }
  return value;
}

}  // namespace

// A hash of its own instead of base/hash.h: UUIDs must stay whatever hash captures have.
std::array<uint8_t, 16> uuid_of(std::string_view name) {
  uint64_t a = kPrimeA ^ name.size();
  uint64_t b = kPrimeB + name.size();
  for (size_t offset = 0; offset < name.size(); offset += 8) {
    const uint64_t value = load(name.substr(offset, 8));
    a = fold_multiply(a ^ value, kPrimeA) + b;
    b = fold_multiply(b + value, kPrimeB) ^ (a >> 32);
  }
  const uint64_t high = fold_multiply(a ^ kPrimeB, b | 1);
  const uint64_t low = fold_multiply(b ^ kPrimeA, a | 1);
  std::array<uint8_t, 16> uuid{};
  for (size_t i = 0; i < 8; ++i) {
    uuid[i] = static_cast<uint8_t>(high >> (56 - 8 * i));
    uuid[8 + i] = static_cast<uint8_t>(low >> (56 - 8 * i));
  }
  uuid[6] = static_cast<uint8_t>((uuid[6] & 0x0f) | 0x80);  // the version
  uuid[8] = static_cast<uint8_t>((uuid[8] & 0x3f) | 0x80);  // the variant
  return uuid;
}

}  // namespace tally
