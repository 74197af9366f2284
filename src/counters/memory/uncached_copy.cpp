#include "counters/memory/uncached_copy.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#include <smmintrin.h>
#endif

namespace tally::counters {

#if defined(__x86_64__)
namespace {

constexpr size_t kLineBytes = 64;

// The first streaming load from a line fetches the whole line, and the next three take the rest of
// it. Returns the number of bytes that were copied.
[[gnu::target("sse4.1")]] size_t copy_lines(const std::byte* source, std::byte* target,
                                            size_t bytes) {
  size_t copied = 0;
  for (; copied + kLineBytes <= bytes; copied += kLineBytes) {
    auto* from = reinterpret_cast<__m128i*>(const_cast<std::byte*>(source + copied));
    auto* to = reinterpret_cast<__m128i*>(target + copied);
    const __m128i first = _mm_stream_load_si128(from);
    const __m128i second = _mm_stream_load_si128(from + 1);
    const __m128i third = _mm_stream_load_si128(from + 2);
    const __m128i fourth = _mm_stream_load_si128(from + 3);
    _mm_storeu_si128(to, first);
    _mm_storeu_si128(to + 1, second);
    _mm_storeu_si128(to + 2, third);
    _mm_storeu_si128(to + 3, fourth);
  }
  return copied;
}

}  // namespace
#endif

void copy_uncached(std::span<const uint64_t> source, uint64_t* target) {
  const auto* from = reinterpret_cast<const std::byte*>(source.data());
  auto* to = reinterpret_cast<std::byte*>(target);
  size_t copied = 0;
#if defined(__x86_64__)
  const size_t past = reinterpret_cast<uintptr_t>(from) % kLineBytes;  // the begin of a line
  if (past % sizeof(__m128i) == 0 && __builtin_cpu_supports("sse4.1")) {
    _mm_mfence();  // no streaming load may see a line that an earlier one fetched
    const size_t head = std::min(source.size_bytes(), (kLineBytes - past) % kLineBytes);
    std::memcpy(to, from, head);
    copied = head + copy_lines(from + head, to + head, source.size_bytes() - head);
  }
#endif
  std::memcpy(to + copied, from + copied, source.size_bytes() - copied);
}

}  // namespace tally::counters
