// Runs before main() of each program: it is linked as __wrap_main (ld's --wrap=main).
#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <string>
#include <string_view>

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
  using namespace tally::platform;
  // The text behind the option, if this process has it.
  const auto value_of = [&](const wchar_t* option) -> const wchar_t* {
    const wchar_t* const found = argc == 2 ? std::wcsstr(::GetCommandLineW(), option) : nullptr;
    return found != nullptr ? found + std::wcslen(option) : nullptr;
  };
  if (const wchar_t* const process = value_of(kWatchOption); process != nullptr)
    return watch_process(std::wcstoul(process, nullptr, 10));
  prepare_streams();
  if (const wchar_t* const work = value_of(kIsolatedOption); work != nullptr) {
    const std::wstring_view name(work);
    return serve_isolated(std::string(name.begin(), name.end()));
  }
  return __real_main(argc, argv);
}
