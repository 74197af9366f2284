#include "analysis/model/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace tally::analysis {
namespace {

bool parse_number(std::string_view text, int64_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && *number >= 0;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

// The usual two-pointer glob: on a mismatch go back to the last * and let it take one character
// more.
bool glob(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]) && pattern[p] != '*') {
      ++p, ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

Result<FrameRange> parse_frame_range(std::string_view text) {
  const Error bad{fmt::format("'{}' is not a range of frames; write 7, 3-9, 3- or -9", text)};
  FrameRange range;
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos) {
    if (!parse_number(text, &range.first)) return bad;
    range.last = range.first;
    return range;
  }
  const std::string_view first = text.substr(0, dash), last = text.substr(dash + 1);
  if (first.empty() && last.empty()) return bad;
  if (!first.empty() && !parse_number(first, &range.first)) return bad;
  if (!last.empty() && !parse_number(last, &range.last)) return bad;
  if (range.first > range.last) return bad;
  return range;
}

bool matches_pattern(std::string_view pattern, std::string_view text) {
  const std::string p = lower(pattern), t = lower(text);
  if (p.find_first_of("*?") != std::string::npos) return glob(p, t);
  return t.find(p) != std::string::npos;
}

}  // namespace tally::analysis
