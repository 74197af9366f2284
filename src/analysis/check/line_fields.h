// The lines of snapshot and limits files: words separated by spaces or tabs. A word with spaces
// stands in double quotes, in which \" and \\ stand for " and \. A # outside of quotes begins a
// comment. The files are untrusted.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tally::analysis {

struct FieldLine {
  size_t number = 0;  // in the file, from 1
  std::vector<std::string> fields;
};

// "FILE:12: what is wrong"
Error error_at(const std::string& file, size_t line, const std::string& what);

// Visits the lines that are not empty, in order, until one is refused. The first must be `format`
// and the version. Markers of an unresolved merge, control characters and text that is not UTF-8
// are errors.
Status for_each_line(const std::string& file, std::string_view text, const std::string& format,
                     int version, const std::function<Status(const FieldLine&)>& visit);

// The word as it is written in a file, always in quotes. It has no control characters.
std::string quoted_name(std::string_view word);

Result<uint64_t> parse_count(const std::string& text);

}  // namespace tally::analysis
