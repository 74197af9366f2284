// Texts of applications are bytes; the capture holds UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace tally::store {

// `text` with everything that is not well-formed UTF-8 (overlong forms and surrogates too), and
// zero bytes, replaced by U+FFFD.
std::string clean_utf8(std::string_view text);

}  // namespace tally::store
