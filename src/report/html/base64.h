// Base64 (RFC 4648), piece by piece.
#pragma once

#include <string>
#include <string_view>

#include "report/output.h"

namespace tally::report {

class Base64 {
 public:
  explicit Base64(Output out) : out_(std::move(out)) {}

  void write(std::string_view bytes);
  // Writes what is left over, with padding.
  void finish();

 private:
  const Output out_;
  std::string left_;  // less than three bytes
};

std::string base64(std::string_view bytes);

}  // namespace tally::report
