// Those of the C++ library: the C library has none. All states of the expression are followed at
// once, because the other way calls itself for each character of the text.
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
