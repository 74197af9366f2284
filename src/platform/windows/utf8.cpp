// std::filesystem converts narrow names with the C library's mbrtowc() and wcrtomb(), which know no
// UTF-8 on Windows. ld's --wrap replaces them by these.
#include <cerrno>
#include <cstddef>
#include <cwchar>

namespace {

constexpr size_t kInvalid = static_cast<size_t>(-1), kIncomplete = static_cast<size_t>(-2);
constexpr unsigned kHighSurrogate = 0xD800, kLowSurrogate = 0xDC00;

size_t invalid() {
  errno = EILSEQ;
  return kInvalid;
}

// The bytes of a character by its first one; 0: it begins none.
size_t length_of(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return 2;
  if (first < 0xF0) return 3;
  return first < 0xF5 ? 4 : 0;
}

bool is_surrogate(unsigned code, unsigned kind) { return (code & 0xFC00) == kind; }

// Appends the bytes of a character and returns their number.
size_t encode(unsigned code, char* out) {
  const size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  constexpr unsigned kFirst[] = {0, 0, 0xC0, 0xE0, 0xF0};
  for (size_t i = length; i-- > 1; code >>= 6) out[i] = static_cast<char>(0x80 | (code & 0x3F));
  out[0] = static_cast<char>(kFirst[length] | code);
  return length;
}

}  // namespace

// A character beyond 16 bits gives two words: the first call takes three of its bytes, and keeps
// the second word in the state for the next call, which takes the fourth byte.
extern "C" size_t __wrap_mbrtowc(wchar_t* word, const char* text, size_t size, mbstate_t* state) {
  if (text == nullptr) return 0;
  if (*state != 0) {
    *word = static_cast<wchar_t>(*state);
    *state = 0;
    return 1;
  }
  if (size == 0) return kIncomplete;
  const size_t length = length_of(static_cast<unsigned char>(*text));
  if (length == 0) return invalid();
  if (size < length) return kIncomplete;
  constexpr unsigned kMask[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  unsigned code = static_cast<unsigned char>(*text) & kMask[length];
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0) != 0x80) return invalid();
    code = code << 6 | (next & 0x3F);
  }
  constexpr unsigned kFirstCode[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kFirstCode[length] || code > 0x10FFFF || (code & ~0x7FFu) == kHighSurrogate)
    return invalid();
  if (length < 4) {
    *word = static_cast<wchar_t>(code);
    return code == 0 ? 0 : length;
  }
  *word = static_cast<wchar_t>(kHighSurrogate | (code - 0x10000) >> 10);
  *state = static_cast<mbstate_t>(kLowSurrogate | (code & 0x3FF));
  return 3;
}

// The state keeps a first surrogate for the next call.
extern "C" size_t __wrap_wcrtomb(char* text, wchar_t word, mbstate_t* state) {
  if (text == nullptr) return 1;
  const auto code = static_cast<unsigned>(word);
  if (*state != 0) {
    if (!is_surrogate(code, kLowSurrogate)) return invalid();
    const unsigned high = static_cast<unsigned>(*state);
    *state = 0;
    return encode(0x10000 + ((high & 0x3FF) << 10 | (code & 0x3FF)), text);
  }
  if (is_surrogate(code, kLowSurrogate)) return invalid();
  if (!is_surrogate(code, kHighSurrogate)) return encode(code, text);
  *state = static_cast<mbstate_t>(code);
  return 0;
}
