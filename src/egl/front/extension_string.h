// Adds our extension's name to EGL's extension strings.
#pragma once

#include <string_view>

namespace tally::egl {

inline constexpr std::string_view kExtensionName = "EGL_BRCM_performance_counters";

// True if the space-separated `list` contains `word`.
bool has_word(std::string_view list, std::string_view word);

// Returns the list with our extension's name appended, valid until the library is
// unloaded, or the list itself if it
// contains the name already. Returns null for null.
const char* with_extension(const char* list);

}  // namespace tally::egl
