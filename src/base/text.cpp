#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

namespace tally {
namespace {

// Length of the well-formed sequence at the start of `text`, 0 if there is none.
size_t sequence_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return first != 0 ? 1 : 0;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
  if (length == 0 || length > text.size()) return 0;
  uint32_t code = first & (0xff >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code >= kSmallest[length] && code <= 0x10ffff && !surrogate ? length : 0;
}

// "GPU time" -> "gpu_time"
std::string folded(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool in_word = byte >= 0x80 || std::isalnum(byte) != 0;
    text += in_word ? static_cast<char>(std::tolower(byte)) : '_';
  }
  return text;
}

// The number of letters to insert, remove, replace or swap with their neighbour (the optimal string
// alignment distance, by dynamic programming).
size_t slips_between(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> table(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) table[i][0] = i;
  std::iota(table[0].begin(), table[0].end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      table[i][j] = std::min({table[i - 1][j] + 1, table[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
    }
  }
  return table[a.size()][b.size()];
}

}  // namespace

std::string clean_utf8(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const size_t length = sequence_length(text);
    if (length == 0) {
      clean += "\xef\xbf\xbd";
    } else {
      clean += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return clean;
}

std::string similar_name(std::string_view name, const std::vector<std::string>& known) {
  constexpr size_t kMaxLength = 100;
  if (name.size() > kMaxLength) return {};
  const std::string wanted = folded(name);
  std::string best;
  size_t fewest = std::max<size_t>(1, wanted.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const size_t slips = slips_between(wanted, folded(candidate));
    if (slips < fewest && slips < candidate.size()) {
      fewest = slips;
      best = candidate;
    }
  }
  return best;
}

Result<size_t> find_name(std::string_view of, std::string_view name,
                         const std::vector<KnownName>& known) {
  const auto exact = std::ranges::find(known, name, &KnownName::id);
  if (exact != known.end()) return static_cast<size_t>(exact - known.begin());
  const std::string wanted = folded(name);
  const auto found = std::ranges::find_if(known, [&](const KnownName& candidate) {
    return folded(candidate.id) == wanted || folded(candidate.title) == wanted;
  });
  if (found != known.end()) return static_cast<size_t>(found - known.begin());
  std::vector<std::string> ids;
  std::string list;
  for (const KnownName& candidate : known) {
    list += (list.empty() ? "" : ", ") + candidate.id;
    ids.push_back(candidate.id);
  }
  const std::string similar = similar_name(name, ids);
  return Error{similar.empty()
                   ? fmt::format("there is no {} '{}'; the {}s are {}", of, name, of, list)
                   : fmt::format("there is no {} '{}'; did you mean {}? The {}s are {}", of, name,
                                 similar, of, list)};
}

}  // namespace tally
