#include "report/html/base64.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tally::report {
namespace {

// Appends the digits of one to three bytes.
void append_group(std::string& text, std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  uint32_t word = 0;
  for (size_t i = 0; i < 3; ++i)
    word = word << 8 | (i < bytes.size() ? static_cast<uint8_t>(bytes[i]) : 0u);
  for (size_t i = 0; i < 4; ++i)
    text += i <= bytes.size() ? kDigits[word >> (18 - 6 * i) & 63] : '=';
}

}  // namespace

void Base64::write(std::string_view bytes) {
  const size_t missing = left_.empty() ? 0 : std::min(3 - left_.size(), bytes.size());
  left_ += bytes.substr(0, missing);
  bytes.remove_prefix(missing);
  std::string text;
  text.reserve(bytes.size() / 3 * 4 + 4);
  if (left_.size() == 3) {
    append_group(text, left_);
    left_.clear();
  }
  while (bytes.size() >= 3) {
    append_group(text, bytes.substr(0, 3));
    bytes.remove_prefix(3);
  }
  left_ += bytes;
  out_(text);
}

void Base64::finish() {
  std::string text;
  if (!left_.empty()) append_group(text, left_);
  left_.clear();
  out_(text);
}

std::string base64(std::string_view bytes) {
  std::string text;
  Base64 encoder([&](std::string_view piece) { text += piece; });
  encoder.write(bytes);
  encoder.finish();
  return text;
}

}  // namespace tally::report
