// Extended regular expressions of POSIX, searched in a text. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"

namespace tally::platform {

class Regex {
 public:
  // An error says what is wrong, and on Linux at which character.
  static Result<Regex> compile(const std::string& text);

  bool matches(const char* text) const;

 private:
  struct Compiled;
  explicit Regex(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace tally::platform
