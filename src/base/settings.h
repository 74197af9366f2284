// The settings of one library: text values by key. They come from four sources, in descending
// precedence: the environment (TALLY_<KEY>, upper case), the program's own values (for a layer:
// VK_EXT_layer_settings), vk_layer_settings.txt, and the default. A Settings object is immutable
// once loaded. A value that does not parse is logged and replaced by the default.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tally {

// A text without the white space around it.

inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

struct Size {
  uint32_t width = 0, height = 0;
};

// "16x8". Nullopt: it is no such text.
std::optional<Size> parse_size(std::string_view text);

// True for a size that regions of a framebuffer can have: both sides powers of two up to 4096.
bool is_region_size(const Size& size);

class Settings {
 public:
  using Values = std::map<std::string, std::string, std::less<>>;

  Settings() = default;

  // `prefix` precedes the key in the file, without the dot ("tally_counters"). `program` holds the
  // values that the program passed through an API, by bare key.
  static Settings load(std::string_view prefix, Values program);

  std::string text(std::string_view key, std::string_view fallback) const;
  // true/false, on/off, yes/no, 1/0
  bool flag(std::string_view key, bool fallback) const;
  uint64_t number(std::string_view key, uint64_t fallback, uint64_t minimum,
                  uint64_t maximum) const;

 private:
  const std::string* find(std::string_view key) const;

  Values values_;
};

// The "key = value" lines of a vk_layer_settings.txt whose key starts with "<prefix>.", by bare
// key. A value may be enclosed in double quotes; a # at the start of a line begins a comment.
Settings::Values parse_settings_file(std::string_view text, std::string_view prefix);

}  // namespace tally
