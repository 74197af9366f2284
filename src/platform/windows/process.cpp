#include "platform/process.h"

#include <fmt/format.h>
#include <io.h>

#include <array>
#include <mutex>
#include <set>
#include <utility>

#include "platform/windows/start.h"
#include "platform/windows/system.h"

#include <tlhelp32.h>  // after windows.h

namespace tally::platform {

std::wstring wide(std::string_view text) {
  const int length = static_cast<int>(text.size());
  const int size = ::MultiByteToWideChar(CP_UTF8, 0, text.data(), length, nullptr, 0);
  std::wstring words(static_cast<size_t>(size), L'\0');
  ::MultiByteToWideChar(CP_UTF8, 0, text.data(), length, words.data(), size);
  return words;
}

std::string narrow(std::wstring_view text) {
  const int length = static_cast<int>(text.size());
  const int size =
      ::WideCharToMultiByte(CP_UTF8, 0, text.data(), length, nullptr, 0, nullptr, nullptr);
  std::string bytes(static_cast<size_t>(size), '\0');
  ::WideCharToMultiByte(CP_UTF8, 0, text.data(), length, bytes.data(), size, nullptr, nullptr);
  return bytes;
}

std::string text_of_error(DWORD error) {
  std::array<wchar_t, 512> text;
  const DWORD size = ::FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS,
                                      nullptr, error, 0, text.data(), text.size(), nullptr);
  std::string line = narrow({text.data(), size});
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r' || line.back() == '.'))
    line.pop_back();
  return line.empty() ? fmt::format("error {}", error) : line;
}

bool make_pipe(Handle& ours, Handle& childs, bool child_reads) {
  SECURITY_ATTRIBUTES inherited{sizeof inherited, nullptr, TRUE};
  Handle& reader = child_reads ? childs : ours;
  Handle& writer = child_reads ? ours : childs;
  return ::CreatePipe(reader.address(), writer.address(), &inherited, 0) != 0 &&
         ::SetHandleInformation(ours.get(), HANDLE_FLAG_INHERIT, 0) != 0;
}

pid_t parent_process() {
  const Handle all(::CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0));
  PROCESSENTRY32W entry{};
  entry.dwSize = sizeof entry;
  for (BOOL any = ::Process32FirstW(all.get(), &entry); any != 0;
       any = ::Process32NextW(all.get(), &entry)) {
    if (entry.th32ProcessID == ::GetCurrentProcessId())
      return static_cast<pid_t>(entry.th32ParentProcessID);
  }
  return 0;
}

std::string executable_path() {
  std::array<wchar_t, 32768> path;
  const DWORD size = ::GetModuleFileNameW(nullptr, path.data(), path.size());
  return size < path.size() ? narrow({path.data(), size}) : std::string{};
}

// As the C library splits it: spaces end an argument outside of quotation marks. Before such a
// mark, two backslashes are one, and one that is left over takes the mark's meaning.
std::vector<std::string> command_line() {
  std::vector<std::string> arguments;
  const std::wstring line = ::GetCommandLineW();
  const auto is_blank = [&](size_t at) { return line[at] == L' ' || line[at] == L'\t'; };
  for (size_t at = 0; at < line.size();) {
    if (is_blank(at)) {
      ++at;
      continue;
    }
    std::wstring argument;
    bool quoted = false;
    for (; at < line.size() && (quoted || !is_blank(at)); ++at) {
      size_t backslashes = 0;
      // The name of the program has no such rule.
      while (!arguments.empty() && at < line.size() && line[at] == L'\\') ++backslashes, ++at;
      const bool before_mark = at < line.size() && line[at] == L'"';
      argument.append(before_mark ? backslashes / 2 : backslashes, L'\\');
      if (before_mark && backslashes % 2 == 0) {
        quoted = !quoted;
      } else if (at < line.size() && (quoted || !is_blank(at))) {
        argument += line[at];
      } else {
        break;
      }
    }
    arguments.push_back(narrow(argument));
  }
  return arguments;
}

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

char list_separator() { return ';'; }

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

namespace {

// The settings before take_console(). Never freed: the handler of Ctrl-C runs until the end.
struct FoundConsole {
  struct Mode {
    HANDLE console;
    DWORD mode;
  };
  std::mutex mutex;
  std::vector<Mode> modes;
  UINT code_page = CP_UTF8;
};

FoundConsole& found_console() {
  static auto* const found = new FoundConsole;
  return *found;
}

}  // namespace

void take_console() {
  FoundConsole& found = found_console();
  const std::lock_guard lock(found.mutex);
  if (!found.modes.empty()) return;
  for (const DWORD name : {STD_OUTPUT_HANDLE, STD_ERROR_HANDLE}) {
    const HANDLE console = ::GetStdHandle(name);
    DWORD mode = 0;
    if (::GetConsoleMode(console, &mode) == 0) continue;
    found.modes.push_back({console, mode});
    ::SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
  }
  if (found.modes.empty()) return;
  found.code_page = ::GetConsoleOutputCP();
  if (found.code_page != CP_UTF8) ::SetConsoleOutputCP(CP_UTF8);
}

// In reverse order: both streams may have the same console.
void give_console_back() {
  FoundConsole& found = found_console();
  const std::lock_guard lock(found.mutex);
  for (; !found.modes.empty(); found.modes.pop_back())
    ::SetConsoleMode(found.modes.back().console, found.modes.back().mode);
  if (found.code_page != CP_UTF8) ::SetConsoleOutputCP(std::exchange(found.code_page, CP_UTF8));
}

QuietScope::QuietScope(Synchronous /*synchronous*/) : before_() {}
QuietScope::~QuietScope() = default;

void before_exit(void (* /*function*/)(), bool /*also_quickly*/) {}

void stay_loaded() {
  constexpr DWORD kFlags = GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS;
  static const char inside = 0;
  HMODULE module = nullptr;
  ::GetModuleHandleExA(kFlags, &inside, &module);
}

}  // namespace tally::platform
