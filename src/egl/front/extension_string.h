// Our extension's name in the lists that EGL gives.
#pragma once

#include <string_view>

namespace tally::egl {

inline constexpr std::string_view kExtensionName = "EGL_BRCM_performance_counters";

// Whether `list`, words between blanks, has this one.
bool has_word(std::string_view list, std::string_view word);

// The list with our extension's name at its end, valid for ever; the list itself where it is there
// already. Null for null.
const char* with_extension(const char* list);

}  // namespace tally::egl
