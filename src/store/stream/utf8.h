// Valid UTF-8 from the bytes of an application.
#pragma once

#include <string>
#include <string_view>

namespace tally::store {

// `text` with U+FFFD in place of zero bytes and of everything that is not well-formed UTF-8, such
// as overlong forms and surrogates.
std::string clean_utf8(std::string_view text);

}  // namespace tally::store
