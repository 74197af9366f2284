#include "platform/process.h"

#include <io.h>
#include <windows.h>

#include <mutex>
#include <set>
#include <utility>

namespace tally::platform {

// A program that Windows elevates does not take the environment of the program that started it.
// The C library of this module may have an environment of its own, so Windows is asked. The text is
// never freed: each value is kept once.
const char* trusted_variable(const char* name) {
  const DWORD size = ::GetEnvironmentVariableA(name, nullptr, 0);
  std::string value(size, '\0');
  if (size == 0) return nullptr;
  value.resize(::GetEnvironmentVariableA(name, value.data(), size));
  static std::mutex mutex;
  static auto* const values = new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return values->insert(std::move(value)).first->c_str();
}

std::vector<std::string> variables() {
  std::vector<std::string> all;
  char* const block = ::GetEnvironmentStringsA();
  if (block == nullptr) return all;
  for (const char* entry = block; *entry != '\0'; entry += all.back().size() + 1)
    all.emplace_back(entry);
  ::FreeEnvironmentStringsA(block);
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

QuietScope::QuietScope(Synchronous /*synchronous*/) : before_() {}
QuietScope::~QuietScope() = default;

void before_exit(void (* /*function*/)()) {}

void stay_loaded() {
  constexpr DWORD kFlags = GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS;
  static const char inside = 0;
  HMODULE module = nullptr;
  ::GetModuleHandleExA(kFlags, &inside, &module);
}

}  // namespace tally::platform
