#include "analysis/check/line_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "store/utf8.h"

namespace tally::analysis {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t'; }

bool is_merge_marker(std::string_view line) {
  constexpr std::array<std::string_view, 4> kMarkers = {"<<<<<<<", "=======", ">>>>>>>", "|||||||"};
  return std::ranges::any_of(kMarkers,
                             [&](std::string_view marker) { return line.starts_with(marker); });
}

// Reads a quoted word; `text` begins after the quote. nullopt: it has no end.
std::optional<std::string> take_quoted(std::string_view& text) {
  std::string word;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return word;
    }
    if (text[i] == '\\' && ++i == text.size()) break;
    word += text[i];
  }
  return std::nullopt;
}

Result<std::vector<std::string>> split(std::string_view text) {
  std::vector<std::string> fields;
  while (true) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    if (text.empty() || text.front() == '#') return fields;
    if (text.front() != '"') {
      const size_t end = std::min(text.find_first_of(" \t"), text.size());
      fields.emplace_back(text.substr(0, end));
      text.remove_prefix(end);
      continue;
    }
    text.remove_prefix(1);
    auto word = take_quoted(text);
    if (!word) return Error{"a quoted name has no end"};
    if (!text.empty() && !is_space(text.front()))
      return Error{"a space is missing after a quoted name"};
    fields.push_back(std::move(*word));
  }
}

Status check_line(std::string_view line) {
  if (is_merge_marker(line)) return Error{"a marker of an unresolved merge"};
  const bool control = std::ranges::any_of(
      line, [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
  if (control || store::clean_utf8(line) != line)
    return Error{"control characters, or text that is not UTF-8"};
  return {};
}

Status check_head(const FieldLine& line, const std::string& format, int version) {
  if (line.fields.empty() || line.fields.front() != format || line.fields.size() != 2)
    return Error{fmt::format("not a file that begins with \"{} {}\"", format, version)};
  if (line.fields[1] != std::to_string(version))
    return Error{fmt::format("{} of version {}; this tally reads version {}", format,
                             line.fields[1], version)};
  return {};
}

}  // namespace

Error error_at(const std::string& file, size_t line, const std::string& what) {
  return {fmt::format("{}:{}: {}", file, line, what)};
}

Status for_each_line(const std::string& file, std::string_view text, const std::string& format,
                     int version, const std::function<Status(const FieldLine&)>& visit) {
  bool has_head = false;
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (const Status good = check_line(line); !good)
      return error_at(file, number, good.error().message);
    auto fields = split(line);
    if (!fields) return error_at(file, number, fields.error().message);
    if (fields->empty()) continue;
    const FieldLine parsed{number, std::move(*fields)};
    const Status status = has_head ? visit(parsed) : check_head(parsed, format, version);
    if (!status) return error_at(file, number, status.error().message);
    has_head = true;
  }
  if (!has_head)
    return error_at(file, 1, fmt::format("empty; it begins with \"{} {}\"", format, version));
  return {};
}

std::string quoted_name(std::string_view word) {
  std::string text = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

Result<uint64_t> parse_count(const std::string& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    return Error{"'" + text + "' is not a count"};
  return value;
}

}  // namespace tally::analysis
