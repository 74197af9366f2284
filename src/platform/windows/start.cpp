// Runs before main() of each program: it is linked as __wrap_main (ld's --wrap=main).
#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <string>

#include "platform/process.h"
#include "platform/windows/start.h"

extern "C" int __real_main(int argc, char** argv);

namespace {

void finish_console() {
  std::fflush(stdout);
  tally::platform::give_console_back();
}

// Ctrl-C or the end of the console ends this process, unless a later handler says otherwise.
BOOL WINAPI give_back_first(DWORD /*event*/) {
  tally::platform::give_console_back();
  return FALSE;
}

// Text goes to consoles and files as UTF-8 with the line ends that it has on Linux.
void prepare_streams() {
  for (std::FILE* stream : {stdin, stdout, stderr}) ::_setmode(::_fileno(stream), _O_BINARY);
  // Unbuffered, as it is for consoles, it would write letters byte by byte.
  if (tally::platform::is_terminal(stdout)) std::setvbuf(stdout, nullptr, _IOFBF, size_t{1} << 16);
  tally::platform::take_console();
  std::atexit(finish_console);
  ::SetConsoleCtrlHandler(give_back_first, TRUE);
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
