// Runs before main() of each program: it is linked as __wrap_main (ld's --wrap=main).
#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <string>

#include "platform/windows/start.h"

extern "C" int __real_main(int argc, char** argv);

namespace {

UINT g_code_page = 0;  // the console's own

void restore_code_page() { ::SetConsoleOutputCP(g_code_page); }

// Text goes to consoles and files as UTF-8 with the line ends that it has on Linux.
void prepare_streams() {
  for (std::FILE* stream : {stdin, stdout, stderr}) ::_setmode(::_fileno(stream), _O_BINARY);
  bool has_console = false;
  for (const DWORD name : {STD_OUTPUT_HANDLE, STD_ERROR_HANDLE}) {
    const HANDLE console = ::GetStdHandle(name);
    DWORD mode = 0;
    if (::GetConsoleMode(console, &mode) == 0) continue;
    has_console = true;
    ::SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
  }
  if (!has_console) return;
  g_code_page = ::GetConsoleOutputCP();
  if (g_code_page != CP_UTF8 && ::SetConsoleOutputCP(CP_UTF8) != 0) std::atexit(restore_code_page);
}

}  // namespace

extern "C" int __wrap_main(int argc, char** argv) {
  prepare_streams();
  const wchar_t* const isolated =
      std::wcsstr(::GetCommandLineW(), tally::platform::kIsolatedOption);
  if (argc == 2 && isolated != nullptr) {
    const std::wstring name(isolated + std::wcslen(tally::platform::kIsolatedOption));
    return tally::platform::serve_isolated(std::string(name.begin(), name.end()));
  }
  return __real_main(argc, argv);
}
