#include "base/settings.h"

#include <bit>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "platform/process.h"

namespace tally {
namespace {

constexpr std::string_view kFileName = "vk_layer_settings.txt";
constexpr std::string_view kEnvironmentPrefix = "TALLY_";

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// The paths at which the Vulkan tools look for the file; the first match wins. A privileged program
// does not read paths from its environment.
std::vector<std::string> candidate_paths() {
  std::vector<std::string> paths;
  if (const char* path = platform::trusted_variable("VK_LAYER_SETTINGS_PATH")) {
    paths.emplace_back(path);
    paths.push_back(std::string(path) + "/" + std::string(kFileName));
  }
  if (const char* home = platform::trusted_variable("XDG_DATA_HOME")) {
    paths.push_back(std::string(home) + "/vulkan/settings.d/" + std::string(kFileName));
  }
  if (const char* home = platform::trusted_variable("HOME")) {
    paths.push_back(std::string(home) + "/.local/share/vulkan/settings.d/" +
                    std::string(kFileName));
  }
  paths.emplace_back(kFileName);
  return paths;
}

std::string read_settings_file() {
  for (const std::string& path : candidate_paths()) {
    std::error_code ignored;
    const auto kind = std::filesystem::status(path, ignored).type();
    if (kind == std::filesystem::file_type::none || kind == std::filesystem::file_type::not_found ||
        kind == std::filesystem::file_type::directory) {
      continue;
    }
    Result<std::string> text = read_small_file(path);
    if (text) return std::move(*text);
    log_once(LogLevel::Warning, "settings cannot be read: {}", text.error().message);
  }
  return {};
}

// Adds TALLY_LOG_FILE=x as log_file -> x.
void add_environment(Settings::Values& values) {
  for (const std::string& variable : platform::variables()) {
    const std::string_view line(variable);
    const size_t equals = line.find('=');
    if (!line.starts_with(kEnvironmentPrefix) || equals == std::string_view::npos) continue;
    const std::string name(line.substr(0, equals));
    if (platform::trusted_variable(name.c_str()) == nullptr) continue;
    values[lower(line.substr(kEnvironmentPrefix.size(), equals - kEnvironmentPrefix.size()))] =
        std::string(line.substr(equals + 1));
  }
}

}  // namespace

std::optional<Size> parse_size(std::string_view text) {
  Size size;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, size.width);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != 'x') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, size.height);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  return size;
}

bool is_region_size(const Size& size) {
  const auto fits = [](uint32_t side) { return std::has_single_bit(side) && side <= 4096; };
  return fits(size.width) && fits(size.height);
}

Settings::Values parse_settings_file(std::string_view text, std::string_view prefix) {
  Settings::Values values;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const size_t equals = line.find('=');
    if (line.empty() || line.front() == '#' || equals == std::string_view::npos) continue;
    std::string_view key = trim(line.substr(0, equals));
    std::string_view value = trim(line.substr(equals + 1));
    if (!key.starts_with(prefix) || key.size() <= prefix.size() + 1 || key[prefix.size()] != '.')
      continue;
    key.remove_prefix(prefix.size() + 1);
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    values[lower(key)] = std::string(value);
  }
  return values;
}

Settings Settings::load(std::string_view prefix, Values program) {
  Settings settings;
  settings.values_ = parse_settings_file(read_settings_file(), prefix);
  for (auto& [key, value] : program) settings.values_[lower(key)] = std::move(value);
  add_environment(settings.values_);
  return settings;
}

const std::string* Settings::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

std::string Settings::text(std::string_view key, std::string_view fallback) const {
  const std::string* value = find(key);
  return value ? *value : std::string(fallback);
}

bool Settings::flag(std::string_view key, bool fallback) const {
  const std::string* value = find(key);
  if (!value) return fallback;
  const std::string word = lower(trim(*value));
  if (word == "true" || word == "on" || word == "yes" || word == "1") return true;
  if (word == "false" || word == "off" || word == "no" || word == "0") return false;
  log(LogLevel::Warning, "setting {} is \"{}\", which is neither true nor false; using {}", key,
      *value, fallback);
  return fallback;
}

uint64_t Settings::number(std::string_view key, uint64_t fallback, uint64_t minimum,
                          uint64_t maximum) const {
  const std::string* value = find(key);
  if (!value) return fallback;
  const std::string_view digits = trim(*value);
  uint64_t result = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result);
  if (error == std::errc() && end == digits.data() + digits.size() && result >= minimum &&
      result <= maximum) {
    return result;
  }
  log(LogLevel::Warning, "setting {} is \"{}\", not a number from {} to {}; using {}", key, *value,
      minimum, maximum, fallback);
  return fallback;
}

}  // namespace tally
