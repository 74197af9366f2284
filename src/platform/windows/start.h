// Between start.cpp and isolation.cpp: how a process that does isolated work is started.
#pragma once

#include <string_view>

namespace tally::platform {

// The name of the work follows.
inline constexpr wchar_t kIsolatedOption[] = L"--tally-isolated=";

// Reads a request, does the work and writes the answer. Returns the exit status.
int serve_isolated(std::string_view name);

}  // namespace tally::platform
