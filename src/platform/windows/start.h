// Between start.cpp and the files of this folder: how processes of this program that do other work
// than main() are started, and the settings of the console.
#pragma once

#include <string_view>

namespace tally::platform {

// The name of the work follows.
inline constexpr wchar_t kIsolatedOption[] = L"--tally-isolated=";

// Reads a request, does the work and writes the answer. Returns the exit status.
int serve_isolated(std::string_view name);

// The number of a process follows.
inline constexpr wchar_t kWatchOption[] = L"--tally-watch=";

// Waits for the end of the process, and removes the folders of layers that it left in the registry.
int watch_process(unsigned long number);

// The console shows our text: UTF-8, with escape sequences.
void take_console();
// It has the settings that we found: while another program runs on it, and when this process ends.
void give_console_back();

}  // namespace tally::platform
