#include <fmt/format.h>
#include <regex.h>

#include <array>
#include <string>
#include <utility>

#include "base/frame_range.h"
#include "base/log.h"

namespace tally {
namespace {

constexpr int kSyntax = REG_EXTENDED | REG_NOSUB;

// 0: the expression is right.
int syntax_error(const std::string& text) {
  regex_t regex{};
  const int error = ::regcomp(&regex, text.c_str(), kSyntax);
  if (error == 0) ::regfree(&regex);
  return error;
}

// The character, from 1, that the error is about: after the longest beginning of the text that is
// right, the first one with which that error occurs.
size_t error_place(const std::string& text, int error) {
  size_t place = text.size();
  for (size_t size = text.size(); size > 0; --size) {
    int of_beginning = syntax_error(text.substr(0, size));
    if (of_beginning == 0) break;
    // glibc's message for a text that ends with a bracket.
    if (error == REG_EBRACK && of_beginning == REG_BADPAT) of_beginning = error;
    if (of_beginning == error) place = size;
  }
  return place;
}

}  // namespace

struct LabelPattern::Compiled {
  regex_t regex{};
  bool valid = false;

  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    if (valid) ::regfree(&regex);
  }
};

Result<LabelPattern> LabelPattern::compile(const std::string& text) {
  auto compiled = std::make_shared<Compiled>();
  const int error = ::regcomp(&compiled->regex, text.c_str(), kSyntax);
  if (error != 0) {
    std::array<char, 128> reason{};
    ::regerror(error, &compiled->regex, reason.data(), reason.size());
    return Error{
        fmt::format("'{}': {} at character {}", text, reason.data(), error_place(text, error))};
  }
  compiled->valid = true;
  return LabelPattern(std::move(compiled));
}

bool LabelPattern::matches(const char* name) const {
  return ::regexec(&compiled_->regex, name, 0, nullptr, 0) == 0;
}

FrameEnds FrameEnds::from(const Settings& settings) {
  FrameEnds ends;
  const std::string per = settings.text("frame_per", "present");
  const std::string label = settings.text("frame_label", "");
  const auto unit = frame_unit_from_name(per);
  ends.unit = unit.value_or(FrameUnit::Present);
  if (!unit) {
    log(LogLevel::Warning,
        "setting frame_per is \"{}\", not present, submit, label, fence or queue-idle; frames end "
        "at presents",
        per);
  }
  if (label.empty()) return ends;
  ends.unit = FrameUnit::Label;
  Result<LabelPattern> pattern = LabelPattern::compile(label);
  if (pattern) {
    ends.label = std::move(*pattern);
  } else {
    log(LogLevel::Warning, "setting frame_label is {}; every label ends a frame",
        pattern.error().message);
  }
  return ends;
}

}  // namespace tally
