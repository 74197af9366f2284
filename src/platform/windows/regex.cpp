// The C library has none, so it is that of C++, which follows all states of the expression at once:
// its other way calls itself for each character of the text.
#include "platform/regex.h"

#include <fmt/format.h>

#include <regex>
#include <utility>

namespace tally::platform {

struct Regex::Compiled {
  std::regex regex;
};

Result<Regex> Regex::compile(const std::string& text) {
  constexpr auto kSyntax =
      std::regex::extended | std::regex::nosubs | std::regex_constants::__polynomial;
  try {
    return Regex(std::make_shared<const Compiled>(Compiled{std::regex(text, kSyntax)}));
  } catch (const std::regex_error& error) {
    return Error{fmt::format("'{}': {}", text, error.what())};
  }
}

bool Regex::matches(const char* text) const { return std::regex_search(text, compiled_->regex); }

}  // namespace tally::platform
