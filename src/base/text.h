// Texts from outside: names that users type, and the bytes of an application.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tally {

// `text` with U+FFFD in place of zero bytes and of everything that is not well-formed UTF-8, such
// as overlong forms and surrogates.
std::string clean_utf8(std::string_view text);

// A name that users type: of a column, a metric, a command or an option.
struct KnownName {
  std::string id;
  std::string title;  // as tables print it; empty: none
};

// The index of a name: an id, or else an id or title whatever its case and the characters between
// its words ("GPU time", "gpu-time"). The error says what the name is of, and suggests a similar
// one: "there is no column 'gpu_tme'; did you mean gpu_time? The columns are ..."
Result<size_t> find_name(std::string_view of, std::string_view name,
                         const std::vector<KnownName>& known);

// The known name that `name` is likely to be a slip of, or nothing.
std::string similar_name(std::string_view name, const std::vector<std::string>& known);

}  // namespace tally
