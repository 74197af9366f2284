#include "platform/process.h"

#include <io.h>
#include <stdlib.h>
#include <windows.h>

namespace tally::platform {

// A program that Windows elevates does not take the environment of the program that started it.
const char* trusted_variable(const char* name) { return std::getenv(name); }

std::vector<std::string> variables() {
  std::vector<std::string> all;
  for (char** entry = _environ; entry != nullptr && *entry != nullptr; ++entry)
    all.emplace_back(*entry);
  return all;
}

bool is_terminal(std::FILE* stream) {
  const HANDLE handle = reinterpret_cast<HANDLE>(::_get_osfhandle(::_fileno(stream)));
  DWORD mode = 0;
  return ::GetConsoleMode(handle, &mode) != 0;
}

std::optional<size_t> terminal_width() {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  if (::GetConsoleScreenBufferInfo(::GetStdHandle(STD_OUTPUT_HANDLE), &info) == 0)
    return std::nullopt;
  const int width = info.srWindow.Right - info.srWindow.Left + 1;
  return width > 0 ? std::optional(static_cast<size_t>(width)) : std::nullopt;
}

}  // namespace tally::platform
