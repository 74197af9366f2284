#include "platform/regex.h"

#include <fmt/format.h>
#include <regex.h>

#include <array>
#include <utility>

namespace tally::platform {
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

struct Regex::Compiled {
  regex_t regex{};
  bool valid = false;

  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    if (valid) ::regfree(&regex);
  }
};

Result<Regex> Regex::compile(const std::string& text) {
  auto compiled = std::make_shared<Compiled>();
  const int error = ::regcomp(&compiled->regex, text.c_str(), kSyntax);
  if (error != 0) {
    std::array<char, 128> reason{};
    ::regerror(error, &compiled->regex, reason.data(), reason.size());
    return Error{
        fmt::format("'{}': {} at character {}", text, reason.data(), error_place(text, error))};
  }
  compiled->valid = true;
  return Regex(std::move(compiled));
}

bool Regex::matches(const char* text) const {
  return ::regexec(&compiled_->regex, text, 0, nullptr, 0) == 0;
}

}  // namespace tally::platform
