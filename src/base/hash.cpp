#include "base/hash.h"

#include <fmt/format.h>

// All of XXH3 with internal linkage: no symbol of it meets one of the application's.
#define XXH_INLINE_ALL
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

}  // namespace tally
